//! The commands take the scheme and the queue of the program.

use std::process::{Command, Output};

use serde_json::Value;

fn workbench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_workbench")).args(args).output().expect("the program")
}

fn json(args: &[&str]) -> Value {
    let output = workbench(args);
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {problem}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let rows = list.as_array().expect("a list");
    rows.iter().map(|row| row[key].as_str().expect("a name").to_string()).collect()
}

#[test]
fn compare_has_rows_of_its_scheme_and_of_a_built_in_one() {
    let schemes = "mine,cubic,mine+short";
    let table = json(&[
        "compare",
        "--trace",
        "12Mbps",
        "--duration",
        "5s",
        "--runs",
        "1",
        "--schemes",
        schemes,
        "--json",
    ]);
    let rows = table["runs"].as_array().expect("rows");
    assert_eq!(names(&table["runs"], "scheme"), ["mine", "cubic", "mine+short"]);
    for row in rows {
        assert!(row["utilization"].as_f64().is_some_and(|used| used > 0.5), "{row}");
    }
    let p95 = |at: usize| rows[at]["queue_delay_ms"]["p95"].as_f64().expect("a delay");
    // A round trip's worth waits in the default buffer, and at most 20 packets of 1 ms in the own queue.
    assert!(p95(0) > 50.0 && p95(2) < 25.0, "{} {}", p95(0), p95(2));
}

#[test]
fn listings_have_its_scheme_and_its_queue_with_parameters() {
    let listing = json(&["schemes", "--json"]);
    let schemes = names(&listing["schemes"], "name");
    assert!(schemes.contains(&"mine".into()) && schemes.contains(&"cubic".into()), "{schemes:?}");
    assert!(names(&listing["queues"], "name").contains(&"short".into()));
    let mine = json(&["schemes", "mine", "--json"]);
    assert_eq!(mine["schemes"][0]["parameters"][0]["name"], "rtts");
}

#[test]
fn scenarios_contests_and_evaluations_name_its_scheme() {
    let folder = std::env::temp_dir().join(format!("paceline-workbench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("mine.toml");
    let text = "duration = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\nqueue = \"short\"\n\
                [[flow]]\nscheme = \"mine\"\n";
    std::fs::write(&file, text).expect("a file");
    let run = json(&["run", file.to_str().expect("UTF-8"), "--json"]);
    std::fs::remove_dir_all(&folder).expect("the folder");
    assert_eq!(run["flows"][0]["scheme"], "mine");
    let contest = json(&[
        "contest",
        "--entries",
        "mine[rtts=1..2/2],cubic",
        "--training",
        "12Mbps",
        "--secret",
        "6Mbps",
        "--duration",
        "2s",
        "--json",
    ]);
    let entries = names(&contest["attempts"], "entry");
    assert!(entries.contains(&"mine[rtts=2]".into()), "{entries:?}");
    let rows = json(&[
        "remy",
        "eval",
        "--scheme",
        "mine+codel",
        "--duration",
        "5s",
        "--seeds",
        "1",
        "--json",
    ]);
    assert_eq!(rows["rows"][0]["table"], "mine+codel");
}

#[test]
fn mistakes_in_its_names_are_told_as_those_in_built_in_ones() {
    for (args, problem) in [
        (["compare", "--schemes", "mien"], "did you mean `mine`"),
        (["compare", "--schemes", "mine[rtt=2]"], "`mine` has no parameter `rtt`"),
        (["compare", "--schemes", "cubic+shart"], "did you mean `short`"),
        (["link", "--up-queue", "shirt"], "did you mean `short`"),
    ] {
        let output = workbench(&args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(problem), "{args:?}: {text}");
    }
}

#[test]
fn its_inner_values_are_series_and_plots() {
    let folder =
        std::env::temp_dir().join(format!("paceline-workbench-series-{}", std::process::id()));
    let out = folder.display().to_string();
    let line = ["compare", "--trace", "12Mbps", "--duration", "2s", "--runs", "1", "-q"];
    let output = workbench(&[&line[..], &["--schemes", "mine,cubic", "-o", &out]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.join("compare.html")).expect("a page");
    let scenario = folder.join("one.toml").display().to_string();
    let text = "duration = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\n[[flow]]\nscheme = \"mine\"\n";
    std::fs::write(&scenario, text).expect("a scenario");
    let series = workbench(&["run", &scenario, "-q", "--series", "-"]);
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(page.contains("Inner values of mine over time") && page.contains("rate_mbps"));
    assert!(!page.contains("Inner values of cubic"), "pages show those of own schemes");
    let series = String::from_utf8_lossy(&series.stdout).into_owned();
    assert!(
        series
            .lines()
            .next()
            .is_some_and(|head| head.ends_with("state.rate_mbps,state.min_rtt_ms")),
        "{series}"
    );
}
