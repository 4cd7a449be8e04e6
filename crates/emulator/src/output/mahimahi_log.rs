//! The log of a link in the format of Mahimahi's mm-link.
//!
//! Lines are `TIME # BYTES` for an opportunity to send, `TIME + BYTES` for an arrival, `TIME -
//! BYTES DELAY` for a departure and `TIME d PACKETS BYTES` for the packets that one arrival made the
//! queue drop. Times and delays are whole milliseconds since the init timestamp; a delay is the
//! difference of two such times. At a link that follows a trace, sizes include the 4 bytes of the
//! TUN header, as Mahimahi counts them, so that a full packet and an opportunity have 1504.
//!
//! Two things go beyond Mahimahi. What active queue management drops from the queue is logged, too.
//! Links without a trace, which Mahimahi does not have, log the bytes that each millisecond offers
//! as an opportunity at its end; there, sizes are those of the IP packets, so that a full packet has
//! 1500 bytes, and 12 Mbit/s offer 1500 bytes each millisecond.

use std::io;
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use paceline_cc::{Span, Time};
use paceline_path::{EventKind, LinkEvent, Service};

use super::opportunities::LinkOpportunities;
use super::sink::Sink;
use crate::{Direction, LiveEvent, Observer, Summary, View};

/// The contents of the head of a log.
#[derive(Clone, Debug, Default)]
pub struct LogHead {
    /// The trace's file, or another name of the capacity.
    pub trace: String,
    /// The words of the command line, separated by spaces.
    pub command: String,
    /// The queue with its arguments, such as `droptail [packets=250]`.
    pub queue: String,
    /// The prefix of the prompt of the shells around, if there are any.
    pub config: Option<String>,
}

/// How long after their time opportunities are logged although no packet has come.
const PATIENCE: Span = Span::from_secs(1);

/// An [`Observer`] that writes the log of one link.
#[derive(Debug)]
pub struct MahimahiLog {
    direction: Direction,
    stage: usize,
    head: LogHead,
    lines: Lines,
    sink: Sink,
    flushed: Time,
}

impl MahimahiLog {
    /// Creates the file `path` for the log of element `stage` of a direction, a link with this service.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(
        path: &Path,
        head: LogHead,
        (direction, stage): (Direction, usize),
        service: &Service,
    ) -> io::Result<MahimahiLog> {
        let sink = Sink::create(path)?;
        let lines = Lines::new(service);
        Ok(MahimahiLog { direction, stage, head, lines, sink, flushed: Time::ZERO })
    }
}

impl Observer for MahimahiLog {
    fn name(&self) -> String {
        format!("log {}", self.sink.path().display())
    }

    fn on_start(&mut self, started: SystemTime, _view: &View<'_>) -> io::Result<()> {
        let log = self.sink.path().display().to_string();
        head(self.direction, &self.head, &log, started, self.sink.record());
        self.sink.flush()
    }

    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        if event.direction != self.direction || event.stage != self.stage {
            return Ok(());
        }
        self.lines.event(&event.event, self.sink.record());
        self.sink.end_record()
    }

    fn wants_ticks(&self) -> bool {
        true
    }

    fn on_tick(&mut self, now: Time, _view: &View<'_>) -> io::Result<()> {
        let early = now.as_nanos().saturating_sub(PATIENCE.as_nanos());
        self.lines.pass(Time::from_nanos(early), self.sink.record());
        if now.since(self.flushed) >= PATIENCE {
            self.flushed = now;
            return self.sink.flush();
        }
        self.sink.end_record()
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        self.lines.pass(Time::ZERO + summary.duration, self.sink.record());
        self.sink.finish()
    }
}

/// Writes the head of a log.
fn head(direction: Direction, head: &LogHead, log: &str, started: SystemTime, out: &mut Vec<u8>) {
    let link = match direction {
        Direction::Up => "Uplink",
        Direction::Down => "Downlink",
    };
    let started = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let LogHead { trace, command, queue, config } = head;
    let mut line = |text: &str| {
        // Names may contain line breaks.
        out.extend(text.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
        out.push(b'\n');
    };
    line(&format!("# mahimahi mm-link ({link}) [{trace}] > {log}"));
    line(&format!("# command line: {command}"));
    line(&format!("# queue: {queue}"));
    line(&format!("# init timestamp: {started}"));
    line("# base timestamp: 0");
    if let Some(config) = config {
        line(&format!("# mahimahi config: {config}"));
    }
}

/// Turns the events of one link into the lines of its log.
#[derive(Clone, Debug)]
struct Lines {
    offers: LinkOpportunities,
    overhead: u64,
    /// Drops of one time, which become one line: the time, packets, bytes.
    drops: Option<(Time, u64, u64)>,
}

fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

fn offer(out: &mut Vec<u8>) -> impl FnMut(Time, u64) {
    |time, bytes| say(out, format_args!("{} # {bytes}\n", millis(time)))
}

/// Appends a line. Writing to memory does not fail.
fn say(out: &mut Vec<u8>, line: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(line);
}

impl Lines {
    fn new(service: &Service) -> Lines {
        Lines {
            offers: LinkOpportunities::new(service),
            overhead: service.overhead().into(),
            drops: None,
        }
    }

    fn event(&mut self, event: &LinkEvent, out: &mut Vec<u8>) {
        let bytes = u64::from(event.size) + self.overhead;
        let time = event.time;
        if let EventKind::Drop { .. } = event.kind
            && let Some((at, packets, sum)) = &mut self.drops
            && *at == time
        {
            *packets += 1;
            *sum += bytes;
            return;
        }
        self.end_drops(out);
        match event.kind {
            EventKind::Arrival => {
                self.offers.pass(time, &mut offer(out));
                say(out, format_args!("{} + {bytes}\n", millis(time)));
            }
            EventKind::Departure { sojourn } => {
                self.offers.depart(event, sojourn, bytes, &mut offer(out));
                let arrival = time.as_nanos().saturating_sub(sojourn.as_nanos()) / 1_000_000;
                let delay = millis(time) - arrival;
                say(out, format_args!("{} - {bytes} {delay}\n", millis(time)));
            }
            EventKind::Drop { .. } => self.drops = Some((time, 1, bytes)),
        }
    }

    fn end_drops(&mut self, out: &mut Vec<u8>) {
        if let Some((time, packets, bytes)) = self.drops.take() {
            self.offers.pass(time, &mut offer(out));
            say(out, format_args!("{} d {packets} {bytes}\n", millis(time)));
        }
    }

    /// Writes the lines up to and including `time`: no more events of that time will come.
    fn pass(&mut self, time: Time, out: &mut Vec<u8>) {
        if self.drops.is_some_and(|(at, ..)| at <= time) {
            self.end_drops(out);
        }
        self.offers.pass(time, &mut offer(out));
    }
}

#[cfg(test)]
mod tests;
