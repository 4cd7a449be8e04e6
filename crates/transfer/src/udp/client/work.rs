//! What an end of transfers does over its connections, one after the other: it sends or receives.

use std::os::fd::BorrowedFd;

use paceline_cc::{Ack, Time};
use paceline_os::{LiveError, Waker};
use paceline_wire::{Connection, End, Sink};

use super::failure::Failure;

/// What an end does over its connections, whichever end has asked for them.
pub(super) trait Work: Sink {
    /// Begins with a connection that stands.
    ///
    /// # Errors
    /// The system refuses something.
    fn on_connected(
        &mut self,
        now: Time,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<(), LiveError>;

    /// Does what is next. Returns true if the transfer is further than ever before.
    ///
    /// # Errors
    /// Nothing goes on.
    fn step(
        &mut self,
        now: Time,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<bool, LiveError>;

    /// Returns when [`Work::step`] is next worth calling although nothing has come.
    fn wake(&self) -> Time;

    /// Returns a file that is readable when [`Work::step`] is worth calling.
    fn input(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Closes the connection, because this program is asked to end.
    fn interrupt(&mut self, connection: &mut Connection);

    /// Returns true if the connection is left as it is, without waiting for its end.
    fn is_over(&self) -> bool {
        false
    }

    /// Judges the end of a connection.
    ///
    /// # Errors
    /// Not everything is done.
    fn on_end(&mut self, connection: &Connection, end: &End) -> Result<(), Failure>;

    /// Returns why nothing can go on over another connection, if that is so.
    fn why_not_again(&self) -> Option<&'static str> {
        None
    }

    /// Everything is done.
    fn finish(&mut self, _now: Time, _connection: &Connection) {}

    /// Returns true if each packet is noted: [`Work::on_sent`] and [`Work::on_change`].
    fn is_watching(&self) -> bool {
        false
    }

    /// Notes that the data with this transmission number has left, in a datagram of `length` bytes.
    fn on_sent(&mut self, _now: Time, _number: u64, _length: usize) {}

    /// Notes that an acknowledgement has left in packet `packet.0` of `packet.1` bytes.
    fn on_ack_sent(&mut self, _now: Time, _packet: (u64, u32), _ack: &Ack) {}

    /// Notes what has happened to the connection until `now`.
    fn on_change(&mut self, _now: Time, _connection: &mut Connection) {}
}
