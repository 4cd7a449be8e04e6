//! QUIC's rules about lost packets where the simulator's sender has others.

use std::collections::VecDeque;

use paceline_cc::{Fate, Span, Time};

/// A packet is lost if one sent this many numbers later is acknowledged (RFC 9002 §6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// Packets that the simulator's sender has declared lost because its timer expired. QUIC's probe timeout declares
/// no packet lost (RFC 9002 §6.2): they stay in flight until an acknowledgement shows what became of them.
#[derive(Default)]
pub(crate) struct Unanswered {
    /// Oldest first.
    packets: VecDeque<Fate>,
    bytes: u64,
}

impl Unanswered {
    /// Returns the sum of the packets' sizes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the packets that a timeout of the sender has declared lost.
    pub(crate) fn on_timeout(&mut self, fates: &[Fate]) {
        self.packets.extend(fates.iter().filter(|fate| fate.lost));
        self.count();
    }

    /// Forgets all packets: the sender counts them as in flight again, and will tell what became of them.
    pub(crate) fn on_undo(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    /// Removes packets that have been acknowledged, and moves to `lost` those that are lost by RFC 9002 §6.1:
    /// sent before the newest acknowledged packet, by three packets or by the time `delay`.
    pub(crate) fn on_fates(
        &mut self,
        fates: &[Fate],
        now: Time,
        delay: Span,
        lost: &mut Vec<Fate>,
    ) {
        let acked = fates.iter().filter(|fate| !fate.lost).map(|fate| fate.number);
        let Some(newest) = acked.max().filter(|_| !self.packets.is_empty()) else { return };
        self.packets.retain(|packet| {
            let is_of = |fate: &Fate| fate.number == packet.number;
            let is_acked = fates.iter().any(|fate| !fate.lost && is_of(fate));
            let is_lost = !is_acked
                && packet.number < newest
                && (packet.number + PACKET_THRESHOLD <= newest || packet.sent + delay <= now);
            if is_lost {
                lost.push(*packet);
            }
            !is_acked && !is_lost
        });
        self.count();
    }

    fn count(&mut self) {
        self.bytes = self.packets.iter().map(|packet| u64::from(packet.size)).sum();
    }
}

/// Returns true if lost packets, oldest first, are persistent congestion (RFC 9002 §7.6.2): the first and the last
/// of a series without a gap, both sent at `since` or later, were sent more than `threshold` apart.
pub(crate) fn is_persistent(lost: &[Fate], since: Time, threshold: Span) -> bool {
    let mut series: Option<(Time, u64)> = None;
    lost.iter().filter(|fate| fate.sent >= since).any(|fate| {
        let begun = series.filter(|(_, last)| last + 1 == fate.number).map(|(begun, _)| begun);
        let begun = begun.unwrap_or(fate.sent);
        series = Some((begun, fate.number));
        fate.sent.since(begun) > threshold
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64, at_ms: u64, lost: bool) -> Fate {
        Fate::new(number, 1500, Time::ZERO + Span::from_millis(at_ms), 0, lost)
    }

    fn numbers(fates: &[Fate]) -> Vec<u64> {
        fates.iter().map(|fate| fate.number).collect()
    }

    #[test]
    fn a_timeout_loses_nothing_until_a_later_packet_is_acknowledged() {
        let mut unanswered = Unanswered::default();
        let sent: Vec<Fate> = (0..6).map(|number| packet(number, 100 * number, true)).collect();
        unanswered.on_timeout(&sent);
        assert_eq!(unanswered.bytes(), 9000);
        let mut lost = Vec::new();
        let mut answer = |number, now_ms: u64| {
            lost.clear();
            let now = Time::ZERO + Span::from_millis(now_ms);
            let delay = Span::from_millis(250);
            unanswered.on_fates(&[packet(number, 0, false)], now, delay, &mut lost);
            (numbers(&lost), unanswered.bytes())
        };
        assert_eq!(answer(0, 600), (vec![], 7500));
        // 1 is three packets older than 4, and 2 has waited for 400 ms.
        assert_eq!(answer(4, 600), (vec![1, 2, 3], 1500));
        assert_eq!(answer(9, 600), (vec![5], 0));
    }

    #[test]
    fn only_a_long_series_without_a_gap_is_persistent() {
        let threshold = Span::from_millis(900);
        let is = |list: &[(u64, u64)], since_ms| {
            let lost: Vec<Fate> =
                list.iter().map(|&(number, at)| packet(number, at, true)).collect();
            is_persistent(&lost, Time::ZERO + Span::from_millis(since_ms), threshold)
        };
        assert!(is(&[(3, 100), (4, 500), (5, 1001)], 0));
        assert!(!is(&[(3, 100), (4, 500), (5, 1000)], 0));
        // Packet 4 was acknowledged, or the first RTT sample came after packet 3.
        assert!(!is(&[(3, 100), (5, 1001)], 0));
        assert!(!is(&[(3, 100), (4, 500), (5, 1001)], 200));
    }
}
