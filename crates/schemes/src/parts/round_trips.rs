//! Round trips, told by the bytes delivered.

use paceline_cc::RateSample;

/// Counts round trips: one ends when a packet is acknowledged that was sent after the round trip
/// began (draft-cardwell-iccrg-bbr-congestion-control §4.1.1.3). As in Linux (`tcp_bbr.c`:
/// `interval_us <= 0`), and unlike in the draft, an acknowledgement without a valid rate sample ends
/// none: the next one does.
///
/// Schemes that begin round trips of their own accord use this. For others,
/// [`Feedback::round_start`](paceline_cc::Feedback::round_start) and
/// [`Feedback::round`](paceline_cc::Feedback::round) say the same.
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    count: u64,
    /// A sample of a packet that was sent after so many bytes had been delivered ends the round
    /// trip.
    end: u64,
    started: bool,
}

impl RoundTrips {
    /// Takes an acknowledgement in, after which `delivered` bytes have been delivered in all.
    /// Returns whether it is the first of a round trip.
    #[inline]
    pub fn on_ack(&mut self, sample: Option<&RateSample>, delivered: u64) -> bool {
        self.started = sample.is_some_and(|sample| sample.prior_delivered >= self.end);
        if self.started {
            self.count += 1;
            self.end = delivered;
        }
        self.started
    }

    /// Begins a round trip now, with `delivered` bytes delivered.
    #[inline]
    pub fn begin(&mut self, delivered: u64) {
        self.end = delivered;
    }

    /// True if the last acknowledgement was the first of a round trip.
    #[inline]
    pub fn started(&self) -> bool {
        self.started
    }

    /// The round trips so far.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }
}
