//! What may happen to packets on the way, beyond a fixed delay.

use paceline_cc::{Span, Stream, Time};
use paceline_trace::Delays;

use super::PipeError;
use super::loss::{Loss, probability};

/// What may happen to packets on the way. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Delay that follows a recording, beyond the fixed one.
    pub delays: Option<Delays>,
    /// Delay beyond the fixed one.
    pub jitter: Option<Jitter>,
    /// Lets packets with less jitter, or that enter when a recording's delay has fallen, overtake
    /// those before them.
    pub reorder_jitter: bool,
    /// Which packets get lost.
    pub loss: Loss,
    /// Packets that leave their place in the order.
    pub reorder: Option<Reorder>,
    /// The probability that a packet arrives twice.
    pub duplicate: f64,
    /// Packets arrive in groups, at the next multiple of this time after they would have arrived
    /// (netem's `slot`): a link that grants its uplink periodically.
    pub slot: Option<Span>,
}

/// A random delay in addition to the fixed one. The sum is never below zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// The kind of distribution.
    pub shape: JitterShape,
    /// Its mean.
    pub mean: Span,
    /// Its standard deviation; an exponential's is its mean, whatever is written here.
    pub sd: Span,
}

/// √3.
const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// Distributions of jitter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum JitterShape {
    /// Equally likely between mean ± √3 standard deviations.
    Uniform,
    /// Normal.
    Normal,
    /// Exponential.
    Exponential,
}

/// Packets that leave their place in the order, each with a probability.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Reorder {
    /// How likely.
    pub probability: f64,
    /// Such a packet is delayed by so much more; without it, it is not delayed at all (netem's
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
    /// True if packets may overtake each other.
    pub(super) fn reorders(&self) -> bool {
        (self.reorder_jitter && (self.jitter.is_some() || self.delays.is_some()))
            || self.reorder.is_some_and(|reorder| reorder.probability > 0.0)
    }

    /// When a packet arrives that would do so at `due`.
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

    /// The delay of the next packet, where `base` is the fixed part; true if it left its place.
    pub fn delay(&self, base: Span, stream: &mut Stream) -> (Span, bool) {
        let mut delay = base;
        if let Some(jitter) = &self.jitter {
            // `as` saturates; negative sums become zero.
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
