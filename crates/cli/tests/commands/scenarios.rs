//! `paceline reproduce --scenarios`: the written scenarios equal the claims' runs.

use std::path::Path;

use crate::common::paceline;
use paceline_reproduce::{Setting, Tables, experiment};
use paceline_sim::scenario::{Capacity, Record, Scenario, load};
use paceline_testing::Folder;

const QUICK: Setting = Setting {
    quick: true,
    traces: None,
    tables: Tables::new(None, None),
    seed: 1,
    live: None,
    causes: true,
};

/// Returns a scenario as text, with the opportunities of its traces, and with a given record.
fn everything(mut scenario: Scenario, record: Record) -> String {
    scenario.record = record;
    for link in &mut scenario.links {
        if let Capacity::Trace { trace, .. } = &mut link.capacity {
            *trace = trace.clone().renamed("");
        }
    }
    format!("{scenario:?}")
}

#[test]
fn the_runs_of_a_claim_are_written() {
    let folder = Folder::new("scenarios");
    let seen = paceline(&["reproduce", "A06", "--quick", "--scenarios", &folder.path("")]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let plan = experiment("abc-dynamics").expect("an experiment").plan;
    let tasks = plan(&QUICK).expect("a plan");
    let planned: Vec<&Scenario> = tasks.iter().filter_map(|task| task.simulates()).collect();
    assert!(planned.len() > 5);
    let said = format!("wrote {} scenarios and 1 trace into", planned.len());
    assert!(seen.out.starts_with(&said), "{}", seen.out);

    let entries = std::fs::read_dir(folder.path("abc-dynamics")).expect("a folder").flatten();
    let files: Vec<_> = entries.map(|entry| entry.path()).collect();
    assert_eq!(files.len(), planned.len());
    let written: Vec<Scenario> = files.iter().map(|file| load(file).expect("reads")).collect();
    for scenario in planned {
        let same = |written: &&Scenario| {
            everything(scenario.clone(), written.record)
                == everything((*written).clone(), written.record)
        };
        assert!(written.iter().any(|written| same(&written)), "{} is not written", scenario.name);
    }
}

/// Runs a written file with the program, and its task with the library. Both results must be equal.
fn runs_alike(folder: &Folder, name: &str, task: &str, file: &str) {
    let path = folder.path(&format!("{name}/{file}"));
    let seen = paceline(&["run", "--json", &path]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let shown: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    let tasks = (experiment(name).expect("an experiment").plan)(&QUICK).expect("a plan");
    let task = tasks.iter().find(|known| known.name == task).expect("the task");
    // The program records all figures; a task may record only those that its claims read.
    let mut scenario = task.simulates().expect("a scenario").clone();
    scenario.record = load(path.as_ref()).expect("reads").record;
    let outcome = paceline_sim::run(&scenario).expect("runs");
    assert_eq!(shown["digest"], outcome.digest);
    // Reads both from JSON, since reading numbers may change their last digit.
    let text = serde_json::to_string(&outcome).expect("JSON");
    let outcome: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let record = task.run().expect("runs");
    let links = outcome["links"].as_array().expect("links");
    assert_eq!(shown["links"].as_array().map(Vec::len), Some(links.len()));
    for (at, link) in links.iter().enumerate() {
        for figure in ["name", "throughput_mbps", "utilization", "queue_delay_ms", "drops"] {
            assert!(link[figure] != serde_json::Value::Null, "{figure}");
            assert_eq!(shown["links"][at][figure], link[figure], "{figure}");
        }
        let name = format!("link.{}.utilization", link["name"].as_str().expect("a name"));
        let used = link["utilization"].as_f64().expect("a number");
        assert!((record.number(&name) - used).abs() < 1e-12, "{name}: {used}");
    }
}

#[test]
fn written_runs_run_as_the_claims_do() {
    let folder = Folder::new("runs");
    let seen = paceline(&["reproduce", "A06", "a25", "--quick", "--scenarios", &folder.path("")]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    runs_alike(&folder, "abc-dynamics", "come and go: abc", "come-and-go-abc.toml");
    runs_alike(&folder, "abc-dynamics", "game: codel", "game-codel.toml");
    runs_alike(&folder, "coexistence", "maxmin at 50 %, run 0", "maxmin-at-50-run-0.toml");
}

#[test]
fn what_is_no_scenario_is_told() {
    let folder = Folder::new("others");
    let out = folder.path("out");
    let seen = paceline(&["reproduce", "A11", "--quick", "--scenarios", &out]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(seen.out.starts_with("wrote 0 scenarios and 0 traces"), "{}", seen.out);
    assert!(seen.out.contains("not scenarios, of wifi-estimator: "), "{}", seen.out);
    let seen = paceline(&["reproduce", "A06", "--scenarios", &out, "--json"]);
    assert_eq!(seen.code, 2, "{}", seen.err);
    let file = folder.write("file", b"");
    let seen = paceline(&["reproduce", "A06", "--quick", "--scenarios", &file]);
    assert_eq!(seen.code, 1, "{}", seen.err);
    assert!(seen.err.contains(&file) && seen.err.contains("cannot be written"), "{}", seen.err);
    assert!(Path::new(&file).is_file());
}
