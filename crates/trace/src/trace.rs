//! The trace: sorted milliseconds that repeat for ever.

use crate::{Cursor, TraceError};
use paceline_cc::{Span, Time};
use std::sync::Arc;

/// The bytes that one delivery opportunity carries: 1500, as users of Mahimahi count. (Mahimahi
/// itself serves 1504, with the four bytes of a tunnel's header.) 12 Mbit/s are one a millisecond.
pub const PACKET_BYTES: u64 = 1500;

/// The most opportunities that one trace may hold: 64 Mi, 256 MiB of memory.
pub const MAX_OPPORTUNITIES: usize = 64 << 20;

pub(crate) const NANOS_PER_MS: u64 = 1_000_000;

/// The delivery opportunities of a link, repeated for ever.
///
/// An entry is a whole millisecond at which one packet may leave; equal entries are several
/// packets in that millisecond. The last entry is the period: lap k's opportunities are at
/// `k * period + entry`. An entry at 0 thus falls on the end of the lap before.
///
/// A clone shares the entries, so many runs can hold one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    name: Arc<str>,
    entries: Arc<[u32]>,
    /// Length of a lap in milliseconds, never 0: the last entry, or more in what
    /// [`Trace::starting_at`] returns.
    period: u32,
}

impl Trace {
    /// A trace from its entries in milliseconds.
    ///
    /// # Errors
    /// No entries, more than [`MAX_OPPORTUNITIES`], entries that decrease, or a last entry of 0
    /// (the trace could never advance).
    pub fn new(name: &str, entries: Vec<u32>) -> Result<Trace, TraceError> {
        let error = |message: String, remedy: &str| Err(TraceError::new(name, message, remedy));
        if entries.len() > MAX_OPPORTUNITIES {
            return Err(too_many(name));
        }
        if let Some(at) = entries.windows(2).position(|pair| pair[0] > pair[1]) {
            let (before, after) = (entries[at], entries[at + 1]);
            return error(format!("{after} ms follows {before} ms"), "sort the opportunities");
        }
        match entries.last() {
            None => error(
                "a trace needs at least one delivery opportunity".into(),
                "write one time in milliseconds per line, for example the single line 1 for \
                 12 Mbit/s",
            ),
            Some(0) => error(
                "every opportunity is at 0 ms, so the trace would never advance".into(),
                "the last line is the period after which a trace repeats: make it 1 or more",
            ),
            Some(&period) => Ok(Trace { name: name.into(), entries: entries.into(), period }),
        }
    }

    /// The name: a file, or what generated it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same trace under another name.
    pub fn renamed(mut self, name: &str) -> Trace {
        self.name = name.into();
        self
    }

    /// Returns this trace as it is from `start` on, `start` being time 0 and taken modulo the
    /// period, in whole milliseconds (the rest is cut off). What lies before `start` follows at the
    /// end of the lap, and the period stays the same. Opportunities at `start` itself are over by
    /// then: they come at the end of the lap. A `start` of 0 returns the trace unchanged.
    ///
    /// The period of the result may be longer than its last entry, which Mahimahi's file format
    /// cannot say.
    pub fn starting_at(&self, start: Span) -> Trace {
        let start = (start.as_nanos() / NANOS_PER_MS % u64::from(self.period)) as u32;
        if start == 0 {
            return self.clone();
        }
        let split = self.entries.partition_point(|&entry| entry <= start);
        let (before, after) = self.entries.split_at(split);
        let later = after.iter().map(|&entry| entry - start);
        let wrapped = before.iter().map(|&entry| self.period - start + entry);
        let entries = later.chain(wrapped).collect();
        Trace { name: self.name.clone(), entries, period: self.period }
    }

    /// The opportunities of one lap, in milliseconds, sorted. Never empty.
    pub fn opportunities(&self) -> &[u32] {
        &self.entries
    }

    /// The number of opportunities in one lap; at least 1.
    #[allow(clippy::len_without_is_empty)] // A trace is never empty.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The length of one lap: the last entry, or more after [`Trace::starting_at`]. Never zero.
    pub fn period(&self) -> Span {
        Span::from_millis(self.period.into())
    }

    /// The long-run rate in megabits (10⁶) per second, at [`PACKET_BYTES`] each.
    pub fn mean_mbps(&self) -> f64 {
        self.len() as f64 * (PACKET_BYTES * 8) as f64 / (self.period as f64 * 1e3)
    }

    /// The number of opportunities at times t with `from` < t <= `to`, over the endless
    /// repetition; 0 if `to` is not after `from`. Takes O(log n). The largest number stands for
    /// every larger one.
    pub fn count_in(&self, from: Time, to: Time) -> u64 {
        if to <= from {
            return 0;
        }
        (self.count_until(to) - self.count_until(from)).min(u64::MAX.into()) as u64
    }

    /// Opportunities from the start up to and including `time`.
    fn count_until(&self, time: Time) -> u128 {
        let (lap, index) = self.place(time);
        // The opportunities at this lap's entry 0 are within `index`, since 0 <= offset.
        lap as u128 * self.len() as u128 + index as u128
    }

    /// The first opportunity strictly after `time`; [`Time::NEVER`] if it is beyond all time.
    pub fn next_after(&self, time: Time) -> Time {
        self.cursor_after(time).peek()
    }

    /// A cursor on the very first opportunity, which may be at time 0.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.clone(), 0, 0)
    }

    /// A cursor on the first opportunity strictly after `time`. Takes O(log n).
    pub fn cursor_after(&self, time: Time) -> Cursor {
        let (lap, index) = self.position_after(time);
        Cursor::new(self.clone(), lap, index)
    }

    /// The lap, and the index in it, of the first opportunity strictly after `time`. The index is
    /// within bounds.
    pub(crate) fn position_after(&self, time: Time) -> (u64, usize) {
        let (lap, index) = self.place(time);
        // Only a trace that starts within a pause has a pause behind its last entry.
        if index < self.len() { (lap, index) } else { (lap + 1, 0) }
    }

    /// The lap of `time`, and how many opportunities of this lap are not after `time`.
    fn place(&self, time: Time) -> (u64, usize) {
        let ms = time.as_nanos() / NANOS_PER_MS;
        let (lap, offset) = (ms / self.period as u64, ms % self.period as u64);
        (lap, self.entries.partition_point(|&entry| entry as u64 <= offset))
    }
}

/// The error of a trace with more than [`MAX_OPPORTUNITIES`].
pub(crate) fn too_many(name: &str) -> TraceError {
    TraceError::new(
        name,
        format!("more than {MAX_OPPORTUNITIES} delivery opportunities"),
        "use a shorter trace or a lower rate: a trace repeats by itself",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn what_is_not_a_trace() {
        assert!(Trace::new("x", vec![]).is_err());
        assert!(Trace::new("x", vec![0, 0]).is_err());
        assert!(Trace::new("x", vec![2, 1]).is_err());
        assert_eq!(Trace::new("x", vec![1]).map(|t| t.mean_mbps()), Ok(12.0));
    }

    #[test]
    fn counts_equal_brute_force() {
        let mut random = Stream::new(1, "trace-test");
        for _ in 0..200 {
            let mut entries: Vec<u32> =
                (0..1 + random.below(8)).map(|_| random.below(20) as u32).collect();
            entries.push(1 + random.below(25) as u32);
            entries.sort_unstable();
            let Ok(trace) = Trace::new("x", entries.clone()) else { continue };
            let period = u64::from(entries[entries.len() - 1]) * NANOS_PER_MS;
            let all: Vec<u64> = (0..60)
                .flat_map(|lap| {
                    entries.iter().map(move |&e| lap * period + u64::from(e) * NANOS_PER_MS)
                })
                .collect();
            for _ in 0..50 {
                let from = random.below(25 * period);
                let to = random.below(25 * period);
                let (from, to) = if random.chance(0.5) {
                    (from / NANOS_PER_MS * NANOS_PER_MS, to / NANOS_PER_MS * NANOS_PER_MS)
                } else {
                    (from, to)
                };
                let brute = all.iter().filter(|&&t| from < t && t <= to).count() as u64;
                assert_eq!(trace.count_in(Time::from_nanos(from), Time::from_nanos(to)), brute);
                let next = all.iter().copied().find(|&t| t > from);
                assert_eq!(Some(trace.next_after(Time::from_nanos(from)).as_nanos()), next);
            }
        }
    }

    #[test]
    fn a_later_start_shifts_the_endless_repetition() {
        let mut random = Stream::new(2, "trace-test");
        for _ in 0..200 {
            let mut entries: Vec<u32> =
                (0..1 + random.below(8)).map(|_| random.below(20) as u32).collect();
            entries.push(1 + random.below(25) as u32);
            entries.sort_unstable();
            let Ok(trace) = Trace::new("x", entries) else { continue };
            let start = Span::from_millis(random.below(60));
            let moved = trace.starting_at(start);
            assert_eq!((moved.len(), moved.period()), (trace.len(), trace.period()));
            for _ in 0..50 {
                let from = Time::from_nanos(random.below(100_000_000));
                let to = from + Span::from_nanos(random.below(100_000_000));
                let count = moved.count_in(from, to);
                assert_eq!(count, trace.count_in(from + start, to + start), "{trace:?} {start:?}");
                let walked = moved.cursor_after(from).take_while(|&time| time <= to).count();
                assert_eq!(walked as u64, count);
                assert_eq!(moved.next_after(from) + start, trace.next_after(from + start));
            }
        }
    }

    #[test]
    fn far_times_do_not_overflow() {
        let trace = Trace::new("x", vec![1; 4 << 20]).expect("valid");
        assert_eq!(trace.count_in(Time::ZERO, Time::NEVER), u64::MAX);
        assert_eq!(trace.count_in(Time::NEVER, Time::ZERO), 0);
        assert_eq!(trace.next_after(Time::NEVER), Time::NEVER);
        let long = Trace::new("x", vec![0, u32::MAX]).expect("valid");
        assert_eq!(long.count_in(Time::ZERO, ms(u32::MAX.into())), 2);
    }
}
