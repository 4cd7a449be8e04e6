//! The action of a rule.

/// The largest window in packets, as published.
pub const MAX_WINDOW: u32 = 1_000_000;

/// How a rule changes the window, and the pacing that it sets.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Action {
    /// Factor of the window: `m`.
    pub multiple: f64,
    /// Number of packets added afterwards: `b`.
    pub increment: i32,
    /// Minimum time between packets in milliseconds: `r`.
    pub intersend_ms: f64,
}

impl Action {
    /// Returns the action `window * multiple + increment`, rounded towards zero, with this pacing.
    pub const fn new(multiple: f64, increment: i32, intersend_ms: f64) -> Action {
        Action { multiple, increment, intersend_ms }
    }

    /// Returns the window in packets after the action.
    #[inline]
    pub fn apply(&self, window: u32) -> u32 {
        let next = f64::from(window) * self.multiple + f64::from(self.increment);
        // The conversion rounds towards zero; negative numbers and NaN become zero.
        (next as u32).min(MAX_WINDOW)
    }

    /// Returns true if each number is finite and the time between packets is not negative.
    pub fn is_sane(&self) -> bool {
        self.multiple.is_finite() && self.intersend_ms.is_finite() && self.intersend_ms >= 0.0
    }
}
