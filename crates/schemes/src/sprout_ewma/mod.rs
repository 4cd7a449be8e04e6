//! Sprout-EWMA: Sprout's protocol over a moving average of the rate instead of a cautious
//! forecast.
//!
//! # What it does
//! The receiver averages the packets per tick of 20 ms and forecasts that the link will go on
//! like that: `floor(h r)` packets by the end of the h-th tick. Ticks after an announced pause
//! that bring nothing do not count, others do. Everything else is Sprout's: headers, reports,
//! queue accounts, ticks, heartbeats. It gets more throughput than Sprout, and more delay, since
//! an average notices outages late.
//!
//! # Signals it needs
//! Sprout's: congestion headers on data packets, and reports back.
//!
//! # Parameters
//! | name | unit | default | source |
//! | --- | --- | --- | --- |
//! | `variant` | | authors | the authors' code; `paper` for the thesis |
//! | `gain` | | 1/8 | the authors' code |
//! | `least` | packets per tick | 0.2 | ours; the authors' code: 0 |
//! | `lookahead` | ticks | 5 | thesis §2.2.5 |
//! | `heartbeat` | time | 50 ms | the authors' code |
//! | `feedback` | | tick | see [`super::sprout`] |
//! | `drain` | | cumulative | the authors' code; thesis §2.2.5: incremental |
//! | `received_packet` | bytes | 1400 | the authors' code |
//! | `sent_packet` | bytes | 1440 | the authors' code |
//!
//! `least`: the average starts at zero, and heartbeats of a few bytes do not lift it to where the
//! forecast has a whole packet. So that the first packet ever leaves, and the next after a pause
//! or after losses, forecasts count with 0.2 packets per tick at least, which makes one packet in
//! the window.
//!
//! # Where it fails
//! When the link's rate falls, it goes on sending for a few ticks as if nothing had happened, and
//! in an outage until its forecast has faded.
//!
//! # Source
//! K. Winstein: Transport Architectures for an Evolving Internet, MIT 2014, §2.4.3. The authors'
//! code (Alfalfa) for the gain.

#[cfg(test)]
mod tests;

use paceline_cc::{FORECAST_TICKS, Params, Span};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;
use crate::sprout::{Counts, Drain, Feedback, Model, SproutParams};

paceline_cc::params! {
    /// Parameters of Sprout-EWMA.
    pub struct SproutEwmaParams {
        /// Weight of a tick in the average (the authors' code).
        gain: f64 = 0.125,
        /// Packets per tick that forecasts count with at least (the authors' code: 0).
        least: f64 = 0.2,
        /// Ticks of 20 ms within which packets are to clear the queue (thesis section 2.2.5).
        lookahead: u32 = 5,
        /// The longest pause between packets (the authors' code).
        heartbeat: Span = Span::from_millis(50),
        /// When forecasts go back: in each tick, once per heartbeat, or with flights the other way.
        feedback: Feedback = Feedback::Tick,
        /// How long the sender's loop sleeps at most (the authors' code: 10 ms); 0: not at all.
        poll: Span = Span::ZERO,
        /// Whether ticks drain their own packets (thesis) or all so far (the authors' code).
        drain: Drain = Drain::Cumulative,
        /// Bytes of payload that count as a packet at the receiver (the authors' code).
        received_packet: u32 = 1400,
        /// Bytes of payload in a packet of the forecast at the sender (the authors' code).
        sent_packet: u32 = 1440,
    }
    variants {
        /// The authors' code.
        "authors" => {},
        /// The thesis' text.
        "paper" => { drain: Drain::Incremental, received_packet: 1440 },
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "sprout-ewma",
    summary: "Sprout with a moving average of the rate instead of a cautious forecast",
    source: "Winstein, MIT 2014, section 2.4.3",
    params: SproutEwmaParams::infos,
    plot_style: PlotStyle::new(Hue::Violet, Dash::Dashed, Shape::Circle),
    bulk: None,
    note: Some(
        "it takes all that is in flight for queue and looks 100 ms ahead, so that it \
         fills no path of about 100 ms or more",
    ),
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
        spec.require(0.0 < gain && gain <= 1.0, "gain", "expected a number above 0, up to 1")?;
        let sane = (0.0..=1000.0).contains(&least);
        spec.require(sane, "least", "expected 0 to 1000 packets per tick")?;
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
        params.check(spec)?;
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
    /// An average that starts at zero; forecasts count with `least` packets per tick at least.
    pub(crate) fn new(gain: f64, least: f64) -> MovingAverage {
        MovingAverage { gain, least, rate: 0.0 }
    }

    /// Packets per tick.
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
        // Conversions saturate.
        let rate = self.rate.max(self.least);
        std::array::from_fn::<u16, FORECAST_TICKS, _>(|h| (rate * (h + 1) as f64) as u16)
    }
    fn restart(&mut self) {
        self.rate = 0.0;
    }
}
