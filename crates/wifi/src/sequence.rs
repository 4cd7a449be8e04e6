//! The frames of one exchange, and their times.

use paceline_cc::{Rate, Span};

use super::mcs::Mcs;
use super::phy::cts_to_self;
use super::{MediumConfig, Protection};

/// The times of an exchange: what goes before the data frame, the frame, and what follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    /// RTS and CTS, or a CTS to the station itself, with the SIFS behind each.
    pub(super) head: Span,
    /// The data frame.
    pub(super) data: Span,
    /// A SIFS and the acknowledgement.
    pub(super) answer: Span,
    /// For how long the station is on air if it collides: an RTS that nobody answers, or all that
    /// it has to say.
    pub(super) collision: Span,
    /// An RTS goes first.
    pub(super) rts: bool,
}

impl Sequence {
    /// The exchange of a packet of so many bytes at `rate`.
    pub(super) fn of(config: &MediumConfig, rate: Rate, packet: u32) -> Sequence {
        let phy = &config.phy;
        let bytes = packet.saturating_add(config.mac_overhead);
        let answer = phy.sifs + phy.ack_time(rate);
        Sequence::around(config, bytes, rate, phy.tx_time(rate, bytes), answer)
    }

    /// The exchange of an A-MPDU of so many bytes on air.
    pub(super) fn of_ampdu(config: &MediumConfig, mcs: Mcs, bytes: u32) -> Sequence {
        let phy = &config.phy;
        let answer = phy.sifs + phy.block_ack_time(mcs);
        let rate = phy.reference_rate(mcs);
        Sequence::around(config, bytes, rate, phy.ampdu_time(mcs, bytes), answer)
    }

    /// The same with what goes before `data`, for which answers are chosen as for a frame at `rate`.
    fn around(config: &MediumConfig, bytes: u32, rate: Rate, data: Span, answer: Span) -> Sequence {
        let phy = &config.phy;
        if config.rts_threshold.is_some_and(|most| bytes > most) {
            let (rts, cts) = phy.rts_cts_time(rate);
            let head = rts + phy.sifs + cts + phy.sifs;
            return Sequence { head, data, answer, collision: rts, rts: true };
        }
        let head = match config.protection {
            Protection::None => Span::ZERO,
            Protection::CtsToSelf(rate, preamble) => cts_to_self(preamble, rate) + phy.sifs,
        };
        Sequence { head, data, answer, collision: head + data, rts: false }
    }
}
