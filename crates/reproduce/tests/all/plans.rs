//! Every run behind the claims can be built: no scenario leaves open a setting on which its flows
//! disagree.

use paceline_reproduce::{EXPERIMENTS, Setting};
use paceline_sim::Simulation;

#[test]
fn every_planned_scenario_builds() {
    let setting = Setting::default();
    let mut built = 0;
    for experiment in EXPERIMENTS {
        let tasks = (experiment.plan)(&setting).expect(experiment.name);
        for task in &tasks {
            let Some(scenario) = task.simulates() else { continue };
            if let Err(error) = Simulation::new(scenario.clone()) {
                panic!("{}, {}: {error}", experiment.name, task.name);
            }
            built += 1;
        }
    }
    assert!(built > 500, "{built} scenarios");
}
