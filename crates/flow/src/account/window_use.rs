//! How far the window is used: whether it limits sending, and the largest flight if it does not.

/// Use of the window in the last window of data (Linux `tcp_cwnd_validate`).
#[derive(Debug, Default)]
pub(super) struct WindowUse {
    /// True if the window kept data back, or if a flight filled it exactly.
    limited: bool,
    /// The most bytes in flight, while the window did not limit sending.
    max_in_flight: u64,
    /// The number that was next when the two were last noted: this window of data ends when that packet is
    /// acknowledged, or the one before it.
    end: u64,
}

impl WindowUse {
    /// True if the window limited sending.
    #[inline]
    pub(super) fn is_limited(&self) -> bool {
        self.limited
    }

    /// The most bytes in flight.
    #[inline]
    pub(super) fn max_in_flight(&self) -> u64 {
        self.max_in_flight
    }

    /// Notes that the window is full; `next` is the next number.
    #[inline]
    pub(super) fn on_full(&mut self, in_flight: u64, next: u64) {
        *self = WindowUse { limited: true, max_in_flight: in_flight, end: next };
    }

    /// Notes a flight that left room in the window. All numbers below `acked_end` were acknowledged, or were
    /// sent before one that was.
    pub(super) fn on_flight(&mut self, in_flight: u64, next: u64, acked_end: u64) {
        let over = acked_end >= self.end;
        if over || (!self.limited && in_flight > self.max_in_flight) {
            *self = WindowUse { limited: false, max_in_flight: in_flight, end: next };
        }
    }
}
