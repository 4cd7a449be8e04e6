//! The same scenarios give the same digests on one thread and on several threads at once.

use std::path::Path;

use paceline_sim::{run, scenario};

fn scenarios() -> Vec<scenario::Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the scenarios").flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files.iter().map(|file| scenario::load(file).expect("valid")).collect()
}

/// Returns the digest and the other results of a run as text.
fn result(scenario: &scenario::Scenario) -> String {
    let outcome = run(scenario).expect("a scenario that runs");
    format!("{} {:?} {:?}", outcome.digest, outcome.links, outcome.flows)
}

#[test]
fn threads_change_nothing() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 10);
    let alone: Vec<String> = scenarios.iter().map(result).collect();
    let threads: Vec<Vec<String>> = std::thread::scope(|scope| {
        let run_all = |first: usize| {
            let scenarios = &scenarios;
            scope.spawn(move || {
                // Each thread starts at another scenario, so that different scenarios run at the
                // same time.
                let count = scenarios.len();
                let mut results = vec![String::new(); count];
                for at in (0..count).map(|at| (first + at) % count) {
                    results[at] = result(&scenarios[at]);
                }
                results
            })
        };
        let handles: Vec<_> = (0..4).map(|thread| run_all(3 * thread)).collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
    });
    for results in threads {
        assert!(results == alone, "a run on several threads differs");
    }
}
