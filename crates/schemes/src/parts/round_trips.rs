//! Counts round trips by the bytes delivered.

use paceline_cc::RateSample;

/// Counts round trips: one ends when a packet is acknowledged that was sent after the round trip
/// began (draft-cardwell-iccrg-bbr-congestion-control §4.1.1.3). As in Linux (`tcp_bbr.c`:
/// `interval_us <= 0`), and unlike in the draft, an acknowledgement without a valid rate sample
/// does not end a round trip; the next one does.
///
/// For schemes that begin round trips themselves. For others,
/// [`Feedback::round_start`](paceline_cc::Feedback::round_start) and
/// [`Feedback::round`](paceline_cc::Feedback::round) are equivalent.
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    count: u64,
    /// A sample of a packet sent when at least this many bytes had been delivered ends the round
    /// trip.
    end: u64,
    started: bool,
}

impl RoundTrips {
    /// Takes in an acknowledgement, after which `delivered` bytes have been delivered in total.
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

    /// Returns true if the last acknowledgement was the first of a round trip.
    #[inline]
    pub fn started(&self) -> bool {
        self.started
    }

    /// Returns the number of round trips so far.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }
}
