//! The queues that links can have, as types and by name.
//!
//! Scenarios and command lines name a queue with its parameters, `codel[target=20ms]`, and
//! [`build`] builds it. To write your own queue, implement [`Queue`] and pass it to
//! [`Link::new`](crate::Link::new), or add it to a [`Queues`] table so that it has a name.

pub mod abc_dual;
pub mod codel;
pub mod drophead;
pub mod dualpi2;
mod fifo;
pub mod fq;
#[cfg(test)]
mod fuzz;
pub mod infinite;
pub(crate) mod interface;
pub(crate) mod limit;
mod periodic;
pub mod pie;
pub mod policer;
pub mod red;
mod registry;
mod ring;
#[cfg(test)]
mod silence;
#[cfg(test)]
pub(crate) mod testing;
mod wrapper;

pub use fifo::{Fifo, FifoParams};
pub use limit::FULL_PACKET;
pub use registry::{Built, QueueEntry, Queues, build, builtin, check};
pub use wrapper::QueueWrapper;

pub(crate) use interface::{DropReason, DroppedPacket, DroptailLimit, Queue};
use interface::{mark, mark_or_drop};
pub(crate) use limit::{BufferSize, Limit};
