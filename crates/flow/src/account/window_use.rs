//! How much of the window is used: whether it limits sending, and the largest flight if it does
//! not.

/// Use of the window during the last window of data (Linux `tcp_cwnd_validate`).
#[derive(Debug, Default)]
pub(super) struct WindowUse {
    /// Twice the number that was next when use was last noted, plus 1 if the window kept data back
    /// or a flight filled it exactly. The present window of data ends when that packet, or the one
    /// before it, is acknowledged. One word, since a bulk flow writes it for each packet.
    end_and_limited: u64,
    /// The most bytes in flight; unused while the window limits sending.
    max_in_flight: u64,
}

impl WindowUse {
    /// Returns true if the window limited sending.
    #[inline]
    pub(super) fn is_limited(&self) -> bool {
        self.end_and_limited & 1 == 1
    }

    /// Returns the most bytes in flight; meaningful if the window did not limit sending.
    #[inline]
    pub(super) fn max_in_flight(&self) -> u64 {
        self.max_in_flight
    }

    /// Notes that the window is full; `next` is the number of the next packet.
    #[inline]
    pub(super) fn on_full(&mut self, next: u64) {
        self.end_and_limited = 2 * next + 1;
    }

    /// Notes a flight that left room in the window. All numbers below `acked_end` are acknowledged,
    /// or were sent before an acknowledged one.
    pub(super) fn on_flight(&mut self, in_flight: u64, next: u64, acked_end: u64) {
        let over = acked_end >= self.end_and_limited / 2;
        if over || (!self.is_limited() && in_flight > self.max_in_flight) {
            *self = WindowUse { end_and_limited: 2 * next, max_in_flight: in_flight };
        }
    }
}
