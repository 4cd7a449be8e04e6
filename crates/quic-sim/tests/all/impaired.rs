//! Paths that duplicate datagrams, and that delay some of them by seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_cc::{Halves, Rate, Span};
use paceline_path::{Impairments, Reorder};
use paceline_quic_sim::Quinn;
use paceline_quinn::Scheme;
use paceline_sim::scenario::Capacity;
use paceline_sim::{
    BuildError, ConnectionEvent, ConnectionEventKind, ConnectionLog, ConnectionObserver, run,
};

use crate::support::{Window, over_12_mbps};

/// Counts the flow's datagrams that leave the sending end, and those that reach the other end.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
}

impl ConnectionObserver for Counts {
    fn on_event(&self, event: ConnectionEvent<'_>) {
        let count = match (event.kind, event.is_sender) {
            (ConnectionEventKind::Sent { .. }, true) => &self.sent,
            (ConnectionEventKind::Received { .. }, false) => &self.received,
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the numbers of datagrams sent and received by a flow of 200 packets per 100 ms that stops
/// after 5 s.
fn counted(data: Impairments) -> Result<(u64, u64), BuildError> {
    let window = Halves::sender(|setup| Window(200 * u64::from(setup.mss)));
    let stack = Quinn::new("window", Arc::new(Scheme::new("window", window).expect("a scheme")));
    let counts = Arc::new(Counts::default());
    let mut scenario = over_12_mbps(stack.transport(), 30);
    scenario.links[0].capacity = Capacity::Constant(Rate::from_mbps(50.0));
    scenario.flows[0].stop = Some(Span::from_secs(5));
    scenario.flows[0].data.impairments = data;
    scenario.log = Some(ConnectionLog::new(Arc::clone(&counts) as Arc<dyn ConnectionObserver>));
    run(&scenario)?;
    Ok((counts.sent.load(Ordering::Relaxed), counts.received.load(Ordering::Relaxed)))
}

#[test]
fn copies_of_datagrams_arrive() {
    let data = Impairments { duplicate: 0.3, ..Impairments::default() };
    let (sent, received) = counted(data).expect("a run");
    let copies = (received - sent) as f64 / sent as f64;
    assert!(sent > 4000 && (copies - 0.3).abs() < 0.03, "{sent} sent, {received} received");
}

fn late(extra: Span) -> Impairments {
    let reorder = Some(Reorder { probability: 0.01, extra: Some(extra) });
    Impairments { reorder, ..Impairments::default() }
}

/// About 6000 younger datagrams overtake each late one.
#[test]
fn datagrams_that_are_seconds_late_arrive() {
    let (sent, received) = counted(late(Span::from_secs(3))).expect("a run");
    assert!(sent > 8000, "{sent}");
    assert_eq!(sent, received);
}

/// Copies that come more than a second after the first are dropped, and others arrive.
#[test]
fn datagrams_that_are_seconds_late_may_have_copies() {
    let late = late(Span::from_secs(3));
    let (sent, received) = counted(Impairments { duplicate: 0.3, ..late }).expect("a run");
    let copies = (received - sent) as f64 / sent as f64;
    assert!(sent > 4000 && (copies - 0.3).abs() < 0.03, "{sent} sent, {received} received");
}
