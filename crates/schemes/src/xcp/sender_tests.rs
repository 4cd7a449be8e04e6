use paceline_cc::{
    Congestion, Controller, Feedback, Header, Outgoing, Signals, Span, Stream, Time, XcpHeader,
    xcp_feedback::{MOST, encode},
};

use super::*;
use crate::testing::{Acks, MSS, problem};

const RTT: Span = Span::from_millis(100);

fn granted(acks: &mut Acks, bytes: f64) -> Feedback<'static> {
    acks.ack(1).with(|feedback| feedback.explicit = encode(bytes))
}

fn sender() -> (XcpSender, Acks) {
    (XcpSender::new(10.0, 1.0, 0.0, MSS), Acks::new(RTT))
}

fn sent(sender: &mut XcpSender) -> XcpHeader {
    let mut packet = Outgoing::new(0, MSS, 0);
    sender.on_send(Time::ZERO, &mut packet);
    match packet.header {
        Header::Xcp(header) => header,
        other => panic!("{other:?}"),
    }
}

#[test]
fn headers_tell_rtt_and_interval_and_ask_for_all() {
    let (mut sender, mut acks) = sender();
    assert_eq!(sender.needs(), Signals::HEADERS);
    assert_eq!(sent(&mut sender), XcpHeader::default());
    sender.on_feedback(&granted(&mut acks, 0.0));
    let interval = Span::from_millis(10);
    assert_eq!(sent(&mut sender), XcpHeader { rtt: RTT, interval, feedback: MOST });
}

#[test]
fn only_granted_feedback_moves_the_window() {
    let (mut sender, mut acks) = sender();
    for _ in 0..100 {
        sender.on_feedback(&acks.ack(2));
    }
    assert_eq!(sender.plan().cwnd, 15_000);
    sender.on_feedback(&granted(&mut acks, 1234.5));
    assert_eq!(sender.plan().cwnd, 16_234);
    sender.on_feedback(&granted(&mut acks, -2234.5));
    assert_eq!(sender.plan().cwnd, 14_000);
    sender.on_feedback(&granted(&mut acks, -1e6));
    assert_eq!(sender.plan().cwnd, 1500);
    // A window that does not limit sending may only shrink.
    acks.cwnd_limited = false;
    sender.on_feedback(&granted(&mut acks, 3000.0));
    assert_eq!(sender.plan().cwnd, 1500);
    acks.cwnd_limited = true;
    sender.on_feedback(&granted(&mut acks, 3000.0));
    assert_eq!(sender.plan().cwnd, 4500);
    assert_eq!(sender.plan().pacing, None);
}

/// After an outage a header carried an RTT of 10 s, and a router's grant was for that time: one packet brought thousands.
#[test]
fn an_increase_for_a_longer_rtt_is_scaled_to_the_present_one() {
    let (mut sender, mut acks) = sender();
    sender.on_feedback(&granted(&mut acks, -1e6));
    acks.rtt = Span::from_secs(10);
    sender.on_feedback(&acks.ack(1));
    sent(&mut sender);
    let increase = |sender: &mut XcpSender, acks: &mut Acks, rtt: u64, bytes: f64| {
        let before = sender.plan().cwnd;
        let rtt = Some(Span::from_millis(rtt));
        sender.on_feedback(&granted(acks, bytes).with(|feedback| feedback.rtt = rtt));
        sender.plan().cwnd as i64 - before as i64
    };
    assert_eq!(increase(&mut sender, &mut acks, 50, 2e6), 10_000);
    // An RTT of at least an eighth of it is as where a queue drains, and a decrease is not scaled.
    assert_eq!(increase(&mut sender, &mut acks, 1250, 20_000.0), 20_000);
    assert_eq!(increase(&mut sender, &mut acks, 50, -8000.0), -8000);
}

#[test]
fn losses_halve_and_timeouts_leave_one_packet() {
    let (mut sender, mut acks) = sender();
    sender.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!(sender.plan().cwnd, 7500);
    sender.on_feedback(&acks.event(1, Some(Congestion::Undo)));
    assert_eq!(sender.plan().cwnd, 15_000);
    sender.on_feedback(&acks.event(1, Some(Congestion::Undo)));
    sender.on_feedback(&acks.event(1, Some(Congestion::Ecn)));
    assert_eq!(sender.plan().cwnd, 15_000);
    sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(sender.plan().cwnd, 1500);
    sender.on_feedback(&granted(&mut acks, 60_000.0));
    let second = Span::from_secs(1);
    sender.on_idle(acks.now, second, second);
    assert_eq!(sender.plan().cwnd, 61_500);
    sender.on_idle(acks.now, second + RTT, second);
    assert_eq!(sender.plan().cwnd, 15_000);
}

#[test]
fn pacing_is_in_windows_per_rtt() {
    let (mut sender, mut acks) = (XcpSender::new(10.0, 1.0, 2.0, MSS), Acks::new(RTT));
    assert_eq!(sender.plan().pacing, None);
    sender.on_feedback(&acks.ack(1));
    assert_eq!(sender.plan().pacing, Some(Rate::from_mbps(2.4)));
}

#[test]
fn anything_may_be_fed() {
    for seed in 0..10 {
        let mut random = Stream::new(seed, "xcp sender");
        let (mut sender, mut acks) = sender();
        for _ in 0..5000 {
            let explicit = random.next_u64() as u32;
            sender
                .on_feedback(&acks.any(&mut random).with(|feedback| feedback.explicit = explicit));
            assert!((1500..=1 << 40).contains(&sender.plan().cwnd));
            assert!(sent(&mut sender).feedback.is_finite());
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for text in [
        "xcp[initial_window=0]",
        "xcp[pacing=-1]",
        "xcp[alpha=0]",
        "xcp[beta=-1]",
        "xcp[gamma=2]",
        "xcp[capacity=12]",
        "xcpb[qmax=1]",
        "xcpb[chi=2]",
        "xcpb[kappa=0]",
        "xcpb[n=0]",
        "xcpb[tau=2]",
        "xcpb[detect=never]",
        "xcpw[rtt=1us]",
        "xcpw[t=0ms]",
        "xcpw[min_window=0]",
    ] {
        assert!(problem(text).contains(text.split('[').next().unwrap_or("")), "{text}");
        assert_ne!(problem(text), "", "{text}");
    }
    for text in ["xcp[capacity=12Mbps]", "xcpb[kappa=0,detect=empty]", "xcpw[rtt=0s,update=rtt]"] {
        assert_eq!(problem(text), "");
    }
}
