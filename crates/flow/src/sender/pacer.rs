//! Pacing: when the next packet may leave.

use paceline_cc::{Rate, Span, Time};

/// Lateness of a group of packets that a sender under a limit makes up for.
const LAG: Span = Span::from_millis(10);

/// Releases packets in groups, as segmentation offload does: the packets of a group leave back to
/// back, and the next group waits for the time that this one takes at the pacing rate.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    rate: Option<Rate>,
    /// The least time between packets, and when the last one left; time zero before the first.
    gap: Span,
    last: Time,
    /// When the group began, its bytes so far, and whether it is full.
    start: Time,
    group: u64,
    full: bool,
    /// True if groups that begin late make up for [`LAG`]: under a limit of the rate.
    catches_up: bool,
    /// True before the connection is established: no packet may leave.
    held: bool,
    next: Time,
}

impl Pacer {
    /// When the next packet may leave.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// True if no packet may leave, whatever the rate.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Holds all packets back, or lets them go on at the rate.
    pub(crate) fn hold(&mut self, held: bool) {
        self.held = held;
        self.close();
    }

    /// Paces at `rate` from now on, with packets at least `gap` apart; no rate and no gap do not pace.
    #[inline]
    pub(crate) fn set(&mut self, rate: Option<Rate>, gap: Span) {
        if rate != self.rate || gap != self.gap {
            (self.rate, self.gap) = (rate, gap);
            self.close();
        }
    }

    /// From now on a group that begins late by at most [`LAG`] counts as begun at its time, so that late wake-ups cost no
    /// rate; or each group begins when it does.
    #[inline]
    pub(crate) fn set_catches_up(&mut self, catches_up: bool) {
        self.catches_up = catches_up;
    }

    /// The next packet need not keep the gap to the last one: a new connection begins.
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

    /// A packet of `size` bytes leaves at `now`; a group holds `burst` bytes, at least a packet.
    #[inline(always)]
    pub(crate) fn on_send(&mut self, now: Time, size: u32, burst: u32) {
        match self.rate {
            Some(rate) => self.pace(now, size, burst, rate),
            None => self.keep_gap(now),
        }
    }

    /// The same at a pacing rate.
    #[inline(never)]
    fn pace(&mut self, now: Time, size: u32, burst: u32, rate: Rate) {
        self.last = now;
        let due = self.start + rate.time_for(self.group);
        if self.full || self.group == 0 || due <= now {
            self.start = match self.catches_up && self.group > 0 {
                true => due.max(now - LAG),
                false => now,
            };
            self.group = 0;
        }
        self.group += size as u64;
        // Full if one more packet like this would not fit.
        self.full = self.group + size as u64 > burst as u64;
        self.close();
    }

    /// A packet leaves at `now`, and nothing but the gap holds the next one back.
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
        // A group that was not filled in time is over.
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
        // Woken 3 ms late: three packets leave at once, and the fourth at its time.
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
        // After a pause, no more than the lag is caught up.
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
        // A rate that takes longer, and one that does not.
        pacer.set(Some(Rate::from_mbps(6.0)), gap);
        pacer.on_send(start + gap, 1500, 0);
        assert_eq!(pacer.next(), start + gap + Span::from_millis(2));
        pacer.set(Some(Rate::from_mbps(12.0)), gap);
        assert_eq!(pacer.next(), start + gap + gap);
        // Shorter at once, and forgotten with the connection.
        pacer.set(None, Span::from_micros(1));
        assert_eq!(pacer.next(), start + gap + Span::from_micros(1));
        pacer.forget_gap();
        assert_eq!(pacer.next(), Time::ZERO);
    }
}
