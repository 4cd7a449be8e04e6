//! Packets that the sender's timer has declared lost.
//!
//! libwebrtc has no such timer: a packet is lost when a report tells of a later one. So these packets count as lost
//! only then, and never if they arrive after all, as after an outage of some seconds.

use std::collections::VecDeque;

use paceline_cc::Fate;

/// At most so many are remembered; further ones never count as lost.
const MOST: usize = 4096;

/// The packets of which no report has told.
#[derive(Clone, Debug, Default)]
pub(super) struct Untold {
    /// In the order of their numbers, mostly: after an undone timeout, a second one begins again.
    fates: VecDeque<Fate>,
}

impl Untold {
    /// The timer has declared a packet lost.
    pub(super) fn on_timeout(&mut self, fate: &Fate) {
        if self.fates.len() < MOST && !self.fates.iter().any(|known| known.number == fate.number) {
            self.fates.push_back(*fate);
        }
    }

    /// An acknowledgement tells of a packet. Returns true if it was among these, and is no longer.
    #[inline]
    pub(super) fn remove(&mut self, number: u64) -> bool {
        if self.fates.is_empty() {
            return false;
        }
        let place = self.fates.iter().position(|fate| fate.number == number);
        place.is_some_and(|at| self.fates.remove(at).is_some())
    }

    /// A report tells of packet `newest`. Returns a packet that is missing before it, if there is one left.
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
        let mut untold = Untold::default();
        for number in [3, 4, 5, 7, 4] {
            untold.on_timeout(&Fate::new(number, 100, Time::ZERO, 0, true));
        }
        assert!(!untold.remove(2) && untold.pop_before(2).is_none());
        assert!(untold.remove(3) && !untold.remove(3));
        assert!(untold.remove(5) && untold.pop_before(4).is_none());
        assert_eq!(untold.pop_before(6).map(|fate| fate.number), Some(4));
        assert!(
            untold.pop_before(6).is_none() && untold.remove(7) && untold.pop_before(9).is_none()
        );
    }
}
