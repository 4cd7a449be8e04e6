//! Writes `docs/schemes`: `make docs`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use paceline_reproduce::scheme_page;
use paceline_schemes::{SCHEMES, Scheme};
use rayon::prelude::*;

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn page(root: &Path, scheme: &Scheme) -> Result<(), String> {
    let folder = scheme_page::folder(root);
    let text = scheme_page::text(root, scheme)?;
    let alone = scheme_page::alone(scheme)?;
    write(&folder.join(format!("{}.md", scheme.name)), &(text + &alone.text))?;
    write(&folder.join(format!("{}.svg", scheme.name)), &alone.svg)
}

fn pages() -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = scheme_page::folder(&root);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    SCHEMES.par_iter().try_for_each(|scheme| page(&root, scheme))?;
    write(&folder.join("README.md"), &scheme_page::overview(SCHEMES))?;
    Ok(format!("wrote docs/schemes: {} schemes", SCHEMES.len()))
}

fn main() -> ExitCode {
    let (message, code) = match pages() {
        Ok(message) => (message, ExitCode::SUCCESS),
        Err(error) => (format!("error: {error}"), ExitCode::FAILURE),
    };
    // Nobody may be reading; the files are written all the same.
    let _ = writeln!(std::io::stderr(), "{message}");
    code
}
