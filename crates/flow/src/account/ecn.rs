//! How many packets an acknowledgement newly reports as marked CE.

use paceline_cc::{Ack, EcnFeedback};

/// Counts marks that are reported in one of two forms: classic ECN's flag (RFC 3168), or
/// AccECN's counter of marked packets (RFC 9768).
#[derive(Clone, Debug)]
pub(super) struct MarkCounter {
    form: EcnFeedback,
    /// The CE counter of the newest acknowledgement.
    counted: u32,
    /// Number of the present connection's first packet.
    first: u64,
}

impl MarkCounter {
    pub(super) fn new(form: EcnFeedback) -> MarkCounter {
        MarkCounter { form, counted: 0, first: 0 }
    }

    /// Returns true for classic ECN.
    pub(super) fn is_classic(&self) -> bool {
        self.form == EcnFeedback::Classic
    }

    /// Begins a new connection, whose first packet has `number`. The receiver continues its count
    /// and may still report marks of earlier packets.
    pub(super) fn begin(&mut self, number: u64) {
        self.first = number;
    }

    /// Returns the number of packets of the present connection that are newly reported as marked;
    /// with classic ECN, 1 for each acknowledgement with the flag.
    #[inline]
    pub(super) fn newly_marked(&mut self, ack: &Ack) -> u32 {
        if self.form != EcnFeedback::Accurate {
            let reports = self.form == EcnFeedback::Classic && ack.ece;
            return u32::from(reports && ack.largest >= self.first);
        }
        if ack.ce_packets == self.counted { 0 } else { self.count(ack) }
    }

    /// Returns how far the counter of marked packets has advanced, if it differs from the last one.
    #[inline(never)]
    fn count(&mut self, ack: &Ack) -> u32 {
        let marked = ack.ce_packets.wrapping_sub(self.counted);
        // A reordered acknowledgement carries an older, smaller count: it is ignored, not taken for
        // an advance of billions.
        if marked > u32::MAX / 2 {
            return 0;
        }
        self.counted = ack.ce_packets;
        if self.first > 0 {
            // An acknowledgement reports at most one mark for each packet up to its largest.
            let of_connection = ack.largest.saturating_add(1).saturating_sub(self.first);
            return u32::try_from(of_connection).map_or(marked, |most| marked.min(most));
        }
        marked
    }
}
