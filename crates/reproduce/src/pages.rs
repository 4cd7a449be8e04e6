//! The documents that are built from sources, measured figures and short runs, and are not kept in
//! the tree.

use std::fs;
use std::path::Path;

use paceline_lab::validate;
use paceline_schemes::{SCHEMES, Scheme};
use rayon::prelude::*;

use crate::measured;
use crate::scheme_page;

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the whole documents into `folder`, which it creates: `reproduction.md`, a page of claims
/// for each paper and a plot of their figures in `reproduction`, `validation.md`, `schemes.md`, and a page and a plot for each
/// scheme in `schemes`. `root` is the source tree.
///
/// # Errors
/// Measured figures do not match the present checks, a scheme cannot be run, or a file cannot be
/// read or written.
pub fn write_pages(root: &Path, folder: &Path) -> Result<(), String> {
    let schemes = folder.join("schemes");
    fs::create_dir_all(&schemes).map_err(|error| format!("{}: {error}", schemes.display()))?;
    let reproduced = measured::read_record(root)?;
    write(&folder.join("reproduction.md"), &reproduced.markdown())?;
    let papers = folder.join("reproduction");
    fs::create_dir_all(&papers).map_err(|error| format!("{}: {error}", papers.display()))?;
    write(&papers.join("figures.svg"), &reproduced.figures_svg())?;
    for (name, text) in reproduced.paper_pages() {
        write(&papers.join(name), &text)?;
    }
    write(&folder.join("validation.md"), &validate::page(&validate::read_record(root)?))?;
    write(&folder.join("schemes.md"), &scheme_page::overview(SCHEMES))?;
    let page = |scheme: &Scheme| {
        let text = scheme_page::text(root, scheme)?;
        let alone = scheme_page::alone(scheme)?;
        write(&schemes.join(format!("{}.md", scheme.name)), &(text + &alone.text))?;
        write(&schemes.join(format!("{}.svg", scheme.name)), &alone.svg)
    };
    SCHEMES.par_iter().try_for_each(page)
}

/// Writes the summaries that the tree keeps: `docs/{reproduction,validation,schemes}.md` and the table
/// of README.md, below `root`.
///
/// # Errors
/// As for [`write_pages`].
pub fn write_summaries(root: &Path) -> Result<(), String> {
    let docs = root.join("docs");
    write(&docs.join("reproduction.md"), &measured::read_record(root)?.summary())?;
    let validated = validate::read_record(root)?;
    write(&docs.join("validation.md"), &validate::summary(&validated))?;
    let read = |name: &str| {
        let path = root.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(&root.join("README.md"), &validate::readme_with_trust(&validated, &read)?)?;
    write(&docs.join("schemes.md"), &scheme_page::summary(SCHEMES))
}
