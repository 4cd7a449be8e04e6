//! The connection of an end that has one at a time, opened by this end or by the other one.

use paceline_cc::{Ecn, Time};
use paceline_os::RealTimeError;
use paceline_os::udp::{Inbox, Socket};
use paceline_wire::Connection;

use super::listener::Listener;
use super::work::Work;
use crate::udp::clock::Clock;
use crate::udp::loop_parts::BURST;
use crate::udp::outbox::Outbox;

/// The connection to the other end.
pub(super) enum Line {
    /// This end opened the connection.
    Initiated(Box<Connection>),
    /// This end listens, and the other end opens connections.
    Listening(Box<Listener>),
}

impl Line {
    /// Returns the connection. A listening end has none between two connections.
    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        match self {
            Line::Initiated(connection) => Some(connection),
            Line::Listening(listener) => listener.connection(),
        }
    }

    /// Returns when [`Line::send`] is next worth calling.
    pub(super) fn wake(&self) -> Time {
        match self {
            Line::Initiated(connection) => connection.wake(),
            Line::Listening(listener) => listener.wake(),
        }
    }

    /// Returns true if the other end has opened a newer connection.
    pub(super) fn is_superseded(&self) -> bool {
        matches!(self, Line::Listening(listener) if listener.has_newer())
    }

    /// Sends the packets whose time has come. Returns true if more may follow.
    pub(super) fn send(
        &mut self,
        now: Time,
        socket: &mut Socket,
        outbox: &mut Outbox,
        work: &mut dyn Work,
    ) -> bool {
        match self {
            Line::Initiated(connection) => {
                let is_watching = work.is_watching();
                let count = outbox.send(socket, BURST, |place| {
                    let out = connection.transmit(now, place)?;
                    if let (true, Some(number)) = (is_watching, out.data) {
                        work.on_sent(now, number, out.length);
                    }
                    if let (true, true, Some(ack)) = (is_watching, out.ack, connection.latest_ack())
                    {
                        work.on_ack_sent(now, (out.number, out.length as u32), ack);
                    }
                    Some(out)
                });
                if outbox.was_too_large() {
                    connection.on_too_large(now);
                }
                count == BURST
            }
            Line::Listening(listener) => listener.send(now, socket, outbox, Some(work)),
        }
    }

    /// Handles received packets. Returns the latest time that the connection was given, at least
    /// `told`.
    ///
    /// # Errors
    /// The socket fails.
    pub(super) fn receive(
        &mut self,
        clock: &mut Clock,
        socket: &mut Socket,
        (inbox, outbox): (&mut Inbox, &mut Outbox),
        told: Time,
        work: &mut dyn Work,
    ) -> Result<Time, RealTimeError> {
        let (ahead, now) = (clock.ahead(), clock.now());
        let mut last = told;
        match self {
            Line::Initiated(connection) => {
                socket.receive(inbox, |group| {
                    let at = clock.of_stamp(group.stamp, ahead, last, now);
                    last = at;
                    for bytes in group.bytes.chunks_mut(group.size) {
                        connection.on_datagram(
                            at,
                            group.from,
                            Ecn::of_bits(group.ecn),
                            bytes,
                            work,
                        );
                    }
                })?;
            }
            Line::Listening(listener) => {
                socket.receive(inbox, |group| {
                    last = clock.of_stamp(group.stamp, ahead, last, now);
                    listener.on_group(last, group, work);
                })?;
                listener.answer(socket, outbox);
            }
        }
        Ok(last)
    }
}
