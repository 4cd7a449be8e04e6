//! RCP (Rate Control Protocol): routers tell every flow the one rate at which to send.
//!
//! # What it does
//! Each router keeps one rate `R` for all flows. It estimates how many there are as `C / R`, and
//! shares out among them, every `T`, what the link has to spare, less what drains the queue:
//! `R <- R * (1 + T/d0 * (alpha*(eta*C - y) - beta*q/d0) / (eta*C))`, with `C` the capacity, `y`
//! the traffic that came, `q` the queue and `d0` the mean RTT. A packet collects the smallest `R`
//! of its path, the receiver returns it, and the sender paces at that rate.
//!
//! There is no handshake here, so the first data packet stands for the SYN: it travels alone, and
//! a round trip later the flow sends at `R`. A flow that was idle for longer than its
//! retransmission timeout asks in the same way again. From then on `R` is taken over once per
//! round trip. Nothing is clocked by acknowledgements: a window of two round trips' worth of `R`
//! only keeps a flow from sending for ever into a broken path. After a timeout, the flow sends at
//! `R/2` until it hears of a rate again. Losses are repaired and mean nothing.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time. Acknowledgements
//! carry the rate in units of 100 bit/s, rounded down to at least 1 (`u32`: up to 429 Gbit/s);
//! 0 if there was no header, and the largest number if no router has spoken.
//!
//! # Parameters
//! | | `rule=paper` | `rule=authors` |
//! | --- | --- | --- |
//! | evaluated | every min(`t`, `d0`) | when a packet leaves, `t` after the last time: not in outages |
//! | `C`, `y` | over the interval that ends | over the last `t`; `y` as it was when a packet came |
//! | `d0` | moving average of the RTTs in headers | mean of `rtt` plus sojourn over the last `d0` |
//! | `q` | all that waits | what the leaving packet leaves behind |
//! | bounds of `R` | `floor` to `eta*C` | `floor`, no upper bound |
//!
//! The rate at the start is 5 % of the capacity of the first interval, at whose end it counts. The
//! floor of RCP's ns-2 model is a hundredth of a packet per RTT, but its senders ask for the rate
//! once per RTT apart from their data, and these hear of it from data alone.
//!
//! All traffic of the link counts in `y`, with a header or without. The authors' routers count
//! packets where these count bytes. When a link has offered nothing in an interval, `paper` takes
//! the limit of its formula: `floor` if anything came or waits, else no change.
//!
//! # Where it fails
//! Without a router that knows it, a flow never learns a rate and sends one packet per round trip;
//! at a bottleneck without one, it sends too fast and repairs losses for ever. When the capacity
//! falls, all that senders put in until they hear of it waits in the queue, and draining it costs
//! utilisation afterwards (ABC, Fig. 19). Capacity that varies faster than `t` makes `R` swing
//! between its bounds: the formula divides by the capacity of the moment, so that a fall to a
//! third sends `R` to its floor, from where it grows by half per RTT. Flows that arrive at once
//! all get the `R` that was right for those before them.
//!
//! # Source
//! N. Dukkipati: Rate Control Protocol (RCP): Congestion Control to Make Flows Complete Quickly,
//! PhD thesis, Stanford 2007, §2.2; its authors' ns-2 model. ABC, NSDI 2020, §7 and appendix F, and
//! its authors' code.

mod authors;
mod law;
mod paper;
mod receiver;
mod router;
mod sender;

#[cfg(test)]
mod router_tests;
#[cfg(test)]
mod sender_tests;

pub use router::RcpRouter;
pub use sender::RcpSender;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Rate, Span};

use crate::parts::{NewestHeader, ROUTER_TIMES};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

/// The receiver's half of RCP: returns the rate that the newest packet was granted.
pub type RcpReceiver = NewestHeader;

paceline_cc::choices! {
    /// When a sender takes over the rate that acknowledgements return.
    pub enum Refresh {
        /// Once per round trip (RCP's ns-2 model).
        RoundTrip = "rtt",
        /// With every acknowledgement.
        Ack = "ack",
    }
}

paceline_cc::choices! {
    /// How a router evaluates its law.
    pub enum Rule {
        /// By a timer, on what the link itself has seen.
        Paper = "paper",
        /// When packets leave, over sliding windows (ABC authors' code).
        Authors = "authors",
    }
}

paceline_cc::params! {
    /// Parameters of RCP.
    pub struct RcpParams {
        /// Sender: when it takes over the rate that acknowledgements return.
        refresh: Refresh = Refresh::RoundTrip, source "RCP's ns-2 model";
        /// Router: how it evaluates its law.
        rule: Rule = Rule::Paper, source "thesis §2.2";
        /// Router: share of the spare capacity that is handed out per RTT.
        alpha: f64 = 0.5, in above(0.0).up_to(2.0), source "ABC, appendix F";
        /// Router: share of the queue that is to drain per RTT.
        beta: f64 = 0.25, in 0.0..=2.0, source "ABC, appendix F";
        /// Router: share of the capacity that is aimed at; `gamma` in the thesis and in ns-2.
        eta: f64 = 0.95, in above(0.0).up_to(1.5), source "ABC authors' code";
        /// Router: the time between evaluations; the mean RTT if that is shorter.
        t: Span = Span::from_millis(100), in ROUTER_TIMES, source "ABC authors' code; ns-2: 10ms";
        /// Router: the mean RTT before headers have told one; with rule=authors, the RTT of an
        /// empty path.
        rtt: Span = Span::from_millis(100), in ROUTER_TIMES, source "ABC authors' code";
        /// Router: R at the start; 0 for 5 % of the capacity or, with rule=authors, 6 Mbit/s.
        initial_rate: Rate = Rate::ZERO, source "RCP's ns-2 model; ABC authors' code";
        /// Router: the smallest R; 0 for a packet per RTT or, with rule=authors, 600 kbit/s.
        floor: Rate = Rate::ZERO, source "ours; ABC authors' code";
    }
    variants {
        /// RCP's own router, with the gains of the ABC paper.
        "rcp" => {},
        /// The router of ABC's authors.
        "abc" => { rule: Rule::Authors },
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "rcp",
    summary: "Routers tell all flows the one rate at which to send",
    source: "RCP, Stanford 2007",
    params: RcpParams::infos,
    plot_style: PlotStyle::new(Hue::Green, Dash::Dotted, Shape::Circle),
    bulk: None,
    note: None,
    build: |spec| {
        let params: RcpParams = spec.params()?;
        let refresh = params.refresh;
        Ok(Halves {
            reporter: Some(Arc::new(|| Box::new(RcpReceiver::new(receiver::granted)))),
            router: Some(Arc::new(move || Box::new(RcpRouter::new(&params)))),
            ack: AckPolicy::EACH,
            // The first packet asks for the rate: in the thesis this is the SYN.
            handshake: false,
            ..Halves::sender(move |setup| RcpSender::new(refresh, setup.mss))
        })
    },
};
