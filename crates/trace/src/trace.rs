//! The trace: sorted milliseconds, repeated for ever.

use crate::{Cursor, TraceError};
use paceline_cc::{Span, Time};
use std::sync::Arc;

/// Number of bytes that one delivery opportunity carries: 1500, as users of Mahimahi count.
/// (Mahimahi itself serves 1504, with the four bytes of a tunnel's header.) 12 Mbit/s are one per
/// millisecond.
pub const PACKET_BYTES: u64 = 1500;

/// Largest number of opportunities in a trace: 64 Mi, 256 MiB of memory.
pub const MAX_OPPORTUNITIES: usize = 64 << 20;

pub(crate) const NANOS_PER_MS: u64 = 1_000_000;

/// The delivery opportunities of a link, repeated for ever.
///
/// An entry is a whole millisecond at which one packet may leave; equal entries are several packets
/// in that millisecond. The last entry is the period: lap k's opportunities are at `k * period +
/// entry`. So an entry at 0 is at the end of the previous lap.
///
/// Clones share the entries, so that many runs can use one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    name: Arc<str>,
    entries: Arc<[u32]>,
    /// Length of a lap in milliseconds, never 0: the last entry, or more in a trace from
    /// [`Trace::starting_at`].
    period: u32,
}

impl Trace {
    /// Makes a trace from its entries in milliseconds.
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

    /// Returns the name: that of a file, or of the generator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns this trace with another name.
    pub fn renamed(mut self, name: &str) -> Trace {
        self.name = name.into();
        self
    }

    /// Returns this trace shifted so that `start` becomes time 0; `start` is taken modulo the
    /// period, in whole milliseconds (rounded down). The part before `start` follows at the end of
    /// the lap, and the period is unchanged. Opportunities exactly at `start` come at the end of
    /// the lap. A `start` of 0 returns the trace unchanged.
    ///
    /// The period of the result may be longer than its last entry, which Mahimahi's file format
    /// cannot express.
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

    /// Returns the opportunities of one lap, in milliseconds, sorted. Never empty.
    pub fn opportunities(&self) -> &[u32] {
        &self.entries
    }

    /// Returns the number of opportunities in one lap; at least 1.
    #[allow(clippy::len_without_is_empty)] // A trace is never empty.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the length of one lap: the last entry, or more after [`Trace::starting_at`]. Never
    /// zero.
    pub fn period(&self) -> Span {
        Span::from_millis(self.period.into())
    }

    /// Returns the long-run rate in megabits (10⁶) per second, at [`PACKET_BYTES`] per opportunity.
    pub fn mean_mbps(&self) -> f64 {
        self.len() as f64 * (PACKET_BYTES * 8) as f64 / (self.period as f64 * 1e3)
    }

    /// Returns the number of opportunities at times t with `from` < t <= `to`, over the endless
    /// repetition; 0 if `to` is not after `from`. Takes O(log n). Saturates at the largest number.
    pub fn count_in(&self, from: Time, to: Time) -> u64 {
        if to <= from {
            return 0;
        }
        (self.count_until(to) - self.count_until(from)).min(u64::MAX.into()) as u64
    }

    /// Returns the number of opportunities from the start up to and including `time`.
    fn count_until(&self, time: Time) -> u128 {
        let (lap, index) = self.place(time);
        // The opportunities at this lap's entry 0 are within `index`, since 0 <= offset.
        lap as u128 * self.len() as u128 + index as u128
    }

    /// Returns the first opportunity strictly after `time`; [`Time::NEVER`] if it is beyond the
    /// largest time. For tests.
    pub fn next_after(&self, time: Time) -> Time {
        self.cursor_after(time).peek()
    }

    /// Returns a cursor on the very first opportunity, which may be at time 0.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.clone(), 0, 0)
    }

    /// Returns a cursor on the first opportunity strictly after `time`. Takes O(log n).
    pub fn cursor_after(&self, time: Time) -> Cursor {
        let (lap, index) = self.position_after(time);
        Cursor::new(self.clone(), lap, index)
    }

    /// Returns the lap, and the index in it, of the first opportunity strictly after `time`. The
    /// index is within bounds.
    pub(crate) fn position_after(&self, time: Time) -> (u64, usize) {
        let (lap, index) = self.place(time);
        // Only a trace that starts within a pause has a pause after its last entry.
        if index < self.len() { (lap, index) } else { (lap + 1, 0) }
    }

    /// Returns the lap of `time`, and the number of opportunities of this lap at or before `time`.
    fn place(&self, time: Time) -> (u64, usize) {
        let ms = time.as_nanos() / NANOS_PER_MS;
        let (lap, offset) = (ms / self.period as u64, ms % self.period as u64);
        (lap, self.entries.partition_point(|&entry| entry as u64 <= offset))
    }
}

/// Returns the error for a trace with more than [`MAX_OPPORTUNITIES`].
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
    fn invalid_times_are_refused() {
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
