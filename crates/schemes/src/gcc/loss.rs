//! The loss-based controller (draft §6).

use paceline_cc::{Fate, Rate, Span, Time};

/// The least time between changes, beside the RTT.
const LEAST_TIME: Span = Span::from_millis(100);
/// Minimum number of packets for a new loss ratio. With fewer packets, no loss among them and a
/// small previous ratio, the previous ratio stays.
const LEAST_PACKETS: u32 = 20;

#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// In bits per second.
    rate: f64,
    lost: u32,
    total: u32,
    /// The last share of losses.
    share: f64,
    since: Option<Time>,
}

/// Numbers of packets that an acknowledgement or a timer reports as arrived or lost.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Fates {
    /// Packets newly reported as arrived or lost, and how many of these are lost.
    total: u32,
    lost: u32,
    /// Packets that arrived after they had been reported as lost.
    late: u32,
}

impl Fates {
    pub(super) fn note(&mut self, fate: &Fate) {
        self.total += u32::from(!fate.late);
        self.lost += u32::from(fate.lost);
        self.late += u32::from(fate.late);
    }
}

/// The rate for a share of losses.
fn judge(rate: f64, share: f64) -> f64 {
    if share > 0.1 {
        rate * (1.0 - 0.5 * share)
    } else if share < 0.02 {
        rate * 1.05
    } else {
        rate
    }
}

impl Loss {
    pub(super) fn new(rate: Rate) -> Loss {
        Loss { rate: rate.as_bps() as f64, lost: 0, total: 0, share: 0.0, since: None }
    }

    /// In bits per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Packets' fates are known. `delay` is the other controller's rate.
    pub(super) fn on_fates(&mut self, now: Time, fates: Fates, rtt: Span, delay: f64) {
        // A late packet counts as arrived, unless its loss has been judged already.
        self.lost = (self.lost + fates.lost).saturating_sub(fates.late);
        self.total += fates.total;
        let since = *self.since.get_or_insert(now);
        if now.since(since) < rtt.max(LEAST_TIME) {
            return;
        }
        if self.total >= LEAST_PACKETS {
            self.share = f64::from(self.lost) / f64::from(self.total);
            (self.lost, self.total) = (0, 0);
        } else if self.lost > 0 || self.total == 0 || self.share >= 0.02 {
            return;
        }
        // A reduction starts from the rate at which packets were really sent.
        let sent = if self.share > 0.1 { self.rate.min(delay) } else { self.rate };
        self.rate = judge(sent, self.share);
        self.since = Some(now);
    }

    /// Keeps the rate within bounds.
    pub(super) fn clamp(&mut self, least: Rate, most: Rate) {
        self.rate = self.rate.max(least.as_bps() as f64).min(most.as_bps() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_the_table() {
        let table =
            [(0.0, 105.0), (0.019, 105.0), (0.02, 100.0), (0.1, 100.0), (0.2, 90.0), (1.0, 50.0)];
        for (share, rate) in table {
            assert!((judge(100.0, share) - rate).abs() < 1e-9, "{share}");
        }
    }

    #[test]
    fn judges_once_per_round_trip_and_twenty_packets() {
        let mut loss = Loss::new(Rate::from_mbps(1.0));
        let rtt = Span::from_millis(150);
        let mut on = |ms: u64, lost: u32, total: u32| {
            let fates = Fates { lost, total, late: 0 };
            loss.on_fates(Time::from_millis(ms), fates, rtt, 2e6);
            loss.rate()
        };
        assert_eq!(on(0, 10, 40), 1e6);
        assert_eq!(on(149, 0, 0), 1e6);
        assert_eq!(on(150, 0, 0), 1e6 * (1.0 - 0.125));
        // Few packets do not make up for that; twenty do, and then few are enough.
        assert_eq!(on(300, 0, 19), 875_000.0);
        assert_eq!(on(310, 0, 1), 875_000.0 * 1.05);
        assert_eq!(on(460, 0, 2), 875_000.0 * 1.05 * 1.05);
        // A loss among few waits for more.
        assert_eq!(on(610, 1, 5), 875_000.0 * 1.05 * 1.05);
        assert_eq!(on(620, 0, 13), 875_000.0 * 1.05 * 1.05);
    }

    #[test]
    fn a_late_packet_counts_once_and_as_arrived() {
        let mut loss = Loss::new(Rate::from_mbps(1.0));
        let fate = |number, lost, late| {
            Fate::new(number, 1200, Time::ZERO, 0, lost).with(|fate| fate.late = late)
        };
        let mut on = |ms: u64, told: &[Fate]| {
            let mut fates = Fates::default();
            told.iter().for_each(|fate| fates.note(fate));
            loss.on_fates(Time::from_millis(ms), fates, Span::from_millis(100), 2e6);
            (loss.lost, loss.total, loss.rate())
        };
        let lost: Vec<Fate> = (0..3).map(|number| fate(number, true, false)).collect();
        let arrived: Vec<Fate> = (3..22).map(|number| fate(number, false, false)).collect();
        let late: Vec<Fate> = (0..3).map(|number| fate(number, false, true)).collect();
        assert_eq!(on(0, &lost), (3, 3, 1e6));
        assert_eq!(on(10, &late), (0, 3, 1e6));
        // 22 packets and no loss: the rate goes up.
        assert_eq!(on(100, &arrived), (0, 0, 1.05e6));
        // Losses that have been judged are not taken back.
        assert_eq!(on(110, &late), (0, 0, 1.05e6));
    }
}
