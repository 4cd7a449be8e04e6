//! A cursor over the endless repetition of a trace.

use crate::Trace;
use crate::trace::NANOS_PER_MS;
use paceline_cc::Time;

/// A position in the endless repetition of a trace, always on an opportunity. A step is an addition
/// and a comparison: no division, no search, no allocation.
///
/// As an iterator it yields the times of the opportunities, without end.
#[derive(Clone, Debug)]
pub struct Cursor {
    trace: Trace,
    index: usize,
    /// Start of the lap, in nanoseconds.
    base: u64,
    next: Time,
}

impl Cursor {
    /// Returns a cursor on opportunity `index` of a lap. The index must be within the trace.
    pub(crate) fn new(trace: Trace, lap: u64, index: usize) -> Cursor {
        let base = trace.period().as_nanos().saturating_mul(lap);
        let mut cursor = Cursor { trace, index, base, next: Time::ZERO };
        cursor.settle();
        cursor
    }

    /// Returns the time of the cursor's opportunity; [`Time::NEVER`] if that is beyond the largest
    /// time.
    #[inline]
    pub fn peek(&self) -> Time {
        self.next
    }

    /// Steps to the next opportunity, which may be at the same time.
    #[inline]
    pub fn advance(&mut self) {
        self.index += 1;
        if self.index >= self.trace.opportunities().len() {
            self.index = 0;
            self.base = self.base.saturating_add(self.trace.period().as_nanos());
        }
        self.settle();
    }

    /// Moves to the first opportunity strictly after `time`, forwards or backwards, in O(log n).
    pub fn seek(&mut self, time: Time) {
        let (lap, index) = self.trace.position_after(time);
        self.base = self.trace.period().as_nanos().saturating_mul(lap);
        self.index = index;
        self.settle();
    }

    /// Returns the trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    #[inline]
    fn settle(&mut self) {
        let entry = self.trace.opportunities().get(self.index).copied().unwrap_or(0);
        self.next = Time::from_nanos(self.base.saturating_add(u64::from(entry) * NANOS_PER_MS));
    }
}

impl Iterator for Cursor {
    type Item = Time;

    /// Returns the present opportunity's time, then steps. Never returns `None`.
    #[inline]
    fn next(&mut self) -> Option<Time> {
        let time = self.next;
        self.advance();
        Some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    #[test]
    fn the_cursor_and_count_in_agree() {
        let trace = Trace::new("x", vec![0, 3, 3, 7, 10]).expect("valid");
        let mut random = Stream::new(2, "cursor-test");
        for _ in 0..200 {
            let from = Time::from_nanos(random.below(100_000_000));
            let to = from + paceline_cc::Span::from_nanos(random.below(100_000_000));
            let walked = trace.cursor_after(from).take_while(|&t| t <= to).count() as u64;
            assert_eq!(walked, trace.count_in(from, to));
            let mut sought = trace.cursor();
            sought.seek(from);
            assert_eq!(sought.peek(), trace.next_after(from));
        }
    }

    #[test]
    fn laps_follow_each_other() {
        let trace = Trace::new("x", vec![0, 3, 3, 7]).expect("valid");
        let ms: Vec<u64> = trace.cursor().take(9).map(|t| t.as_nanos() / NANOS_PER_MS).collect();
        assert_eq!(ms, [0, 3, 3, 7, 7, 10, 10, 14, 14]);
        assert_eq!(trace.cursor().peek(), Time::ZERO);
    }

    #[test]
    fn the_end_of_time_is_no_end() {
        let trace = Trace::new("x", vec![7]).expect("valid");
        let mut cursor = trace.cursor_after(Time::NEVER);
        for _ in 0..3 {
            assert_eq!(cursor.peek(), Time::NEVER);
            cursor.advance();
        }
    }
}
