//! Events of the TCP sockets of Linux hosts.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Span, Time};

/// An event of a TCP socket.
#[derive(Clone, Copy, Debug)]
pub struct TcpEvent<'a> {
    /// Name of the flow.
    pub flow: &'a str,
    /// True at the host that sends the flow's data.
    pub is_sender: bool,
    /// Simulated time, in whole microseconds.
    pub time: Time,
    /// Port of the socket at its host.
    pub local_port: u16,
    /// Port of the other host.
    pub remote_port: u16,
    /// State of the socket's congestion control, if it is known: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: Option<u8>,
    /// What happened.
    pub kind: TcpEventKind,
}

/// Kinds of events of a TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpEventKind {
    /// A segment has arrived, and TCP has not yet processed it.
    Received(TcpValues),
    /// A segment was sent again.
    Retransmit,
    /// The state of congestion control has changed to `ca_state`.
    State,
}

/// Values of a TCP socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpValues {
    /// Bytes of data in the segment.
    pub data_bytes: u32,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow-start threshold in packets; `None` for Linux' "no threshold".
    pub ssthresh: Option<u32>,
    /// Smoothed RTT.
    pub srtt: Span,
    /// Bytes of the connection that were acknowledged, counted from the socket's first event on.
    pub snd_una: u64,
    /// Bytes of the connection that were sent, counted from `snd_una` of the socket's first event on.
    pub snd_nxt: u64,
    /// Window of the other host in bytes.
    pub snd_wnd: u32,
    /// Own window in bytes.
    pub rcv_wnd: u32,
}

/// Receives events.
pub trait TcpObserver: Send + Sync {
    /// Called once for each event. Events of one host come in the order of their times, up to 10 ms
    /// after them.
    fn on_event(&self, event: TcpEvent<'_>);
    /// Called if a host had no room for the events of all its flows; `events` is the number of lost ones.
    fn on_lost(&self, host: &str, events: u64);
}

/// Events of a run, which its hosts share. They are not in digests.
#[derive(Clone)]
pub struct TcpProbe(Arc<dyn TcpObserver>);

impl TcpProbe {
    /// Creates a probe that passes all events to `observer`.
    pub fn new(observer: Arc<dyn TcpObserver>) -> TcpProbe {
        TcpProbe(observer)
    }

    /// Passes an event to the observer.
    pub fn on_event(&self, event: TcpEvent<'_>) {
        self.0.on_event(event);
    }

    /// Tells the observer that `host` has lost this number of events.
    pub fn on_lost(&self, host: &str, events: u64) {
        self.0.on_lost(host, events);
    }
}

impl fmt::Debug for TcpProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TcpProbe")
    }
}
