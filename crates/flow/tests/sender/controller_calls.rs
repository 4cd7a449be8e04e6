//! Calls of the controller in situations in which earlier versions were wrong.

use paceline_cc::{Body, Congestion, NO_SEGMENT, Plan, Rate, Span};
use paceline_flow::{Amount, EMPTY_SIZE, On, Video, Workload};

use super::desk::{ControllerCall, Desk, bulk};

/// Requests of two packets, half a second apart, far below a window of ten: the window must not
/// count as limiting, not even after everything has been acknowledged (RFC 7661).
#[test]
fn requests_below_the_window_are_not_limited_by_it() {
    let workload = Workload::OnOff {
        on: On::Bytes(Amount::Fixed(3000.0)),
        off: Amount::Fixed(0.5),
        starts_off: false,
        fresh: false,
    };
    let mut desk = Desk::new(bulk().with(|config| config.workload = workload), window(10));
    let mut requests = 0;
    for k in 0..5 {
        let start = k * 600;
        let (first, second) = (2 * k, 2 * k + 1);
        assert_eq!(desk.until(start), [(start, first), (start, second)]);
        desk.until(start + 99);
        desk.ack(first + 1, &[(0, first)]);
        desk.until(start + 100);
        desk.ack(second + 1, &[(0, second)]);
        for told in desk.told() {
            if let ControllerCall::Feedback { now, cwnd_limited, .. } = told {
                assert!(!cwnd_limited, "at {now:?}");
                requests += 1;
            }
        }
    }
    assert_eq!(requests, 10);
}

/// A flow that retransmits nothing: its receiver does not wait for data, so the cumulative
/// acknowledgement never advances. Recovery ends nevertheless, and the next loss is reported (RFC
/// 9002, section 7.3.2).
#[test]
fn each_loss_of_datagrams_is_reported() {
    let config = bulk().with(|config| config.reliable = false);
    let plan = window(10).without_prr();
    let mut desk = Desk::new(config, plan);
    assert_eq!(desk.until(0).len(), 10);
    for k in 0..5 {
        // The first packet of each window of ten is lost.
        desk.until(100 + 100 * k);
        desk.ack(0, &[(10 * k + 1, 10 * k + 9)]);
        assert_eq!(desk.reactions(), [Congestion::Loss], "window {k}");
    }
}

/// Recovery of datagrams ends with the first packet sent after the reaction.
#[test]
fn recovery_of_datagrams_ends() {
    let config = bulk().with(|config| config.reliable = false);
    let mut desk = Desk::new(config, window(10));
    desk.until(100);
    desk.ack(0, &[(1, 9)]);
    assert!(desk.until(100).len() >= 3);
    desk.until(200);
    desk.ack(0, &[(10, 12), (1, 9)]);
    let told = desk.told();
    let recovering =
        |told: &ControllerCall| matches!(told, ControllerCall::Feedback { in_recovery: true, .. });
    assert!(recovering(&told[0]) && !recovering(&told[told.len() - 1]), "{told:?}");
}

/// A flow that retransmits nothing probes its tail without data: its receiver counts each packet
/// with data as new.
#[test]
fn the_probe_of_datagrams_has_no_data() {
    for (reliable, segment, size) in [(true, 1, 1500), (false, NO_SEGMENT, EMPTY_SIZE)] {
        let config = bulk().with(|config| {
            config.reliable = reliable;
            config.workload = Workload::Bytes(3000);
        });
        let mut desk = Desk::new(config, window(10));
        assert_eq!(desk.until(100).len(), 2);
        desk.ack(u64::from(reliable), &[(0, 0)]);
        // At the time of the timeout, which is sooner than two RTTs and 200 ms, as the packet is
        // alone.
        assert_eq!(desk.until(410), [(400, 2)]);
        let Body::Data(data) = desk.last.body else { panic!("a probe") };
        assert_eq!((data.segment, desk.last.size), (segment, size));
    }
}

/// Nothing is in flight after the retransmission timer has expired, but the connection was not
/// idle.
#[test]
fn a_timeout_is_no_idle_period() {
    for reliable in [true, false] {
        let config = bulk().with(|config| config.reliable = reliable);
        let mut desk = Desk::new(config, window(4));
        desk.until(100);
        desk.ack(if reliable { 4 } else { 0 }, &[(0, 3)]);
        desk.until(101);
        desk.told();
        desk.until(5000);
        let told = desk.told();
        let timeout = |told: &ControllerCall| {
            matches!(told, ControllerCall::Feedback { congestion: Some(Congestion::Timeout), .. })
        };
        assert!(told.iter().filter(|told| timeout(told)).count() >= 3, "{told:?}");
        assert!(!told.iter().any(|told| matches!(told, ControllerCall::Idle)), "{told:?}");
    }
}

/// A pause of the application is an idle period (RFC 5681, section 4.1).
#[test]
fn a_pause_is_an_idle_period() {
    let workload = Workload::OnOff {
        on: On::Bytes(Amount::Fixed(1500.0)),
        off: Amount::Fixed(2.0),
        starts_off: false,
        fresh: false,
    };
    let mut desk = Desk::new(bulk().with(|config| config.workload = workload), window(10));
    desk.until(100);
    desk.ack(1, &[(0, 0)]);
    desk.told();
    assert_eq!(desk.until(2100), [(2100, 1)]);
    assert!(matches!(desk.told()[..], [ControllerCall::Idle]));
}

/// A pause of several timeouts takes NewReno's window back to the initial one (RFC 2861), and leaves
/// it as it is without `slow_start_after_idle`, as with Linux' sysctl of this name at 0.
#[test]
fn a_pause_reduces_the_window_unless_switched_off() {
    for (reduces, packets) in [(true, 10), (false, 30)] {
        let config = bulk().with(|config| {
            config.workload = Workload::OnOff {
                on: On::Bytes(Amount::Fixed(45_000.0)),
                off: Amount::Fixed(20.0),
                starts_off: false,
                fresh: false,
            };
            config.slow_start_after_idle = reduces;
        });
        let mut desk = Desk::under("newreno", config);
        let first = desk.until(0).len() as u64;
        assert_eq!(first, 10);
        desk.until(100);
        desk.ack(first, &[(0, first - 1)]);
        let second = desk.until(100).len() as u64;
        assert_eq!(second, 20);
        desk.until(200);
        desk.ack(30, &[(10, 29)]);
        assert_eq!(desk.until(20_200).len(), packets, "reduces: {reduces}");
    }
}

/// For 45 ms of each 145 ms nothing is in flight because the pacer waits: the application was not
/// idle (Linux reports `CA_EVENT_TX_START` to BBR then, too, and BBR ignores it without
/// `app_limited`; quiche `bbr2_simulator_test` BandwidthIncrease, s2n `handle_restart_from_idle`).
#[test]
fn a_wait_for_the_pacer_is_no_idle_period() {
    let mut plan = window(4);
    plan.pacing = Some(Rate::from_bytes_in(1500, Span::from_millis(145)));
    let mut desk = Desk::new(bulk(), plan);
    for k in 0..5 {
        assert_eq!(desk.until(145 * k + 100), [(145 * k, k)]);
        desk.ack(k + 1, &[(0, k)]);
        assert_eq!(desk.in_flight(), 0);
    }
    let told = desk.told();
    assert!(!told.iter().any(|told| matches!(told, ControllerCall::Idle)), "{told:?}");
}

/// Packets leave every 145 ms. The timer expires after a sudden delay, its losses are undone, and
/// number 4, which left at 580 ms, arrives sooner after that than number 0 did. Its sample counts
/// from when number 0 left (delivery-rate draft, section 2.2); the time of the declared loss has no
/// effect.
#[test]
fn rate_samples_after_an_undo_keep_their_send_phase() {
    let mut plan = window(4);
    plan.pacing = Some(Rate::from_bytes_in(1500, Span::from_millis(145)));
    plan.exact_window = true; // no probes
    let mut desk = Desk::new(bulk(), plan);
    let left = desk.until(150);
    assert_eq!(left, [(0, 0), (145, 1)]);
    desk.ack(1, &[(0, 0)]);
    assert_eq!(desk.until(599), [(290, 2), (435, 3), (580, 4)]);
    desk.told();
    desk.until(610);
    desk.ack(2, &[(0, 1)]);
    assert_eq!(desk.reactions(), [Congestion::Timeout, Congestion::Undo]);
    desk.until(690);
    desk.ack(4, &[(0, 3)]);
    desk.told();
    desk.until(700);
    desk.ack(5, &[(0, 4)]);
    let Some(ControllerCall::Feedback { sample: Some(sample), .. }) = desk.told().pop() else {
        panic!("no sample");
    };
    assert_eq!(sample.delivered, 4 * 1500);
    assert!((sample.interval.as_millis_f64() - 580.0).abs() < 0.1, "{sample:?}");
}

/// Returns a plan with a window of `packets` packets.
fn window(packets: u64) -> Plan {
    Plan::window(packets * 1500)
}

/// RFC 8298 §4.1.2 compares the next packet's own size with the room in the window: the packet that ends a frame leaves
/// into a window that has no room for a whole segment.
#[test]
fn the_small_packet_at_a_frames_end_needs_room_for_itself_only() {
    // Two frames a second of 2000 bytes: two packets of 1000 bytes each.
    let video = Video {
        fps: 2.0,
        min: Rate::from_bps(32_000),
        max: Rate::from_bps(32_000),
        noise: 0.0,
        key_size: 1.0,
        overshoot_window: Span::ZERO,
        ..Video::default()
    };
    let config = bulk().with(|config| {
        config.workload = Workload::Video(video);
        config.reliable = false;
    });
    // After the first packet 1400 bytes of room are left, less than a segment of 1500 bytes; after three packets 400 bytes.
    let mut desk = Desk::new(config, Plan::window(3400).without_prr());
    assert_eq!(desk.until(900), [(0, 0), (0, 1), (500, 2)]);
    assert_eq!(desk.in_flight(), 3000);
    desk.ack(0, &[(0, 0)]);
    assert_eq!(desk.until(901), [(900, 3)]);
}
