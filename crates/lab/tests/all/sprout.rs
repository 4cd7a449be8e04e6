//! Sprout's claims (thesis §2.4) about delay and throughput beside other schemes, loss, and
//! confidence; and that the generic sender sends exactly when its controller allows.

#![allow(clippy::print_stdout, reason = "a test says what it has seen")]

use crate::recordings::recording_or;
use paceline_cc::{Rate, Span};
use paceline_flow::Workload;
use paceline_path::{BufferSize, Loss};
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, check_scheme};
use paceline_sim::{Outcome, run};

/// Downlinks and uplinks of four networks.
fn links() -> Vec<(String, Capacity)> {
    let networks = [
        ("Verizon-LTE-short", "lte-driving"),
        ("Verizon-EVDO-driving", "evdo-driving"),
        ("ATT-LTE-driving", "lte-stationary"),
        ("TMobile-UMTS-driving", "umts-driving"),
    ];
    let ways = |(recorded, synthetic): (&str, &str)| {
        let (recorded, synthetic) = (recorded.to_string(), synthetic.to_string());
        ["down", "up"].map(|way| {
            let name = format!("{recorded}.{way}");
            let link = recording_or(&name, &synthetic);
            (name, link)
        })
    };
    networks.into_iter().flat_map(ways).collect()
}

/// Runs with an RTT of 40 ms and an unlimited queue; the first minute is left out.
fn compare(capacity: &Capacity, scheme: &str, seconds: u64) -> CompareRow {
    let comparison = Comparison {
        rtt: Span::from_millis(40),
        buffer: BufferSize::Unlimited,
        duration: Span::from_secs(seconds),
        warmup: Span::from_secs(60),
        ..Comparison::new("trace", capacity.clone(), check_scheme(scheme).expect(scheme))
    };
    comparison.row(&comparison.run().expect("runs"))
}

/// Figs 2-2, 2-3 and 2-9, averages over eight links: Sprout's delay is below that of all other
/// end-to-end schemes, and Sprout-EWMA's is second. EWMA has more throughput than Sprout and than
/// Cubic over CoDel, and Sprout less than Cubic over CoDel. (The thesis' TCPs have less throughput
/// than the schemes here, which have no receive window and fill the link.)
#[test]
fn the_ordering_of_figures_2_2_and_2_3() {
    let links = links();
    let mean = |scheme: &str| {
        let rows: Vec<CompareRow> =
            links.iter().map(|(_, link)| compare(link, scheme, 300)).collect();
        let over = |figure: &dyn Fn(&CompareRow) -> f64| {
            rows.iter().map(figure).sum::<f64>() / rows.len() as f64
        };
        let delay = over(&|row| row.self_inflicted_delay_ms.p95);
        let mean = (over(&|row| row.utilization), delay);
        println!("{scheme}: utilization {:.2}, delay {:.0} ms", mean.0, mean.1);
        mean
    };
    let (sprout, ewma, codel) = (mean("sprout"), mean("sprout-ewma"), mean("cubic+codel"));
    assert!(sprout.1 < ewma.1, "{sprout:?} against {ewma:?}");
    for scheme in ["vegas", "ledbat", "compound", "cubic"] {
        let other = mean(scheme);
        assert!(sprout.1 < other.1 && ewma.1 < other.1, "{scheme}: {other:?}");
    }
    assert!(sprout.0 < codel.0 && codel.0 < ewma.0, "{sprout:?}, {codel:?}, {ewma:?}");
}

fn flow(scheme: &str, path: &str, back: &[&str]) -> FlowSpec {
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect(scheme), &[path]);
    flow.back = back.iter().map(ToString::to_string).collect();
    flow.rtt = Span::from_millis(40);
    flow
}

fn link(name: &str, capacity: Capacity) -> LinkSpec {
    let mut link = LinkSpec::new(name, capacity);
    link.buffer = BufferSize::Unlimited;
    link
}

fn constant(mbps: f64) -> Capacity {
    Capacity::Constant(Rate::from_mbps(mbps))
}

/// Runs one flow with an RTT of 40 ms over one link.
fn alone(scheme: &str, capacity: Capacity, change: impl FnOnce(&mut Scenario)) -> Outcome {
    let mut scenario = Scenario::new("sprout");
    scenario.links.push(link("link", capacity));
    scenario.flows.push(flow(scheme, "link", &[]));
    scenario.duration = Span::from_secs(60);
    change(&mut scenario);
    run(&scenario).expect("runs")
}

/// §2.4.6: with 5 and 10 % of loss in each direction, half and a quarter of the throughput remain.
#[test]
fn losses_cost_less_than_half_and_three_quarters() {
    for way in ["down", "up"] {
        let trace = recording_or(&format!("Verizon-LTE-short.{way}"), "lte-driving");
        let goodput = |loss: f64| {
            let outcome = alone("sprout", trace.clone(), |scenario| {
                scenario.duration = Span::from_secs(140);
                scenario.warmup = Span::from_secs(60);
                let flow = &mut scenario.flows[0];
                flow.data.impairments.loss = Loss::Bernoulli(loss);
                flow.acks.impairments.loss = Loss::Bernoulli(loss);
            });
            let flow = &outcome.flows[0];
            println!(
                "{way} {loss}: {} {}",
                flow.goodput_mbps,
                flow.end_to_end_p95_ms.expect("arrivals")
            );
            flow.goodput_mbps
        };
        let (none, five, ten) = (goodput(0.0), goodput(0.05), goodput(0.1));
        assert!(five >= 0.5 * none && ten >= 0.25 * none, "{way}: {none}, {five}, {ten}");
        assert!(ten < none, "{way}: {none}, {ten}");
    }
}

/// Fig. 2-11, on T-Mobile's UMTS uplink: lower confidence gives more throughput and more delay.
#[test]
fn confidence_trades_throughput_for_delay() {
    let link = recording_or("TMobile-UMTS-driving.up", "umts-driving.up");
    let rows: Vec<CompareRow> = ["0.95", "0.9", "0.75", "0.5", "0.25", "0.05"]
        .map(|confidence| compare(&link, &format!("sprout[confidence={confidence}]"), 300))
        .into();
    for pair in rows.windows(2) {
        let what = format!("{} to {}", pair[0].scheme, pair[1].scheme);
        assert!(pair[0].throughput_mbps < pair[1].throughput_mbps, "{what}");
        let delay = |row: &CompareRow| row.self_inflicted_delay_ms.p95;
        assert!(
            delay(&pair[0]) < delay(&pair[1]),
            "{what}: {} {}",
            delay(&pair[0]),
            delay(&pair[1])
        );
    }
}

/// On a steady link within its range Sprout uses the whole link, and no packet waits for 100 ms.
#[test]
fn a_steady_link_is_used() {
    for scheme in ["sprout", "sprout-ewma"] {
        let outcome = alone(scheme, constant(6.0), |scenario| {
            scenario.warmup = Span::from_secs(10);
        });
        let link = &outcome.links[0];
        assert!(link.utilization > 0.95, "{scheme}: {}", link.utilization);
        assert!(link.queue_delay_ms.p95 < 100.0, "{scheme}: {:?}", link.queue_delay_ms);
    }
}

/// Sprout's rates end at 1000 packets per second, and its tables at 29 packets per tick, so links
/// far above 12 Mbit/s are not filled. (Over a short path, its forecast of 100 ms is sent in less
/// time.)
#[test]
fn fast_links_are_not_filled() {
    let outcome = alone("sprout", constant(48.0), |scenario| {
        scenario.warmup = Span::from_secs(10);
    });
    let rate = outcome.links[0].throughput_mbps;
    assert!((11.0..24.0).contains(&rate), "{rate}");
}

/// Packets in flight count as queue, and the look-ahead ends at 100 ms: the longer the path, the
/// smaller the window.
#[test]
fn long_paths_are_starved_by_what_is_in_flight() {
    let used = |rtt: u64, lookahead: u32| {
        let scheme = format!("sprout[lookahead={lookahead}]");
        let outcome = alone(&scheme, constant(6.0), |scenario| {
            scenario.flows[0].rtt = Span::from_millis(rtt);
            scenario.warmup = Span::from_secs(10);
        });
        outcome.links[0].utilization
    };
    let (short, middle, long) = (used(40, 5), used(80, 5), used(150, 5));
    assert!(short > 0.95 && middle < 0.7 && long < 0.3, "{short} {middle} {long}");
    assert!(used(60, 7) > used(60, 5) && used(40, 3) < short);
}

/// Ten seconds without a link: when the forecast has faded, only a heartbeat leaves every 50 ms; no
/// probe, no retransmission, no packet that a timeout would allow.
#[test]
fn only_heartbeats_leave_in_an_outage() {
    for scheme in ["sprout", "sprout-ewma"] {
        let sent = |until: u64| {
            let steps = [(0, 6.0), (10, 0.0), (20, 6.0)]
                .map(|(at, mbps)| (Span::from_secs(at), Rate::from_mbps(mbps)));
            let capacity = Capacity::Schedule { steps: steps.into(), period: None };
            let outcome = alone(scheme, capacity, |scenario| {
                scenario.duration = Span::from_secs(until);
            });
            let sender = outcome.flows[0].sender;
            assert_eq!(sender.retransmits, 0, "{scheme}");
            (sender.sent, outcome.flows[0].goodput_mbps * until as f64)
        };
        let ((before, _), (after, _)) = (sent(11), sent(20));
        let beats = 9 * 20;
        assert!(after - before <= beats + 2, "{scheme}: {} packets", after - before);
        assert!(after - before >= beats - 2, "{scheme}: {} packets", after - before);
        // The rate returns with the link.
        let (_, early) = sent(20);
        let (_, late) = sent(25);
        assert!(late - early > 0.8 * 6.0 * 5.0, "{scheme}: {} Mbit in 5 s", late - early);
    }
}

/// Each direction of a path carries a flow, which shares its link with the other flow's reports and
/// acknowledgements. Reports that wait in the other flow's queue make the path longer, which costs
/// the flow on the slower link two thirds to nine tenths of its rate, as the phases of the two
/// flows' ticks happen to lie: see `long_paths_are_starved_by_what_is_in_flight`.
///
/// The bound of the slower flow was 0.3 of its link in one run, while both flows had one phase
/// (0.38 of it); it is 0.1 by the median of five seeds (0.15) since each has its own.
#[test]
fn both_directions_carry_flows() {
    let mut ups = [1, 2, 3, 4, 5].map(|seed| {
        let mut scenario = Scenario::new("both ways");
        scenario.links.push(link("down", constant(6.0)));
        scenario.links.push(link("up", constant(3.0)));
        scenario.flows.push(flow("sprout", "down", &["up"]));
        scenario.flows.push(flow("sprout", "up", &["down"]));
        (scenario.duration, scenario.warmup) = (Span::from_secs(60), Span::from_secs(10));
        scenario.seed = seed;
        let outcome = run(&scenario).expect("runs");
        let (down, up) = (outcome.flows[0].goodput_mbps, outcome.flows[1].goodput_mbps);
        println!("{down} of 6 Mbit/s, {up} of 3 Mbit/s");
        assert!(down > 0.9 * 6.0, "{down}");
        for flow in &outcome.flows {
            assert!(flow.one_way_delay_ms.p95 < 120.0, "{:?}", flow.one_way_delay_ms);
        }
        up
    });
    ups.sort_by(f64::total_cmp);
    assert!(ups[2] > 0.1 * 3.0, "{ups:?}");
}

/// An application with less data than the link could carry sends all of it at once, although its
/// pauses could be mistaken for outages.
#[test]
fn applications_with_less_to_send_are_served() {
    for scheme in ["sprout", "sprout-ewma"] {
        let outcome = alone(scheme, constant(6.0), |scenario| {
            let rate = Rate::from_mbps(1.0);
            scenario.flows[0].workload = Workload::Limited { rate, message: 1000 };
            scenario.warmup = Span::from_secs(5);
        });
        let flow = &outcome.flows[0];
        assert!(flow.goodput_mbps > 0.98, "{scheme}: {}", flow.goodput_mbps);
        assert!(flow.one_way_delay_ms.p95 < 40.0, "{scheme}: {:?}", flow.one_way_delay_ms);
    }
}

/// A transfer of a given size ends, although heartbeats are always in flight. Afterwards nothing is
/// sent: neither heartbeats nor forecasts.
#[test]
fn transfers_end_and_leave_silence() {
    let after = |seconds: u64| {
        let outcome = alone("sprout", constant(6.0), |scenario| {
            scenario.flows[0].workload = Workload::Bytes(1_000_000);
            scenario.flows[0].rtt = Span::from_millis(80);
            scenario.duration = Span::from_secs(seconds);
        });
        (outcome.flows[0].transfers, outcome.flows[0].sender.sent)
    };
    let (done, sent) = after(30);
    assert_eq!(done, 1);
    assert_eq!(after(60), (done, sent));
}
