//! Senders and receivers of flows, without input or output: loss detection, round-trip time,
//! delivery rate, pacing, recovery, workloads.

mod bits;
mod blocks;
mod ledger;
mod pacer;
mod rate;
mod reassembly;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod workload;

pub use receiver::{ACK_SIZE, Receiver, ReceiverConfig, ReceiverStats};
pub use rtt::{RtoBounds, RttEstimator};
pub use sender::{MissingSignals, SENDER_SIGNALS, Sender, SenderConfig, SenderStats};
pub use workload::{Amount, Frame, On, Transfer, Video, VideoStats, Workload};
