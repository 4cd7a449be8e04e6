//! Times of IEEE 802.11n's OFDM physical layer: 20 MHz, long guard interval, 5 GHz, one or two
//! spatial streams (IEEE 802.11-2020, clauses 10 and 19).

use paceline_cc::{Rate, Span};

/// Short interframe space.
pub(super) const SIFS: Span = Span::from_micros(16);
/// A slot of the backoff.
pub(super) const SLOT: Span = Span::from_micros(9);
/// Idle time before a backoff: SIFS and three slots, as for best effort (EDCA).
pub(super) const AIFS: Span = Span::from_micros(16 + 3 * 9);
/// The smallest and the largest contention window of best effort, in slots.
pub(super) const CW_MIN: u32 = 15;
/// See [`CW_MIN`]. That of stations; access points may be set to less (63, as of WMM).
pub(super) const CW_MAX: u32 = 1023;
/// A compressed block acknowledgement of 32 bytes at 24 Mbit/s: preamble and three symbols.
pub(super) const BLOCK_ACK: Span = Span::from_micros(20 + 3 * 4);
/// RTS (20 bytes) and CTS (14 bytes) at 24 Mbit/s take two symbols each after the preamble.
pub(super) const RTS: Span = Span::from_micros(20 + 2 * 4);
/// See [`RTS`].
pub(super) const CTS: Span = Span::from_micros(20 + 2 * 4);
/// The most subframes that a block acknowledgement covers.
pub(super) const BLOCK_ACK_WINDOW: usize = 64;
/// The most bytes of an A-MPDU.
pub(super) const MAX_BYTES: u32 = 65_535;

/// What comes on top of an IP packet in a frame: QoS header 26, LLC and SNAP 8, FCS 4.
const MAC_OVERHEAD: u32 = 26 + 8 + 4;
/// The delimiter of a subframe; subframes are padded to a multiple of its size.
const DELIMITER: u32 = 4;

/// Data bits per symbol of 4 µs and stream: BPSK 1/2 to 64-QAM 5/6.
const BITS_PER_SYMBOL: [u64; 8] = [26, 52, 78, 104, 156, 208, 234, 260];

/// A modulation and coding scheme: 0 to 7 with one stream, 8 to 15 with two.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mcs(u8);

impl Mcs {
    /// The largest index.
    pub const MAX: u8 = 15;
    /// The slowest.
    pub const LOWEST: Mcs = Mcs(0);

    /// The scheme of an index; `None` above [`Mcs::MAX`].
    pub fn new(index: u8) -> Option<Mcs> {
        (index <= Mcs::MAX).then_some(Mcs(index))
    }

    /// The index.
    pub fn index(self) -> u8 {
        self.0
    }

    fn streams(self) -> u64 {
        u64::from(self.0 / 8) + 1
    }

    fn bits_per_symbol(self) -> u64 {
        BITS_PER_SYMBOL[usize::from(self.0 % 8)] * self.streams()
    }

    /// The rate of its data symbols: 6.5 to 65 Mbit/s per stream.
    pub fn rate(self) -> Rate {
        Rate::from_bps(self.bits_per_symbol() * 250_000)
    }

    /// Preamble and headers in mixed format.
    pub fn preamble(self) -> Span {
        Span::from_micros(32 + 4 * self.streams())
    }

    /// The time on air of an A-MPDU of so many bytes.
    pub fn airtime(self, bytes: u32) -> Span {
        // 16 bits of service field and 6 of tail.
        let symbols = (8 * u64::from(bytes) + 22).div_ceil(self.bits_per_symbol());
        self.preamble() + Span::from_micros(4 * symbols)
    }
}

/// The bytes on air of a packet of `size` bytes as a subframe of an A-MPDU.
pub(super) fn subframe(size: u32) -> u32 {
    let padded = size.saturating_add(MAC_OVERHEAD + DELIMITER).checked_next_multiple_of(DELIMITER);
    padded.unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_the_standard() {
        let mbps = |index| Mcs::new(index).expect("an index").rate().as_mbps();
        let one: Vec<f64> = (0..8).map(mbps).collect();
        assert_eq!(one, [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        assert_eq!((mbps(8), mbps(15)), (13.0, 130.0));
        assert_eq!(Mcs::new(16), None);
    }

    #[test]
    fn times_on_air() {
        // 1500 bytes: 26 + 8 + 4 + 4 more, padded from 1542 to 1544.
        assert_eq!(subframe(1500), 1544);
        assert_eq!(subframe(64), 108);
        assert_eq!(subframe(u32::MAX), u32::MAX);
        // 12,374 bits in symbols of 260: 48 of 4 µs, after a preamble of 36 µs.
        let fast = Mcs::new(7).expect("an index");
        assert_eq!(fast.airtime(1544), Span::from_micros(36 + 4 * 48));
        // A second stream costs one more training field.
        assert_eq!(Mcs::new(15).expect("an index").preamble(), Span::from_micros(40));
    }
}
