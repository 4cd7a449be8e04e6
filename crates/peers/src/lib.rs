//! Code shared by the tests of this crate. They compare senders, schemes and queues with
//! expectations that other projects publish: packetdrill's scripts, recordings of Linux, and
//! figures from the projects' own tests.
//!
//! - [`script`] parses packetdrill's script language.
//! - [`tcp`] shows a [`Sender`](paceline_flow::Sender) as a TCP sender: sequence numbers,
//!   `tcp_info`.
//! - [`play`] plays a script's inputs to such a sender and compares the sender's segments with the
//!   script.
//! - [`linux`] compares such a sender with a recording of Linux under equal inputs.
//! - [`random`] draws inputs from seeds and records how this machine's kernel responds to them.
//! - [`vector`] lists figures of peers' tests, with a declared outcome each.
//!
//! No other crate uses this one.

pub mod linux;
pub mod play;
pub mod random;
pub mod script;
pub mod tcp;
pub mod vector;
