//! The controller of PIE, which turns delays into a probability (RFC 8033 §4.2, §5.5).

use paceline_cc::Span;

use super::PieParams;

/// For probabilities below the first number, steps are divided by the second.
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// Delays above this add [`CAP`] to each step.
const HIGH_DELAY: Span = Span::from_millis(250);

/// Maximum step at probabilities of 10 % and above.
const CAP: f64 = 0.02;

/// A decaying probability below this becomes zero.
const NOTHING: f64 = 1e-15;

/// The probability, and the delay at the last update.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    pub(super) drop_prob: f64,
    pub(super) qdelay_old: Span,
}

impl Control {
    /// Returns the step of the probability at this delay.
    pub(super) fn step(&self, params: &PieParams, qdelay: Span) -> f64 {
        let delay = qdelay.as_secs_f64();
        let step = params.alpha * (delay - params.qdelay_ref.as_secs_f64())
            + params.beta * (delay - self.qdelay_old.as_secs_f64());
        let tuning = TUNING.iter().find(|(below, _)| self.drop_prob < *below);
        let mut step = step / tuning.map_or(1.0, |(_, divisor)| *divisor);
        if params.cap_drop && self.drop_prob >= 0.1 && step > CAP {
            step = CAP;
        }
        if qdelay > HIGH_DELAY {
            step += CAP;
        }
        step
    }

    /// Does one update. Returns false if nothing changed.
    pub(super) fn update(&mut self, params: &PieParams, qdelay: Span) -> bool {
        let before = (self.drop_prob, self.qdelay_old);
        let mut p = self.drop_prob + self.step(params, qdelay);
        if qdelay.is_zero() && self.qdelay_old.is_zero() {
            p *= 0.98;
        }
        // The comparison is false also for NaN, which infinite gains give.
        self.drop_prob = if p > NOTHING { p.min(1.0) } else { 0.0 };
        self.qdelay_old = qdelay;
        before != (self.drop_prob, self.qdelay_old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn step(drop_prob: f64, qdelay: u64, qdelay_old: u64) -> f64 {
        Control { drop_prob, qdelay_old: ms(qdelay_old) }.step(&PieParams::default(), ms(qdelay))
    }

    #[test]
    fn steps_are_the_fact_sheets() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1e-3);
        assert!(near(step(0.05, 30, 30), 9.375e-4));
        assert!(near(step(0.0, 30, 30) * 1e3, 9.155_273_437_5e-4));
        // 15 ms above the reference: 0.001875 before scaling.
        for (p, divisor) in
            [(5e-7, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.1, 1.0)]
        {
            assert!(near(step(p, 30, 30) * divisor, 1.875e-3), "{p}");
        }
        // Delay growth counts ten times as much.
        assert!(near(step(0.5, 15, 7), 0.01));
        assert!(near(step(0.5, 0, 0), -1.875e-3));
    }

    #[test]
    fn large_steps_are_capped() {
        assert_eq!(step(0.1, 200, 0), 0.02);
        assert_eq!(step(0.1, 251, 0), 0.04);
        assert!(step(0.09, 200, 0) > 0.1);
        let params = PieParams { cap_drop: false, ..PieParams::default() };
        assert!(Control { drop_prob: 0.1, qdelay_old: ms(0) }.step(&params, ms(200)) > 0.2);
    }

    #[test]
    fn the_probability_decays_to_zero_and_stays() {
        let mut control = Control { drop_prob: 1.0, qdelay_old: ms(0) };
        let params = PieParams::default();
        assert!(control.update(&params, ms(0)));
        assert!((control.drop_prob - (1.0 - 1.875e-3) * 0.98).abs() < 1e-12);
        let updates = (0..100_000).take_while(|_| control.update(&params, ms(0))).count();
        assert_eq!(control.drop_prob, 0.0);
        assert!(updates < 1000, "{updates}");
    }
}
