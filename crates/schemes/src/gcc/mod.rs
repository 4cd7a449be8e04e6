//! Google congestion control (GCC): the rate of real-time media, from how the delay between bursts
//! changes and from losses.
//!
//! # What it does
//! Packets sent within 5 ms form a group. What the time between two groups grows on the way is
//! noise, or the slope of a queue that builds up; a filter estimates the latter. If the estimate
//! stays above a threshold, the path is over-used, and the rate becomes 85 % of what is received;
//! below the negative threshold the path's queues drain, and the rate is held; otherwise it grows
//! by 8 % a second, or by about half a packet per response time where congestion was met before. The
//! threshold follows the estimate: quickly up, lest a competing TCP flow's queue starve the media,
//! slowly down. Beside that, a share of losses above 10 % lowers a second rate, one below 2 %
//! raises it; the target is the smaller of both. The application is to make data at the target; packets
//! leave in bursts of 5 ms at 2.5 times that.
//!
//! # Signals it needs
//! The fate of packets with receive times, of each packet. Offsets of the clocks cancel.
//!
//! # Parameters
//! The authors of the draft wrote libwebrtc, and have replaced the draft's Kalman filter there in 2016;
//! the default is what libwebrtc does. The draft compares the estimate of one group's change with a threshold of 6 to 600 ms. With
//! groups of 5 ms no queue short of doubling each group's time would ever be seen. libwebrtc, by
//! the draft's authors, multiplies the estimate by the number of groups so far, up to 60, and so do
//! we; `deltas=1` is the draft's text. `filter=trendline` fits a line through the smoothed delays
//! of 20 groups, multiplied by four, and adapts the threshold by 0.0087 and 0.039 per millisecond,
//! where the Kalman filter goes with the draft's 0.01 and 0.00018.
//!
//! The share of losses is taken every smoothed RTT, at least 100 ms, in place of RTCP's reports, and
//! over at least 20 packets, as libwebrtc does. An application without a rate of its own, such as a bulk transfer, would send
//! at 2.5 times the target: once it is 250 ms of media ahead, packets are paced at the target.
//!
//! # Where it fails
//! A rate that grows by 8 % a second takes half a minute from 300 kbit/s to 3 Mbit/s, and as long
//! to recover; libwebrtc starts with bursts of probes, which the draft does not have. Links that
//! deliver in bursts, as cellular ones do, look like queues: a flow that would take all it gets uses
//! a twentieth to a third of recorded LTE links. An outage is sent into at the old rate. Loss-based flows in deep buffers take
//! nearly all: beside one Cubic flow on 6 Mbit/s with half a second of buffer the Kalman filter,
//! whose threshold comes down slowly, keeps a twentieth to a quarter of the link, the trendline a
//! thirtieth to a tenth, near the minimal rate at times.
//!
//! # Source
//! draft-ietf-rmcat-gcc-02. Carlucci, De Cicco, Holmer, Mascolo: Analysis and Design of the Google
//! Congestion Control for WebRTC, MMSys 2016. libwebrtc for what is marked so above.

mod aimd;
mod detector;
mod groups;
mod kalman;
mod loss;
mod received;
mod sender;
#[cfg(test)]
mod tests;
mod trendline;

use std::ops::RangeInclusive;
use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Rate, Span};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;
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

/// The rates that targets may be limited to.
const RATES: RangeInclusive<Rate> = Rate::from_bps(1_000)..=Rate::from_bps(100_000_000_000);

paceline_cc::params! {
    /// Parameters of Google congestion control.
    pub struct GccParams {
        /// How the slope of a queue is estimated: the draft's filter, or libwebrtc's line.
        filter: Filter = Filter::Trendline, source "libwebrtc since 2016; draft §5.3: kalman";
        /// The largest number of groups by which the estimate is multiplied.
        deltas: u32 = 60, in 1..=10_000, unit "groups", source "libwebrtc; the draft: 1";
        /// The rate at the start, from `min_rate` to `max_rate`.
        initial_rate: Rate = Rate::from_bps(300_000), in RATES, source "libwebrtc";
        /// The smallest target.
        min_rate: Rate = Rate::from_bps(50_000), in RATES, source "ours";
        /// The largest target, at least `min_rate`.
        max_rate: Rate = Rate::from_bps(30_000_000), in RATES, source "ours; applications have their own";
        /// Packets sent within this time form a group.
        burst_time: Span = Span::from_millis(5), source "draft §5.6";
        /// Variance of the queue's slope from group to group.
        q: f64 = 0.001, in above(0.0).up_to(1000.0), unit "ms²", source "draft §5.6";
        /// Gain of the noise's variance at 30 groups a second.
        chi: f64 = 0.01, in above(0.0).below(1.0), source "draft §5.6: 0.001 to 0.1";
        /// How long the estimate must be above the threshold.
        overuse_time: Span = Span::from_millis(10), source "draft §5.6";
        /// Time over which the received rate is measured.
        window: Span = Span::from_millis(500), in Span::from_millis(10)..=Span::from_secs(60),
            source "draft §5.6: 0.5 to 1 s";
        /// Share of the received rate that over-use leaves.
        beta: f64 = 0.85, in above(0.0).below(1.0), source "draft §5.6";
        /// Pacing rate as a multiple of the target.
        pacing_factor: f64 = 2.5, in 1.0..=100.0, source "libwebrtc";
        /// Whether lost data is sent again; real-time media usually is not.
        reliable: bool = false, source "ours";
    }
    variants {
        /// libwebrtc since 2016.
        "libwebrtc" => {},
        /// libwebrtc up to 2016, which the paper of MMSys 2016 measured.
        "mmsys2016" => { filter: Filter::Kalman },
        /// The draft's text.
        "draft" => { filter: Filter::Kalman, deltas: 1 },
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "gcc",
    summary: "Google congestion control for real-time media: delay gradients and losses",
    source: "draft-ietf-rmcat-gcc-02",
    params: GccParams::infos,
    plot_style: PlotStyle::new(Hue::Slate, Dash::Dotted, Shape::Down),
    bulk: None,
    note: Some(
        "it is made for video: it begins at 300 kbit/s, grows by 8 % a second, has a \
         largest rate of 30 Mbit/s (max_rate), and takes the bursts of cellular links for \
         queues",
    ),
    build: |spec| {
        let params: GccParams = spec.params()?;
        let max_holds = params.max_rate >= params.min_rate;
        spec.require(max_holds, "max_rate", "expected min_rate to 100Gbps")?;
        let initial_holds = (params.min_rate..=params.max_rate).contains(&params.initial_rate);
        spec.require(initial_holds, "initial_rate", "expected min_rate to max_rate")?;
        Ok(Halves {
            reliable: params.reliable,
            ack: AckPolicy::EACH,
            controller: Arc::new(move |setup| Box::new(GccSender::new(&params, setup.mss))),
            ..Halves::sender(|setup| GccSender::new(&GccParams::default(), setup.mss))
        })
    },
};
