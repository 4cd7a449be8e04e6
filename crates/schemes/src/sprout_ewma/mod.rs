//! Sprout-EWMA: Sprout's protocol with a moving average of the rate instead of a cautious forecast.
//!
//! # What it does
//! The receiver averages the packets per tick of 20 ms and forecasts that the link will keep this
//! rate `r`: `floor(h r)` packets by the end of the h-th tick. Empty ticks count, except after an
//! announced pause. All other parts are Sprout's: headers, reports, the count of the queue, ticks,
//! heartbeats. It gets more throughput than Sprout, and more delay, since an average notices
//! outages late.
//!
//! # Signals it needs
//! Sprout's: congestion headers on data packets, and reports.
//!
//! # Parameters
//! `least`: the average starts at zero, and heartbeats of a few bytes do not raise it enough for a
//! forecast of a whole packet. So that the first packet leaves, and the next one after a pause or
//! after losses, forecasts use at least 0.2 packets per tick, which gives a window of one packet.
//!
//! # Where it fails
//! When the link's rate falls, it sends at the former rate for a few more ticks, and in an outage
//! until its forecast has decayed.
//!
//! # Source
//! K. Winstein: Transport Architectures for an Evolving Internet, MIT 2014, §2.4.3. The authors'
//! code (Alfalfa) for the gain.

#[cfg(test)]
mod tests;

use paceline_cc::params::above;
use paceline_cc::{FORECAST_TICKS, Params, Span};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
use crate::sprout::{Counts, Drain, FeedbackTiming, HEARTBEATS, Model, PAYLOADS, SproutParams};

paceline_cc::params! {
    /// Parameters of Sprout-EWMA.
    pub struct SproutEwmaParams {
        /// Weight of a tick in the average.
        gain: f64 = 0.125, in above(0.0).up_to(1.0), source "authors' code";
        /// Smallest number of packets per tick for a forecast.
        least: f64 = 0.2, in 0.0..=1000.0, unit "packets per tick", source "ours; authors' code: 0";
        /// Number of ticks of 20 ms within which packets are to clear the queue.
        lookahead: u32 = 5, in 1..=7, unit "ticks", source "thesis §2.2.5";
        /// The longest pause between packets.
        heartbeat: Span = Span::from_millis(50), in HEARTBEATS, source "authors' code";
        /// When forecasts are sent back: in each tick, once per heartbeat, or with flights of the
        /// other direction.
        feedback: FeedbackTiming = FeedbackTiming::Tick, source "ours; authors' code: flights";
        /// Longest sleep of the sender's loop, which notices the end of a tick when it wakes up; 0
        /// for no sleep.
        poll: Span = Span::ZERO, in ..=Span::from_secs(1), source "ours; authors' code: 10ms";
        /// Whether each tick drains the packets of all ticks so far, or only its own.
        drain: Drain = Drain::Cumulative, source "authors' code; thesis §2.2.5: incremental";
        /// Bytes of payload that count as a packet at the receiver.
        received_packet: u32 = 1400, in PAYLOADS, unit "bytes", source "authors' code";
        /// Bytes of payload in a packet of the forecast at the sender.
        sent_packet: u32 = 1440, in PAYLOADS, unit "bytes", source "authors' code";
    }
    variants {
        /// The authors' code.
        "authors" => {},
        /// The thesis' text.
        "paper" => { drain: Drain::Incremental, received_packet: 1440 },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "sprout-ewma",
    summary: "Sprout with a moving average of the rate instead of a cautious forecast",
    source: "Winstein, MIT 2014, section 2.4.3",
    params: SproutEwmaParams::infos,
    plot_style: PlotStyle::new(Hue::Violet, Dash::Dashed, Shape::Circle),
    bulk: None,
    note: Some(Note::new(
        "it counts packets in flight as queued and forecasts 100 ms, so it leaves paths with an RTT of \
         about 100 ms or more partly unused",
    )),
    build: |spec| {
        let SproutEwmaParams {
            gain,
            least,
            lookahead,
            heartbeat,
            feedback,
            poll,
            drain,
            received_packet,
            sent_packet,
        } = spec.params()?;
        let params = SproutParams {
            lookahead,
            heartbeat,
            feedback,
            poll,
            drain,
            received_packet,
            sent_packet,
            ..SproutParams::default()
        };
        Ok(params.halves(move |_| MovingAverage::new(gain, least)))
    },
};

/// The moving average of packets per tick.
#[derive(Clone, Debug)]
pub(crate) struct MovingAverage {
    gain: f64,
    least: f64,
    rate: f64,
}

impl MovingAverage {
    /// Returns an average that starts at zero; forecasts use at least `least` packets per tick.
    pub(crate) fn new(gain: f64, least: f64) -> MovingAverage {
        MovingAverage { gain, least, rate: 0.0 }
    }

    /// Returns the packets per tick.
    #[cfg(test)]
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }
}

impl Model for MovingAverage {
    fn evolve(&mut self) {}
    fn observe(&mut self, packets: f64) {
        self.rate = (1.0 - self.gain) * self.rate + self.gain * packets;
    }
    fn forecast(&self) -> Counts {
        // The conversions saturate.
        let rate = self.rate.max(self.least);
        std::array::from_fn::<u16, FORECAST_TICKS, _>(|h| (rate * (h + 1) as f64) as u16)
    }
    fn restart(&mut self) {
        self.rate = 0.0;
    }
}
