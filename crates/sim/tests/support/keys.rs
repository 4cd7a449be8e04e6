//! The keys of scenario files, from what the parser says of one that it does not know.

use paceline_sim::scenario;

const LINK: &str = "[[link]]\nname = \"l\"\n";
const RATE: &str = "rate = \"1Mbps\"\n";

/// Those of a table, with a key `q` that is unknown.
fn table(text: &str) -> Vec<String> {
    let error = scenario::parse("s.toml", text, None).expect_err("an unknown key").to_string();
    let (_, list) = error.split_once("expected ").unwrap_or_else(|| panic!("{error}"));
    list.split('`').skip(1).step_by(2).map(String::from).filter(|key| key != "did").collect()
}

/// Those of all tables.
pub(crate) fn all() -> Vec<String> {
    let link = |inner: &str| format!("duration = \"1s\"\n{LINK}{inner}\n");
    let flow = |inner: &str| link(&format!("{RATE}[[flow]]\nscheme = \"abc\"\n{inner}"));
    let medium = |inner: &str| format!("duration = \"1s\"\n[[medium]]\nname = \"m\"\n{inner}\n");
    let tables = [
        "duration = \"1s\"\nq = 1\n".to_string(),
        link(&format!("{RATE}q = 1")),
        link("schedule = [{ at = \"0s\", rate = \"1Mbps\", q = 1 }]"),
        link("wifi = { mcs = 1, q = 1 }"),
        link("wifi = { mcs = 1, stations = [{ flows = [], q = 1 }] }"),
        link(&format!("{RATE}after = {{ q = 1 }}")),
        medium("q = 1"),
        medium("access_point = { q = 1 }"),
        medium("[[medium.station]]\nname = \"s\"\nq = 1"),
        medium(
            "[[medium.station]]\nname = \"s\"\nrates = [{ at = \"0s\", rate = \"1Mbps\", q = 1 }]",
        ),
        flow("q = 1"),
        flow("on_off = { off = \"1s\", q = 1 }"),
        flow("limited = { rate = \"1Mbps\", q = 1 }"),
        flow("video = { q = 1 }"),
        flow("arrivals = { per_second = 1, bytes = 1, q = 1 }"),
    ];
    let keys: Vec<String> = tables.iter().flat_map(|text| table(text)).collect();
    assert!(keys.len() > 60, "{keys:?}");
    keys
}
