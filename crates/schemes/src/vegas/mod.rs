//! Vegas: keeps a few of its own packets in the bottleneck's queue, measured by the round-trip
//! time.
//!
//! # What it does
//! Once per round trip it compares the window with the packets that the path holds without a queue:
//! the window times the smallest RTT of all divided by the smallest of this round trip. The
//! difference is the number of packets in queues: below `alpha` packets the window grows by one,
//! above `beta` it shrinks by one. Slow start doubles in every round trip (not in every second one
//! as in the paper) and ends when more than `gamma` packets wait. Losses and marks halve the window
//! as in Reno. Reno's rules also apply while losses are repaired, and after a round trip with fewer
//! than three samples.
//!
//! # Signals it needs
//! RTTs; CE counts with `ecn=true`.
//!
//! # Parameters
//! The paper's difference is `cwnd - floor(cwnd * base / rtt)` whole packets (`diff=paper`). Linux
//! computes `floor(cwnd * (rtt - base) / base)`, which is larger by the factor `rtt / base` and so
//! yields sooner where the queue is long. The window compared is the one at the beginning of the
//! round trip, with which its packets were sent, as in the paper and in Linux up to 2.6.27. Linux
//! and ns-3 now take the present one, which in slow start is twice as large and leads to a queue as
//! long as the path's content. ns-3 up to version 3.37 did not show this effect: it took the
//! smoothed RTT for samples, and left slow start long before the path was full. In ns-3 and ns-2
//! the smallest RTT is that of the handshake, whose small packets take almost no time to transmit,
//! so that the transmission time of a data packet counts as queue there (`handshake`, an initial
//! RTT). ns-3 measures RTTs by timestamps of whole milliseconds (`clock=1ms`). ns-2 has two
//! versions. One is Linux 2.6.22, whose window moves towards a packet more or less than the window
//! at the end of the previous round trip, so that each step takes two round trips (`step=before`).
//! The other is its own, which doubles in every second round trip, gives up an eighth of the window
//! at the end of slow start (`doubles=second`), and compares mean RTTs (`rtt=mean`), with packets
//! in queues rounded to the nearest integer (`diff=rounded`). Here the window does not grow while
//! it is not used (RFC 7661); in Linux and ns-3 it does. The smallest RTT of all never expires,
//! except when sending resumes after an idle period longer than the timeout (Linux forgets it even
//! sooner).
//!
//! # Where it fails
//! A path that becomes longer looks like a queue and starves the flow for good; jitter does so as
//! long as it lasts. A flow that starts when others already fill the queue takes their queue for
//! the path, and gets more than its share. Vegas yields to flows that fill the buffer, and gains
//! one packet per round trip when capacity rises.
//!
//! # Source
//! L. Brakmo, L. Peterson: TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE
//! JSAC 13(8), 1995; Linux `net/ipv4/tcp_vegas.c`.

mod params;
#[cfg(test)]
mod tests;

pub use params::{Diff, Doubles, RttKind, Step, VegasParams};

use paceline_cc::{
    Congestion, Controller, Ecn, Established, Feedback, Halves, Params, Plan, Signals, Span, Time,
};

use crate::parts::RenoWindow;
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{BulkPath, Note, Scheme};

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "vegas",
    summary: "Keeps two to four packets in the queue, estimated from RTTs",
    source: "TCP Vegas, IEEE JSAC 1995",
    params: VegasParams::infos,
    plot_style: PlotStyle::new(Hue::Ochre, Dash::Solid, Shape::Up),
    bulk: None,
    note: Some(Note::on(
        BulkPath::is_long_and_fast,
        "it adds a packet per RTT, so that a long, fast path takes it minutes to fill \
         after its slow start",
    )),
    build: |spec| {
        let params: VegasParams = spec.params()?;
        params.check(spec)?;
        Ok(Halves::sender(move |setup| VegasSender::new(&params, setup.mss)))
    },
};

/// Minimum number of samples in a round trip for a judgement, so that not all of them come from
/// delayed acknowledgements.
const MIN_SAMPLES: u32 = 3;

/// The sender's half of Vegas.
#[derive(Clone, Debug)]
pub struct VegasSender {
    window: RenoWindow,
    params: VegasParams,
    mss: u32,
    /// The smallest RTT of all.
    base: Span,
    /// The smallest RTT of this round trip.
    round_min: Span,
    /// Number of RTT samples of this round trip.
    samples: u32,
    /// Sum of these samples.
    sum: Span,
    /// The smoothed RTT, measured with the clock of `clock`.
    smoothed: Span,
    /// The window at the start of this round trip, in whole packets; with [`Step::Before`], the
    /// window before the judgement at that time.
    begun: u64,
    /// [`Doubles::Second`]: true if slow start grows the window in this round trip.
    doubling: bool,
    /// True if Vegas rules, false if Reno does.
    active: bool,
    /// Number of packets in queues at the last judgement.
    diff: u64,
}

impl VegasSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &VegasParams, mss: u32) -> VegasSender {
        VegasSender {
            window: RenoWindow::new(params.initial_window),
            params: params.clone(),
            mss: mss.max(1),
            base: if params.handshake.is_zero() { Span::MAX } else { params.handshake },
            round_min: Span::MAX,
            samples: 0,
            sum: Span::ZERO,
            smoothed: params.handshake,
            doubling: params.doubles == Doubles::Each,
            begun: params.initial_window as u64,
            active: true,
            diff: 0,
        }
    }

    fn next_round(&mut self) {
        self.next_round_after(self.window.cwnd() as u64);
    }

    /// Begins the next round trip; `before` was the window before the judgement of the last one.
    fn next_round_after(&mut self, before: u64) {
        self.round_min = Span::MAX;
        self.samples = 0;
        self.sum = Span::ZERO;
        self.begun = match self.params.step {
            Step::Present => self.window.cwnd() as u64,
            Step::Before => before,
        };
    }

    /// Returns the RTT of an acknowledgement, as the parameters measure it.
    fn rtt_of(&mut self, feedback: &Feedback<'_>) -> Option<Span> {
        let sample = feedback.rtt?;
        let (clock, smoothed) = (self.params.clock, self.params.rtt == RttKind::Smoothed);
        if clock.is_zero() {
            return Some(if smoothed { feedback.srtt } else { sample });
        }
        // Both times are read from a clock of whole ticks.
        let tick = clock.as_nanos().max(1);
        let (to, took) = (feedback.now.since(Time::ZERO).as_nanos(), sample.as_nanos());
        let measured = to / tick * tick - to.saturating_sub(took) / tick * tick;
        let old = self.smoothed.as_nanos();
        let estimate = if old == 0 { measured } else { old - old / 8 + measured / 8 };
        self.smoothed = Span::from_nanos(estimate);
        Some(if smoothed { self.smoothed } else { Span::from_nanos(measured) })
    }

    /// Grows the window by Reno's rules.
    fn grow(&mut self, acked: f64) {
        let rest = self.window.slow_start(acked);
        self.window.avoid_congestion(rest);
    }

    /// Returns the whole packets that the path would hold without a queue, and the number in
    /// queues.
    fn judge(&self, cwnd: u64) -> (u64, u64) {
        let rtt = match self.params.rtt {
            RttKind::Mean => self.sum / u64::from(self.samples.max(1)),
            RttKind::Sample | RttKind::Smoothed => self.round_min,
        };
        let (base, rtt) = (self.base.as_nanos() as u128, rtt.as_nanos() as u128);
        let target = (cwnd as u128 * base / rtt.max(1)) as u64;
        let diff = match self.params.diff {
            Diff::Paper => cwnd.saturating_sub(target),
            Diff::Rounded => {
                let rest = 2 * cwnd as u128 * rtt.saturating_sub(base) + rtt;
                (rest / (2 * rtt).max(1)) as u64
            }
            Diff::Linux => (cwnd as u128 * rtt.saturating_sub(base) / base.max(1)) as u64,
        };
        (target, diff)
    }

    /// Adjusts the window, once per round trip.
    fn adjust(&mut self, may_grow: bool, acked: f64) {
        let cwnd = self.window.cwnd() as u64;
        let (target, diff) = self.judge(self.begun);
        self.diff = diff;
        if self.window.in_slow_start() {
            let judges = self.params.doubles == Doubles::Each || !self.doubling;
            self.doubling = judges;
            if judges && diff > self.params.gamma as u64 {
                self.shrink(match self.params.doubles {
                    Doubles::Each => cwnd.min(target + 1),
                    Doubles::Second => cwnd - cwnd / 8,
                });
            } else if judges && may_grow {
                self.window.slow_start(acked);
            }
        } else if diff > self.params.beta as u64 {
            match self.params.step {
                Step::Present => self.shrink(cwnd - 1),
                Step::Before if self.begun <= cwnd => self.shrink(cwnd - 1),
                Step::Before => {}
            }
        } else if diff < self.params.alpha as u64 && may_grow {
            match self.params.step {
                Step::Present => self.window.set_cwnd(cwnd as f64 + 1.0),
                Step::Before if self.begun >= cwnd => self.window.set_cwnd(cwnd as f64 + 1.0),
                Step::Before => {}
            }
        }
        let raised = 0.75 * self.window.cwnd();
        if self.window.ssthresh() < raised {
            self.set_threshold(raised);
        }
    }

    /// Reduces the window, and sets the threshold below it, so that slow start is over.
    fn shrink(&mut self, packets: u64) {
        let cwnd = packets.max(2) as f64;
        self.window.set_cwnd(cwnd);
        self.set_threshold(self.window.ssthresh().min(cwnd - 1.0).max(2.0));
    }

    fn set_threshold(&mut self, packets: f64) {
        let cwnd = self.window.cwnd();
        self.window.set_cwnd(packets);
        self.window.leave_slow_start();
        self.window.set_cwnd(cwnd);
    }
}

impl Controller for VegasSender {
    fn needs(&self) -> Signals {
        if self.params.ecn { Signals::ECN } else { Signals::NONE }
    }

    fn on_established(&mut self, established: &Established) {
        self.window.begin_connection(established);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let rtt = self.rtt_of(feedback);
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.base = self.base.min(rtt);
            self.round_min = self.round_min.min(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
        let halved = libm::floor(self.window.cwnd() / 2.0);
        match feedback.congestion {
            None | Some(Congestion::LossAfterMark) => {}
            Some(Congestion::Loss | Congestion::Ecn) => {
                self.active = false;
                self.window.reduce(halved);
                self.window.may_grow(feedback);
                return;
            }
            Some(Congestion::Timeout) => {
                self.active = false;
                self.window.time_out(halved);
                return;
            }
            Some(Congestion::Undo) => {
                self.window.undo();
            }
        }
        let may_grow = self.window.may_grow(feedback);
        let acked = RenoWindow::acked(feedback);
        if feedback.in_recovery {
            self.active = false;
        } else if !self.active {
            self.active = true;
            self.next_round();
        }
        let ends = self.active && feedback.round_start;
        let before = self.window.cwnd() as u64;
        if ends && self.samples >= MIN_SAMPLES {
            self.adjust(may_grow, acked);
        } else if may_grow && (ends || !self.active) {
            self.grow(acked);
        } else if may_grow && self.doubling {
            self.window.slow_start(acked);
        }
        if ends {
            self.next_round_after(before);
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.window.restart(self.params.initial_window, idle, rto);
        if idle > rto {
            self.base = Span::MAX;
            self.next_round();
        }
    }

    fn plan(&self) -> Plan {
        let ecn = if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Plan::window(self.window.bytes(self.mss)).ecn(ecn)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window.cwnd());
        if self.window.ssthresh().is_finite() {
            see("ssthresh", self.window.ssthresh());
        }
        see("diff", self.diff as f64);
        if self.base < Span::MAX {
            see("base_rtt", self.base.as_millis_f64());
        }
    }
}
