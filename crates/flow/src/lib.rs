//! The two ends of a flow, without input or output: sender, receiver, and the sender's account of
//! the connection.
//!
//! - An [`Account`] keeps the books of one connection: the packets in flight, the packets lost and
//!   to be retransmitted, the round-trip time, the delivery rate, the timers. Its driver reports
//!   each packet sent and each acknowledgement received; the account answers with the
//!   [`Feedback`](paceline_cc::Feedback) that a controller needs. It has no workload, no pacing and
//!   no packets, so that other transports can use it alone.
//! - A [`Sender`] is a [`Workload`], a pacer and an account under a
//!   [`Controller`](paceline_cc::Controller). It takes acknowledgements in and gives data packets
//!   out.
//! - A [`Receiver`] takes data packets in and gives acknowledgements out, delayed or one per
//!   packet. It runs the receiver's half of a scheme ([`Reporter`](paceline_cc::Reporter)) if the
//!   scheme has one.
//! - A [`Workload`] is the data that the application sends: bulk, a number of bytes, a limited
//!   rate, on and off periods, or a [`Video`] whose encoder follows the rate that congestion
//!   control offers.
//!
//! Senders and receivers are [`Stage`](paceline_cc::Stage)s. They have no clock: the driver passes
//! the current time with each call, and [`wake`](paceline_cc::Stage::wake) returns when they next
//! have something to do. `crates/sim/examples/by_hand.rs` drives them over a link with a queue.
//!
//! # A transfer, driven by hand
//! 150 kB under Cubic over a wire that delays packets by 20 ms each way:
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use paceline_cc::{Body, Packet, Setup, Span, Spec, Stage, Time};
//! use paceline_flow::{
//!     Receiver, ReceiverConfig, SENDER_SIGNALS, Sender, SenderConfig, Workload,
//! };
//! use paceline_schemes::registry;
//!
//! let cubic = registry::build(&Spec::parse("cubic")?)?;
//! let config = SenderConfig::of(&cubic, Setup::new(1, 0))
//!     .with(|config| config.workload = Workload::Bytes(150_000));
//! let mut sender = Sender::new(config, cubic.controller.clone(), SENDER_SIGNALS)?;
//! let mut receiver = Receiver::new(ReceiverConfig::of(&cubic, Setup::new(1, 0)));
//!
//! // Packets on the wire, both ways, with the times at which they arrive.
//! let mut wire: VecDeque<(Time, Packet)> = VecDeque::new();
//! let mut place = Packet::opaque(0);
//! let mut now = Time::ZERO;
//! while sender.transfers().is_empty() {
//!     let arrival = wire.front().map_or(Time::NEVER, |(at, _)| *at);
//!     now = now.max(arrival.min(sender.wake()).min(receiver.wake()));
//!     if arrival <= now && let Some((_, packet)) = wire.pop_front() {
//!         match packet.body {
//!             Body::Data(_) => receiver.push(now, &packet),
//!             _ => sender.push(now, &packet),
//!         }
//!     }
//!     while sender.pop_into(now, &mut place) || receiver.pop_into(now, &mut place) {
//!         wire.push_back((now + Span::from_millis(20), place));
//!     }
//! }
//!
//! // Windows of 10, 20, 40 and the last 30 packets take four round trips.
//! let transfer = sender.transfers()[0];
//! assert_eq!(transfer.end.since(transfer.start), Span::from_millis(160));
//! assert_eq!((sender.stats().sent, receiver.stats().packets), (100, 100));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod bits;
mod receiver;
mod sender;
mod workload;

pub use account::{
    Account, AccountConfig, Expired, Loss, LossRecovery, LossTrigger, Repair, RtoBounds,
    RttEstimator, RttSamples, SenderStats, Sent, Ticks,
};
pub use receiver::{ACK_SIZE, Receiver, ReceiverConfig, ReceiverStats};
pub use sender::{
    EMPTY_SIZE, HandshakeCounts, MissingSignals, SENDER_SIGNALS, Sender, SenderConfig,
};
pub use workload::{
    Amount, Audio, Frame, FrameSource, On, Periods, Transfer, Video, VideoStats, Workload,
};
