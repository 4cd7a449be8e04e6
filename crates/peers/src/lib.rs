//! What the tests of this crate share. They hold senders, schemes and queues against expectations that
//! other projects publish: packetdrill's scripts, recordings of Linux, and figures from the projects' own tests.
//!
//! - [`script`] reads packetdrill's script language.
//! - [`tcp`] shows a [`Sender`](paceline_flow::Sender) as a TCP sender: sequence numbers, `tcp_info`.
//! - [`play`] plays a script's inputs to such a sender and compares what it sends with the script.
//! - [`linux`] compares it with a recording of what Linux did with the same inputs.
//! - [`random`] draws inputs from seeds and records what this machine's kernel does with them.
//! - [`vector`] lists figures of peers' tests, with a declared outcome each.
//!
//! No other crate uses this one.

pub mod linux;
pub mod play;
pub mod random;
pub mod script;
pub mod tcp;
pub mod vector;
