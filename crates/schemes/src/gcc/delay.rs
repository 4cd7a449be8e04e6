//! How the delay says that the path is used: groups of packets, a filter, a detector (libwebrtc
//! `delay_based_bwe.cc`).

use paceline_cc::{Fate, Span, Time};

use super::detector::{Detector, Usage};
use super::groups::{Groups, Variation};
use super::kalman::Kalman;
use super::trendline::Trendline;
use super::{Filter, GccParams};

/// After this time without arrivals, everything begins anew (`kStreamTimeOut`).
const STREAM_TIMEOUT: Span = Span::from_secs(2);

#[derive(Clone, Debug)]
enum Slope {
    Kalman(Kalman),
    Trendline(Trendline),
}

/// Detects over-use by the delay.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    params: GccParams,
    groups: Groups,
    slope: Slope,
    detector: Detector,
    /// Groups so far, up to the number that counts.
    count: u32,
    estimate: f64,
    heard: Option<Time>,
    has_recovered: bool,
}

impl Delay {
    pub(super) fn new(params: &GccParams) -> Delay {
        let slope = match params.filter {
            Filter::Kalman => Slope::Kalman(Kalman::new(params.q, params.chi)),
            Filter::Trendline => Slope::Trendline(Trendline::new()),
        };
        Delay {
            groups: Groups::new(params.burst_time),
            slope,
            detector: Detector::new((params.k_up, params.k_down), params.overuse_time),
            count: 0,
            estimate: 0.0,
            heard: None,
            has_recovered: false,
            params: params.clone(),
        }
    }

    /// The sender hears at `now` of a packet that has arrived.
    pub(super) fn on_arrival(&mut self, now: Time, fate: &Fate) {
        if self.heard.is_some_and(|heard| now.since(heard) > STREAM_TIMEOUT) {
            *self = Delay::new(&self.params);
        }
        self.heard = Some(now);
        if let Some(variation) = self.groups.on_packet(fate.sent, fate.received) {
            self.on_group(&variation);
        }
    }

    fn on_group(&mut self, variation: &Variation) {
        let before = self.detector.usage();
        let slope = match &mut self.slope {
            Slope::Kalman(kalman) => kalman.update(variation, before),
            Slope::Trendline(line) => line.update(variation),
        };
        self.count = (self.count + 1).min(self.params.deltas);
        self.estimate = slope * f64::from(self.count);
        let usage = self.detector.detect(self.estimate, variation);
        self.has_recovered |= before == Usage::Under && usage == Usage::Normal;
    }

    pub(super) fn usage(&self) -> Usage {
        self.detector.usage()
    }

    /// The slope times the number of groups.
    pub(super) fn estimate(&self) -> f64 {
        self.estimate
    }

    pub(super) fn threshold(&self) -> f64 {
        self.detector.threshold()
    }

    /// Returns once whether under-use has ended: the queues of an over-use have drained.
    pub(super) fn take_recovery(&mut self) -> bool {
        std::mem::take(&mut self.has_recovered)
    }
}
