//! `docs/scenarios.md` and the fuzzer's words have the same keys of scenario files as the program's
//! tables. `PACELINE_UPDATE=1 cargo test -p paceline-sim --test scenario_docs` writes both.

use std::collections::BTreeSet;
use std::path::Path;

use paceline_sim::scenario::{self, KeyTable};

const REMEDY: &str = "PACELINE_UPDATE=1 cargo test -p paceline-sim --test scenario_docs";

/// Checks that `file` has this text between two lines, each of which occurs once, or writes it.
fn hold(file: &str, begin: &str, end: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let whole = std::fs::read_to_string(&path).expect(file);
    let (before, rest) =
        whole.split_once(begin).unwrap_or_else(|| panic!("{file} lacks the line {begin:?}"));
    let (old, after) =
        rest.split_once(end).unwrap_or_else(|| panic!("{file} lacks {end:?} behind {begin:?}"));
    if old == text {
        return;
    }
    let update = std::env::var_os("PACELINE_UPDATE").is_some_and(|value| value == "1");
    assert!(update, "{file} differs behind {begin:?}. Run {REMEDY}. Expected:\n{text}");
    std::fs::write(&path, format!("{before}{begin}{text}{end}{after}")).expect("written");
}

fn markdown(table: &KeyTable) -> String {
    let mut text = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n".to_string();
    for key in &table.keys {
        let cells = [&format!("`{}`", key.name), &key.kind, &key.default, &key.doc];
        for cell in cells {
            assert!(!cell.contains(['|', '\n']), "{} has a cell of several: {cell}", key.name);
        }
        text += &format!("| {} |\n", cells.map(String::as_str).join(" | "));
    }
    text
}

#[test]
fn the_page_has_every_key() {
    for table in scenario::keys() {
        let begin = format!("<!-- keys of {} -->\n", table.section);
        hold("docs/scenarios.md", &begin, "<!-- end of keys -->\n", &markdown(&table));
    }
}

#[test]
fn the_fuzzer_has_every_key() {
    let tables = scenario::keys();
    let names: BTreeSet<&str> =
        tables.iter().flat_map(|table| &table.keys).map(|key| key.name).collect();
    let words: String = names.iter().map(|name| format!("\"{name} = \"\n")).collect();
    hold("fuzz/words.dict", "# Keys\n", "# End of keys\n", &words);
}

#[test]
fn keys_have_one_table_each_and_are_explained() {
    let tables = scenario::keys();
    let sections: BTreeSet<_> = tables.iter().map(|table| table.section).collect();
    assert_eq!(sections.len(), tables.len());
    for table in &tables {
        let names: BTreeSet<_> = table.keys.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), table.keys.len(), "{} has a key twice", table.section);
        for key in &table.keys {
            let place = format!("{}.{}", table.section, key.name);
            assert!(
                !key.kind.is_empty() && !key.default.is_empty() && !key.doc.is_empty(),
                "{place}"
            );
            assert!(!key.doc.ends_with('.'), "{place}: a cell of a table ends without a full stop");
        }
    }
}
