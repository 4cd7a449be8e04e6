//! What Linux sends in situations that bulk transfers never reach, for each loss-based scheme. The
//! expectations are the behaviour of Linux 6.18 when packetdrill plays this input.

use paceline_cc::{Body, Plan, Rate, Span};
use paceline_flow::Workload;

use super::desk::{Desk, bulk};

/// Schemes with Reno's slow start.
const SLOW_STARTS: [&str; 5] =
    ["newreno", "cubic[hystart=off]", "dctcp", "compound", "ledbat[initial_window=10]"];

/// Returns a sender that has sent all packets written by its application.
fn written(scheme: &str, packets: u64) -> Desk {
    let config = bulk().with(|config| config.workload = Workload::Bytes(packets * 1500));
    let mut desk = Desk::under(scheme, config);
    desk.until(0);
    desk
}

/// Returns the windows after acknowledgements of two packets each, 5 ms apart, of packets `from` to
/// `to`.
fn windows(desk: &mut Desk, start: u64, from: u64, to: u64) -> Vec<u64> {
    let windows = (from..to).step_by(2).enumerate().map(|(i, first)| {
        desk.until(start + 5 * i as u64);
        desk.ack(first + 2, &[(0, first + 1)]);
        desk.cwnd()
    });
    windows.collect()
}

/// Slow start continues until the window is twice the largest flight of the last window, even if
/// the last acknowledgements find little in flight (`tcp_is_cwnd_limited`, `max_packets_out`;
/// packetdrill slow-start-app-limited-9-packets-out).
#[test]
fn slow_start_of_a_flight_below_the_window() {
    for scheme in SLOW_STARTS {
        let mut desk = written(scheme, 8);
        assert_eq!(windows(&mut desk, 100, 0, 8), [12, 14, 16, 16], "{scheme}");
        let mut desk = written(scheme, 9);
        assert_eq!(windows(&mut desk, 100, 0, 8), [12, 14, 16, 18], "{scheme}");
        desk.ack(9, &[(0, 8)]);
        assert_eq!(desk.cwnd(), 18, "{scheme}");
    }
}

/// A flight that fills the window exactly counts as limited by it (`tcp_write_xmit`; packetdrill
/// slow-start-app-limited).
#[test]
fn slow_start_of_a_flight_that_is_the_window() {
    for scheme in SLOW_STARTS {
        let mut desk = written(scheme, 10);
        assert_eq!(windows(&mut desk, 100, 0, 10), [12, 14, 16, 18, 20], "{scheme}");
    }
}

/// Thirty packets: a window of ten, and one of twenty that grows to forty.
#[test]
fn slow_start_goes_on_for_the_whole_flight() {
    for scheme in SLOW_STARTS {
        let mut desk = written(scheme, 30);
        desk.until(100);
        desk.ack(10, &[(0, 9)]);
        assert_eq!((desk.until(100).len(), desk.cwnd()), (20, 20), "{scheme}");
        let expected = [22, 24, 26, 28, 30, 32, 34, 36, 38, 40];
        assert_eq!(windows(&mut desk, 200, 10, 30), expected, "{scheme}");
    }
}

/// Each of the first two packets that arrive beyond a gap allows one packet to leave, and the
/// window stays (RFC 3042, `tcp_may_raise_cwnd`; packetdrill limited-transmit-sack). The loss then
/// halves ten packets.
#[test]
fn packets_beyond_a_gap_leave_the_window() {
    for scheme in SLOW_STARTS {
        let mut desk = written(scheme, 20);
        for (k, left) in [(1, [10]), (2, [11])] {
            desk.until(100 + k);
            desk.ack(0, &[(1, k)]);
            let numbers: Vec<u64> = desk.until(100 + k).into_iter().map(|(_, n)| n).collect();
            assert_eq!((&numbers[..], desk.cwnd()), (&left[..], 10), "{scheme}");
        }
        desk.until(103);
        desk.ack(0, &[(1, 3)]);
        assert!(desk.cwnd() < 10, "{scheme}");
    }
}

/// An idle period halves the window once per timeout, and slow start leads back to three quarters
/// of it (`tcp_cwnd_restart`, `tcp_current_ssthresh`; RFC 2861).
#[test]
fn an_idle_period_halves_the_window_per_timeout() {
    for scheme in ["newreno", "cubic[hystart=off]", "dctcp", "c2tcp", "vegas", "prague", "compound"]
    {
        let config = bulk().with(|config| config.workload = Workload::Supplied);
        let mut desk = Desk::under(scheme, config);
        let (mut now, mut sent) = (0, 0);
        // Five windows of slow start, each acknowledged as a whole.
        for _ in 0..5 {
            desk.write(desk.cwnd());
            now += 100;
            sent += desk.until(now - 1).len() as u64;
            desk.ack(sent, &[(0, sent - 1)]);
            desk.write(0);
            desk.until(now);
        }
        let before = desk.cwnd();
        assert!(before >= 80, "{scheme}: {before}");
        // The timeout is at least 300 ms: 100 ms, and the minimum variation. One has passed.
        desk.until(now + 450);
        desk.write(1);
        assert_eq!(desk.until(now + 450).len(), 1);
        assert_eq!(desk.cwnd(), before / 2, "{scheme}");
        if let Some(ssthresh) = desk.inspect("ssthresh") {
            assert!(ssthresh >= 0.75 * before as f64, "{scheme}: {ssthresh}");
        }
    }
}

/// The first ten packets of a connection are not paced (`tcp_update_skb_after_send`): BBR's window
/// of ten leaves at once, however long the handshake took.
#[test]
fn a_connections_first_packets_are_not_paced() {
    let plan =
        Plan::window(100 * 1500).paced(Rate::from_bytes_in(1500, Span::from_millis(10)), 1500);
    let mut desk = Desk::new(bulk().with(|config| config.unpaced = 10), plan);
    let left: Vec<u64> = desk.until(35).into_iter().map(|(at, _)| at).collect();
    assert_eq!(left, [[0; 11].as_slice(), &[10, 20, 30]].concat());
}

/// Two packets leave in one piece if the window has room for both, and the last packet of a piece
/// carries PSH; a single packet does not (`tcp_tso_autosize`, `__tcp_transmit_skb`).
#[test]
fn the_second_of_two_packets_has_psh() {
    let mut desk = Desk::new(bulk(), Plan::window(3 * 1500));
    let push = |desk: &Desk| match desk.last.body {
        Body::Data(data) => (data.number, data.push),
        _ => panic!("no data"),
    };
    desk.until(0);
    assert_eq!(push(&desk), (2, false), "alone after two");
    desk.until(100);
    desk.ack(2, &[(0, 1)]);
    desk.until(100);
    assert_eq!(push(&desk), (4, true));
    desk.ack(3, &[(0, 2)]);
    desk.until(100);
    assert_eq!(push(&desk), (5, false));
}

/// A copy of the last packet, sent by the tail loss probe or after a timeout, has PSH as the original, and so has the repair of
/// the second packet of a piece: retransmissions keep the flags (`tcp_retransmit_skb`).
#[test]
fn retransmissions_keep_psh() {
    let data = |desk: &Desk| match desk.last.body {
        Body::Data(data) => (data.segment, data.push),
        _ => panic!("no data"),
    };
    for packets in [3, 5, 10] {
        let mut desk = written("newreno", packets);
        let last = packets - 1;
        assert_eq!(data(&desk), (last, true));
        desk.until(100);
        desk.ack(last, &[(0, last - 1)]);
        // The probe, and the first two timeouts.
        let mut copies = 0;
        for millis in 100..2000 {
            if !desk.until(millis).is_empty() {
                assert_eq!(data(&desk), (last, true), "{packets} packets, {millis} ms");
                copies += 1;
            }
        }
        assert!(copies >= 3, "{copies}");
    }
    // Of pieces of two packets, the first packets have no PSH.
    let mut desk = written("newreno", 10);
    desk.until(100);
    desk.ack(4, &[(5, 9), (0, 3)]);
    assert_eq!((desk.until(100).len(), data(&desk)), (1, (4, false)));
    let mut desk = written("newreno", 10);
    desk.until(100);
    desk.ack(5, &[(6, 9), (0, 4)]);
    assert_eq!((desk.until(100).len(), data(&desk)), (1, (5, true)));
}
