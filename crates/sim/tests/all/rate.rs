//! RCP and VCP on whole paths.

use paceline_cc::{Rate, Span};
use paceline_flow::Amount;
use paceline_path::{BufferSize, Loss};
use paceline_sim::scenario::{
    Arrivals, Capacity, FlowSpec, LinkSpec, Record, Scenario, check_scheme,
};
use paceline_sim::{Outcome, run};

const TENTH: Span = Span::from_millis(100);

fn mbps(rate: f64) -> Capacity {
    Capacity::Constant(Rate::from_mbps(rate))
}

/// Flows over one link with a buffer of 250 packets, RTT 100 ms, for half a minute.
fn scenario(capacity: Capacity, scheme: &str, flows: u32) -> Scenario {
    let mut scenario = Scenario::new("rate");
    let mut link = LinkSpec::new("link", capacity);
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect(scheme), &["link"]);
    flow.count = flows;
    scenario.flows.push(flow);
    scenario.duration = Span::from_secs(30);
    scenario
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// One flow over the square wave of the ABC paper's Fig. 19: half a second of 12 Mbit/s and half a
/// second of 24; from 10 s on. Returns the results, and the utilisation in each tenth of the
/// period, over all periods.
fn square_wave(scheme: &str) -> (Outcome, Vec<f64>) {
    let steps = [(Span::ZERO, 12.0), (Span::from_millis(500), 24.0)]
        .map(|(at, rate)| (at, Rate::from_mbps(rate)));
    let wave = Capacity::Schedule { steps: steps.to_vec(), period: Some(Span::from_millis(1000)) };
    let mut scenario = scenario(wave, scheme, 1);
    scenario.warmup = Span::from_secs(10);
    scenario.record = Record::Series(TENTH);
    let outcome = run(&scenario).expect("runs");
    let series = outcome.links[0].series.as_ref().expect("recorded");
    let used = |at: usize| series.throughput_mbps[at] / series.capacity_mbps[at];
    let phases = (0..10).map(|tenth| mean((100 + tenth..300).step_by(10).map(used))).collect();
    (outcome, phases)
}

/// ABC paper, Fig. 19: ABC uses almost all of the link at once after each change. RCP fills the
/// queue when the capacity falls, drains it, and has then lowered its rate too far: it under-uses
/// the link for a long time.
#[test]
fn on_a_square_wave_rcp_reduces_too_far_and_abc_does_not() {
    let (abc, fast) = square_wave("abc");
    assert!(abc.links[0].utilization > 0.93, "{}", abc.links[0].utilization);
    // Except in the tenth in which the capacity doubles: senders learn of it an RTT later.
    assert!(fast.iter().enumerate().all(|(at, used)| at == 5 || *used > 0.95), "abc: {fast:?}");
    for scheme in ["rcp", "rcp[rule=authors]", "rcp[refresh=ack]"] {
        let (rcp, slow) = square_wave(scheme);
        let (used, delay) = (rcp.links[0].utilization, rcp.links[0].queue_delay_ms);
        assert!(used < abc.links[0].utilization - 0.2, "{scheme}: {used}");
        assert!(slow[6..].iter().all(|used| *used < 0.65), "{scheme}: {slow:?}");
        assert!(delay.p95 > abc.links[0].queue_delay_ms.p95, "{scheme}: p95 {} ms", delay.p95);
        // The packets sent at 24 Mbit/s until senders learned of the fall drain at 12.
        assert!(delay.max > 150.0, "{scheme}: {} ms", delay.max);
    }
}

/// ABC paper, §8: VCP takes 12 RTTs to double its window. With an RTT of one interval, 200 ms, a
/// step of 1.0625 per RTT takes 11.4; its start with one packet is as slow.
#[test]
fn vcp_doubles_in_twelve_round_trips() {
    let mut scenario = scenario(mbps(1000.0), "vcp", 1);
    scenario.flows[0].rtt = Span::from_millis(200);
    scenario.links[0].buffer = BufferSize::Bdp(1.0);
    scenario.record = Record::Series(Span::from_millis(200));
    let outcome = run(&scenario).expect("runs");
    let series = outcome.flows[0].series.as_ref().expect("recorded");
    let (_, window) = series.state.iter().find(|(name, _)| *name == "cwnd").expect("a window");
    let reached =
        |packets: f64| window.iter().position(|cwnd| *cwnd >= packets).expect("a window so large");
    let at = [50.0, 100.0, 200.0, 400.0].map(reached);
    for pair in at.windows(2) {
        assert!((11..=12).contains(&(pair[1] - pair[0])), "{at:?}");
    }
    // From 50 packets to 400: three doublings in full round trips.
    let expected = 3.0 * std::f64::consts::LN_2 / 1.0625_f64.ln();
    assert!(((at[3] - at[0]) as f64 - expected).abs() <= 1.0, "{at:?}, not {expected}");
}

/// RCP's thesis: flows finish sooner than with slow start, because they send at their share after
/// one round trip.
#[test]
fn short_flows_finish_sooner_with_rcp() {
    for bytes in [150e3, 300e3] {
        let mut means = Vec::new();
        for scheme in ["rcp", "rcp[rule=authors]", "newreno"] {
            let mut scenario = scenario(mbps(100.0), scheme, 0);
            scenario.links[0].buffer = BufferSize::Bdp(1.0);
            let flow = scenario.flows.pop().expect("a flow");
            scenario.arrivals.push(Arrivals {
                flow: flow.with(|flow| flow.count = 1),
                per_second: 0.5 * 100e6 / 8.0 / bytes,
                bytes: Amount::Fixed(bytes),
            });
            let outcome = run(&scenario).expect("runs");
            let arrivals = outcome.arrivals.expect("arrivals");
            let under_way = arrivals.arrived - arrivals.finished;
            assert!(arrivals.finished > 600 && under_way < 30, "{scheme}: {arrivals:?}");
            // One round trip to request the rate, and one for the data.
            let times = arrivals.completion_ms.expect("finished flows");
            assert!(times.p50 > 200.0, "{scheme}: {times:?}");
            means.push(times.mean);
        }
        let [rcp, authors, newreno] = means[..] else { panic!("{means:?}") };
        assert!(rcp < 0.6 * newreno, "{bytes} bytes: {means:?}");
        assert!(authors < 0.6 * newreno, "{bytes} bytes: {means:?}");
    }
}

/// One flow over 12 Mbit/s whose data and acknowledgements are lost with this probability; from 10
/// s on.
fn lossy(scheme: &str, loss: f64) -> Outcome {
    let mut scenario = scenario(mbps(12.0), scheme, 1);
    scenario.flows[0].data.impairments.loss = Loss::Bernoulli(loss);
    scenario.flows[0].acks.impairments.loss = Loss::Bernoulli(loss);
    scenario.warmup = Span::from_secs(10);
    run(&scenario).expect("runs")
}

/// RCP repairs losses without a reaction; VCP reacts to them like Reno.
#[test]
fn loss_slows_vcp_down_and_not_rcp() {
    for scheme in ["rcp", "rcp[rule=authors]"] {
        let clean = lossy(scheme, 0.0);
        for loss in [0.01, 0.05, 0.2] {
            let outcome = lossy(scheme, loss);
            let (sent, all) = (outcome.flows[0].sender.sent, clean.flows[0].sender.sent);
            assert!(sent.abs_diff(all) * 1000 < all, "{scheme} at {loss}: {sent} of {all} sent");
            let kept = outcome.flows[0].goodput_mbps / clean.flows[0].goodput_mbps;
            assert!((kept - (1.0 - loss)).abs() < 0.01, "{scheme} at {loss}: {kept}");
            assert_eq!(outcome.flows[0].sender.timeouts, 0, "{scheme} at {loss}");
        }
    }
    let clean = lossy("vcp", 0.0).flows[0].goodput_mbps;
    let mut before = clean / 8.0;
    for loss in [0.01, 0.05, 0.2] {
        let goodput = lossy("vcp", loss).flows[0].goodput_mbps;
        assert!(goodput < before, "{goodput} at {loss}, {before} before, {clean} without");
        before = goodput / 2.0;
    }
}

/// VCP's fairness: four flows that start 10 s apart finally have equal shares in each second, and
/// use most of the link without loss. RCP's shares are equal at once.
#[test]
fn shares_become_equal() {
    for (scheme, warmup, used) in
        [("vcp", 60, 0.83), ("vcp[rule=authors]", 60, 0.83), ("rcp", 35, 0.94)]
    {
        let mut scenario = scenario(mbps(24.0), scheme, 4);
        scenario.flows[0].stagger = Span::from_secs(10);
        scenario.duration = Span::from_secs(200);
        scenario.warmup = Span::from_secs(warmup);
        let outcome = run(&scenario).expect("runs");
        let (jain, link) = (outcome.jain_1s.expect("four flows"), &outcome.links[0]);
        assert!(jain > 0.995, "{scheme}: {jain}");
        assert!(outcome.jain() > 0.999, "{scheme}: {}", outcome.jain());
        assert!(link.utilization > used && link.drops == 0, "{scheme}: {}", link.utilization);
    }
}

/// RCP converges to its law's fixed point, at `eta` of the capacity without a queue; VCP alternates
/// between high load and overload below its target of 98 %. Neither has a standing queue.
#[test]
fn queues_stay_short_on_constant_links() {
    for rate in [12.0, 24.0, 96.0] {
        for flows in [1, 4] {
            for scheme in [
                "rcp",
                "rcp[rule=authors]",
                "vcp[variant=paper]",
                "vcp[variant=paper,rule=authors]",
            ] {
                let mut scenario = scenario(mbps(rate), scheme, flows);
                scenario.duration = Span::from_secs(90);
                scenario.warmup = Span::from_secs(60);
                let outcome = run(&scenario).expect("runs");
                let link = &outcome.links[0];
                let what = format!("{flows} {scheme} on {rate} Mbit/s");
                let (used, delay) = (link.utilization, link.queue_delay_ms);
                let range = if scheme.starts_with("rcp") { 0.94..0.96 } else { 0.90..0.98 };
                assert!(range.contains(&used), "{what}: {used}");
                // A packet's own transmission time, plus ten milliseconds.
                assert!(delay.p95 < 12.0 / rate + 10.0, "{what}: {delay:?}");
                assert_eq!(link.drops, 0, "{what}");
            }
        }
    }
}
