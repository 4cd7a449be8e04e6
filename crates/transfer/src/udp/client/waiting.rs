//! How an end waits for the other end to connect and to reconnect.

use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_os::RealTimeError;

use super::carrying::LOOK;
use super::listener::Listener;
use super::transfer_progress::GOES_ON;
use super::{Client, ClientOptions};
use crate::udp::clock::wait;
use crate::udp::loop_parts::Deaf;
use crate::udp::retry::Retry;

impl Client {
    /// Waits without limit until the other end has connected.
    ///
    /// # Errors
    /// The system refuses something, or this program is asked to end.
    pub(super) fn await_first(
        &mut self,
        options: &ClientOptions,
        listener: &mut Listener,
    ) -> Result<(), RealTimeError> {
        match self.await_connection(options, listener, Time::NEVER)? {
            true => Ok(()),
            false => Err(RealTimeError::Message("no receiver has connected".into())),
        }
    }

    /// Waits until the other end has reconnected after a connection was cut off.
    ///
    /// # Errors
    /// The other end does not reconnect in time, or those of [`Client::await_first`].
    pub(super) fn await_again(
        &mut self,
        options: &ClientOptions,
        listener: &mut Listener,
        retry: &Retry,
        cut_off: RealTimeError,
    ) -> Result<(), RealTimeError> {
        let (now, end) = (self.clock.now(), retry.end());
        if !listener.has_newer() && end > now {
            let left = Span::from_secs(end.since(now).as_secs_f64().ceil() as u64);
            options.tell(format!(
                "{cut_off}; waiting for {left} at most until `paceline recv --from` connects again"
            ));
        }
        match self.await_connection(options, listener, end)? {
            true => options.tell("connected again".into()),
            false => return Err(cut_off),
        }
        Ok(())
    }

    /// Returns true once a connection is established, false if `end` comes first.
    fn await_connection(
        &mut self,
        options: &ClientOptions,
        listener: &mut Listener,
        end: Time,
    ) -> Result<bool, RealTimeError> {
        loop {
            if listener.take_newest() {
                return Ok(true);
            }
            let now = self.clock.now();
            if now >= end {
                return Ok(false);
            }
            if let Some(said) = listener.admit_listed(Some(&self.interrupts)) {
                options.tell(said);
            }
            let is_full = listener.send(now, &mut self.socket, &mut self.outbox, None);
            let mut until = listener.wake().min(end).min(listener.next_look(now));
            if options.progress.is_some() {
                until = until.min(now + LOOK);
            }
            if is_full {
                until = Time::ZERO;
            }
            let socket = self.socket.as_fd();
            let found = wait(&mut self.clock, until, socket, None, &self.interrupts)?;
            if found.interrupted || options.progress.as_ref().is_some_and(|one| one.is_stopped()) {
                return Err(RealTimeError::Message(GOES_ON.into()));
            }
            if found.socket {
                let now = self.clock.now();
                let Client { socket, inbox, outbox, .. } = self;
                socket.receive(inbox, |group| listener.on_group(now, group, &mut Deaf))?;
                listener.answer(socket, outbox);
            }
        }
    }
}
