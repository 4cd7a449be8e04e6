//! Impairments of packets, in addition to a fixed delay.

use paceline_cc::{Span, Stream, Time};
use paceline_trace::Delays;

use super::PipeError;
use super::loss::{Loss, probability};

/// Impairments of packets on the way. The default has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Delay that follows a recording, in addition to the fixed one.
    pub delays: Option<Delays>,
    /// Random delay in addition to the fixed one.
    pub jitter: Option<Jitter>,
    /// True if packets may overtake: those with less jitter, or those that enter after a
    /// recording's delay has fallen.
    pub reorder_jitter: bool,
    /// How packets are lost.
    pub loss: Loss,
    /// Packets that leave their place in the order.
    pub reorder: Option<Reorder>,
    /// Probability that a packet is duplicated.
    pub duplicate: f64,
    /// Interval of arrivals: a packet arrives at the first multiple of this time at or after its
    /// arrival time (netem's `slot`), as over a link that grants its uplink periodically.
    pub slot: Option<Span>,
}

/// A random delay in addition to the fixed one. The sum is at least zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Shape of the distribution.
    pub shape: JitterShape,
    /// Mean.
    pub mean: Span,
    /// Standard deviation; ignored for the exponential distribution, where it equals the mean.
    pub sd: Span,
}

/// √3.
const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// Distributions of jitter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum JitterShape {
    /// Uniform between mean ± √3 standard deviations.
    Uniform,
    /// Normal.
    Normal,
    /// Exponential.
    Exponential,
}

/// Packets that leave their place in the order, each with a probability.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Reorder {
    /// Probability for each packet.
    pub probability: f64,
    /// Additional delay of such a packet. `None` means that it has no delay at all (netem's
    /// `reorder`).
    pub extra: Option<Span>,
}

impl Jitter {
    /// Draws a delay in nanoseconds, which may be negative.
    fn draw(&self, stream: &mut Stream) -> f64 {
        let (mean, sd) = (self.mean.as_nanos() as f64, self.sd.as_nanos() as f64);
        match self.shape {
            JitterShape::Uniform => mean + sd * SQRT_3 * (2.0 * stream.uniform() - 1.0),
            JitterShape::Normal => mean + sd * stream.normal(),
            JitterShape::Exponential => stream.exponential(mean),
        }
    }
}

impl Impairments {
    /// Returns true if packets may overtake each other.
    pub(super) fn reorders(&self) -> bool {
        (self.reorder_jitter && (self.jitter.is_some() || self.delays.is_some()))
            || self.reorder.is_some_and(|reorder| reorder.probability > 0.0)
    }

    /// Returns when a packet arrives that without slots would arrive at `due`.
    pub fn arrival(&self, due: Time) -> Time {
        let Some(slot) = self.slot.map(Span::as_nanos).filter(|&slot| slot > 0) else {
            return due;
        };
        due + Span::from_nanos((slot - due.as_nanos() % slot) % slot)
    }

    pub(super) fn check(&self) -> Result<(), PipeError> {
        self.loss.check()?;
        probability("duplication", self.duplicate)?;
        if let Some(reorder) = &self.reorder {
            probability("reordering", reorder.probability)?;
        }
        Ok(())
    }

    /// Returns the delay of the next packet, where `base` is the fixed part, and true if the packet
    /// left its place.
    pub fn delay(&self, base: Span, stream: &mut Stream) -> (Span, bool) {
        let mut delay = base;
        if let Some(jitter) = &self.jitter {
            // `as` saturates; a negative sum becomes zero.
            delay = Span::from_nanos((base.as_nanos() as f64 + jitter.draw(stream) + 0.5) as u64);
        }
        match &self.reorder {
            Some(reorder) if stream.chance(reorder.probability) => {
                (reorder.extra.map_or(Span::ZERO, |extra| delay + extra), true)
            }
            _ => (delay, false),
        }
    }
}
