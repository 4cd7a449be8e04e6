//! The sender's half: the steps for each loss and acknowledgement, in order.

use paceline_cc::{
    Congestion, Controller, Ecn, Established, Fate, Feedback, Outgoing, Plan, Rate, Setup, Signals,
    Span, Time,
};

use super::Bbr3Params;
use super::bounds::Bounds;
use super::cycle::Cycle;
use super::flight::Flight;
use super::model::Model;
use super::probe_rtt::ProbeRtt;
use super::startup::{FullPipe, LossRanges};
use super::state::Bbr3State;
use super::tag::Tag;
use super::window::Repair;
use crate::parts::{AckAggregation, BbrPacing, HALF_WINDOW};

/// The sender's half of BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3Sender {
    pub(super) params: Bbr3Params,
    pub(super) mss: u32,
    pub(super) state: Bbr3State,
    pub(super) model: Model,
    pub(super) bounds: Bounds,
    pub(super) cycle: Cycle,
    pub(super) full: FullPipe,
    pub(super) ranges: LossRanges,
    pub(super) drain_round: u64,
    pub(super) probe_rtt: ProbeRtt,
    pub(super) repair: Repair,
    pub(super) aggregation: AckAggregation,
    pub(super) cwnd: u64,
    pub(super) pacing: BbrPacing,
    pub(super) idle_restart: bool,
    /// Numbers of packets lost and marked since the start.
    lost: u64,
    marked: u64,
    /// Numbers of marks and delivered bytes at the start of the round trip.
    round_base: (u64, u64),
}

impl Bbr3Sender {
    /// Returns a sender for the given flow.
    pub fn new(params: &Bbr3Params, setup: &Setup) -> Bbr3Sender {
        let mss = setup.mss.max(1);
        let mut bbr = Bbr3Sender {
            params: params.clone(),
            mss,
            state: Bbr3State::Startup,
            model: Model::new(),
            bounds: Bounds::new(),
            cycle: Cycle::new(setup),
            full: FullPipe::default(),
            ranges: LossRanges::default(),
            drain_round: 0,
            probe_rtt: ProbeRtt::default(),
            repair: Repair::default(),
            aggregation: AckAggregation::default(),
            cwnd: (params.initial_window * f64::from(mss)) as u64,
            pacing: BbrPacing::new(mss, params.pacing_margin),
            idle_restart: false,
            lost: 0,
            marked: 0,
            round_base: (0, 0),
        };
        bbr.pacing.begin(bbr.cwnd, Span::from_millis(1), bbr.params.startup_gain);
        bbr
    }

    /// Returns the bandwidth to send at.
    pub(super) fn bw(&self) -> Rate {
        self.model.max_bw().min(self.bounds.bw_lo)
    }

    fn heeds_marks(&self) -> bool {
        let most = self.params.ecn_max_rtt;
        self.params.ecn && (most.is_zero() || self.model.min_rtt.is_some_and(|rtt| rtt <= most))
    }

    fn flight(&self, fate: &Fate, feedback: &Feedback<'_>) -> Flight {
        let tag = Tag::unpack(fate.tag);
        let mss = u64::from(self.mss);
        let sample = feedback.sample.as_ref();
        let delivered = sample.map_or(0, |sample| sample.delivered / mss);
        let marked = tag.marked_since(self.marked);
        let many = marked > 0 && marked as f64 > self.params.ecn_thresh * delivered as f64;
        Flight {
            sent: tag.in_flight * mss,
            lost: tag.lost_since(self.lost) * mss,
            marked: sample.is_some() && many && self.heeds_marks(),
            app_limited: sample.is_some_and(|sample| self.model.self_limited.limits(sample)),
        }
    }

    fn on_losses(&mut self, feedback: &Feedback<'_>) {
        for fate in feedback.fates.iter().filter(|fate| fate.lost) {
            self.lost += 1;
            self.ranges.note(fate.number);
            self.bounds.note_loss(feedback.delivered);
            if self.cycle.is_probe_sample() {
                let flight = self.flight(fate, feedback);
                self.on_probe_loss(feedback, &flight, u64::from(fate.size));
            }
        }
    }

    fn update_model(&mut self, feedback: &Feedback<'_>) {
        self.bounds.on_ack(feedback.sample.as_ref(), feedback.delivered);
        self.model.on_ack(feedback.sample.as_ref(), feedback.delivered);
        if feedback.sample.is_none() {
            return;
        }
        let in_startup = !self.full.reached;
        if self.model.rounds.started() {
            self.cycle.count_round();
            self.aggregation.on_round(if in_startup { 1 } else { HALF_WINDOW });
            self.on_marks(feedback.delivered);
        }
        let max_bw = self.model.max_bw();
        self.bounds.adapt(self.state, max_bw, self.cwnd, &self.params);
        let bw = self.bw();
        self.aggregation.on_ack(feedback.now, feedback.acked, bw, self.cwnd);
    }

    /// Computes, at the end of a round trip, the share of its packets that were marked.
    fn on_marks(&mut self, delivered: u64) {
        let (marked, bytes) = self.round_base;
        self.round_base = (self.marked, delivered);
        let packets = delivered.saturating_sub(bytes) / u64::from(self.mss);
        if packets > 0 && self.heeds_marks() {
            let share = ((self.marked - marked) as f64 / packets as f64).min(1.0);
            self.bounds.smooth_marks(share);
            self.full.count_marks(share >= self.params.ecn_thresh);
        }
    }
}

impl Controller for Bbr3Sender {
    fn needs(&self) -> Signals {
        let needs = Signals::DELIVERY_RATE.and(Signals::FATES);
        if self.params.ecn { needs.and(Signals::ECN) } else { needs }
    }

    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        let flight = packet.in_flight + u64::from(packet.size);
        Tag::new(flight.div_ceil(u64::from(self.mss)), self.lost, self.marked).pack()
    }

    /// Sets the first pacing rate and the first estimate of the path's delay from the handshake's
    /// RTT (Linux `bbr_init`).
    fn on_established(&mut self, established: &Established) {
        if established.after_losses {
            self.cwnd = u64::from(self.mss);
        }
        self.model.begin_connection(established);
        self.pacing.begin_connection(self.cwnd, established.rtt, self.params.startup_gain);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.marked += u64::from(feedback.marked_packets);
        if feedback.marked_packets > 0 && self.heeds_marks() {
            self.bounds.note_marks();
        }
        if matches!(
            feedback.congestion,
            Some(Congestion::Loss | Congestion::LossAfterMark | Congestion::Timeout)
        ) {
            self.enter_repair();
        }
        self.on_losses(feedback);
        match feedback.congestion {
            Some(Congestion::Timeout) => {
                self.cwnd = feedback.in_flight + u64::from(self.mss);
                return;
            }
            Some(Congestion::Undo) => self.on_undo(feedback),
            _ => {}
        }
        if feedback.acked == 0 {
            return;
        }
        let acked = feedback.fates.iter().filter(|fate| !fate.lost);
        let newest = acked.max_by_key(|fate| fate.number);
        self.update_model(feedback);
        let flight = newest.map(|fate| self.flight(fate, feedback));
        self.check_full_pipe(feedback);
        self.check_startup(feedback, flight.as_ref());
        self.check_drain(feedback);
        self.update_cycle(feedback, flight.as_ref());
        self.check_probe_rtt(feedback);
        self.bounds.advance(feedback);
        self.set_pacing(feedback.srtt);
        self.set_window(feedback);
    }

    fn on_idle(&mut self, now: Time, _idle: Span, _rto: Span) {
        if self.repair.is_repairing() {
            // Nothing is in flight because all of it was lost, not because the application had no
            // data.
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.pace(1.0);
        } else if self.state == Bbr3State::ProbeRtt {
            self.check_probe_rtt_done(now, None);
        }
    }

    fn plan(&self) -> Plan {
        let ecn = if self.params.ecn { Ecn::Ect1 } else { Ecn::NotEct };
        Plan::window(self.cwnd)
            .paced(self.pacing.rate(), self.quantum() as u32)
            .ecn(ecn)
            .without_prr()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let packets = |bytes: u64| bytes as f64 / f64::from(self.mss);
        see("cwnd", packets(self.cwnd));
        see("pacing", self.pacing.rate().as_mbps());
        see("bw", self.bw().as_mbps());
        if let Some(rtt) = self.model.min_rtt {
            see("min_rtt", rtt.as_millis_f64());
        }
        if self.bounds.inflight_hi != super::bounds::NONE {
            see("inflight_hi", packets(self.bounds.inflight_hi));
        }
        see("pacing_gain", self.state.pacing_gain(&self.params));
    }
}
