//! The loop of an end while a connection stands.

use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_wire::End;

use super::failure::Failure;
use super::line::Line;
use super::work::Work;
use super::{Client, ClientOptions};
use crate::udp::clock::wait;
use crate::udp::note::TAKEN_OVER;
use crate::udp::progress::Progress;
use crate::udp::retry::Retry;

/// Longest time until an end that is asked to end by its [`Progress`] notices.
pub(super) const LOOK: Span = Span::from_millis(100);

impl Client {
    /// Carries a connection until everything is done, or until it ends.
    ///
    /// # Errors
    /// The connection has ended before everything was done.
    pub(super) fn carry(
        &mut self,
        options: &ClientOptions,
        line: &mut Line,
        work: &mut dyn Work,
        retry: &mut Retry,
    ) -> Result<(), Failure> {
        let carried = self.carry_line(options, line, work, retry);
        if let Line::Listening(listener) = line {
            listener.end_current();
        }
        carried
    }

    fn carry_line(
        &mut self,
        options: &ClientOptions,
        line: &mut Line,
        work: &mut dyn Work,
        retry: &mut Retry,
    ) -> Result<(), Failure> {
        let gone = || Failure::text("the connection is no longer here");
        let start = self.clock.now();
        let waker = self.interrupts.waker();
        work.on_connected(start, line.connection().ok_or_else(gone)?, &waker)?;
        let display = options.progress.as_deref();
        let (mut due, mut told) = (Time::NEVER, start);
        let (mut postponed, mut is_interrupted) = (false, false);
        loop {
            // What was due happens at its time, so that a wait that ends late costs no rate.
            let now = self.clock.on_time(due, told);
            let is_superseded = line.is_superseded();
            let connection = line.connection().ok_or_else(gone)?;
            if is_superseded {
                let reason = "the receiver has connected anew".into();
                work.on_end(connection, &End::Here { code: TAKEN_OVER, reason })?;
            }
            if work.step(now, connection, &waker)? {
                retry.on_progress(now);
            }
            if display.is_some_and(Progress::is_stopped) && !is_interrupted {
                is_interrupted = true;
                work.interrupt(connection);
            }
            let is_full = line.send(now, &mut self.socket, &mut self.outbox, work);
            let connection = line.connection().ok_or_else(gone)?;
            if work.is_watching() {
                work.on_change(now, connection);
            }
            if let Some(end) = connection.ended().cloned() {
                if end == End::Reset {
                    retry.on_restart();
                }
                work.on_end(connection, &end)?;
                work.finish(self.clock.now(), connection);
                return Ok(());
            }
            if work.is_over() {
                work.finish(self.clock.now(), connection);
                return Ok(());
            }
            told = now;
            due = line.wake();
            let mut until = due.min(work.wake());
            if display.is_some() {
                until = until.min(now + LOOK);
            }
            if let Line::Listening(listener) = line {
                if let Some(said) = listener.admit_listed(Some(&self.interrupts)) {
                    options.tell(said);
                }
                until = until.min(listener.next_look(now));
            }
            if is_full {
                until = Time::ZERO;
            }
            let (socket, input) = (self.socket.as_fd(), work.input());
            let found = wait(&mut self.clock, until, socket, input, &self.interrupts)?;
            if found.interrupted {
                is_interrupted = true;
                work.interrupt(line.connection().ok_or_else(gone)?);
            }
            // What was due before this is done first, once.
            postponed = found.socket && !postponed && due <= self.clock.now();
            if found.socket && !postponed {
                let Client { clock, socket, inbox, outbox, .. } = self;
                told = line.receive(clock, socket, (inbox, outbox), told, work)?;
                due = Time::NEVER;
                if work.is_watching() {
                    work.on_change(told, line.connection().ok_or_else(gone)?);
                }
            }
        }
    }
}
