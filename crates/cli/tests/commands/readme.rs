//! README's picture and first table are what README's first command makes.

use std::fs;
use std::path::Path;

use paceline_sim::metrics::median;
use paceline_testing::Folder;
use serde_json::Value;

/// Returns median, smallest and largest value.
fn range(values: &[f64]) -> [f64; 3] {
    let values = values.iter().copied();
    let middle = median(values.clone()).expect("a run");
    [middle, values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max)]
}

#[test]
fn the_picture_and_the_table_are_those_of_the_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("README");
    let command =
        "compare --trace lte-driving --schemes 'abc,cubic,cubic+codel[target=50ms]' -o results";
    assert!(readme.contains(&format!("$ paceline {command}\n")), "README has another command");
    let folder = Folder::new("readme");
    let arguments: Vec<String> = command.split(' ').map(|word| word.replace('\'', "")).collect();
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(&arguments)
        .current_dir(folder.root())
        .output()
        .expect("the program runs")
        .status;
    assert!(status.success());
    let made = |name: &str| fs::read_to_string(folder.root().join("results").join(name));
    let picture = made("timeseries-lte-driving.svg").expect("a picture");
    let kept = root.join("docs/images/compare.svg");
    if std::env::var_os("PACELINE_UPDATE").is_some_and(|value| value == "1") {
        fs::write(&kept, &picture).expect("written");
    }
    let remedy = "PACELINE_UPDATE=1 cargo test -p paceline-cli --test commands readme";
    assert!(fs::read_to_string(&kept).expect("a picture") == picture, "other picture: {remedy}");

    let results: Value = serde_json::from_str(&made("compare.json").expect("JSON")).expect("JSON");
    let runs = results["runs"].as_array().expect("runs");
    for scheme in ["cubic", "abc", "cubic+codel[target=50ms]"] {
        let of = |figure: fn(&Value) -> &Value| {
            let runs = runs.iter().filter(|run| run["scheme"] == scheme);
            range(&runs.map(|run| figure(run).as_f64().expect("a number")).collect::<Vec<_>>())
        };
        let used = of(|run| &run["utilization"]).map(|share| format!("{:.1}", 100.0 * share));
        let delay = of(|run| &run["queue_delay_ms"]["mean"]);
        let digits = if delay[0] < 100.0 { 1 } else { 0 };
        let delay = delay.map(|ms| format!("{ms:.digits$}"));
        let row = format!(
            "| {} % ({} to {}) | {} ms ({} to {}) |",
            used[0], used[1], used[2], delay[0], delay[1], delay[2]
        );
        assert!(readme.contains(&row), "{scheme}: README's table lacks {row}");
    }
}
