//! `docs/schemes` says what the registry and the modules say now. What the runs of the pages
//! measured is not checked here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_reproduce::scheme_page;
use paceline_schemes::{SCHEMES, Scheme};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    let path = scheme_page::folder(&root()).join(name);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("docs/schemes/{name}: {error}; run `make docs`"))
}

/// Name, kind and default of each row of the last table whose columns are called so, read with
/// no help from what wrote it.
fn listed(page: &str) -> Vec<[String; 3]> {
    let Some((_, table)) = page.rsplit_once("| name | kind | default | meaning |\n") else {
        return Vec::new();
    };
    let rows = table.lines().skip(1).take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        // A bar of a cell's own is escaped.
        let row = row.replace("\\|", "\u{0}");
        let cells: Vec<String> = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').replace('\u{0}', "|"))
            .collect();
        let [name, kind, default, meaning] = cells.as_slice() else {
            panic!("four cells expected: {row}");
        };
        assert!(!meaning.is_empty(), "{name} has no meaning");
        [name.clone(), kind.clone(), default.clone()]
    })
    .collect()
}

fn registered(scheme: &Scheme) -> Vec<[String; 3]> {
    let rows = (scheme.params)().into_iter();
    rows.map(|info| [info.name.to_string(), info.kind.to_string(), info.default]).collect()
}

#[test]
fn pages_list_the_registrys_parameters() {
    let mut count = 0;
    for scheme in SCHEMES {
        let found = listed(&read(&format!("{}.md", scheme.name)));
        assert_eq!(found, registered(scheme), "{}: run `make docs`", scheme.name);
        count += found.len();
    }
    assert!(count > SCHEMES.len(), "{count} parameters of all schemes");
}

#[test]
fn pages_say_what_the_modules_say() {
    for scheme in SCHEMES {
        let page = read(&format!("{}.md", scheme.name));
        let text = scheme_page::text(&root(), scheme).unwrap();
        let same = page.strip_prefix(text.as_str());
        let rest =
            same.unwrap_or_else(|| panic!("{} is out of date: run `make docs`", scheme.name));
        assert!(rest.contains(&format!("]({}.svg)", scheme.name)), "{} has no plot", scheme.name);
        assert!(read(&format!("{}.svg", scheme.name)).starts_with("<svg "));
    }
    assert!(read("README.md") == scheme_page::overview(SCHEMES), "run `make docs`");
}

#[test]
fn every_file_is_of_a_scheme() {
    let mut files: BTreeSet<String> = fs::read_dir(scheme_page::folder(&root()))
        .expect("run `make docs`")
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for scheme in SCHEMES {
        assert!(files.remove(&format!("{}.md", scheme.name)), "{}.md is missing", scheme.name);
        assert!(files.remove(&format!("{}.svg", scheme.name)), "{}.svg is missing", scheme.name);
    }
    assert_eq!(files.into_iter().collect::<Vec<_>>(), ["README.md"], "files of no scheme");
}
