//! A log of packets declared lost. It costs memory only after it was asked for.

use super::entry::Entry;

/// Rule by which a packet was declared lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossTrigger {
    /// As many packets sent later have been acknowledged as the packet threshold (RFC 9002 §6.1.1).
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
    /// Number of the packet.
    pub number: u64,
    /// Size in bytes on the wire.
    pub size: u32,
    /// Rule by which it was declared lost.
    pub trigger: LossTrigger,
}

/// The losses since the last drain; `None` if no log was asked for. A pointer, since there may be
/// very many flows, most of them without a log.
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
