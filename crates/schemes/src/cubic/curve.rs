//! Cubic's growth in congestion avoidance: a function of the time since the last congestion (RFC
//! 9438 §4.2 to §4.7).

use paceline_cc::{Feedback, Span, Time};

use super::CubicParams;

paceline_cc::choices! {
    /// The source of the growth rules in which Linux and the RFC differ.
    pub enum Growth {
        /// The curve is evaluated at one smoothed RTT ahead. Reno's window grows by a whole packet
        /// per round trip once it has reached the window of the last congestion (RFC 9438 §4.2,
        /// §4.3).
        Rfc9438 = "rfc9438",
        /// The curve is evaluated at the smallest RTT ahead. Reno's window continues to grow as
        /// slowly as before (Linux).
        Linux = "linux",
    }
}

/// The cubic curve of one congestion epoch, and the window that Reno would have.
#[derive(Copy, Clone, Debug)]
pub(super) struct Curve {
    c: f64,
    beta: f64,
    /// Reno's growth per round trip that is fair for Cubic's smaller decrease (RFC 9438 §4.3).
    alpha: f64,
    /// Reno's growth once its window has reached `prior`.
    alpha_above_prior: f64,
    /// Minimum growth per packet acknowledged while `w_max` is unknown.
    probe: f64,
    fast_convergence: bool,
    whole: bool,
    friendly: bool,
    growth: Growth,
    /// The window at which congestion is expected, in packets; 0 while unknown.
    w_max: f64,
    /// The window before the last reduction.
    prior: f64,
    /// When the epoch began; [`Time::NEVER`] until congestion avoidance begins.
    epoch: Time,
    /// Time in seconds from the epoch's start to the plateau.
    k: f64,
    /// The window at the plateau.
    origin: f64,
    /// Reno's window.
    w_est: f64,
}

impl Curve {
    pub(super) fn new(params: &CubicParams) -> Curve {
        let alpha = 3.0 * (1.0 - params.beta) / (1.0 + params.beta);
        Curve {
            c: params.c,
            beta: params.beta,
            alpha,
            alpha_above_prior: match params.growth {
                Growth::Rfc9438 => 1.0,
                Growth::Linux => alpha,
            },
            probe: params.probe,
            fast_convergence: params.fast_convergence,
            whole: params.whole_packets,
            friendly: params.tcp_friendliness,
            growth: params.growth,
            w_max: 0.0,
            prior: 0.0,
            epoch: Time::NEVER,
            k: 0.0,
            origin: 0.0,
            w_est: 0.0,
        }
    }

    /// Handles congestion at a window of `cwnd`; returns the reduced window.
    pub(super) fn reduce(&mut self, cwnd: f64) -> f64 {
        // RFC 9438 §4.7: a flow that has a loss before it is back at its plateau gives way to newer
        // flows.
        let gives_way = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = Time::NEVER;
        cwnd * self.beta
    }

    /// Forgets the path: the next epoch starts at its plateau (§4.8).
    pub(super) fn forget(&mut self) {
        self.w_max = 0.0;
        self.epoch = Time::NEVER;
    }

    /// Ends the epoch; the next growth begins a new one.
    pub(super) fn end_epoch(&mut self) {
        self.epoch = Time::NEVER;
    }

    /// Excludes time in which the window did not limit sending (§5.8).
    #[inline]
    pub(super) fn stand_still(&mut self, now: Time, span: Span) {
        if self.epoch != Time::NEVER {
            self.epoch = (self.epoch + span).min(now);
        }
    }

    /// Returns the curve's window at time `t` after the epoch's start.
    #[inline]
    fn at(&self, t: Span) -> f64 {
        // Converts by way of i64, which is cheaper and holds 292 years.
        let x = t.as_nanos() as i64 as f64 / 1e9 - self.k;
        let distance = self.c * x * x * x;
        // Truncates by a cast, which is cheaper; no window comes near 2³¹ packets.
        self.origin + if self.whole { distance as i32 as f64 } else { distance }
    }

    /// Returns the window after `cwnd` when `acked` packets are acknowledged.
    #[inline]
    pub(super) fn advance(&mut self, feedback: &Feedback<'_>, cwnd: f64, acked: f64) -> f64 {
        let now = feedback.now;
        if self.epoch == Time::NEVER {
            self.begin(now, cwnd);
        }
        let share = acked / cwnd;
        let ahead = match self.growth {
            Growth::Rfc9438 => feedback.srtt,
            Growth::Linux => feedback.min_rtt,
        };
        let way = self.at(now.since(self.epoch) + ahead) - cwnd;
        let mut grown = cwnd;
        if way > 0.0 {
            grown += share * way.min(0.5 * cwnd);
        }
        if self.w_max == 0.0 {
            grown = grown.max(cwnd + self.probe * acked);
        }
        if self.friendly {
            let alpha = if self.w_est < self.prior { self.alpha } else { self.alpha_above_prior };
            self.w_est += alpha * share;
            if grown < self.w_est {
                grown = self.w_est;
            }
        }
        grown
    }

    fn begin(&mut self, now: Time, cwnd: f64) {
        self.epoch = now;
        self.w_est = cwnd;
        self.origin = self.w_max.max(cwnd);
        self.k = libm::cbrt((self.origin - cwnd) / self.c);
    }

    /// Limits Reno's window to `packets`.
    pub(super) fn cap(&mut self, packets: f64) {
        self.w_est = self.w_est.min(packets);
    }

    pub(super) fn w_max(&self) -> f64 {
        self.w_max
    }
    pub(super) fn w_est(&self) -> f64 {
        self.w_est
    }
    /// Returns the time in seconds from the epoch's start to the plateau.
    pub(super) fn k(&self) -> f64 {
        self.k
    }
}
