//! The sender: the two controllers, and the pacer's rate.

use paceline_cc::{Controller, Fate, Feedback, Outgoing, Plan, Rate, Signals, Span, Time};

use super::aimd::{Aimd, State};
use super::detector::{Detector, Usage};
use super::groups::{Groups, Variation};
use super::kalman::Kalman;
use super::loss::{Fates, Loss};
use super::received::ReceivedBytes;
use super::trendline::Trendline;
use super::{Filter, GccParams};

#[derive(Clone, Debug)]
enum Slope {
    Kalman(Kalman),
    Trendline(Trendline),
}

/// How far ahead of the target the application may be before it is paced at the target.
const AHEAD: Span = Span::from_millis(250);
/// The window is what the pacing rate sends in an RTT and this time. It only keeps a flow from
/// sending for ever when no acknowledgement comes.
const SLACK: Span = Span::from_secs(1);

/// The sender's half of Google congestion control.
#[derive(Clone, Debug)]
pub struct GccSender {
    params: GccParams,
    mss: u32,
    groups: Groups,
    slope: Slope,
    detector: Detector,
    received: ReceivedBytes,
    aimd: Aimd,
    loss: Loss,
    /// Groups so far.
    count: u32,
    estimate: f64,
    /// Bytes sent beyond the target, and when that was.
    ahead: f64,
    ahead_at: Time,
    srtt: Span,
}

impl GccSender {
    /// A sender of packets of `mss` bytes.
    pub fn new(params: &GccParams, mss: u32) -> GccSender {
        let slope = match params.filter {
            Filter::Kalman => Slope::Kalman(Kalman::new(params.q, params.chi)),
            Filter::Trendline => Slope::Trendline(Trendline::new()),
        };
        GccSender {
            groups: Groups::new(params.burst_time),
            slope,
            detector: Detector::new(params.filter, params.overuse_time),
            received: ReceivedBytes::new(params.window),
            aimd: Aimd::new(params.beta, params.initial_rate),
            loss: Loss::new(params.initial_rate),
            count: 0,
            estimate: 0.0,
            ahead: 0.0,
            ahead_at: Time::ZERO,
            srtt: Span::ZERO,
            mss: mss.max(1),
            params: params.clone(),
        }
    }

    fn rate(&self) -> Rate {
        let bps = self.aimd.rate().min(self.loss.rate());
        Rate::from_bps(bps as u64).max(self.params.min_rate).min(self.params.max_rate)
    }

    fn on_arrival(&mut self, now: Time, fate: &Fate) {
        if let Some(variation) = self.groups.on_packet(fate.sent, fate.received) {
            self.on_group(now, &variation);
        }
    }

    fn on_group(&mut self, now: Time, variation: &Variation) {
        let slope = match &mut self.slope {
            Slope::Kalman(kalman) => kalman.update(variation),
            Slope::Trendline(line) => line.update(variation),
        };
        self.count = (self.count + 1).min(self.params.deltas);
        self.estimate = slope * f64::from(self.count);
        let usage = self.detector.detect(self.estimate, variation);
        self.update(now, usage);
    }

    fn update(&mut self, now: Time, usage: Usage) {
        self.aimd.update(now, usage, self.received.rate(), self.srtt);
        self.aimd.clamp(self.params.min_rate, self.params.max_rate);
    }
}

impl Controller for GccSender {
    fn needs(&self) -> Signals {
        Signals::FATES.and(Signals::RECEIVE_TIME)
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        let due = self.rate().bytes_per_sec() * now.since(self.ahead_at).as_secs_f64();
        self.ahead = (self.ahead - due).max(0.0) + f64::from(packet.size);
        self.ahead_at = now;
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        let mut fates = Fates::default();
        let arrived = |fate: &&Fate| !fate.lost && fate.received != Time::NEVER;
        let newest = feedback.fates.iter().find(arrived);
        for fate in feedback.fates {
            fates.note(fate);
            // Where acknowledgements are lost, one tells of several packets, but not when those
            // before the newest arrived.
            if let (Some(newest), false) = (newest, fate.lost) {
                self.received.on_packet(newest.received, fate.size);
            }
        }
        if let Some(newest) = newest {
            self.on_arrival(feedback.now, newest);
        }
        let delay = self.aimd.rate();
        self.loss.on_fates(feedback.now, fates, feedback.srtt, delay);
        self.loss.clamp(self.params.min_rate, self.params.max_rate);
    }

    fn plan(&self) -> Plan {
        let rate = self.rate();
        let most = rate.bytes_in(AHEAD).max(2 * u64::from(self.mss));
        let eager = self.ahead < most as f64;
        let pacing = if eager { rate.mul_f64(self.params.pacing_factor) } else { rate };
        let flight = pacing.bytes_in(self.srtt + SLACK).min(1 << 40);
        let burst = pacing.bytes_in(self.params.burst_time).min(1 << 16) as u32;
        let cwnd = flight.max(10 * u64::from(self.mss));
        Plan::window(cwnd).paced(pacing, burst).without_prr()
    }

    fn target(&self) -> Option<Rate> {
        Some(self.rate())
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("target", self.rate().as_mbps());
        see("delay_based", self.aimd.rate() / 1e6);
        see("loss_based", self.loss.rate() / 1e6);
        see("estimate", self.estimate);
        see("threshold", self.detector.threshold());
        let state = match self.aimd.state() {
            State::Hold => 0.0,
            State::Increase => 1.0,
            State::Decrease => 2.0,
        };
        see("state", state);
    }
}
