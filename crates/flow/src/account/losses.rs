//! A list of the packets that were declared lost, for logs. Nobody pays for it who has not asked.

use super::entry::Entry;

/// The rule by which a packet was declared lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossTrigger {
    /// Packets sent later have been acknowledged, as many as the packet threshold (RFC 9002 §6.1.1).
    ReorderingThreshold,
    /// A packet sent later has been acknowledged, and 9/8 of the RTT have passed (RFC 9002 §6.1.2).
    TimeThreshold,
    /// The retransmission timer expired (RFC 6298 §5.4).
    Timeout,
}

/// A packet that was declared lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Its number.
    pub number: u64,
    /// Its bytes on the wire.
    pub size: u32,
    /// Why.
    pub trigger: LossTrigger,
}

/// The losses since they were last asked for, if anybody asks: a pointer, since there may be very many
/// flows, of which nobody asks.
#[derive(Debug, Default)]
pub(super) struct LossLog(Option<Box<Losses>>);

#[derive(Debug, Default)]
struct Losses(Vec<Loss>);

impl LossLog {
    pub(super) fn begin(&mut self) {
        self.0.get_or_insert_default();
    }

    #[inline]
    pub(super) fn note(&mut self, number: u64, entry: &Entry, trigger: LossTrigger) {
        if let Some(losses) = &mut self.0 {
            losses.0.push(Loss { number, size: entry.size, trigger });
        }
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.0.iter_mut().flat_map(|losses| losses.0.drain(..))
    }
}
