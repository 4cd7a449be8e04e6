use paceline_cc::{
    Congestion, Controller, Feedback, Header, Outgoing, RcpHeader, Signals, Stream, Time,
};

use super::sender::RcpSender;
use super::*;
use crate::testing::{Acks, MSS, problem};

const RTT: Span = Span::from_millis(100);
/// Ten packets in flight, and two round trips at 12 Mbit/s: 2 * 150 kB.
const WINDOW: u64 = 15_000 + 300_000;

/// Returns an acknowledgement that begins a round trip and grants `mbps`.
fn grant(acks: &mut Acks, mbps: f64) -> Feedback<'static> {
    let explicit = (mbps * 1e4) as u32;
    acks.ack(1).with(|feedback| {
        feedback.explicit = explicit;
        feedback.round_start = true;
    })
}

fn at(mbps: f64) -> (RcpSender, Acks) {
    let (mut sender, mut acks) = (RcpSender::new(Refresh::RoundTrip, MSS), Acks::new(RTT));
    sender.on_feedback(&grant(&mut acks, mbps));
    (sender, acks)
}

fn pace(sender: &RcpSender) -> f64 {
    sender.plan().pacing.expect("paced").as_mbps()
}

#[test]
fn the_first_packet_asks_alone() {
    let mut sender = RcpSender::new(Refresh::RoundTrip, MSS);
    assert_eq!(sender.needs(), Signals::HEADERS);
    assert_eq!((sender.plan().cwnd, sender.plan().pacing), (1500, None));
    let mut packet = Outgoing::new(0, MSS, 0);
    sender.on_send(Time::ZERO, &mut packet);
    let rate = Rate::from_bps(u64::MAX);
    assert_eq!(packet.header, Header::Rcp(RcpHeader { rtt: Span::ZERO, rate }));
    let mut acks = Acks::new(RTT);
    sender.on_feedback(&grant(&mut acks, 12.0));
    assert_eq!(sender.plan().cwnd, WINDOW);
    assert_eq!(pace(&sender), 12.0);
    assert_eq!(sender.target(), Some(Rate::from_mbps(12.0)));
    assert!(!sender.plan().reduces_by_prr);
    sender.on_send(Time::ZERO, &mut packet);
    assert_eq!(packet.header, Header::Rcp(RcpHeader { rtt: RTT, rate }));
}

#[test]
fn rates_are_taken_over_once_per_round_trip() {
    let (mut sender, mut acks) = at(12.0);
    let within =
        |acks: &mut Acks, mbps| grant(acks, mbps).with(|feedback| feedback.round_start = false);
    sender.on_feedback(&within(&mut acks, 6.0));
    assert_eq!(pace(&sender), 12.0);
    // A round trip may begin with an acknowledgement that is older than the newest.
    sender.on_feedback(&grant(&mut acks, 5.0).with(|feedback| feedback.acked = 0));
    assert_eq!(pace(&sender), 12.0);
    // Acknowledgements of repairs beyond a gap have no RTT.
    sender.on_feedback(&within(&mut acks, 7.0).with(|feedback| feedback.rtt = None));
    assert_eq!(pace(&sender), 7.0);
    let mut eager = RcpSender::new(Refresh::Ack, MSS);
    for mbps in [9.0, 3.0, 11.0] {
        eager.on_feedback(&within(&mut acks, mbps));
        assert_eq!(pace(&eager), mbps);
    }
}

#[test]
fn a_silence_halves_the_rate_until_something_is_heard() {
    let (mut sender, mut acks) = at(12.0);
    for _ in 0..3 {
        sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
        assert_eq!(pace(&sender), 6.0);
        assert_eq!(sender.plan().cwnd, WINDOW);
    }
    sender.on_feedback(&grant(&mut acks, 10.0).with(|feedback| feedback.round_start = false));
    assert_eq!((pace(&sender), sender.plan().cwnd), (10.0, 15_000 + 250_000));
}

/// Packets lost in an outage stay in flight until an acknowledgement reveals them: they hold nothing back.
#[test]
fn only_what_is_sent_without_an_acknowledgement_is_limited() {
    let (mut sender, mut acks) = at(12.0);
    acks.in_flight = 1000;
    sender.on_feedback(&grant(&mut acks, 0.06));
    // Two packets at the least.
    assert_eq!(sender.plan().cwnd, 1000 * 1500 + 2 * 1500);
}

#[test]
fn losses_and_marks_mean_nothing() {
    let (mut sender, mut acks) = at(12.0);
    for congestion in [Congestion::Loss, Congestion::Ecn, Congestion::Undo] {
        sender.on_feedback(&acks.event(0, Some(congestion)));
        assert_eq!((pace(&sender), sender.plan().cwnd), (12.0, WINDOW));
    }
}

#[test]
fn idleness_asks_again() {
    let (mut sender, mut acks) = at(12.0);
    let second = Span::from_secs(1);
    sender.on_idle(Time::from_secs(9), second, second);
    assert_eq!(sender.plan().cwnd, WINDOW);
    sender.on_idle(Time::from_secs(9), second + RTT, second);
    assert_eq!((sender.plan().cwnd, pace(&sender)), (1500, 12.0));
    sender.on_feedback(&grant(&mut acks, 4.0).with(|feedback| feedback.round_start = false));
    assert_eq!((sender.plan().cwnd, pace(&sender)), (15_000 + 100_000, 4.0));
}

#[test]
fn without_a_router_nothing_is_learnt() {
    let (mut sender, mut acks) = (RcpSender::new(Refresh::Ack, MSS), Acks::new(RTT));
    for explicit in [0, u32::MAX] {
        sender.on_feedback(&acks.ack(1).with(|feedback| feedback.explicit = explicit));
        assert_eq!((sender.plan().cwnd, sender.plan().pacing), (1500, None));
    }
}

#[test]
fn anything_may_be_fed() {
    for refresh in [Refresh::RoundTrip, Refresh::Ack] {
        for seed in 0..10 {
            let mut random = Stream::new(seed, "rcp sender");
            let (mut sender, mut acks) = (RcpSender::new(refresh, MSS), Acks::new(RTT));
            for _ in 0..5000 {
                let magnitude = random.below(33);
                let explicit = random.below(1 << magnitude) as u32;
                sender.on_feedback(
                    &acks.any(&mut random).with(|feedback| feedback.explicit = explicit),
                );
                if random.chance(0.01) {
                    let idle = Span::from_millis(random.below(9000));
                    sender.on_idle(acks.now, idle, Span::from_millis(300));
                }
                let plan = sender.plan();
                assert!(plan.cwnd >= 1500 && plan.cwnd <= 1 << 40);
                assert!(plan.pacing.is_none_or(|rate| rate > Rate::ZERO));
            }
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for text in [
        "rcp[alpha=0]",
        "rcp[beta=-1]",
        "rcp[eta=0]",
        "rcp[eta=2]",
        "rcp[t=0ms]",
        "rcp[rtt=11s]",
        "rcp[rule=other]",
    ] {
        assert!(problem(text).contains("rcp["), "{text}");
    }
    assert_eq!(problem("rcp[rule=authors,refresh=ack,floor=1Mbps,initial_rate=2Mbps]"), "");
}
