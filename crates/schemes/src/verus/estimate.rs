//! The desired delay, and the part of a window that an epoch may send. Delays are in milliseconds.

use super::VerusParams;

/// Smallest rise of the largest delay that counts (authors' code).
const RISE: f64 = 1e-4;
/// Weight of the past in the smoothed largest delay (authors' code).
const PAST: f64 = 0.2;
/// Amount by which the smallest delay is raised if the ratio is exceeded at that delay (authors'
/// code).
const RAISE: f64 = 10.0;
/// The smallest delay before the first measurement (authors' code).
const NO_DELAY: f64 = 1000.0;

/// The desired delay, and the delays by which it changes.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    /// The desired delay.
    pub(super) desired: f64,
    /// The smallest delay.
    pub(super) min: f64,
    /// The smoothed largest delay of past epochs.
    pub(super) last_max: Option<f64>,
}

impl Estimate {
    pub(super) fn new() -> Estimate {
        Estimate { desired: 0.0, min: NO_DELAY, last_max: None }
    }

    /// Updates the desired delay after an epoch whose largest delay was `max`, with `outstanding`
    /// packets in flight. While `leaving` slow start, delays above the ratio have no effect.
    /// Returns false if the epoch must not send.
    pub(super) fn on_epoch(
        &mut self,
        max: f64,
        outstanding: u64,
        leaving: bool,
        params: &VerusParams,
    ) -> bool {
        let (delta1, delta2) = (params.delta1.as_millis_f64(), params.delta2.as_millis_f64());
        let last = self.last_max.unwrap_or(max);
        let mut sends = true;
        if last / self.min > params.r {
            if !leaving {
                self.desired = (self.desired - delta2).max(self.min);
                if self.desired <= self.min && outstanding < 2 {
                    self.min += RAISE;
                } else if self.desired <= self.min {
                    sends = false;
                }
            }
        } else if max - last > RISE {
            self.desired = (self.desired - delta1).max(self.min);
        } else {
            self.desired += delta2;
        }
        self.last_max = Some(PAST * last + (1.0 - PAST) * max);
        sends
    }
}

/// Returns the number of packets that an epoch sends with a window of `window`, if a round trip has
/// `epochs` epochs: as many as raise the flight to the window, minus those that leave the network
/// meanwhile.
pub(super) fn quota(window: f64, outstanding: u64, epochs: u64) -> u64 {
    if epochs <= 1 {
        return (window - outstanding as f64).max(0.0) as u64;
    }
    // Integer division towards zero, as in the authors' code.
    let n = epochs as i64;
    let leave = (outstanding as i64).saturating_mul(2 - n) / (n - 1);
    (window + leave as f64).max(0.0) as u64
}
