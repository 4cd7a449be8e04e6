//! The high-throughput physical layer of 802.11n: rates and times of A-MPDUs (IEEE 802.11-2020,
//! clause 19).

use paceline_cc::{Rate, Span};

/// A modulation and coding scheme: 0 to 7 with one spatial stream, 8 to 15 with two.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mcs(u8);

impl Mcs {
    /// Maximum index.
    pub const MAX: u8 = 15;
    /// The slowest scheme.
    pub const LOWEST: Mcs = Mcs(0);

    /// Returns the scheme with this index; `None` above [`Mcs::MAX`].
    pub fn new(index: u8) -> Option<Mcs> {
        (index <= Mcs::MAX).then_some(Mcs(index))
    }

    /// Returns the index.
    pub fn index(self) -> u8 {
        self.0
    }

    /// Returns the number of spatial streams.
    pub fn streams(self) -> u64 {
        u64::from(self.0 / 8) + 1
    }

    /// Returns the rate of its data symbols in a channel of 20 MHz with the long guard interval:
    /// 6.5 to 65 Mbit/s per stream.
    pub fn rate(self) -> Rate {
        Ht::default().rate(self)
    }

    /// Returns the OFDM rate with the same modulation and coding, which determines the rates of
    /// answers (10.6.11, non-HT reference rates).
    pub fn reference_rate(self) -> Rate {
        const MBPS: [u64; 8] = [6, 12, 18, 24, 36, 48, 54, 54];
        Rate::from_bps(MBPS[usize::from(self.0 % 8)] * 1_000_000)
    }
}

/// The width of the channel.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum ChannelWidth {
    /// 20 MHz, 52 data subcarriers.
    #[default]
    Mhz20,
    /// 40 MHz, 108 data subcarriers.
    Mhz40,
}

/// The guard interval of data symbols.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum GuardInterval {
    /// 800 ns: symbols of 4 µs.
    #[default]
    Long,
    /// 400 ns: symbols of 3.6 µs.
    Short,
}

/// The settings of the high-throughput layer, with preambles in mixed format.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ht {
    /// The width of the channel.
    pub width: ChannelWidth,
    /// The guard interval.
    pub guard: GuardInterval,
    /// Signal extension after each frame: 6 µs in the 2.4 GHz band, none at 5 GHz.
    pub extension: Span,
}

/// 16 bits of service field and 6 of tail for the single encoder of rates up to 300 Mbit/s.
const SERVICE_AND_TAIL: u64 = 16 + 6;

impl Ht {
    /// Returns `N_DBPS`: data bits per symbol.
    fn bits_per_symbol(&self, mcs: Mcs) -> u64 {
        let bits: [u64; 8] = match self.width {
            ChannelWidth::Mhz20 => [26, 52, 78, 104, 156, 208, 234, 260],
            ChannelWidth::Mhz40 => [54, 108, 162, 216, 324, 432, 486, 540],
        };
        bits[usize::from(mcs.0 % 8)] * mcs.streams()
    }

    /// Returns the duration of a data symbol in nanoseconds.
    fn symbol(&self) -> u64 {
        match self.guard {
            GuardInterval::Long => 4000,
            GuardInterval::Short => 3600,
        }
    }

    /// Returns the rate of data symbols.
    pub fn rate(&self, mcs: Mcs) -> Rate {
        Rate::from_bps(self.bits_per_symbol(mcs) * 1_000_000_000 / self.symbol())
    }

    /// Returns the duration of preamble and headers in mixed format: 32 µs, and a training field of
    /// 4 µs per stream.
    pub fn preamble(&self, mcs: Mcs) -> Span {
        Span::from_micros(32 + 4 * mcs.streams())
    }

    /// Returns `TXTIME`: the time on air of an A-MPDU of `bytes` bytes (19.4.3). With the short
    /// guard interval, symbols end at a multiple of 4 µs.
    pub fn tx_time(&self, mcs: Mcs, bytes: u32) -> Span {
        let bits = 8 * u64::from(bytes) + SERVICE_AND_TAIL;
        let symbols = bits.div_ceil(self.bits_per_symbol(mcs));
        let data = (symbols * self.symbol()).next_multiple_of(4000);
        self.preamble(mcs) + Span::from_nanos(data) + self.extension
    }

    /// Returns the maximum bytes of an A-MPDU that takes at most `longest`.
    pub fn bytes_within(&self, mcs: Mcs, longest: Span) -> u32 {
        let data = (longest - self.preamble(mcs) - self.extension).as_nanos() / 4000 * 4000;
        let bits = (data / self.symbol()).saturating_mul(self.bits_per_symbol(mcs));
        (bits.saturating_sub(SERVICE_AND_TAIL) / 8).min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mcs(index: u8) -> Mcs {
        Mcs::new(index).expect("an index")
    }

    #[test]
    fn rates_of_the_standard() {
        let of = |ht: Ht| (0..16).map(|index| ht.rate(mcs(index)).as_mbps()).collect::<Vec<_>>();
        let narrow = of(Ht::default());
        assert_eq!(narrow[..8], [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        assert_eq!((narrow[8], narrow[15]), (13.0, 130.0));
        let wide = Ht { width: ChannelWidth::Mhz40, ..Ht::default() };
        assert_eq!(of(wide)[..8], [13.5, 27.0, 40.5, 54.0, 81.0, 108.0, 121.5, 135.0]);
        let short = Ht { guard: GuardInterval::Short, ..wide };
        assert_eq!((of(short)[7], of(short)[15]), (150.0, 300.0));
        assert_eq!(Mcs::new(16), None);
    }

    #[test]
    fn times_on_air() {
        let ht = Ht::default();
        // 12,374 bits in symbols of 260: 48 of 4 µs, after a preamble of 36 µs.
        assert_eq!(ht.tx_time(mcs(7), 1544), Span::from_micros(36 + 4 * 48));
        // A second stream needs one more training field.
        assert_eq!(ht.preamble(mcs(15)), Span::from_micros(40));
        // 48 symbols of 3.6 µs are 172.8 µs, which end after 176.
        let short = Ht { guard: GuardInterval::Short, ..ht };
        assert_eq!(short.tx_time(mcs(7), 1544), Span::from_micros(36 + 176));
    }

    #[test]
    fn what_fits_is_what_takes_no_longer() {
        for guard in [GuardInterval::Long, GuardInterval::Short] {
            let ht = Ht { guard, ..Ht::default() };
            for (index, micros) in (0..16).zip([0, 30, 44, 100, 999, 4000, 5484, 10_000].repeat(2))
            {
                let longest = Span::from_micros(micros);
                let most = ht.bytes_within(mcs(index), longest);
                assert!(most == 0 || ht.tx_time(mcs(index), most) <= longest, "{index} {micros}");
                assert!(ht.tx_time(mcs(index), most + 1) > longest, "{index} {micros}");
            }
        }
    }
}
