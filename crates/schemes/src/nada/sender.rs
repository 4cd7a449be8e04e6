//! The sender: the reference rate after each report, and the plan.

use paceline_cc::{Controller, Ecn, Fate, Feedback, Outgoing, Plan, Rate, Signals, Span, Time};

use super::log::Log;
use super::loss_intervals::LossIntervals;
use super::signal::Signal;
use super::{NadaParams, law};
use crate::parts::Reports;

/// Longest time between reports for which the gradual update counts (libwebrtc's experimental NADA,
/// `kNADAParamMaxDeltaMs`).
const MAX_DELTA: Span = Span::from_millis(500);
/// The window is what the sending rate gives in an RTT and this time, so that a flow without
/// acknowledgements stops.
const SLACK: Span = Span::from_secs(1);

/// The sender's half of NADA.
#[derive(Clone, Debug)]
pub struct NadaSender {
    params: NadaParams,
    mss: u32,
    reports: Reports,
    log: Log,
    losses: LossIntervals,
    signal: Signal,
    /// The reference rate in bits per second.
    r_ref: f64,
    last_report: Option<Time>,
    /// True if the last report let the rate ramp up.
    ramps_up: bool,
    /// Bytes that wait in the sender.
    waiting: u64,
    srtt: Span,
}

impl NadaSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &NadaParams, mss: u32) -> NadaSender {
        NadaSender {
            reports: Reports::new(params.delta, params.delta, f64::INFINITY),
            log: Log::new(params),
            losses: LossIntervals::default(),
            signal: Signal::default(),
            r_ref: params.rmin.as_bps() as f64,
            last_report: None,
            ramps_up: true,
            waiting: 0,
            srtt: Span::ZERO,
            mss: mss.max(1),
            params: params.clone(),
        }
    }

    fn on_fates(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        let arrived = |fate: &&Fate| !fate.lost && fate.received != Time::NEVER;
        let newest = feedback.fates.iter().find(arrived);
        for fate in feedback.fates {
            if fate.lost {
                self.log.on_loss(now);
                self.losses.on_loss(fate.number);
            } else if let Some(newest) = newest {
                // Where acknowledgements are lost, one tells of several packets, and has the arrival
                // time of the newest.
                self.log.on_arrival(now, fate, newest.received);
                self.losses.on_arrival();
            }
        }
        self.log.on_marks(now, feedback.marked_packets);
        if let Some(newest) = newest {
            self.reports.on_arrival(now, newest.sent, newest.received);
        }
    }

    /// Updates the reference rate if a report is due.
    fn on_report(&mut self, now: Time) {
        if self.reports.take(now).is_none() {
            return;
        }
        let summary = self.log.summary(now);
        self.signal.update(&self.params, &summary, &self.losses);
        let delta = self.last_report.map_or(self.params.delta, |last| now.since(last));
        self.last_report = Some(now);
        self.ramps_up = summary.is_underused;
        let r_ref = if summary.is_underused {
            let received = summary.r_recv.unwrap_or(0.0);
            law::ramp_up(&self.params, self.r_ref, received, summary.rtt)
        } else {
            let delta = delta.min(MAX_DELTA).as_millis_f64();
            let signals = (self.signal.current(), self.signal.previous());
            law::update_gradually(&self.params, self.r_ref, delta, signals)
        };
        self.r_ref = law::clip(&self.params, r_ref);
    }

    fn encoder_rate(&self) -> Rate {
        Rate::from_bps(law::encoder_rate(&self.params, self.r_ref, self.waiting) as u64)
    }

    fn sending_rate(&self) -> Rate {
        Rate::from_bps(law::sending_rate(&self.params, self.r_ref, self.waiting) as u64)
    }
}

impl Controller for NadaSender {
    fn needs(&self) -> Signals {
        let needs = Signals::FATES.and(Signals::RECEIVE_TIME);
        if self.params.ecn { needs.and(Signals::ECN) } else { needs }
    }

    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        self.waiting = packet.waiting;
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        self.on_fates(feedback);
        self.on_report(feedback.now);
    }

    fn on_timer(&mut self, now: Time) {
        self.on_report(now);
    }

    fn plan(&self) -> Plan {
        let rate = self.sending_rate();
        let flight = rate.bytes_in(self.srtt + SLACK).min(1 << 40);
        let ecn = if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Plan::window(flight.max(10 * u64::from(self.mss)))
            .paced(rate, 0)
            .ecn(ecn)
            .timer(self.reports.due())
            .without_prr()
    }

    fn target(&self) -> Option<Rate> {
        Some(self.encoder_rate())
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("target", self.encoder_rate().as_mbps());
        see("r_ref", self.r_ref / 1e6);
        see("x_curr", self.signal.current());
        see("p_loss", self.signal.loss());
        see("p_mark", self.signal.marks());
        see("ramps_up", f64::from(u8::from(self.ramps_up)));
    }
}
