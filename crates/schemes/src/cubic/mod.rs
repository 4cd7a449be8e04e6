//! Cubic: the default congestion control of Linux, Windows and Apple's systems.
//!
//! # What it does
//! After congestion the window falls to 0.7 of what it was, and then follows a cubic function of
//! time: fast back towards the window at which congestion was met, flat around it, and faster
//! again beyond. It is never below the window that a Reno flow would have. HyStart ends the
//! first slow start before it overflows the buffer.
//!
//! # Signals it needs
//! None beyond acknowledged and lost bytes and RTTs; CE counts with `ecn=true`.
//!
//! # Parameters
//! | name | unit | default | source |
//! | --- | --- | --- | --- |
//! | `variant` | | linux | `rfc9438` for the RFC, `ns3` for ns-3 3.37 |
//! | `c` | packets/s³ | 0.4 | RFC 9438 §5 |
//! | `beta` | | 0.7 | RFC 9438 §4.6 |
//! | `initial_window` | packets | 10 | RFC 6928 |
//! | `fast_convergence` | | true | RFC 9438 §4.7 |
//! | `tcp_friendliness` | | true | RFC 9438 §4.3 |
//! | `growth` | | linux | Linux; `rfc9438` for RFC 9438 §4.2, §4.3 |
//! | `whole_packets` | | true | Linux, ns-3; false for RFC 9438 §4.2 |
//! | `probe` | per round trip | 0.05 | Linux; 0 for RFC 9438 §4.8, §4.10 |
//! | `hystart` | | linux | Linux; RFC 9406; ns-3 |
//! | `prr` | | true | RFC 6937, Linux; false for RFC 6675 |
//! | `ecn` | | false | RFC 3168 |
//!
//! Linux and the RFC differ in three rules. Linux reads the curve the smallest RTT ahead, the RFC a
//! smoothed RTT ahead. Once Reno's window is where congestion was met, the RFC lets it grow by a packet
//! per round trip, and Linux goes on with 0.53: where losses are frequent, as under CoDel on a link that
//! varies, Linux uses less of the link. `growth` sets both. Linux counts windows, plateau and
//! growth in whole packets (`whole_packets`); with `growth=rfc9438`, `whole_packets` cuts the distance from the plateau
//! only. The reduction is a share of the window, as in Linux, and not of the bytes in flight.
//!
//! # Where it fails
//! It fills the buffer, up to seconds of delay on a cellular link; takes random loss for
//! congestion; keeps the old pace for `K` seconds when capacity rises; and HyStart mistakes the
//! jitter of a wireless link for a full path, which leaves a long climb in congestion avoidance.
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

use paceline_cc::{
    Controller, Ecn, Established, Feedback, Halves, Params, Plan, Signals, Span, Spec, SpecError,
    Time,
};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of Cubic.
    pub struct CubicParams {
        /// Steepness of the cubic function in packets/s³ (RFC 9438 §5).
        c: f64 = 0.4,
        /// Share of the window that is left after congestion (RFC 9438 §4.6).
        beta: f64 = 0.7,
        /// Initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
        /// Whether a flow that lost earlier than before gives way (RFC 9438 §4.7).
        fast_convergence: bool = true,
        /// Whether the window is at least a Reno flow's (RFC 9438 §4.3).
        tcp_friendliness: bool = true,
        /// Whose rules the window grows by where they differ.
        growth: Growth = Growth::Linux,
        /// Whether packets are counted whole, as in Linux and ns-3: the window comes back to the plateau sooner
        /// and stays longer.
        whole_packets: bool = true,
        /// Growth per round trip, at least, while no loss has told the path's capacity (Linux);
        /// 0 for RFC 9438.
        probe: f64 = 0.05,
        /// How slow start ends before a loss.
        hystart: HyStartKind = HyStartKind::Linux,
        /// Whether the flow sends a share of what arrives while it repairs losses (RFC 6937), or
        /// nothing until no more than the smaller window is in flight (RFC 6675).
        prr: bool = true,
        /// Whether packets are ECN-capable, so that routers mark instead of dropping (RFC 3168).
        ecn: bool = false,
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

impl CubicParams {
    /// Checks the values against what they mean; `spec` is where they were written.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        spec.require(self.c > 0.0, "c", "expected a number above 0")?;
        let inside = 0.0 < self.beta && self.beta < 1.0;
        spec.require(inside, "beta", "expected a number between 0 and 1")?;
        let sane = (1.0..=10_000.0).contains(&self.initial_window);
        spec.require(sane, "initial_window", "expected 1 to 10000 packets")?;
        let inside = (0.0..=0.5).contains(&self.probe);
        spec.require(inside, "probe", "expected a number from 0 to 0.5")
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "cubic",
    summary: "Follows a cubic function of the time since the last loss; the Linux default",
    source: "RFC 9438",
    params: CubicParams::infos,
    plot_style: PlotStyle::new(Hue::Blue, Dash::Solid, Shape::Square),
    bulk: None,
    note: Some(
        "over a long, fast path its slow start ends early, and filling the rest takes tens of \
         seconds",
    ),
    build: |spec| {
        let params: CubicParams = spec.params()?;
        params.check(spec)?;
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
    /// A sender of packets of `mss` bytes.
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
