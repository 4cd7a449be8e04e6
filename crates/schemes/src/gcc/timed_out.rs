//! Packets that the sender's timer has declared lost.
//!
//! libwebrtc has no such timer: a packet is lost when a report tells of a later one. So these packets count as lost
//! only then, and never if they arrive after all, as after an outage of some seconds.

use std::collections::VecDeque;

use paceline_cc::Fate;

/// Number of packets that are remembered. Further ones never count as lost.
const MOST: usize = 4096;

/// Packets that the timer has declared lost, and about which no report has come yet.
#[derive(Clone, Debug, Default)]
pub(super) struct TimedOut {
    /// In the order of their numbers, mostly: after an undone timeout, a second one begins again.
    fates: VecDeque<Fate>,
}

impl TimedOut {
    /// The timer has declared a packet lost.
    pub(super) fn on_timeout(&mut self, fate: &Fate) {
        if self.fates.len() < MOST && !self.fates.iter().any(|known| known.number == fate.number) {
            self.fates.push_back(*fate);
        }
    }

    /// Takes a packet out that is acknowledged, or declared lost by a later one. Returns false if it is not here.
    #[inline]
    pub(super) fn remove(&mut self, number: u64) -> bool {
        if self.fates.is_empty() {
            return false;
        }
        let place = self.fates.iter().position(|fate| fate.number == number);
        place.is_some_and(|at| self.fates.remove(at).is_some())
    }

    /// Takes a packet out that was sent before packet `newest`, which has arrived: it counts as lost now.
    #[inline]
    pub(super) fn pop_before(&mut self, newest: u64) -> Option<Fate> {
        let is_missing = self.fates.front().is_some_and(|fate| fate.number < newest);
        if is_missing { self.fates.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Time;

    use super::*;

    #[test]
    fn a_packet_is_lost_when_a_later_one_is_reported_and_not_before() {
        let mut timed_out = TimedOut::default();
        for number in [3, 4, 5, 7, 4] {
            timed_out.on_timeout(&Fate::new(number, 100, Time::ZERO, 0, true));
        }
        assert!(!timed_out.remove(2) && timed_out.pop_before(2).is_none());
        assert!(timed_out.remove(3) && !timed_out.remove(3));
        assert!(timed_out.remove(5) && timed_out.pop_before(4).is_none());
        assert_eq!(timed_out.pop_before(6).map(|fate| fate.number), Some(4));
        assert!(
            timed_out.pop_before(6).is_none()
                && timed_out.remove(7)
                && timed_out.pop_before(9).is_none()
        );
    }
}
