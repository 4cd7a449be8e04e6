//! Several runs of one scenario: seeds, starts, and recordings that begin later.

use paceline_cc::{Capacity as _, ParamValue as _, Span, Time};
use paceline_sim::runs::{Run, Runs, Spread};
use paceline_sim::scenario::{self, Capacity, FlowSpec, LinkSpec, Scenario};
use paceline_sim::{run, transmitter};
use paceline_trace::{Delays, Trace, synthetic};

fn trace() -> Trace {
    synthetic("lte-walking", 1, Span::from_secs(20)).expect("a built-in trace")
}

/// One scheme over a recorded link, with a recorded link back and recorded delays.
fn recorded(scheme: &str) -> Scenario {
    let back = Trace::new("back", vec![1, 2, 3, 700]).expect("valid");
    let series =
        [(Span::from_millis(300), Span::from_millis(20)), (Span::from_millis(500), Span::ZERO)];
    let delays = Delays::new("delays", &series).expect("valid");
    Scenario::new("recorded").with(|scenario| {
        scenario.duration = Span::from_secs(5);
        scenario.links.push(LinkSpec::new("link", Capacity::trace(trace())));
        scenario.links.push(LinkSpec::new("back", Capacity::trace(back)));
        let scheme = paceline_cc::SchemeSpec::parse(scheme).expect("a scheme");
        scenario.flows.push(FlowSpec::bulk(scheme, &["link"]).with(|flow| {
            flow.back = vec!["back".into()];
            flow.data.impairments.delays = Some(delays);
        }));
        scenario.runs = Runs::new(40);
    })
}

fn constant(flows: usize) -> Scenario {
    Scenario::new("constant").with(|scenario| {
        scenario.duration = Span::from_secs(2);
        scenario
            .links
            .push(LinkSpec::new("link", Capacity::Constant(paceline_cc::Rate::from_mbps(12.0))));
        for _ in 0..flows {
            let cubic: paceline_sim::scenario::SchemeChoice = "cubic".parse().expect("a scheme");
            scenario.flows.push(FlowSpec::bulk(cubic, &["link"]));
        }
        scenario.runs = Runs::new(40);
    })
}

#[test]
fn the_first_run_is_the_scenario_itself() {
    let scenario = recorded("cubic");
    let first = Run::of(&scenario, 1);
    assert_eq!(first, Run { number: 1, seed: 1, start: Span::ZERO });
    let alone = run(&scenario).expect("runs");
    assert_eq!(run(&first.scenario(&scenario)).expect("runs").digest, alone.digest);
    let second = run(&Run::of(&scenario, 2).scenario(&scenario)).expect("runs");
    assert_ne!(second.digest, alone.digest);
    assert_eq!(second.duration_s, alone.duration_s);
}

#[test]
fn runs_are_the_same_for_all_schemes_and_for_any_number_of_runs() {
    let (cubic, abc) = (recorded("cubic"), recorded("abc").with(|abc| abc.runs.count = 3));
    let runs: Vec<Run> = Run::all(&cubic).collect();
    assert_eq!(Run::all(&abc).collect::<Vec<_>>(), runs[..3]);
    let seeds: std::collections::BTreeSet<u64> = runs.iter().map(|run| run.seed).collect();
    assert_eq!(seeds.len(), runs.len());
    assert!(runs.iter().all(|run| run.start < Span::from_secs(1)));
    assert!(runs.iter().any(|run| run.start > Span::from_millis(800)));
    // A different base seed gives other starts.
    let other = cubic.clone().with(|scenario| scenario.seed = 2);
    assert_ne!(Run::of(&other, 2).start, runs[1].start);
}

#[test]
fn a_spread_over_the_trace_covers_it() {
    let scenario = recorded("cubic").with(|scenario| scenario.runs.spread = Spread::Trace);
    let starts: Vec<Span> = Run::all(&scenario).map(|run| run.start).collect();
    assert!(starts.iter().all(|start| *start < trace().period()));
    for part in 0..4 {
        let inside = starts.iter().filter(|start| start.as_nanos() / 5_000_000_000 == part);
        assert!(inside.count() > 2, "{starts:?}");
    }
}

#[test]
fn everything_recorded_begins_later_by_the_same_offset() {
    let scenario = recorded("cubic").with(|scenario| scenario.runs.spread = Spread::Trace);
    for number in 2..6 {
        let one = Run::of(&scenario, number);
        let moved = one.scenario(&scenario);
        for (link, late) in scenario.links.iter().zip(&moved.links) {
            let made = |link| transmitter(&scenario, link).expect("a service");
            let (plain, late) = (made(link), made(late));
            let (plain, late) = (plain.capacity(), late.capacity());
            for at in (0..300).map(|at| Time::ZERO + Span::from_micros(at * 71_300)) {
                let until = at + Span::from_millis(130);
                let offered = plain.offered(at + one.start, until + one.start);
                assert_eq!(late.offered(at, until), offered, "{one:?} at {at:?}");
            }
        }
        let delays = |scenario: &Scenario| scenario.flows[0].data.impairments.delays.clone();
        let (plain, late) = (delays(&scenario).expect("some"), delays(&moved).expect("some"));
        for at in (0..100).map(|at| Span::from_millis(at * 17)) {
            assert_eq!(late.at(at), plain.at(at + one.start));
        }
        assert_eq!(moved.flows[0].start, Span::ZERO);
    }
}

#[test]
fn schedules_with_a_period_are_recordings() {
    let mbps = paceline_cc::Rate::from_mbps;
    let steps = vec![(Span::ZERO, mbps(2.0)), (Span::from_millis(400), mbps(10.0))];
    let period = Some(Span::from_millis(900));
    let mut scenario = constant(1);
    scenario.links[0].capacity = Capacity::Schedule { steps, period };
    for one in Run::all(&scenario).skip(1) {
        assert!(one.start < Span::from_millis(900));
        let moved = one.scenario(&scenario);
        let (plain, late) = (
            transmitter(&scenario, &scenario.links[0]).expect("a service"),
            transmitter(&moved, &moved.links[0]).expect("a service"),
        );
        let (plain, late) = (plain.capacity(), late.capacity());
        for at in (0..50).map(|at| Time::ZERO + Span::from_millis(at * 93)) {
            let until = at + Span::from_millis(100);
            let (have, want) =
                (late.offered(at, until), plain.offered(at + one.start, until + one.start));
            assert!(have.abs_diff(want) <= 1, "{one:?}: {have} and {want}");
        }
    }
}

#[test]
fn on_a_constant_link_only_a_flow_among_others_moves() {
    let alone = constant(1);
    assert!(Run::all(&alone).all(|run| run.start.is_zero()));
    let two = constant(2);
    for one in Run::all(&two).skip(1) {
        assert!(one.start < Span::from_millis(100));
        let moved = one.scenario(&two);
        assert_eq!((moved.flows[0].start, moved.flows[1].start), (one.start, Span::ZERO));
    }
}

#[test]
fn files_say_how_many_runs_and_where_they_start() {
    let text = "duration = \"5s\"\nruns = 12\nspread = \"trace\"\n[[link]]\nname = \"l\"\n\
                trace = \"lte-walking\"\n[[flow]]\nscheme = \"abc\"\n";
    let scenario = scenario::parse("s.toml", text, None).expect("valid");
    assert_eq!(scenario.runs, Runs { count: 12, spread: Spread::Trace });
    let written = scenario::to_toml(&scenario, "", &mut |_| "lte-walking".into()).expect("written");
    assert_eq!(scenario::parse("s.toml", &written, None).expect("valid").runs, scenario.runs);
    for (line, states_runs) in [("runs = 1\n", true), ("", false)] {
        let text = text.replace("runs = 12\n", line);
        let scenario = scenario::parse("s.toml", &text, None).expect("valid");
        assert_eq!((scenario.runs.count, scenario.states_runs), (1, states_runs));
        let again =
            scenario::to_toml(&scenario, "", &mut |_| "lte-walking".into()).expect("written");
        assert_eq!(again.contains("runs = 1\n"), states_runs, "{again}");
    }
    for (line, told) in
        [("runs = 0", "runs = 10"), ("spread = \"far\"", "trace for starts anywhere")]
    {
        let text = text.replace("runs = 12\nspread = \"trace\"", line);
        let error = scenario::parse("s.toml", &text, None).expect_err("wrong").to_string();
        assert!(error.contains(told), "{error}");
    }
    assert_eq!(Spread::read("250ms"), Ok(Spread::Within(Span::from_millis(250))));
}
