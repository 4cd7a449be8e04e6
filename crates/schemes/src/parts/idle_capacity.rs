//! Computes the capacity that a link left unused while its queue was empty, for links that do not
//! report it.

use paceline_cc::{LinkView, Time};

/// Measures the capacity that a link left unused.
///
/// Links that serve opportunities, and 802.11 media without A-MPDUs, report unused capacity to routers
/// ([`Router::on_unused`](paceline_cc::Router::on_unused)). A link that transmits whenever a packet
/// waits does not report any. For such a link, this compares the bytes that it offered since the
/// last transmission began with the bytes of that transmission.
#[derive(Clone, Debug, Default)]
pub struct IdleCapacity {
    /// True if the link reports unused opportunities itself.
    link_tells: bool,
    /// When the last transmission began; the offered capacity is accounted for up to here.
    since: Time,
    /// Bytes of that transmission, which the link carries after `since`.
    carried: u64,
}

impl IdleCapacity {
    /// Notes that the link reports unused opportunities itself.
    #[inline]
    pub fn set_link_tells(&mut self) {
        self.link_tells = true;
    }

    /// Returns true if the link reports unused opportunities itself.
    #[inline]
    pub fn link_tells(&self) -> bool {
        self.link_tells
    }

    /// Notes that the transmission of `size` bytes begins at `now`.
    #[inline]
    pub fn on_departure(&mut self, now: Time, size: u32) {
        self.carried = u64::from(size) + if self.since == now { self.carried } else { 0 };
        self.since = now;
    }

    /// Returns, when a packet arrives at an empty queue at `now`, the bytes that the link offered
    /// since the last transmission and did not carry, at most those offered since `earliest`. The
    /// next call counts from `now` on.
    pub fn take_unused(&mut self, now: Time, earliest: Time, link: &LinkView<'_>) -> u32 {
        let offered = link.capacity.offered(self.since, now);
        if offered <= self.carried {
            return 0;
        }
        let unused = (offered - self.carried).min(link.capacity.offered(earliest, now));
        self.since = now;
        self.carried = 0;
        unused.min(u64::from(u32::MAX)) as u32
    }

    /// Returns true if a link that does not report was idle just before `now`: its queue is empty,
    /// and it has offered more than the last transmission took.
    #[inline]
    pub fn was_idle(&self, now: Time, link: &LinkView<'_>) -> bool {
        link.queue_packets == 0
            && !self.link_tells
            && link.capacity.offered(self.since, now) > self.carried
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Rate;

    use super::*;
    use crate::testing::Constant;

    #[test]
    fn capacity_after_the_last_transmission_is_unused() {
        // 12 Mbit/s carry 1500 bytes in a millisecond.
        let link = Constant(Rate::from_mbps(12.0));
        let view = LinkView { capacity: &link, queue_packets: 0, queue_bytes: 0 };
        let mut idle = IdleCapacity::default();
        let at = Time::from_millis;
        idle.on_departure(at(10), 1500);
        idle.on_departure(at(10), 1500);
        assert!(!idle.was_idle(at(12), &view));
        assert_eq!(idle.take_unused(at(12), Time::ZERO, &view), 0);
        assert!(idle.was_idle(at(13), &view));
        assert_eq!(idle.take_unused(at(15), Time::ZERO, &view), 3 * 1500);
        // No bytes count twice, and none from before the earliest time.
        assert_eq!(idle.take_unused(at(15), Time::ZERO, &view), 0);
        assert_eq!(idle.take_unused(at(115), at(105), &view), 10 * 1500);
        idle.set_link_tells();
        assert!(!idle.was_idle(at(200), &view));
    }
}
