use super::refit::{average, seeds};
use super::*;

/// Checks the statements of the module's documentation, one by one, over seeds that the fit did not
/// use.
#[test]
fn statistics_come_near_the_targets() {
    let mut failures = Vec::new();
    for entry in ENTRIES {
        let got = average(entry, &entry.model, 1..1 + seeds(entry));
        let (want, mean) = (entry.target.stats, entry.target.stats.mean_mbps);
        for (got, (name, want)) in got.into_iter().zip(want.columns()) {
            let within = |factor: f64, floor: f64| {
                (got + floor) / (want + floor) <= factor && (want + floor) / (got + floor) <= factor
            };
            let near = match name {
                "mean_mbps" => within(1.10, 0.0),
                "std100_mbps" => within(1.25, 0.0),
                "cv100" => within(1.20, 0.0),
                "p5_mbps" | "p50_mbps" | "p95_mbps" => (got - want).abs() <= 0.15 * mean.max(want),
                "longest_outage_s" => within(3.0, 0.0),
                "frac_zero_100ms" => within(2.0, 0.002),
                "max_opps_in_1ms" => within(3.0, 0.0),
                "acf_100ms_lag1s" | "acf_1s_lag1" => (got - want).abs() <= 0.12,
                "p99_gap_ms" => within(2.0, 0.0),
                _ => true,
            };
            if !near {
                failures.push(format!("{} {name}: {got:.4} for {want:.4}", entry.name));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn delays_come_near_the_recording() {
    let seeds = 1..41u64;
    let of = |seed| synthetic_delays("leo", seed, Span::from_secs(120)).expect("valid").stats();
    let all: Vec<DelayStats> = seeds.map(of).collect();
    let want = delay_target("leo").expect("a target");
    let near = |what: &str, get: fn(&DelayStats) -> f64, factor: f64| {
        let got = all.iter().map(get).sum::<f64>() / all.len() as f64;
        let ratio = (got / get(&want)).max(get(&want) / got);
        assert!(ratio <= factor, "{what}: {got:.3} for {:.3}", get(&want));
    };
    near("mean", |it| it.mean, 1.10);
    near("sd", |it| it.sd, 1.25);
    near("p5", |it| it.p5, 1.15);
    near("p50", |it| it.p50, 1.15);
    near("p95", |it| it.p95, 1.15);
    near("max", |it| it.max, 2.0);
    near("step", |it| it.step, 1.25);
}

#[test]
fn capacity_and_delay_move_at_the_same_times() {
    for seed in 1..20 {
        let length = Span::from_secs(60);
        let delays = synthetic_delays("leo", seed, length).expect("valid");
        let trace = synthetic("leo", seed, length).expect("valid");
        let pauses = trace.opportunities().windows(2).filter(|pair| pair[1] - pair[0] >= 45);
        let pauses: Vec<u32> = pauses.map(|pair| pair[0]).collect();
        assert!((3..=5).contains(&pauses.len()), "{seed}: {pauses:?}");
        for (at, next) in pauses.iter().zip(&pauses[1..]) {
            assert!((14_950..15_050).contains(&(next - at)), "{seed}: {pauses:?}");
        }
        for at in pauses {
            let moving = delays.at(Span::from_millis(u64::from(at) + 25));
            assert!(moving >= Span::from_millis(28), "{seed}: {moving} at {at}");
        }
    }
}

#[test]
fn the_default_seed_is_a_typical_specimen() {
    for entry in ENTRIES {
        let length = Span::from_secs(entry.default_s);
        let stats = Stats::of(&synthetic(entry.name, DEFAULT_SEED, length).expect("valid"));
        let want = entry.target.stats;
        let off = stats.mean_mbps / want.mean_mbps - 1.0;
        assert!(off.abs() < 0.15, "{}: mean off by {off}", entry.name);
        let off = stats.cv100 / want.cv100 - 1.0;
        assert!(off.abs() < 0.2, "{}: cv off by {off}", entry.name);
    }
}

#[test]
fn name_seed_and_length_determine_a_trace() {
    let second = Span::from_secs(1);
    for name in names() {
        let one = synthetic(name, 7, second * 5).expect("valid");
        assert_eq!(synthetic(&format!("{name}.down"), 7, second * 5), Ok(one.clone()));
        assert_ne!(synthetic(name, 8, second * 5), Ok(one.clone()));
        assert_eq!((one.name(), one.period()), (name, second * 5));
        // A longer trace begins like a shorter one, except for the opportunity that closes the
        // shorter one.
        let long = synthetic(name, 7, second * 10).expect("valid");
        let same = one.len() - 1;
        assert_eq!(one.opportunities()[..same], long.opportunities()[..same]);
    }
    // Pinned: a change of the model or of its parameters changes every published result.
    let trace = synthetic("lte-driving", DEFAULT_SEED, second * 140).expect("valid");
    let digest = trace.opportunities().iter().fold(0u64, |hash, &ms| {
        (hash ^ u64::from(ms)).wrapping_mul(0x0100_0000_01b3).rotate_left(5)
    });
    assert_eq!((trace.len(), digest), (55_753, 14_490_855_583_446_674_532));
}

#[test]
fn odd_requests_are_refused() {
    let error = synthetic("lte-drving", 1, Span::from_secs(1)).expect_err("unknown").to_string();
    assert!(
        error.starts_with("lte-drving: no built-in trace of this name (did you mean lte-driving?"),
        "{error}"
    );
    assert!(error.contains("nr-driving"), "{error}");
    assert!(synthetic("\u{1b}[2J", 1, Span::ZERO).is_err());
    for length in [Span::ZERO, Span::MAX] {
        assert!(synthetic("nr-walking", 1, length).is_err());
    }
    assert_eq!(synthetic("lte-walking", 1, Span::from_nanos(1)).map(|t| t.len()), Ok(1));
    assert!(target("lte-walking").is_some_and(|target| target.recorded));
    assert!(target("nr-walking").is_some_and(|target| !target.recorded));
    assert!(target("x").is_none() && default_length("x").is_none());
}
