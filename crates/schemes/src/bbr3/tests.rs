use paceline_cc::{
    Congestion, Controller, Fate, Outgoing, Rate, RateSample, Setup, Spec, Stream, Time,
};

use super::bounds::NONE;
use super::state::Bbr3State;
use super::*;
use crate::testing::{Acks, OneFlowLink, add_sample};

const MSS: u64 = crate::testing::MSS as u64;
const RTT: Span = Span::from_millis(100);

fn bbr3() -> Bbr3Sender {
    Bbr3Sender::new(&Bbr3Params::default(), &Setup::default())
}

#[test]
fn fills_the_path_and_cycles() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(12.0, RTT);
    let mut order = vec![Bbr3State::Startup];
    link.run(&mut bbr, Span::from_millis(4_900), |bbr| {
        if order.last() != Some(&bbr.state) {
            order.push(bbr.state);
        }
    });
    use Bbr3State::{Cruise, Down, Drain, Refill, Startup, Up};
    assert_eq!(order[..7], [Startup, Drain, Cruise, Refill, Up, Down, Cruise], "{order:?}");
    assert_eq!(bbr.model.max_bw(), link.rate);
    assert_eq!(bbr.bounds.inflight_hi, NONE);
    let (before, at) = (link.delivered, link.now);
    link.run(&mut bbr, Span::from_secs(30), |_| ());
    let rate = Rate::from_bytes_in(link.delivered - before, link.now.since(at));
    assert!(rate.as_mbps() > 11.2, "{rate}");
}

#[test]
fn probes_the_rtt_with_half_the_flight() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    link.rtt = Span::from_millis(150);
    let (mut smallest, mut largest) = (u64::MAX, 0);
    link.run(&mut bbr, Span::from_secs(5), |bbr| {
        if bbr.state == Bbr3State::ProbeRtt {
            smallest = smallest.min(bbr.plan().cwnd / MSS);
            largest = largest.max(bbr.plan().cwnd / MSS);
        }
    });
    // Half of 101 packets.
    assert_eq!((smallest, largest), (50, 50));
    // The longer RTT is accepted after ten seconds.
    assert_eq!(bbr.model.min_rtt, Some(Span::from_millis(101)));
    link.run(&mut bbr, Span::from_secs(8), |_| ());
    assert_eq!(bbr.model.min_rtt, Some(Span::from_millis(151)));
}

/// Where ProbeRTT begins as the smallest RTT expires, its window is made of the RTT before, and stays as it is.
#[test]
fn a_longer_rtt_does_not_widen_the_probe_for_it() {
    let ten = Span::from_secs(10);
    let params = Bbr3Params { probe_rtt_interval: ten, ..Default::default() };
    let mut bbr = Bbr3Sender::new(&params, &Setup::default());
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    link.rtt = Span::from_millis(250);
    let (mut smallest, mut largest) = (u64::MAX, 0);
    link.run(&mut bbr, ten, |bbr| {
        if bbr.state == Bbr3State::ProbeRtt {
            smallest = smallest.min(bbr.plan().cwnd / MSS);
            largest = largest.max(bbr.plan().cwnd / MSS);
        }
    });
    // At most half of 101 packets, not of 251: the rate has become smaller with the window of the shorter RTT.
    assert!(smallest == largest && (40..=50).contains(&largest), "{smallest} {largest}");
}

/// A path that holds less than a packet is probed once in a few round trips, not all the time.
#[test]
fn short_paths_are_not_probed_without_a_pause() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(1.0, Span::from_millis(1));
    link.run(&mut bbr, Span::from_secs(5), |_| ());
    let (mut up, mut all) = (0, 0);
    link.run(&mut bbr, Span::from_secs(20), |bbr| {
        all += 1;
        up += u32::from(bbr.state == Bbr3State::Up);
    });
    assert!(up > 0 && up * 2 < all, "{up} of {all}");
}

#[test]
fn a_shallow_buffer_sets_the_upper_bound() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(12.0, RTT);
    link.buffer = 20;
    link.run(&mut bbr, Span::from_secs(30), |_| ());
    // The path holds 101 packets, its buffer 20.
    let hi = bbr.bounds.inflight_hi / MSS;
    assert!((85..=150).contains(&hi), "{hi}");
    let rate = Rate::from_bytes_in(link.delivered, link.now.since(Time::ZERO));
    let share = link.lost as f64 / (link.delivered / MSS) as f64;
    assert!(rate.as_mbps() > 9.5 && share < 0.03, "{rate} {share}");
}

#[test]
fn a_percent_of_random_loss_is_borne() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(12.0, RTT);
    link.loss = 0.01;
    link.run(&mut bbr, Span::from_secs(30), |_| ());
    let rate = Rate::from_bytes_in(link.delivered, link.now.since(Time::ZERO));
    assert!(rate.as_mbps() > 9.0, "{rate}");
}

#[test]
fn losses_between_probes_lower_the_short_term_bounds() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(12.0, RTT);
    while bbr.state != Bbr3State::Cruise {
        link.run(&mut bbr, Span::from_millis(1), |_| ());
    }
    let before = bbr.bw();
    // Other flows take half of the bandwidth.
    link.rate = Rate::from_mbps(6.0);
    link.loss = 0.05;
    link.run(&mut bbr, Span::from_millis(700), |_| ());
    assert_eq!(bbr.state, Bbr3State::Cruise);
    let ratio = bbr.bw().as_mbps() / before.as_mbps();
    assert!(ratio < 0.75 && bbr.bounds.inflight_lo < 300 * MSS, "{ratio}");
    // Refill lifts the short-term bounds.
    while bbr.state == Bbr3State::Cruise {
        link.run(&mut bbr, Span::from_millis(1), |_| ());
    }
    assert!(bbr.bounds.inflight_lo == NONE && bbr.bw() == bbr.model.max_bw());
}

#[test]
fn the_upper_bound_leaves_headroom() {
    let mut bbr = bbr3();
    assert_eq!(bbr.with_headroom(), NONE);
    bbr.bounds.inflight_hi = 100 * MSS;
    assert_eq!(bbr.with_headroom(), 85 * MSS);
    bbr.bounds.inflight_hi = 4 * MSS;
    assert_eq!(bbr.with_headroom(), 4 * MSS);
}

#[test]
fn marks_cut_the_short_term_flight() {
    let params = Bbr3Params { ecn: true, ecn_max_rtt: Span::ZERO, ..Default::default() };
    let mut bbr = Bbr3Sender::new(&params, &Setup::default());
    let mut link = OneFlowLink::new(12.0, RTT);
    while bbr.state != Bbr3State::Cruise {
        link.run(&mut bbr, Span::from_millis(1), |_| ());
    }
    bbr.bounds.smooth_marks(0.5);
    let cwnd = bbr.cwnd;
    bbr.bounds.note_marks();
    let newest = RateSample::new(0, RTT, u64::MAX);
    bbr.bounds.rounds.on_ack(Some(&newest), 0);
    bbr.bounds.adapt(bbr.state, bbr.model.max_bw(), cwnd, &params);
    // In ten seconds without marks alpha would have halved ten times; it decayed over two round
    // trips only.
    let cut = bbr.bounds.inflight_lo as f64 / cwnd as f64;
    assert!((0.66..1.0).contains(&cut), "{cut}");
    assert_eq!(bbr.plan().ecn, paceline_cc::Ecn::Ect1);
}

#[test]
fn undo_restores_bounds_and_window() {
    let mut bbr = bbr3();
    let mut link = OneFlowLink::new(12.0, RTT);
    link.run(&mut bbr, Span::from_secs(3), |_| ());
    let cwnd = bbr.plan().cwnd;
    let mut acks = Acks::new(RTT);
    acks.now = link.now;
    acks.in_recovery = true;
    acks.in_flight = 0;
    bbr.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(bbr.plan().cwnd, MSS);
    bbr.bounds.inflight_lo = 10 * MSS;
    acks.in_recovery = false;
    bbr.on_feedback(&acks.event(1, Some(Congestion::Undo)));
    assert_eq!(bbr.bounds.inflight_lo, NONE);
    assert!(bbr.plan().cwnd + 2 * MSS >= cwnd, "{} {cwnd}", bbr.plan().cwnd);
}

#[test]
fn parameters_are_checked() {
    let build = |text: &str| Spec::parse(text).is_ok_and(|spec| (SCHEME.build)(&spec).is_ok());
    assert!(build("bbr3[ecn=true,loss_thresh=5%]"));
    assert!(!build("bbr3[beta=0]"));
    assert!(!build("bbr3[up_gain=0.9]"));
    assert!(!build("bbr3[headroom=1]"));
    assert!(!build("bbr3[initial_window=0]"));
}

#[test]
fn survives_anything() {
    for seed in 0..40 {
        let mut random = Stream::new(seed, "bbr3");
        let params = Bbr3Params { ecn: seed % 2 == 0, ..Default::default() };
        let mut bbr = Bbr3Sender::new(&params, &Setup::default());
        let mut acks = Acks::new(RTT);
        for number in 0..5_000 {
            let mut feedback = acks.any(&mut random);
            add_sample(&mut feedback, &mut random);
            feedback.mss = feedback.mss.max(1);
            feedback.marked_packets = random.below(3) as u32;
            let in_flight = random.below(1_000_000);
            let size = 1 + random.below(1500) as u32;
            let mut packet = Outgoing::new(number, size, in_flight);
            let tag = if random.chance(0.9) {
                bbr.on_send(acks.now, &mut packet)
            } else {
                random.next_u64()
            };
            let lost = random.chance(0.1);
            let fates = [Fate::new(number, size, Time::ZERO, tag, lost)];
            feedback.fates = &fates;
            bbr.on_feedback(&feedback);
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                bbr.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            let plan = bbr.plan();
            assert!(plan.cwnd >= MSS && plan.burst >= 1500, "{seed} {}", plan.cwnd);
            assert!(plan.pacing.is_some_and(|rate| rate > Rate::ZERO));
        }
    }
}
