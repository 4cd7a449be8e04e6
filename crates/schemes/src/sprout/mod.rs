//! Sprout: sends as much as the link will deliver within 100 ms with 95 % probability, by the
//! receiver's forecast.
//!
//! # What it does
//! The receiver counts packets in ticks of 20 ms and keeps a probability for each of 257 rates of
//! the link between 0 and 1000 packets per second. It models rates as Brownian motion, outages as
//! persistent, and the number of packets in a tick as the output of a Poisson process. From this it
//! forecasts how many packets the link will deliver at least by the end of each of the next eight
//! ticks, with 95 % confidence. It sends the forecast back with the number of bytes that it has
//! received or counts as lost. The sender takes all bytes sent beyond these for the queue, drains
//! that queue as forecast, and sends as many more as will have left the queue five ticks later. The
//! last packet of a flight announces a pause, so that an idle link is not taken for an outage;
//! without data a heartbeat leaves every 50 ms. Losses, round-trip times and acknowledgements are
//! not used.
//!
//! Halves: [`SproutSender`] sends; [`SproutReceiver`] keeps time and forecasts, with an
//! [`Inference`] as its model. Sprout-EWMA differs only in the model.
//!
//! # Signals it needs
//! Congestion headers on data packets, and reports. The generic sender's acknowledgements only
//! serve its own account, so they are sparse: one per 16 packets, or after 20 ms. The window is
//! exact to the byte ([`Plan::exact_window`](paceline_cc::Plan::exact_window)): no packet exceeds
//! it even with nothing in flight, the tail is not probed, and nothing is retransmitted. Forecasts
//! use only the receiver's clock: the sender counts a forecast's ticks from its arrival.
//!
//! # Parameters
//! `feedback`: the authors' flows carry data both ways, and the first packet of each flight carries
//! a forecast. A flow here has one direction (a path can carry one each way), so reports of 68
//! bytes replace the packets of the other direction: one in each tick, as with a busy reverse flow,
//! or one per heartbeat, as with an idle one. With `flights` they have the times of the authors'
//! program when data flow both ways: the first packet of each flight of the other direction, 20 to
//! 50 ms after the previous one, 35 ms on average. With a flow of this scheme in the other
//! direction, this is the authors' program, in which each direction slows the other down. Reports
//! stop when no packet has arrived for 2 s.
//!
//! `poll`: the authors' loop sleeps for 10 ms unless a packet arrives, so that it notices the end
//! of a tick, and the room in the window, up to 10 ms late.
//!
//! `outage_column`: the authors' weights of staying in an outage and of leaving it add up to 0.55,
//! so that every tick halves the odds of an outage; the thesis mentions only a bias to stay.
//! `drain`: in each tick, the authors subtract that tick's whole cumulative count from the queue,
//! and so drain it sooner than the forecast says. `ticks`: the authors add up ticks as if each had
//! a new rate, which makes the sum look more certain than it is.
//!
//! A packet on the wire has 60 bytes of headers (IP 20, UDP 8, nonce and authentication 24,
//! Sprout's own 8), so that the packets of 1500 bytes here carry the authors' 1440 bytes of
//! payload, and a heartbeat of 64 bytes carries 4. Windows, queues and counts are in bytes of
//! payload.
//!
//! # Where it fails
//! Bytes in flight count as queue, and a forecast looks 100 ms ahead, so the path must be short: of
//! a steady link of 6 Mbit/s it uses all at an RTT of 40 ms, half at 60 ms and a third at 100 ms.
//! Reports that wait in a queue of the way back lengthen the path as well, and the window closes
//! 140 ms after the last report. Rates end at 1000 packets per second, and above about 20 packets
//! per tick it is too cautious: it does not fill links far above 12 Mbit/s. It ignores other flows
//! in the queue, and gets the share that they leave. On links of 1 Mbit/s its caution costs half of
//! the throughput. After a time below about 0.8 Mbit/s it stays at 0.4 Mbit/s on any faster link: for good after 2 s of
//! 0.5 Mbit/s on a link of 8 Mbit/s (RTT 20 ms). `feedback=flights` leaves it, but carries less on most recordings;
//! `variant=paper` stays at 0.01 Mbit/s there. A video stays at its lowest rate on any link: while the sender has
//! little to send, the receiver forecasts few bytes, and the encoder follows the forecast. With `ticks` = joint,
//! forecasts are more cautious: after an outage, heartbeats alone do not open the window again.
//!
//! # Source
//! K. Winstein: Transport Architectures for an Evolving Internet, MIT 2014, chapter 2; K. Winstein,
//! A. Sivaraman, H. Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks, NSDI 2013. The authors' code (Alfalfa) for constants and for points that the
//! thesis leaves open.

mod belief;
mod forecast;
mod model;
#[cfg(test)]
mod protocol_tests;
mod receiver;
mod recent;
mod sender;
#[cfg(test)]
mod tests;
mod total;

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

pub use belief::{BINS, Belief, TICK};
pub use forecast::{Counts, Tables, Ticks};
pub use model::{Inference, Model};
pub use receiver::{ReceiverRules, SproutReceiver};
pub use sender::SproutSender;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Span};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};

/// Bytes of a packet on the wire that are not payload.
pub(crate) const HEADERS: u32 = 60;

/// `time_to_next` of packets that announce a rest: a pause of unknown length until the next packet.
pub(crate) const REST: u32 = u32::MAX;

/// Returns the payload of a packet of `size` bytes on the wire.
pub(crate) fn payload(size: u32) -> u32 {
    size.saturating_sub(HEADERS)
}

paceline_cc::choices! {
    /// When forecasts are sent back.
    pub enum FeedbackTiming {
        /// In every tick.
        Tick = "tick",
        /// Once per heartbeat.
        Heartbeat = "heartbeat",
        /// With the flights of a flow that carries data the other way.
        Flights = "flights",
    }
}

paceline_cc::choices! {
    /// How the probability of an outage changes in a tick.
    pub enum OutageColumn {
        /// The authors' weights, which add up to 0.55.
        AsWritten = "as-written",
        /// The authors' weights, scaled to one.
        Normalised = "normalised",
    }
}

paceline_cc::choices! {
    /// The packets that a tick of the forecast removes from the queue.
    pub enum Drain {
        /// In each tick, the packets of all ticks of the forecast so far.
        Cumulative = "cumulative",
        /// The packets of this tick.
        Incremental = "incremental",
    }
}

/// Range of pauses between packets, for parameters.
pub(crate) const HEARTBEATS: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(60);
/// Range of payloads of packets in bytes, for parameters.
pub(crate) const PAYLOADS: RangeInclusive<u32> = 100..=65_535;

paceline_cc::params! {
    /// Parameters of Sprout; Sprout-EWMA has those that do not concern the inference.
    pub struct SproutParams {
        /// Probability that the link delivers at least as much as the forecast.
        confidence: f64 = 0.95, in above(0.0).below(1.0), source "thesis §2.2.3, Fig. 2-11";
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
        /// Whether the weights of an outage are scaled to add up to one.
        outage_column: OutageColumn = OutageColumn::AsWritten,
            source "authors' code; thesis §2.2.2: normalised";
        /// Whether each tick drains the packets of all ticks so far, or only its own.
        drain: Drain = Drain::Cumulative, source "authors' code; thesis §2.2.5: incremental";
        /// Whether a tick's rate leads to the next one's (joint) or not.
        ticks: Ticks = Ticks::Independent, source "authors' code; thesis §2.2.3: joint";
        /// Bytes of payload that count as a packet at the receiver.
        received_packet: u32 = 1400, in PAYLOADS, unit "bytes", source "authors' code";
        /// Bytes of payload in a packet of the forecast at the sender.
        sent_packet: u32 = 1440, in PAYLOADS, unit "bytes", source "authors' code";
    }
    variants {
        /// The authors' code, with which the thesis' figures were measured.
        "authors" => {},
        /// The thesis' text.
        "paper" => {
            outage_column: OutageColumn::Normalised,
            drain: Drain::Incremental,
            ticks: Ticks::Joint,
            received_packet: 1440,
        },
    }
}

impl SproutParams {
    /// Returns the tables of the inference with these parameters: see [`Tables::new`].
    pub fn tables(&self) -> Tables {
        Tables::new(self.ticks, self.outage_column == OutageColumn::Normalised)
    }

    /// Returns the tables of [`SproutParams::tables`], which all receivers of the process share.
    fn shared_tables(&self) -> Arc<Tables> {
        let [independent, independent_normalised, joint, joint_normalised] = &TABLES;
        let tables = match (self.ticks, self.outage_column) {
            (Ticks::Independent, OutageColumn::AsWritten) => independent,
            (Ticks::Independent, OutageColumn::Normalised) => independent_normalised,
            (Ticks::Joint, OutageColumn::AsWritten) => joint,
            (Ticks::Joint, OutageColumn::Normalised) => joint_normalised,
        };
        Arc::clone(tables)
    }

    /// Returns the halves of the protocol, with receivers whose model of the link `model` makes.
    pub(crate) fn halves<M: Model + 'static>(
        self,
        model: impl Fn(&SproutParams) -> M + Send + Sync + 'static,
    ) -> Halves {
        let params = self.clone();
        let rules = ReceiverRules {
            feedback: self.feedback,
            packet: self.received_packet,
            heartbeat: self.heartbeat,
        };
        Halves {
            reporter: Some(Arc::new(move |_| Box::new(SproutReceiver::new(model(&self), rules)))),
            ack: AckPolicy { every: 16, delay: Span::from_millis(20) },
            reliable: false,
            ..Halves::sender(move |setup| SproutSender::new(&params, setup))
        }
    }
}

/// The tables for each value of `ticks` and `outage_column`, 2.3 MB each, which depend on these two
/// alone. Each is computed for the first receiver that needs it (12 ms), and kept.
static TABLES: [LazyLock<Arc<Tables>>; 4] = [
    LazyLock::new(|| Arc::new(Tables::new(Ticks::Independent, false))),
    LazyLock::new(|| Arc::new(Tables::new(Ticks::Independent, true))),
    LazyLock::new(|| Arc::new(Tables::new(Ticks::Joint, false))),
    LazyLock::new(|| Arc::new(Tables::new(Ticks::Joint, true))),
];

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "sprout",
    summary: "Sends as much as the link will deliver within 100 ms with 95 % probability",
    source: "Winstein, MIT 2014, chapter 2; NSDI 2013",
    params: SproutParams::infos,
    plot_style: PlotStyle::new(Hue::Violet, Dash::Solid, Shape::Plus),
    bulk: None,
    note: Some(Note::new(
        "it counts packets in flight as queued and forecasts 100 ms, so it leaves paths with an RTT above \
         40 ms partly unused, and links above 12 Mbit/s",
    )),
    build: |spec| {
        let params: SproutParams = spec.params()?;
        Ok(params.halves(|params| Inference::new(params, params.shared_tables())))
    },
};
