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
//! | half | name | unit | default | source |
//! | --- | --- | --- | --- | --- |
//! | both | `variant` | | rcp | `abc` as the ABC authors' routers |
//! | sender | `refresh` | | rtt | RCP's ns-2 model; `ack` takes over every rate that comes |
//! | router | `rule` | | paper | `authors`: as the ABC authors' routers, see below |
//! | router | `alpha` | | 0.5 | ABC, appendix F |
//! | router | `beta` | | 0.25 | ABC, appendix F |
//! | router | `eta` | | 0.95 | ABC's code; thesis and ns-2: `gamma` |
//! | router | `t` | time | 100 ms | ABC's code; ns-2: 10 ms. The smaller of this and `d0` counts |
//! | router | `rtt` | time | 100 ms | `d0` before there are samples; ABC's code: RTT without queue |
//! | router | `initial_rate` | rate | 0: the rule's | paper: 5 % of the capacity; authors: 6 Mbit/s |
//! | router | `floor` | rate | 0: the rule's | paper: a packet per RTT; authors: 600 kbit/s |
//!
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

use paceline_cc::{AckPolicy, Halves, Params, Rate, Span};

use crate::parts::NewestHeader;
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
        refresh: Refresh = Refresh::RoundTrip,
        /// Router: how it evaluates its law.
        rule: Rule = Rule::Paper,
        /// Router: share of the spare capacity that is handed out per RTT (ABC, appendix F).
        alpha: f64 = 0.5,
        /// Router: share of the queue that is to drain per RTT (ABC, appendix F).
        beta: f64 = 0.25,
        /// Router: share of the capacity that is aimed at (ABC authors' code; ns-2: gamma).
        eta: f64 = 0.95,
        /// Router: the longest time between evaluations (ABC authors' code; ns-2: 10 ms).
        t: Span = Span::from_millis(100),
        /// Router: the mean RTT before headers have told one; with rule=authors, the RTT of an
        /// empty path.
        rtt: Span = Span::from_millis(100),
        /// Router: R at the start; 0 for 5 % of the capacity (ns-2) or, with rule=authors,
        /// 6 Mbit/s.
        initial_rate: Rate = Rate::ZERO,
        /// Router: the smallest R; 0 for a packet per RTT or, with rule=authors, 600 kbit/s.
        floor: Rate = Rate::ZERO,
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
        let (alpha, beta, eta) = (params.alpha, params.beta, params.eta);
        spec.require(0.0 < alpha && alpha <= 2.0, "alpha", "expected a number above 0, up to 2")?;
        spec.require((0.0..=2.0).contains(&beta), "beta", "expected a number from 0 to 2")?;
        spec.require(0.0 < eta && eta <= 1.5, "eta", "expected a number above 0, up to 1.5")?;
        let sane = |time: Span| Span::from_millis(1) <= time && time <= Span::from_secs(10);
        spec.require(sane(params.t), "t", "expected a time from 1ms to 10s")?;
        spec.require(sane(params.rtt), "rtt", "expected a time from 1ms to 10s")?;
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
