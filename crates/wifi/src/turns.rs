//! The time in which a station has packets to send, and what it carries in it.

use paceline_cc::{Span, Time};

/// A station's part of the time, in which it had packets to send: from the end of its last turn, or
/// from its first packet on, to the end of its next turn, with its answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// Its beginning.
    pub start: Time,
    /// Its end.
    pub end: Time,
    /// Bytes of packets that arrived.
    pub bytes: u64,
}

/// The turns of a station.
#[derive(Debug)]
pub(super) struct Turns {
    /// Length of all that have ended.
    total: Span,
    /// Beginning of the present one; [`Time::NEVER`] while the station has nothing to send.
    start: Time,
    /// Bytes that have arrived in the present one.
    bytes: u64,
    /// Those that have ended since the last clear, if they are recorded.
    log: Vec<Turn>,
    records: bool,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { total: Span::ZERO, start: Time::NEVER, bytes: 0, log: Vec::new(), records: false }
    }

    /// Starts or stops to record turns.
    pub(super) fn record(&mut self, on: bool) {
        self.records = on;
    }

    /// Begins the first turn of a station that had nothing to send.
    pub(super) fn begin(&mut self, now: Time) {
        self.start = now;
    }

    /// Counts bytes that have arrived.
    #[inline]
    pub(super) fn carry(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// Returns the bytes that have arrived in the present turn.
    pub(super) fn carried(&self) -> u64 {
        self.bytes
    }

    /// Ends a turn. `more` is true if the station has another packet, whose turn begins.
    #[inline]
    pub(super) fn end(&mut self, now: Time, more: bool) {
        let turn = Turn { start: self.start, end: now, bytes: std::mem::take(&mut self.bytes) };
        self.total += now.since(turn.start);
        self.start = if more { now } else { Time::NEVER };
        if self.records {
            self.log.push(turn);
        }
    }

    /// Returns the time until `now` in which the station had packets to send.
    pub(super) fn busy(&self, now: Time) -> Span {
        self.total + now.since(self.start)
    }

    /// Returns the beginning of the present turn, if the station has packets to send.
    pub(super) fn open(&self) -> Option<Time> {
        (self.start != Time::NEVER).then_some(self.start)
    }

    /// Takes the recorded turns.
    pub(super) fn drain(&mut self) -> std::vec::Drain<'_, Turn> {
        self.log.drain(..)
    }
}
