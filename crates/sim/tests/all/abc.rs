//! ABC's claims in simulation: fairness, steady state, Theorem 1, and the dual window.

use paceline_cc::{Rate, Span, Time};
use paceline_sim::metrics::jain;
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, Record, RouterChoice, Scenario, check_scheme,
};
use paceline_sim::{Outcome, Simulation, run};

fn flows(scheme: &str, count: u32, mbps: f64) -> Scenario {
    let mut scenario = Scenario::new("abc");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(mbps))));
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect(scheme), &["link"]);
    flow.count = count;
    scenario.flows.push(flow);
    scenario
}

/// Returns the mean goodput of each flow between two seconds of a run recorded in bins of one
/// second.
fn goodput(outcome: &Outcome, from: usize, to: usize) -> Vec<f64> {
    let mean = |values: &[f64]| {
        (from..to).map(|at| values.get(at).copied().unwrap_or(0.0)).sum::<f64>()
            / (to - from) as f64
    };
    let series = outcome.flows.iter().filter_map(|flow| flow.series.as_ref());
    series.map(|series| mean(&series.goodput_mbps)).collect()
}

/// Fig. 3: five flows on 24 Mbit/s start one by one every 25 s and stop one by one. A single phase
/// of 15 s has an index between .82 and 1. So the bound of .95 is for the median of all phases with
/// several flows over ten starts, and that of .85 for each phase's mean. Changed: while ABC's receiver was not Linux', five
/// starts and .9; the phase after the first flow has stopped had a mean of .93 over twenty starts, and has .89 since.
#[test]
fn additive_increase_makes_flows_fair() {
    const STARTS: u64 = 10;
    let run_from = |scheme: &str, start: u64| {
        let mut scenario = flows(scheme, 5, 24.0);
        scenario.duration = Span::from_secs(250);
        scenario.flows[0].stagger = Span::from_secs(25) + Span::from_millis(23 * start);
        scenario.flows[0].stop = Some(Span::from_secs(250));
        scenario.flows[0].stagger_stop = Span::from_secs(25);
        scenario.record = Record::Series(Span::from_secs(1));
        let outcome = run(&scenario).expect("runs");
        // Each phase of 25 s with all of its flows, without its first 10 s.
        (0..9)
            .map(|phase| {
                let active = if phase < 5 { phase + 1 } else { 9 - phase };
                jain(&goodput(&outcome, 25 * phase + 10, 25 * phase + 25)[..active])
            })
            .collect::<Vec<f64>>()
    };
    let runs =
        |scheme: &str| -> Vec<_> { (0..STARTS).map(|start| run_from(scheme, start)).collect() };
    let means = |runs: &[Vec<f64>]| {
        let mean = |at: usize| runs.iter().map(|run| run[at]).sum::<f64>() / STARTS as f64;
        (0..9).map(mean).collect::<Vec<f64>>()
    };
    let with = runs("abc");
    let mut shared: Vec<f64> = with.iter().flat_map(|run| run[1..8].to_vec()).collect();
    shared.sort_by(f64::total_cmp);
    assert!(shared[shared.len() / 2] > 0.95, "{shared:?}");
    assert!(means(&with).iter().all(|jain| *jain > 0.85), "{:?}", means(&with));
    let without = means(&runs("abc[additive_increase=false]"));
    let worst = without.iter().copied().fold(1.0, f64::min);
    assert!(worst < 0.85, "without additive increase: {without:?}");
}

/// §3.1.3: N flows with the same share f of accelerates have windows of 1/(1 - 2f).
#[test]
fn windows_settle_where_the_paper_says() {
    for (count, mbps) in [(1u32, 24.0), (2, 24.0), (5, 24.0)] {
        let mut scenario = flows("abc[dual_window=false]", count, mbps);
        scenario.duration = Span::from_secs(80);
        scenario.warmup = Span::from_secs(20);
        scenario.record = Record::Series(Span::from_millis(100));
        let outcome = run(&scenario).expect("runs");
        let link = &outcome.links[0];
        // Every packet that was not braked was accelerated.
        let packets = link.throughput_mbps * outcome.duration_s * 1e6 / 8.0 / 1500.0;
        let f = 1.0 - link.marks as f64 / packets;
        let windows = outcome.flows.iter().map(|flow| {
            let series = flow.series.as_ref().expect("recorded");
            let (_, values) =
                series.state.iter().find(|(name, _)| *name == "w_abc").expect("a window");
            let steady = &values[200..];
            steady.iter().sum::<f64>() / steady.len() as f64
        });
        let window = windows.sum::<f64>() / count as f64;
        let expected = 1.0 / (1.0 - 2.0 * f);
        assert!((window / expected - 1.0).abs() < 0.1, "{count}: {window} against {expected}");
    }
}

/// Theorem 1 (appendix C): with A = (eta - 1) + N/(mu*l), l the RTT, the queueing delay converges
/// to A*delta + dt if A > 0; otherwise the queue is empty and the utilisation is 1 + A.
#[test]
fn queues_settle_at_the_fixed_points() {
    let (delta, dt, eta) = (0.133, 0.050, 0.98);
    for (count, mbps) in [(1u32, 24.0), (8, 24.0), (16, 24.0), (10, 12.0)] {
        let mut scenario = flows("abc[dual_window=false]", count, mbps);
        scenario.duration = Span::from_secs(80);
        scenario.warmup = Span::from_secs(20);
        let outcome = run(&scenario).expect("runs");
        let link = &outcome.links[0];
        let mu = mbps * 1e6 / 8.0 / 1500.0;
        // The additive increase adds a packet per round trip, of which the queueing delay is a
        // part.
        let delay = link.queue_delay_ms.mean / 1e3;
        let a = (eta - 1.0) + count as f64 / (mu * (0.1 + delay));
        if a > 0.0 {
            let expected = a * delta + dt;
            assert!((delay / expected - 1.0).abs() < 0.05, "{count}: {delay} against {expected}");
            assert!(link.utilization > 0.995, "{count}: {}", link.utilization);
        } else {
            assert!(delay < 0.005, "{count}: {delay}");
            let expected = 1.0 + a;
            assert!((link.utilization - expected).abs() < 0.01, "{}", link.utilization);
        }
    }
}

/// Fig. 4: a wireless link with an ABC router whose rate changes, then a wired droptail link of 12
/// Mbit/s. The slower link determines which of both windows applies.
#[test]
fn the_dual_window_follows_the_bottleneck() {
    let mut scenario = Scenario::new("dual window");
    let rate = |mbps| Rate::from_mbps(mbps);
    let steps = vec![
        (Span::ZERO, rate(24.0)),
        (Span::from_secs(30), rate(6.0)),
        (Span::from_secs(60), rate(24.0)),
    ];
    let mut wireless = LinkSpec::new("wireless", Capacity::Schedule { steps, period: None });
    wireless.router = RouterChoice::Auto;
    let mut wired = LinkSpec::new("wired", Capacity::Constant(rate(12.0)));
    wired.router = RouterChoice::None;
    wired.buffer = paceline_path::BufferSize::Packets(100);
    scenario.links = vec![wireless, wired];
    scenario.flows.push(FlowSpec::bulk(check_scheme("abc").expect("abc"), &["wireless", "wired"]));
    scenario.duration = Span::from_secs(90);
    scenario.record = Record::Series(Span::from_millis(100));
    let mut simulation = Simulation::new(scenario.clone()).expect("builds");
    simulation.advance(Time::from_secs(90));
    let outcome = simulation.outcome().expect("measured");

    let state = &outcome.flows[0].series.as_ref().expect("recorded").state;
    let values = |name: &str| &state.iter().find(|(known, _)| *known == name).expect(name).1;
    let (abc, cubic) = (values("w_abc"), values("w_cubic"));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let link = |index: usize| outcome.links[index].series.as_ref().expect("recorded");
    let (wireless, wired) = (link(0), link(1));

    // Wired bottleneck, seconds 10 to 30: Cubic's window is the smaller one, its queue fills, and
    // the wireless queue stays empty.
    let smaller = (100..300).filter(|&at| cubic[at] <= abc[at]).count();
    assert!(smaller > 190, "Cubic's window counts in {smaller} of 200 bins");
    assert!(mean(&wired.throughput_mbps[100..300]) > 11.5);
    assert!(mean(&wired.queue_delay_ms[100..300]) > 20.0);
    // Wireless bottleneck, seconds 32 to 60: ABC's window is the smaller one, at low delay.
    let smaller = (320..600).filter(|&at| abc[at] <= cubic[at]).count();
    assert!(smaller > 270, "ABC's window counts in {smaller} of 280 bins");
    assert!(mean(&wireless.throughput_mbps[320..600]) > 0.95 * 6.0);
    assert!(mean(&wireless.queue_delay_ms[320..600]) < 30.0);
    // When the wireless link is fast again, the flow uses the wired link's whole rate within 2 s:
    // the unused window was limited by the cap.
    assert!(
        mean(&wired.throughput_mbps[620..650]) > 11.0,
        "{:?}",
        &wired.throughput_mbps[600..650]
    );
}
