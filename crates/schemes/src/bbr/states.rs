//! The state machine: Startup, Drain, ProbeBW with its cycle of gains, and ProbeRTT.

use paceline_cc::{Feedback, Rate, Setup, Stream, Time};

use super::BbrSender;

/// Number of phases in ProbeBW's cycle: the first probes, the second drains, the others cruise.
const PHASES: u32 = 8;
/// Growth of the bandwidth per round trip below which the pipe may be full (draft §4.3.2.2).
const FULL_GROWTH: f64 = 1.25;
/// Number of round trips without such growth after which it counts as full.
const FULL_ROUNDS: u32 = 3;

/// The state.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Doubles the rate per round trip.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Keeps to the bandwidth and probes for more.
    ProbeBw,
    /// Empties the path to measure its propagation time.
    ProbeRtt,
}

/// The state, and the variables that decide when it ends.
#[derive(Clone, Debug)]
pub(super) struct States {
    mode: Mode,
    random: Stream,
    phase: u32,
    phase_start: Time,
    full_bw: Rate,
    full_rounds: u32,
    full: bool,
    /// When ProbeRTT may end; set once the flight is small.
    probe_rtt_end: Option<Time>,
    probe_rtt_round_done: bool,
}

impl States {
    pub(super) fn new(setup: &Setup) -> States {
        States {
            mode: Mode::Startup,
            random: setup.random("bbr"),
            phase: 0,
            phase_start: Time::ZERO,
            full_bw: Rate::ZERO,
            full_rounds: 0,
            full: false,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }
    /// Returns true once the bandwidth of the path has been reached.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }
    /// Returns true in the phase that probes for bandwidth.
    pub(super) fn is_probing(&self) -> bool {
        self.mode == Mode::ProbeBw && self.phase == 0
    }
    /// Discards the largest bandwidth seen in the search for the full pipe, after a timeout.
    pub(super) fn doubt_full_pipe(&mut self) {
        self.full_bw = Rate::ZERO;
    }
    /// Starts the search for the full pipe anew.
    pub(super) fn forget_full_pipe(&mut self) {
        self.full_bw = Rate::ZERO;
        self.full_rounds = 0;
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % PHASES;
        self.phase_start = now;
    }

    fn check_full(&mut self, bw: Rate) {
        if bw >= self.full_bw.mul_f64(FULL_GROWTH) {
            self.full_bw = bw;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }
}

impl BbrSender {
    /// Returns the ratio of pacing rate to bandwidth.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.states.mode {
            Mode::Startup => self.params.high_gain,
            Mode::Drain => 1.0 / self.params.high_gain,
            Mode::ProbeRtt => 1.0,
            Mode::ProbeBw if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBw => match self.states.phase {
                0 => self.params.probe_gain,
                1 => self.params.drain_gain,
                _ => 1.0,
            },
        }
    }

    /// Returns the ratio of window to bandwidth-delay product.
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.states.mode {
            Mode::Startup | Mode::Drain => self.params.high_gain,
            Mode::ProbeBw => self.params.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Updates the state after the model has changed.
    pub(super) fn update_states(&mut self, feedback: &Feedback<'_>) {
        if self.states.mode == Mode::ProbeBw && self.is_phase_over(feedback) {
            self.states.next_phase(feedback.now);
        }
        let limited = feedback.sample.as_ref().is_none_or(|s| self.model.is_limited(s));
        if !self.states.full && self.model.round_start() && !limited {
            self.states.check_full(self.model.max_bw());
        }
        self.check_drain(feedback);
        self.check_probe_rtt(feedback);
        self.idle_restart = false;
    }

    fn is_phase_over(&self, feedback: &Feedback<'_>) -> bool {
        let now = feedback.now;
        let long = self.model.rtprop().is_some_and(|r| now.since(self.states.phase_start) > r);
        let gain = self.pacing_gain();
        if gain == 1.0 {
            return long;
        }
        let flight = self.at_departure(now, feedback.prior_in_flight);
        if gain > 1.0 {
            // Waits until the flight has grown to the target, or could not.
            let target = self.inflight(self.model.max_bw(), gain);
            long && (feedback.lost > 0 || flight >= target)
        } else {
            long || flight <= self.inflight(self.model.max_bw(), 1.0)
        }
    }

    fn check_drain(&mut self, feedback: &Feedback<'_>) {
        if self.states.mode == Mode::Startup && self.states.full {
            self.states.mode = Mode::Drain;
        }
        if self.states.mode == Mode::Drain {
            let flight = self.at_departure(feedback.now, feedback.in_flight);
            if flight <= self.inflight(self.model.max_bw(), 1.0) {
                self.enter_probe_bw(feedback.now);
            }
        }
    }

    /// Enters ProbeBW in a random phase other than the one that drains.
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let states = &mut self.states;
        states.mode = Mode::ProbeBw;
        states.phase = PHASES - 1 - states.random.below(u64::from(PHASES) - 1) as u32;
        states.next_phase(now);
    }

    fn check_probe_rtt(&mut self, feedback: &Feedback<'_>) {
        let expired = self.model.on_rtt(feedback);
        if expired && !self.idle_restart && self.states.mode != Mode::ProbeRtt {
            // Saves the larger of this window and the one saved last, as draft and Linux do.
            self.recovery.save(self.cwnd, true);
            self.states.mode = Mode::ProbeRtt;
            self.states.probe_rtt_end = None;
        }
        if self.states.mode != Mode::ProbeRtt {
            return;
        }
        // Low rates measured from now on are due to the small window, not to the path.
        self.model.limit(feedback);
        if self.states.probe_rtt_end.is_some() {
            self.states.probe_rtt_round_done |= self.model.round_start();
            if self.states.probe_rtt_round_done {
                self.check_probe_rtt_done(feedback.now);
            }
        } else if feedback.in_flight <= self.min_window() {
            self.states.probe_rtt_end = Some(feedback.now + self.params.probe_rtt_time);
            self.states.probe_rtt_round_done = false;
            self.model.begin_round(feedback.delivered);
        }
    }

    /// Leaves ProbeRTT if its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.states.probe_rtt_end.is_none_or(|end| now <= end) {
            return;
        }
        self.model.refresh_rtprop(now);
        self.cwnd = self.cwnd.max(self.recovery.prior_cwnd());
        if self.states.full {
            self.enter_probe_bw(now);
        } else {
            self.states.mode = Mode::Startup;
        }
    }
}
