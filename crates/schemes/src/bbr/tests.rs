use paceline_cc::{Congestion, Controller, Feedback, Rate, RateSample, Setup, Spec, Time};

use super::states::Mode;
use super::*;
use crate::testing::{Acks, OneFlowLink};

const MSS: u64 = crate::testing::MSS as u64;
const RTT: Span = Span::from_millis(100);

fn bbr(params: &BbrParams) -> BbrSender {
    BbrSender::new(params, &Setup::default())
}

fn plain() -> BbrParams {
    BbrParams { min_quantum: 1, aggregation: false, ..Default::default() }
}

/// Returns feedback of `packets` with a sample of `mbps` that began with the last round trip.
fn sampled(acks: &mut Acks, packets: u64, mbps: f64) -> Feedback<'static> {
    let before = acks.ack(0).delivered;
    let mut feedback = acks.ack(packets);
    let sample = RateSample::new(packets * MSS, RTT, before);
    feedback.sample = Some(sample.with(|sample| sample.rate = Rate::from_mbps(mbps)));
    feedback
}

#[test]
fn flat_bandwidth_of_three_rounds_is_a_full_pipe() {
    let mut bbr = bbr(&plain());
    let mut acks = Acks::new(RTT);
    let mut round = |bbr: &mut BbrSender, mbps: f64, app_limited: bool| {
        acks.now += RTT;
        acks.in_flight = 500;
        let mut feedback = sampled(&mut acks, 10, mbps);
        feedback.sample =
            feedback.sample.map(|sample| sample.with(|sample| sample.app_limited = app_limited));
        bbr.on_feedback(&feedback);
        bbr.states.mode()
    };
    for mbps in [1.0, 2.0, 4.0, 5.0] {
        assert_eq!(round(&mut bbr, mbps, false), Mode::Startup);
    }
    assert_eq!(round(&mut bbr, 5.5, false), Mode::Startup);
    assert_eq!(round(&mut bbr, 5.5, false), Mode::Startup);
    // A sample limited by the application does not count.
    assert_eq!(round(&mut bbr, 1.0, true), Mode::Startup);
    assert_eq!(round(&mut bbr, 6.0, false), Mode::Drain);
    assert!((bbr.pacing_gain() - 0.3466).abs() < 1e-4);
    assert_eq!(bbr.model.max_bw(), Rate::from_mbps(6.0));
}

#[test]
fn startup_paces_the_first_window_over_the_first_rtt() {
    let mut bbr = bbr(&plain());
    // 10 packets in the assumed millisecond.
    assert!((bbr.plan().pacing.expect("paced").as_mbps() - 120.0 * 2.885 * 0.99).abs() < 0.01);
    let mut acks = Acks::new(RTT);
    bbr.on_feedback(&sampled(&mut acks, 1, 0.12));
    assert!((bbr.plan().pacing.expect("paced").as_mbps() - 1.2 * 2.885 * 0.99).abs() < 0.001);
    // The rate does not decrease before the pipe is full.
    bbr.on_feedback(&sampled(&mut acks, 1, 0.01));
    assert!(bbr.plan().pacing.expect("paced").as_mbps() > 3.4);
}

#[test]
fn holds_twice_the_product_and_three_quanta() {
    let mut bbr = bbr(&plain());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    assert_eq!(bbr.states.mode(), Mode::ProbeBw);
    assert_eq!(bbr.model.max_bw(), link.rate);
    assert_eq!(bbr.model.rtprop(), Some(Span::from_millis(101)));
    // 202 packets in 101 ms, 3 quanta, rounded up to even; 2 more in the first phase.
    let mut windows = [u64::MAX, 0];
    link.run(&mut bbr, Span::from_secs(2), |bbr| {
        let cwnd = bbr.plan().cwnd / MSS;
        windows = [windows[0].min(cwnd), windows[1].max(cwnd)];
    });
    assert_eq!(windows, [206, 208]);
    let (before, at) = (link.delivered, link.now);
    link.run(&mut bbr, Span::from_secs(4), |_| ());
    let rate = Rate::from_bytes_in(link.delivered - before, link.now.since(at));
    assert!(rate.as_mbps() > 11.9, "{rate}");
    link.max_queue = Span::ZERO;
    link.run(&mut bbr, Span::from_secs(1), |_| ());
    assert!(link.max_queue < Span::from_millis(40), "{}", link.max_queue);
}

#[test]
fn a_quantum_is_a_millisecond_of_pacing() {
    let mut bbr = bbr(&BbrParams::default());
    let mut at = |mbps: f64| {
        bbr.pacing.set(Rate::from_mbps(mbps));
        bbr.plan().burst / 1500
    };
    assert_eq!([at(1.0), at(1.2), at(12.0), at(48.0), at(10_000.0)], [1, 2, 2, 4, 43]);
}

#[test]
fn probes_the_rtt_when_the_smallest_is_stale() {
    let mut bbr = bbr(&plain());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    // The path becomes longer: the smallest RTT will not be seen again.
    link.rtt = Span::from_millis(150);
    let mut smallest = u64::MAX;
    link.run(&mut bbr, Span::from_secs(11), |bbr| {
        if bbr.states.mode() == Mode::ProbeRtt {
            smallest = smallest.min(bbr.plan().cwnd);
        }
    });
    assert_eq!(smallest, 4 * MSS);
    assert_eq!(bbr.states.mode(), Mode::ProbeBw);
    assert_eq!(bbr.model.rtprop(), Some(Span::from_millis(151)));
    // The low rates of ProbeRTT did not count.
    assert_eq!(bbr.model.max_bw(), link.rate);
    assert!(bbr.plan().cwnd > 290 * MSS);
}

#[test]
fn random_loss_does_not_slow_it_down() {
    let mut bbr = bbr(&BbrParams::default());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.loss = 0.03;
    link.run(&mut bbr, Span::from_secs(20), |_| ());
    let rate = Rate::from_bytes_in(link.delivered, link.now.since(Time::ZERO));
    assert!(link.lost > 200 && rate.as_mbps() > 10.5, "{rate}");
}

#[test]
fn a_loss_conserves_packets_for_a_round_and_repair_restores() {
    let mut bbr = bbr(&plain());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    let before = bbr.plan().cwnd;
    let mut acks = Acks::new(RTT);
    acks.now = link.now;
    acks.in_flight = 90;
    acks.ack(link.delivered / MSS + 1000);
    acks.in_recovery = true;
    let mut feedback = acks.event(2, Some(Congestion::Loss));
    feedback.lost = 10 * MSS;
    bbr.on_feedback(&feedback);
    // The packets in flight, and those acknowledged.
    assert_eq!(bbr.plan().cwnd, 92 * MSS);
    acks.in_flight = 91;
    bbr.on_feedback(&acks.ack(1));
    assert_eq!(bbr.plan().cwnd, 92 * MSS);
    acks.in_flight = 95;
    bbr.on_feedback(&acks.ack(1));
    assert_eq!(bbr.plan().cwnd, 96 * MSS);
    // A round trip later the window grows as in slow start.
    bbr.on_feedback(&sampled(&mut acks, 3, 1.0));
    assert_eq!(bbr.plan().cwnd, 99 * MSS);
    acks.in_recovery = false;
    bbr.on_feedback(&acks.ack(1));
    assert!(bbr.plan().cwnd + 2 * MSS >= before, "{} {before}", bbr.plan().cwnd);
    assert!(!bbr.plan().reduces_by_prr);
}

#[test]
fn a_timeout_leaves_one_packet_and_remembers_the_window() {
    let mut bbr = bbr(&plain());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    let before = bbr.plan().cwnd;
    let mut acks = Acks::new(RTT);
    acks.now = link.now;
    acks.in_flight = 0;
    acks.in_recovery = true;
    bbr.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(bbr.plan().cwnd, MSS);
    bbr.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    // Sending again is not a restart after idleness.
    bbr.on_idle(acks.now, Span::from_secs(1), Span::from_secs(1));
    assert!(!bbr.idle_restart);
    bbr.on_feedback(&acks.ack(1));
    assert_eq!(bbr.plan().cwnd, 4 * MSS);
    acks.in_recovery = false;
    bbr.on_feedback(&acks.ack(1));
    assert!(bbr.plan().cwnd + 2 * MSS >= before);
}

#[test]
fn idleness_restarts_at_the_bandwidth() {
    let mut bbr = bbr(&plain());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    bbr.pacing.set(Rate::from_mbps(1.0));
    bbr.on_idle(link.now + Span::from_secs(60), Span::from_secs(60), Span::from_secs(1));
    assert!((bbr.plan().pacing.expect("paced").as_mbps() - 12.0 * 0.99).abs() < 0.001);
    // The stale RTT does not start ProbeRTT, since the path was empty.
    let mut acks = Acks::new(RTT);
    acks.now = link.now + Span::from_secs(60);
    bbr.on_feedback(&acks.ack(1));
    assert_eq!(bbr.states.mode(), Mode::ProbeBw);
}

#[test]
fn phases_start_at_random_but_not_with_the_drain() {
    let mut seen = [0; 8];
    for flow in 0..200 {
        let setup = Setup::new(1, flow);
        let mut bbr = BbrSender::new(&plain(), &setup);
        bbr.enter_probe_bw(Time::from_secs(1));
        let gain = bbr.pacing_gain();
        assert_ne!(gain, 0.75);
        seen[usize::from(gain > 1.0)] += 1;
    }
    assert!((15..45).contains(&seen[1]), "{seen:?}");
}

#[test]
fn parameters_are_checked() {
    let build = |text: &str| Spec::parse(text).is_ok_and(|spec| (SCHEME.build)(&spec).is_ok());
    assert!(build("bbr[aggregation=false,policer=false,min_quantum=1]"));
    assert!(!build("bbr[high_gain=0.5]"));
    assert!(!build("bbr[drain_gain=0]"));
    assert!(!build("bbr[btlbw_window=0]"));
    assert!(!build("bbr[min_window=0]"));
}

#[test]
fn the_gains_of_a_cycle_of_eight_have_mean_one() {
    let mut bbr = bbr(&plain());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    let (mut last, mut starts) = (1.0, Vec::new());
    let now = std::cell::Cell::new(link.delivered);
    link.run(&mut bbr, Span::from_secs(4), |bbr| {
        now.set(now.get() + MSS);
        if bbr.pacing_gain() > last {
            starts.push((bbr.pacing_gain(), now.get()));
        }
        last = bbr.pacing_gain();
    });
    let probes: Vec<_> = starts.iter().filter(|(gain, _)| *gain == 1.25).collect();
    assert!(probes.len() >= 4);
    for pair in probes.windows(2) {
        // Eight phases of 101 ms; the first lasts until the flight has grown, the second until it
        // fits the path.
        let packets = (pair[1].1 - pair[0].1) / MSS;
        assert!((750..=860).contains(&packets), "{packets}");
    }
}
