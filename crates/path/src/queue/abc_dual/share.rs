//! Chooses the queue that is served next, so that bytes are shared by weight (deficit round
//! robin).

use super::Side;

/// The sum of both weights.
const WHOLE: i64 = 1 << 16;

/// The link's shares, and the credit of each queue.
///
/// Each sent byte is divided between the queues by their weights. ABC's credit is its part minus
/// the bytes that it sent; the credit of the other queue is the negative of that. The queue with
/// positive credit is served first. An empty queue saves up at most `burst` bytes of its share and
/// loses the rest.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// ABC's weight in units of 1 / [`WHOLE`].
    weight: i64,
    /// ABC's credit in bytes times [`WHOLE`].
    credit: i64,
    /// Maximum credit of an empty queue, in the same unit.
    burst: i64,
    /// The part of its share that ABC lost while its queue was empty, in the same unit.
    unused: i64,
}

impl Share {
    pub(super) fn new(weight: f64, burst: u32) -> Share {
        let burst = i64::from(burst) * WHOLE;
        let mut share = Share { weight: 0, credit: 0, burst, unused: 0 };
        share.set(weight);
        share
    }

    /// Sets ABC's weight, from 0 to 1.
    pub(super) fn set(&mut self, weight: f64) {
        self.weight = (weight * WHOLE as f64 + 0.5) as i64;
    }

    /// Returns ABC's weight, from 0 to 1.
    pub(super) fn weight(&self) -> f64 {
        self.weight as f64 / WHOLE as f64
    }

    /// Returns the queue to serve; `abc` and `other` say which of them have packets.
    #[inline]
    pub(super) fn choose(&self, abc: bool, other: bool) -> Option<Side> {
        match (abc, other) {
            (false, false) => None,
            (true, false) => Some(Side::Abc),
            (false, true) => Some(Side::Other),
            (true, true) if self.credit >= 0 => Some(Side::Abc),
            (true, true) => Some(Side::Other),
        }
    }

    /// Charges `size` bytes to `side`; `waits` is true if the other queue has packets.
    #[inline]
    pub(super) fn sent(&mut self, side: Side, size: u32, waits: bool) {
        let size = i64::from(size);
        match side {
            Side::Abc => {
                self.credit = self.credit.saturating_sub((WHOLE - self.weight) * size);
                if !waits {
                    self.credit = self.credit.max(-self.burst);
                }
            }
            Side::Other => {
                self.credit = self.credit.saturating_add(self.weight * size);
                if !waits && self.credit > self.burst {
                    self.unused += self.credit - self.burst;
                    self.credit = self.burst;
                }
            }
        }
    }

    /// Returns the whole bytes of its share that ABC lost since the last call.
    #[inline]
    pub(super) fn take_unused(&mut self) -> u32 {
        let bytes = u32::try_from(self.unused / WHOLE).unwrap_or(u32::MAX);
        self.unused %= WHOLE;
        bytes
    }
}
