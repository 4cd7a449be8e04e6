//! The frames of one exchange, and their times.

use paceline_cc::{Rate, Span};

use super::mcs::Mcs;
use super::{MediumConfig, Protection};

/// Times of an exchange: the part before the data frame, the frame, and the part after it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    /// RTS and CTS, or a CTS to the station itself, each followed by a SIFS.
    pub(super) head: Span,
    /// The data frame.
    pub(super) data: Span,
    /// A SIFS and the acknowledgement.
    pub(super) answer: Span,
    /// Time on air in a collision: of the RTS, which is not answered, or of all frames of the
    /// station.
    pub(super) collision: Span,
    /// True if an RTS comes first.
    pub(super) rts: bool,
}

impl Sequence {
    /// Returns the exchange of a packet of `packet` bytes at `rate`.
    pub(super) fn of(config: &MediumConfig, rate: Rate, packet: u32) -> Sequence {
        let phy = &config.phy;
        let bytes = packet.saturating_add(config.mac_overhead);
        let answer = phy.sifs + phy.ack_time(rate);
        Sequence::around(config, bytes, rate, phy.tx_time(rate, bytes), answer)
    }

    /// Returns the exchange of an A-MPDU of `bytes` bytes on air.
    pub(super) fn of_ampdu(config: &MediumConfig, mcs: Mcs, bytes: u32) -> Sequence {
        let phy = &config.phy;
        let answer = phy.sifs + phy.block_ack_time(mcs);
        let rate = phy.reference_rate(mcs);
        Sequence::around(config, bytes, rate, phy.ampdu_time(mcs, bytes), answer)
    }

    /// Returns the exchange around `data`, with answers as for a frame at `rate`.
    fn around(config: &MediumConfig, bytes: u32, rate: Rate, data: Span, answer: Span) -> Sequence {
        let phy = &config.phy;
        if config.rts_threshold.is_some_and(|most| bytes > most) {
            let (rts, cts) = phy.rts_cts_time(rate);
            let head = rts + phy.sifs + cts + phy.sifs;
            return Sequence { head, data, answer, collision: rts, rts: true };
        }
        let head = match config.protection {
            Protection::None => Span::ZERO,
            Protection::CtsToSelf(rate, preamble) => phy.cts_to_self(preamble, rate) + phy.sifs,
        };
        Sequence { head, data, answer, collision: head + data, rts: false }
    }
}
