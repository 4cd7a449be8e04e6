//! No check in force reads the result of a task that runs once, and no bound at all one that is planned
//! for causes only. Evaluates made-up records, and simulates nothing.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use paceline_reproduce::{EXPERIMENTS, Expectation, Setting, claims};
use paceline_sim::scenario::Scenario;
use paceline_tasks::{Record, Results, Task};

/// Number of bins of made-up series: more than an experiment skips at the beginning.
const BINS: usize = 3000;

/// Returns 64 bits that follow from these words.
fn bits(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// Returns a number between 0.5 and 1.5 that follows from these bits.
fn from_bits(bits: u64) -> f64 {
    0.5 + (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns a number between 0.5 and 1.5 that follows from these words.
fn number(words: &[&str]) -> f64 {
    from_bits(bits(words))
}

/// Returns a number between 0.5 and 1.5 for each bin: SplitMix64, since the words of each bin would take minutes to hash.
fn made_up_series(words: &[&str]) -> Vec<f64> {
    let mut state = bits(words);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from_bits(mixed ^ (mixed >> 31))
    };
    (0..BINS).map(|_| next()).collect()
}

/// Returns the names of a scenario's flows.
fn flows(scenario: &Scenario) -> Vec<String> {
    let names = scenario.flows.iter().flat_map(|flow| {
        let numbered = (1..=flow.count).map(|number| format!("{}-{number}", flow.name));
        if flow.count == 1 { vec![flow.name.clone()] } else { numbered.collect() }
    });
    names.collect()
}

/// Returns a made-up record with the names that `Record` documents.
fn record(task: &str, scenario: &Scenario) -> Record {
    let mut record = Record::default();
    let set = |name: &str, record: &mut Record| record.set(name, number(&[task, name]));
    let quantiles =
        |name: &str| ["mean", "p50", "p95", "p99", "max"].map(|q| format!("{name}.{q}"));
    let series = |name: &str| made_up_series(&[task, name]);
    let mut names: Vec<String> =
        ["bin", "all.goodput", "all.jain", "all.jain_1s", "all.end_to_end", "all.self_inflicted"]
            .map(String::from)
            .to_vec();
    names.extend(
        ["all.owd", "all.rtt", "arrivals.completion"].iter().flat_map(|name| quantiles(name)),
    );
    for link in &scenario.links {
        let name = format!("link.{}", link.name);
        let parts = ["capacity", "throughput", "utilization", "drops", "marks"];
        names.extend(parts.map(|part| format!("{name}.{part}")));
        names.extend(quantiles(&format!("{name}.delay")));
        for part in ["capacity", "throughput", "delay"] {
            record.set_series(format!("{name}.{part}"), &series(part));
        }
    }
    for medium in &scenario.media {
        let name = format!("medium.{}", medium.name);
        let parts =
            ["throughput", "collisions", "drops", "ap.throughput", "ap.drops", "ap.waiting"];
        names.extend(parts.map(|part| format!("{name}.{part}")));
        names.extend(quantiles(&format!("{name}.ap.delay")));
    }
    let flows = flows(scenario);
    for flow in &flows {
        let name = format!("flow.{flow}");
        names.extend(["goodput", "retransmits", "timeouts"].map(|part| format!("{name}.{part}")));
        names.extend(["owd", "rtt"].iter().flat_map(|part| quantiles(&format!("{name}.{part}"))));
        record.set_series(format!("{name}.goodput"), &series(flow));
        for state in ["cwnd", "w_abc", "w_cubic"] {
            record.set_series(format!("{name}.state.{state}"), &series(state));
        }
    }
    for sum in ["bytes", "packets", "delay", "on"] {
        let values: Vec<f64> = flows.iter().map(|flow| 1e6 * number(&[task, sum, flow])).collect();
        record.set_series(format!("sums.{sum}"), &values);
    }
    for name in &names {
        set(name, &mut record);
    }
    record
}

/// Returns made-up results of the tasks for which `is_made` holds.
fn results(tasks: &[Task], is_made: impl Fn(&Task) -> bool) -> Results {
    let mut results = Results::default();
    for task in tasks.iter().filter(|task| is_made(task)) {
        if let Some(scenario) = task.simulates() {
            results.insert(&task.name, record(&task.name, scenario));
        }
    }
    results
}

#[test]
fn no_check_in_force_reads_what_runs_once() {
    let setting = Setting::default();
    let claims = claims().expect("the built-in claims");
    let (mut once, mut measured) = (0, 0);
    for experiment in EXPERIMENTS.iter().filter(|experiment| !experiment.name.ends_with("-live")) {
        let tasks = (experiment.plan)(&setting).expect(experiment.name);
        once += tasks.iter().filter(|task| task.runs_once()).count();
        let found = |is_made: fn(&Task) -> bool| -> BTreeMap<String, f64> {
            (experiment.find)(&setting, &results(&tasks, is_made)).expect(experiment.name).measures
        };
        let (all, without) = (found(|_| true), found(|task| !task.runs_once()));
        for claim in claims.iter().filter(|claim| claim.experiment == experiment.name) {
            let checks = claim.checks.iter().filter_map(|check| check.now.as_ref());
            for measure in checks.flat_map(Expectation::measures) {
                let [first, further] = [&all, &without].map(|found| found.get(measure).copied());
                let is_finite = first.is_some_and(f64::is_finite);
                measured += usize::from(is_finite);
                assert!(
                    first == further || !is_finite,
                    "{}: {measure} is {first:?} with all tasks and {further:?} without those that \
                     run once: remove `once` from a task that it reads",
                    claim.id
                );
            }
        }
    }
    // Most measures are made of simulations; others come from computations, which are left out here.
    assert!(once > 300 && measured > 400, "{once} tasks run once, {measured} measures");
}

/// Without the runs for causes, each bound reads the same figures, those stated first included.
#[test]
fn no_bound_reads_what_runs_for_causes() {
    let claims = claims().expect("the built-in claims");
    let (mut left_out, mut measured) = (0, 0);
    for experiment in EXPERIMENTS.iter().filter(|experiment| !experiment.name.ends_with("-live")) {
        let [(all, every), (without, fewer)] = [true, false].map(|causes| {
            let setting = Setting { causes, ..Setting::default() };
            let tasks = (experiment.plan)(&setting).expect(experiment.name);
            let found = (experiment.find)(&setting, &results(&tasks, |_| true));
            (found.expect(experiment.name).measures, tasks.len())
        });
        left_out += every - fewer;
        for claim in claims.iter().filter(|claim| claim.experiment == experiment.name) {
            let bounds =
                claim.checks.iter().flat_map(|check| check.now.iter().chain([&check.stated]));
            for measure in bounds.flat_map(Expectation::measures) {
                let [one, other] = [&all, &without].map(|found| found.get(measure).copied());
                let is_finite = one.is_some_and(f64::is_finite);
                measured += usize::from(is_finite);
                assert!(one == other || !is_finite, "{}: {measure}: {one:?}, {other:?}", claim.id);
            }
        }
    }
    assert!(left_out > 300 && measured > 400, "{left_out} tasks, {measured} measures");
}
