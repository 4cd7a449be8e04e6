//! The applications at the simulated ends.

use std::time::Instant;

use paceline_cc::{Span, Time};
use paceline_flow::Workload;
use paceline_sim::TransportSetup;

use crate::machine::Machine;

/// Bytes of one write.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Application of an end.
pub(crate) enum Application {
    /// Connects and writes.
    Source(Source),
    /// Reads all data; holds the number of bytes so far.
    Sink(u64),
}

impl Application {
    /// Returns the time of the application's next event, which the stack does not know: to connect,
    /// or to write the next message.
    pub(crate) fn wake(&self) -> Time {
        match self {
            Application::Source(source) => source.wake(),
            Application::Sink(_) => Time::NEVER,
        }
    }

    /// Connects, writes and reads as far as possible at `now`.
    pub(crate) fn drive(&mut self, now: Time, machine: &mut dyn Machine, instant: Instant) {
        match self {
            Application::Source(source) => source.drive(now, machine, instant),
            Application::Sink(received) => *received += machine.read(),
        }
    }

    pub(crate) fn received(&self) -> u64 {
        match self {
            Application::Source(_) => 0,
            Application::Sink(received) => *received,
        }
    }
}

/// Connects at its start time, and writes zeros to one stream.
pub(crate) struct Source {
    start: Time,
    stop: Time,
    connected: bool,
    finished: bool,
    stopped: bool,
    /// Bytes left to write.
    left: u64,
    messages: Option<Messages>,
}

/// Messages that the application writes at a steady rate.
struct Messages {
    bytes: u64,
    every: Span,
    next: Time,
}

impl Source {
    /// Returns the application of a flow.
    ///
    /// # Errors
    /// Stacks do not have this workload.
    pub(crate) fn new(setup: &TransportSetup) -> Result<Source, String> {
        let (left, messages) = match &setup.workload {
            Workload::Bulk => (u64::MAX, None),
            Workload::Bytes(bytes) => (*bytes, None),
            Workload::Limited { rate, message } => {
                let every = rate.time_for(u64::from(*message)).max(Span::from_nanos(1));
                (0, Some(Messages { bytes: u64::from(*message), every, next: setup.start }))
            }
            other => {
                let key = match other {
                    Workload::OnOff { .. } => "an `on_off` application",
                    Workload::Video(_) => "a `video`",
                    Workload::Audio(_) => "`audio`",
                    _ => "this workload",
                };
                return Err(format!(
                    "whole QUIC stacks send data without end, a number of bytes (`bytes`) or \
                     messages at a rate (`limited`), and not {key}"
                ));
            }
        };
        let TransportSetup { start, stop, .. } = *setup;
        let (connected, finished, stopped) = (false, false, false);
        Ok(Source { start, stop, connected, finished, stopped, left, messages })
    }

    fn wake(&self) -> Time {
        if !self.connected {
            return self.start;
        }
        let next = self.messages.as_ref().map_or(Time::NEVER, |messages| messages.next);
        if self.stopped { next } else { next.min(self.stop) }
    }

    fn drive(&mut self, now: Time, machine: &mut dyn Machine, instant: Instant) {
        if now < self.start {
            return;
        }
        if !self.connected {
            self.connected = true;
            machine.connect(instant);
        }
        if now >= self.stop && !self.stopped {
            (self.stopped, self.finished) = (true, true);
            (self.left, self.messages) = (0, None);
            // A stack accepts far more data than it has sent.
            machine.reset();
        }
        if let Some(messages) = &mut self.messages {
            while messages.next <= now {
                self.left += messages.bytes;
                messages.next += messages.every;
            }
        }
        if !machine.is_established() || self.finished {
            return;
        }
        while self.left > 0 {
            let most = self.left.min(ZEROS.len() as u64) as usize;
            match machine.write(&ZEROS[..most]) {
                0 => return,
                written => self.left -= written as u64,
            }
        }
        if self.messages.is_none() {
            self.finished = true;
            machine.finish();
        }
    }
}
