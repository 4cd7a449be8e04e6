//! Packets without data fill the pacing rate while the application has nothing to send.

use paceline_cc::{Body, NO_SEGMENT, Plan, Rate};
use paceline_flow::Workload;

use super::desk::{Desk, bulk};

/// 12 Mbit/s: a packet of 1500 bytes per millisecond.
fn padded(window: u64) -> Plan {
    Plan::window(window).paced(Rate::from_mbps(12.0), 0).padded(1500)
}

#[test]
fn padding_begins_with_data_and_yields_to_data() {
    let config = bulk().with(|config| {
        config.workload = Workload::Supplied;
        config.reliable = false;
    });
    let mut desk = Desk::new(config, padded(1 << 20));
    assert!(desk.until(5).is_empty(), "nothing was sent yet");
    desk.write(1);
    assert_eq!(desk.until(7), [(5, 0), (6, 1), (7, 2)]);
    let Body::Data(data) = desk.last.body else { panic!("a data packet") };
    assert_eq!((data.segment, desk.last.size), (NO_SEGMENT, 1500));
    desk.write(2);
    assert_eq!(desk.until(9), [(8, 3), (9, 4)]);
    let Body::Data(data) = desk.last.body else { panic!("a data packet") };
    assert_eq!(data.segment, 2, "segments of data follow each other");
    assert_eq!(desk.until(10), [(10, 5)]);
}

#[test]
fn padding_keeps_to_the_window_and_ends_with_the_data() {
    let config = bulk().with(|config| {
        config.workload = Workload::Supplied;
        config.reliable = false;
    });
    let mut desk = Desk::new(config, padded(4500));
    desk.write(1);
    assert_eq!(desk.until(50), [(0, 0), (1, 1), (2, 2)]);
    let config = bulk().with(|config| config.workload = Workload::Bytes(1500));
    let mut desk = Desk::new(config, padded(1 << 20));
    assert_eq!(desk.until(2), [(0, 0), (1, 1), (2, 2)]);
    desk.ack(1, &[(0, 2)]);
    assert!(desk.until(1000).is_empty(), "all data is acknowledged");
}
