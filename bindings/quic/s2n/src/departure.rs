//! Departure times of packets under a pacing rate.

use paceline_cc::{Rate, Span, Time};

/// Spreads packets over time by a rate, in groups of a scheme's burst.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Departure {
    /// Time at which all packets so far would have left at the pacing rate.
    paid: Time,
    /// Time by which the next packet may leave before that.
    ahead: Span,
    paced: bool,
}

impl Departure {
    /// Records that a packet of `size` bytes leaves at `now`; `burst` bytes may leave back to back.
    pub(crate) fn on_sent(&mut self, now: Time, size: u32, rate: Option<Rate>, burst: u64) {
        let Some(rate) = rate else {
            *self = Departure::default();
            return;
        };
        self.paid = self.paid.max(now) + rate.time_for(u64::from(size)).min(Span::from_secs(1));
        self.ahead = rate.time_for(burst.saturating_sub(u64::from(size))).min(Span::from_secs(1));
        self.paced = true;
    }

    /// Returns the time at which the next packet may leave; `None` for at once.
    pub(crate) fn next(&self) -> Option<Time> {
        self.paced.then(|| self.paid - self.ahead.min(self.paid.since(Time::ZERO)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_at_the_rate_in_groups() {
        // 12 Mbit/s: a packet of 1500 bytes every millisecond, in groups of three.
        let rate = Some(Rate::from_mbps(12.0));
        let mut departure = Departure::default();
        let mut now = Time::ZERO;
        let mut left = Vec::new();
        for _ in 0..7 {
            now = departure.next().map_or(now, |next| next.max(now));
            departure.on_sent(now, 1500, rate, 4500);
            left.push(now.as_nanos() / 1_000_000);
        }
        assert_eq!(left, [0, 0, 0, 1, 2, 3, 4]);
        // After a pause, at most one group leaves early.
        let later = Time::from_millis(100);
        departure.on_sent(later, 1500, rate, 4500);
        assert_eq!(departure.next(), Some(Time::from_millis(99)));
        departure.on_sent(later, 1500, None, 4500);
        assert_eq!(departure.next(), None);
    }
}
