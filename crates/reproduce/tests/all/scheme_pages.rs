//! The pages of schemes agree with the registry and the modules, and `docs/schemes.md` lists all
//! schemes. The measured results on the pages are not checked here.

use std::fs;
use std::path::Path;

use paceline_reproduce::scheme_page;
use paceline_schemes::{SCHEMES, Scheme};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn page(scheme: &Scheme) -> String {
    scheme_page::text(root(), scheme).unwrap_or_else(|error| panic!("{error}"))
}

/// Parses name, default and range from each row of the table of parameters, independently of the
/// code that wrote it.
fn listed(page: &str) -> Vec<[String; 3]> {
    let heading = "| name | unit | default | range | source | meaning |\n";
    let Some((_, table)) = page.split_once(heading) else {
        return Vec::new();
    };
    let rows = table.lines().skip(1).take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        // A bar inside a cell is escaped.
        let row = row.replace("\\|", "\u{0}");
        let cells: Vec<String> = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').replace('\u{0}', "|"))
            .collect();
        let [name, _unit, default, range, source, meaning] = cells.as_slice() else {
            panic!("six cells expected: {row}");
        };
        assert!(!source.is_empty(), "{name} has no source");
        assert!(!meaning.is_empty(), "{name} has no meaning");
        [name.clone(), default.clone(), range.clone()]
    })
    .collect()
}

fn registered(scheme: &Scheme) -> Vec<[String; 3]> {
    let rows = (scheme.params)().into_iter();
    rows.map(|info| [info.name.to_string(), info.default.clone(), info.allowed()]).collect()
}

#[test]
fn pages_list_the_registrys_parameters() {
    let mut count = 0;
    for scheme in SCHEMES {
        let found = listed(&page(scheme));
        assert_eq!(found, registered(scheme), "{}", scheme.name);
        count += found.len();
    }
    assert!(count > SCHEMES.len(), "{count} parameters of all schemes");
}

#[test]
fn pages_end_with_a_run_and_its_plot() {
    let abc = SCHEMES.iter().find(|scheme| scheme.name == "abc").expect("the scheme");
    let alone = scheme_page::alone(abc).unwrap_or_else(|error| panic!("{error}"));
    assert!(alone.text.contains("](abc.svg)"), "{}", alone.text);
    assert!(alone.svg.starts_with("<svg "));
}

#[test]
fn the_table_has_every_scheme_with_a_link_to_its_module() {
    let docs = root().join("docs");
    let table = fs::read_to_string(docs.join("schemes.md")).expect("docs/schemes.md");
    assert!(table == scheme_page::summary(SCHEMES), "make it anew: make docs");
    for scheme in SCHEMES {
        let row = format!("| [`{}`](", scheme.name);
        let (_, rest) = table.split_once(&row).unwrap_or_else(|| panic!("{row}"));
        let (link, _) = rest.split_once(')').expect("a link");
        assert!(docs.join(link).is_file(), "{link}: no such file");
    }
}
