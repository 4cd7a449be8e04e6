//! Senders and receivers of flows, without input or output: loss detection, round-trip time,
//! delivery rate, pacing, recovery, workloads.

mod account;
mod bits;
mod receiver;
mod sender;
mod workload;

pub use account::rtt::{RtoBounds, RttEstimator};
pub use receiver::{ACK_SIZE, Receiver, ReceiverConfig, ReceiverStats};
pub use sender::{MissingSignals, SENDER_SIGNALS, Sender, SenderConfig, SenderStats};
pub use workload::{Amount, Frame, On, Transfer, Video, VideoStats, Workload};
