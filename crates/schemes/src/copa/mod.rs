//! Copa: steers the sending rate towards the inverse of the queueing delay.
//!
//! # What it does
//! The target is the rate that balances throughput against delay, `1 / (delta * queueing delay)`.
//! Each acknowledged packet moves the window by `v / (delta * cwnd)` packets towards it, so that
//! the window changes by `v / delta` packets per round trip. The velocity `v` doubles in every
//! round trip once the window has moved in one direction for three. Packets are paced at twice
//! `cwnd / RTTstanding`, and slow start doubles the window until the target is reached. If only
//! Copa flows share a link, each keeps about `1 / delta` packets in the queue, and they drain it
//! once every five round trips. If the queue has not been nearly empty for that long, other flows
//! fill it: Copa switches to the competitive mode, in which `1 / delta` grows by one per round trip
//! and halves upon loss.
//!
//! # Signals it needs
//! RTTs; losses in the competitive mode. It expects each packet to be acknowledged. With delayed
//! acknowledgements the smallest RTT within half a round trip still excludes most of the
//! acknowledgement delay. If that delay is longer than half a round trip, Copa takes it for a
//! queue, and loses throughput.
//!
//! # Parameters
//! The authors' code differs from the paper, and published figures of Copa were measured with the
//! code. `variant` chooses between them; the four switches choose rule by rule. mvfst has the
//! default mode only. *Velocity*: in the code it doubles from the second round trip in one
//! direction on, and the direction of a round trip is that of the majority of its steps. In both,
//! the velocity stays until a round trip is over, so that a velocity gained upwards also moves the
//! window down; with `mvfst`, as in Facebook's implementation of that name, the paper's velocity
//! becomes 1 at once when the direction changes. The window at most doubles in a round trip; this
//! limit is in the code, not in the paper. *Detection* of the mode: the paper checks whether
//! `RTTstanding` was within a tenth of the latest four round trips' range above `RTTmin` during the
//! latest five round trips; the code checks the smallest RTT of the latest four. Both compare
//! strictly, and so take an empty queue without any jitter for a full one; here, equality counts as
//! nearly empty. *Loss*: in the competitive mode the paper doubles `delta` in a round trip with
//! losses. The code doubles it with each acknowledgement that reveals a loss, which resets it to
//! the default at nearly every loss of a full queue; losses that a timer finds do not count. A
//! `delta` of the competitive mode returns to the default only after a round trip without loss.
//!
//! *Send*: while the window is full, the authors' loop keeps setting the time of its last packet to
//! the present. So a packet that an acknowledgement releases from a full window leaves a whole gap
//! after that acknowledgement, not at once. Slow start is slower that way and overshoots less.
//!
//! Two rules of the code always apply. More than 30 % of losses over two round trips and 20 packets
//! reduce the window to 0.7. Otherwise, where the buffer is shorter than the queue that Copa wants,
//! the full queue would become `RTTmin`, and the window would grow without limit. After `silence`
//! without an acknowledgement, Copa starts anew.
//!
//! Until 19 packets have been acknowledged, the initial window does not change and is paced over an
//! RTT. A window that is not used does not grow (RFC 7661).
//!
//! # Where it fails
//! Copa takes every increase of delay for a queue of its own. On links whose rate or scheduling
//! varies by itself, `RTTmin` may come from a lucky moment, and Copa leaves capacity unused. Its
//! window moves by `1 / delta` packets per round trip at first. That is slow where capacity jumps,
//! and slower where it falls, since round trips are long then. Having grown fast, the window may
//! overshoot, fall far below, and begin again: with `variant=paper`, one flow on a constant 24
//! Mbit/s with an RTT of 100 ms uses a third of it for good. The detection of modes often errs.
//! Flows that oscillate out of step do not empty the queue, take each other for competitors, and
//! then behave as competitors: with `velocity=paper`, four flows on 12 Mbit/s with 100 ms fill a
//! buffer of 1000 packets like loss-based ones (95 % of the queueing delays are below 633 ms, and
//! below 37 ms with the default). On .2 Mbit/s one flow competes with itself for good: its queue takes
//! 2.5 s to drain, and .2 s with `mode=default`. Beside Cubic, `RTTmin` is soon the minimum of Cubic's sawtooth,
//! where Copa concludes that it is alone.
//!
//! # Source
//! V. Arun, H. Balakrishnan: Copa: Practical Delay-Based Congestion Control for the Internet,
//! USENIX NSDI 2018, §2; the authors' code (`genericCC`); Facebook's mvfst,
//! `quic/congestion_control/Copa`.

mod losses;
mod mode;
mod rtt;
#[cfg(test)]
mod tests;
mod velocity;

use paceline_cc::{
    AckPolicy, Congestion, Controller, Feedback, Halves, Params, Plan, Rate, Span, Time,
};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
use losses::RecentLosses;
use mode::Delta;
use rtt::Rtts;
use velocity::Velocity;

paceline_cc::choices! {
    /// The mode that Copa uses.
    pub enum Mode {
        /// Follows the queue.
        Auto = "auto",
        /// The default mode only.
        Default = "default",
        /// The competitive mode only.
        Competitive = "competitive",
    }
}

paceline_cc::choices! {
    /// The source of a rule.
    pub enum Rule {
        /// The paper.
        Paper = "paper",
        /// The authors' code.
        Authors = "authors",
    }
}

paceline_cc::choices! {
    /// The source of the velocity's rule.
    pub enum Speed {
        /// The paper.
        Paper = "paper",
        /// The paper, but the velocity becomes 1 at once when the direction changes, as in mvfst.
        Mvfst = "mvfst",
        /// The authors' code.
        Authors = "authors",
    }
}

paceline_cc::params! {
    /// Parameters of Copa.
    pub struct CopaParams {
        /// Cost of a packet in the queue in the default mode: the inverse of the number of packets
        /// that each flow keeps there.
        delta: f64 = 0.5, in 1e-4..=100.0, unit "1/packets",
            source "paper §2.2; authors' Pantheon entry: 0.1; mvfst: 0.05";
        /// Whether the mode follows the queue or is fixed.
        mode: Mode = Mode::Auto, source "authors' code; mvfst: default";
        /// When the velocity doubles: after three round trips in one direction (paper; mvfst resets
        /// it at once when the direction changes), or from the second on (authors).
        velocity: Speed = Speed::Authors, source "authors' code";
        /// What shows a nearly empty queue: RTTstanding over five round trips (paper), or the
        /// smallest RTT of four (authors).
        detection: Rule = Rule::Authors, source "authors' code";
        /// How often losses double `delta` in the competitive mode: once per round trip (paper), or
        /// with each acknowledgement that reveals a loss (authors).
        loss: Rule = Rule::Authors, source "authors' code";
        /// When a packet may leave: a gap after the previous packet (paper), or a gap after the
        /// window was last full (authors).
        send: Rule = Rule::Authors, source "authors' code";
        /// Time without an acknowledgement after which Copa starts anew; 0 for never.
        silence: Span = Span::from_secs(2), source "authors' code";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets",
            source "authors' code; RFC 6928";
    }
    variants {
        /// The authors' program, which their paper and others measured.
        "authors" => {},
        /// The paper's text.
        "paper" => {
            velocity: Speed::Paper,
            detection: Rule::Paper,
            loss: Rule::Paper,
            send: Rule::Paper,
        },
        /// Facebook's implementation for QUIC, which has the default mode only.
        "mvfst" => {
            delta: 0.05,
            mode: Mode::Default,
            velocity: Speed::Mvfst,
            detection: Rule::Paper,
            loss: Rule::Paper,
            send: Rule::Paper,
            silence: Span::ZERO,
        },
    }
}

/// Shortest round-trip delay over which Copa takes half a minute to find the rate.
const LONG_RTT: Span = Span::from_millis(80);

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "copa",
    summary: "Steers its rate towards the inverse of the queueing delay",
    source: "Copa, USENIX NSDI 2018",
    params: CopaParams::infos,
    plot_style: PlotStyle::new(Hue::Pink, Dash::Solid, Shape::Down),
    bulk: None,
    note: Some(Note::on(
        |path| path.rtt >= LONG_RTT,
        "over a long path it takes half a minute to find the rate",
    )
    .with_long_queue(
        "it takes a queue of its own for that of a competitor, and competes; copa[mode=default] keeps \
         the queue short",
    )),
    build: |spec| {
        let params: CopaParams = spec.params()?;
        let ack = AckPolicy::EACH;
        Ok(Halves { ack, ..Halves::sender(move |setup| CopaSender::new(&params, setup.mss)) })
    },
};

/// The smallest window in packets (authors' code).
const MIN_WINDOW: f64 = 2.0;
/// Largest window in packets, so that it cannot grow without limit on an infinitely fast path.
const MAX_WINDOW: f64 = 1e6;
/// Number of packets acknowledged before the window changes (authors' code).
const PROBES: u64 = 19;

/// The sender's half of Copa.
#[derive(Clone, Debug)]
pub struct CopaSender {
    params: CopaParams,
    mss: u32,
    cwnd: f64,
    /// The window in bytes after the last feedback, as in `pacing` below.
    bytes: u64,
    slow_start: bool,
    /// Number of packets acknowledged since the start.
    acked: u64,
    rtts: Rtts,
    velocity: Velocity,
    delta: Delta,
    losses: RecentLosses,
    /// Time of the last acknowledgement of a packet.
    acked_at: Option<Time>,
    /// When Copa starts anew unless an acknowledgement arrives.
    silent_at: Time,
    /// Until when no packet leaves because the window was full, and the bytes in flight meanwhile;
    /// [`Time::NEVER`] if the window was not full.
    held_until: Time,
    in_flight: u64,
    /// [`CopaSender::rate`] after the last feedback: nothing else changes it, and a plan is made
    /// twice for each packet.
    pacing: Option<Rate>,
}

impl CopaSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &CopaParams, mss: u32) -> CopaSender {
        let mut copa = CopaSender {
            mss: mss.max(1),
            bytes: 0,
            cwnd: params.initial_window.max(MIN_WINDOW),
            slow_start: true,
            acked: 0,
            rtts: Rtts::new(),
            velocity: Velocity::new(params.velocity),
            delta: Delta::new(params),
            losses: RecentLosses::default(),
            acked_at: None,
            silent_at: Time::NEVER,
            held_until: Time::NEVER,
            in_flight: 0,
            pacing: None,
            params: params.clone(),
        };
        copa.bytes = copa.window();
        copa
    }

    /// Returns the window for the target rate: `RTTstanding / (delta * queueing delay)` packets.
    fn target(&self) -> f64 {
        let queueing = self.rtts.queueing().as_nanos();
        if queueing == 0 {
            return f64::INFINITY;
        }
        self.rtts.standing().as_nanos() as f64 / (self.delta.get() * queueing as f64)
    }

    /// Returns the window in bytes.
    fn window(&self) -> u64 {
        ((self.cwnd * self.mss as f64) as u64).max(self.mss as u64)
    }

    /// Returns the pacing rate; `None` before the first RTT.
    fn rate(&self) -> Option<Rate> {
        let rtt = if self.acked > PROBES { self.rtts.standing() / 2 } else { self.rtts.min() };
        (!rtt.is_zero()).then(|| Rate::from_bytes_in(self.bytes, rtt).max(Rate::from_bps(1)))
    }

    /// Changes the window for `packets` acknowledged (paper §2.1).
    fn step(&mut self, feedback: &Feedback<'_>, packets: f64) {
        let target = self.target();
        let may_grow = feedback.cwnd_limited;
        if self.slow_start {
            if may_grow {
                self.cwnd = (self.cwnd + packets).min(MAX_WINDOW);
            }
            if self.cwnd >= target {
                self.slow_start = false;
                self.velocity.restart(feedback.now, self.cwnd);
            }
            return;
        }
        let delta = self.delta.get();
        self.velocity.on_ack(feedback, self.cwnd, delta, self.rtts.latest());
        let up = self.cwnd < target;
        self.velocity.on_step(up, self.cwnd);
        let step = packets * self.velocity.get() / (delta * self.cwnd);
        if !up {
            self.cwnd = (self.cwnd - step).max(MIN_WINDOW);
        } else if may_grow {
            self.cwnd = (self.cwnd + step).min(MAX_WINDOW);
        }
    }
}

impl Controller for CopaSender {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        let was_full = feedback.prior_in_flight + u64::from(self.mss) > self.bytes;
        if let Some(rtt) = feedback.rtt {
            self.rtts.on_sample(now, rtt);
        }
        if feedback.acked_packets > 0 {
            self.acked_at = Some(now);
            if !self.params.silence.is_zero() {
                self.silent_at = now + self.params.silence;
            }
        }
        let lossy = match self.params.loss {
            Rule::Paper => matches!(
                feedback.congestion,
                Some(Congestion::Loss | Congestion::LossAfterMark | Congestion::Timeout)
            ),
            // QUIC stacks report an acknowledgement first, and at the same instant the losses that it
            // reveals.
            Rule::Authors => feedback.lost_packets > 0 && self.acked_at == Some(now),
        };
        self.delta.on_ack(feedback, &self.rtts, lossy);
        let packets = feedback.acked as f64 / feedback.mss.max(1) as f64;
        if packets > 0.0 && self.acked >= PROBES {
            self.step(feedback, packets);
        }
        self.acked += feedback.acked_packets as u64;
        if self.losses.are_many(feedback, self.rtts.latest()) {
            self.cwnd = (self.cwnd * losses::CUT).max(MIN_WINDOW);
        }
        self.in_flight = feedback.in_flight;
        self.bytes = self.window();
        self.pacing = self.rate();
        if self.params.send == Rule::Authors && was_full {
            self.held_until =
                self.pacing.map_or(Time::NEVER, |rate| now + rate.time_for(self.mss.into()));
        }
    }

    fn on_timer(&mut self, now: Time) {
        if now >= self.held_until {
            self.held_until = Time::NEVER;
        }
        if now >= self.silent_at {
            // The next acknowledgement starts the next silence, so that an idle flow does not wake
            // up for ever.
            *self = CopaSender::new(&self.params, self.mss);
        }
    }

    fn plan(&self) -> Plan {
        let held = self.held_until != Time::NEVER;
        let cwnd = if held { self.bytes.min(self.in_flight) } else { self.bytes };
        let timer = self.silent_at.min(self.held_until);
        let mut plan = Plan::window(cwnd).timer(timer).without_prr();
        plan.pacing = self.pacing;
        plan
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.cwnd);
        see("delta", self.delta.get());
        see("velocity", self.velocity.get());
        see("competitive", self.delta.is_competitive() as u8 as f64);
        see("rtt_min", self.rtts.min().as_millis_f64());
        see("rtt_standing", self.rtts.standing().as_millis_f64());
    }
}
