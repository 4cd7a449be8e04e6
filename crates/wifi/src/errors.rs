//! Frames damaged on air without a collision, by their rate and size.

use paceline_cc::{Span, Time};
use paceline_path::ServiceError;

use super::coding::{Coding, SCHEMES};
use super::phy::Phy;
use super::station_config::StationConfig;

/// Probabilities with which frames to and from a station are damaged.
#[derive(Clone, Debug)]
pub(super) struct FrameErrors {
    frame_error: f64,
    /// Logarithm of the probability that a byte arrives, at any rate.
    byte_arrives: f64,
    /// That logarithm by rate, from each offset on; empty without a signal-to-noise ratio.
    by_rate: Vec<(Span, [f64; SCHEMES])>,
    period: Option<Span>,
}

impl FrameErrors {
    /// Creates the errors of a station.
    ///
    /// # Errors
    /// The steps of the signal-to-noise ratio are not a valid schedule.
    pub(super) fn new(config: &StationConfig, phy: &Phy) -> Result<FrameErrors, ServiceError> {
        let offsets = config.snr.iter().map(|(at, _)| *at);
        if let Some((first, last)) = offsets.clone().next().zip(offsets.clone().next_back()) {
            if !first.is_zero() {
                return Err(ServiceError::LateStart(first));
            }
            if let Some((_, late)) =
                offsets.clone().zip(offsets.skip(1)).find(|(one, next)| next <= one)
            {
                return Err(ServiceError::Unordered(late));
            }
            if let Some(period) = config.snr_period.filter(|period| *period <= last) {
                return Err(ServiceError::ShortPeriod { last, period });
            }
        }
        let by_rate = |&(at, decibels): &(Span, f64)| {
            let mut arrives = [0.0; SCHEMES];
            for (rate, byte) in arrives.iter_mut().enumerate() {
                let coding = Coding::of(phy, rate);
                *byte = coding.map_or(0.0, |coding| 8.0 * coding.bit_arrives(decibels));
            }
            (at, arrives)
        };
        Ok(FrameErrors {
            frame_error: config.frame_error,
            byte_arrives: 8.0 * libm::log1p(-config.bit_error),
            by_rate: config.snr.iter().map(by_rate).collect(),
            period: config.snr_period,
        })
    }

    /// Returns true if errors depend on the rate.
    pub(super) fn depend_on_rate(&self) -> bool {
        !self.by_rate.is_empty()
    }

    /// Returns the probability that a frame of `bytes` bytes is damaged which begins at `now`, at
    /// the rate with this index in the layer.
    pub(super) fn damage(&self, now: Time, rate: usize, bytes: u32) -> f64 {
        let byte_arrives = self.byte_arrives + self.byte_arrives_at(now, rate);
        if byte_arrives == 0.0 {
            return self.frame_error;
        }
        1.0 - (1.0 - self.frame_error) * libm::exp(byte_arrives * f64::from(bytes))
    }

    fn byte_arrives_at(&self, now: Time, rate: usize) -> f64 {
        if self.by_rate.is_empty() {
            return 0.0;
        }
        let mut at = now.since(Time::ZERO);
        if let Some(period) = self.period {
            at = Span::from_nanos(at.as_nanos() % period.as_nanos().max(1));
        }
        let step = self.by_rate.partition_point(|(from, _)| *from <= at).saturating_sub(1);
        self.by_rate.get(step).and_then(|(_, rates)| rates.get(rate)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Rate;

    use super::*;
    use crate::Ht;

    fn errors(change: impl FnOnce(&mut StationConfig)) -> FrameErrors {
        let mut config = StationConfig::new(Rate::from_mbps(54.0));
        change(&mut config);
        FrameErrors::new(&config, &Phy::ht(Ht::default())).expect("legal")
    }

    #[test]
    fn long_frames_are_damaged_more_often() {
        let errors = errors(|config| config.bit_error = 1e-5);
        let damage = |bytes| errors.damage(Time::ZERO, 0, bytes);
        assert!((damage(1336) - (1.0 - (1.0_f64 - 1e-5).powi(8 * 1336))).abs() < 1e-9);
        assert!(damage(76) < 0.1 * damage(1336));
    }

    #[test]
    fn noise_damages_fast_frames_first() {
        let second = Span::from_secs(1);
        let errors = errors(|config| {
            config.snr = vec![(Span::ZERO, 16.0), (second, 40.0)];
            config.snr_period = Some(second * 2);
        });
        let at = |time| (0..8).map(|rate| errors.damage(time, rate, 1500)).collect::<Vec<_>>();
        let (noisy, clear) = (at(Time::ZERO), at(Time::ZERO + second));
        assert!(noisy.is_sorted() && noisy[3] < 0.01 && noisy[7] > 0.99, "{noisy:?}");
        assert!(clear.iter().all(|damage| *damage < 0.01), "{clear:?}");
        assert_eq!(at(Time::ZERO + second * 2), noisy);
    }

    #[test]
    fn odd_steps_are_refused() {
        let (one, two) = (Span::from_secs(1), Span::from_secs(2));
        for (snr, period) in [
            (vec![(one, 9.0)], None),
            (vec![(Span::ZERO, 9.0), (two, 9.0), (one, 9.0)], None),
            (vec![(Span::ZERO, 9.0), (two, 9.0)], Some(one)),
        ] {
            let mut config = StationConfig::new(Rate::ZERO);
            (config.snr, config.snr_period) = (snr, period);
            assert!(FrameErrors::new(&config, &Phy::ofdm()).is_err());
        }
    }
}
