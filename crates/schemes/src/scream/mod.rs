//! SCReAM, Self-Clocked Rate Adaptation for Multimedia: a window for real-time media, from queueing delay,
//! losses and marks, and an encoder's rate from the window.
//!
//! # What it does
//! Version 2 keeps a reference window. It grows by up to a packet per RTT, and faster the longer no congestion was
//! met: by up to 2 % more per acknowledged window. Near the window at which congestion was met before, it
//! grows slowly. Marks reduce it by half of their averaged share, as in DCTCP; an averaged
//! queueing delay between half the target and the target counts as a share of 0 to 1; a loss leaves 70 % of it.
//! It is reduced once per RTT, or per 25 ms if that is shorter, by as much less for longer RTTs.
//! The encoder is to make the window per RTT, divided by 1.2 and by what waits in the sender and varies in the
//! frames' sizes. Packets are paced at 1.5 times that, and 1.5 to 3 windows may be in flight: while the
//! delay is steady, a large frame leaves at once.
//!
//! Version 1 (`variant=v1`) is RFC 8298. Its window follows the queueing delay as LEDBAT's does. At the start, and
//! again after 5 s without a trend of the delay, it grows by the acknowledged bytes. The encoder's rate is a controller
//! of its own: it rises by up to 200 kbit/s a second, less near the rate at which congestion was met,
//! and falls with losses, marks, and data that waits in the sender.
//!
//! If data has waited for 100 ms in the sender, the application is to leave out frames. After 500 ms without
//! a packet sent, those in flight no longer count, so that a window whose last packets were lost does not stay full
//! (the authors' program). Those count neither as acknowledged nor as lost later. Packets that only the retransmission timer has
//! declared lost count when a later packet is acknowledged, so that the window stays as it is during an outage. A packet that
//! arrives up to 10 ms late (`reordering`) is not lost.
//!
//! # Signals it needs
//! The fate of packets with receive times, of each packet; the number of packets marked with CE. Version 2
//! sends ECT(1), for queues of L4S, version 1 ECT(0). Offsets of the clocks cancel. The receiver acknowledges
//! each packet; the authors' program reports 16 packets, or a frame, at once. Version 2 averages the delay of the
//! packets with which such a report would come: the end of a frame, or each 16th. When it averaged one packet each 25 ms,
//! that was mostly the first of a frame, which meets the shortest queue: a call of 0.15 to 1.5 Mbit/s then carried
//! 0.84 Mbit/s of 1 Mbit/s (RTT 100 ms, median of ten seeds).
//!
//! # Parameters
//! The defaults are the draft's, `competing_flows` the authors' program's. Where the draft leaves a choice, it
//! is the one of that program (EricssonResearch/scream): the base delay is the smallest of 500 s, and near
//! `max_rate` the window is limited by what was in flight. Set `max_rate` to the encoder's largest rate.
//!
//! # Where it fails
//! Without marks, on a link with a deep buffer beside loss-based flows, it keeps its smallest rate, unless
//! `competing_flows=true` lets the delay target follow the queue of the others; then its own queue may raise
//! the target: version 1, which has it, keeps 200 ms of queue alone on 1 Mbit/s.
//! Links whose delay varies without congestion slow its growth down. While the base delay
//! is wrong, after a change of the route, version 2 halves its rate for 200 ms after about half a minute, and
//! starts anew; version 1 does not.
//!
//! # Source
//! I. Johansson, Z. Sarker: Self-Clocked Rate Adaptation for Multimedia, RFC 8298, 2017. I. Johansson,
//! M. Westerlund, M. Kühlewind: draft-johansson-ccwg-rfc8298bis-screamv2-07. EricssonResearch/scream.

mod delay_target;
mod frames;
mod marked_share;
mod missing;
mod queue_delay;
mod rate_v1;
mod rate_v2;
mod sender;
#[cfg(test)]
mod tests;
mod trend;
mod window_v1;
mod window_v2;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Rate, Span};

use crate::parts::{MEDIA_DELAYS, MEDIA_RATES};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
pub use sender::ScreamSender;

paceline_cc::choices! {
    /// Which SCReAM.
    pub enum Version {
        /// The draft with L4S.
        V2 = "v2",
        /// RFC 8298.
        V1 = "v1",
    }
}

paceline_cc::choices! {
    /// The ECN code point of packets, and the reaction to marks.
    pub enum EcnMode {
        /// ECT(1); reduces by the averaged share of marks (version 2).
        L4s = "l4s",
        /// ECT(0); reduces by `beta_ecn`.
        Classic = "classic",
        /// Not ECN-capable.
        Off = "off",
    }
}

paceline_cc::params! {
    /// Parameters of SCReAM.
    pub struct ScreamParams {
        /// Which SCReAM.
        version: Version = Version::V2, source "draft; RFC 8298: v1";
        /// The ECN code point of packets, and the reaction to marks.
        ecn: EcnMode = EcnMode::L4s, source "draft; RFC 8298: classic";
        /// Smallest target of the queueing delay.
        qdelay_target_lo: Span = Span::from_millis(60), in MEDIA_DELAYS, source "draft; RFC 8298: 100ms";
        /// Largest target of the queueing delay, at least `qdelay_target_lo`.
        qdelay_target_hi: Span = Span::from_millis(400), in MEDIA_DELAYS, must "at least qdelay_target_lo",
            source "draft, RFC 8298 §4.1.1.1";
        /// Whether the target rises beside flows that fill the queue.
        competing_flows: bool = false, source "the authors' program; draft, RFC 8298: true";
        /// Smallest rate for the encoder.
        min_rate: Rate = Rate::from_bps(50_000), in MEDIA_RATES, source "ours; applications have their own";
        /// Largest rate for the encoder, at least `min_rate`.
        max_rate: Rate = Rate::from_bps(30_000_000), in MEDIA_RATES, must "at least min_rate",
            source "ours; applications have their own";
        /// Smallest window.
        min_window: u64 = 3000, in 1..=1_000_000, unit "bytes", source "draft, RFC 8298 §4.1.1.1";
        /// Share of the window that remains after a loss.
        beta_loss: f64 = 0.7, in above(0.0).up_to(1.0), source "draft; RFC 8298: 0.8";
        /// Share of the window that remains after a classic mark.
        beta_ecn: f64 = 0.8, in above(0.0).up_to(1.0), source "draft; RFC 8298: 0.9";
        /// A packet is lost when one that was sent later by this time is acknowledged; zero for any later one.
        reordering: Span = Span::from_millis(10), in ..=Span::from_secs(1), source "the authors' program";
        /// The window grows up to this multiple of the bytes in flight.
        flight_headroom: f64 = 1.5, in 1.0..=100.0, source "draft; RFC 8298: 1.1";
        /// RTT as which shorter ones count (version 2).
        virtual_rtt: Span = Span::from_millis(25), in MEDIA_DELAYS, source "draft";
        /// Growth in addition to a packet per RTT, as a share of the window (version 2).
        mul_increase: f64 = 0.02, in 0.0..=1.0, source "draft";
        /// RTTs after congestion until that growth is whole again (version 2).
        post_congestion_rtts: f64 = 100.0, in above(0.0).up_to(1e6), unit "RTTs", source "draft";
        /// Weight of a larger share of marks in the averaged one (version 2).
        l4s_gain_up: f64 = 0.125, in above(0.0).up_to(1.0), source "draft";
        /// Weight of a smaller share of marks (version 2).
        l4s_gain_down: f64 = 0.0078125, in above(0.0).up_to(1.0), source "draft: 1/128";
        /// Windows that may be in flight when the delay varies (version 2).
        overhead_min: f64 = 1.5, in 1.0..=100.0, unit "windows", source "draft";
        /// Windows that may be in flight while the delay is steady, at least `overhead_min` (version 2).
        overhead_max: f64 = 3.0, in 1.0..=100.0, must "at least overhead_min", unit "windows", source "draft";
        /// Pacing rate as a multiple of the encoder's rate (version 2).
        pacing_headroom: f64 = 1.5, in 1.0..=100.0, source "draft";
        /// Pacing at `max_rate` is faster by this factor (version 2).
        relaxed_pacing: f64 = 4.0, in 1.0..=100.0, source "draft";
        /// Gain of the window for the distance from the target (version 1).
        gain: f64 = 1.0, in above(0.0).up_to(100.0), source "RFC 8298 §4.1.1.1";
        /// Trend of the delay at which fast increase ends, and below which it may resume (version 1).
        trend_limit: f64 = 0.2, in 0.0..=1.0, source "RFC 8298 §4.1.1.1";
        /// Time without a trend after which fast increase resumes (version 1).
        resume_time: Span = Span::from_secs(5), in ..=Span::from_secs(3600), source "RFC 8298 §4.1.1.1";
        /// Largest rise of the encoder's rate within a second (version 1).
        ramp_up: Rate = Rate::from_bps(200_000), in MEDIA_RATES, source "RFC 8298 §4.1.1.1";
        /// Share of the encoder's rate that remains after a loss (version 1).
        beta_rate: f64 = 0.9, in above(0.0).up_to(1.0), source "RFC 8298 §4.1.1.1";
        /// How much the trend of the delay lowers the encoder's rate (version 1).
        pre_congestion_guard: f64 = 0.1, in 0.0..=1.0, source "RFC 8298 §4.1.1.1";
        /// How much waiting data lowers the encoder's rate (version 1).
        tx_queue_factor: f64 = 1.0, in 0.0..=100.0, source "RFC 8298 §4.1.1.1";
        /// Wait of data in the sender from which on frames are left out; zero for never.
        max_queue_age: Span = Span::from_millis(100), in ..=Span::from_secs(60),
            source "the authors' program, which drops the queue";
        /// Whether all lost data is sent again, as by TCP; without it, what the receiver of a video asks for.
        reliable: bool = false, source "ours";
    }
    variants {
        /// The draft, with L4S.
        "v2" => {},
        /// RFC 8298.
        "v1" => {
            version: Version::V1,
            ecn: EcnMode::Classic,
            qdelay_target_lo: Span::from_millis(100),
            competing_flows: true,
            beta_loss: 0.8,
            beta_ecn: 0.9,
            flight_headroom: 1.1,
        },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "scream",
    summary: "Window and rate of real-time media, from queueing delay, losses and L4S marks",
    source: "draft-johansson-ccwg-rfc8298bis-screamv2; RFC 8298",
    params: ScreamParams::infos,
    plot_style: PlotStyle::new(Hue::Teal, Dash::LongDashed, Shape::Down),
    bulk: None,
    note: Some(Note::new(
        "it is made for video: its encoder's rate is the window per RTT divided by 1.2, and has a \
         largest value of 30 Mbit/s (max_rate)",
    )),
    build: |spec| {
        let params: ScreamParams = spec.params()?;
        spec.require(params.max_rate >= params.min_rate, &params, "max_rate")?;
        let targets_hold = params.qdelay_target_hi >= params.qdelay_target_lo;
        spec.require(targets_hold, &params, "qdelay_target_hi")?;
        let overheads_hold = params.overhead_max >= params.overhead_min;
        spec.require(overheads_hold, &params, "overhead_max")?;
        Ok(Halves {
            reliable: params.reliable,
            ack: AckPolicy::EACH,
            controller: Arc::new(move |setup| Box::new(ScreamSender::new(&params, setup.mss))),
            ..Halves::sender(|setup| ScreamSender::new(&ScreamParams::default(), setup.mss))
        })
    },
};
