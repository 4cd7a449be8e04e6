//! A station at a medium: its queue and router, its frame, its rate, its retry counters.

use paceline_cc::{Packet, Rate, Span, Stream, Time};

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
    /// When the frame came to the head of the queue.
    taken: Time,
    /// Means over the last frames: bytes of packets, and seconds from the head of the queue to the
    /// receiver.
    bytes: f64,
    seconds: f64,
}

/// The weight of a frame in the means of bytes and times: that of one in sixteen.
const WEIGHT: f64 = 1.0 / 16.0;

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
            taken: Time::ZERO,
            bytes: 0.0,
            seconds: 0.0,
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

    /// Takes the next packet from the queue; false if there is none.
    pub(super) fn take(&mut self, now: Time) -> bool {
        self.taken = now;
        self.link.take(now)
    }

    /// The frame arrives at `now`. What the station carries while it has something to send is known
    /// to its driver, from the times that frames take: routers are told that.
    pub(super) fn deliver(&mut self, now: Time) -> Packet {
        let packet = self.link.deliver(now);
        let (bytes, seconds) = (f64::from(packet.size), now.since(self.taken).as_secs_f64());
        let weight = if self.seconds > 0.0 { WEIGHT } else { 1.0 };
        self.bytes += weight * (bytes - self.bytes);
        self.seconds += weight * (seconds - self.seconds);
        self.link.set_capacity(Rate::from_bytes_per_sec(self.bytes / self.seconds.max(1e-9)));
        packet
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
