//! The sender: acknowledgements and frames to the window and the rate, and the plan.

use paceline_cc::{Controller, Ecn, Fate, Feedback, Outgoing, Plan, Rate, Signals, Span, Time};

use super::delay_target::DelayTarget;
use super::frames::Frames;
use super::missing::{Missing, NewLosses};
use super::queue_delay::QueueDelay;
use super::rate_v1::{RateV1, Sums};
use super::rate_v2::RateV2;
use super::window_v1::WindowV1;
use super::window_v2::{Acked, WindowV2};
use super::{EcnMode, ScreamParams, Version};
use crate::parts::DeadlockTimer;

/// Smallest pacing rate in bits per second (`RATE_PACE_MIN`).
pub(super) const LEAST_PACING: f64 = 50_000.0;
/// RTT before the first sample (authors' `sRtt`).
pub(super) const FIRST_RTT: Span = Span::from_millis(50);

#[derive(Clone, Debug)]
enum Control {
    V2 { window: WindowV2, rate: RateV2 },
    V1 { window: WindowV1, rate: RateV1 },
}

/// The sender's half of SCReAM.
#[derive(Clone, Debug)]
pub struct ScreamSender {
    params: ScreamParams,
    mss: u32,
    control: Control,
    qdelay: QueueDelay,
    delay_target: DelayTarget,
    frames: Frames,
    sums: Sums,
    srtt: Span,
    /// True while data has waited too long in the sender.
    leaves_out: bool,
    /// True if the last packet that arrived would have come with a report of the authors' receiver.
    is_report: bool,
    /// True while the rate is halved so that the queue drains.
    drains: bool,
    deadlock: DeadlockTimer,
    missing: Missing,
}

impl ScreamSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &ScreamParams, mss: u32) -> ScreamSender {
        let mss = mss.max(1);
        let control = match params.version {
            Version::V2 => {
                let window = WindowV2::new(params, mss);
                let rate = RateV2::new(params, &window, f64::from(mss));
                Control::V2 { window, rate }
            }
            Version::V1 => {
                Control::V1 { window: WindowV1::new(params, mss), rate: RateV1::new(params) }
            }
        };
        let (lowest, highest) = (params.qdelay_target_lo, params.qdelay_target_hi);
        ScreamSender {
            mss,
            control,
            qdelay: QueueDelay::new(),
            delay_target: DelayTarget::new(lowest, highest, params.competing_flows),
            frames: Frames::new(),
            sums: Sums::default(),
            srtt: Span::ZERO,
            leaves_out: false,
            is_report: true,
            drains: false,
            deadlock: DeadlockTimer::new(),
            missing: Missing::new(params.reordering),
            params: params.clone(),
        }
    }

    fn rtt(&self) -> Span {
        if self.srtt.is_zero() { FIRST_RTT } else { self.srtt }
    }

    /// Takes in the fates of packets. Returns the packets that count as lost now, and the acknowledged bytes of packets
    /// that were given up. The authors' sender has forgotten those (`isOkToTransmit`), so neither their arrival nor their
    /// loss counts.
    fn on_fates(&mut self, feedback: &Feedback<'_>) -> (NewLosses, u64) {
        let mut given_up = 0;
        for fate in feedback.fates {
            if fate.number >= self.deadlock.given_up_below() {
                self.missing.on_fate(fate);
            } else if !fate.lost {
                given_up += u64::from(fate.size);
            }
        }
        (self.missing.take(), given_up)
    }

    /// Returns what `feedback` says for the window.
    fn acked(&mut self, feedback: &Feedback<'_>) -> Acked {
        let (losses, given_up) = self.on_fates(feedback);
        let bytes = (feedback.acked.saturating_sub(given_up) + losses.bytes) as f64;
        let packets = feedback.acked_packets.max(feedback.marked_packets);
        let marked = if self.params.ecn == EcnMode::Off { 0 } else { feedback.marked_packets };
        Acked {
            now: feedback.now,
            srtt: self.rtt(),
            qdelay: self.qdelay.get(),
            qdelay_target: self.delay_target.get(),
            bytes,
            // The draft's approximation where only the number of marked packets is known.
            marked_bytes: bytes * f64::from(marked) / f64::from(packets.max(1)),
            packets,
            marked,
            has_loss: losses.packets > 0,
            in_flight: feedback.prior_in_flight as f64,
            target: self.rate(),
            is_report: self.is_report,
        }
    }

    /// The encoder's rate in bits per second.
    fn rate(&self) -> f64 {
        let rate = match &self.control {
            Control::V2 { rate, .. } => rate.target(),
            Control::V1 { rate, .. } => rate.target(),
        };
        let least = self.params.min_rate.as_bps() as f64;
        if self.drains { (rate / 2.0).max(least) } else { rate }
    }

    fn note_queue(&mut self, now: Time) {
        let limit = self.params.max_queue_age.as_secs_f64();
        self.leaves_out = limit > 0.0 && self.frames.queue_age(now) > limit;
    }
}

impl Controller for ScreamSender {
    fn needs(&self) -> Signals {
        let needs = Signals::FATES.and(Signals::RECEIVE_TIME);
        if self.params.ecn == EcnMode::Off { needs } else { needs.and(Signals::ECN) }
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.deadlock.on_send(now, packet);
        self.sums.sent = self.sums.sent.saturating_add(packet.size.into());
        let frame = self.frames.on_send(now, packet);
        self.sums.made = self.frames.made();
        if let (Some(frame), Control::V2 { rate, .. }) = (frame, &mut self.control) {
            rate.on_frame(&frame, self.frames.period());
        }
        self.note_queue(now);
        u64::from(self.frames.is_reported())
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        self.deadlock.on_feedback(feedback);
        self.srtt = feedback.srtt;
        let arrived = |fate: &&Fate| !fate.lost && fate.received != Time::NEVER;
        if let Some(newest) = feedback.fates.iter().find(arrived) {
            self.qdelay.on_arrival(now, newest);
            self.is_report = newest.tag != 0;
        }
        self.sums.acked = self.sums.acked.saturating_add(feedback.acked);
        let acked = self.acked(feedback);
        self.delay_target.update(now, acked.qdelay, acked.srtt, acked.has_loss);
        match &mut self.control {
            Control::V2 { window, rate } => {
                self.qdelay.end_round(now, acked.srtt, acked.qdelay_target);
                self.drains = self.qdelay.is_draining(now);
                window.update(&self.params, &acked);
                rate.update(&self.params, window, self.srtt, f64::from(self.mss));
            }
            Control::V1 { window, rate } => {
                let event = window.update(&self.params, &acked);
                let waiting = self.frames.queued();
                rate.update(&self.params, now, (event, &*window), self.sums, waiting);
            }
        }
        self.note_queue(now);
    }

    fn on_timer(&mut self, now: Time) {
        if self.deadlock.expire(now) {
            self.deadlock.give_up();
            self.missing.forget();
        }
    }

    fn plan(&self) -> Plan {
        let (window, pacing) = match &self.control {
            Control::V2 { window, rate } => {
                let flight = window.ref_wnd() * window.overhead(&self.params);
                (flight + f64::from(self.mss), rate.pacing(&self.params))
            }
            Control::V1 { window, .. } => {
                let is_short = self.qdelay.get() <= self.delay_target.get();
                let slack = if is_short { f64::from(self.mss) } else { 0.0 };
                let pacing = window.cwnd() * 8.0 / self.rtt().as_secs_f64();
                (window.cwnd() + slack, pacing.max(LEAST_PACING))
            }
        };
        let ecn = match self.params.ecn {
            EcnMode::L4s => Ecn::Ect1,
            EcnMode::Classic => Ecn::Ect0,
            EcnMode::Off => Ecn::NotEct,
        };
        let least = 2 * u64::from(self.mss);
        Plan::window((window as u64).clamp(least, 1 << 40) + self.deadlock.given_up())
            .paced(Rate::from_bps((pacing as u64).max(1)), 0)
            .ecn(ecn)
            .timer(self.deadlock.due())
            .without_prr()
    }

    fn target(&self) -> Option<Rate> {
        Some(Rate::from_bps(self.rate() as u64))
    }

    fn left_out_share(&self) -> f64 {
        if self.leaves_out { 1.0 } else { 0.0 }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("target", self.rate() / 1e6);
        see("qdelay", self.qdelay.get() * 1e3);
        see("qdelay_target", self.delay_target.get() * 1e3);
        let mss = f64::from(self.mss);
        match &self.control {
            Control::V2 { window, .. } => {
                see("cwnd", window.ref_wnd() / mss);
                see("l4s_alpha", window.l4s_alpha());
                see("overhead", window.overhead(&self.params));
            }
            Control::V1 { window, .. } => {
                see("cwnd", window.cwnd() / mss);
                see("trend", window.trend().get());
                see("fast_increase", f64::from(u8::from(window.is_in_fast_increase())));
            }
        }
    }
}
