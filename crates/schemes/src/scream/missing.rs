//! Packets that the driver has declared lost, until they count as lost.
//!
//! The authors' sender has no retransmission timer: a packet is lost when a report tells of one that was sent later by the
//! margin for reordering (`detectLoss`, `kReordertime_ntp`). So packets that a timer has declared lost count when such
//! a packet is acknowledged. A packet that arrives before, or was given up, does not count.

use std::collections::VecDeque;

use paceline_cc::{Fate, Span, Time};

/// Packets declared lost that do not count yet.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    /// A packet is lost if one that was sent later by this time was acknowledged.
    reordering: Span,
    /// Packets in the order of their transmission numbers.
    packets: VecDeque<Packet>,
    /// The acknowledged packet with the largest transmission number: that number, and when it was sent.
    newest: (u64, Time),
}

#[derive(Copy, Clone, Debug)]
struct Packet {
    number: u64,
    sent: Time,
    size: u32,
}

/// Packets that count as lost now.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct NewLosses {
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

impl Missing {
    pub(super) fn new(reordering: Span) -> Missing {
        Missing { reordering, packets: VecDeque::new(), newest: (0, Time::ZERO) }
    }

    /// Takes in the fate of a packet.
    pub(super) fn on_fate(&mut self, fate: &Fate) {
        let Fate { number, sent, size, lost, .. } = *fate;
        let place = self.packets.partition_point(|packet| packet.number < number);
        let is_known = self.packets.get(place).is_some_and(|packet| packet.number == number);
        if !lost {
            self.newest = self.newest.max((number, sent));
        }
        match (lost, is_known) {
            (true, false) => self.packets.insert(place, Packet { number, sent, size }),
            (false, true) => drop(self.packets.remove(place)),
            _ => {}
        }
    }

    /// Returns the packets that count as lost now, and forgets them.
    pub(super) fn take(&mut self) -> NewLosses {
        let mut losses = NewLosses::default();
        let (newest, sent) = self.newest;
        let is_lost =
            |first: &mut Packet| first.number < newest && sent.since(first.sent) >= self.reordering;
        while let Some(first) = self.packets.pop_front_if(is_lost) {
            losses.packets += 1;
            losses.bytes += u64::from(first.size);
        }
        losses
    }

    /// Forgets all packets: they were given up, and never count.
    pub(super) fn forget(&mut self) {
        self.packets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets are sent each 4 ms.
    fn fate(number: u64, lost: bool) -> Fate {
        Fate::new(number, 100, Time::from_millis(4 * number), 0, lost)
    }

    fn lost(packets: u32) -> NewLosses {
        NewLosses { packets, bytes: 100 * u64::from(packets) }
    }

    #[test]
    fn a_packet_is_lost_when_a_later_one_is_acknowledged_and_not_before() {
        let mut missing = Missing::new(Span::ZERO);
        missing.on_fate(&fate(2, false));
        for number in [3, 4, 6, 8] {
            missing.on_fate(&fate(number, true));
        }
        assert_eq!(missing.take(), lost(0));
        // Packet 4 arrives after all, and shows that packet 3 is lost.
        missing.on_fate(&fate(4, false));
        assert_eq!(missing.take(), lost(1));
        missing.on_fate(&fate(7, false));
        assert_eq!(missing.take(), lost(1));
        missing.forget();
        missing.on_fate(&fate(9, false));
        assert_eq!(missing.take(), lost(0));
    }

    #[test]
    fn a_packet_may_be_overtaken_by_those_of_the_next_ten_milliseconds() {
        let mut missing = Missing::new(Span::from_millis(10));
        for number in [1, 2] {
            missing.on_fate(&fate(number, true));
        }
        missing.on_fate(&fate(3, false));
        assert_eq!(missing.take(), lost(0));
        // Packet 1 arrives late, and 2 never: packet 5 was sent 12 ms later.
        missing.on_fate(&fate(1, false).with(|fate| fate.late = true));
        missing.on_fate(&fate(4, false));
        assert_eq!(missing.take(), lost(0));
        missing.on_fate(&fate(5, false));
        assert_eq!(missing.take(), lost(1));
    }
}
