//! The event loop of an end while a connection is established.

use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_os::Waker;
use paceline_wire::{Connection, End};

use super::failure::Failure;
use super::line::Line;
use super::work::Work;
use super::{Client, ClientOptions};
use crate::udp::clock::wait;
use crate::udp::note::TAKEN_OVER;
use crate::udp::progress::Progress;
use crate::udp::retry::Retry;

/// Interval at which an end checks whether its [`Progress`] asks it to end.
pub(super) const LOOK: Span = Span::from_millis(100);

impl Client {
    /// Runs a connection until its work is done or it ends.
    ///
    /// # Errors
    /// The connection ended before its work was done.
    pub(super) fn carry(
        &mut self,
        options: &ClientOptions,
        line: &mut Line,
        work: &mut dyn Work,
        retry: &mut Retry,
    ) -> Result<(), Failure> {
        let carrying = Carrying {
            waker: self.interrupts.waker(),
            next_due: Time::NEVER,
            last_time: self.clock.now(),
            is_input_postponed: false,
            is_interrupted: false,
            client: self,
            options,
            line: &mut *line,
            work,
            retry,
        };
        let carried = carrying.run();
        if let Line::Listening(listener) = line {
            listener.end_current();
        }
        carried
    }
}

/// A connection from its start to its end.
struct Carrying<'a> {
    client: &'a mut Client,
    options: &'a ClientOptions,
    line: &'a mut Line,
    work: &'a mut dyn Work,
    retry: &'a mut Retry,
    waker: Waker,
    /// When the connection next has something to send, as it said after the last packet.
    next_due: Time,
    /// The latest time that the connection was given.
    last_time: Time,
    /// True if received packets were left in the socket once, so that due packets are sent first.
    is_input_postponed: bool,
    /// True if the work was asked to end.
    is_interrupted: bool,
}

/// Returns the connection of a line.
fn connection(line: &mut Line) -> Result<&mut Connection, Failure> {
    line.connection().ok_or_else(|| Failure::text("the connection is no longer here"))
}

impl Carrying<'_> {
    fn run(mut self) -> Result<(), Failure> {
        self.work.on_connected(self.last_time, connection(self.line)?, &self.waker)?;
        loop {
            // A packet due by now is sent with the time at which it was due, so that a late wake-up
            // costs no rate.
            let now = self.client.clock.on_time(self.next_due, self.last_time);
            self.step(now)?;
            let may_send_more = self.send(now)?;
            if self.has_ended()? {
                return Ok(());
            }
            self.last_time = now;
            self.next_due = self.line.wake();
            let next_look = self.next_look(now);
            let until = if may_send_more { Time::ZERO } else { next_look };
            self.receive(until)?;
        }
    }

    /// Does a step of the work. Ends it if the other end has opened a new connection, or if this
    /// end was asked to end.
    fn step(&mut self, now: Time) -> Result<(), Failure> {
        let is_superseded = self.line.is_superseded();
        let connection = connection(self.line)?;
        if is_superseded {
            let reason = "the receiver has connected anew".into();
            self.work.on_end(connection, &End::Here { code: TAKEN_OVER, reason })?;
        }
        if self.work.step(now, connection, &self.waker)? {
            self.retry.on_progress(now);
        }
        let progress = self.options.progress.as_deref();
        if progress.is_some_and(Progress::is_stopped) && !self.is_interrupted {
            self.is_interrupted = true;
            self.work.interrupt(connection);
        }
        Ok(())
    }

    /// Sends the packets whose time has come. Returns true if more may follow.
    fn send(&mut self, now: Time) -> Result<bool, Failure> {
        let Client { socket, outbox, .. } = &mut *self.client;
        let may_send_more = self.line.send(now, socket, outbox, self.work);
        let connection = connection(self.line)?;
        if self.work.is_watching() {
            self.work.on_change(now, connection);
        }
        Ok(may_send_more)
    }

    /// Returns true if the work is done.
    ///
    /// # Errors
    /// The connection has ended before the work was done.
    fn has_ended(&mut self) -> Result<bool, Failure> {
        let connection = connection(self.line)?;
        let end = connection.ended().cloned().filter(|end| self.work.can_judge(end));
        if let Some(end) = &end {
            if *end == End::Reset {
                self.retry.on_restart();
            }
            self.work.on_end(connection, end)?;
        }
        let is_done = end.is_some() || self.work.is_over();
        if is_done {
            self.work.finish(self.client.clock.now(), connection);
        }
        Ok(is_done)
    }

    /// Returns when the loop must run again without input. Reads the list of clients again if it
    /// has changed.
    fn next_look(&mut self, now: Time) -> Time {
        let mut next_look = self.next_due.min(self.work.wake());
        if self.options.progress.is_some() {
            next_look = next_look.min(now + LOOK);
        }
        if let Line::Listening(listener) = self.line {
            if let Some(message) = listener.admit_listed(Some(&self.client.interrupts)) {
                self.options.tell(message);
            }
            next_look = next_look.min(listener.next_look(now));
        }
        next_look
    }

    /// Waits until `until` or for input, and handles the received packets.
    fn receive(&mut self, until: Time) -> Result<(), Failure> {
        let Client { clock, socket, inbox, outbox, interrupts } = &mut *self.client;
        let ready = wait(clock, until, socket.as_fd(), self.work.input(), interrupts)?;
        if ready.interrupted {
            self.is_interrupted = true;
            self.work.interrupt(connection(self.line)?);
        }
        // Send, once, the packets that were due before the input arrived.
        self.is_input_postponed =
            ready.socket && !self.is_input_postponed && self.next_due <= clock.now();
        if !ready.socket || self.is_input_postponed {
            return Ok(());
        }
        let buffers = (inbox, outbox);
        self.last_time = self.line.receive(clock, socket, buffers, self.last_time, self.work)?;
        self.next_due = Time::NEVER;
        if self.work.is_watching() {
            self.work.on_change(self.last_time, connection(self.line)?);
        }
        Ok(())
    }
}
