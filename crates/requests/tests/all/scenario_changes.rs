//! Settings of a scenario that a caller may replace.

use paceline_cc::Span;
use paceline_requests::ScenarioChanges;
use paceline_sim::scenario::{Record, Scenario};

fn problem(changes: ScenarioChanges) -> (&'static str, String) {
    let mut scenario = Scenario::new("short");
    scenario.duration = Span::from_secs(2);
    scenario.warmup = Span::from_secs(1);
    let error = changes.make(&mut scenario).expect_err("refused");
    (error.argument, error.problem)
}

#[test]
fn the_argument_that_was_changed_is_blamed() {
    let second = Some(Span::from_secs(1));
    let (argument, words) = problem(ScenarioChanges { duration: second, ..Default::default() });
    assert_eq!(argument, "duration");
    assert!(words.contains("the warm-up of 1s") && words.contains("make it longer"), "{words}");
    let two = Some(Span::from_secs(2));
    let (argument, words) = problem(ScenarioChanges { warmup: two, ..Default::default() });
    assert_eq!(argument, "warmup");
    assert!(words.contains("make it shorter"), "{words}");
    assert_eq!(problem(ScenarioChanges { runs: Some(0), ..Default::default() }).0, "runs");
    let bin = Some(Span::from_nanos(100));
    assert_eq!(problem(ScenarioChanges { bin, ..Default::default() }).0, "bin");
}

#[test]
fn what_is_not_changed_stays() {
    let mut scenario = Scenario::new("as it is");
    let before = (scenario.duration, scenario.seed, scenario.runs, scenario.record);
    ScenarioChanges::default().make(&mut scenario).expect("nothing to refuse");
    assert_eq!((scenario.duration, scenario.seed, scenario.runs, scenario.record), before);
    let bin = Span::from_millis(10);
    let changes = ScenarioChanges { seed: Some(7), bin: Some(bin), ..Default::default() };
    changes.make(&mut scenario).expect("changes");
    assert_eq!((scenario.seed, scenario.record), (7, Record::Series(bin)));
}
