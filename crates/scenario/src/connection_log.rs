//! Logs of what the ends of complete transports do.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Ecn, Span, Time};

/// An event at one end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionEvent<'a> {
    /// Name of the flow.
    pub flow: &'a str,
    /// True at the end that sends the flow's data.
    pub is_sender: bool,
    /// Simulated time.
    pub time: Time,
    /// What happened.
    pub kind: ConnectionEventKind<'a>,
}

/// Kinds of events at an end of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ConnectionEventKind<'a> {
    /// A datagram left.
    Sent {
        /// Bytes of UDP payload.
        bytes: u32,
        /// Its ECN field.
        ecn: Ecn,
    },
    /// A datagram arrived.
    Received {
        /// Bytes of UDP payload.
        bytes: u32,
        /// Its ECN field.
        ecn: Ecn,
    },
    /// The state of congestion control has changed.
    State {
        /// The congestion window in bytes.
        cwnd: u64,
        /// The smoothed RTT.
        srtt: Span,
        /// The pacing rate in bit/s, if the stack computes one.
        pacing_bps: Option<u64>,
    },
    /// Packets were declared lost.
    Lost {
        /// Their number.
        packets: u64,
    },
    /// The connection ended before its data had arrived.
    Ended {
        /// The reason.
        reason: &'a str,
    },
}

/// Receives events, in the order of their times.
pub trait ConnectionObserver: Send + Sync {
    /// Called once for each event.
    fn on_event(&self, event: ConnectionEvent<'_>);
}

/// A log of a run, which its ends share. It changes nothing in the run, and is not in digests.
#[derive(Clone)]
pub struct ConnectionLog(Arc<dyn ConnectionObserver>);

impl ConnectionLog {
    /// Creates a log that passes all events to `observer`.
    pub fn new(observer: Arc<dyn ConnectionObserver>) -> ConnectionLog {
        ConnectionLog(observer)
    }

    /// Passes an event to the observer.
    pub fn on_event(&self, event: ConnectionEvent<'_>) {
        self.0.on_event(event);
    }
}

impl fmt::Debug for ConnectionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionLog")
    }
}
