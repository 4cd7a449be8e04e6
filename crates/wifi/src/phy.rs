//! Times of the physical layers: durations of frames, and waiting times between them.

use paceline_cc::{Rate, Span};

use super::mcs::{Ht, Mcs};

/// The preamble and header formats of the DSSS and HR/DSSS layers (IEEE 802.11-2020, 16.2.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 144 + 48 µs.
    Long,
    /// 72 + 24 µs. Frames at 1 Mbit/s have the long preamble in any case (16.2.2.3).
    Short,
}

/// How frames are modulated.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// 802.11b: DSSS and CCK, at any rate; 1, 2, 5.5 and 11 Mbit/s in the standard.
    Dsss(Preamble),
    /// 802.11a and g: OFDM in 20 MHz, with symbols of 4 µs. In the 2.4 GHz band (g) each frame is
    /// followed by a silent signal extension.
    Ofdm {
        /// The signal extension: 6 µs for 802.11g, none for 802.11a.
        extension: Span,
    },
    /// 802.11n: A-MPDUs at the rates of modulation and coding schemes, and OFDM for answers, RTS
    /// and CTS.
    Ht(Ht),
}

/// The times of a physical layer, by the names of the standard.
///
/// [`Phy::dsss`], [`Phy::erp_ofdm`] and [`Phy::ofdm`] have the standard's values, all of which can
/// be changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Phy {
    /// `aSlotTime`.
    pub slot: Span,
    /// `aSIFSTime`.
    pub sifs: Span,
    /// `aCWmin`, in slots.
    pub cw_min: u32,
    /// `aCWmax`, in slots.
    pub cw_max: u32,
    /// `AIFSN`: slots after a SIFS for which the medium must be idle. 2 gives a DIFS; best effort
    /// of EDCA stations, which includes 802.11n, has 3.
    pub aifsn: u32,
    /// How frames are modulated.
    pub modulation: Modulation,
    /// The basic rate set, from which acknowledgements, RTS and CTS take their rates.
    pub basic_rates: Vec<Rate>,
    /// `aPHY-RX-START-Delay`, after which a station detects an answer.
    pub rx_start_delay: Span,
    /// True if stations that hear a collision treat it as a frame with errors, after which they
    /// wait for an EIFS; false if they treat it as noise and wait for a DIFS. The standard requires
    /// an EIFS after a frame whose beginning a station has received, and leaves open whether two
    /// frames that begin together are received as one. See [`Phy::dsss`] and [`Phy::ofdm`].
    pub eifs_after_collision: bool,
    /// True if a station whose own frame collided, and ended before another frame of the collision,
    /// waits for an EIFS after that one. This is ns-2's behaviour: such a station receives the rest
    /// of the other frame with errors, and the sender of the longest frame waits only until an
    /// acknowledgement would have ended. False if the former waits for a DIFS, because a
    /// transmitting station hears no preamble and receives nothing (10.3.2.3.7), and the latter for
    /// [`Phy::answer_timeout`] and a DIFS.
    pub eifs_after_own_collision: bool,
    /// Divisor of all times, of which all rates are multiples: Table 1 of the XCP-b paper. 1 is the
    /// standard.
    scale: u32,
}

/// Maximum argument of [`Phy::scaled`].
pub const MAX_SCALE: u32 = 100;

const ACK_BYTES: u32 = 14;
const RTS_BYTES: u32 = 20;
const CTS_BYTES: u32 = 14;
const BLOCK_ACK_BYTES: u32 = 32;

impl Phy {
    /// Returns 802.11b: slots of 20 µs, SIFS of 10 µs, windows from 31 to 1023, answers at 1
    /// Mbit/s.
    ///
    /// After a collision stations wait for an EIFS: with the spread preamble of DSSS, a receiver
    /// can lock on one of two overlapping frames, and so receives a beginning and then errors. ns-2
    /// does the same.
    pub fn dsss(preamble: Preamble) -> Phy {
        Phy {
            slot: Span::from_micros(20),
            sifs: Span::from_micros(10),
            cw_min: 31,
            cw_max: 1023,
            aifsn: 2,
            modulation: Modulation::Dsss(preamble),
            basic_rates: vec![Rate::from_bps(1_000_000)],
            rx_start_delay: Span::from_micros(match preamble {
                Preamble::Long => 192,
                Preamble::Short => 96,
            }),
            eifs_after_collision: true,
            eifs_after_own_collision: false,
            scale: 1,
        }
    }

    /// Returns 802.11a: slots of 9 µs, SIFS of 16 µs, windows from 15 to 1023, answers at 6, 12 or
    /// 24 Mbit/s.
    ///
    /// After a collision stations wait for a DIFS: to detect an OFDM preamble, the signal must be
    /// some decibels stronger than everything else, and of two equally strong frames neither is.
    /// ns-3 does the same.
    pub fn ofdm() -> Phy {
        let mbps = |rate: u64| Rate::from_bps(rate * 1_000_000);
        Phy {
            slot: Span::from_micros(9),
            sifs: Span::from_micros(16),
            cw_min: 15,
            cw_max: 1023,
            aifsn: 2,
            modulation: Modulation::Ofdm { extension: Span::ZERO },
            basic_rates: vec![mbps(6), mbps(12), mbps(24)],
            rx_start_delay: Span::from_micros(25),
            eifs_after_collision: false,
            eifs_after_own_collision: false,
            scale: 1,
        }
    }

    /// Returns 802.11g without stations of 802.11b: like [`Phy::ofdm`], but with a SIFS of 10 µs
    /// and 6 µs of silence after each frame, which gives the same total.
    pub fn erp_ofdm() -> Phy {
        Phy {
            sifs: Span::from_micros(10),
            modulation: Modulation::Ofdm { extension: Span::from_micros(6) },
            rx_start_delay: Span::from_micros(24),
            ..Phy::ofdm()
        }
    }

    /// Returns 802.11n at 5 GHz: the times of 802.11a, with EDCA's best effort, which waits for one
    /// slot more.
    pub fn ht(ht: Ht) -> Phy {
        Phy { aifsn: 3, modulation: Modulation::Ht(ht), ..Phy::ofdm() }
    }

    /// Returns 802.11n in the 2.4 GHz band: a SIFS of 10 µs, and 6 µs of silence after each frame.
    pub fn ht_2ghz(ht: Ht) -> Phy {
        let extension = Span::from_micros(6);
        let modulation = Modulation::Ht(Ht { extension, ..ht });
        Phy { aifsn: 3, modulation, ..Phy::erp_ofdm() }
    }

    /// Divides all times by `scale` and multiplies the basic rates by it, so that a medium with
    /// data rates multiplied by it carries `scale` times as much (XCP-b paper, Table 1). `scale` is
    /// limited to the range 1 to [`MAX_SCALE`].
    #[must_use]
    pub fn scaled(mut self, scale: u32) -> Phy {
        let scale = scale.clamp(1, MAX_SCALE);
        let by = u64::from(scale);
        self.slot = self.slot / by;
        self.sifs = self.sifs / by;
        self.rx_start_delay = self.rx_start_delay / by;
        if let Modulation::Ofdm { extension } | Modulation::Ht(Ht { extension, .. }) =
            &mut self.modulation
        {
            *extension = *extension / by;
        }
        for rate in &mut self.basic_rates {
            *rate = Rate::from_bps(rate.as_bps().saturating_mul(by));
        }
        self.scale *= scale;
        self
    }

    /// Returns the rates of data in Mbit/s, at scale 1; empty for DSSS, which allows any rate.
    pub fn data_rates(&self) -> &'static [u64] {
        match self.modulation {
            Modulation::Dsss(_) => &[],
            Modulation::Ofdm { .. } | Modulation::Ht(_) => &[6, 9, 12, 18, 24, 36, 48, 54],
        }
    }

    /// Returns a rate of rate control by its index: among those of [`Phy::data_rates`], or the four
    /// of 802.11b.
    pub(super) fn rate(&self, place: usize) -> Option<Rate> {
        let bps = match self.data_rates() {
            [] => [1_000_000, 2_000_000, 5_500_000, 11_000_000].get(place).copied(),
            rates => rates.get(place).map(|mbps| mbps * 1_000_000),
        };
        bps.map(|bps| Rate::from_bps(bps * u64::from(self.scale)))
    }

    /// Returns the index of a rate among those.
    pub(super) fn place_of(&self, rate: Rate) -> usize {
        (0..).map_while(|place| self.rate(place)).position(|one| one == rate).unwrap_or(0)
    }

    /// Returns true if data can be sent at this rate.
    pub fn has_rate(&self, rate: Rate) -> bool {
        let unit = u64::from(self.scale) * 1_000_000;
        let rates = self.data_rates();
        rate.as_bps() > 0 && (rates.is_empty() || rates.iter().any(|r| r * unit == rate.as_bps()))
    }

    /// Returns the slowest rate, which every station can receive.
    fn lowest_rate(&self) -> Rate {
        let mbps = match self.modulation {
            Modulation::Dsss(_) => 1,
            Modulation::Ofdm { .. } | Modulation::Ht(_) => 6,
        };
        Rate::from_bps(mbps * 1_000_000 * u64::from(self.scale))
    }

    fn micros(&self, micros: u64) -> Span {
        Span::from_micros(micros) / u64::from(self.scale)
    }

    /// Returns `TXTIME`: the time on air of a frame of `bytes` bytes, including MAC header and FCS,
    /// at `rate` (16.3.4, 17.4.3 and 18.5.3 of the standard).
    pub fn tx_time(&self, rate: Rate, bytes: u32) -> Span {
        match self.modulation {
            Modulation::Dsss(preamble) => {
                let long = preamble == Preamble::Long || rate <= self.lowest_rate();
                let head = self.micros(if long { 192 } else { 96 });
                // Lengths are announced in whole microseconds.
                let unit = self.micros(1).as_nanos().max(1);
                let data = rate.time_for(u64::from(bytes)).as_nanos();
                head + Span::from_nanos(data.checked_next_multiple_of(unit).unwrap_or(data))
            }
            Modulation::Ofdm { extension } | Modulation::Ht(Ht { extension, .. }) => {
                let symbol = self.micros(4);
                let bits =
                    u128::from(rate.as_bps()) * u128::from(symbol.as_nanos()) / 1_000_000_000;
                let bits = (bits as u64).max(1);
                // 16 bits of service field and 6 of tail.
                let symbols = (16 + 8 * u64::from(bytes) + 6).div_ceil(bits);
                self.micros(20) + symbol * symbols + extension
            }
        }
    }

    /// Returns the settings of 802.11n, if frames are A-MPDUs.
    pub fn high_throughput(&self) -> Option<Ht> {
        match self.modulation {
            Modulation::Ht(ht) => Some(ht),
            _ => None,
        }
    }

    /// Returns `TXTIME` of an A-MPDU of `bytes` bytes; zero for layers without A-MPDUs.
    pub fn ampdu_time(&self, mcs: Mcs, bytes: u32) -> Span {
        let Modulation::Ht(ht) = self.modulation else { return Span::ZERO };
        let unscaled = Ht { extension: Span::ZERO, ..ht };
        unscaled.tx_time(mcs, bytes) / u64::from(self.scale) + ht.extension
    }

    /// Returns the maximum bytes of an A-MPDU that takes at most `longest`.
    pub fn ampdu_bytes_within(&self, mcs: Mcs, longest: Span) -> u32 {
        let Modulation::Ht(ht) = self.modulation else { return 0 };
        let unscaled = Ht { extension: Span::ZERO, ..ht };
        let longest = (longest - ht.extension).as_nanos().saturating_mul(u64::from(self.scale));
        unscaled.bytes_within(mcs, Span::from_nanos(longest))
    }

    /// Returns the rate of an A-MPDU's data symbols.
    pub fn ampdu_rate(&self, mcs: Mcs) -> Rate {
        let ht = self.high_throughput().unwrap_or_default();
        Rate::from_bps(ht.rate(mcs).as_bps().saturating_mul(u64::from(self.scale)))
    }

    /// Returns the rate that replaces an A-MPDU's when the rates of answers are chosen.
    pub fn reference_rate(&self, mcs: Mcs) -> Rate {
        Rate::from_bps(mcs.reference_rate().as_bps().saturating_mul(u64::from(self.scale)))
    }

    /// Returns the time on air of an A-MPDU's block acknowledgement: a compressed one of 32 bytes.
    pub fn block_ack_time(&self, mcs: Mcs) -> Span {
        self.tx_time(self.control_rate(self.reference_rate(mcs)), BLOCK_ACK_BYTES)
    }

    /// Returns the rate of the answer to a frame at `rate`: the highest basic rate that is not
    /// higher, otherwise `rate` itself.
    pub fn control_rate(&self, rate: Rate) -> Rate {
        let basic = self.basic_rates.iter().copied();
        basic.filter(|basic| *basic <= rate).max().unwrap_or(rate)
    }

    /// Returns the time on air of the acknowledgement of a frame at `rate`.
    pub fn ack_time(&self, rate: Rate) -> Span {
        self.tx_time(self.control_rate(rate), ACK_BYTES)
    }

    /// Returns the times on air of the RTS and the CTS before a frame at `rate`.
    pub fn rts_cts_time(&self, rate: Rate) -> (Span, Span) {
        let control = self.control_rate(rate);
        (self.tx_time(control, RTS_BYTES), self.tx_time(control, CTS_BYTES))
    }

    /// Returns the time on air of the CTS of 802.11b by which stations of 802.11g protect their frames
    /// from stations of 802.11b (CTS-to-self). `rate` is its rate at scale 1.
    pub(super) fn cts_to_self(&self, preamble: Preamble, rate: Rate) -> Span {
        Phy::dsss(preamble).tx_time(rate, CTS_BYTES) / u64::from(self.scale)
    }

    /// Returns `DIFS`, a SIFS and two slots; or `AIFS`, a SIFS and [`Phy::aifsn`] slots.
    pub fn difs(&self) -> Span {
        self.sifs + self.slot * u64::from(self.aifsn)
    }

    /// Returns `EIFS`: a SIFS, an acknowledgement at the slowest rate, and a DIFS (10.3.2.3.7).
    pub fn eifs(&self) -> Span {
        self.sifs + self.tx_time(self.lowest_rate(), ACK_BYTES) + self.difs()
    }

    /// Returns `AckTimeout` and `CTSTimeout`: a SIFS, a slot and the delay until an answer is
    /// detected (10.3.2.11).
    pub fn answer_timeout(&self) -> Span {
        self.sifs + self.slot + self.rx_start_delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(span: Span) -> f64 {
        span.as_secs_f64() * 1e6
    }

    #[test]
    fn times_of_802_11b() {
        let phy = Phy::dsss(Preamble::Long);
        // 192 µs, and 1334 bytes at 11 Mbit/s, which are 970.2 µs and are announced as 971.
        assert_eq!(micros(phy.tx_time(Rate::from_mbps(11.0), 1334)), 192.0 + 971.0);
        assert_eq!(micros(phy.tx_time(Rate::from_mbps(1.0), 14)), 304.0);
        assert_eq!(micros(phy.ack_time(Rate::from_mbps(11.0))), 304.0);
        assert_eq!(micros(phy.difs()), 50.0);
        assert_eq!(micros(phy.eifs()), 364.0);
        assert_eq!(micros(phy.answer_timeout()), 222.0);
        let short = Phy::dsss(Preamble::Short);
        assert_eq!(micros(short.tx_time(Rate::from_mbps(2.0), 14)), 96.0 + 56.0);
        assert_eq!(micros(short.tx_time(Rate::from_mbps(1.0), 14)), 304.0);
    }

    #[test]
    fn times_of_802_11g_come_to_those_of_802_11a() {
        let (a, g) = (Phy::ofdm(), Phy::erp_ofdm());
        // 16 + 8 * 1336 + 6 bits are 50 symbols of 216 bits.
        let fast = Rate::from_mbps(54.0);
        assert_eq!(micros(a.tx_time(fast, 1336)), 20.0 + 200.0);
        // An acknowledgement at 24 Mbit/s: 134 bits, two symbols of 96; at 6 Mbit/s six of 24.
        assert_eq!(micros(a.ack_time(fast)), 28.0);
        assert_eq!(micros(a.ack_time(Rate::from_mbps(6.0))), 44.0);
        assert_eq!(a.control_rate(Rate::from_mbps(18.0)), Rate::from_mbps(12.0));
        let exchange =
            |phy: &Phy| phy.tx_time(fast, 1336) + phy.sifs + phy.ack_time(fast) + phy.difs();
        assert_eq!(exchange(&a), exchange(&g));
    }

    #[test]
    fn a_scaled_layer_is_so_many_times_as_fast() {
        let (slow, fast) = (Phy::dsss(Preamble::Long), Phy::dsss(Preamble::Long).scaled(20));
        let times = |phy: &Phy, factor: f64| {
            let rate = Rate::from_mbps(11.0 * factor);
            let all = phy.tx_time(rate, 1334) + phy.sifs + phy.ack_time(rate) + phy.difs();
            all.as_secs_f64() * factor
        };
        assert!((times(&slow, 1.0) / times(&fast, 20.0) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn ofdm_has_eight_rates() {
        assert!(Phy::ofdm().has_rate(Rate::from_mbps(54.0)));
        assert!(!Phy::ofdm().has_rate(Rate::from_mbps(11.0)));
        assert!(Phy::dsss(Preamble::Long).has_rate(Rate::from_mbps(54.0)));
        assert!(!Phy::dsss(Preamble::Long).has_rate(Rate::ZERO));
    }
}
