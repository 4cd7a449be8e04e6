//! What the three algorithms have in common: each chooses the rates of intervals.

use paceline_cc::{Span, Time};

use super::monitor::{Interval, Summary};

/// Chooses the rates of intervals from the results of earlier ones.
pub(super) trait RateRule: Send {
    /// Called when interval `number` is about to begin.
    fn begin(&mut self, number: u64);
    /// Returns the rate to send at, in bits per second.
    fn rate(&self) -> f64;
    /// Returns true if the interval being sent is long enough.
    fn is_full(&self, open: &Interval, now: Time, rtt: Span) -> bool;
    /// Takes in the result of an interval; `open` is the number of the one being sent. Returns true
    /// if that one is to end now.
    fn on_result(&mut self, summary: &Summary, open: u64) -> bool;
    /// Handles an expired retransmission timer. Returns true if the interval being sent is to end
    /// now.
    fn on_timeout(&mut self, open: u64) -> bool;
    /// Called when no losses are being repaired. Returns true if the interval being sent is to end
    /// now.
    fn on_recovered(&mut self) -> bool {
        false
    }
    /// Returns the phase, for plots: 0 starting, 1 probing, 2 moving, 3 hibernating.
    fn phase(&self) -> u32;
}
