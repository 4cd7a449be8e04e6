//! The sender's half: epochs, slow start and losses.

use paceline_cc::{Congestion, Controller, Fate, Feedback, Outgoing, Plan, Signals, Span, Time};

use super::VerusParams;
use super::estimate::{Estimate, quota};
use super::holes::Holes;
use super::profile::{Profile, WINDOWS};

/// Weight of the past in the smoothed delay (authors' code).
const PAST: f64 = 0.875;
/// A loss ends slow start only if the window stays above this (authors' code).
const LEAST_EXIT: f64 = 20.0;
/// After a loss, slow start's delays at larger windows are deleted, but never those up to this
/// window.
const LEAST_CUT: u32 = 100;
/// The timeout in multiples of the delay, and its bounds (authors' code).
const TIMEOUT_DELAYS: f64 = 5.0;
const TIMEOUT_MIN: f64 = 150.0;
const TIMEOUT_MAX: f64 = 1000.0;
/// Epochs stop when nothing has been in flight for this time.
const REST: Span = Span::from_secs(1);

/// The sender's half of Verus.
#[derive(Clone, Debug)]
pub struct VerusSender {
    params: VerusParams,
    mss: u64,
    /// Number of the present slow start; acknowledgements of packets of older ones do not count.
    id: u32,
    slow_start: bool,
    /// True if slow start ended because of its delay, and the loss phase that follows continues.
    leaving: bool,
    loss_phase: bool,
    window: f64,
    estimate: Estimate,
    /// The smoothed delay; starts at zero, as the authors' does.
    mean: f64,
    /// The largest delay of this epoch.
    epoch_max: Option<f64>,
    profile: Profile,
    fit_at: Time,
    holes: Holes,
    /// Bytes in flight; those of them given up by a timeout; and the first number after the latter.
    in_flight: u64,
    given_up: u64,
    counted_from: u64,
    /// Number of the next packet.
    next: u64,
    /// Number of packets that may leave now.
    budget: u64,
    timer: Time,
    last_ack: Time,
    last_sent: Time,
    timeout: Span,
    timeout_at: Time,
}

fn pack(id: u32, window: f64) -> u64 {
    (id as u64) << 32 | window as u32 as u64
}

impl VerusSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(params: &VerusParams, mss: u32) -> VerusSender {
        VerusSender {
            params: params.clone(),
            mss: mss.max(1) as u64,
            id: 0,
            slow_start: true,
            leaving: false,
            loss_phase: false,
            window: 1.0,
            estimate: Estimate::new(),
            mean: 0.0,
            epoch_max: None,
            profile: Profile::default(),
            fit_at: Time::ZERO,
            holes: Holes::default(),
            in_flight: 0,
            given_up: 0,
            counted_from: 0,
            next: 0,
            budget: 1,
            timer: Time::NEVER,
            last_ack: Time::ZERO,
            last_sent: Time::ZERO,
            timeout: Span::from_millis(TIMEOUT_MAX as u64),
            timeout_at: Time::NEVER,
        }
    }

    /// Returns the number of packets in flight: those that wait for an acknowledgement, and those
    /// missing for less than the patience.
    fn outstanding(&self) -> u64 {
        self.in_flight.saturating_sub(self.given_up).div_ceil(self.mss) + self.holes.len()
    }

    /// Gives up all packets in flight: their acknowledgements no longer count.
    fn give_up(&mut self) {
        self.given_up = self.in_flight;
        self.counted_from = self.next;
        self.holes.clear();
    }

    /// Begins slow start anew, and clears the delay profile.
    fn restart(&mut self, now: Time) {
        self.id = self.id.wrapping_add(1);
        self.slow_start = true;
        self.leaving = false;
        self.loss_phase = false;
        self.window = 1.0;
        self.estimate = Estimate::new();
        self.mean = 0.0;
        self.epoch_max = None;
        self.profile.clear();
        self.give_up();
        self.budget = 1;
        self.timeout = Span::from_millis(TIMEOUT_MAX as u64);
        self.timeout_at = now + self.timeout;
    }

    fn leave_slow_start(&mut self, now: Time) {
        self.slow_start = false;
        self.fit_at = now;
    }

    /// Returns the delay of the present window.
    fn profiled(&self) -> f64 {
        self.profile.delay(self.window).unwrap_or(self.estimate.min)
    }

    /// Takes in the delay of a packet sent with `window`. With `counts` false, since the packet was
    /// given up before, the acknowledgement only shows that the path works.
    fn on_delay(&mut self, now: Time, window: u32, delay: f64, counts: bool) {
        if self.slow_start && delay > self.params.exit_delay.as_millis_f64() {
            self.window = (self.params.decrease * window as f64).max(1.0);
            self.estimate.desired = self.profiled();
            self.loss_phase = true;
            self.leaving = true;
            self.leave_slow_start(now);
        }
        let timeout = (TIMEOUT_DELAYS * delay).clamp(TIMEOUT_MIN, TIMEOUT_MAX);
        self.timeout = Span::from_secs_f64(timeout / 1e3);
        self.timeout_at = now + self.timeout;
        if self.loss_phase && window as f64 <= self.window {
            self.epoch_max = None;
            self.loss_phase = false;
            self.leaving = false;
        }
        if !counts {
            return;
        }
        self.epoch_max = Some(self.epoch_max.unwrap_or(delay).max(delay));
        self.mean = PAST * self.mean + (1.0 - PAST) * delay;
        self.estimate.min = self.estimate.min.min(delay);
        if self.loss_phase {
            self.grow(1.0 / self.window);
            self.estimate.desired = self.estimate.desired.min(self.profiled());
        } else {
            self.profile.note(window, delay);
        }
        self.last_ack = now;
        if self.slow_start {
            self.grow(1.0);
        }
    }

    fn grow(&mut self, packets: f64) {
        self.window = (self.window + packets).min((WINDOWS - 1) as f64);
    }

    fn on_fate(&mut self, feedback: &Feedback<'_>, fate: &Fate) {
        if fate.number < self.counted_from {
            self.given_up = self.given_up.saturating_sub(fate.size as u64);
        }
        let (id, window) = ((fate.tag >> 32) as u32, fate.tag as u32);
        if id != self.id {
            return;
        }
        if !fate.lost {
            let given_up = fate.number < self.counted_from || self.holes.close(fate.number);
            let delay = feedback.now.since(fate.sent).as_millis_f64();
            self.on_delay(feedback.now, window, delay, !given_up);
        } else if fate.number >= self.counted_from {
            // Losses of a timeout are not noticed yet: no later packet was acknowledged.
            let seen = feedback.congestion != Some(Congestion::Timeout);
            self.holes.open(fate.number, window, if seen { feedback.now } else { Time::NEVER });
        }
    }

    /// Reacts to a packet, sent with `window`, that was missing for too long.
    pub(super) fn hole_is_lost(&mut self, now: Time, window: u32) {
        if !self.loss_phase {
            self.loss_phase = true;
            self.window = (self.params.decrease * window as f64).min(self.window).max(1.0);
            self.estimate.desired = self.profiled();
        }
        if self.slow_start && libm::floor(self.window) > LEAST_EXIT {
            self.profile.cut(window.max(LEAST_CUT));
            self.give_up();
            self.leave_slow_start(now);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if self.slow_start {
            self.leave_slow_start(now);
        } else {
            self.loss_phase = true;
            self.give_up();
            self.estimate.desired = self.estimate.min;
        }
        self.timeout_at = now + self.timeout;
    }

    /// Ends an epoch.
    fn on_epoch(&mut self, now: Time) {
        if now >= self.fit_at {
            self.fit_at = now + self.params.refit;
            if !self.profile.fit() {
                self.restart(now);
                return;
            }
        }
        let waited = now.since(self.last_ack).as_millis_f64();
        let last = self.estimate.last_max.unwrap_or(0.0);
        let max = self.epoch_max.take().unwrap_or(last.max(waited));
        let outstanding = self.outstanding();
        let sends = self.estimate.on_epoch(max, outstanding, self.leaving, &self.params);
        let lower = self.params.delta2.as_millis_f64();
        let Some(window) = self.profile.window(self.estimate.desired, lower) else {
            self.restart(now);
            return;
        };
        self.window = (window as f64).max(1.0);
        let epochs = libm::ceil(self.mean / self.params.epoch.as_millis_f64()) as u64;
        self.budget = if sends { quota(self.window, outstanding, epochs) } else { 0 };
        let socket = self.params.socket as u64;
        if socket > 0 && self.budget > socket {
            // Packets that the socket refuses are not sent, and count as a loss.
            self.budget = socket;
            self.window = (self.params.decrease * self.window).max(1.0);
            self.estimate.desired = self.profiled();
        }
    }
}

impl Controller for VerusSender {
    fn needs(&self) -> Signals {
        Signals::FATES
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.in_flight = packet.in_flight + packet.size as u64;
        self.next = packet.number + 1;
        self.budget = self.budget.saturating_sub(1);
        self.last_sent = now;
        if self.timer == Time::NEVER {
            self.timer = now + self.params.epoch;
            self.last_ack = now;
        }
        if self.timeout_at == Time::NEVER {
            self.timeout_at = now + self.timeout;
        }
        pack(self.id, self.window)
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.in_flight = feedback.in_flight;
        for fate in feedback.fates {
            self.on_fate(feedback, fate);
        }
        if feedback.acked_packets > 0 {
            self.holes.notice(feedback.now);
        }
        self.given_up = self.given_up.min(self.in_flight);
        if self.slow_start {
            self.budget = (self.window as u64).saturating_sub(self.outstanding());
        }
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(window) = self.holes.expire(now, self.params.hole) {
            self.hole_is_lost(now, window);
        }
        let waits = self.outstanding() > 0;
        if !waits && now.since(self.last_sent) > REST {
            self.timer = Time::NEVER;
            self.timeout_at = Time::NEVER;
            return;
        }
        if now >= self.timeout_at && waits {
            self.on_timeout(now);
        }
        if !self.slow_start {
            self.on_epoch(now);
        }
        self.timer = now + self.params.epoch;
    }

    fn on_idle(&mut self, now: Time, _idle: Span, _rto: Span) {
        // No acknowledgement was expected meanwhile.
        self.last_ack = now;
        if self.timer == Time::NEVER {
            self.timer = now + self.params.epoch;
        }
    }

    fn plan(&self) -> Plan {
        let cwnd = self.in_flight + self.budget * self.mss;
        Plan::window(cwnd.max(self.mss)).timer(self.timer).without_prr()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.window);
        see("desired_delay", self.estimate.desired);
        see("smallest_delay", self.estimate.min);
        see("loss_phase", self.loss_phase as u8 as f64);
        see("slow_starts", self.id as f64 + 1.0);
    }
}
