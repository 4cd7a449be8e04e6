//! The scheduled and the actual time of each release: text, a line per packet.
//!
//! `DIRECTION SCHEDULED ACTUAL BYTES`, both times in microseconds since the start, with three
//! decimals: the scheduled time is that of the last element in the packet's way, the actual one
//! that of the write to the device. Bytes are those of the IP packet.

use std::io;
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use paceline_cc::Time;
use paceline_path::EventKind;

use super::sink::Sink;
use super::watched::word;
use crate::{Direction, LiveEvent, Observer, Summary, View};

/// An [`Observer`] that writes release times.
#[derive(Debug)]
pub struct Releases {
    sink: Sink,
    last: [usize; 2],
}

impl Releases {
    /// Creates the file `path`; `up` and `down` are the numbers of the last elements of both directions.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path, up: usize, down: usize) -> io::Result<Releases> {
        Ok(Releases { sink: Sink::create(path)?, last: [up, down] })
    }
}

impl Observer for Releases {
    fn name(&self) -> String {
        format!("release log {}", self.sink.path().display())
    }

    fn on_start(&mut self, started: SystemTime, _view: &View<'_>) -> io::Result<()> {
        let started = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let out = self.sink.record();
        writeln!(out, "# paceline releases, started: {started} ns after 1970")?;
        writeln!(out, "# direction scheduled_us actual_us bytes")?;
        self.sink.flush()
    }

    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        let last = match event.direction {
            Direction::Up => self.last[0],
            Direction::Down => self.last[1],
        };
        let EventKind::Departure { .. } = event.event.kind else { return Ok(()) };
        if event.stage != last {
            return Ok(());
        }
        let micros = |time: Time| (time.as_nanos() / 1000, time.as_nanos() % 1000);
        let (scheduled, actual) = (micros(event.event.time), micros(event.actual));
        let (way, size) = (word(event.direction), event.event.size);
        let out = self.sink.record();
        writeln!(
            out,
            "{way} {}.{:03} {}.{:03} {size}",
            scheduled.0, scheduled.1, actual.0, actual.1
        )?;
        self.sink.end_record()
    }

    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        self.sink.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing;
    use paceline_cc::Span;

    #[test]
    fn both_times_are_told_to_the_nanosecond() {
        let path = testing::file("releases");
        let mut log = Releases::create(&path, 0, 0).expect("can be made");
        testing::start(&mut log);
        let kind = EventKind::Departure { sojourn: Span::ZERO };
        let event = testing::event(Time::from_nanos(12_000_007), kind, 1500);
        let actual = Time::from_nanos(12_034_567);
        let told = LiveEvent { actual, ..testing::live(event, &[]) };
        log.on_event(&told).expect("room");
        // Neither arrivals nor departures from other elements.
        let arrival = testing::event(Time::from_millis(13), EventKind::Arrival, 1500);
        log.on_event(&testing::live(arrival, &[])).expect("room");
        log.on_event(&LiveEvent { stage: 1, ..told }).expect("room");
        log.finish(&testing::summary(Span::from_secs(1))).expect("room");
        let text = std::fs::read_to_string(&path).expect("readable");
        std::fs::remove_file(&path).expect("removable");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, ["up 12000.007 12034.567 1500"]);
    }
}
