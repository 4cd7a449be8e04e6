//! ProbeBW: Down, Cruise, Refill and Up, and the reactions to losses of probes (draft §5.3.3).

use paceline_cc::{Feedback, Rate, Setup, Span, Stream, Time};

use super::Bbr3Sender;
use super::bounds::NONE;
use super::flight::Flight;
use super::state::{AckPhase, Bbr3State};

/// State of the probes.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    random: Stream,
    start: Time,
    wait: Span,
    rounds_since_probe: u64,
    ack_phase: AckPhase,
    /// True while packets that probed are being acknowledged.
    probe_sample: bool,
    /// True if the last probe caused too many losses.
    too_high: bool,
    /// True if the last probe ended at its bound, before it could cause losses.
    precautionary: bool,
    up_rounds: u32,
    up_acked: u64,
    acked_per_step: u64,
}

impl Cycle {
    pub(super) fn new(setup: &Setup) -> Cycle {
        Cycle {
            random: setup.random("bbr3"),
            start: Time::ZERO,
            wait: Span::ZERO,
            rounds_since_probe: 0,
            ack_phase: AckPhase::Init,
            probe_sample: false,
            too_high: false,
            precautionary: false,
            up_rounds: 0,
            up_acked: 0,
            acked_per_step: NONE,
        }
    }
    pub(super) fn count_round(&mut self) {
        self.rounds_since_probe += 1;
    }
    pub(super) fn is_probe_sample(&self) -> bool {
        self.probe_sample
    }
    pub(super) fn stop_probing(&mut self) {
        self.ack_phase = AckPhase::Stopping;
    }
}

fn rate(feedback: &Feedback<'_>) -> Rate {
    feedback.sample.as_ref().map_or(Rate::ZERO, |sample| sample.rate)
}

impl Bbr3Sender {
    /// Enters Down; the time until the next probe begins.
    pub(super) fn start_down(&mut self, now: Time, delivered: u64) {
        self.bounds.reset_signals();
        let cycle = &mut self.cycle;
        cycle.acked_per_step = NONE;
        cycle.rounds_since_probe = cycle.random.below(2);
        let extra = Span::from_secs_f64(cycle.random.uniform());
        cycle.wait = self.params.probe_wait + extra;
        cycle.start = now;
        cycle.ack_phase = AckPhase::Stopping;
        self.model.begin_round(delivered);
        self.state = Bbr3State::Down;
    }

    /// Enters Refill.
    pub(super) fn start_refill(&mut self, delivered: u64) {
        self.bounds.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.model.begin_round(delivered);
        self.state = Bbr3State::Refill;
    }

    fn start_up(&mut self, feedback: &Feedback<'_>) {
        self.cycle.probe_sample = true;
        self.cycle.ack_phase = AckPhase::Starting;
        self.model.begin_round(feedback.delivered);
        self.full.restart(rate(feedback));
        self.state = Bbr3State::Up;
        self.raise_slope();
    }

    /// Doubles the growth of `inflight_hi` per round trip.
    fn raise_slope(&mut self) {
        let growth = 1u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.acked_per_step = (self.cwnd / growth).max(u64::from(self.mss));
    }

    /// Returns true if the losses or marks of a flight show that it was too large.
    pub(super) fn is_too_high(&self, flight: &Flight) -> bool {
        flight.marked || flight.lost as f64 > flight.sent as f64 * self.params.loss_thresh
    }

    /// Handles the loss of a packet that probed.
    pub(super) fn on_probe_loss(&mut self, feedback: &Feedback<'_>, flight: &Flight, size: u64) {
        if self.is_too_high(flight) {
            // Computes after how many bytes of this packet the losses exceeded the threshold.
            let thresh = self.params.loss_thresh;
            let before = flight.sent.saturating_sub(size) as f64;
            let lost_before = flight.lost.saturating_sub(size) as f64;
            let prefix = ((thresh * before - lost_before) / (1.0 - thresh)).max(0.0);
            let flight = Flight { sent: (before + prefix) as u64, ..*flight };
            self.on_too_high(feedback, &flight);
        }
    }

    fn on_too_high(&mut self, feedback: &Feedback<'_>, flight: &Flight) {
        self.cycle.too_high = true;
        self.cycle.probe_sample = false;
        if !flight.app_limited {
            let least = (self.target_inflight() as f64 * self.params.beta) as u64;
            self.bounds.inflight_hi = flight.sent.max(least);
        }
        if self.state == Bbr3State::Up {
            self.repair.set_undo_state(Bbr3State::Up);
            self.start_down(feedback.now, feedback.delivered);
        }
    }

    /// Returns the product of bandwidth and RTT, or the window if congestion has made it smaller.
    fn target_inflight(&self) -> u64 {
        self.bdp(self.bw(), 1.0).min(self.cwnd)
    }

    /// Moves to the next state of the cycle if it is time to.
    pub(super) fn update_cycle(&mut self, feedback: &Feedback<'_>, flight: Option<&Flight>) {
        if !self.full.reached || self.adapt_long_term(feedback, flight) {
            return;
        }
        match self.state {
            Bbr3State::Down if self.is_time_to_probe(feedback.now) => {
                self.start_refill(feedback.delivered);
            }
            Bbr3State::Down => {
                let room = self.with_headroom();
                let flight = feedback.in_flight;
                if flight <= room && flight <= self.inflight(1.0) {
                    self.state = Bbr3State::Cruise;
                }
            }
            Bbr3State::Cruise if self.is_time_to_probe(feedback.now) => {
                self.start_refill(feedback.delivered);
            }
            Bbr3State::Refill if self.model.rounds.started() => self.start_up(feedback),
            Bbr3State::Up => self.check_up(feedback),
            _ => {}
        }
    }

    /// Returns true after the waiting time, or after as many round trips as a Reno flow of this
    /// window would take between losses.
    fn is_time_to_probe(&self, now: Time) -> bool {
        // On a path that holds less than MinPipeCwnd, the flight is that window (Linux v3: `bbr_target_inflight`). Else
        // the path would be probed without a pause.
        let packets = self.target_inflight().max(self.min_window()) / u64::from(self.mss);
        let rounds = packets.min(u64::from(self.params.reno_rounds));
        let cycle = &self.cycle;
        now.since(cycle.start) > cycle.wait || cycle.rounds_since_probe >= rounds
    }

    /// Leaves Up at a plateau of the rate, or, if the last probe caused losses, already at its
    /// bound.
    fn check_up(&mut self, feedback: &Feedback<'_>) {
        let hi = self.bounds.inflight_hi;
        if self.cycle.too_high && feedback.in_flight >= hi {
            self.cycle.precautionary = true;
        } else if feedback.cwnd_limited && self.cwnd >= hi {
            // The bound limits the rate, not the path.
            self.full.restart(rate(feedback));
            return;
        } else if !self.full.now {
            return;
        }
        self.cycle.too_high = false;
        self.start_down(feedback.now, feedback.delivered);
    }

    /// Follows the acknowledgements of a probe, and moves the upper bound. Returns true if this has
    /// set the next state.
    fn adapt_long_term(&mut self, feedback: &Feedback<'_>, flight: Option<&Flight>) -> bool {
        let probe_bw = self.state.is_probe_bw();
        if self.model.rounds.started() {
            match self.cycle.ack_phase {
                AckPhase::Starting => self.cycle.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.cycle.probe_sample = false;
                    self.cycle.ack_phase = AckPhase::Init;
                    let limited = |sample| self.model.self_limited.limits(sample);
                    if probe_bw && !feedback.sample.as_ref().is_none_or(limited) {
                        self.model.advance_cycle();
                    }
                    if probe_bw && self.cycle.precautionary && !self.cycle.too_high {
                        // The last probe ended early and caused no losses: the next one goes beyond
                        // it.
                        self.start_refill(feedback.delivered);
                        return true;
                    }
                }
                _ => {}
            }
        }
        let Some(flight) = flight else { return false };
        if self.is_too_high(flight) {
            // For marks only: losses are handled packet by packet.
            if self.cycle.probe_sample {
                self.on_too_high(feedback, flight);
            }
        } else if self.bounds.inflight_hi != NONE {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(flight.sent);
            if self.state == Bbr3State::Up {
                self.probe_upward(feedback);
            }
        }
        false
    }

    /// Raises the upper bound while it limits the flight.
    fn probe_upward(&mut self, feedback: &Feedback<'_>) {
        if !feedback.cwnd_limited || self.cwnd < self.bounds.inflight_hi {
            return;
        }
        self.cycle.up_acked += feedback.acked;
        let steps = self.cycle.up_acked / self.cycle.acked_per_step;
        self.cycle.up_acked -= steps * self.cycle.acked_per_step;
        self.bounds.inflight_hi =
            self.bounds.inflight_hi.saturating_add(steps * u64::from(self.mss));
        if self.model.rounds.started() {
            self.raise_slope();
        }
    }
}
