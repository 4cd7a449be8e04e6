//! packetdrill (2c4001c): figures of Google's scripts that can be checked without the scripts.

use paceline_cc::{Congestion, Span};
use paceline_flow::{RtoBounds, RttEstimator};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};
use paceline_schemes::cubic::{CubicParams, CubicWindow, HyStartKind};

use super::windows_of_few;
use crate::bench::{Acks, Desk, SlowStart, at, ms, ranges};
use crate::causes;

/// Linux' Cubic without HyStart, which is the default.
const LINUX: &str = "cubic[hystart=off]";

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("packetdrill, figures");
    slow_start(&mut vectors);
    recovery(&mut vectors);
    timeout(&mut vectors);
    hystart(&mut vectors);
    cubic(&mut vectors);
    vectors
}

/// Returns the packets that leave for each acknowledgement of `per_ack` of the first ten packets.
fn answers(per_ack: u64) -> Vec<usize> {
    let mut desk = Desk::new("cubic", 1000);
    desk.write(30);
    let counts = (1..).map(|ack| per_ack * ack).take_while(|count| *count < 10).chain([10]);
    counts
        .enumerate()
        .map(|(ack, count)| desk.ack_first(105 + 5 * ack as u64, count).len())
        .collect()
}

fn slow_start(vectors: &mut Vectors) {
    let subject = "slow start";
    for (test, per_ack, expected) in [
        ("slow-start-ack-per-1pkt.pkt: two packets for one", 1, vec![2; 10]),
        ("slow-start-ack-per-2pkt.pkt: four for two", 2, vec![4; 5]),
        ("slow-start-ack-per-4pkt.pkt: eight for four, four for the last two", 4, vec![8, 8, 4]),
    ] {
        vectors.holds(subject, test, move || same("packets", answers(per_ack), expected.clone()));
    }
    vectors.holds(subject, "slow-start-ack-per-2pkt-send-5pkt.pkt: ten", || {
        windows_of_few(5, &[10, 10, 10])
    });
    vectors.holds(subject, "slow-start-ack-per-2pkt-send-6pkt.pkt: twelve", || {
        windows_of_few(6, &[12, 12, 12])
    });
    vectors.holds(subject, "slow-start-app-limited-9-packets-out.pkt: 12, 14, 16, 18, 18", || {
        windows_of_few(9, &[12, 14, 16, 18, 18])
    });
    vectors.holds(subject, "slow-start-app-limited.pkt: 12, 14, 16, 18, 20", || {
        windows_of_few(10, &[12, 14, 16, 18, 20])
    });
    vectors.holds(subject, "slow-start-after-idle.pkt: 20, 36, and 10 after 2 s", || {
        let mut desk = Desk::new("cubic", 1000);
        desk.write(26);
        same("sent", desk.ack_first(100, 10).len(), 16)?;
        same("window", desk.cwnd(), 20)?;
        desk.ack_first(200, 26);
        same("window", desk.cwnd(), 36)?;
        desk.advance(2200);
        same("sent", desk.write(20).len(), 10)?;
        same("window", desk.cwnd(), 10)
    });
}

fn recovery(vectors: &mut Vectors) {
    vectors.holds("recovery", "fr-4pkt-sack.pkt: the third repairs", || {
        let mut desk = Desk::new("cubic", 1460);
        desk.write(4);
        desk.now = at(100);
        let mut sack = |last| desk.ack(ranges(0, &[(1, last)]));
        same("repairs", [sack(1), sack(2), sack(3)], [vec![], vec![], vec![0]])
    });
    vectors.holds("recovery", "limited-transmit-sack.pkt: one new packet for each of two", || {
        let mut desk = Desk::new("cubic", 1000);
        desk.write(15);
        let mut left = Vec::new();
        for (millis, ack) in
            [(110, ranges(0, &[(1, 1)])), (120, ranges(0, &[(1, 2)])), (130, ranges(3, &[(0, 2)]))]
        {
            desk.now = at(millis);
            left.push(desk.ack(ack).len());
        }
        same("packets", left, vec![1, 1, 2])
    });
    vectors.holds("recovery", "prr-ss-10pkt-lost-1.pkt: window and threshold 7", || {
        let mut desk = Desk::new("cubic", 1000);
        desk.write(10);
        for last in 1..=3 {
            desk.now = at(100 + 10 * last);
            desk.ack(ranges(0, &[(1, last)]));
        }
        near("ssthresh", desk.state("ssthresh"), 7.0, 0.01)
    });
    vectors.holds("recovery", "prr-ss-10pkt-lost-1.pkt: one for one at the window", one_for_one);
    vectors.holds("recovery", "prr-ss-30pkt-lost1_4.pkt: seven packets after the repair", || {
        let mut desk = Desk::new("cubic", 1000);
        desk.write(10);
        desk.now = at(10);
        let repaired = desk.ack(ranges(0, &[(4, 9)])).len();
        that("repaired, no more than arrived", (1..=6).contains(&repaired))?;
        for repair in 0..4 {
            desk.now = at(20);
            let cumulative = if repair < 3 { repair + 1 } else { 10 };
            desk.ack(ranges(cumulative, &[(10 + repair, 10 + repair), (4, 9)]));
        }
        desk.now = at(30);
        same("new packets", desk.write(10).len(), 7)
    });
    vectors.holds("recovery", "cwnd-moderation-disorder-no-moderation.pkt: ten", || {
        let mut desk = Desk::new("cubic", 1000);
        desk.write(4);
        desk.now = at(100);
        desk.ack(ranges(0, &[(1, 1)]));
        same("window", desk.cwnd(), 10)
    });
}

/// After a loss that an acknowledgement of three packets reveals, the flight equals the reduced
/// window at once.
fn one_for_one() -> Outcome {
    let mut desk = Desk::new(LINUX, 1000);
    desk.write(10);
    desk.now = at(130);
    same("repair", desk.ack(ranges(0, &[(1, 3)])), vec![0])?;
    same("window, in flight", (desk.cwnd(), desk.sender.in_flight()), (7, 7000))?;
    desk.write(7);
    for last in 4..=9 {
        desk.now = at(100 + 10 * last);
        same("new packets", desk.ack(ranges(0, &[(1, last)])).len(), 1)?;
    }
    desk.now = at(210);
    same("the last one", desk.ack(ranges(10, &[(10, 10), (1, 9)])).len(), 1)?;
    same("window", desk.cwnd(), 7)
}

fn timeout(vectors: &mut Vectors) {
    vectors.holds("timeout", "cubic-rto-ss-ca-cwnd-bump.pkt: three RTTs after 100, 100 ms", || {
        let mut rtt = RttEstimator::new(RtoBounds::LINUX);
        rtt.sample(ms(100), true);
        rtt.sample(ms(100), true);
        near("timeout, ms", rtt.rto().as_millis_f64(), 300.0, 3.0)
    });
    vectors.holds("timeout", "cubic-rto-ss-ca-cwnd-bump.pkt: 2 and 7, then 3 to 7, 7, 8", || {
        let mut desk = Desk::new("cubic", 1000);
        desk.write(1);
        desk.ack_first(100, 1);
        desk.write(1);
        desk.advance(2000);
        that("a timeout", desk.sender.stats().timeouts >= 1)?;
        let newest = desk.segments.len() as u64 - 1;
        desk.ack(ranges(2, &[(newest, newest)]));
        same("window", desk.cwnd(), 2)?;
        near("ssthresh", desk.state("ssthresh"), 7.0, 0.01)?;
        let first = desk.segments.len() as u64;
        desk.write(200);
        // Flights of 2, 4, 7 and 7 packets, 100 ms apart, with a packet every 2 ms.
        let flights = [0u64, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4];
        let mut windows = Vec::new();
        let (mut last_flight, mut now) = (u64::MAX, 2000);
        for (count, flight) in (0..).zip(flights) {
            now += if flight == last_flight { 2 } else { 98 };
            last_flight = flight;
            desk.now = at(now);
            desk.ack(ranges(3 + count, &[(first, first + count)]));
            windows.push(desk.cwnd());
        }
        same("slow start", windows[..5].to_vec(), vec![3, 4, 5, 6, 7])?;
        same("later", (windows[13], windows[19]), (7, 8))
    });
}

fn hystart(vectors: &mut Vectors) {
    // After ten packets with 200 ms, plays acknowledgements of two packets each with these RTTs in
    // ms. Returns the windows, and whether slow start continues.
    let windows = |rtts: Vec<u64>| {
        let mut start = SlowStart::new(HyStartKind::Linux, false);
        (start.acks.rtt, start.acks.in_flight.1) = (ms(200), 0.0);
        start.window.on_feedback(&start.acks.of(10.0));
        start.acks.now += ms(rtts[0]);
        let mut seen = vec![start.window.cwnd()];
        for (count, rtt) in (1..).zip(rtts) {
            start.acks.rtt = ms(rtt);
            start.acks.in_flight.1 = 20.0 - 2.0 * f64::from(count);
            start.window.on_feedback(&start.acks.of(2.0));
            start.acks.now += ms(1);
            seen.push(start.window.cwnd().floor());
        }
        (seen, start.window.in_slow_start())
    };
    vectors.holds("HyStart", "cubic-hystart-delay-rtt-jumps-upward.pkt: ends at 36", move || {
        let expected = vec![20.0, 22.0, 24.0, 26.0, 28.0, 30.0, 32.0, 34.0, 36.0, 36.0];
        same("windows", windows((240..249).collect()), (expected, false))
    });
    vectors.holds(
        "HyStart",
        "cubic-hystart-delay-min-rtt-jumps-downward.pkt: goes on to 40",
        move || {
            let rtts = (200..209).chain([29]).collect();
            let expected = (0..=10).map(|count| 20.0 + 2.0 * f64::from(count)).collect();
            same("windows", windows(rtts), (expected, true))
        },
    );
    vectors.by_design(
        "HyStart",
        "cubic-bulk-166k.pkt: 20, 30, 40, 48, where HyStart ends slow start",
        causes::HYSTART_ROUNDS,
        || {
            let mut desk = Desk::new("cubic", 1000);
            desk.write(400);
            let mut windows = Vec::new();
            for count in 1..=19 {
                desk.ack_first(100 * count, 2 * count);
                windows.push(desk.cwnd());
            }
            same("windows", [4, 9, 14, 18].map(|index| windows[index]), [20, 30, 40, 48])
        },
    );
}

/// Returns Linux' Cubic in congestion avoidance at 48 packets without a plateau.
fn at_48() -> (CubicWindow, Acks) {
    let params = CubicParams {
        initial_window: 48.0 / 0.7,
        hystart: HyStartKind::Off,
        probe: 0.05,
        ..CubicParams::default()
    };
    let mut window = CubicWindow::new(&params);
    let mut acks = Acks::new(1000, ms(100));
    window.on_feedback(&acks.event(Congestion::Timeout));
    window.on_feedback(&acks.of(47.0));
    (window, acks)
}

fn cubic(vectors: &mut Vectors) {
    vectors.holds("cubic", "cubic-bulk-166k.pkt from 48 on: 49, 50, 52, 58, 68, 78, 88", || {
        let (mut window, mut acks) = at_48();
        acks.rtt = ms(2400);
        for (times, expected) in
            [(11, 49.0), (10, 50.0), (10, 52.0), (10, 58.0), (10, 68.0), (10, 78.0), (10, 88.0)]
        {
            for _ in 0..times {
                acks.now += ms(100);
                window.on_feedback(&acks.of(2.0));
            }
            near("window", window.cwnd().floor(), expected, 2.0)?;
        }
        Ok(())
    });
    vectors.holds("cubic", "cubic-bulk-166k-idle-restart.pkt: 4 s idle are no credit", || {
        let (mut window, mut acks) = at_48();
        window.on_feedback(&acks.of(2.0));
        let idle = Span::from_secs(4);
        acks.now += idle;
        // The timeout has not expired, as with tcp_slow_start_after_idle=0.
        window.on_idle(acks.now, idle, idle * 2);
        for _ in 0..10 {
            acks.now += ms(100);
            window.on_feedback(&acks.of(2.0));
        }
        that(&format!("49 at most, but {}", window.cwnd()), window.cwnd() < 50.0)
    });
}
