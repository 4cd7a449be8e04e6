//! How many packets an acknowledgement newly reports as marked CE.

use paceline_cc::{Ack, EcnFeedback};

/// Counts marks that are reported in one of two forms: classic ECN's flag (RFC 3168), or
/// AccECN's counter of marked packets (RFC 9768).
#[derive(Clone, Debug)]
pub(super) struct MarkCounter {
    form: EcnFeedback,
    /// The counter of the newest acknowledgement.
    counted: u32,
}

impl MarkCounter {
    pub(super) fn new(form: EcnFeedback) -> MarkCounter {
        MarkCounter { form, counted: 0 }
    }

    /// Packets newly reported as marked; with classic ECN, one for each acknowledgement with the
    /// flag.
    #[inline]
    pub(super) fn newly_marked(&mut self, ack: &Ack) -> u32 {
        if self.form != EcnFeedback::Accurate {
            return u32::from(self.form == EcnFeedback::Classic && ack.ece);
        }
        let marked = ack.ce_packets.wrapping_sub(self.counted);
        // A reordered acknowledgement carries an older count: not a difference of billions.
        let marked = if marked > u32::MAX / 2 { 0 } else { marked };
        self.counted = self.counted.wrapping_add(marked);
        marked
    }
}
