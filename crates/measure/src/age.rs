//! The age of the newest delivered packet over time.

use paceline_cc::{Span, Time};

use crate::resolution::{bin_of, edge};

/// Number of stretches of growing age that are stored one by one; with more, they are counted in
/// bins.
pub const EXACT_STRETCHES: usize = 4096;

/// Number of stretches that wait to be counted together, once there are bins.
const BATCH: usize = 512;

/// The age of the newest delivered packet over time. It grows by a second per second, and falls
/// when a packet arrives that was sent later than all before (Winstein's thesis §2.4.1). Before the
/// first arrival, and from a pause until the next arrival, there is no age.
///
/// Memory is bounded. Quantiles are exact for up to [`EXACT_STRETCHES`] arrivals. With more, the
/// time spent below each edge of a bin is still exact, and a quantile is interpolated between two
/// edges, which differ by less than a thousandth (a microsecond below 2 ms).
#[derive(Clone, Debug)]
pub struct Age {
    from: Time,
    newest: Option<Time>,
    since: Time,
    /// Stretches of time that are not in `many`, all of them or the last ones: age at the
    /// beginning, and length.
    few: Vec<(Span, Span)>,
    /// The stretches in bins, once there are many.
    many: Vec<Bin>,
}

/// Beginnings of stretches minus ends of stretches in a bin of ages.
#[derive(Copy, Clone, Debug, Default)]
struct Bin {
    /// Their number.
    count: i64,
    /// Sum of their ages in nanoseconds; wraps around.
    sum: i64,
}

impl Bin {
    /// Returns the sum of their distances from the lower edge of their bin `at`, in nanoseconds.
    fn excess(&self, at: usize) -> i64 {
        self.sum.wrapping_sub(self.count.wrapping_mul(edge_nanos(at) as i64))
    }
}

/// Returns the bin of an age. Ages above 71.6 minutes count as 71.6 minutes.
#[inline]
fn bin_at(age: Span) -> usize {
    bin_of((age.as_nanos() / 1000).min(u64::from(u32::MAX)) as u32)
}

/// Returns the lower edge of a bin in nanoseconds.
fn edge_nanos(bin: usize) -> u64 {
    edge(bin) * 1000
}

impl Age {
    /// Returns an age that is measured from time `from` on.
    pub fn new(from: Time) -> Age {
        Age { from, newest: None, since: from, few: Vec::new(), many: Vec::new() }
    }

    /// Notes that a packet sent at `sent` arrives at `now`.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, sent: Time) {
        if self.newest.is_some_and(|newest| sent <= newest) {
            return;
        }
        self.close(now);
        self.newest = Some(sent);
    }

    /// Ends the present age at `now`: the time until the next arrival does not count, and packets
    /// sent before `now` give no age.
    pub fn pause(&mut self, now: Time) {
        self.close(now);
        self.newest = None;
    }

    /// Adds the time until `now`.
    fn close(&mut self, now: Time) {
        if let Some(newest) = self.newest
            && now > self.since
        {
            if self.few.len() == self.few.capacity() {
                self.make_room();
            }
            self.few.push((self.since.since(newest), now.since(self.since)));
        }
        self.since = now.max(self.from);
    }

    /// Makes room for a further stretch: for twice as many, or by counting those that wait.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.many.is_empty() && self.few.len() < EXACT_STRETCHES {
            let room = (2 * self.few.len()).clamp(64, EXACT_STRETCHES);
            return self.few.reserve_exact(room - self.few.len());
        }
        self.pour();
        self.few.shrink_to(BATCH);
        self.few.reserve_exact(BATCH);
    }

    /// Moves the single stretches into the bins.
    fn pour(&mut self) {
        let ends = self.few.iter().map(|&(start, length)| start + length);
        let needed = bin_at(ends.max().unwrap_or(Span::ZERO)) + 1;
        if self.many.len() < needed {
            self.many.resize(needed, Bin::default());
        }
        for &(start, length) in &self.few {
            let (end, first) = (start + length, &mut self.many[bin_at(start)]);
            first.count += 1;
            first.sum = first.sum.wrapping_add(start.as_nanos() as i64);
            let last = &mut self.many[bin_at(end)];
            last.count -= 1;
            last.sum = last.sum.wrapping_sub(end.as_nanos() as i64);
        }
        self.few.clear();
    }

    /// Returns the nanoseconds of all stretches together.
    fn total(&self) -> u128 {
        let few = self.few.iter().map(|(_, length)| length.as_nanos() as i128);
        // Ends minus beginnings; each sum of a bin is exact once its excess is.
        let many = self.many.iter().enumerate().map(|(at, bin)| {
            -(i128::from(bin.count) * i128::from(edge_nanos(at)) + i128::from(bin.excess(at)))
        });
        few.chain(many).sum::<i128>() as u128
    }

    /// Returns the `share` quantile of the age over the time until `end`; `None` if there was no
    /// age.
    pub fn quantile(&self, end: Time, share: f64) -> Option<Span> {
        let mut age = self.clone();
        age.close(end);
        if !age.many.is_empty() {
            age.pour();
        }
        let total = age.total();
        if total == 0 {
            return None;
        }
        let wanted = (total as f64 * share) as u128;
        Some(if age.many.is_empty() { age.exact(wanted) } else { age.interpolated(wanted) })
    }

    /// Returns the smallest age below which `wanted` nanoseconds were spent, from single stretches.
    fn exact(&self, wanted: u128) -> Span {
        let below = |limit: u64| -> u128 {
            let part = |&(start, length): &(Span, Span)| {
                u128::from(limit.saturating_sub(start.as_nanos()).min(length.as_nanos()))
            };
            self.few.iter().map(part).sum()
        };
        let oldest = self.few.iter().map(|(start, length)| (*start + *length).as_nanos());
        let (mut low, mut high) = (0, oldest.max().unwrap_or(0));
        while low < high {
            let middle = low + (high - low) / 2;
            if below(middle) >= wanted {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Span::from_nanos(low)
    }

    /// Returns the smallest age below which `wanted` nanoseconds were spent, from bins. A stretch of
    /// ages that covers a bin counts the bin's width. A stretch that begins in the bin counts the
    /// width minus the distance of its begin from the lower edge; a stretch that ends in the bin
    /// counts the distance of its end from the lower edge.
    fn interpolated(&self, wanted: u128) -> Span {
        let wanted = wanted as i128;
        let (mut covering, mut below) = (0i128, 0i128);
        for (at, bin) in self.many.iter().enumerate() {
            covering += i128::from(bin.count);
            let width = edge_nanos(at + 1) - edge_nanos(at);
            let spent = covering * i128::from(width) - i128::from(bin.excess(at));
            if spent > 0 && below + spent >= wanted {
                // Assumes that the time in the bin is spread evenly over it; rounds up.
                let into = ((wanted - below) * i128::from(width) + spent - 1) / spent;
                return Span::from_nanos(edge_nanos(at) + into as u64);
            }
            below += spent;
        }
        Span::from_nanos(edge_nanos(self.many.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    #[test]
    fn age_is_a_sawtooth() {
        // A packet every 10 ms, each 5 ms old on arrival: ages are uniform between 5 and 15 ms.
        let mut age = Age::new(Time::ZERO);
        for i in 1..=1000u64 {
            age.on_arrival(Time::from_millis(10 * i), Time::from_millis(10 * i - 5));
        }
        let end = Time::from_millis(10_010);
        assert_eq!(age.quantile(end, 0.95), Some(Span::from_micros(14_500)));
        assert_eq!(age.quantile(end, 0.5), Some(Span::from_micros(10_000)));
        assert_eq!(Age::new(Time::ZERO).quantile(end, 0.5), None);
    }

    #[test]
    fn an_older_packet_does_not_lower_the_age() {
        let mut age = Age::new(Time::ZERO);
        age.on_arrival(Time::from_millis(10), Time::from_millis(9));
        age.on_arrival(Time::from_millis(20), Time::from_millis(1));
        // From 1 ms at 10 ms to 21 ms at 30 ms.
        assert_eq!(age.quantile(Time::from_millis(30), 1.0), Some(Span::from_millis(21)));
    }

    #[test]
    fn no_age_counts_from_a_pause_to_the_next_arrival() {
        let mut age = Age::new(Time::from_millis(15));
        age.on_arrival(Time::from_millis(10), Time::from_millis(9));
        age.pause(Time::from_millis(20));
        age.pause(Time::from_millis(500));
        age.on_arrival(Time::from_millis(1000), Time::from_millis(998));
        // From 6 to 11 ms, and from 2 to 12 ms.
        let end = Time::from_millis(1010);
        assert_eq!(age.quantile(end, 1.0), Some(Span::from_millis(12)));
        assert_eq!(age.quantile(end, 4.0 / 15.0), Some(Span::from_millis(6)));
        let mut early = Age::new(Time::from_millis(15));
        early.on_arrival(Time::from_millis(10), Time::from_millis(9));
        early.pause(Time::from_millis(12));
        assert_eq!(early.quantile(end, 0.95), None);
    }

    /// Compares with a list of all stretches, for delays and gaps of every order of magnitude.
    #[test]
    fn many_stretches_are_within_their_bound_of_the_exact_quantiles() {
        for (shortest, longest) in [(4.0, 6.0), (10.0, 20.0), (5.0, 24.0)] {
            let mut stream = Stream::new(1, "ages");
            let mut draw = |from: f64, to: f64| {
                let power = from + (to - from) * stream.uniform();
                Span::from_secs_f64(2f64.powf(power) * 1e-6)
            };
            let mut age = Age::new(Time::from_millis(1));
            let (mut now, mut sent) = (Time::ZERO, Time::ZERO);
            let mut plain: Vec<(Span, Span)> = Vec::new();
            for _ in 0..30_000 {
                now += draw(shortest, longest);
                let delay = draw(shortest, longest).min(now.since(sent) * 9 / 10);
                let next = now - delay;
                let begin = age.since;
                if let Some(newest) = age.newest.filter(|_| now > begin) {
                    plain.push((begin.since(newest), now.since(begin)));
                }
                age.on_arrival(now, next);
                sent = next;
            }
            assert!(plain.len() > 2 * EXACT_STRETCHES, "{}", plain.len());
            for share in [0.01, 0.5, 0.95, 0.999] {
                let mut exact = Age::new(Time::ZERO);
                exact.few.clone_from(&plain);
                let total: u128 =
                    plain.iter().map(|(_, length)| u128::from(length.as_nanos())).sum();
                let exact = exact.exact((total as f64 * share) as u128).as_nanos() as f64;
                let found = age.quantile(now, share).expect("arrivals").as_nanos() as f64;
                let allowed = 1000f64.max(exact / 1024.0);
                assert!((found - exact).abs() <= allowed, "{share}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let mut age = Age::new(Time::ZERO);
        for i in 1..=100_000u64 {
            age.on_arrival(Time::from_millis(10 * i), Time::from_millis(10 * i - 5));
        }
        assert!(
            age.few.capacity() <= EXACT_STRETCHES && age.many.len() < 6000,
            "{}",
            age.many.len()
        );
        let found = age.quantile(Time::from_millis(1_000_010), 0.95).expect("arrivals");
        assert!((found.as_millis_f64() - 14.5).abs() < 0.0145, "{found}");
    }
}
