//! Pacing: when the next packet may leave.

use paceline_cc::{Rate, Time};

/// Releases packets in groups, as segmentation offload does: the packets of a group leave back to
/// back, and the next group waits for the time that this one takes at the pacing rate.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    rate: Option<Rate>,
    /// When the group began, its bytes so far, and whether it is full.
    start: Time,
    group: u64,
    full: bool,
    next: Time,
}

impl Pacer {
    /// When the next packet may leave.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Paces at `rate` from now on; `None` does not pace.
    #[inline]
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        if rate != self.rate {
            self.rate = rate;
            self.close();
        }
    }

    #[inline]
    fn close(&mut self) {
        self.next = match self.rate {
            Some(rate) if self.full => self.start + rate.time_for(self.group),
            _ => Time::ZERO,
        };
    }

    /// A packet of `size` bytes leaves at `now`; a group holds `burst` bytes, at least a packet.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Time, size: u32, burst: u32) {
        let Some(rate) = self.rate else { return };
        if self.full || self.group == 0 || self.start + rate.time_for(self.group) <= now {
            self.start = now;
            self.group = 0;
        }
        self.group += size as u64;
        // Full if one more packet like this would not fit.
        self.full = self.group + size as u64 > burst as u64;
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Span;

    #[test]
    fn spaces_single_packets() {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(Rate::from_mbps(12.0)));
        let start = Time::from_secs(1);
        pacer.on_send(start, 1500, 0);
        assert_eq!(pacer.next(), start + Span::from_millis(1));
        pacer.on_send(pacer.next(), 1500, 0);
        assert_eq!(pacer.next(), start + Span::from_millis(2));
    }

    #[test]
    fn releases_groups() {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(Rate::from_mbps(12.0)));
        let start = Time::from_secs(1);
        pacer.on_send(start, 1500, 3000);
        assert!(pacer.next() <= start);
        pacer.on_send(start + Span::from_micros(100), 1500, 3000);
        assert_eq!(pacer.next(), start + Span::from_millis(2));
        // A group that was not filled in time is over.
        pacer.on_send(Time::from_secs(2), 1500, 3000);
        pacer.on_send(Time::from_secs(3), 1500, 3000);
        assert!(pacer.next() <= Time::from_secs(3));
    }

    #[test]
    fn a_new_rate_takes_effect_at_once() {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(Rate::ZERO));
        pacer.on_send(Time::from_secs(1), 1500, 0);
        assert_eq!(pacer.next(), Time::NEVER);
        pacer.set_rate(Some(Rate::from_mbps(12.0)));
        assert_eq!(pacer.next(), Time::from_millis(1001));
        pacer.set_rate(None);
        assert_eq!(pacer.next(), Time::ZERO);
    }
}
