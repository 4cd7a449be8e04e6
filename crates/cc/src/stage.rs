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
    fn push(&mut self, now: Time, packet: &Packet);
    /// Puts the next packet that is due at or before `now` into the caller's place; false if there
    /// is none. A place of the caller's saves copies, which would cost more than all else.
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool;
    /// The next packet that is due at or before `now`, for callers that can afford a copy.
    fn pop(&mut self, now: Time) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        self.pop_into(now, &mut packet).then_some(packet)
    }
    /// When `pop` is next worth calling; [`Time::NEVER`] when idle.
    fn wake(&self) -> Time;
}
