//! RCP (Rate Control Protocol): routers tell every flow the one rate at which to send.
//!
//! # What it does
//! Each router has one rate `R` for all flows. It estimates their number as `C / R`. Every `T` it
//! distributes among them the spare capacity of the link, minus the capacity that drains the queue:
//! `R <- R * (1 + T/d0 * (alpha*(eta*C - y) - beta*q/d0) / (eta*C))`, with `C` the capacity, `y`
//! the arriving traffic, `q` the queue and `d0` the mean RTT. Each packet collects the smallest `R`
//! of its path, the receiver returns it, and the sender paces at that rate.
//!
//! There is no handshake here, so the first data packet serves as the SYN: it travels alone, and a
//! round trip later the flow sends at `R`. A flow that was idle for longer than its retransmission
//! timeout asks in this way again. From then on the sender adopts `R` once per round trip.
//! Acknowledgements do not clock the sender, and there is no window. Without any acknowledgement, a
//! flow sends no more than two round trips at `R`, so that it does not send into a broken path for
//! ever. After a timeout, it sends at `R/2` until it receives a rate again. Losses are repaired and
//! do not change the rate.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time. Acknowledgements carry
//! the rate in units of 100 bit/s, rounded down, at least 1 (`u32`: up to 429 Gbit/s); 0 if there
//! was no header, and the largest number if no router has set a rate.
//!
//! # Parameters
//! | | `rule=paper` | `rule=authors` |
//! | --- | --- | --- |
//! | evaluated | every min(`t`, `d0`) | when a packet leaves, `t` after the last time: not in outages |
//! | `C`, `y` | over the interval that ends | over the last `t`; `y` as it was when a packet came |
//! | `d0` | moving average of the RTTs in headers | mean of `rtt` plus sojourn over the last `d0` |
//! | `q` | all waiting packets | the packets behind the departing one |
//! | bounds of `R` | `floor` to `eta*C` | `floor` to 12.6 Gbit/s, the most that their header can carry |
//!
//! The initial rate is 5 % of the capacity of the first interval, and applies from the end of that
//! interval. The floor of RCP's ns-2 model is a hundredth of a packet per RTT, but its senders ask
//! for the rate once per RTT in separate packets; the senders here learn it only from data packets.
//! So `paper`'s floor is a packet per `d0` here, or per two of the smallest RTTs in headers and the
//! wait of the present queue if that is more.
//!
//! All traffic of the link counts in `y`, with a header or without. The authors' routers count
//! packets where these count bytes. When a link has offered nothing in an interval, `paper` takes
//! the limit of its formula: `floor` if traffic arrived or waits, else no change.
//!
//! # Where it fails
//! Without an RCP router on the path, a flow never learns a rate and sends one packet per round
//! trip. If the bottleneck has none, the flow sends too fast and repairs losses for ever. When the
//! capacity falls, all bytes that senders send until they learn of it wait in the queue, and
//! draining it costs utilisation afterwards (ABC, Fig. 19). Capacity that varies faster than `t`
//! makes `R` oscillate between its bounds: the formula divides by the present capacity, so that a
//! fall to a third sends `R` to its floor, from where it grows by half per RTT. Flows that arrive
//! at one time all get the `R` that was right for the flows before them. After an outage `d0`
//! contains its wait, and `R` grows by half per `d0`: the link is almost unused for as long as the
//! outage was, but 11 s at most.
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

/// The receiver's half of RCP: returns the rate granted to the newest packet.
pub type RcpReceiver = NewestHeader;

paceline_cc::choices! {
    /// When a sender adopts the rate that acknowledgements return.
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
        /// By a timer, from measurements of the link (thesis).
        Paper = "paper",
        /// When packets leave, with sliding windows (ABC authors' code).
        Authors = "authors",
    }
}

paceline_cc::params! {
    /// Parameters of RCP.
    pub struct RcpParams {
        /// Sender: when it adopts the rate that acknowledgements return.
        refresh: Refresh = Refresh::RoundTrip, source "RCP's ns-2 model";
        /// Router: how it evaluates its law.
        rule: Rule = Rule::Paper, source "thesis §2.2";
        /// Router: share of the spare capacity that is distributed per RTT.
        alpha: f64 = 0.5, in above(0.0).up_to(2.0), source "ABC, appendix F";
        /// Router: share of the queue that drains per RTT.
        beta: f64 = 0.25, in 0.0..=2.0, source "ABC, appendix F";
        /// Router: target share of the capacity; `gamma` in the thesis and in ns-2.
        eta: f64 = 0.95, in above(0.0).up_to(1.5), source "ABC authors' code";
        /// Router: time between evaluations; the mean RTT if that is shorter.
        t: Span = Span::from_millis(100), in ROUTER_TIMES, source "ABC authors' code; ns-2: 10ms";
        /// Router: mean RTT before headers have given one; with rule=authors, the RTT of an empty
        /// path.
        rtt: Span = Span::from_millis(100), in ROUTER_TIMES, source "ABC authors' code";
        /// Router: initial R; 0 for 5 % of the capacity or, with rule=authors, 6 Mbit/s.
        initial_rate: Rate = Rate::ZERO, source "RCP's ns-2 model; ABC authors' code";
        /// Router: smallest R; 0 for a packet per RTT or, with rule=authors, 600 kbit/s.
        floor: Rate = Rate::ZERO, source "ours; ABC authors' code";
    }
    variants {
        /// RCP's own router, with the gains of the ABC paper.
        "rcp" => {},
        /// The router of ABC's authors.
        "abc" => { rule: Rule::Authors },
    }
}

/// Entry in the table of schemes.
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
            reporter: Some(Arc::new(|_| Box::new(RcpReceiver::new(receiver::granted)))),
            router: Some(Arc::new(move |_| Box::new(RcpRouter::new(&params)))),
            ack: AckPolicy::EACH,
            // The first packet asks for the rate; in the thesis the SYN does.
            handshake: false,
            ..Halves::sender(move |setup| RcpSender::new(refresh, setup.mss))
        })
    },
};
