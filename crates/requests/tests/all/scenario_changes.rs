//! Settings of a scenario that a caller may replace.

use paceline_cc::Span;
use paceline_requests::ScenarioChanges;
use paceline_sim::scenario::{Record, Scenario, parse};

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

#[test]
fn the_limits_of_files_hold_for_a_changed_duration() {
    let blamed = |text: &str, changes: &ScenarioChanges| {
        let head = "duration = \"10s\"\nbin = \"10s\"\n[[link]]\nname = \"link\"\n";
        let mut scenario = parse("s.toml", &format!("{head}{text}"), None).expect("a scenario");
        changes.make(&mut scenario).map_err(|error| error.to_string())
    };
    let duration = |seconds| ScenarioChanges {
        duration: Some(Span::from_secs(seconds)),
        ..ScenarioChanges::default()
    };
    let short = "rate = \"1Gbps\"\n[[flow]]\nscheme = \"cubic\"\narrivals = { per_second = 9000, bytes = 100 }";
    assert_eq!(blamed(short, &duration(11)), Ok(()));
    let many = "duration: 180000 flows are more than 100000; make it shorter";
    assert_eq!(blamed(short, &duration(20)), Err(many.to_string()));
    let walk =
        "wifi = { mcs = { min = 0, max = 7, every = \"10ms\" } }\n[[flow]]\nscheme = \"cubic\"";
    assert_eq!(blamed(walk, &duration(10_000)), Ok(()));
    let steps = "duration: the walk has more than a million steps; make it shorter";
    assert_eq!(blamed(walk, &duration(10_001)), Err(steps.to_string()));
    let flow = "rate = \"1Gbps\"\n[[flow]]\nscheme = \"cubic\"";
    let long = "duration: the duration is longer than 30 days; make it shorter";
    assert_eq!(blamed(flow, &duration(31 * 24 * 3600)), Err(long.to_string()));
    let many = "rate = \"1Gbps\"\n[[flow]]\nscheme = \"cubic\"\ncount = 100000";
    let bin = Some(Span::from_millis(1));
    let fine = ScenarioChanges { bin, ..ScenarioChanges::default() };
    let bins = "bin: 1000010000 bins of time series are more than 20000000; make it longer";
    assert_eq!(blamed(many, &fine), Err(bins.to_string()));
    // Other changes leave them as they are.
    let seed = ScenarioChanges { seed: Some(2), ..ScenarioChanges::default() };
    assert_eq!(blamed(many, &seed), Ok(()));
}
