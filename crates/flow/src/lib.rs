//! Senders and receivers of flows, without input or output: loss detection, round-trip time,
//! delivery rate, pacing, recovery, workloads.

pub mod account;
mod bits;
mod receiver;
mod sender;
mod workload;

pub use account::{
    Account, AccountConfig, AccountStats, Expired, Repair, RtoBounds, RttEstimator, Sent,
};
pub use receiver::{ACK_SIZE, Receiver, ReceiverConfig, ReceiverStats};
pub use sender::{MissingSignals, SENDER_SIGNALS, Sender, SenderConfig, SenderStats};
pub use workload::{Amount, Frame, On, Transfer, Video, VideoStats, Workload};
