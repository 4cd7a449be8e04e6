//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation).

use paceline_cc::{RateSample, Span, Time};

use super::entry::{Detail, Entry};

/// Running totals of a flow, from which delivery-rate samples are taken.
#[derive(Debug)]
pub(crate) struct RateSampler {
    /// Bytes delivered since the start.
    delivered: u64,
    delivered_at: Time,
    /// The send time of the packet that was acknowledged last, the start of the send phase.
    first_sent: Time,
    /// Samples are application-limited as long as `delivered` is below this: one more than the
    /// bytes delivered or in flight when the application last had nothing to send; zero before.
    app_limited_end: u64,
    /// Snapshot of the newest packet in the present acknowledgement.
    newest: Option<Snapshot>,
    /// Detail of that packet, if details are kept.
    detail: Detail,
}

#[derive(Copy, Clone, Debug)]
struct Snapshot {
    sent: Time,
    delivered: u64,
}

impl RateSampler {
    pub(crate) fn new() -> RateSampler {
        RateSampler {
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited_end: 0,
            newest: None,
            detail: Detail::default(),
        }
    }

    /// Returns the bytes delivered since the start.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Notes a packet sent at `now` while no earlier packet is in flight.
    #[inline]
    pub(crate) fn restart(&mut self, now: Time) {
        self.first_sent = now;
        self.delivered_at = now;
    }

    /// Returns the state with which a packet sent now will be compared when it is acknowledged, and
    /// the controller's tag.
    #[inline]
    pub(crate) fn detail(&self, tag: u64) -> Detail {
        Detail {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            app_limited: self.is_app_limited(),
            tag,
        }
    }

    /// Notes that the application has nothing to send although the window has room.
    #[inline]
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_end = self.delivered + in_flight + 1;
    }

    /// Returns true until more is delivered than was in flight when the application last had
    /// nothing to send (Linux `tcp_rate_gen`).
    #[inline]
    pub(crate) fn is_app_limited(&self) -> bool {
        self.delivered < self.app_limited_end
    }

    /// Notes the acknowledgement of a packet that had been declared lost: its bytes count, but it
    /// gives no sample.
    pub(crate) fn on_late(&mut self, size: u32) {
        self.delivered += size as u64;
    }

    /// Notes the acknowledgement of a packet. Without `detail` it gives no sample.
    #[inline]
    pub(crate) fn on_acked(&mut self, now: Time, entry: &Entry, detail: Option<&Detail>) {
        self.on_delivered(now, entry.size);
        self.on_arrived(entry, detail);
    }

    /// Notes that `size` bytes were acknowledged.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Time, size: u32) {
        self.delivered += size as u64;
        self.delivered_at = now;
    }

    /// Notes a packet that has arrived, and from which the sample is taken if it is the newest one.
    #[inline]
    pub(crate) fn on_arrived(&mut self, entry: &Entry, detail: Option<&Detail>) {
        let newer =
            self.newest.is_none_or(|n| (entry.delivered, entry.sent) >= (n.delivered, n.sent));
        if newer {
            self.first_sent = entry.sent;
            self.newest = Some(Snapshot { sent: entry.sent, delivered: entry.delivered });
            if let Some(detail) = detail {
                self.detail = *detail;
            }
        }
    }

    /// Does [`RateSampler::on_acked`] for all packets of a run, the first ones of an
    /// acknowledgement, that have `bytes` bytes and of which `newest` was sent last.
    #[inline(always)]
    pub(crate) fn on_acked_run(
        &mut self,
        now: Time,
        bytes: u64,
        newest: &Entry,
        detail: Option<&Detail>,
    ) {
        self.delivered += bytes;
        self.delivered_at = now;
        self.first_sent = newest.sent;
        self.newest = Some(Snapshot { sent: newest.sent, delivered: newest.delivered });
        if let Some(detail) = detail {
            self.detail = *detail;
        }
    }

    /// Ends an acknowledgement. Returns the total of bytes delivered when its newest packet was
    /// sent.
    #[inline]
    pub(crate) fn newest_prior_delivered(&self) -> Option<u64> {
        self.newest.map(|newest| newest.delivered)
    }

    /// Ends an acknowledgement without taking a sample.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.newest = None;
    }

    /// Ends an acknowledgement and returns its sample. Intervals shorter than the smallest RTT are
    /// artefacts of compressed acknowledgements and give no sample.
    #[inline]
    pub(crate) fn take(&mut self, min_rtt: Span) -> Option<RateSample> {
        let newest = self.newest.take()?;
        let send_phase = newest.sent.since(self.detail.first_sent);
        let ack_phase = self.delivered_at.since(self.detail.delivered_at);
        let interval = send_phase.max(ack_phase);
        if interval < min_rtt || interval.is_zero() {
            return None;
        }
        let delivered = self.delivered - newest.delivered;
        let mut sample = RateSample::new(delivered, interval, newest.delivered);
        sample.app_limited = self.detail.app_limited;
        Some(sample)
    }
}
