//! A restarted simulation gives the results of a new one.

use paceline_sim::scenario::{self, Record, Scenario};
use paceline_sim::{Outcome, Simulation};

fn end(scenario: &Scenario) -> paceline_sim::cc::Time {
    paceline_sim::cc::Time::ZERO + scenario.duration
}

fn outcome(simulation: &mut Simulation) -> String {
    let end = end(simulation.scenario());
    simulation.advance(end);
    let outcome: Outcome = simulation.outcome().expect("built before");
    format!("{outcome:?}")
}

/// All of the repository's scenarios, shortened.
fn scenarios() -> Vec<Scenario> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    files.iter().map(|file| scenario::load(file).expect("a scenario")).collect()
}

#[test]
fn a_restarted_simulation_gives_what_a_new_one_gives() {
    let all = scenarios();
    assert!(all.len() > 5, "{}", all.len());
    for mut scenario in all {
        scenario.duration = scenario.duration.min(paceline_sim::cc::Span::from_secs(8));
        scenario.warmup = scenario.warmup.min(scenario.duration / 2);
        for record in [Record::Metrics, Record::Sums] {
            scenario.record = record;
            let mut again = Simulation::new(scenario.clone()).expect("builds");
            outcome(&mut again);
            for seed in [scenario.seed, scenario.seed + 1, 77] {
                let mut fresh = scenario.clone();
                fresh.seed = seed;
                again.restart(seed).expect("built before");
                let new = outcome(&mut Simulation::new(fresh).expect("builds"));
                assert!(outcome(&mut again) == new, "{}, seed {seed}", scenario.name);
            }
        }
    }
}
