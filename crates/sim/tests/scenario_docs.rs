//! `docs/scenarios.md` and the fuzzer's words have the same keys of scenario files as the program's
//! tables, and the defaults that the tables name are those that the program takes.
//! `PACELINE_UPDATE=1 cargo test -p paceline-sim --test scenario_docs` writes both.

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

const START: &str = "duration = \"1s\"\n";
const LINK: &str = "[[link]]\nname = \"l\"\n";
const FLOW: &str = "[[flow]]\nscheme = \"cubic\"\n";
const RATE: &str = "rate = \"1Mbps\"\n";

/// Returns a scenario with a place, `@`, for a key of a section; `None` for keys of Linux guests, which need their
/// kernel, and for the sections of calls, whose keys have no defaults.
fn with_place(section: &str, key: &str) -> Option<String> {
    let needed = match (section, key) {
        (_, "opportunity" | "overhead" | "once") => "trace = \"lte-driving\"",
        (_, "jitter_shape" | "overtake") => "jitter = \"1ms\"",
        (_, "contender_airtime" | "contender_gap") => "contenders = 1",
        (_, "stagger" | "stagger_stop") => "count = 2\nstop = \"1s\"",
        ("medium", "width" | "guard" | "band" | "max_frames" | "max_airtime") => {
            "layer = \"802.11n\"\nmcs = 7"
        }
        (_, "key_size" | "requests" | "key_gap") => "key_every = 100",
        (_, "timestamps") => "recovery = \"newreno\"",
        ("flow", "mtu" | "cc") => return None,
        _ => "",
    };
    let rate = if needed.starts_with("layer") { "" } else { "rate = \"11Mbps\"\n" };
    let medium = format!("[[medium]]\nname = \"m\"\n{rate}{needed}\n");
    let station = "[[medium.station]]\nname = \"s\"\n";
    let in_medium = "[[flow]]\nscheme = \"cubic\"\nstation = \"s\"\n";
    let in_flow = |section: &str, keys: &str| {
        Some(format!("{START}{LINK}{RATE}{FLOW}[flow.{section}]\n{keys}{needed}\n@"))
    };
    match section {
        "run" => Some(format!("{START}@{LINK}{RATE}{FLOW}")),
        "link" if needed.is_empty() => Some(format!("{START}{LINK}{RATE}@{FLOW}")),
        "link" => Some(format!("{START}{LINK}{needed}\n@{FLOW}")),
        "link.wifi" => Some(format!("{START}{LINK}[link.wifi]\nmcs = 7\n{needed}\n@{FLOW}")),
        "medium" => Some(format!("{START}{medium}@{station}{in_medium}")),
        "medium.station" => Some(format!("{START}{medium}{station}@{in_medium}")),
        "flow" if key == "direction" => Some(format!("{START}{medium}{station}{in_medium}@")),
        "flow" => Some(format!("{START}{LINK}{RATE}{FLOW}{needed}\n@")),
        "flow.limited" => in_flow("limited", "rate = \"1Mbps\"\n"),
        "flow.on_off" => in_flow("on_off", "on = \"1s\"\noff = \"1s\"\n"),
        "flow.video" => in_flow("video", ""),
        "flow.audio" => in_flow("audio", ""),
        "flow.arrivals" => in_flow("arrivals", "per_second = 1\nbytes = 10000\n"),
        "stretches" => Some(format!("{START}{LINK}{RATE}[link.after]\n{needed}\n@{FLOW}")),
        "flow.call" | "flow.programs" => None,
        other => panic!("{other}: no scenario for this section"),
    }
}

#[test]
fn defaults_that_the_page_names_change_nothing() {
    let mut checked = 0;
    for table in scenario::keys() {
        for key in &table.keys {
            let Some(value) = key.default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
            else {
                continue;
            };
            // Words with values among them are no value.
            let text = with_place(table.section, key.name).filter(|_| !value.contains('`'));
            let Some(text) = text else { continue };
            let read = |line: &str| {
                let text = text.replace('@', line);
                let read = scenario::parse("file", &text, None);
                let read = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
                // Whether a file says how many runs it wants decides which default a command takes. A probability
                // of zero changes no packet.
                format!("{read:?}")
                    .replace("states_runs: true", "states_runs: false")
                    .replace("loss: Bernoulli(0.0)", "loss: None")
                    .replace(
                        "reorder: Some(Reorder { probability: 0.0, extra: None })",
                        "reorder: None",
                    )
            };
            let value = if value == "mss" { "1500" } else { value };
            let written = read(&format!("{} = {value}\n", key.name));
            assert_eq!(written, read(""), "{}.{} = {value}", table.section, key.name);
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} keys");
}
