//! VCP (Variable-structure congestion Control Protocol): routers show their load in two bits, and
//! senders choose among three ways to change their windows.
//!
//! # What it does
//! Every `t_rho`, a router computes its load, `rho = (lambda + kappa_q * q) / (gamma_l * C *
//! t_rho)`, from the bytes that arrived, `lambda`, a smoothed queue, `q`, and the capacity, `C`,
//! and shows it as low (below 80 %), high, or overload (from 100 % on; with `rule=authors` above 100
//! %). Packets collect the highest
//! load of their path, and receivers return it. While it is low, a sender increases its window by a
//! share per round trip; while it is high, by a packet. Upon overload it reduces the window by an
//! eighth, waits for `t_rho` until routers have measured again, adds for one round trip, and only
//! then reacts to overload again. Increases are scaled so that flows of different RTTs grow alike:
//! by `1 + xi` per `t_rho`, with `xi = kappa * (1/0.8 - 1)`, and by `alpha` packets per `t_d`,
//! squared.
//!
//! A loss halves the window and a timeout sets it to one packet, as in Reno.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time. Acknowledgements carry
//! the load of the newest packet as the number in its two bits.
//!
//! # Parameters
//! | | `rule=paper` | `rule=authors` |
//! | --- | --- | --- |
//! | measured | every `t_rho` | when a packet leaves, more than `t_rho` after the last time |
//! | `lambda` | bytes arrived in the interval | bytes accepted by the queue in the last `t_rho` |
//! | `q` | mean of samples every `t_q`, averaged over intervals by `queue_weight` | present queue |
//! | overload | shown until the next measurement | shown for half of `t_rho`, then as high |
//!
//! With `settle=all`, the window does not change for `t_rho` after a decrease, whatever routers
//! show, and then grows only by addition for a round trip. With `overload`, this applies to
//! acknowledgements that show overload; the sender reacts to low and high load as always. Both
//! times are rounded up to 10 ms, as in the ns-2 model. Its other details: for the multiplicative
//! increase an RTT above 2.5 `t_rho` counts as 2.5 `t_rho`; the scale of the additive increase is
//! linear below 20 ms and above 500 ms; windows of at most 64 packets, whose packets would be more
//! than half of `t_rho` apart, are paced, so that each interval sees some.
//!
//! `scale=none` has fixed constants: `1 + xi` and `alpha` per round trip, however long that is.
//! ABC's paper describes the VCP that it measured in this way ("fixed" constants, appendix F; 12
//! round trips to double, §8, which with scaled ones is true only if the RTT is `t_rho`). With
//! scaled constants, windows grow faster the longer the queue is: after a decrease a round trip of
//! 600 ms adds 36 packets. `scale=smallest` scales by the RTT without queue.
//!
//! A window that is not used does not grow (RFC 7661). All traffic of the link counts in `lambda`,
//! with a header or without. The authors' routers count packets where these count bytes. A link
//! that has offered nothing in an interval is overloaded if traffic arrived or waits, and keeps its
//! load otherwise.
//!
//! # Where it fails
//! From one packet it takes 146 round trips of 100 ms to a window of 83 packets (12 Mbit/s), and
//! after capacity doubles, 23 round trips to use it (ABC, §7, appendix F). While a queue grows
//! after the capacity has fallen, it decreases by only an eighth about every half second; only
//! drops make it faster. Without a VCP router, it is Reno. Fair shares develop slowly, by addition
//! and eighths. On slow links it fills any buffer (RTT of 100 ms: at 1 Mbit/s or less), since a queue
//! raises the RTT, by whose square the additive increase grows, while a decrease is an eighth: the
//! authors' ns-2 model scales by this RTT. With `scale=smallest` it does not.
//!
//! # Source
//! Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman: One More Bit Is Enough, SIGCOMM 2005; its
//! authors' ns-2 model. ABC, NSDI 2020, §7 and appendix F, and its authors' code.

mod authors;
mod load;
mod paper;
mod router;
mod sender;

#[cfg(test)]
mod router_tests;
#[cfg(test)]
mod sender_tests;

pub use router::VcpRouter;
pub use sender::VcpSender;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Header, Params, Span};

use crate::parts::{NewestHeader, ROUTER_TIMES, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};

/// The receiver's half of VCP: returns the load shown to the newest packet.
pub type VcpReceiver = NewestHeader;

paceline_cc::choices! {
    /// How a router measures and shows its load.
    pub enum Rule {
        /// By a timer (VCP).
        Paper = "paper",
        /// When packets leave (ABC authors' code).
        Authors = "authors",
    }
}

paceline_cc::choices! {
    /// The loads that a sender ignores while a decrease takes effect.
    pub enum Settle {
        /// All loads (VCP).
        All = "all",
        /// Overload only (VCP's ns-2 model).
        Overload = "overload",
    }
}

paceline_cc::choices! {
    /// The RTT by which increases are scaled, and during which only addition follows a decrease.
    pub enum Scale {
        /// The smoothed RTT, including the queue (VCP's ns-2 model).
        Smoothed = "smoothed",
        /// The smallest RTT so far, almost without queue.
        Smallest = "smallest",
        /// None: increases are per round trip (ABC §8, appendix F).
        Unscaled = "none",
    }
}

paceline_cc::params! {
    /// Parameters of VCP.
    pub struct VcpParams {
        /// Sender: gain of the multiplicative increase.
        kappa: f64 = 0.25, in above(0.0).up_to(10.0), source "ABC, appendix F; VCP's ns-2 model: k";
        /// Sender: packets that an RTT of t_d adds at high load.
        alpha: f64 = 1.0, in above(0.0).up_to(10.0), unit "packets", source "ABC, appendix F";
        /// Sender: share of the window that remains after overload.
        beta: f64 = 0.875, in above(0.0).below(1.0), source "ABC, appendix F";
        /// Sender: the RTT to which the additive increase is scaled.
        t_d: Span = Span::from_millis(100), in ROUTER_TIMES, source "VCP's ns-2 model";
        /// Sender: loads that it ignores while a decrease takes effect.
        settle: Settle = Settle::Overload, source "VCP's ns-2 model; VCP: all";
        /// Sender: RTT by which increases are scaled, and during which only addition follows a
        /// decrease.
        scale: Scale = Scale::Smoothed, source "VCP's ns-2 model; ABC §8: none";
        /// Sender: slow start as in Reno, up to half the former window after a timeout, and back to
        /// it after idleness.
        slow_start: bool = false, source "VCP's ns-2 model";
        /// Sender: initial window.
        initial_window: f64 = 1.0, in WINDOWS, unit "packets", source "VCP's ns-2 model";
        /// Both: time over which a router measures, and for which senders wait after a decrease.
        t_rho: Span = Span::from_millis(200), in ROUTER_TIMES, source "VCP, ABC's code";
        /// Router: how it measures and shows its load.
        rule: Rule = Rule::Paper, source "VCP; ABC's code: authors";
        /// Router: weight of the queue in the load.
        kappa_q: f64 = 0.5, in 0.0..=10.0, source "VCP, ABC's code";
        /// Router: target share of the capacity.
        gamma_l: f64 = 0.95, in above(0.0).up_to(1.5), source "VCP's ns-2 model; VCP, ABC's code: 0.98";
        /// Router: time between samples of the queue; with rule=paper.
        t_q: Span = Span::from_millis(10), in ROUTER_TIMES, source "VCP";
        /// Router: weight of a new mean in the average of the queue; with rule=paper.
        queue_weight: f64 = 0.25, in above(0.0).up_to(1.0), source "VCP's ns-2 model";
    }
    variants {
        /// The ns-2 model of VCP's authors.
        "ns2" => {},
        /// The text of VCP's paper, with Reno's slow start after timeouts.
        "paper" => { settle: Settle::All, slow_start: true, gamma_l: 0.98 },
        /// ABC's evaluation: its authors' router, and constants per round trip.
        "abc" => {
            settle: Settle::All,
            scale: Scale::Unscaled,
            slow_start: true,
            rule: Rule::Authors,
            gamma_l: 0.98,
        },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "vcp",
    summary: "Routers show their load in two bits; senders multiply, add to or cut their windows",
    source: "VCP, SIGCOMM 2005",
    params: VcpParams::infos,
    plot_style: PlotStyle::new(Hue::Pink, Dash::Dotted, Shape::Diamond),
    bulk: None,
    note: Some(Note::new(
        "it begins with one packet and grows by 6 % per 200 ms, so that filling a link \
         takes it a minute or more",
    )
    .with_long_queue(
        "it adds packets by the square of the smoothed RTT, which contains the queue, as its authors' \
         ns-2 model does; vcp[scale=smallest] keeps the queue short",
    )),
    build: |spec| {
        let params: VcpParams = spec.params()?;
        let of_router = params.clone();
        Ok(Halves {
            reporter: Some(Arc::new(|_| Box::new(VcpReceiver::new(shown)))),
            router: Some(Arc::new(move |_| Box::new(VcpRouter::new(&of_router)))),
            ack: AckPolicy::EACH,
            ..Halves::sender(move |setup| VcpSender::new(&params, setup.mss))
        })
    },
};

/// Returns the load that a header shows, as acknowledgements carry it.
fn shown(header: &Header) -> Option<u32> {
    match header {
        Header::Vcp(load) => Some(*load as u32),
        _ => None,
    }
}
