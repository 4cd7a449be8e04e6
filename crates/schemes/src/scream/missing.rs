//! Packets that the driver has declared lost, until they count as lost.
//!
//! The authors' sender has no retransmission timer: a packet is lost when a report tells of a later one (`detectLoss`).
//! So packets that only a timer has declared lost count when a later packet is acknowledged, and never if they arrive after
//! all, or were given up before.

use std::collections::BTreeMap;

use paceline_cc::Fate;

/// Packets declared lost that do not count yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    /// Sizes in bytes, by transmission number.
    sizes: BTreeMap<u64, u32>,
    /// Largest transmission number that was acknowledged.
    newest: u64,
}

/// Packets that count as lost now.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct NewLosses {
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

impl Missing {
    /// Takes in the fate of a packet.
    pub(super) fn on_fate(&mut self, fate: &Fate) {
        if fate.lost {
            self.sizes.insert(fate.number, fate.size);
        } else {
            self.newest = self.newest.max(fate.number);
            if !self.sizes.is_empty() {
                self.sizes.remove(&fate.number);
            }
        }
    }

    /// Returns the packets that count as lost now, and forgets them.
    pub(super) fn take(&mut self) -> NewLosses {
        let mut losses = NewLosses::default();
        while let Some(first) = self.sizes.first_entry() {
            if *first.key() >= self.newest {
                break;
            }
            losses.packets += 1;
            losses.bytes += u64::from(first.remove());
        }
        losses
    }

    /// Forgets all packets: they were given up, and never count.
    pub(super) fn forget(&mut self) {
        self.sizes.clear();
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Time;

    use super::*;

    fn fate(number: u64, lost: bool) -> Fate {
        Fate::new(number, 100, Time::ZERO, 0, lost)
    }

    #[test]
    fn a_packet_is_lost_when_a_later_one_is_acknowledged_and_not_before() {
        let mut missing = Missing::default();
        missing.on_fate(&fate(2, false));
        for number in [3, 4, 6, 8] {
            missing.on_fate(&fate(number, true));
        }
        assert_eq!(missing.take(), NewLosses::default());
        // Packet 4 arrives after all, and shows that packet 3 is lost.
        missing.on_fate(&fate(4, false));
        assert_eq!(missing.take(), NewLosses { packets: 1, bytes: 100 });
        missing.on_fate(&fate(7, false));
        assert_eq!(missing.take(), NewLosses { packets: 1, bytes: 100 });
        missing.forget();
        missing.on_fate(&fate(9, false));
        assert_eq!(missing.take(), NewLosses::default());
    }
}
