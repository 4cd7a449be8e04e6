//! Results of runs that have measured little or nothing.

use paceline_cc::{Rate, Span, Time};
use toml::Value;

use super::{Simulation, run};
use crate::outcome::Outcome;
use crate::scenario::{
    Arrivals, Capacity, FlowSpec, LinkSpec, Record, Scenario, Workload, check_scheme,
};

/// Two flows and random arrivals over a trace and a constant rate: 5 s, of which 2 s are warm-up.
fn scenario(record: Record) -> Scenario {
    let mut scenario = Scenario::new("young");
    let trace = paceline_trace::load("lte-driving").expect("built in");
    scenario.links.push(LinkSpec::new("trace", Capacity::trace(trace)));
    scenario.links.push(LinkSpec::new("rate", Capacity::Constant(Rate::from_mbps(12.0))));
    let mut flow = FlowSpec::bulk(check_scheme("cubic").expect("cubic"), &["trace", "rate"]);
    flow.count = 2;
    scenario.flows.push(flow.clone());
    scenario.arrivals.push(Arrivals {
        flow: flow.with(|flow| {
            (flow.count, flow.name, flow.workload) = (1, "short".into(), Workload::Bulk);
        }),
        per_second: 5.0,
        bytes: paceline_flow::Amount::Fixed(10_000.0),
    });
    scenario.duration = Span::from_secs(5);
    scenario.warmup = Span::from_secs(2);
    scenario.record = record;
    scenario
}

/// Checks that every number is finite. Exceptions, `null` in JSON, are delays of which nothing was measured, also in a
/// link's bins without departures, the use of links that offered nothing, and controllers' values that are not known yet.
fn check(outcome: &Outcome, what: &str) {
    fn walk(value: &Value, at: &str) {
        match value {
            Value::Float(number) => {
                let unmeasured = [
                    ".series.queue_delay_ms",
                    ".series.state",
                    "delay_ms.",
                    "rtt_ms.",
                    "completion_ms.",
                    ".utilization",
                ];
                let may = unmeasured.iter().any(|part| at.contains(part));
                assert!(may || number.is_finite(), "{at} is {number}");
            }
            Value::Array(values) => {
                values.iter().enumerate().for_each(|(i, value)| walk(value, &format!("{at}.{i}")));
            }
            Value::Table(table) => {
                table.iter().for_each(|(name, value)| walk(value, &format!("{at}.{name}")));
            }
            _ => {}
        }
    }
    walk(&Value::try_from(outcome).expect("serializable"), what);
}

#[test]
fn nothing_is_measured_during_the_warm_up() {
    for record in [Record::Counters, Record::Metrics, Record::Series(Span::from_millis(100))] {
        let scenario = scenario(record);
        let mut simulation = Simulation::new(scenario.clone()).expect("builds");
        for millis in [0, 1, 1000, 1999, 2000] {
            simulation.advance(Time::from_millis(millis));
            let outcome = simulation.outcome().expect("an outcome");
            let what = format!("{record:?} at {millis} ms");
            check(&outcome, &what);
            assert_eq!((outcome.duration_s, outcome.jain_1s), (0.0, None), "{what}");
            assert_eq!(outcome.goodput_mbps(), 0.0, "{what}");
            assert!(outcome.flows.iter().all(|flow| flow.power.is_none()), "{what}");
            assert!(outcome.links.iter().all(|link| link.capacity_mbps == 0.0), "{what}");
            assert!(outcome.links.iter().all(|link| link.utilization.is_nan()), "{what}");
            assert!(outcome.links.iter().all(|link| link.queue_delay_ms.p95.is_nan()), "{what}");
            assert!(outcome.flows.iter().all(|flow| flow.rtt_ms.mean.is_nan()), "{what}");
        }
        simulation.advance(Time::from_millis(4500));
        let outcome = simulation.outcome().expect("an outcome");
        check(&outcome, "later");
        assert_eq!(outcome.duration_s, 2.5);
        assert!(outcome.goodput_mbps() > 0.0 && outcome.jain_1s.is_some());
        assert!(outcome.links.iter().all(|link| link.capacity_mbps > 0.0));
        assert!(outcome.links.iter().all(|link| link.utilization > 0.0));
    }
}

#[test]
fn a_run_that_ends_in_its_warm_up_is_safe() {
    for (duration, warmup) in [(0, 0), (1, 1), (1, 5)] {
        for record in [Record::Counters, Record::Metrics, Record::Series(Span::from_millis(100))] {
            let mut scenario = scenario(record);
            scenario.duration = Span::from_secs(duration);
            scenario.warmup = Span::from_secs(warmup);
            let outcome = run(&scenario).expect("runs");
            check(&outcome, &format!("{duration} s, {warmup} s of warm-up"));
            assert_eq!(outcome.goodput_mbps(), 0.0);
        }
    }
}

/// Windows and bins are independent of each other, and of how often a run is interrupted.
#[test]
fn windows_do_not_depend_on_the_record() {
    let mut seen = Vec::new();
    for record in [Record::Counters, Record::Metrics, Record::Series(Span::from_millis(300))] {
        let scenario = scenario(record);
        let outcome = run(&scenario).expect("runs");
        seen.push((outcome.jain_1s, outcome.digest));
        let mut simulation = Simulation::new(scenario.clone()).expect("builds");
        (1..=50).for_each(|tenth| simulation.advance(Time::from_millis(100 * tenth)));
        let outcome = simulation.outcome().expect("an outcome");
        seen.push((outcome.jain_1s, outcome.digest));
    }
    assert!(seen[0].0.is_some_and(|jain| (0.5..=1.0).contains(&jain)), "{:?}", seen[0]);
    assert!(seen.iter().all(|each| *each == seen[0]), "{seen:?}");
}

/// A packet that arrives twice counts once, in the series too.
#[test]
fn the_series_of_goodput_counts_no_repetitions() {
    let mut scenario = Scenario::new("repetitions");
    scenario.links.push(LinkSpec::new("rate", Capacity::Constant(Rate::from_mbps(12.0))));
    let mut flow = FlowSpec::bulk(check_scheme("cubic").expect("cubic"), &["rate"]);
    flow.data.impairments.duplicate = 0.2;
    scenario.flows.push(flow);
    scenario.duration = Span::from_secs(5);
    scenario.record = Record::Series(Span::from_secs(1));
    let outcome = run(&scenario).expect("runs");
    let flow = &outcome.flows[0];
    let series = &flow.series.as_ref().expect("recorded").goodput_mbps;
    let mean = series.iter().sum::<f64>() / 5.0;
    assert!((mean - flow.goodput_mbps).abs() < 1e-9, "{mean} {}", flow.goodput_mbps);
}

/// One Cubic flow over `capacity` with an RTT of 50 ms, recorded in bins of `bin_ms` milliseconds.
fn one_flow(capacity: Capacity, bin_ms: u64) -> Scenario {
    let mut scenario = Scenario::new("one flow");
    scenario.links.push(LinkSpec::new("link", capacity));
    let mut flow = FlowSpec::bulk(check_scheme("cubic").expect("cubic"), &["link"]);
    flow.rtt = Span::from_millis(50);
    scenario.flows.push(flow);
    scenario.record = Record::Series(Span::from_millis(bin_ms));
    scenario
}

/// Opportunities lie on the edges of bins: a packet that leaves at one counts in the same bin as
/// the offered bytes.
#[test]
fn no_bin_has_more_throughput_than_capacity() {
    let trace = paceline_trace::load("lte-driving").expect("built in");
    for bin_ms in [10, 100] {
        let mut scenario = one_flow(Capacity::trace(trace.clone()), bin_ms);
        scenario.duration = Span::from_secs(5);
        let outcome = run(&scenario).expect("runs");
        let series = outcome.links[0].series.as_ref().expect("recorded");
        assert_eq!(series.throughput_mbps.len() as u64, 5000 / bin_ms);
        for (at, used) in series.throughput_mbps.iter().enumerate() {
            let offered = series.capacity_mbps[at];
            assert!(*used <= offered + 1e-9, "bin {at} of {bin_ms} ms: {used} of {offered}");
        }
    }
}

#[test]
fn all_series_of_a_run_have_the_same_bins() {
    let mut scenario = one_flow(Capacity::Constant(Rate::from_mbps(12.0)), 1000);
    scenario.flows[0].stop = Some(Span::from_secs(4));
    scenario.duration = Span::from_millis(9500);
    let outcome = run(&scenario).expect("runs");
    let flow = outcome.flows[0].series.as_ref().expect("recorded");
    assert_eq!(outcome.links[0].series.as_ref().expect("recorded").capacity_mbps.len(), 10);
    assert_eq!(flow.goodput_mbps.len(), 10);
    assert_eq!(flow.goodput_mbps[5..], [0.0; 5], "silent after the stop");
    assert!(!flow.state.is_empty());
    assert!(flow.state.iter().all(|(_, values)| values.len() == 10 && values[9].is_finite()));
}

#[test]
fn a_shorter_last_bin_has_its_own_length() {
    let mut scenario = one_flow(Capacity::Constant(Rate::from_mbps(12.0)), 1000);
    scenario.duration = Span::from_millis(10_500);
    let outcome = run(&scenario).expect("runs");
    let flow = outcome.flows[0].series.as_ref().expect("recorded");
    let link = outcome.links[0].series.as_ref().expect("recorded");
    let (own, all) = (flow.goodput_mbps[10], link.throughput_mbps[10]);
    assert!((own - all).abs() < 0.1, "{own}, not {all}");
    assert!((11.9..=12.1).contains(&own), "{own}");
}

/// 30 kB over 12 Mbit/s with an RTT of 50 ms take 0.12 s. One transfer ends in the warm-up, one
/// begins in it and ends later, one begins after it; and short flows arrive all the time.
#[test]
fn transfers_count_if_they_begin_after_the_warm_up() {
    let mut scenario = one_flow(Capacity::Constant(Rate::from_mbps(12.0)), 1000);
    scenario.record = Record::Metrics;
    scenario.flows[0].workload = Workload::Bytes(30_000);
    for start_ms in [19_990, 20_500] {
        let mut later = scenario.flows[0].clone();
        later.start = Span::from_millis(start_ms);
        scenario.flows.push(later);
    }
    scenario.arrivals.push(Arrivals {
        flow: scenario.flows[0].clone().with(|flow| flow.start = Span::ZERO),
        per_second: 10.0,
        bytes: paceline_flow::Amount::Fixed(30_000.0),
    });
    scenario.duration = Span::from_secs(30);
    scenario.warmup = Span::from_secs(20);
    let mut simulation = Simulation::new(scenario).expect("builds");
    simulation.advance(Time::from_secs(19));
    let young = simulation.outcome().expect("an outcome");
    let arrivals = young.arrivals.expect("arrivals");
    assert_eq!((young.flows[0].transfers, arrivals.arrived, arrivals.finished), (0, 0, 0));
    assert_eq!((young.flows[0].completion_ms, arrivals.completion_ms), (None, None));
    // The count during the run includes only flows that have arrived, not future ones.
    let mut counts = Vec::new();
    for at in [21, 25, 30] {
        simulation.advance(Time::from_secs(at));
        let outcome = simulation.outcome().expect("an outcome");
        let arrivals = outcome.arrivals.expect("arrivals");
        assert!(arrivals.finished <= arrivals.arrived, "{arrivals:?}");
        counts.push(arrivals.arrived);
    }
    assert!((3..=20).contains(&counts[0]), "{counts:?} of 10 in the mean");
    assert!((30..=70).contains(&counts[1]), "{counts:?} of 50 in the mean");
    assert!((70..=130).contains(&counts[2]), "{counts:?} of 100 in the mean");
    let outcome = simulation.outcome().expect("an outcome");
    let transfers: Vec<u64> = outcome.flows.iter().map(|flow| flow.transfers).collect();
    assert_eq!(transfers, [0, 0, 1]);
    let measured = outcome.flows.iter().map(|flow| flow.completion_ms.is_some());
    assert_eq!(measured.collect::<Vec<bool>>(), [false, false, true]);
}

#[test]
fn frames_count_from_the_end_of_the_warm_up() {
    let mut scenario = one_flow(Capacity::Constant(Rate::from_mbps(12.0)), 1000);
    scenario.record = Record::Metrics;
    scenario.flows[0].workload = Workload::Video(paceline_flow::Video::default());
    scenario.duration = Span::from_secs(10);
    let made = |warmup_s: u64| {
        let scenario =
            scenario.clone().with(|scenario| scenario.warmup = Span::from_secs(warmup_s));
        run(&scenario).expect("runs").flows[0].frames.expect("a video").made
    };
    // 30 frames per second; the first at time zero.
    assert!((299..=301).contains(&made(0)), "{}", made(0));
    assert!((59..=61).contains(&made(8)), "{}", made(8));
}

/// Returns the 95 % end-to-end delay in milliseconds of one flow over 12 Mbit/s with an RTT of 50
/// ms.
fn age_of(change: impl FnOnce(&mut Scenario)) -> Option<f64> {
    let mut scenario = one_flow(Capacity::Constant(Rate::from_mbps(12.0)), 1000);
    scenario.record = Record::Metrics;
    let outcome = run(&scenario.with(change)).expect("runs");
    let flow = &outcome.flows[0];
    assert_eq!(flow.power.is_some(), flow.end_to_end_p95_ms.is_some());
    assert_eq!(outcome.pooled.end_to_end_p95_ms, flow.end_to_end_p95_ms);
    flow.end_to_end_p95_ms
}

#[test]
fn a_flow_that_has_stopped_does_not_age() {
    let until = |seconds| {
        age_of(|scenario| {
            scenario.flows[0].stop = Some(Span::from_secs(10));
            scenario.duration = Span::from_secs(seconds);
        })
    };
    assert!(until(10).is_some_and(|age| (25.0..400.0).contains(&age)), "{:?}", until(10));
    assert_eq!(until(10), until(60));
}

#[test]
fn a_flow_ages_from_its_start_to_the_end_of_its_transfer() {
    let of = |start_s, warmup_s| {
        age_of(|scenario| {
            scenario.flows[0].start = Span::from_secs(start_s);
            scenario.flows[0].workload = Workload::Bytes(300_000);
            (scenario.duration, scenario.warmup) = (Span::from_secs(60), Span::from_secs(warmup_s));
        })
    };
    // The flow takes less than a second; gaps are shorter than a round trip.
    assert!(of(0, 0).is_some_and(|age| (25.0..200.0).contains(&age)), "{:?}", of(0, 0));
    assert_eq!(of(0, 0), of(30, 0));
    assert_eq!(of(0, 0), of(30, 20));
    assert_eq!(of(0, 20), None, "done before the warm-up ends");
}

#[test]
fn off_periods_do_not_age() {
    use paceline_flow::{Amount, On};

    let bytes = On::Bytes(Amount::Fixed(20_000.0));
    for on in [bytes, On::Time(Amount::Fixed(1.0))] {
        let age = age_of(|scenario| {
            let off = Amount::Fixed(4.0);
            scenario.flows[0].workload = Workload::OnOff { on, off, starts_off: true, fresh: true };
            scenario.duration = Span::from_secs(60);
        });
        assert!(age.is_some_and(|age| (25.0..200.0).contains(&age)), "{on:?}: {age:?}");
    }
}

#[test]
fn pooled_ages_are_the_mean_of_the_flows_that_have_one() {
    let mut scenario = one_flow(Capacity::Constant(Rate::from_mbps(12.0)), 1000);
    scenario.record = Record::Metrics;
    for stop_s in [5, 20] {
        let mut other = scenario.flows[0].clone();
        other.stop = Some(Span::from_secs(stop_s));
        scenario.flows.push(other);
    }
    (scenario.duration, scenario.warmup) = (Span::from_secs(30), Span::from_secs(10));
    let outcome = run(&scenario).expect("runs");
    let ages: Vec<Option<f64>> = outcome.flows.iter().map(|flow| flow.end_to_end_p95_ms).collect();
    let [Some(bulk), None, Some(stopped)] = ages[..] else { panic!("{ages:?}") };
    let pooled = outcome.pooled.end_to_end_p95_ms.expect("two flows have one");
    assert!((pooled - (bulk + stopped) / 2.0).abs() < 1e-9, "{ages:?}: {pooled}");
    let power = outcome.goodput_mbps() / (pooled / 1e3);
    assert!(outcome.pooled.power.is_some_and(|own| (own - power).abs() < 1e-9));
}
