//! The sender: what reports change, the target, and the plan.

use paceline_cc::{
    Congestion, Controller, Fate, Feedback, Outgoing, Plan, Rate, Signals, Span, Time,
};

use super::aimd::{Aimd, State};
use super::alr::Alr;
use super::clusters::Clusters;
use super::delay::Delay;
use super::detector::Usage;
use super::loss::{Fates, Loss};
use super::loss_v2::{LossState, LossV2};
use super::probing::{Limits, Probing};
use super::pushback::Pushback;
use super::received::ReceivedBytes;
use super::throughput::Throughput;
use super::timed_out::TimedOut;
use super::{GccParams, LossRule, ThroughputRule};
use crate::parts::{DeadlockTimer, Reports};

/// How far ahead of the target the application may be before it is paced at the target.
const AHEAD: Span = Span::from_millis(250);
/// The window is what the pacing rate sends in an RTT and this time. It only keeps a flow from
/// sending for ever when no acknowledgement comes.
const SLACK: Span = Span::from_secs(1);
/// A probe that shows less than the target does not lower it below this share of what arrives
/// (libwebrtc `kProbeDropThroughputFraction`).
const PROBE_DROP: f64 = 0.85;
/// Send rate of a receiver without media, bit/s: its own estimate stays at libwebrtc's start. Its
/// reports use a share of this rate, not of the sender's (libwebrtc `Call::OnTargetTransferRate`).
const RECEIVER_RATE: f64 = 300_000.0;
/// While the RTT is above its limit, the target falls to this share, once in this time, down to this
/// rate in bits per second (libwebrtc `RttBasedBackoff`).
const BACKOFF: f64 = 0.8;
const BACKOFF_INTERVAL: Span = Span::from_secs(1);
const BACKOFF_LEAST: f64 = 5000.0;

#[derive(Clone, Debug)]
enum Received {
    Robust(Throughput),
    Window(ReceivedBytes),
}

#[derive(Clone, Debug)]
enum LossControl {
    V2(Box<LossV2>),
    Draft(Loss),
}

/// The sender's half of Google congestion control.
#[derive(Clone, Debug)]
pub struct GccSender {
    params: GccParams,
    mss: u32,
    reports: Reports,
    delay: Delay,
    received: Received,
    aimd: Aimd,
    loss: LossControl,
    timed_out: TimedOut,
    alr: Alr,
    probing: Probing,
    clusters: Clusters,
    /// Rate that the last cluster of probes measured since the last report, in bits per second.
    probe: Option<f64>,
    pushback: Pushback,
    /// In bits per second.
    target: f64,
    /// Bytes sent that no acknowledgement tells of.
    in_flight: u64,
    deadlock: DeadlockTimer,
    /// The smallest window until the next acknowledgement, in bytes: a packet leaves each 500 ms even if the
    /// window is full.
    keep_alive: u64,
    /// When the last report came, and its time of propagation.
    reported: Option<Time>,
    propagation: Span,
    backed_off: Option<Time>,
    last_sent: Time,
    /// Bytes of the last packet; the largest one before the first.
    last_size: u32,
    /// Bytes sent beyond the target, and when that was.
    ahead: f64,
    ahead_at: Time,
    srtt: Span,
}

impl GccSender {
    /// A sender of packets of `mss` bytes.
    pub fn new(params: &GccParams, mss: u32) -> GccSender {
        let initial = params.initial_rate.as_bps() as f64;
        let bounds = (params.min_rate.as_bps() as f64, params.max_rate.as_bps() as f64);
        GccSender {
            reports: Reports::new(params.min_feedback, params.max_feedback, RECEIVER_RATE),
            delay: Delay::new(params),
            received: match params.throughput {
                ThroughputRule::Robust => Received::Robust(Throughput::new()),
                ThroughputRule::Window => Received::Window(ReceivedBytes::new(params.window)),
            },
            aimd: Aimd::new((params.beta, params.backoff_step), params.initial_rate),
            loss: match params.loss {
                LossRule::V2 => LossControl::V2(Box::new(LossV2::new(bounds.0, bounds.1))),
                LossRule::Draft => LossControl::Draft(Loss::new(params.initial_rate)),
            },
            timed_out: TimedOut::default(),
            alr: Alr::new(initial),
            probing: Probing::new(initial, params.max_probe.min(params.max_rate)),
            clusters: Clusters::new(),
            probe: None,
            pushback: Pushback::new(params.cwnd_time),
            target: initial,
            in_flight: 0,
            deadlock: DeadlockTimer::new(),
            keep_alive: 0,
            reported: None,
            propagation: Span::ZERO,
            backed_off: None,
            last_sent: Time::ZERO,
            last_size: mss.max(1),
            ahead: 0.0,
            ahead_at: Time::ZERO,
            srtt: Span::ZERO,
            mss: mss.max(1),
            params: params.clone(),
        }
    }

    fn clamp(&self, bps: f64) -> Rate {
        Rate::from_bps(bps as u64).max(self.params.min_rate).min(self.params.max_rate)
    }

    fn rate(&self) -> Rate {
        self.clamp(self.target)
    }

    fn loss_state(&self) -> LossState {
        match &self.loss {
            LossControl::V2(loss) => loss.state(),
            LossControl::Draft(_) => LossState::DelayBased,
        }
    }

    /// The loss-based rate in bits per second.
    fn loss_rate(&self) -> f64 {
        match &self.loss {
            LossControl::V2(loss) => loss.rate().unwrap_or(self.aimd.rate()),
            LossControl::Draft(loss) => loss.rate(),
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            usage: self.delay.usage(),
            loss: self.loss_state(),
            rtt: self.is_rtt_above_limit(),
            alr_since: self.alr.since().filter(|_| self.params.alr_probes),
            alr_ended: self.alr.since().or(self.alr.ended()),
        }
    }

    /// Returns true if the last packets wait for reports, or took, longer than the limit.
    fn is_rtt_above_limit(&self) -> bool {
        let limit = self.params.rtt_limit;
        let wait = self.reported.map_or(Span::ZERO, |reported| self.last_sent.since(reported));
        !limit.is_zero() && wait + self.propagation > limit
    }

    fn back_off(&mut self, now: Time) {
        if self.backed_off.is_none_or(|last| now.since(last) >= BACKOFF_INTERVAL) {
            self.backed_off = Some(now);
            self.target = (self.target * BACKOFF).max(BACKOFF_LEAST);
            self.target = self.rate().as_bps() as f64;
        }
    }

    fn on_fates(&mut self, feedback: &Feedback<'_>) {
        let arrived = |fate: &&Fate| !fate.lost && fate.received != Time::NEVER;
        let newest = feedback.fates.iter().find(arrived);
        let is_timeout = feedback.congestion == Some(Congestion::Timeout);
        let mut fates = Fates::default();
        for fate in feedback.fates {
            if is_timeout && fate.lost {
                self.timed_out.on_timeout(fate);
                continue;
            }
            // A packet that only the timer has declared lost was never counted as lost, and so is not late.
            let late = !self.timed_out.remove(fate.number) && fate.late;
            note(&mut fates, &mut self.loss, &fate.with(|fate| fate.late = late));
            // Where acknowledgements are lost, one tells of several packets, but not when those
            // before the newest arrived.
            if let (Some(newest), false) = (newest, fate.lost) {
                if fate.received == Time::NEVER && fate.tag != 0 {
                    self.clusters.on_untimed_arrival(fate);
                }
                match &mut self.received {
                    Received::Robust(throughput) => {
                        throughput.on_packet(fate.sent, newest.received, fate.size);
                    }
                    Received::Window(window) => window.on_packet(newest.received, fate.size),
                }
            }
        }
        if let Some(newest) = newest {
            while let Some(missing) = self.timed_out.pop_before(newest.number) {
                note(&mut fates, &mut self.loss, &missing);
            }
        }
        if let LossControl::Draft(loss) = &mut self.loss {
            loss.on_fates(feedback.now, fates, feedback.srtt, self.aimd.rate());
            loss.clamp(self.params.min_rate, self.params.max_rate);
        }
        if newest.is_none() && !feedback.fates.is_empty() && !is_timeout {
            // All that was out arrived at an unknown time. No report will come of it: without this the congestion
            // window would stay full.
            self.in_flight = feedback.in_flight;
            self.pushback.on_untimed_arrivals(feedback.in_flight);
        }
        if let Some(newest) = newest {
            self.in_flight = feedback.in_flight;
            self.probe = self.clusters.on_arrival(newest).or(self.probe);
            self.delay.on_arrival(feedback.now, newest);
            let (sent, received) = (newest.sent, newest.received);
            self.reports.on_arrival(feedback.now, sent, received);
        }
    }

    /// A report is due: decides on everything.
    fn on_report(&mut self, now: Time) {
        let Some(report) = self.reports.take(now) else { return };
        self.reported = Some(now);
        self.propagation = report.propagation;
        let acked = match &self.received {
            Received::Robust(throughput) => throughput.rate(),
            Received::Window(window) => window.rate().map(|rate| rate.as_bps() as f64),
        };
        let has_probed = self.set_delay_based(now, acked);
        if let LossControl::V2(loss) = &mut self.loss {
            loss.on_report(self.aimd.rate(), acked, self.alr.since().is_some());
        }
        self.set_target(now);
        self.alr.set_estimate(self.target);
        let has_recovered = self.delay.take_recovery() && !has_probed;
        if self.params.probes {
            let limits = self.limits();
            self.probing.on_estimate(now, self.target, &limits, &mut self.clusters);
            if has_recovered {
                self.probing.on_recovery(now, &limits, &mut self.clusters);
            }
            self.probing.process(now, &limits, &mut self.clusters);
        }
        self.pushback.on_report(report.rtt, self.in_flight, self.target);
    }

    /// Sets the delay-based rate. Returns true if a probe has set it.
    fn set_delay_based(&mut self, now: Time, acked: Option<f64>) -> bool {
        let usage = self.delay.usage();
        let probe = self.probe.take().filter(|_| usage != Usage::Over);
        match probe {
            Some(rate) => {
                let least = acked.map_or(0.0, |acked| (PROBE_DROP * acked).min(self.aimd.rate()));
                self.aimd.set(now, rate.max(least));
            }
            None => self.aimd.update(now, usage, acked, self.srtt),
        }
        self.aimd.clamp(self.params.min_rate, self.params.max_rate);
        probe.is_some()
    }

    fn set_target(&mut self, now: Time) {
        if self.is_rtt_above_limit() {
            self.back_off(now);
            return;
        }
        self.target = self.aimd.rate().min(self.loss_rate());
        self.target = self.rate().as_bps() as f64;
    }
}

/// Notes what a report tells of a packet.
fn note(fates: &mut Fates, loss: &mut LossControl, fate: &Fate) {
    fates.note(fate);
    if let LossControl::V2(loss) = loss {
        loss.on_fate(fate);
    }
}

impl Controller for GccSender {
    fn needs(&self) -> Signals {
        Signals::FATES.and(Signals::RECEIVE_TIME)
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.deadlock.on_send(now, packet);
        let due = self.rate().bytes_per_sec() * now.since(self.ahead_at).as_secs_f64();
        self.ahead = (self.ahead - due).max(0.0) + f64::from(packet.size);
        self.ahead_at = now;
        self.reported.get_or_insert(now);
        self.last_sent = now;
        self.last_size = packet.size;
        if self.is_rtt_above_limit() {
            self.back_off(now);
        }
        self.in_flight = self.in_flight.saturating_add(packet.size.into());
        self.alr.on_send(now, packet.size);
        self.pushback.on_send(packet.size);
        if !self.params.probes {
            return 0;
        }
        if self.probing.is_initial() {
            let limits = self.limits();
            self.probing.start(now, &limits, &mut self.clusters);
        }
        self.clusters.on_send(now, packet.size, packet.empty)
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        self.deadlock.on_feedback(feedback);
        self.keep_alive = 0;
        self.on_fates(feedback);
        self.on_report(feedback.now);
        if let LossControl::Draft(_) = &self.loss {
            self.set_target(feedback.now);
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.on_report(now);
        if self.deadlock.expire(now) {
            self.keep_alive = self.deadlock.in_flight() + u64::from(self.mss);
        }
    }

    fn plan(&self) -> Plan {
        let rate = self.rate();
        let most = rate.bytes_in(AHEAD).max(2 * u64::from(self.mss));
        let is_eager = self.ahead < most as f64;
        let paced = if is_eager { rate.mul_f64(self.params.pacing_factor) } else { rate };
        let pads = self.loss_state() == LossState::Increasing;
        let (pacing, burst, padding) = match self.clusters.current() {
            Some((probe, burst)) => (probe, burst, self.mss),
            None => {
                // A packet more than the burst may leave, as libwebrtc's debt is checked before each. Packets have
                // mostly the size of the last one.
                let burst = paced.bytes_in(self.params.pacing_burst).min(1 << 16) as u32;
                let burst = if burst == 0 { 0 } else { burst + self.last_size };
                if pads { (rate, burst, self.mss) } else { (paced, burst, 0) }
            }
        };
        let flight = pacing.bytes_in(self.srtt + SLACK).min(1 << 40);
        let cwnd = flight.max(10 * u64::from(self.mss)).max(self.keep_alive);
        let may_probe = self.probing.is_initial() || self.clusters.are_waiting();
        Plan::window(cwnd)
            .paced(pacing, burst)
            .padded(padding)
            .changing_on_send(self.params.probes && may_probe)
            .timer(self.reports.due().min(self.deadlock.due()))
            .without_prr()
    }

    fn target(&self) -> Option<Rate> {
        Some(self.rate())
    }

    fn left_out_share(&self) -> f64 {
        let least = self.params.min_rate.as_bps() as f64;
        1.0 - self.pushback.rate(self.target).max(least).min(self.target) / self.target.max(1.0)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("target", self.rate().as_mbps());
        see("delay_based", self.aimd.rate() / 1e6);
        see("loss_based", self.loss_rate() / 1e6);
        see("estimate", self.delay.estimate());
        see("threshold", self.delay.threshold());
        let state = match self.aimd.state() {
            State::Hold => 0.0,
            State::Increase => 1.0,
            State::Decrease => 2.0,
        };
        see("state", state);
        let usage = match self.delay.usage() {
            Usage::Under => -1.0,
            Usage::Normal => 0.0,
            Usage::Over => 1.0,
        };
        see("usage", usage);
        let window = self.pushback.window().unwrap_or(0.0) / f64::from(self.mss);
        see("cwnd", window);
        see("left_out", self.left_out_share());
    }
}
