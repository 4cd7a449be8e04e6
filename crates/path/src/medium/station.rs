//! A station at a medium: its queue and router, its frame, its rate, its retry counters.

use paceline_cc::{Rate, Span, Stream, Time};

use super::backoff::Backoff;
use crate::link::Link;
use crate::service::{Schedule, ServiceError};

/// The settings of a station.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StationConfig {
    /// The rate of data frames to and from the station, from each offset on, the first at zero.
    /// That of the access point is only what its router is told.
    pub rates: Vec<(Span, Rate)>,
    /// The probability that a data frame to or from the station is damaged on air.
    pub frame_error: f64,
    /// The probability that a bit of such a frame is damaged, independently of others: the more
    /// bytes a frame has, the more often it is lost.
    pub bit_error: f64,
}

impl StationConfig {
    /// A station whose frames are never damaged.
    pub fn new(rate: Rate) -> StationConfig {
        StationConfig { rates: vec![(Span::ZERO, rate)], frame_error: 0.0, bit_error: 0.0 }
    }
}

/// What a station has done on air since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StationStats {
    /// Frames transmitted, retransmissions included; an RTS counts in the place of its frame.
    pub transmissions: u64,
    /// Of these, frames (or RTS) that collided.
    pub collisions: u64,
    /// Of these, frames that were damaged without a collision.
    pub errors: u64,
    /// The time that the medium was busy with frames of the station, answers included.
    pub airtime: Span,
}

/// A station.
pub(super) struct Station {
    pub(super) link: Link,
    pub(super) backoff: Backoff,
    /// It transmits a frame, or has transmitted one and waits for the answer.
    pub(super) on_air: bool,
    /// Transmissions of the frame that failed: of RTS or of frames without, and of frames behind an
    /// RTS.
    short_retries: u32,
    long_retries: u32,
    rates: Schedule,
    frame_error: f64,
    /// The logarithm of the probability that a byte arrives.
    byte_arrives: f64,
    pub(super) stats: StationStats,
}

impl Station {
    pub(super) fn new(
        config: &StationConfig,
        link: Link,
        random: Stream,
        cw_min: u32,
    ) -> Result<Station, ServiceError> {
        Ok(Station {
            link,
            backoff: Backoff::new(random, cw_min),
            on_air: false,
            short_retries: 0,
            long_retries: 0,
            rates: Schedule::new(&config.rates, None)?,
            frame_error: config.frame_error,
            byte_arrives: 8.0 * libm::log1p(-config.bit_error),
            stats: StationStats::default(),
        })
    }

    /// The rate of data frames to and from the station.
    pub(super) fn rate(&self, now: Time) -> Rate {
        self.rates.rate_at(now)
    }

    /// The probability that a frame of so many bytes to or from the station is damaged.
    pub(super) fn damage(&self, bytes: u32) -> f64 {
        if self.byte_arrives == 0.0 {
            return self.frame_error;
        }
        1.0 - (1.0 - self.frame_error) * libm::exp(self.byte_arrives * f64::from(bytes))
    }

    /// The frame was acknowledged.
    pub(super) fn on_ack(&mut self, cw_min: u32) {
        (self.short_retries, self.long_retries) = (0, 0);
        self.backoff.reset(cw_min);
    }

    /// Nobody answered an RTS or a frame without one, or (`long`) a frame behind an RTS. True if the
    /// packet is to be given up.
    pub(super) fn on_silence(&mut self, long: bool, limits: (u32, u32), cw: (u32, u32)) -> bool {
        let (short_limit, long_limit) = limits;
        let over = if long {
            self.long_retries += 1;
            self.long_retries >= long_limit
        } else {
            self.short_retries += 1;
            self.short_retries >= short_limit
        };
        if over {
            self.on_ack(cw.0);
        } else {
            self.backoff.widen(cw.1);
        }
        over
    }
}
