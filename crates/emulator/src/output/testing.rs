//! Events and summaries for tests.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use paceline_cc::{Packet, Rate, Span, Time};
use paceline_path::{EventKind, LinkEvent, Service};

use super::WatchedElement;
use crate::{
    Chain, Direction, DirectionSummary, ElementKind, EndReason, FlowNames, LatenessSummary,
    LiveEvent, Observer, Summary, View,
};

/// When runs start, in seconds since 1970.
pub(super) const STARTED: u64 = 1_700_000_000;

/// Returns the first link up, of 12 Mbit/s.
pub(super) fn watched() -> WatchedElement {
    WatchedElement {
        direction: Direction::Up,
        stage: 0,
        name: "12Mbps".into(),
        queue: "droptail".into(),
        service: Some(Service::constant(Rate::from_mbps(12.0))),
    }
}

/// Returns a place for a file that no other test uses.
pub(super) fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("paceline-output-{name}-{}", std::process::id()))
}

pub(super) fn event(time: Time, kind: EventKind, size: u32) -> LinkEvent {
    LinkEvent::new(time, kind, &Packet::opaque(size), 100)
}

/// Returns the event as one of the first link up.
pub(super) fn live(event: LinkEvent, bytes: &[u8]) -> LiveEvent<'_> {
    let (direction, element) = (Direction::Up, ElementKind::Link);
    LiveEvent { direction, stage: 0, element, event, actual: event.time, bytes }
}

pub(super) fn start(observer: &mut dyn Observer) {
    let (up, down) = (Chain::new(Vec::new()), Chain::new(Vec::new()));
    let flows = FlowNames::default();
    let (up_flows, down_flows) = (&flows, &flows);
    let lateness = LatenessSummary::default();
    let view = View { up: &up, down: &down, up_flows, down_flows, lateness };
    observer.on_start(UNIX_EPOCH + Duration::from_secs(STARTED), &view).expect("a start");
}

/// Returns a run that was late: half by 1 ms, 1 % by 2 ms.
pub(super) fn summary(duration: Span) -> Summary {
    let [p50, p99, max] = [1, 2, 3].map(Span::from_millis);
    let lateness = LatenessSummary { count: 100, p50, p99, max };
    Summary {
        started: UNIX_EPOCH + Duration::from_secs(STARTED),
        duration,
        waited: None,
        never_began: false,
        ended: EndReason::Stopped,
        lateness,
        bound: Span::from_millis(1),
        late: true,
        cpu: Span::ZERO,
        up: DirectionSummary { lateness, late_packets: 50, ..DirectionSummary::default() },
        down: Default::default(),
        simulated: Vec::new(),
        errors: Vec::new(),
    }
}
