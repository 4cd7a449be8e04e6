//! `docs/scenarios.md` names every key that the parser knows.

use std::path::Path;

use paceline_sim::scenario;

const LINK: &str = "[[link]]\nname = \"l\"\n";
const RATE: &str = "rate = \"1Mbps\"\n";

/// The keys of a table of a scenario file, from what the parser says of one it does not know.
fn keys(text: &str) -> Vec<String> {
    let error = scenario::parse("s.toml", text, None).expect_err("an unknown key").to_string();
    let (_, list) = error.split_once("expected ").unwrap_or_else(|| panic!("{error}"));
    list.split('`').skip(1).step_by(2).map(String::from).filter(|key| key != "did").collect()
}

#[test]
fn every_key_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = std::fs::read_to_string(path).expect("docs/scenarios.md");
    let flow = |inner: &str| {
        format!("duration = \"1s\"\n{LINK}{RATE}[[flow]]\nscheme = \"abc\"\n{inner}\n")
    };
    let tables = [
        "duration = \"1s\"\nq = 1\n".to_string(),
        format!("duration = \"1s\"\n{LINK}{RATE}q = 1\n"),
        format!("duration = \"1s\"\n{LINK}wifi = {{ mcs = 1, q = 1 }}\n"),
        format!(
            "duration = \"1s\"\n{LINK}wifi = {{ mcs = 1, stations = [{{ flows = [], q = 1 }}] }}\n"
        ),
        format!("duration = \"1s\"\n{LINK}{RATE}after = {{ q = 1 }}\n"),
        flow("q = 1"),
        flow("on_off = { off = \"1s\", q = 1 }"),
        flow("limited = { rate = \"1Mbps\", q = 1 }"),
        flow("video = { q = 1 }"),
        flow("arrivals = { per_second = 1, bytes = 1, q = 1 }"),
    ];
    let mut count = 0;
    for table in &tables {
        for key in keys(table) {
            if key == "link" || key == "flow" {
                continue;
            }
            // In code, alone or inside an example.
            let shown = text.split('`').skip(1).step_by(2).any(|code| {
                code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == key)
            });
            assert!(shown, "docs/scenarios.md does not name `{key}`");
            count += 1;
        }
    }
    assert!(count > 60, "{count} keys");
}
