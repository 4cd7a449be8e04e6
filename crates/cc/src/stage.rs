//! The one shape of everything that packets pass through.

use crate::packet::Packet;
use crate::units::Time;

/// Something that packets pass through: a sender, a link, a delay, a receiver.
///
/// A driver supplies the time: it pushes packets in, and calls [`Stage::pop`] when the time that
/// [`Stage::wake`] named has come, until it returns `None`. It asks for [`Stage::wake`] again
/// after every push and every such series of pops.
pub trait Stage {
    /// Takes a packet in at time `now`.
    fn push(&mut self, now: Time, packet: Packet);
    /// The next packet that is due at or before `now`.
    fn pop(&mut self, now: Time) -> Option<Packet>;
    /// When `pop` is next worth calling; [`Time::NEVER`] when idle.
    fn wake(&self) -> Time;
}
