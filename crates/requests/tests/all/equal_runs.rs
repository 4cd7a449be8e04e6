//! When several runs are said to be equal.

use paceline_cc::Span;
use paceline_requests::ScenarioRuns;
use paceline_requests::compare::{CompareLimits, CompareRequest};
use paceline_requests::summary::summary;
use paceline_requests::written;
use paceline_sim::Names;
use paceline_sim::runs::{Run, Runs};
use paceline_sim::scenario::parse;

/// Returns whether three runs of a scenario are said to be equal, and the packets that the first
/// flow sent in each.
fn equal(text: &str) -> (bool, Vec<u64>) {
    let mut scenario = parse("runs.toml", text, None).expect("a scenario");
    scenario.runs = Runs::new(3);
    let make = |run: Run| {
        let outcome = paceline_sim::run(&run.scenario(&scenario)).expect("runs");
        (run, outcome)
    };
    let runs: Vec<_> = Run::all(&scenario).map(make).collect();
    let sent = runs.iter().map(|(_, outcome)| outcome.flows[0].sender.sent).collect();
    (ScenarioRuns::of(&runs).expect("three runs").equal, sent)
}

#[test]
fn runs_that_differ_only_in_what_never_arrives_are_not_equal() {
    let lost = r#"
        duration = "4s"
        [[link]]
        name = "lossy"
        rate = "12Mbps"
        after = { loss = 1 }
        [[flow]]
        scheme = "cubic"
        on_off = { on = "200ms", off = "200ms" }
        handshake = false
    "#;
    let (equal_runs, sent) = equal(lost);
    assert!(sent.windows(2).any(|pair| pair[0] != pair[1]), "{sent:?}");
    assert!(!equal_runs);

    // Nothing arrives within the second.
    let late = r#"
        duration = "1s"
        [[link]]
        name = "late"
        rate = "12Mbps"
        after = { delay = "2s" }
        [[flow]]
        scheme = "cubic"
        [[flow]]
        scheme = "cubic"
    "#;
    assert!(!equal(late).0);
    let second = "[[flow]]\n        scheme = \"cubic\"\n";
    assert!(equal(&late.replace("2s", "20ms").replacen(second, "", 1)).0);
}

#[test]
fn a_comparison_in_which_nothing_arrives_has_no_equal_runs() {
    for (rtt, expected) in [(10_000, false), (50, true)] {
        let links = vec![written::capacity("4Mbps").expect("a rate")];
        let schemes = written::compared("cubic", &Names::default()).expect("a scheme").0;
        let request = CompareRequest {
            duration: Span::from_secs(1),
            runs: Runs::new(2),
            rtts: vec![Span::from_millis(rtt)],
            ..CompareRequest::new(links, schemes)
        };
        let mut runs = request.plan(&CompareLimits::default()).expect("a plan");
        for job in runs.jobs() {
            let row =
                runs.make(job, &Names::default(), &|| true).expect("runs").expect("to the end");
            runs.record(job, row);
        }
        assert_eq!(summary(&runs.rows())[0].equal, expected, "RTT {rtt} ms");
    }
}
