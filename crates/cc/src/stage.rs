//! The interface of everything that packets pass through.

use crate::packet::Packet;
use crate::units::Time;

/// Something that packets pass through: a sender, a link, a delay, a receiver.
///
/// The driver supplies the time. It pushes packets in, and at the time of [`Stage::wake`] calls
/// [`Stage::pop`] until that returns `None`. It asks for [`Stage::wake`] again after every push and
/// after every such series of pops.
pub trait Stage {
    /// Takes a packet in at time `now`.
    fn push(&mut self, now: Time, packet: &Packet);
    /// Puts the next packet that is due at or before `now` into `place`. Returns false if there is
    /// none. A caller's place saves copies, which would cost more than all other work.
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool;
    /// Returns the next packet that is due at or before `now`, for callers that can afford a copy.
    fn pop(&mut self, now: Time) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        self.pop_into(now, &mut packet).then_some(packet)
    }
    /// Returns when `pop` is next worth calling; [`Time::NEVER`] when idle.
    fn wake(&self) -> Time;
}
