//! Random loss on the path: independent, or in bursts.

use paceline_cc::Stream;

use super::PipeError;

/// How packets are lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loss {
    /// No packet is lost.
    #[default]
    None,
    /// Each packet independently, with this probability.
    Bernoulli(f64),
    /// Packets are lost in bursts.
    GilbertElliott(GilbertElliott),
}

/// Gilbert and Elliott's model: a good and a bad state, each with its probability of loss (Elliott,
/// Bell System Technical Journal 42(5), 1963). As in netem, the state before a packet decides about
/// the packet, and then the state may change. Starts in the good state.
#[derive(Clone, Debug, PartialEq)]
pub struct GilbertElliott {
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    bad: bool,
}

impl GilbertElliott {
    /// Creates the model from the probabilities, per packet, of going from good to bad (`p`), of
    /// going back (`r`), and of loss in the good and in the bad state.
    ///
    /// # Errors
    /// A probability is outside [0, 1].
    pub fn new(p: f64, r: f64, loss_good: f64, loss_bad: f64) -> Result<GilbertElliott, PipeError> {
        Ok(GilbertElliott {
            to_bad: probability("p", p)?,
            to_good: probability("r", r)?,
            loss_good: probability("loss_good", loss_good)?,
            loss_bad: probability("loss_bad", loss_bad)?,
            bad: false,
        })
    }

    /// Creates a model in which all packets are lost in the bad state and none in the good one,
    /// with this mean loss rate and mean length of bursts in packets.
    ///
    /// # Errors
    /// The rate is outside [0, 1), bursts are shorter than one packet, or bursts are too short for
    /// the rate: good packets must separate them.
    pub fn with_bursts(rate: f64, burst: f64) -> Result<GilbertElliott, PipeError> {
        if !(0.0..1.0).contains(&rate) {
            return Err(PipeError::Probability { what: "mean loss rate", value: rate });
        }
        if !(burst.is_finite() && burst >= 1.0) {
            return Err(PipeError::Burst(burst));
        }
        let r = 1.0 / burst;
        let p = rate * r / (1.0 - rate);
        if p > 1.0 { Err(PipeError::Burst(burst)) } else { GilbertElliott::new(p, r, 0.0, 1.0) }
    }

    /// Returns the mean loss rate in the long run.
    pub fn mean(&self) -> f64 {
        let sum = self.to_bad + self.to_good;
        let bad = if sum > 0.0 { self.to_bad / sum } else { 0.0 };
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }

    /// Returns the probabilities of going from good to bad and back.
    pub fn transitions(&self) -> (f64, f64) {
        (self.to_bad, self.to_good)
    }

    fn lost(&mut self, stream: &mut Stream) -> bool {
        let (change, loss) = match self.bad {
            true => (self.to_good, self.loss_bad),
            false => (self.to_bad, self.loss_good),
        };
        let lost = stream.chance(loss);
        self.bad ^= stream.chance(change);
        lost
    }
}

impl Loss {
    pub(super) fn check(&self) -> Result<(), PipeError> {
        match self {
            Loss::Bernoulli(p) => probability("loss", *p).map(|_| ()),
            Loss::None | Loss::GilbertElliott(_) => Ok(()),
        }
    }

    /// Returns true if the next packet is lost.
    pub(super) fn lost(&mut self, stream: &mut Stream) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli(p) => stream.chance(*p),
            Loss::GilbertElliott(model) => model.lost(stream),
        }
    }
}

/// Returns `value` if it is a probability.
pub(super) fn probability(what: &'static str, value: f64) -> Result<f64, PipeError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(PipeError::Probability { what, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loss rate and the mean length of bursts.
    fn measure(mut loss: Loss) -> (f64, f64) {
        let mut stream = Stream::new(5, "loss");
        let (mut losses, mut bursts, mut before) = (0.0, 0.0, false);
        let count = 2_000_000;
        for _ in 0..count {
            let lost = loss.lost(&mut stream);
            losses += f64::from(u8::from(lost));
            bursts += f64::from(u8::from(lost && !before));
            before = lost;
        }
        (losses / f64::from(count), losses / bursts)
    }

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 0.03
    }

    #[test]
    fn rates_and_bursts_are_as_asked() {
        let (rate, burst) = measure(Loss::Bernoulli(0.05));
        assert!(near(rate, 0.05) && near(burst, 1.0 / 0.95), "{rate} {burst}");
        for (mean, length) in [(0.01, 5.0), (0.1, 20.0), (0.5, 1.0), (0.3, 3.0)] {
            let model = GilbertElliott::with_bursts(mean, length).expect("valid");
            assert!(near(model.mean(), mean));
            let (rate, burst) = measure(Loss::GilbertElliott(model));
            assert!((rate / mean - 1.0).abs() < 0.05 && near(burst, length), "{rate} {burst}");
        }
        let model = GilbertElliott::new(0.02, 0.1, 0.01, 0.4).expect("valid");
        let mean = model.mean();
        assert!(near(mean, 0.4 / 6.0 + 0.01 * 5.0 / 6.0));
        assert!(near(measure(Loss::GilbertElliott(model)).0, mean));
    }

    #[test]
    fn mistakes_are_told() {
        assert!(GilbertElliott::new(1.1, 0.0, 0.0, 0.0).is_err());
        assert!(GilbertElliott::new(0.0, f64::NAN, 0.0, 0.0).is_err());
        assert!(GilbertElliott::with_bursts(1.0, 5.0).is_err());
        assert!(GilbertElliott::with_bursts(0.1, 0.5).is_err());
        assert!(GilbertElliott::with_bursts(0.9, 2.0).is_err());
        assert!(GilbertElliott::new(0.0, 0.0, 0.0, 1.0).is_ok_and(|model| model.mean() == 0.0));
    }
}
