//! The controller, and decisions by its probabilities.

use paceline_cc::{Span, Stream};

use super::{DualPi2Params, Side};

/// The base probability p', and the delay at the last update.
#[derive(Clone, Debug, Default)]
pub(super) struct Pi2 {
    base: f64,
    previous: Span,
}

impl Pi2 {
    /// Does one update. Returns false if nothing changed.
    pub(super) fn update(&mut self, params: &DualPi2Params, delay: Span) -> bool {
        let before = (self.base, self.previous);
        let above = |other: Span| delay.as_secs_f64() - other.as_secs_f64();
        let p =
            self.base + params.alpha * above(params.target) + params.beta * above(self.previous);
        // The comparison is false also for NaN, which infinite gains give.
        self.base = if p > 0.0 { p.min(1.0) } else { 0.0 };
        self.previous = delay;
        before != (self.base, self.previous)
    }

    pub(super) fn base(&self) -> f64 {
        self.base
    }

    /// Returns L's marking probability by the coupling; one or more means overload.
    pub(super) fn coupled(&self, k: f64) -> f64 {
        k * self.base
    }

    /// Returns C's probability of drops or marks.
    pub(super) fn classic(&self) -> f64 {
        self.base * self.base
    }
}

/// Decides whether an event with a given probability happens: at random, or with a counter per
/// queue that adds up the probabilities (`recur` in RFC 9332, Appendix A.1).
#[derive(Clone, Debug)]
pub(super) struct Decider {
    stream: Stream,
    random: bool,
    l: f64,
    c: f64,
}

impl Decider {
    pub(super) fn new(stream: Stream, random: bool) -> Decider {
        Decider { stream, random, l: 0.0, c: 0.0 }
    }

    pub(super) fn decide(&mut self, side: Side, p: f64) -> bool {
        if self.random {
            return self.stream.chance(p);
        }
        let count = match side {
            Side::L => &mut self.l,
            Side::C => &mut self.c,
        };
        *count += p.min(1.0);
        // The comparison includes one, so that an event with probability one always happens.
        let reached = *count >= 1.0;
        *count -= f64::from(u8::from(reached));
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    #[test]
    fn the_gains_are_per_update_and_second() {
        let params = DualPi2Params::default();
        let mut pi2 = Pi2 { base: 0.5, previous: ms(25) };
        // 10 ms above the target without growth: 0.16 · 0.01.
        assert!(pi2.update(&params, ms(25)));
        assert!((pi2.base() - 0.5016).abs() < 1e-12);
        // 10 ms of growth to 35 ms: 0.16 · 0.02 + 3.2 · 0.01.
        pi2.update(&params, ms(35));
        assert!((pi2.base() - 0.5368).abs() < 1e-12);
        assert!((pi2.coupled(2.0) - 1.0736).abs() < 1e-12);
        assert!((pi2.classic() - 0.5368 * 0.5368).abs() < 1e-12);
        for _ in 0..1000 {
            pi2.update(&params, ms(0));
        }
        assert_eq!(pi2.base(), 0.0);
        assert!(!pi2.update(&params, ms(0)));
    }

    #[test]
    fn counters_keep_the_mean_exactly() {
        let mut decider = Decider::new(Stream::new(1, "decider"), false);
        let hits = (0..1000).filter(|_| decider.decide(Side::L, 0.125)).count();
        assert_eq!(hits, 125);
        assert!((0..10).all(|_| decider.decide(Side::C, 1.0)));
        assert!((0..10).all(|_| !decider.decide(Side::C, 0.0)));
    }
}
