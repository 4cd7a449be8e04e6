//! Google congestion control (GCC): the rate of real-time media, from how the delay between bursts
//! changes and from losses, as libwebrtc runs it.
//!
//! # What it does
//! Packets sent within 5 ms form a group. A line through the smoothed delays of the last 20 groups shows
//! the slope of a queue. If the slope stays above a threshold, the path is over-used, and the rate
//! becomes 85 % of what arrives; below the negative threshold the path's queues drain, and the rate is
//! held; otherwise it grows by 8 % a second, or by about half a packet per response time where
//! congestion was met before. The threshold follows the slope, up and down within a second. A second
//! controller models losses by a bandwidth and an inherent share; the target is the smaller of both.
//!
//! Probes find the rate at the start: packets at 3 and 6 times the first target, filled with padding,
//! and further ones at twice what the last has shown while they succeed. After a fall while the
//! application had less to send than the target, a probe tries 85 % of the old rate.
//!
//! The application is to make data at the target. Packets leave at 1.1 times the target in bursts of
//! 40 ms, so that a frame leaves at once. If more is in flight than 350 ms of media beside the RTT, the
//! application is to leave out frames, down to 30 kbit/s. If no report comes for 3 s, the target falls by 20 % a
//! second. If nothing was sent for 500 ms although packets are in flight, one packet leaves.
//!
//! # Signals it needs
//! The fate of packets with receive times, of each packet. Offsets of the clocks cancel. The sender
//! decides when RTCP's transport feedback would come, every 50 to 250 ms.
//!
//! # Parameters
//! The defaults are libwebrtc's, each named by its source in a comment where it stands. Facts are from
//! `modules/congestion_controller/goog_cc`, `modules/pacing` and `modules/remote_bitrate_estimator` as
//! of 2024 and 2025. `variant=draft` is the draft's text: its Kalman filter, whose estimate for a
//! group's change is compared with a threshold of 6 to 600 ms, so that with groups of 5 ms no queue short
//! of doubling each group's time is seen. `variant=mmsys2016` multiplies the estimate by the number of
//! groups so far, up to 60, and moves the threshold by libwebrtc's gains, as libwebrtc did; the draft's gains
//! with that factor would hold the threshold up for seconds, and queues would grow unseen. Both learn the noise as the authors' code does, and have the
//! draft's losses, a received rate over 500 ms, pacing in bursts of 5 ms at 2.5 times the target, and
//! neither probes nor a congestion window; each acknowledgement is a report to them.
//!
//! libwebrtc probes every 5 s for more while the application has less to send than the target, but by
//! default only for shared screens: `alr_probes=true`.
//!
//! An application without a rate of its own, such as a bulk transfer, would send at 1.1 times the
//! target: once it is 250 ms of media ahead, packets are paced at the target.
//!
//! # Where it differs from libwebrtc
//! Before the received rate is known,
//! over-use halves the rate once in 200 ms, as libwebrtc's comment says; its code halves it at each
//! report. Probes are packets of full size, libwebrtc's may be smaller. There are no REMB messages, no
//! audio, no reports of losses by RTCP, and no probes when the application's largest rate changes.
//!
//! # Where it fails
//! Links that deliver in bursts, as cellular ones do, look like queues. Loss-based flows in deep buffers
//! take nearly all: beside one Cubic flow behind droptail it is left with its least rate, as
//! Chromium is. docs/gcc.md compares it with real calls.
//!
//! # Source
//! draft-ietf-rmcat-gcc-02. Carlucci, De Cicco, Holmer, Mascolo: Analysis and Design of the Google
//! Congestion Control for WebRTC, MMSys 2016. libwebrtc for the defaults.

mod aimd;
mod alr;
mod clusters;
mod delay;
mod detector;
mod groups;
mod kalman;
mod loss;
mod loss_v2;
mod probing;
mod pushback;
mod received;
mod sender;
#[cfg(test)]
mod tests;
mod throughput;
mod timed_out;
mod trendline;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Rate, Span};

use crate::parts::MEDIA_RATES;
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
pub use sender::GccSender;

paceline_cc::choices! {
    /// How the slope of a queue is estimated.
    pub enum Filter {
        /// The draft's scalar Kalman filter.
        Kalman = "kalman",
        /// libwebrtc's line through smoothed delays.
        Trendline = "trendline",
    }
}

paceline_cc::choices! {
    /// How the received rate is measured.
    pub enum ThroughputRule {
        /// libwebrtc's robust estimator: over at least 20 packets and a second.
        Robust = "robust",
        /// Over a sliding time, `window`.
        Window = "window",
    }
}

paceline_cc::choices! {
    /// How losses bound the target.
    pub enum LossRule {
        /// libwebrtc's model of a bandwidth and an inherent share of losses.
        V2 = "v2",
        /// The draft's thresholds of 2 and 10 %.
        Draft = "draft",
    }
}

paceline_cc::params! {
    /// Parameters of Google congestion control.
    pub struct GccParams {
        /// How the slope of a queue is estimated: the draft's filter, or libwebrtc's line.
        filter: Filter = Filter::Trendline, source "libwebrtc since 2016; draft §5.3: kalman";
        /// The largest number of groups by which the estimate is multiplied.
        deltas: u32 = 60, in 1..=10_000, unit "groups", source "libwebrtc; the draft: 1";
        /// The rate at the start, from `min_rate` to `max_rate`.
        initial_rate: Rate = Rate::from_bps(300_000), in MEDIA_RATES, must "from min_rate to max_rate",
            source "libwebrtc";
        /// The smallest target.
        min_rate: Rate = Rate::from_bps(30_000), in MEDIA_RATES, source "libwebrtc: the least rate of a video";
        /// The largest target, at least `min_rate`.
        max_rate: Rate = Rate::from_bps(30_000_000), in MEDIA_RATES, must "at least min_rate",
            source "ours; applications have their own";
        /// Packets sent within this time form a group.
        burst_time: Span = Span::from_millis(5), source "draft §5.6";
        /// Variance of the queue's slope from group to group.
        q: f64 = 0.001, in above(0.0).up_to(1000.0), unit "ms²", source "draft §5.6";
        /// Gain of the noise's variance at 30 groups a second.
        chi: f64 = 0.01, in above(0.0).below(1.0), source "draft §5.6: 0.001 to 0.1";
        /// Gain of the threshold while the estimate is beyond it.
        k_up: f64 = 0.0087, in above(0.0).up_to(1.0), unit "1/ms", source "libwebrtc; draft §5.6: 0.01";
        /// Gain of the threshold while the estimate is within it.
        k_down: f64 = 0.039, in above(0.0).up_to(1.0), unit "1/ms", source "libwebrtc; draft §5.6: 0.00018";
        /// How long the estimate must be above the threshold.
        overuse_time: Span = Span::from_millis(10), source "draft §5.6";
        /// How the received rate is measured.
        throughput: ThroughputRule = ThroughputRule::Robust, source "libwebrtc since 2022; draft §5.5: window";
        /// Time over which the received rate is measured (`throughput=window`).
        window: Span = Span::from_millis(500), in Span::from_millis(10)..=Span::from_secs(60),
            source "draft §5.6: 0.5 to 1 s";
        /// Share of the received rate that over-use leaves.
        beta: f64 = 0.85, in above(0.0).below(1.0), source "draft §5.6";
        /// Rate that over-use subtracts in addition.
        backoff_step: Rate = Rate::from_bps(5_000), in ..=Rate::from_bps(1_000_000), source "libwebrtc; not in the draft";
        /// How losses bound the target.
        loss: LossRule = LossRule::V2, source "libwebrtc since 2023; draft §6: draft";
        /// Pacing rate as a multiple of the target.
        pacing_factor: f64 = 1.1, in 1.0..=100.0, source "libwebrtc; until 2019: 2.5";
        /// Packets leave in bursts of what the pacing rate sends in this time.
        pacing_burst: Span = Span::from_millis(40), in ..=Span::from_secs(1), source "libwebrtc; draft §4: 5ms";
        /// Whether the path's rate is probed.
        probes: bool = true, source "libwebrtc; not in the draft";
        /// Largest rate of probes, at most `max_rate`.
        max_probe: Rate = Rate::from_bps(5_000_000), in MEDIA_RATES, source "libwebrtc, unless applications set one";
        /// Whether more is probed for every 5 s while the application has less to send than the target.
        alr_probes: bool = false, source "libwebrtc: for shared screens";
        /// Time of media that may be in flight beside the RTT; zero for no congestion window.
        cwnd_time: Span = Span::from_millis(350), in ..=Span::from_secs(60), source "libwebrtc; not in the draft";
        /// RTT, or time without a report, above which the target falls by 20 % a second; zero for none.
        rtt_limit: Span = Span::from_secs(3), in ..=Span::from_secs(600), source "libwebrtc; not in the draft";
        /// Shortest time between the receiver's reports.
        min_feedback: Span = Span::from_millis(50), in ..=Span::from_secs(10), source "libwebrtc";
        /// Longest time between the receiver's reports, at least `min_feedback`; zero for a report per packet.
        max_feedback: Span = Span::from_millis(250), in ..=Span::from_secs(10),
            must "at least min_feedback", source "libwebrtc";
        /// Whether all lost data is sent again, as by TCP; without it, what the receiver of a video asks for.
        reliable: bool = false, source "ours";
    }
    variants {
        /// libwebrtc today.
        "libwebrtc" => {},
        /// libwebrtc up to 2016, which the paper of MMSys 2016 measured.
        "mmsys2016" => {
            filter: Filter::Kalman,
            throughput: ThroughputRule::Window,
            backoff_step: Rate::ZERO,
            loss: LossRule::Draft,
            pacing_factor: 2.5,
            pacing_burst: Span::from_millis(5),
            probes: false,
            cwnd_time: Span::ZERO,
            rtt_limit: Span::ZERO,
            min_feedback: Span::ZERO,
            max_feedback: Span::ZERO,
        },
        /// The draft's text.
        "draft" => {
            deltas: 1,
            k_up: 0.01,
            k_down: 0.00018,
            filter: Filter::Kalman,
            throughput: ThroughputRule::Window,
            backoff_step: Rate::ZERO,
            loss: LossRule::Draft,
            pacing_factor: 2.5,
            pacing_burst: Span::from_millis(5),
            probes: false,
            cwnd_time: Span::ZERO,
            rtt_limit: Span::ZERO,
            min_feedback: Span::ZERO,
            max_feedback: Span::ZERO,
        },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "gcc",
    summary: "Google congestion control for real-time media: delay gradients and losses",
    source: "draft-ietf-rmcat-gcc-02",
    params: GccParams::infos,
    plot_style: PlotStyle::new(Hue::Slate, Dash::Dotted, Shape::Down),
    bulk: None,
    note: Some(Note::new(
        "it is made for video: it begins at 300 kbit/s, probes up to 5 Mbit/s (max_probe), grows \
         by 8 % a second beyond, has a largest rate of 30 Mbit/s (max_rate), and takes the bursts of \
         cellular links for queues",
    )),
    build: |spec| {
        let params: GccParams = spec.params()?;
        let max_holds = params.max_rate >= params.min_rate;
        spec.require(max_holds, &params, "max_rate")?;
        let initial_holds = (params.min_rate..=params.max_rate).contains(&params.initial_rate);
        spec.require(initial_holds, &params, "initial_rate")?;
        let feedback_holds = params.max_feedback >= params.min_feedback;
        spec.require(feedback_holds, &params, "max_feedback")?;
        Ok(Halves {
            reliable: params.reliable,
            ack: AckPolicy::EACH,
            controller: Arc::new(move |setup| Box::new(GccSender::new(&params, setup.mss))),
            ..Halves::sender(|setup| GccSender::new(&GccParams::default(), setup.mss))
        })
    },
};
