//! Pacing: decides when the next packet may leave.

use paceline_cc::{Rate, Span, Time};

/// Largest lateness of a group of packets that a sender with a rate limit makes up for.
const LAG: Span = Span::from_millis(10);

/// Releases packets in groups, as segmentation offload does: the packets of a group leave back to
/// back, and the next group waits for the time that this one takes at the pacing rate.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    rate: Option<Rate>,
    /// Minimum time between packets, and when the last one left; time zero before the first.
    gap: Span,
    last: Time,
    /// When the present group began, its bytes so far, and whether it is full.
    start: Time,
    group: u64,
    full: bool,
    /// True if groups that begin late make up for up to [`LAG`]: with a rate limit.
    catches_up: bool,
    /// True before the connection is established: no packet may leave then.
    held: bool,
    next: Time,
}

impl Pacer {
    /// Returns when the next packet may leave.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Returns true if no packet may leave at any rate.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Holds all packets back, or lets them leave at the pacing rate again.
    pub(crate) fn hold(&mut self, held: bool) {
        self.held = held;
        self.close();
    }

    /// Paces at `rate` from now on, with packets at least `gap` apart. Without rate and gap nothing
    /// is paced.
    #[inline]
    pub(crate) fn set(&mut self, rate: Option<Rate>, gap: Span) {
        if rate != self.rate || gap != self.gap {
            (self.rate, self.gap) = (rate, gap);
            self.close();
        }
    }

    /// Sets whether a group that begins late by at most [`LAG`] counts as begun on time, so that
    /// late wake-ups do not lower the rate. If false, each group counts from when it really begins.
    #[inline]
    pub(crate) fn set_catches_up(&mut self, catches_up: bool) {
        self.catches_up = catches_up;
    }

    /// Lets the next packet leave without keeping the gap to the last one, since a new connection
    /// begins.
    pub(crate) fn forget_gap(&mut self) {
        self.last = Time::ZERO;
        self.close();
    }

    #[inline]
    fn close(&mut self) {
        self.next = match self.rate {
            _ if self.held => Time::NEVER,
            Some(rate) if self.full => self.start + rate.time_for(self.group),
            _ => Time::ZERO,
        };
        if !self.gap.is_zero() && self.last != Time::ZERO {
            self.next = self.next.max(self.last + self.gap);
        }
    }

    /// Notes that a packet of `size` bytes leaves at `now`. A group holds `burst` bytes, at least
    /// one packet.
    #[inline(always)]
    pub(crate) fn on_send(&mut self, now: Time, size: u32, burst: u32) {
        match self.rate {
            Some(rate) => self.pace(now, size, burst, rate),
            None => self.keep_gap(now),
        }
    }

    /// Does [`Pacer::on_send`] at a pacing rate.
    #[inline(never)]
    fn pace(&mut self, now: Time, size: u32, burst: u32, rate: Rate) {
        self.last = now;
        // When the next group is due takes a division, and is mostly not needed.
        let due = || self.start + rate.time_for(self.group);
        if self.full || self.group == 0 || due() <= now {
            self.start = match self.catches_up && self.group > 0 {
                true => due().max(now - LAG),
                false => now,
            };
            self.group = 0;
        }
        self.group += size as u64;
        // The group is full if one more packet of this size would not fit.
        self.full = self.group + size as u64 > burst as u64;
        self.close();
    }

    /// Notes that a packet leaves at `now`, and that only the gap holds the next one back.
    #[inline]
    fn keep_gap(&mut self, now: Time) {
        if !self.gap.is_zero() {
            self.last = now;
            self.next = now + self.gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_single_packets() {
        let mut pacer = Pacer::default();
        pacer.set(Some(Rate::from_mbps(12.0)), Span::ZERO);
        let start = Time::from_secs(1);
        pacer.on_send(start, 1500, 0);
        assert_eq!(pacer.next(), start + Span::from_millis(1));
        pacer.on_send(pacer.next(), 1500, 0);
        assert_eq!(pacer.next(), start + Span::from_millis(2));
    }

    #[test]
    fn releases_groups() {
        let mut pacer = Pacer::default();
        pacer.set(Some(Rate::from_mbps(12.0)), Span::ZERO);
        let start = Time::from_secs(1);
        pacer.on_send(start, 1500, 3000);
        assert!(pacer.next() <= start);
        pacer.on_send(start + Span::from_micros(100), 1500, 3000);
        assert_eq!(pacer.next(), start + Span::from_millis(2));
        // A group that was not filled within its time is over.
        pacer.on_send(Time::from_secs(2), 1500, 3000);
        pacer.on_send(Time::from_secs(3), 1500, 3000);
        assert!(pacer.next() <= Time::from_secs(3));
    }

    #[test]
    fn with_a_lag_late_packets_cost_no_rate() {
        let mut pacer = Pacer::default();
        pacer.set(Some(Rate::from_mbps(12.0)), Span::ZERO);
        pacer.set_catches_up(true);
        let start = Time::from_secs(1);
        pacer.on_send(start, 1500, 0);
        // The pacer is called 3 ms late: three packets leave at once, and the fourth on time.
        let late = start + Span::from_millis(4);
        let mut sent = 0;
        while pacer.next() <= late {
            pacer.on_send(late, 1500, 0);
            sent += 1;
        }
        assert_eq!((sent, pacer.next()), (4, start + Span::from_millis(5)));
        // A packet that leaves early delays those behind it.
        pacer.on_send(late, 1500, 0);
        assert_eq!(pacer.next(), start + Span::from_millis(6));
        // After a pause, at most [`LAG`] is made up for.
        let later = Time::from_secs(9);
        let mut sent = 0;
        while pacer.next() <= later {
            pacer.on_send(later, 1500, 0);
            sent += 1;
        }
        assert_eq!(sent, 11);
    }

    #[test]
    fn a_new_rate_takes_effect_at_once() {
        let mut pacer = Pacer::default();
        pacer.set(Some(Rate::ZERO), Span::ZERO);
        pacer.on_send(Time::from_secs(1), 1500, 0);
        assert_eq!(pacer.next(), Time::NEVER);
        pacer.set(Some(Rate::from_mbps(12.0)), Span::ZERO);
        assert_eq!(pacer.next(), Time::from_millis(1001));
        pacer.set(None, Span::ZERO);
        assert_eq!(pacer.next(), Time::ZERO);
    }

    #[test]
    fn keeps_a_gap_beside_the_rate() {
        let mut pacer = Pacer::default();
        let (start, gap) = (Time::from_secs(1), Span::from_nanos(1_234_567));
        pacer.set(None, gap);
        assert_eq!(pacer.next(), Time::ZERO);
        pacer.on_send(start, 1500, 0);
        assert_eq!(pacer.next(), start + gap);
        // First a rate at which packets are further apart than the gap, then one at which they are
        // closer.
        pacer.set(Some(Rate::from_mbps(6.0)), gap);
        pacer.on_send(start + gap, 1500, 0);
        assert_eq!(pacer.next(), start + gap + Span::from_millis(2));
        pacer.set(Some(Rate::from_mbps(12.0)), gap);
        assert_eq!(pacer.next(), start + gap + gap);
        // A shorter gap takes effect at once, and a new connection forgets the gap.
        pacer.set(None, Span::from_micros(1));
        assert_eq!(pacer.next(), start + gap + Span::from_micros(1));
        pacer.forget_gap();
        assert_eq!(pacer.next(), Time::ZERO);
    }
}
