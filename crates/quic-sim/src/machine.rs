//! What the laboratory asks of a QUIC stack.

use std::time::{Duration, Instant};

use paceline_sim::cc::Ecn;

/// A QUIC stack without input and output, of which the laboratory uses an endpoint with one
/// connection. quinn-proto and noq-proto are such machines here; whoever has another one implements
/// this, and hands a pair of machines to [`ends`](crate::ends).
///
/// Instants are those of the laboratory's clock, which stands still while a machine works.
pub trait Machine: Send {
    /// Opens the connection, as a client. Called once.
    fn connect(&mut self, now: Instant);
    /// True once the connection's handshake is over.
    fn is_established(&self) -> bool;
    /// When the machine's next timer expires.
    fn timeout(&mut self) -> Option<Instant>;
    /// Handles the timers that have expired.
    fn on_timeout(&mut self, now: Instant);
    /// Takes a datagram that has arrived with this ECN field. What an endpoint answers by itself,
    /// such as a refusal, goes into `answer`.
    fn on_datagram(
        &mut self,
        now: Instant,
        ecn: Ecn,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Option<Transmission>;
    /// Puts the datagrams that are to leave next into `buffer`, which is empty; `None` if there are
    /// none at present.
    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmission>;
    /// Writes to the connection's stream, which it opens at the first write. Returns the bytes
    /// taken; none if flow control does not allow more.
    fn write(&mut self, bytes: &[u8]) -> usize;
    /// Ends the stream.
    fn finish(&mut self);
    /// Gives the stream up: what has been written and has not left is not sent.
    fn reset(&mut self);
    /// Reads all that has arrived on the other end's streams; returns the bytes.
    fn read(&mut self) -> u64;
    /// The smoothed RTT.
    fn rtt(&self) -> Duration;
    /// What the connection counts and decides.
    fn stats(&mut self) -> MachineStats;
}

/// Datagrams that leave together, with one ECN field.
#[derive(Copy, Clone, Debug)]
pub struct Transmission {
    /// Bytes of all of them.
    pub size: usize,
    /// Bytes of each but the last; `None` if there is one.
    pub segment: Option<usize>,
    /// Their ECN field.
    pub ecn: Ecn,
}

/// What a connection counts and decides.
#[derive(Copy, Clone, Debug, Default)]
pub struct MachineStats {
    /// The congestion window, in bytes of UDP payload.
    pub cwnd: u64,
    /// The largest datagram, in bytes of UDP payload.
    pub mtu: u16,
    /// The rate that the congestion control computes, in bit/s, whether or not the stack keeps to
    /// it.
    pub pacing_bps: Option<u64>,
    /// Packets sent since the start.
    pub sent: u64,
    /// Packets declared lost since the start.
    pub lost: u64,
}
