//! C2TCP: a loss-based scheme that treats an interval of long RTTs as a loss.
//!
//! # What it does
//! While RTTs are below `target`, the window opens faster than the base scheme, a loss-based one,
//! would open it. RTTs above the target have no effect at first. When no RTT was below it for
//! `interval`, the condition is bad: the threshold becomes what a loss would make it, and the
//! window one packet, to which the base scheme adds the packets that the same acknowledgement
//! covers. As long as the condition stays bad, this repeats after `interval / sqrt(n)`, as CoDel
//! drops packets. One RTT below the target ends it.
//!
//! # Signals it needs
//! RTTs that include the delay of acknowledgements; no others than those of the base scheme.
//!
//! # Parameters
//! `target` and `interval` are times (`100ms`) or multiples of the smallest RTT so far (`2rtt`).
//! The paper used 100 ms with an RTT of 40 ms and recommends 2 to 3 RTTs (§IV-E); the journal
//! version has 2 RTTs. A fixed target must be longer than the path's RTT: on a path with an RTT of
//! 100 ms, a target of 100 ms is never met, and the window stays at a few packets. Two RTTs below
//! 40 ms are not met either while the acknowledgement of a single packet is delayed by 40 ms:
//! `floor` is the least target and interval where they are multiples of the RTT.
//!
//! The paper contradicts itself about growth. Algorithm 1 adds `target / rtt` packets *per
//! acknowledgement*: at an RTT of half the target this makes the window three times as large per
//! round trip, in addition to the base scheme's growth. The text (§III-B) calls the increase
//! additive and derives fairness from that. The kernel that the authors measured adds `floor(target
//! / rtt)` to the counter that opens the window by one packet when it reaches the window: so it
//! adds that many packets *per round trip*, as the text says. Beside a Cubic flow (Fig. 5) the
//! kernel's rule gets about its fair share, and algorithm 1 nearly the whole link, so the kernel's
//! rule is the default.
//!
//! With `rule=kernel`, times are whole milliseconds, an RTT equal to the target is good, and `1 /
//! sqrt(n)` is CoDel's approximation by one step of Newton's method per back-off (0.50 instead of
//! 0.71 for n = 2, then within 3 %). The base scheme adds to the counter, too, which opens the
//! window at the faster pace of the two. This counter keeps fractions where the kernel's starts
//! again from 0. With `rule=paper`, times are exact.
//!
//! `settle` is a side effect of the kernel: for HyStart's sake, Cubic ignores RTTs for the first
//! second of an epoch, and C2TCP ignores them with it. So a bad condition that begins within a
//! second of the last back-off is noticed late, and C2TCP does not open the window meanwhile. The
//! paper's text does not mention this, and with it the resilience to random loss (Fig. 8) is lost.
//! But it is what the authors ran, and the figures that they published for single recordings are
//! nearer to those with it (EV-DO downlink: 0.38 Mbit/s at a mean of 104 ms; here 0.40 at 114 with
//! it and 0.32 at 83 without). It applies to Cubic only.
//!
//! Back-offs while many losses are being repaired leave a threshold of two packets and a window of one.
//! With `prr` the repair then takes one round trip for each lost packet, because its first
//! retransmission leaves at once, acknowledgements advance, and the retransmission timer does not
//! expire. Without it nothing leaves until the flight has shrunk; if that takes longer than the
//! retransmission timeout, the window repairs in slow start. Paceline's programs for Linux work without it.
//!
//! Cubic's window grows by RFC 9438, as in Paceline's programs for Linux. The authors' kernel (Linux
//! 4.13) had the rule of Linux, which counts whole packets.
//!
//! The kernel opens the window even if it is not used, and while losses are being repaired. This
//! program does not (RFC 7661), since the kernel's repair undoes what was opened meanwhile.
//!
//! # Where it fails
//! A target below the RTT of an empty path is never met. While single packets are in flight, neither
//! is a target less than the delay of acknowledgements (40 ms) above that RTT. A loss-based flow that
//! shares the queue keeps the condition bad; so does an outage, long after it is over. The smallest RTT
//! of a flow that starts late contains the queue of the earlier ones, and its target is larger by twice that queue: on
//! 12 Mbit/s and 50 ms the later of two flows took 11.5 Mbit/s, for as long as the run lasted.
//!
//! # Source
//! S. Abbasloo, T. Li, Y. Xu, H. J. Chao: Cellular Controlled Delay TCP (C2TCP), IFIP Networking
//! 2018, §III; the authors' patch of Linux 4.13; S. Abbasloo, Y. Xu, H. J. Chao: C2TCP: A Flexible
//! Cellular TCP to Meet Stringent Delay Requirements, IEEE JSAC 37(4), 2019, for multiples of the
//! RTT.

mod base;
mod condition;
mod limit;
#[cfg(test)]
mod tests;

use paceline_cc::params::above;
use paceline_cc::{Congestion, Controller, Feedback, Halves, Params, Plan, Span, Time};

use crate::parts::{INITIAL_WINDOW, RenoWindow, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
use base::Window;
use condition::{Condition, Verdict, millis};
pub use limit::Limit;

paceline_cc::choices! {
    /// The loss-based scheme that C2TCP builds on.
    pub enum Base {
        /// Cubic.
        Cubic = "cubic",
        /// NewReno.
        NewReno = "newreno",
    }
}

paceline_cc::choices! {
    /// How C2TCP opens the window and counts time.
    pub enum Rule {
        /// As in algorithm 1 of the paper: `target / rtt` packets per acknowledgement.
        Paper = "paper",
        /// As in the authors' kernel: `floor(target / rtt)` packets per round trip.
        Kernel = "kernel",
    }
}

paceline_cc::params! {
    /// Parameters of C2TCP.
    pub struct C2tcpParams {
        /// RTT above which the condition may be bad: a time, or a multiple of the smallest RTT.
        target: Limit = Limit::Rtts(2.0),
            in above(Limit::Time(Span::ZERO)).or(Limit::Rtts(1.0)..=Limit::Rtts(1000.0)),
            source "journal version; paper §IV: 100ms";
        /// Time for which RTTs must be above the target: a time, or a multiple of the smallest RTT.
        interval: Limit = Limit::Rtts(2.0),
            in above(Limit::Time(Span::ZERO)).or(Limit::Rtts(0.01)..=Limit::Rtts(1000.0)),
            source "journal version; paper §IV: 100ms";
        /// Least target and interval where they are multiples of the smallest RTT.
        floor: Span = Span::ZERO, source "ours";
        /// How the window opens and time counts.
        rule: Rule = Rule::Kernel, source "authors' kernel; algorithm 1: paper";
        /// Time after the beginning of a Cubic epoch during which RTTs are ignored.
        settle: Span = Span::from_secs(1), source "authors' kernel; paper: 0s";
        /// The loss-based scheme that C2TCP builds on.
        base: Base = Base::Cubic, source "paper §IV";
        /// Whether the flow, while it repairs losses, sends a share of the packets that arrive;
        /// otherwise it sends nothing until the flight is no larger than the reduced window.
        prr: bool = true, source "RFC 6937, authors' kernel; Paceline's programs for Linux: false";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
    }
    variants {
        /// The authors' kernel with the target of their journal paper.
        "authors" => {},
        /// The authors' kernel as in their paper of 2018, with an RTT of 40 ms.
        "ifip2018" => {
            target: Limit::Time(Span::from_millis(100)),
            interval: Limit::Time(Span::from_millis(100)),
        },
        /// The text of the paper of 2018.
        "paper" => {
            target: Limit::Time(Span::from_millis(100)),
            interval: Limit::Time(Span::from_millis(100)),
            rule: Rule::Paper,
            settle: Span::ZERO,
        },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "c2tcp",
    summary: "Cubic that backs off when RTTs stay above a target for an interval",
    source: "C2TCP, IFIP Networking 2018",
    params: C2tcpParams::infos,
    plot_style: PlotStyle::new(Hue::Blue, Dash::Dashed, Shape::Down),
    bulk: None,
    note: Some(Note::new(
        "it falls to two packets when RTTs stay above twice the smallest one, and needs \
         seconds to fill a long path again",
    )),
    build: |spec| {
        let params: C2tcpParams = spec.params()?;
        Ok(Halves::sender(move |setup| C2tcpSender::new(&params, setup.mss)))
    },
};

/// The sender's half of C2TCP.
#[derive(Clone, Debug)]
pub struct C2tcpSender {
    window: Window,
    condition: Condition,
    params: C2tcpParams,
    mss: u32,
    /// When Cubic's epoch began; [`Time::NEVER`] between a reduction and the next growth in
    /// congestion avoidance.
    epoch: Time,
    /// True if the repair under way began with a timeout.
    timed_out: bool,
}

impl C2tcpSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &C2tcpParams, mss: u32) -> C2tcpSender {
        C2tcpSender {
            window: Window::new(params),
            condition: Condition::new(params.rule),
            params: params.clone(),
            mss: mss.max(1),
            epoch: Time::NEVER,
            timed_out: false,
        }
    }

    /// Returns the present target and interval.
    fn limits(&self, min_rtt: Span) -> (Span, Span) {
        let C2tcpParams { target, interval, floor, .. } = &self.params;
        (target.over(min_rtt, *floor), interval.over(min_rtt, *floor))
    }

    /// Returns true while the kernel would ignore RTTs.
    fn settles(&self, now: Time) -> bool {
        let known = self.params.base == Base::Cubic && self.epoch != Time::NEVER;
        known && now.since(self.epoch) < self.params.settle
    }

    /// Judges the RTT of an acknowledgement; `None` if it has none, or is ignored.
    fn judge(&mut self, feedback: &Feedback<'_>) -> Option<Verdict> {
        let rtt = feedback.rtt.filter(|_| !self.settles(feedback.now))?;
        let (target, interval) = self.limits(feedback.min_rtt);
        Some(self.condition.on_rtt(feedback.now, rtt, target, interval))
    }

    /// Returns the packets by which an RTT below the target opens the window, in addition to the
    /// base scheme's growth.
    fn growth(&self, target: Span, rtt: Span, below: &OwnGrowth) -> f64 {
        match self.params.rule {
            Rule::Paper => target.as_nanos() as f64 / rtt.as_nanos().max(1) as f64,
            Rule::Kernel => self.kernel_growth(target, rtt, below),
        }
    }

    /// Returns the growth by the kernel's rule: it adds `floor(target / rtt)` to the counter of
    /// acknowledged packets that opens the window by one packet whenever it reaches a limit. The
    /// limit is the window, or in congestion avoidance the value from Cubic's curve. In that case
    /// acknowledged packets and C2TCP's additions both count at Cubic's pace, and Cubic's own
    /// growth is subtracted.
    fn kernel_growth(&self, target: Span, rtt: Span, below: &OwnGrowth) -> f64 {
        let counts = (millis(target) / millis(rtt).max(1)).max(1) as f64;
        let reno_pace = 1.0 / self.window.cwnd();
        if !below.avoiding || self.params.base == Base::NewReno {
            counts * reno_pace
        } else if below.acked > 0.0 {
            let pace = (below.packets / below.acked).max(reno_pace);
            (counts + below.acked) * pace - below.packets
        } else {
            0.0
        }
    }
}

/// The base scheme's own reaction to an acknowledgement.
struct OwnGrowth {
    /// Number of packets acknowledged.
    acked: f64,
    /// Number of packets by which it opened the window.
    packets: f64,
    /// True if it is in congestion avoidance.
    avoiding: bool,
}

impl Controller for C2tcpSender {
    /// Judges the RTT, and then takes the base scheme's step: Linux calls the congestion control
    /// with the RTT (`pkts_acked`) before it reacts to losses and before the window grows
    /// (`cong_avoid`).
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let verdict = self.judge(feedback);
        let is_bad = verdict == Some(Verdict::Bad);
        if is_bad {
            self.window.back_off();
            self.epoch = Time::NEVER;
        }
        let before = self.window.cwnd();
        if is_bad && !feedback.cwnd_limited {
            // More is in flight than the new window allows.
            self.window
                .on_feedback(&feedback.clone().with(|feedback| feedback.cwnd_limited = true));
        } else {
            self.window.on_feedback(feedback);
        }
        self.timed_out &= feedback.in_recovery;
        match feedback.congestion {
            None | Some(Congestion::Undo | Congestion::LossAfterMark) => {}
            Some(Congestion::Loss | Congestion::Ecn) => self.epoch = Time::NEVER,
            Some(Congestion::Timeout) => {
                self.epoch = Time::NEVER;
                self.timed_out = true;
            }
        }
        let repaired = !feedback.in_recovery || self.timed_out;
        let grows = feedback.cwnd_limited && feedback.may_raise_cwnd && repaired;
        let avoiding = grows && !self.window.in_slow_start();
        if avoiding && feedback.acked > 0 && self.epoch == Time::NEVER {
            self.epoch = feedback.now;
        }
        if verdict == Some(Verdict::Good) && grows {
            let packets = (self.window.cwnd() - before).max(0.0);
            let below = OwnGrowth { acked: RenoWindow::acked(feedback), packets, avoiding };
            let (target, _) = self.limits(feedback.min_rtt);
            let rtt = feedback.rtt.unwrap_or(target);
            self.window.add(self.growth(target, rtt, &below));
        }
    }

    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.window.on_idle(now, idle, rto, self.params.initial_window);
    }

    fn plan(&self) -> Plan {
        let plan = Plan::window(self.window.bytes(self.mss));
        if self.params.prr { plan } else { plan.without_prr() }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        if self.window.ssthresh().is_finite() {
            see("ssthresh", self.window.ssthresh());
        }
        see("backoffs", self.condition.backoffs() as f64);
    }
}
