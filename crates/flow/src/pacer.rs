//! Pacing: when the next packet may leave.

use paceline_cc::{Rate, Span, Time};

/// Spaces packets by their size over the pacing rate. An unused allowance of up to `burst` bytes
/// is kept.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    rate: Option<Rate>,
    /// When the last packet's share of the rate began, and its size.
    start: Time,
    size: u32,
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
            self.next = match rate {
                Some(rate) if self.size > 0 => self.start + rate.time_for(self.size as u64),
                _ => Time::ZERO,
            };
        }
    }

    /// A packet of `size` bytes leaves at `now`.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Time, size: u32, burst: u32) {
        if let Some(rate) = self.rate {
            let credit = if burst == 0 { Span::ZERO } else { rate.time_for(burst as u64) };
            self.start = self.next.max(now - credit);
            self.size = size;
            self.next = self.start + rate.time_for(size as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_packets_and_keeps_a_burst() {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(Rate::from_mbps(12.0)));
        let start = Time::from_secs(1);
        pacer.on_send(start, 1500, 0);
        assert_eq!(pacer.next(), start + Span::from_millis(1));
        // After a pause, a burst of two packets leaves at once and the third waits.
        let later = Time::from_secs(2);
        pacer.on_send(later, 1500, 3000);
        pacer.on_send(later, 1500, 3000);
        assert_eq!(pacer.next(), later);
        pacer.on_send(later, 1500, 3000);
        assert_eq!(pacer.next(), later + Span::from_millis(1));
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
