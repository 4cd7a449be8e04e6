//! PCC Vivace: learns the sending rate by trying rates and comparing their utility.
//!
//! # What it does
//! It divides time into monitor intervals of about a round trip and sends at one rate through each.
//! A round trip later it computes that rate's utility from the packets' fates: the rate itself,
//! minus a penalty for losses and, optionally, for rising RTTs. At first it raises the rate until
//! the utility falls. Then it probes 5 % above and below its rate in random order and follows the
//! utility's gradient, with steps that grow while the direction is unchanged and are bounded by a
//! share of the rate. It moves on as long as the utility increases, and then probes again.
//!
//! # Signals it needs
//! The fate of each packet.
//!
//! # Parameters
//! The authors published three algorithms under this name, which differ in more than constants.
//!
//! | | `paper` | `nsdi2018` | `kernel` |
//! | --- | --- | --- | --- |
//! | utility of rate x, RTT gradient g, loss L | x^0.9 - 900xg - 11.35xL | x^0.9 - 11330xg - 11.35xL | x - 900xg - 11xL |
//! | small losses | as all | up to 3 %: 1xL; up to 1 %: averaged over the probes | as all |
//! | gradient | least squares over send times | as `paper`, truncated to even hundredths | change of the smoothed RTT over the interval; under 3 % or two packets' time: 0 |
//! | rate in the utility | as sent, 10^6 bit/s | as sent, 2^20 bit/s | as intended, byte/s |
//! | interval | 1 RTT, at least 10 packets | 1 RTT, 10 to 3000 packets | 1 RTT, at least 50 packets, of which the first and last ten do not count |
//! | start | ×2 from 0.8 Mbit/s | ×2 from 0.8 Mbit/s, 50 losses forgiven | ×1.5 from 4.2 Mbit/s, losses under 10 % and falling RTTs ignored |
//! | probes | 4 | 4; 2 while the direction lasts; at least ±0.5 Mbit/s | 4 |
//! | step per gradient | 1 Mbit/s × m | 1 Mbit/s × m | 0.2 Mbit/s × m |
//! | m after n steps one way | 1, 2, 3, 5, 7, 9, 13, ... | as `paper`, later | 2, 3, 4, 5, ... |
//! | bound of a step | (5 + 10k) % | (5 + 6k) % | (10 + 7k) % |
//! | least step | none | 0.5 Mbit/s | 2.2 % |
//! | moving | while the utility rises | upwards, in steps over 10 % | upwards |
//! | timeout | half the rate | half the rate; near the floor it hibernates | the rate stays; one packet in flight until an acknowledgement comes |
//! | floor | 2 packets per RTT | 1.3 Mbit/s less a probe's step | 2 packets per RTT |
//! | window | 100000 packets | 100000 packets | twice rate × smoothed RTT |
//!
//! `rule=kernel` is the default because the ABC paper (§6.1) says that its "PCC" is Vivace-Latency
//! and a TCP kernel module, and this is the module that the authors of PCC published. It has two
//! errors that shape its behaviour and are reproduced: the first interval after a decision is still
//! sent at the old rate, and the last direction is never stored, so that each step down leads back
//! to probing. `rule=nsdi2018` hibernates with packets of full size, where the original uses 100
//! bytes. `rule=paper` takes from the program what the paper leaves open: the start, the shortest
//! interval and the factors m. In each rule, `utility=loss` leaves the gradient out. A packet
//! counts in its interval once, with the fate that becomes known first: a packet that was declared
//! lost and is acknowledged after all stays lost.
//!
//! # Where it fails
//! Intervals of a round trip are slow on links that change within one: a rate's utility is known
//! two round trips later. The kernel module ignores RTTs that rise by less than 3 % of the time, so
//! that it fills a buffer slowly without a penalty. With the loss utility it fills every queue:
//! only losses limit the rate. Shares of competing flows converge slowly. On links of 2 Mbit/s or
//! less (RTT of 100 ms) it fills any buffer and sends most packets several times: on .2 Mbit/s 25 000
//! again in a minute, for 1000 that arrive. `variant=paper` does so on .2 Mbit/s alone.
//!
//! # Source
//! Dong, Meng, Zarchy, Arslan, Gilad, Godfrey, Schapira: PCC Vivace: Online-Learning Congestion
//! Control, NSDI 2018. The authors' code: PCC-Uspace, branch NSDI-2018, and PCC-Kernel.

mod kernel;
mod monitor;
mod nsdi2018;
mod paper;
mod probes;
mod rate_rule;
mod sender;
mod steps;
#[cfg(test)]
mod tests;
mod utility;

use std::sync::Arc;

use paceline_cc::{AckPolicy, Halves, Params};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;
pub use sender::VivaceSender;

paceline_cc::choices! {
    /// What lowers a rate's utility.
    pub enum Utility {
        /// Loss and rising RTTs.
        Latency = "latency",
        /// Loss only.
        Loss = "loss",
    }
}

paceline_cc::choices! {
    /// The version of the algorithm.
    pub enum Rule {
        /// The Linux module.
        Kernel = "kernel",
        /// The user-space program of the paper's evaluation.
        Nsdi2018 = "nsdi2018",
        /// The paper.
        Paper = "paper",
    }
}

paceline_cc::params! {
    /// Parameters of PCC Vivace.
    pub struct VivaceParams {
        /// The version of the algorithm: the Linux module, the program of the evaluation, or the
        /// paper's text.
        rule: Rule = Rule::Kernel, source "PCC-Kernel; ABC §6.1";
        /// What lowers a rate's utility: loss and rising RTTs, or loss only.
        utility: Utility = Utility::Latency, source "paper §3.2; ABC §6.1";
    }
    variants {
        /// The Linux module.
        "kernel" => {},
        /// The user-space program of the paper's evaluation.
        "nsdi2018" => { rule: Rule::Nsdi2018 },
        /// The paper's text.
        "paper" => { rule: Rule::Paper },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "vivace",
    summary: "PCC Vivace: tries rates and follows the gradient of their utility",
    source: "Dong et al., NSDI 2018",
    params: VivaceParams::infos,
    plot_style: PlotStyle::new(Hue::Pink, Dash::Dashed, Shape::Star),
    bulk: None,
    note: None,
    build: |spec| {
        let params: VivaceParams = spec.params()?;
        Ok(Halves {
            controller: Arc::new(move |setup| Box::new(VivaceSender::new(&params, setup))),
            ack: AckPolicy::EACH,
            ..Halves::sender(|setup| VivaceSender::new(&VivaceParams::default(), setup))
        })
    },
};
