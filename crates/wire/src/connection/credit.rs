//! Flow control by the reading application: a limit of the bytes of the stream that the sending end
//! may send.
//!
//! The reading end grants a window beyond the bytes that its application has consumed
//! ([`GrantedCredit`]), as QUIC's MAX_DATA does (RFC 9000 §4.1). The sending end stops at this
//! limit, and asks at intervals whether it has increased ([`SpentCredit`]), since the frame that
//! granted more may have been lost (RFC 9293 §3.8.6.1).

use paceline_cc::{Span, Time};

/// Minimum wait before the sending end asks; each further wait is twice as long.
const FIRST_PROBE: Span = Span::from_millis(200);
/// Maximum wait between two questions.
const LONGEST_PROBE: Span = Span::from_millis(5000);
/// Minimum number of bytes granted at once, or half of the window if that is less, so that the
/// sending end sends no small segments (RFC 9293 §3.8.6.2.2).
const LEAST_GRANT: u64 = 4096;

/// The credit that the reading end has granted.
#[derive(Debug)]
pub(super) struct GrantedCredit {
    window: u64,
    /// Bytes passed to the application, and bytes of these that it has consumed.
    delivered: u64,
    consumed: u64,
    /// Offset in the stream up to which the other end may send, as last written.
    limit: u64,
    /// True if the other end has asked.
    is_asked: bool,
}

impl GrantedCredit {
    pub(super) fn new(window: u64) -> GrantedCredit {
        GrantedCredit { window, delivered: 0, consumed: 0, limit: window, is_asked: false }
    }
    /// Returns the bytes passed to the application and not consumed.
    pub(super) fn unread(&self) -> u64 {
        self.delivered - self.consumed
    }
    pub(super) fn on_delivered(&mut self, bytes: u64) {
        self.delivered += bytes;
    }
    /// Notes that the application has consumed `bytes` more, at most those that were passed to it.
    pub(super) fn consume(&mut self, bytes: u64) {
        self.consumed = self.consumed.saturating_add(bytes).min(self.delivered);
    }
    pub(super) fn on_asked(&mut self) {
        self.is_asked = true;
    }
    fn growth(&self) -> u64 {
        self.consumed.saturating_add(self.window).saturating_sub(self.limit)
    }
    /// Returns true if enough of the window is free for a new grant, or if the other end has asked.
    pub(super) fn is_due(&self) -> bool {
        self.is_asked || self.growth() >= (self.window / 2).max(1)
    }
    /// Returns the limit to be written, if it is due.
    pub(super) fn pop(&mut self) -> Option<u64> {
        if !self.is_due() {
            return None;
        }
        self.is_asked = false;
        let growth = self.growth();
        if growth >= LEAST_GRANT.min(self.window / 2) {
            self.limit += growth;
        }
        Some(self.limit)
    }
}

/// The limit of the sending end, and when it asks for more.
#[derive(Debug)]
pub(super) struct SpentCredit {
    /// Offset in the stream up to which data may be sent; `u64::MAX` if the other end grants no
    /// credit.
    limit: u64,
    /// When the question is due; [`Time::NEVER`] while no data waits for credit.
    probe: Time,
    /// Number of questions since credit was last granted.
    probes: u32,
}

impl SpentCredit {
    pub(super) fn new(limit: u64) -> SpentCredit {
        SpentCredit { limit, probe: Time::NEVER, probes: 0 }
    }
    /// Returns the number of bytes that may be sent from `offset` on.
    #[inline]
    pub(super) fn beyond(&self, offset: u64) -> u64 {
        self.limit.saturating_sub(offset)
    }
    /// Notes that the other end grants the bytes below `limit`. A smaller limit than before is
    /// ignored.
    pub(super) fn on_granted(&mut self, limit: u64) {
        if limit > self.limit {
            self.limit = limit;
            (self.probe, self.probes) = (Time::NEVER, 0);
        }
    }
    /// Returns when [`SpentCredit::pop`] is next worth calling while data waits for credit.
    pub(super) fn wake(&self) -> Time {
        self.probe
    }
    /// Returns the limit to ask with, if the question is due. `waits` is true while data waits for
    /// credit.
    #[inline]
    pub(super) fn pop(&mut self, now: Time, waits: bool, rtt: Span) -> Option<u64> {
        if !waits {
            self.probe = Time::NEVER;
            return None;
        }
        let wait =
            (FIRST_PROBE.max(rtt * 2) * (1 << self.probes.min(8))).min(LONGEST_PROBE.max(rtt * 2));
        if self.probe == Time::NEVER {
            self.probe = now + wait;
        }
        if now < self.probe {
            return None;
        }
        self.probes = self.probes.saturating_add(1);
        self.probe = now + (wait * 2).min(LONGEST_PROBE.max(rtt * 2));
        Some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_granted_anew_when_half_of_the_window_is_free() {
        let mut credit = GrantedCredit::new(10_000);
        credit.on_delivered(10_000);
        credit.consume(4_999);
        assert_eq!(credit.pop(), None);
        credit.consume(1);
        assert_eq!((credit.pop(), credit.pop()), (Some(15_000), None));
        // Too little is free for a new grant: a question is answered with the unchanged limit.
        credit.consume(1_000);
        credit.on_asked();
        assert_eq!((credit.pop(), credit.pop()), (Some(15_000), None));
        credit.consume(3_500);
        credit.on_asked();
        assert_eq!(credit.pop(), Some(19_500));
        // More bytes than were passed on do not count.
        credit.consume(u64::MAX);
        assert_eq!((credit.unread(), credit.pop()), (0, None));
        credit.on_asked();
        assert_eq!(credit.pop(), Some(19_500));
    }

    #[test]
    fn questions_become_rarer_and_granted_credit_stays() {
        let mut credit = SpentCredit::new(1000);
        assert_eq!(credit.beyond(400), 600);
        let (mut now, mut times, rtt) = (Time::from_secs(1), Vec::new(), Span::from_millis(10));
        assert_eq!(credit.pop(now, true, rtt), None);
        for _ in 0..9 {
            let before = now;
            now = credit.wake();
            assert_eq!(credit.pop(now, true, rtt), Some(1000));
            times.push(now.since(before).as_nanos() / 1_000_000);
        }
        assert_eq!(times, [200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
        credit.on_granted(10);
        assert_eq!((credit.beyond(400), credit.beyond(5000)), (600, 0));
        credit.on_granted(u64::MAX);
        assert_eq!((credit.beyond(0), credit.wake()), (u64::MAX, Time::NEVER));
        assert_eq!(credit.pop(now, false, rtt), None);
    }
}
