//! Cubic: the default congestion control of Linux, Windows and Apple's systems.
//!
//! # What it does
//! After congestion the window is reduced to 0.7 of its size, and then follows a cubic function of
//! time: it grows fast towards the window at which congestion occurred, slowly around it, and
//! faster again beyond. It is never smaller than the window that a Reno flow would have. HyStart
//! ends the first slow start before it overflows the buffer.
//!
//! # Signals it needs
//! None besides acknowledged and lost bytes and RTTs; CE counts with `ecn=true`.
//!
//! # Parameters
//! Linux and the RFC differ in three rules. Linux evaluates the curve at the smallest RTT ahead,
//! the RFC at one smoothed RTT ahead. Once Reno's window has reached the window of the last
//! congestion, the RFC lets it grow by a packet per round trip, while Linux continues with 0.53:
//! where losses are frequent, as under CoDel on a link that varies, Linux uses less of the link.
//! `growth` sets both rules. Linux counts windows, plateau and growth in whole packets
//! (`whole_packets`); with `growth=rfc9438`, `whole_packets` only truncates the distance from the
//! plateau. As in Linux, the reduction is a share of the window, not of the bytes in flight.
//!
//! # Where it fails
//! Cubic fills the buffer, up to seconds of delay on a cellular link. It takes random loss for
//! congestion. When capacity rises, it keeps its old pace for `K` seconds. HyStart takes the jitter
//! of a wireless link for a full path, after which the window grows slowly in congestion avoidance.
//!
//! # Source
//! RFC 9438; Linux `net/ipv4/tcp_cubic.c` for HyStart and for idle periods; RFC 9406.

mod css;
mod curve;
mod hystart;
mod rounds;
mod whole;
mod window;

#[cfg(test)]
mod hystart_tests;
#[cfg(test)]
mod tests;

pub use curve::Growth;
pub use hystart::HyStartKind;
pub use window::CubicWindow;

use paceline_cc::params::above;
use paceline_cc::{
    Controller, Ecn, Established, Feedback, Halves, Params, Plan, Signals, Span, Time,
};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{BulkPath, Note, Scheme};

paceline_cc::params! {
    /// Parameters of Cubic.
    pub struct CubicParams {
        /// Steepness of the cubic function.
        c: f64 = 0.4, in above(0.0), unit "packets/s³", source "RFC 9438 §5";
        /// Share of the window that remains after congestion.
        beta: f64 = 0.7, in above(0.0).below(1.0), source "RFC 9438 §4.6";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Whether a flow that has a loss earlier than before gives way to newer flows.
        fast_convergence: bool = true, source "RFC 9438 §4.7";
        /// Whether the window is at least a Reno flow's.
        tcp_friendliness: bool = true, source "RFC 9438 §4.3";
        /// The source of the growth rules in which Linux and the RFC differ.
        growth: Growth = Growth::Linux, source "Linux; RFC 9438 §4.2, §4.3: rfc9438";
        /// Whether packets are counted whole: the window returns to the plateau sooner and stays
        /// there longer.
        whole_packets: bool = true, source "Linux, ns-3; RFC 9438 §4.2: false";
        /// Smallest growth before the first loss, by which Cubic learns the capacity of the path.
        probe: f64 = 0.05, in 0.0..=0.5, unit "per round trip", source "Linux; RFC 9438 §4.8, §4.10: 0";
        /// How slow start ends before a loss.
        hystart: HyStartKind = HyStartKind::Linux, source "Linux; RFC 9406; ns-3";
        /// Whether the flow, while it repairs losses, sends a share of the packets that arrive;
        /// otherwise it sends nothing until the flight is no larger than the reduced window.
        prr: bool = true, source "RFC 6937, Linux; RFC 6675: false";
        /// Whether packets are ECN-capable, so that routers mark instead of dropping.
        ecn: bool = false, source "RFC 3168";
    }
    variants {
        /// Linux.
        "linux" => {},
        /// RFC 9438, with the slow start of RFC 9406 that it recommends.
        "rfc9438" => {
            growth: Growth::Rfc9438,
            whole_packets: false,
            probe: 0.0,
            hystart: HyStartKind::Rfc9406,
        },
        /// ns-3 up to 3.37.
        "ns3" => { tcp_friendliness: false, hystart: HyStartKind::Ns3 },
    }
}

/// Shortest run in which the time to fill a path after an early end of slow start shows.
const LATE_FILLING: Span = Span::from_secs(10);
/// Smallest buffer, as a multiple of the bandwidth-delay product, with which Cubic fills a path: with
/// a smaller one its losses alone leave a part of the link unused.
const LEAST_BUFFER: f64 = 0.1;

/// Returns true for paths that Cubic leaves unused in part because its slow start ends early.
fn ends_slow_start_early(path: &BulkPath) -> bool {
    path.is_long_and_fast() && path.buffer_bdp >= LEAST_BUFFER && path.duration >= LATE_FILLING
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "cubic",
    summary: "Follows a cubic function of the time since the last loss; the Linux default",
    source: "RFC 9438",
    params: CubicParams::infos,
    plot_style: PlotStyle::new(Hue::Blue, Dash::Solid, Shape::Square),
    bulk: None,
    note: Some(Note::on(
        ends_slow_start_early,
        "over a long, fast path its slow start ends early, and filling the rest takes tens of \
         seconds",
    )),
    build: |spec| {
        let params: CubicParams = spec.params()?;
        Ok(Halves::sender(move |setup| CubicSender::new(&params, setup.mss)))
    },
};

/// The sender's half of Cubic.
#[derive(Clone, Debug)]
pub struct CubicSender {
    window: CubicWindow,
    mss: u32,
    ecn: bool,
    prr: bool,
}

impl CubicSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &CubicParams, mss: u32) -> CubicSender {
        let window = CubicWindow::new(params);
        CubicSender { window, mss: mss.max(1), ecn: params.ecn, prr: params.prr }
    }
}

impl Controller for CubicSender {
    fn needs(&self) -> Signals {
        if self.ecn { Signals::ECN } else { Signals::NONE }
    }
    fn on_established(&mut self, established: &Established) {
        self.window.begin_connection(established);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.window.on_feedback(feedback);
    }
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.window.on_idle(now, idle, rto);
    }
    fn plan(&self) -> Plan {
        let ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        let plan = Plan::window(self.window.bytes(self.mss)).ecn(ecn);
        if self.prr { plan } else { plan.without_prr() }
    }
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.window.inspect(see);
    }
}
