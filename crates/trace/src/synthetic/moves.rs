//! Links to satellites in low orbit: every 15 s the terminal is assigned another satellite.
//!
//! At each move the link is silent for a moment, then its rate grows to the new satellite's, which
//! applies until the next move; in between, the rate varies as on other links. Opportunities come
//! in a few bursts per 10 ms. The propagation delay has a level for each satellite and a little
//! noise; at a move it is that of the detour, with a peak at its end.

use super::model::{DelayModel, Model, Moves};
use super::opportunities::Opportunities;
use super::processes::{Ar, Randomness, STEP_MS};
use crate::delays::STEP;
use crate::{Delays, TraceError};
use paceline_cc::{Span, Stream};

/// The time from one move to the next.
#[derive(Copy, Clone, Debug)]
struct MoveInterval {
    /// When it began, in milliseconds; the first one began before zero.
    start: f64,
    silence: f64,
    /// The satellite's rate and delay, in standard deviations from the mean.
    rate: f64,
    delay: f64,
    moving: f64,
    peak: f64,
}

/// The intervals in order, equal for the capacity and the delay of a seed.
struct MoveIntervals {
    moves: Moves,
    random: Stream,
    here: MoveInterval,
}

impl MoveIntervals {
    fn new(moves: Moves, name: &str, seed: u64, take: u32) -> MoveIntervals {
        let mut random = Stream::new(seed, &format!("trace {name} {take} moves"));
        let every = f64::from(moves.every_ms);
        let start = -every * random.uniform();
        let mut intervals =
            MoveIntervals { moves, random, here: MoveInterval::before_first(start - every) };
        intervals.next();
        intervals
    }

    fn next(&mut self) {
        let Moves { every_ms, silence_ms: [short, long], delay, .. } = self.moves;
        let random = &mut self.random;
        let [least, most] = delay.moving;
        self.here = MoveInterval {
            start: self.here.start + f64::from(every_ms),
            silence: short + (long - short) * random.uniform(),
            rate: random.normal().clamp(-2.5, 2.5),
            delay: random.normal().clamp(-2.5, 2.5),
            moving: least + (most - least) * random.uniform(),
            peak: random.exponential(delay.peak),
        };
    }

    /// Returns the interval at a time in milliseconds. Times must not decrease.
    fn at(&mut self, time: f64) -> MoveInterval {
        while time >= self.here.start + f64::from(self.moves.every_ms) {
            self.next();
        }
        self.here
    }
}

impl MoveInterval {
    fn before_first(start: f64) -> MoveInterval {
        MoveInterval { start, silence: 0.0, rate: 0.0, delay: 0.0, moving: 0.0, peak: 0.0 }
    }

    /// Returns the share of its rate that the link has at `since` ms after the move.
    fn share(&self, growth_ms: f64, since: f64) -> f64 {
        if since < self.silence {
            return 0.0;
        }
        (0.1 + 0.9 * (since - self.silence) / growth_ms).min(1.0)
    }
}

impl Moves {
    /// Returns the opportunities of `length` ms, the last at `length`.
    pub(crate) fn generate(
        self,
        model: &Model,
        (name, seed, take): (&str, u64, u32),
        random: Randomness,
        length: u32,
    ) -> Result<Vec<u32>, TraceError> {
        let Randomness { mut rate, mut grant, .. } = random;
        let mut intervals = MoveIntervals::new(self, name, seed, take);
        let mut fast = Ar::new(model.fast_s, &mut rate);
        let mut entries = Opportunities::new(name);
        let (mut start, mut rest) = (0u32, 0.0);
        while start < length {
            let width = STEP_MS.min(length - start);
            let time = f64::from(start);
            let interval = intervals.at(time);
            let share = interval.share(self.growth_ms, time - interval.start);
            let level = (1.0 + self.level * interval.rate).max(0.1);
            let burst = (1.0 + self.burst * grant.normal()).max(0.0);
            let mbps = model.rate(fast.step(&mut rate)) * level * share * burst;
            // Mbit/s times ms is kbit; a packet is 12 kbit.
            rest += mbps * f64::from(width) / 12.0;
            let packets = libm::floor(rest);
            rest -= packets;
            let mut counts = [0u64; STEP_MS as usize];
            let bursts = 2 + grant.below(3);
            let first = grant.below(width.into());
            for packet in 0..packets as u64 {
                let place =
                    (first + (packet % bursts) * u64::from(width) / bursts) % u64::from(width);
                counts[place as usize] += 1;
            }
            entries.add(start, &counts)?;
            start += width;
        }
        Ok(entries.end(length))
    }

    /// Returns the one-way delay of this link over `length` ms, a value for each 10 ms.
    pub(crate) fn delays(
        self,
        (name, seed, take): (&str, u64, u32),
        length: u32,
    ) -> Result<Delays, TraceError> {
        let DelayModel { mean, level, noise, keep, least, .. } = self.delay;
        let mut random = Stream::new(seed, &format!("trace {name} {take} delay"));
        let mut intervals = MoveIntervals::new(self, name, seed, take);
        let kick = libm::sqrt(1.0 - keep * keep);
        let mut deviation = random.normal();
        let step = STEP.as_millis_f64();
        let mut series = Vec::new();
        for index in 0..length.div_ceil(STEP_MS) {
            let time = f64::from(index) * step;
            let interval = intervals.at(time);
            deviation = keep * deviation + kick * random.normal();
            let own = (mean + level * interval.delay + noise * deviation).max(least);
            // Time since the end of the silence: the peak decays from there.
            let since = time - interval.start - interval.silence;
            let ms = if since < 0.0 {
                interval.moving
            } else if since < 6.0 * step {
                let left = libm::pow(0.5, libm::floor(since / step));
                own + (interval.moving + interval.peak - own) * left
            } else {
                own
            };
            series.push((STEP, Span::from_nanos((ms * 1e6 + 0.5) as u64)));
        }
        Delays::new(name, &series)
    }
}
