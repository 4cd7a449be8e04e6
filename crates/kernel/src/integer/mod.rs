//! The senders' arithmetic in whole numbers, as eBPF programs have it.
//!
//! The programs in `bpf/` cannot use floating point. This is their arithmetic in Rust: the same
//! steps as `paceline_cc`'s controllers, with windows as fixed-point numbers of 16 fraction bits
//! and times in microseconds. `tests/differential.rs` feeds the simulator's controllers, this, and
//! the programs' C code with the same feedback and compares the windows.

mod abc;
mod c2tcp;
mod cubic;
mod fixed;
mod hystart;
mod remy;
mod remy_table;
mod reno;
mod vegas;

pub use abc::Abc;
pub use c2tcp::C2tcp;
pub use cubic::Cubic;
pub use fixed::{MOST_WINDOW, NEVER, ONE};
pub use remy::Remy;
pub use remy_table::{RemyTable, RemyTableError};
pub use vegas::Vegas;

/// What the connection's state machine concludes, as numbers that the C code shares.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub enum Congestion {
    /// Nothing.
    #[default]
    None = 0,
    /// A packet was lost.
    Loss = 1,
    /// A packet was marked CE.
    Ecn = 2,
    /// The retransmission timer expired.
    Timeout = 3,
    /// The last reaction was a mistake.
    Undo = 4,
}

/// What one acknowledgement tells. Packets are fixed-point numbers (see [`ONE`]), times are
/// microseconds. The C code's `struct feedback` has the same fields in the same order.
#[derive(Copy, Clone, Debug, Default)]
pub struct Feedback {
    /// The sender's clock.
    pub now: u64,
    /// Packets newly acknowledged.
    pub acked: u64,
    /// Of these, those that a router let accelerate.
    pub accelerates: u64,
    /// Of these, those that a router made brakes.
    pub brakes: u64,
    /// Packets in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// Packets in flight after it.
    pub in_flight: u64,
    /// Packets delivered since the start.
    pub delivered: u64,
    /// The last round-trip time; 0 where this acknowledgement gives none.
    pub rtt: u64,
    /// The smoothed round-trip time.
    pub srtt: u64,
    /// Bytes of a packet.
    pub mss: u64,
    /// What the state machine concludes.
    pub congestion: Congestion,
    /// Losses are being repaired.
    pub in_recovery: bool,
    /// The window has limited sending in the last round trip.
    pub cwnd_limited: bool,
    /// Most packets in flight in the last window of data.
    pub max_in_flight: u64,
    /// False if only packets beyond a gap were acknowledged: windows do not grow.
    pub may_raise_cwnd: bool,
    /// This is the first acknowledgement of a round trip.
    pub round_start: bool,
    /// By how many packets the newest one acknowledged is ahead of the newest one before; 0 counts
    /// as 1.
    pub ahead: u64,
}

impl Feedback {
    /// The fields as numbers, in their order.
    pub fn words(&self) -> [u64; 17] {
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
        ]
    }
}
