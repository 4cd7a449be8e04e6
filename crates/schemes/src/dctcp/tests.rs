use paceline_cc::{Packet, Setup, Spec, Stream, Verdict};

use super::*;
use crate::registry::build;
use crate::testing::{Acks, MSS};

const RTT: Span = Span::from_millis(100);

fn avoiding(packets: f64) -> (DctcpSender, Acks) {
    let mut dctcp = DctcpSender::new(&DctcpParams::default(), MSS);
    dctcp.window.set_cwnd(packets);
    dctcp.window.leave_slow_start();
    (dctcp, Acks::new(RTT))
}

/// Takes in a window of ten packets of which `marked` are marked.
fn window(dctcp: &mut DctcpSender, acks: &mut Acks, marked: u32, congestion: Option<Congestion>) {
    acks.in_flight = 0;
    let mut feedback = acks.event(10, congestion);
    assert!(feedback.round_start);
    feedback.marked_packets = marked;
    dctcp.on_feedback(&feedback);
}

#[test]
fn facts_of_alpha() {
    let (mut dctcp, mut acks) = avoiding(20.0);
    window(&mut dctcp, &mut acks, 0, None);
    assert_eq!(dctcp.marks.alpha(), 0.9375);
    for _ in 0..500 {
        window(&mut dctcp, &mut acks, 10, None);
    }
    assert!((dctcp.marks.alpha() - 1.0).abs() < 1e-9);
    for _ in 0..500 {
        window(&mut dctcp, &mut acks, 3, None);
    }
    assert!((dctcp.marks.alpha() - 0.3).abs() < 1e-9);
}

#[test]
fn a_window_spans_acknowledgements() {
    let (mut dctcp, mut acks) = avoiding(20.0);
    acks.in_flight = 4;
    dctcp.on_feedback(&acks.ack(1));
    let after_first = dctcp.marks.alpha();
    for marked in [1, 0, 1, 0] {
        assert_eq!(dctcp.marks.alpha(), after_first);
        let mut feedback = acks.ack(1);
        feedback.marked_packets = marked;
        dctcp.on_feedback(&feedback);
    }
    dctcp.on_feedback(&acks.ack(1));
    let expected = after_first * 15.0 / 16.0 + 2.0 / 5.0 / 16.0;
    assert!((dctcp.marks.alpha() - expected).abs() < 1e-9, "{} {expected}", dctcp.marks.alpha());
}

#[test]
fn without_slow_start_the_first_round_trip_adds_a_packet() {
    for (slow_start, expected) in [(true, 4.0), (false, 3.0)] {
        let params = DctcpParams { initial_window: 2.0, slow_start, ..DctcpParams::default() };
        let mut dctcp = DctcpSender::new(&params, MSS);
        let mut acks = Acks::new(RTT);
        acks.in_flight = 2;
        dctcp.on_feedback(&acks.ack(2));
        assert_eq!(dctcp.window.cwnd(), expected);
    }
}

#[test]
fn marks_reduce_by_half_of_alpha_and_losses_by_half() {
    let (mut dctcp, mut acks) = avoiding(100.0);
    window(&mut dctcp, &mut acks, 10, Some(Congestion::Ecn));
    assert_eq!((dctcp.window.cwnd(), dctcp.window.ssthresh()), (50.0, 50.0));
    dctcp.marks = MarkShare::new(0.0, 0.0625);
    dctcp.window.set_cwnd(100.0);
    window(&mut dctcp, &mut acks, 10, Some(Congestion::Ecn));
    assert_eq!(dctcp.window.cwnd(), 100.0 - 100.0 / 32.0);
    dctcp.window.set_cwnd(101.0);
    window(&mut dctcp, &mut acks, 0, Some(Congestion::Loss));
    assert_eq!(dctcp.window.cwnd(), 50.0);
    // RFC 8257 §3.5: also in the round trip after a mark.
    window(&mut dctcp, &mut acks, 0, Some(Congestion::LossAfterMark));
    assert_eq!(dctcp.window.cwnd(), 25.0);
    window(&mut dctcp, &mut acks, 0, Some(Congestion::Timeout));
    assert_eq!(dctcp.window.cwnd(), 1.0);
}

#[test]
fn between_marks_the_window_grows_as_reno() {
    let (mut dctcp, mut acks) = avoiding(10.0);
    for _ in 0..10 {
        dctcp.on_feedback(&acks.ack(1));
    }
    assert_eq!(dctcp.window.cwnd(), 11.0);
    acks.in_recovery = true;
    for _ in 0..30 {
        dctcp.on_feedback(&acks.ack(1));
    }
    assert_eq!(dctcp.window.cwnd(), 11.0);
}

#[test]
fn the_receiver_acknowledges_when_marks_begin_and_end() {
    let halves = build(&Spec { name: "dctcp".into(), args: Vec::new() }).expect("dctcp");
    let mut reporter = halves.reporter.expect("a receiver's half")(&Setup::default());
    // Returns whether the waiting acknowledgement leaves first, and what it echoes.
    let mut arrive = |ecn| {
        let packet = Packet { ecn, ..Packet::opaque(1500) };
        let first = (reporter.flushes(&packet), reporter.echo());
        assert_eq!(reporter.on_arrival(Time::ZERO, &packet), Verdict::default());
        first
    };
    arrive(Ecn::Ect0);
    assert_eq!(arrive(Ecn::Ect0), (false, Ecn::Ect0));
    assert_eq!(arrive(Ecn::Ce), (true, Ecn::Ect0));
    assert_eq!(arrive(Ecn::Ce), (false, Ecn::Ce));
    assert_eq!(arrive(Ecn::Ect0), (true, Ecn::Ce));
}

#[test]
fn survives_anything() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, "dctcp");
        let mut dctcp = DctcpSender::new(&DctcpParams::default(), MSS);
        let mut acks = Acks::new(RTT);
        for _ in 0..5_000 {
            let mut feedback = acks.any(&mut random);
            feedback.marked_packets = random.below(5) as u32;
            dctcp.on_feedback(&feedback);
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                dctcp.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            assert!((0.0..=1.0).contains(&dctcp.marks.alpha()));
            assert!(dctcp.window.cwnd().is_finite() && dctcp.plan().cwnd >= MSS as u64);
        }
    }
}

/// Checks htsim's rule: after a window with marks, `alpha` is 1/16 of their share, and reduces the
/// window in each further window, in which it grows by a packet, although no further packet is
/// marked.
#[test]
fn windows_may_be_reduced_whether_marked_or_not() {
    let params = DctcpParams { reduces: Reduces::Always, alpha0: 0.0, ..Default::default() };
    let mut dctcp = DctcpSender::new(&params, MSS);
    dctcp.window.set_cwnd(10.0);
    let mut acks = Acks::new(RTT);
    window(&mut dctcp, &mut acks, 0, None);
    assert_eq!((dctcp.window.cwnd(), dctcp.marks.alpha()), (20.0, 0.0));
    window(&mut dctcp, &mut acks, 10, Some(Congestion::Ecn));
    assert_eq!(dctcp.marks.alpha(), 1.0 / 16.0);
    let mut expected = 20.0 * (1.0 - 1.0 / 32.0);
    assert!((dctcp.window.cwnd() - expected).abs() < 1e-9, "{}", dctcp.window.cwnd());
    for _ in 0..5 {
        let before = dctcp.window.cwnd();
        window(&mut dctcp, &mut acks, 0, None);
        expected = before * (1.0 - dctcp.marks.alpha() / 2.0);
        let grown = dctcp.window.cwnd() - expected;
        assert!(grown == 0.0 || (grown - 1.0).abs() < 1e-9, "{grown}");
        assert!(dctcp.marks.alpha() > 0.0);
    }
}
