use paceline_cc::Congestion;

use super::*;
use crate::testing::{Acks, MSS};

const BASE: Span = Span::from_millis(100);

/// Returns a slow start at `packets` with a known smallest RTT.
fn starting(hystart: HyStartKind, packets: u64) -> (CubicWindow, Acks) {
    let mut window = CubicWindow::new(&CubicParams { hystart, ..Default::default() });
    let mut acks = Acks::new(BASE);
    // No other packet is in flight: the next acknowledgement begins a round.
    acks.in_flight = 0;
    window.on_feedback(&acks.ack(1));
    acks.in_flight = packets;
    window.base.set_cwnd(packets as f64);
    (window, acks)
}

/// Takes in a round of `count` acknowledgements, `gap` apart, `rtt` after their packets.
fn round(window: &mut CubicWindow, acks: &mut Acks, rtt: Span, gap: Span, count: u64) {
    acks.rtt = rtt;
    acks.now += Span::from_millis(50);
    for _ in 0..count {
        acks.now += gap;
        window.on_feedback(&acks.ack(1));
    }
}

const APART: Span = Span::from_millis(3);

#[test]
fn delay_of_an_eighth_ends_slow_start() {
    for (rtt, stays) in [(Span::from_micros(112_500), true), (Span::from_micros(112_501), false)] {
        let (mut window, mut acks) = starting(HyStartKind::Linux, 40);
        round(&mut window, &mut acks, rtt, APART, 8);
        assert!(window.in_slow_start());
        round(&mut window, &mut acks, rtt, APART, 1);
        assert_eq!(window.in_slow_start(), stays);
    }
}

/// Checks flights whose first packets find the link idle and whose last ones wait: round trips
/// begin with a flight, from the first one on, so that each has samples of the empty path. Seen in
/// Linux 6.18 on a link that pauses: `tcp_probe` shows slow start up to 657 packets.
#[test]
fn round_trips_begin_with_flights() {
    let mut window = CubicWindow::new(&CubicParams::default());
    let mut acks = Acks::new(BASE);
    for flight in [10, 20, 40, 80, 160, 320] {
        for packet in 1..=flight {
            acks.now += APART;
            acks.rtt = if packet <= 3 { BASE } else { BASE + Span::from_millis(40) };
            // Each acknowledgement has released two packets; their acknowledgements will follow.
            acks.in_flight = flight + packet - 2;
            window.on_feedback(&acks.ack(1));
        }
        assert!(window.in_slow_start(), "ended at {} packets", window.cwnd());
    }
}

#[test]
fn one_low_sample_clears_the_round() {
    let (mut window, mut acks) = starting(HyStartKind::Linux, 40);
    round(&mut window, &mut acks, BASE, APART, 1);
    round(&mut window, &mut acks, BASE * 2, APART, 30);
    assert!(window.in_slow_start());
}

#[test]
fn small_windows_do_not_count() {
    let (mut window, mut acks) = starting(HyStartKind::Linux, 4);
    round(&mut window, &mut acks, BASE * 2, APART, 11);
    assert!(window.cwnd() < 16.0 && window.in_slow_start());
}

#[test]
fn a_long_train_ends_slow_start() {
    let gap = Span::from_millis(1);
    // The round starts with the first of them; half the RTT and half of the millisecond's
    // cushion make 50.5 ms.
    let (mut window, mut acks) = starting(HyStartKind::Linux, 200);
    round(&mut window, &mut acks, BASE, gap, 51);
    assert!(window.in_slow_start());
    round_on(&mut window, &mut acks, gap, 1);
    assert!(!window.in_slow_start());

    let (mut window, mut acks) = starting(HyStartKind::Linux, 200);
    window.set_paced(true);
    round(&mut window, &mut acks, BASE, gap, 102);
    assert!(window.in_slow_start());
    round_on(&mut window, &mut acks, gap, 1);
    assert!(!window.in_slow_start());
}

/// Takes in further acknowledgements of the present round.
fn round_on(window: &mut CubicWindow, acks: &mut Acks, gap: Span, count: u64) {
    for _ in 0..count {
        acks.now += gap;
        window.on_feedback(&acks.ack(1));
    }
}

/// Checks the end of an outage: the acknowledgement that undoes the timeout gives the smallest RTT,
/// and the next ones, which follow a pause of the link, end slow start (measured in Linux 6.18).
#[test]
fn the_first_acknowledgements_after_an_outage_end_slow_start() {
    let (mut window, mut acks) = starting(HyStartKind::Linux, 40);
    acks.in_recovery = true;
    window.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    acks.in_recovery = false;
    acks.now += Span::from_secs(1);
    acks.rtt = Span::from_millis(1000);
    window.on_feedback(&acks.event(1, Some(Congestion::Undo)));
    assert!(window.cwnd() >= 40.0 && window.in_slow_start());
    round(&mut window, &mut acks, Span::from_millis(1040), APART, 8);
    assert!(window.in_slow_start());
    round(&mut window, &mut acks, Span::from_millis(1040), APART, 1);
    assert!(!window.in_slow_start());
}

#[test]
fn a_gap_breaks_the_train() {
    let (mut window, mut acks) = starting(HyStartKind::Linux, 200);
    round(&mut window, &mut acks, BASE, Span::from_millis(1), 40);
    acks.now += APART;
    round_on(&mut window, &mut acks, Span::from_millis(1), 60);
    assert!(window.in_slow_start());
}

#[test]
fn ns3_waits_for_twice_the_delay() {
    let (mut window, mut acks) = starting(HyStartKind::Ns3, 40);
    round(&mut window, &mut acks, Span::from_millis(200), APART, 30);
    assert!(window.in_slow_start());
    let (mut window, mut acks) = starting(HyStartKind::Ns3, 40);
    round(&mut window, &mut acks, Span::from_millis(201), APART, 30);
    assert!(!window.in_slow_start());
}

#[test]
fn off_never_ends_it() {
    let (mut window, mut acks) = starting(HyStartKind::Off, 40);
    round(&mut window, &mut acks, Span::from_secs(1), Span::from_millis(1), 500);
    assert!(window.in_slow_start());
}

#[test]
fn only_a_timeout_rearms() {
    let (mut window, mut acks) = starting(HyStartKind::Linux, 40);
    round(&mut window, &mut acks, BASE * 2, APART, 9);
    assert!(!window.in_slow_start());
    // Idleness leads back to slow start, which HyStart does not watch.
    window.on_idle(acks.now, Span::from_secs(5), Span::from_secs(1));
    window.add(20.0 - window.cwnd());
    round(&mut window, &mut acks, BASE * 2, APART, 12);
    assert!(window.in_slow_start());
    let restarted = window.cwnd();
    // After a timeout it watches again, with a newly measured smallest RTT.
    acks.in_recovery = true;
    window.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert!(window.ssthresh() > 20.0, "{restarted}");
    acks.rtt = BASE * 2;
    window.on_feedback(&acks.ack(17));
    round(&mut window, &mut acks, BASE * 3, APART, 12);
    assert!(!window.in_slow_start());
}

/// Returns HyStart++ before the first acknowledgement.
fn first_start() -> (CubicWindow, Acks) {
    let params = CubicParams { hystart: HyStartKind::Rfc9406, ..Default::default() };
    (CubicWindow::new(&params), Acks::new(BASE))
}

/// Takes in rounds of 11 acknowledgements: HyStart++ needs 8 samples in each of two rounds.
fn css_rounds(window: &mut CubicWindow, acks: &mut Acks, rtt: Span, count: u32) {
    for _ in 0..count {
        acks.in_flight = 10;
        round(window, acks, rtt, APART, 11);
    }
}

#[test]
fn hystart_plus_plus_grows_slowly_for_five_rounds() {
    let (mut window, mut acks) = first_start();
    css_rounds(&mut window, &mut acks, BASE, 3);
    let before = window.cwnd();
    css_rounds(&mut window, &mut acks, BASE, 1);
    assert_eq!(window.cwnd(), before + 11.0);
    css_rounds(&mut window, &mut acks, Span::from_millis(113), 1);
    let before = window.cwnd();
    css_rounds(&mut window, &mut acks, Span::from_millis(113), 1);
    assert_eq!(window.cwnd(), before + 11.0 / 4.0);
    css_rounds(&mut window, &mut acks, Span::from_millis(113), 3);
    assert!(window.in_slow_start());
    css_rounds(&mut window, &mut acks, Span::from_millis(113), 1);
    assert!(!window.in_slow_start());
}

#[test]
fn hystart_plus_plus_resumes_when_the_delay_falls() {
    let (mut window, mut acks) = first_start();
    css_rounds(&mut window, &mut acks, BASE, 3);
    css_rounds(&mut window, &mut acks, Span::from_millis(120), 2);
    css_rounds(&mut window, &mut acks, Span::from_millis(110), 1);
    let before = window.cwnd();
    css_rounds(&mut window, &mut acks, Span::from_millis(110), 1);
    assert_eq!(window.cwnd(), before + 11.0);
    css_rounds(&mut window, &mut acks, Span::from_millis(110), 9);
    assert!(window.in_slow_start());
}

#[test]
fn hystart_plus_plus_limits_bursts_unless_paced() {
    let grown = |paced: bool| {
        let (mut window, mut acks) = first_start();
        window.set_paced(paced);
        window.on_feedback(&acks.ack(20));
        window.bytes(MSS) / MSS as u64
    };
    assert_eq!((grown(false), grown(true)), (18, 30));
}
