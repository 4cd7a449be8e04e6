//! Rate control by Minstrel's algorithm.

use paceline_cc::{Span, Stream, Time};

use super::coding::SCHEMES;

/// One in this many frames tries another rate than the best.
const SAMPLE: u32 = 10;
/// Weight of the previous mean against the last interval: 75 %.
const OLD: f64 = 0.75;
/// Minimum share of frames that must arrive for a rate to be used.
const LEAST: f64 = 0.1;
/// Number of tries per rate of a chain.
const TRIES: u32 = 2;

/// Statistics of a rate.
#[derive(Copy, Clone, Debug, Default)]
struct RateStats {
    /// Time per byte in seconds if all frames arrive; `None` if the rate does not exist.
    byte: f64,
    /// Frames (MPDUs) since the last update, and those of them that arrived.
    attempts: u32,
    successes: u32,
    /// Mean share of frames that arrive; `None` before the first.
    arrives: Option<f64>,
}

impl RateStats {
    fn throughput(&self) -> f64 {
        let arrives = self.arrives.unwrap_or(0.0);
        if arrives < LEAST { 0.0 } else { arrives / self.byte }
    }
}

/// The rates of a sender for one receiver, chosen by the share of frames that arrive at each
/// (Minstrel, of Linux' mac80211 and before it of MadWifi, as its documentation describes it).
///
/// At each interval, 100 ms or 50 ms with A-MPDUs, the counts of each rate update a moving mean. A
/// frame has a chain of rates: the one with the highest throughput, the second highest, the most
/// reliable one, and the slowest; after two failed transmissions the next rate of the chain is
/// used. One frame in ten is a sample: its chain begins with a randomly drawn rate, followed by the
/// best. A rate that could not be faster than the best, even without losses, comes second instead,
/// so that it is tried only if the best fails.
///
/// Our addition: while some rates were never tried, every second frame samples one of them, so that
/// the first second is not spent on slow rates.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    rates: [RateStats; SCHEMES],
    /// Number of rates.
    count: usize,
    interval: Span,
    updated: Time,
    best: usize,
    second: usize,
    reliable: usize,
    frames: u32,
    samples: u32,
    chain: [usize; 4],
    /// True if the first rate of the chain is a sample, which is tried once.
    sampling: bool,
    random: Stream,
}

impl Minstrel {
    /// Creates rate control without statistics. `bytes` are the seconds per byte at each rate,
    /// including the byte's share of overheads.
    pub(super) fn new(bytes: &[f64], interval: Span, random: Stream) -> Minstrel {
        let mut rates = [RateStats::default(); SCHEMES];
        for (rate, byte) in rates.iter_mut().zip(bytes) {
            rate.byte = *byte;
        }
        let slowest = (0..bytes.len())
            .fold(0, |slow, at| if rates[at].byte > rates[slow].byte { at } else { slow });
        Minstrel {
            rates,
            count: bytes.len().clamp(1, SCHEMES),
            interval,
            updated: Time::ZERO,
            best: slowest,
            second: slowest,
            reliable: slowest,
            frames: 0,
            samples: 0,
            chain: [slowest; 4],
            sampling: false,
            random,
        }
    }

    /// Returns the best rate by the statistics so far.
    pub(super) fn best(&self) -> usize {
        self.best
    }

    /// Begins a frame at `now`: chooses its chain.
    pub(super) fn begin(&mut self, now: Time) {
        if now.since(self.updated) >= self.interval {
            self.updated = now;
            self.update();
        }
        let slowest = self.slowest();
        self.chain = [self.best, self.second, self.reliable, slowest];
        self.frames += 1;
        let untried = (0..self.count).filter(|&rate| self.is_untried(rate)).count();
        let due = if untried > 0 { self.frames / 2 } else { self.frames / SAMPLE };
        self.sampling = false;
        if self.samples >= due || self.count < 2 {
            return;
        }
        self.samples += 1;
        let sample = match untried {
            0 => {
                // Any rate but the best.
                let other = self.random.below(self.count as u64 - 1) as usize;
                if other >= self.best { other + 1 } else { other }
            }
            _ => {
                let nth = self.random.below(untried as u64) as usize;
                let rates = (0..self.count).filter(|&rate| self.is_untried(rate));
                rates.into_iter().nth(nth).unwrap_or(self.best)
            }
        };
        if self.is_untried(sample)
            || 1.0 / self.rates[sample].byte > self.rates[self.best].throughput()
        {
            self.sampling = true;
            self.chain = [sample, self.best, self.reliable, slowest];
        } else {
            self.chain[1] = sample;
        }
    }

    /// Returns the index of the rate for a transmission of the current frame, after `failed` failed
    /// ones.
    pub(super) fn rate(&self, failed: u32) -> usize {
        // A sample is tried once.
        let at = (failed + u32::from(self.sampling)) / TRIES;
        self.chain[(at as usize).min(self.chain.len() - 1)]
    }

    /// Returns true if a transmission after `failed` failed ones is a sample.
    pub(super) fn samples(&self, failed: u32) -> bool {
        self.sampling && failed == 0
    }

    /// Notes that `attempts` frames (MPDUs) were transmitted at a rate, of which `successes`
    /// arrived.
    pub(super) fn report(&mut self, rate: usize, attempts: u32, successes: u32) {
        if let Some(stats) = self.rates.get_mut(rate) {
            stats.attempts = stats.attempts.saturating_add(attempts);
            stats.successes = stats.successes.saturating_add(successes);
        }
    }

    fn is_untried(&self, rate: usize) -> bool {
        let stats = &self.rates[rate];
        stats.arrives.is_none() && stats.attempts == 0
    }

    fn slowest(&self) -> usize {
        let slower = |a: &usize, b: &usize| self.rates[*a].byte.total_cmp(&self.rates[*b].byte);
        (0..self.count).max_by(slower).unwrap_or(0)
    }

    /// Updates the statistics at the end of an interval.
    fn update(&mut self) {
        for stats in self.rates.iter_mut().filter(|stats| stats.attempts > 0) {
            let share = f64::from(stats.successes) / f64::from(stats.attempts);
            stats.arrives = Some(match stats.arrives {
                None => share,
                Some(old) => OLD * old + (1.0 - OLD) * share,
            });
            (stats.attempts, stats.successes) = (0, 0);
        }
        let rates = &self.rates[..self.count];
        let most = |but: Option<usize>, value: &dyn Fn(&RateStats) -> f64| {
            let all = (0..rates.len()).filter(|&at| Some(at) != but);
            all.max_by(|&a, &b| value(&rates[a]).total_cmp(&value(&rates[b])))
        };
        let fast = |stats: &RateStats| stats.throughput();
        let best = most(None, &fast).filter(|&at| rates[at].throughput() > 0.0);
        let slowest = self.slowest();
        self.best = best.unwrap_or(slowest);
        let second = most(Some(self.best), &fast).filter(|&at| rates[at].throughput() > 0.0);
        self.second = second.unwrap_or(slowest);
        // Of the rates at which almost all frames arrive, the fastest.
        let reliable = |stats: &RateStats| match stats.arrives {
            Some(share) if share >= 0.95 => 1.0 + 1.0 / stats.byte,
            Some(share) => share,
            None => -1.0,
        };
        self.reliable =
            most(None, &reliable).filter(|&at| rates[at].arrives.is_some()).unwrap_or(slowest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight rates, each twice as fast as the one before.
    fn control() -> Minstrel {
        let bytes: Vec<f64> = (0..8).map(|rate| 1e-6 / f64::from(1 << rate)).collect();
        Minstrel::new(&bytes, Span::from_millis(100), Stream::new(1, "minstrel"))
    }

    /// Sends a frame per millisecond from `from` on, which arrives with a probability that depends
    /// on its rate. Returns how often each rate was tried.
    fn run(control: &mut Minstrel, from: u64, count: u64, arrives: &[f64; 8]) -> [u32; 8] {
        let mut random = Stream::new(from, "channel");
        let mut tries = [0; 8];
        for frame in from..from + count {
            control.begin(Time::from_millis(frame));
            for failed in 0..7 {
                let rate = control.rate(failed);
                tries[rate] += 1;
                let success = random.chance(arrives[rate]);
                control.report(rate, 1, u32::from(success));
                if success {
                    break;
                }
            }
        }
        tries
    }

    #[test]
    fn the_rate_with_the_most_throughput_is_found_and_kept() {
        // Half of the frames at 16 is more than all at 4 (and 0.2 at 32 is less).
        let arrives = [1.0, 1.0, 1.0, 0.95, 0.5, 0.2, 0.0, 0.0];
        let mut control = control();
        run(&mut control, 0, 1000, &arrives);
        let tries = run(&mut control, 1000, 9000, &arrives);
        let best = tries.iter().enumerate().max_by_key(|(_, tries)| **tries).expect("eight").0;
        assert!((3..=4).contains(&best), "{tries:?}");
        let sampled: u32 = tries[6] + tries[7];
        assert!(f64::from(sampled) < 0.1 * 9000.0, "{tries:?}");
    }

    #[test]
    fn it_follows_changes_both_ways() {
        let mut control = control();
        let fast = [1.0; 8];
        let slow = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        run(&mut control, 0, 1000, &fast);
        assert_eq!(control.best(), 7);
        run(&mut control, 1000, 2000, &slow);
        assert_eq!(control.best(), 2);
        run(&mut control, 3000, 3000, &fast);
        assert_eq!(control.best(), 7);
    }

    #[test]
    fn chains_end_at_the_slowest_rate() {
        let mut control = control();
        control.begin(Time::ZERO);
        assert_eq!((0..8).map(|failed| control.rate(failed)).collect::<Vec<_>>(), [0; 8]);
        run(&mut control, 0, 2000, &[1.0; 8]);
        for frame in 2000..3000 {
            control.begin(Time::from_millis(frame));
            assert_eq!(control.rate(7), 0);
        }
    }

    #[test]
    fn one_rate_is_enough() {
        let mut control = Minstrel::new(&[1e-6], Span::from_millis(50), Stream::new(1, "minstrel"));
        for frame in 0..1000 {
            control.begin(Time::from_millis(frame));
            assert_eq!(control.rate(frame as u32 % 9), 0);
            control.report(0, 1, 0);
        }
    }
}
