//! A limit of the rate applies to every scheme.

use paceline_cc::{Plan, Rate};

use super::desk::{Desk, bulk};

/// Returns the number of packets sent in each second from the first to the fourth, if all of them
/// are acknowledged every 10 ms.
fn packets_per_second(desk: &mut Desk) -> Vec<u64> {
    let (mut counts, mut next) = (vec![0; 4], 0);
    for tick in 0..400 {
        let sent = desk.until(tick * 10);
        counts[tick as usize / 100] += sent.len() as u64;
        if let Some((_, last)) = sent.last() {
            next = last + 1;
        }
        if next > 0 {
            desk.ack(next, &[(0, next - 1)]);
        }
    }
    counts
}

#[test]
fn schemes_that_pace_and_those_that_do_not_keep_to_a_limit() {
    for scheme in ["cubic", "newreno", "bbr", "bbr3", "copa", "vegas", "sprout", "gcc", "vivace"] {
        // 6 Mbit/s: 500 packets per second.
        let mut desk = Desk::under(scheme, bulk());
        desk.limit(6.0);
        let counts = packets_per_second(&mut desk);
        assert!(counts.iter().all(|&count| count <= 501), "{scheme}: {counts:?}");
    }
}

#[test]
fn a_window_that_is_always_open_is_used_at_exactly_the_limit() {
    let plan = Plan::window(1 << 30);
    for mbps in [0.12, 1.2, 12.0, 120.0] {
        let mut desk = Desk::new(bulk(), plan);
        desk.limit(mbps);
        let counts = packets_per_second(&mut desk);
        let expected = mbps * 1e6 / 12_000.0;
        for count in counts {
            assert!((count as f64 - expected).abs() <= 1.0 + expected / 100.0, "{mbps}: {count}");
        }
    }
}

#[test]
fn a_scheme_that_paces_more_slowly_is_left_alone() {
    let mut plan = Plan::window(1 << 30);
    plan.pacing = Some(Rate::from_mbps(6.0));
    let mut limited = Desk::new(bulk(), plan);
    limited.limit(60.0);
    assert_eq!(
        limited.until(1000),
        Desk::new(bulk(), plan).until(1000),
        "packets leave when they left without the limit"
    );
}
