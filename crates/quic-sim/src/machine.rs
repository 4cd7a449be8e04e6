//! The interface of a QUIC stack in the simulation.

use std::time::{Duration, Instant};

use paceline_cc::Ecn;

/// A QUIC stack without input and output: an endpoint with one connection. quinn-proto and
/// noq-proto are such machines here. To add another stack, implement this trait and pass a pair of
/// machines to [`ends`](crate::ends), or, if they cannot move between threads, a function that makes
/// them to [`ends_on_a_thread`](crate::ends_on_a_thread).
///
/// Instants are those of the simulation's clock, which stands still while a machine works.
pub trait Machine {
    /// Opens the connection, as a client. Called once.
    fn connect(&mut self, now: Instant);
    /// True once the connection's handshake is over.
    fn is_established(&self) -> bool;
    /// Returns the expiry of the machine's next timer.
    fn timeout(&mut self) -> Option<Instant>;
    /// Handles the timers that have expired.
    fn on_timeout(&mut self, now: Instant);
    /// Processes a datagram that has arrived with this ECN field. The endpoint's own answer, such
    /// as a refusal, goes into `answer`.
    fn on_datagram(
        &mut self,
        now: Instant,
        ecn: Ecn,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Option<Transmission>;
    /// Writes the datagrams that leave next into `buffer`, which is empty; returns `None` if there
    /// are none at present.
    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmission>;
    /// Writes to the connection's stream, which it opens at the first write. Returns the number of
    /// bytes taken; 0 if flow control allows no more.
    fn write(&mut self, bytes: &[u8]) -> usize;
    /// Ends the stream.
    fn finish(&mut self);
    /// Resets the stream: bytes that were written but not sent are dropped.
    fn reset(&mut self);
    /// Reads all data of the other end's streams; returns the number of bytes.
    fn read(&mut self) -> u64;
    /// Returns the smoothed RTT.
    fn rtt(&self) -> Duration;
    /// Returns the connection's counters and its congestion control's state.
    fn stats(&mut self) -> MachineStats;
    /// Returns why the connection has ended although this end still needs it: a protocol error, a
    /// refusal, or a silence while data was unacknowledged. The run then fails with this text. `None`
    /// while the connection is open, and after it has ended with nothing left to do.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Datagrams that leave together, with one ECN field.
#[derive(Copy, Clone, Debug)]
pub struct Transmission {
    /// Size of all of them together, in bytes.
    pub size: usize,
    /// Size of each datagram but the last, in bytes; `None` for a single datagram.
    pub segment: Option<usize>,
    /// Their ECN field.
    pub ecn: Ecn,
}

/// Counters of a connection, and state of its congestion control.
#[derive(Copy, Clone, Debug, Default)]
pub struct MachineStats {
    /// The congestion window, in bytes of UDP payload.
    pub cwnd: u64,
    /// The largest datagram, in bytes of UDP payload.
    pub mtu: u16,
    /// Rate that the congestion control computes, in bit/s, even if the stack does not pace by it.
    pub pacing_bps: Option<u64>,
    /// Packets sent since the start.
    pub sent: u64,
    /// Packets declared lost since the start.
    pub lost: u64,
}
