//! The sender's half: the steps for each acknowledgement, in order.

use paceline_cc::{
    Congestion, Controller, Established, Feedback, Outgoing, Plan, Rate, Setup, Signals, Span, Time,
};

use super::BbrParams;
use super::model::Model;
use super::policer::{Event, Policer};
use super::recovery::Recovery;
use super::states::{Mode, States};
use crate::parts::{AckAggregation, BbrPacing, HALF_WINDOW};

/// The sender's half of BBR.
#[derive(Clone, Debug)]
pub struct BbrSender {
    pub(super) params: BbrParams,
    pub(super) mss: u32,
    pub(super) model: Model,
    pub(super) states: States,
    pub(super) aggregation: AckAggregation,
    pub(super) policer: Policer,
    pub(super) recovery: Recovery,
    pub(super) cwnd: u64,
    pub(super) pacing: BbrPacing,
    /// True from a restart after idleness to the next acknowledgement.
    pub(super) idle_restart: bool,
    /// When the pacing rate lets the next packet leave.
    departure: Time,
}

impl BbrSender {
    /// Returns a sender for the given flow.
    pub fn new(params: &BbrParams, setup: &Setup) -> BbrSender {
        let mss = setup.mss.max(1);
        let mut bbr = BbrSender {
            params: params.clone(),
            mss,
            model: Model::new(params),
            states: States::new(setup),
            aggregation: AckAggregation::default(),
            policer: Policer::default(),
            recovery: Recovery::new(),
            cwnd: (params.initial_window * f64::from(mss)) as u64,
            pacing: BbrPacing::new(mss, params.pacing_margin),
            idle_restart: false,
            departure: Time::ZERO,
        };
        bbr.pacing.begin(bbr.cwnd, Span::from_millis(1), bbr.params.high_gain);
        bbr
    }

    /// Returns the bandwidth to send at: the largest seen, or a policer's rate.
    pub(super) fn bw(&self) -> Rate {
        self.policer.rate().unwrap_or_else(|| self.model.max_bw())
    }

    /// Returns how many of `in_flight` bytes will be in the network when the next packet leaves.
    /// That packet counts if the flight is to grow.
    pub(super) fn at_departure(&self, now: Time, in_flight: u64) -> u64 {
        let growing = self.pacing_gain() > 1.0;
        let flight = in_flight + if growing { self.quantum() } else { 0 };
        flight.saturating_sub(self.bw().bytes_in(self.departure.since(now)))
    }

    /// Handles an expired retransmission timer, which counts as the end of a round trip.
    fn on_timeout(&mut self, feedback: &Feedback<'_>) {
        self.states.doubt_full_pipe();
        if self.params.policer {
            let event = Event {
                losses: true,
                round_start: true,
                app_limited: false,
                probing_bandwidth: self.states.mode() == Mode::ProbeBw,
            };
            if self.policer.on_event(feedback, event) {
                self.enter_probe_bw(feedback.now);
            }
        }
        self.cwnd = feedback.in_flight + u64::from(self.mss);
    }

    fn update_bandwidth(&mut self, feedback: &Feedback<'_>) {
        let sample = feedback.sample.as_ref();
        self.model.count_round(sample, feedback.delivered);
        if self.model.round_start() {
            self.recovery.on_round();
        }
        let Some(sample) = sample else { return };
        if self.params.policer {
            let event = Event {
                losses: feedback.lost > 0,
                round_start: self.model.round_start(),
                app_limited: self.model.is_limited(sample),
                probing_bandwidth: self.states.mode() == Mode::ProbeBw,
            };
            if self.policer.on_event(feedback, event) {
                self.enter_probe_bw(feedback.now);
            }
        }
        self.model.on_sample(sample);
        if self.params.aggregation {
            if self.model.round_start() {
                self.aggregation.on_round(HALF_WINDOW);
            }
            self.aggregation.on_ack(feedback.now, feedback.acked, self.bw(), self.cwnd);
        }
    }
}

impl Controller for BbrSender {
    fn needs(&self) -> Signals {
        Signals::DELIVERY_RATE
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.departure =
            self.departure.max(now) + self.pacing.rate().time_for(u64::from(packet.size));
        0
    }

    /// Sets the first pacing rate and the first estimate of the path's delay from the handshake's
    /// RTT (Linux `bbr_init`).
    fn on_established(&mut self, established: &Established) {
        if established.after_losses {
            self.cwnd = u64::from(self.mss);
        }
        self.model.begin_connection(established);
        self.pacing.begin_connection(self.cwnd, established.rtt, self.params.high_gain);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.policer.note_lost(feedback.lost);
        if let Some(congestion) = feedback.congestion {
            let probing_rtt = self.states.mode() == Mode::ProbeRtt;
            self.recovery.note(congestion, self.cwnd, probing_rtt);
            match congestion {
                Congestion::Timeout => return self.on_timeout(feedback),
                Congestion::Undo => {
                    self.states.forget_full_pipe();
                    self.policer.reset(feedback);
                }
                Congestion::Loss | Congestion::LossAfterMark | Congestion::Ecn => {}
            }
        }
        if feedback.acked == 0 {
            return;
        }
        self.update_bandwidth(feedback);
        self.update_states(feedback);
        self.set_pacing(feedback.srtt);
        self.set_window(feedback);
    }

    fn on_idle(&mut self, now: Time, _idle: Span, _rto: Span) {
        if self.recovery.is_repairing() {
            // Nothing is in flight because all of it was lost, not because the application had no
            // data.
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.states.mode() {
            Mode::ProbeBw => self.pace(1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn plan(&self) -> Plan {
        Plan::window(self.cwnd).paced(self.pacing.rate(), self.quantum() as u32).without_prr()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.cwnd as f64 / f64::from(self.mss));
        see("pacing", self.pacing.rate().as_mbps());
        see("bw", self.bw().as_mbps());
        if let Some(rtprop) = self.model.rtprop() {
            see("rtprop", rtprop.as_millis_f64());
        }
        see("pacing_gain", self.pacing_gain());
    }
}
