//! The work of an end of transfers over successive connections: it sends or receives.

use std::os::fd::BorrowedFd;

use paceline_cc::{Ack, Time};
use paceline_os::{RealTimeError, Waker};
use paceline_wire::{Connection, End, Sink};

use super::failure::Failure;

/// The work of an end over its connections, whichever end opens them.
pub(super) trait Work: Sink {
    /// Begins with an established connection.
    ///
    /// # Errors
    /// The system refuses something.
    fn on_connected(
        &mut self,
        now: Time,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<(), RealTimeError>;

    /// Does the next step. Returns true if the transfer has come further than over any earlier
    /// connection.
    ///
    /// # Errors
    /// The work cannot continue.
    fn step(
        &mut self,
        now: Time,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<bool, RealTimeError>;

    /// Returns when [`Work::step`] is next worth calling without input.
    fn wake(&self) -> Time;

    /// Returns a file that is readable when [`Work::step`] is worth calling.
    fn input(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Closes the connection, because this program is asked to end.
    fn interrupt(&mut self, connection: &mut Connection);

    /// Returns true if the connection is abandoned without waiting for its end.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns true if [`Work::on_end`] can judge this end of the connection already; else
    /// [`Work::step`] goes on.
    fn can_judge(&mut self, _end: &End) -> bool {
        true
    }

    /// Judges the end of a connection.
    ///
    /// # Errors
    /// Not all of the work is done.
    fn on_end(&mut self, connection: &Connection, end: &End) -> Result<(), Failure>;

    /// Returns why the work cannot continue over another connection; `None` if it can.
    fn why_not_again(&self) -> Option<&'static str> {
        None
    }

    /// Completes the work, when all of it is done.
    fn finish(&mut self, _now: Time, _connection: &Connection) {}

    /// Returns true if each packet is to be passed to [`Work::on_sent`] and [`Work::on_change`].
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
