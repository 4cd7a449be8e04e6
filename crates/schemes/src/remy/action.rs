//! What a rule does.

/// The largest window in packets, as published.
pub const MAX_WINDOW: u32 = 1_000_000;

/// What a rule does to the window, and the pacing that it sets.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Action {
    /// The window is multiplied by this: `m`.
    pub multiple: f64,
    /// Then so many packets are added: `b`.
    pub increment: i32,
    /// The least time between packets in milliseconds: `r`.
    pub intersend_ms: f64,
}

impl Action {
    /// `window * multiple + increment`, rounded towards zero.
    pub const fn new(multiple: f64, increment: i32, intersend_ms: f64) -> Action {
        Action { multiple, increment, intersend_ms }
    }

    /// The window in packets that follows `window`.
    #[inline]
    pub fn apply(&self, window: u32) -> u32 {
        let next = f64::from(window) * self.multiple + f64::from(self.increment);
        // The conversion rounds towards zero; negative and not-a-number become zero.
        (next as u32).min(MAX_WINDOW)
    }

    /// True if each number is finite and the time between packets is not negative.
    pub fn is_sane(&self) -> bool {
        self.multiple.is_finite() && self.intersend_ms.is_finite() && self.intersend_ms >= 0.0
    }
}
