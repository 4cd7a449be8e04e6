//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation).

use paceline_cc::{RateSample, Span, Time};

use super::ledger::Entry;

/// Totals of a flow from which delivery-rate samples are taken.
#[derive(Debug)]
pub(crate) struct RateSampler {
    /// Bytes delivered since the start.
    delivered: u64,
    delivered_at: Time,
    /// The send time of the packet that was acknowledged last, the start of the send phase.
    first_sent: Time,
    /// Until `delivered` passes this, samples are limited by the application.
    app_limited_until: u64,
    /// Snapshot of the newest packet of the acknowledgement at hand.
    newest: Option<Snapshot>,
}

#[derive(Copy, Clone, Debug)]
struct Snapshot {
    sent: Time,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    app_limited: bool,
}

impl RateSampler {
    pub(crate) fn new() -> RateSampler {
        RateSampler {
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited_until: 0,
            newest: None,
        }
    }

    /// Bytes delivered since the start.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Writes the state into the entry of a packet that is sent.
    /// `idle` tells that nothing sent before waits for its fate.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Time, idle: bool, entry: &mut Entry) {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        entry.first_sent = self.first_sent;
        entry.delivered = self.delivered;
        entry.delivered_at = self.delivered_at;
        entry.app_limited = self.app_limited_until > self.delivered;
    }

    /// The application has nothing to send though the window has room.
    #[inline]
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// A packet that had been declared lost is acknowledged: it counts, but gives no sample.
    pub(crate) fn on_late(&mut self, size: u32) {
        self.delivered += size as u64;
    }

    /// A packet is acknowledged.
    #[inline]
    pub(crate) fn on_acked(&mut self, now: Time, entry: &Entry) {
        self.delivered += entry.size as u64;
        self.delivered_at = now;
        let newer =
            self.newest.is_none_or(|n| (entry.delivered, entry.sent) >= (n.delivered, n.sent));
        if newer {
            self.first_sent = entry.sent;
            self.newest = Some(Snapshot {
                sent: entry.sent,
                first_sent: entry.first_sent,
                delivered: entry.delivered,
                delivered_at: entry.delivered_at,
                app_limited: entry.app_limited,
            });
        }
    }

    /// Ends an acknowledgement: the total delivered when its newest packet was sent.
    #[inline]
    pub(crate) fn newest_prior_delivered(&self) -> Option<u64> {
        self.newest.map(|newest| newest.delivered)
    }

    /// Ends an acknowledgement without taking a sample.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.newest = None;
    }

    /// Ends an acknowledgement and gives its sample. Intervals shorter than the smallest RTT are
    /// artefacts of compressed acknowledgements and give none.
    #[inline]
    pub(crate) fn take(&mut self, min_rtt: Span) -> Option<RateSample> {
        let newest = self.newest.take()?;
        let send_phase = newest.sent.since(newest.first_sent);
        let ack_phase = self.delivered_at.since(newest.delivered_at);
        let interval = send_phase.max(ack_phase);
        if interval < min_rtt || interval.is_zero() {
            return None;
        }
        let delivered = self.delivered - newest.delivered;
        let mut sample = RateSample::new(delivered, interval, newest.delivered);
        sample.app_limited = newest.app_limited;
        Some(sample)
    }
}
