//! Bit errors of OFDM in noise: modulations, and the convolutional code.
//!
//! ns-3's NIST model (Pei and Henderson, "Validation of OFDM error rate model in ns-3", 2010): the
//! modulation's bit error rate in white noise, and from it a bound on the bit error rate after a
//! Viterbi decoder with hard decisions, by the distance spectra of the code with constraint length
//! 7 and of its punctured versions (Frenger, Orten and Ottosson 1999).

use super::phy::{Modulation, Phy};

/// Maximum number of rates of a layer: the modulation and coding schemes of 802.11n.
pub(super) const SCHEMES: usize = 16;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Constellation {
    Bpsk,
    Qpsk,
    Qam16,
    Qam64,
}

/// Rates of the code.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Code {
    Half,
    TwoThirds,
    ThreeQuarters,
    FiveSixths,
}

/// A modulation, a code rate, and the number of spatial streams that share the power.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Coding {
    constellation: Constellation,
    code: Code,
    streams: u32,
}

impl Coding {
    /// Returns the coding of a layer's rate by its index; `None` for layers without OFDM, and
    /// beyond the last rate.
    pub(super) fn of(phy: &Phy, rate: usize) -> Option<Coding> {
        use Code::{FiveSixths, Half, ThreeQuarters, TwoThirds};
        use Constellation::{Bpsk, Qam16, Qam64, Qpsk};
        const OFDM: [(Constellation, Code); 8] = [
            (Bpsk, Half),
            (Bpsk, ThreeQuarters),
            (Qpsk, Half),
            (Qpsk, ThreeQuarters),
            (Qam16, Half),
            (Qam16, ThreeQuarters),
            (Qam64, TwoThirds),
            (Qam64, ThreeQuarters),
        ];
        const HT: [(Constellation, Code); 8] = [
            (Bpsk, Half),
            (Qpsk, Half),
            (Qpsk, ThreeQuarters),
            (Qam16, Half),
            (Qam16, ThreeQuarters),
            (Qam64, TwoThirds),
            (Qam64, ThreeQuarters),
            (Qam64, FiveSixths),
        ];
        let (of_rate, streams) = match phy.modulation {
            Modulation::Dsss(_) => (None, 1),
            Modulation::Ofdm { .. } => (OFDM.get(rate), 1),
            Modulation::Ht(_) if rate < SCHEMES => (HT.get(rate % 8), rate as u32 / 8 + 1),
            Modulation::Ht(_) => (None, 1),
        };
        of_rate.map(|&(constellation, code)| Coding { constellation, code, streams })
    }

    /// Returns the logarithm of the probability that a data bit arrives, at a signal-to-noise ratio
    /// in decibels. Streams share the signal's power.
    pub(super) fn bit_arrives(self, snr: f64) -> f64 {
        let ratio = libm::pow(10.0, snr / 10.0) / f64::from(self.streams);
        let error = self.constellation.bit_error(ratio);
        libm::log1p(-self.code.bit_error(error).min(1.0 - 1e-9))
    }
}

impl Constellation {
    /// Returns the bit error rate in white noise with Gray coding.
    fn bit_error(self, ratio: f64) -> f64 {
        let tail = |x: f64| 0.5 * libm::erfc(libm::sqrt(x));
        match self {
            Constellation::Bpsk => tail(ratio),
            Constellation::Qpsk => tail(ratio / 2.0),
            Constellation::Qam16 => 3.0 / 4.0 * tail(ratio / 10.0),
            Constellation::Qam64 => 7.0 / 12.0 * tail(ratio / 42.0),
        }
    }
}

impl Code {
    /// Returns a bound on the bit error rate after the decoder, for channel bits that are damaged
    /// with probability `error`: errors of each distance, from the free distance on, have at most
    /// the probability of Chernoff's bound.
    fn bit_error(self, error: f64) -> f64 {
        // The free distance, the distance to the next term, data bits per step, bit errors by
        // distance.
        let (free, apart, bits, weights): (i32, i32, f64, &[f64]) = match self {
            Code::Half => {
                (10, 2, 1.0, &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0])
            }
            Code::TwoThirds => {
                (6, 1, 2.0, &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0])
            }
            Code::ThreeQuarters => {
                (5, 1, 3.0, &[42.0, 201.0, 1492.0, 10_469.0, 62_935.0, 379_644.0, 2_253_373.0])
            }
            Code::FiveSixths => {
                (4, 1, 5.0, &[92.0, 528.0, 8694.0, 79_453.0, 792_114.0, 7_375_573.0])
            }
        };
        let base = libm::sqrt(4.0 * error * (1.0 - error));
        let term = |(at, weight): (usize, &f64)| {
            weight * libm::pow(base, f64::from(free + apart * at as i32))
        };
        let sum: f64 = weights.iter().enumerate().map(term).sum();
        (sum / (2.0 * bits)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ratio in decibels at which a tenth of the frames of 1000 bytes are damaged.
    fn tenth(phy: &Phy, rate: usize) -> f64 {
        let coding = Coding::of(phy, rate).expect("a rate");
        let damage = |snr| 1.0 - libm::exp(8000.0 * coding.bit_arrives(snr));
        let (mut low, mut high) = (-10.0, 50.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if damage(middle) > 0.1 { low = middle } else { high = middle }
        }
        low
    }

    /// The minimum sensitivities of the standard (17.3.10.2: -82 to -65 dBm) differ by 17 dB from 6
    /// to 54 Mbit/s, and the ratios here do too, within 3 dB.
    #[test]
    fn rates_need_about_the_ratios_of_the_standard() {
        let phy = Phy::ofdm();
        let sensitivity = [-82.0, -81.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0];
        for rate in 0..8 {
            let above = tenth(&phy, rate) - tenth(&phy, 0);
            let standard = sensitivity[rate] - sensitivity[0];
            assert!((above - standard).abs() < 3.0, "{rate}: {above} for {standard}");
        }
        // BPSK 1/2 with hard decisions needs a few decibels.
        assert!((0.0..6.0).contains(&tenth(&phy, 0)), "{}", tenth(&phy, 0));
    }

    #[test]
    fn two_streams_need_twice_the_power() {
        let phy = Phy::ht(super::super::Ht::default());
        for rate in 0..8 {
            let more = tenth(&phy, rate + 8) - tenth(&phy, rate);
            assert!((more - 3.01).abs() < 0.01, "{rate}: {more}");
        }
        assert_eq!(Coding::of(&phy, 16), None);
    }

    #[test]
    fn odd_ratios_give_probabilities() {
        for snr in [f64::NEG_INFINITY, -300.0, 0.0, 300.0, f64::INFINITY] {
            for rate in 0..8 {
                let arrives = Coding::of(&Phy::ofdm(), rate).expect("a rate").bit_arrives(snr);
                assert!(arrives <= 0.0 && arrives.is_finite(), "{snr} {rate}: {arrives}");
            }
        }
    }
}
