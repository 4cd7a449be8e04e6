//! The senders' arithmetic in integers, as in the eBPF programs: the model for their C code.
//!
//! The programs in `bpf/` cannot use floating point. This module is their arithmetic in Rust: the
//! steps of the simulator's controllers, with windows as fixed-point numbers of 16 fraction bits
//! and times in microseconds. `differential.rs` feeds the simulator's controllers, this module and
//! the programs' C code with equal feedback and compares the windows.

mod abc;
mod c2tcp;
mod cubic;
mod fixed;
mod hystart;
mod remy;
mod remy_rate;
mod reno;
mod vegas;

pub(crate) use abc::Abc;
pub(crate) use c2tcp::C2tcp;
pub(crate) use fixed::ONE;
pub(crate) use remy::Remy;
pub(crate) use vegas::Vegas;

/// Conclusion of the connection's state machine; the C code uses equal numbers.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Congestion {
    /// No congestion.
    #[default]
    None = 0,
    /// A packet was lost.
    Loss = 1,
    /// A packet was marked CE.
    Ecn = 2,
    /// The retransmission timer expired.
    Timeout = 3,
    /// The last reduction was a mistake.
    Undo = 4,
}

/// Content of one acknowledgement. Packets are fixed-point numbers (see [`ONE`]), times are
/// microseconds. The C code's `struct feedback` has these fields in this order.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct WholeFeedback {
    /// Time of the sender's clock.
    pub(crate) now: u64,
    /// Packets newly acknowledged.
    pub(crate) acked: u64,
    /// Of these, packets that a router let accelerate.
    pub(crate) accelerates: u64,
    /// Of these, packets that a router turned into brakes.
    pub(crate) brakes: u64,
    /// Packets in flight before this acknowledgement.
    pub(crate) prior_in_flight: u64,
    /// Packets in flight after it.
    pub(crate) in_flight: u64,
    /// Packets delivered since the connection's start.
    pub(crate) delivered: u64,
    /// Latest RTT; 0 if this acknowledgement has none.
    pub(crate) rtt: u64,
    /// Smoothed RTT.
    pub(crate) srtt: u64,
    /// Size of a packet in bytes.
    pub(crate) mss: u64,
    /// Conclusion of the state machine.
    pub(crate) congestion: Congestion,
    /// Whether the connection is repairing losses.
    pub(crate) in_recovery: bool,
    /// Whether the window limited sending in the last round trip.
    pub(crate) cwnd_limited: bool,
    /// Most packets in flight during the last window of data.
    pub(crate) max_in_flight: u64,
    /// False if this acknowledgement covers only packets beyond a gap: then windows do not grow.
    pub(crate) may_raise_cwnd: bool,
    /// Whether this is the first acknowledgement of a round trip.
    pub(crate) round_start: bool,
    /// Packets between the newest one acknowledged before and the newest one acknowledged now; 0
    /// counts as 1.
    pub(crate) ahead: u64,
    /// Smallest RTT of the connection.
    pub(crate) min_rtt: u64,
}

impl WholeFeedback {
    /// Returns the fields as numbers, in their order.
    pub(crate) fn words(&self) -> [u64; 18] {
        [
            self.now,
            self.acked,
            self.accelerates,
            self.brakes,
            self.prior_in_flight,
            self.in_flight,
            self.delivered,
            self.rtt,
            self.srtt,
            self.mss,
            self.congestion as u64,
            u64::from(self.in_recovery),
            u64::from(self.cwnd_limited),
            self.max_in_flight,
            u64::from(self.may_raise_cwnd),
            u64::from(self.round_start),
            self.ahead,
            self.min_rtt,
        ]
    }
}
