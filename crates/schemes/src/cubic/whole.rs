//! Cubic's growth in whole packets, as Linux counts it (`bictcp_update`,
//! `cubictcp_recalc_ssthresh`).
//!
//! The curve gives the number of acknowledged packets for which the window opens by one. It is
//! evaluated again when the window has changed, at most once per tick of 4 ms, else every 28 ms.
//! Windows, plateau and Reno's window are whole packets, so that a flow that has losses at one
//! window again and again keeps its plateau.

use paceline_cc::{Feedback, Span, Time};

use super::CubicParams;

/// A tick of Linux with HZ 250, as Debian has it.
const TICK: Span = Span::from_millis(4);
/// How long the pace of growth applies while the window does not change: Linux' HZ/32, which is 7
/// ticks.
const HOLD: Span = Span::from_millis(28);
/// Linux counts time in 1/1024 s (`BICTCP_HZ`).
const UNITS_PER_SECOND: u128 = 1024;
/// Linux' fractions are in 1/1024 (`BICTCP_BETA_SCALE`).
const SCALE: u64 = 1024;

/// One congestion epoch, and the window that Reno would have.
#[derive(Copy, Clone, Debug)]
pub(super) struct WholeCurve {
    /// Ten times steepness, in 1024ths (`cube_rtt_scale`).
    steepness: u64,
    /// Steepness in packets/s³.
    c: f64,
    /// Share of the window that remains after congestion, in 1024ths.
    beta: u64,
    /// Reno's window grows by a packet for this many eighths of a window acknowledged
    /// (`beta_scale`).
    reno_eighths: u64,
    /// While `w_max` is unknown, the window opens by one for at most this number of acknowledged
    /// packets; zero for no limit.
    probe: u64,
    fast_convergence: bool,
    friendly: bool,
    /// The window at which congestion is expected, in packets; 0 while unknown.
    w_max: u64,
    /// When the epoch began; [`Time::NEVER`] until congestion avoidance begins.
    epoch: Time,
    /// Time from the epoch's start to the plateau, in 1024ths of a second, and the window there.
    k: u64,
    origin: u64,
    /// Reno's window, and the packets acknowledged since it last opened.
    reno: u64,
    reno_credit: f64,
    /// Number of acknowledged packets for which the window opens by one: an integer, stored in the
    /// window's type.
    pace: f64,
    /// The window for which the curve was last evaluated, and when.
    read_for: f64,
    read_at: Time,
    /// End of the tick in which the curve was evaluated. Until then, only Reno's window may change the
    /// pace, once more than `reno_limit` packets are acknowledged since it last opened.
    tick_end: Time,
    reno_limit: f64,
}

impl WholeCurve {
    pub(super) fn new(params: &CubicParams) -> WholeCurve {
        let scaled = |share: f64| libm::round(share * SCALE as f64) as u64;
        let beta = scaled(params.beta).clamp(1, SCALE - 1);
        WholeCurve {
            steepness: 10 * scaled(params.c / 10.0).max(1),
            c: params.c,
            beta,
            reno_eighths: 8 * (SCALE + beta) / 3 / (SCALE - beta),
            probe: if params.probe > 0.0 { libm::round(1.0 / params.probe) as u64 } else { 0 },
            fast_convergence: params.fast_convergence,
            friendly: params.tcp_friendliness,
            w_max: 0,
            epoch: Time::NEVER,
            k: 0,
            origin: 0,
            reno: 0,
            reno_credit: 0.0,
            pace: 1.0,
            read_for: 0.0,
            read_at: Time::ZERO,
            tick_end: Time::ZERO,
            reno_limit: f64::INFINITY,
        }
    }

    /// Handles congestion at a window of `cwnd`; returns the reduced window.
    pub(super) fn reduce(&mut self, cwnd: u64) -> u64 {
        let gives_way = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (SCALE + self.beta) / (2 * SCALE) } else { cwnd };
        self.epoch = Time::NEVER;
        cwnd * self.beta / SCALE
    }

    /// Forgets the path, after a timeout (`bictcp_reset`).
    pub(super) fn forget(&mut self) {
        self.w_max = 0;
        self.epoch = Time::NEVER;
    }

    /// Excludes time in which nothing was in flight.
    pub(super) fn stand_still(&mut self, now: Time, span: Span) {
        if self.epoch != Time::NEVER {
            self.epoch = (self.epoch + span).min(now);
        }
    }

    /// Takes in `acked` packets acknowledged in congestion avoidance at a window of `cwnd` packets.
    /// Returns the number of packets, an integer, for which the window opens by one.
    #[inline]
    pub(super) fn pace(&mut self, feedback: &Feedback<'_>, cwnd: f64, acked: f64) -> f64 {
        self.reno_credit += acked;
        let begins = self.epoch == Time::NEVER;
        let has_changed = self.read_for != cwnd
            && (feedback.now >= self.tick_end || self.reno_credit > self.reno_limit);
        if begins || has_changed || feedback.now.since(self.read_at) > HOLD {
            self.read(feedback, cwnd, acked, begins);
        }
        self.pace
    }

    /// Evaluates the curve, and Reno's window: the only part that needs integer types. `begins` is
    /// true if an epoch begins.
    #[inline(never)]
    fn read(&mut self, feedback: &Feedback<'_>, cwnd: f64, acked: f64, begins: bool) {
        let now = feedback.now;
        // Within a tick, only Reno's window may lower the pace further (`tcp_jiffies32 ==
        // ca->last_time`).
        let pace = if !begins && now < self.tick_end {
            self.pace as u64
        } else {
            (self.read_for, self.read_at) = (cwnd, now);
            let ticks = now.as_nanos() / TICK.as_nanos();
            self.tick_end = Time::from_nanos((ticks + 1) * TICK.as_nanos());
            self.read_curve(feedback, cwnd as u64, acked, begins)
        };
        let pace = if self.friendly { self.at_least_reno(pace, cwnd as u64) } else { pace };
        self.pace = pace.max(2) as f64;
    }

    /// Evaluates the curve, and returns the pace at which the window follows it.
    fn read_curve(&mut self, feedback: &Feedback<'_>, cwnd: u64, acked: f64, begins: bool) -> u64 {
        let now = feedback.now;
        if begins {
            self.epoch = now;
            (self.reno, self.reno_credit) = (cwnd, acked);
            self.origin = self.w_max.max(cwnd);
            let seconds = libm::cbrt((self.origin - cwnd) as f64 / self.c);
            self.k = (seconds * UNITS_PER_SECOND as f64) as u64;
        }
        let aim = self.at(now.since(self.epoch) + feedback.min_rtt);
        let pace = if aim > cwnd { cwnd / (aim - cwnd) } else { 100 * cwnd };
        if self.w_max == 0 && self.probe > 0 { pace.min(self.probe) } else { pace }
    }

    /// Opens Reno's window. Returns `pace`, or a faster one if Reno's window is larger than `cwnd`.
    fn at_least_reno(&mut self, pace: u64, cwnd: u64) -> u64 {
        let packets = (cwnd * self.reno_eighths / 8).max(1);
        // As often as Linux' loop `while (ca->ack_cnt > delta)` runs.
        let opened = (self.reno_credit as u64).saturating_sub(1) / packets;
        self.reno_credit -= (opened * packets) as f64;
        self.reno += opened;
        // Before it opens again, a larger `cwnd` gives no faster pace.
        self.reno_limit = packets as f64;
        if self.reno > cwnd { pace.min(cwnd / (self.reno - cwnd)) } else { pace }
    }

    /// Returns the curve's window at time `t` after the epoch's start.
    fn at(&self, t: Span) -> u64 {
        let t = (u128::from(t.as_nanos()) * UNITS_PER_SECOND / 1_000_000_000) as u64;
        let x = u128::from(t.abs_diff(self.k));
        let distance = (u128::from(self.steepness) * x * x * x) >> 40;
        let distance = u64::try_from(distance).unwrap_or(u64::MAX);
        match t < self.k {
            true => self.origin.saturating_sub(distance),
            false => self.origin.saturating_add(distance),
        }
    }

    /// Limits Reno's window to `packets`.
    pub(super) fn cap(&mut self, packets: u64) {
        self.reno = self.reno.min(packets);
    }

    pub(super) fn w_max(&self) -> u64 {
        self.w_max
    }
    pub(super) fn reno(&self) -> u64 {
        self.reno
    }
    /// Returns the time in seconds from the epoch's start to the plateau.
    pub(super) fn k(&self) -> f64 {
        self.k as f64 / UNITS_PER_SECOND as f64
    }
}
