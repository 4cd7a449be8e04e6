//! A congestion window in packets, with slow start and Reno's congestion avoidance: the arithmetic
//! that loss-based schemes share.

use paceline_cc::{Established, Feedback, Span};

/// A congestion window and its slow-start threshold, in packets.
///
/// It implements slow start, Reno's congestion avoidance, timeouts and undoing, and decides whether
/// the window may grow. The caller decides by how much a loss reduces it.
#[derive(Copy, Clone, Debug)]
pub struct RenoWindow {
    cwnd: f64,
    ssthresh: f64,
    /// Number of packets acknowledged in congestion avoidance that have not yet opened the window.
    credit: f64,
    /// Window and threshold before the last reduction, to undo it.
    before: Option<(f64, f64)>,
    /// True if the last feedback said that losses are being repaired.
    repairing: bool,
    /// True if the repair began with a timeout: the window grows meanwhile.
    timed_out: bool,
}

impl RenoWindow {
    /// Returns a window of `initial` packets (at least 1) in slow start without a threshold.
    pub fn new(initial: f64) -> RenoWindow {
        RenoWindow {
            cwnd: initial.max(1.0),
            ssthresh: f64::INFINITY,
            credit: 0.0,
            before: None,
            repairing: false,
            timed_out: false,
        }
    }

    /// Returns the window in packets; at least 1.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }
    /// Returns the slow-start threshold in packets; infinite before the first congestion.
    #[inline]
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    /// Returns true below the slow-start threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// Returns the whole packets of the window, in bytes.
    #[inline]
    pub fn bytes(&self, mss: u32) -> u64 {
        // Converts by way of u32, which is cheaper and holds any window.
        self.cwnd as u32 as u64 * mss as u64
    }
    /// Returns the packets that `feedback` acknowledges, computed from bytes (RFC 3465).
    #[inline]
    pub fn acked(feedback: &Feedback<'_>) -> f64 {
        // Converts by way of i64, which is cheaper.
        feedback.acked as i64 as f64 / feedback.mss.max(1) as f64
    }

    /// Returns whether this feedback may open the window. Call it once per feedback, after
    /// reactions.
    ///
    /// The window does not grow while losses are repaired, except after a timeout; when packets
    /// beyond a gap arrive (RFC 3042); and while it does not limit sending (RFC 7661), except that
    /// slow start continues until the window is twice the largest flight of the last window of data
    /// (Linux `tcp_is_cwnd_limited`).
    #[inline]
    pub fn may_grow(&mut self, feedback: &Feedback<'_>) -> bool {
        self.repairing = feedback.in_recovery;
        self.timed_out &= feedback.in_recovery;
        if (self.repairing && !self.timed_out) || !feedback.may_raise_cwnd {
            return false;
        }
        feedback.cwnd_limited || (self.in_slow_start() && self.half_used(feedback))
    }

    fn half_used(&self, feedback: &Feedback<'_>) -> bool {
        self.cwnd * (feedback.mss as f64) < 2.0 * feedback.max_in_flight as f64
    }

    /// Opens the window in slow start by `acked` packets, up to the threshold; returns the rest.
    #[inline]
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        if !self.in_slow_start() {
            return acked;
        }
        let opened = self.cwnd + acked;
        if opened <= self.ssthresh {
            self.cwnd = opened;
            // Exactly zero: rounded sums could leave a tiny rest, which would begin an epoch of
            // Cubic in the midst of slow start.
            return 0.0;
        }
        let rest = acked - (self.ssthresh - self.cwnd);
        self.cwnd = self.ssthresh;
        rest
    }

    /// Grows as Reno's congestion avoidance does: one packet per window acknowledged.
    #[inline]
    pub fn avoid_congestion(&mut self, acked: f64) {
        self.open_by_one_per(self.cwnd, acked);
    }

    /// Opens the window by one packet per `pace` packets acknowledged (Linux `tcp_cong_avoid_ai`).
    #[inline]
    pub fn open_by_one_per(&mut self, pace: f64, acked: f64) {
        // Packets acknowledged at a slower pace open the window once.
        if self.credit >= pace {
            self.credit = 0.0;
            self.cwnd += 1.0;
        }
        self.credit += acked;
        if self.credit >= pace {
            let more = libm::floor(self.credit / pace);
            self.credit -= more * pace;
            self.cwnd += more;
        }
    }

    /// Sets the window; the threshold does not change.
    #[inline]
    pub fn set_cwnd(&mut self, packets: f64) {
        self.cwnd = packets.max(1.0);
    }

    /// Ends slow start at the present window.
    pub fn leave_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Reduces window and threshold to `packets`, at least 2, after congestion (RFC 5681 eq. 4).
    pub fn reduce(&mut self, packets: f64) {
        // Linux `tcp_current_ssthresh`: after an undo the threshold is at least three quarters of
        // the window, so that slow start leads back there.
        self.before = Some((self.cwnd, self.ssthresh.max(0.75 * self.cwnd)));
        self.ssthresh = packets.max(2.0);
        // A reduction must not enlarge a window of one packet, which a timeout has left.
        self.cwnd = self.ssthresh.min(self.cwnd);
        self.credit = 0.0;
    }

    /// Handles a timeout: sets the window to one packet, and the threshold to `packets` unless this
    /// repair has reduced it already (RFC 5681 §3.1; Linux). Returns whether it reduced the
    /// threshold.
    pub fn time_out(&mut self, packets: f64) -> bool {
        let fresh = !self.repairing || (self.timed_out && self.cwnd > 1.0);
        if fresh {
            self.reduce(packets);
        }
        self.cwnd = 1.0;
        self.credit = 0.0;
        self.repairing = true;
        self.timed_out = true;
        fresh
    }

    /// Undoes the last reduction, which was a mistake. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.before.take() else { return false };
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        true
    }

    /// Forgets the last reduction, so that it cannot be undone.
    pub fn commit(&mut self) {
        self.before = None;
    }

    /// Restarts after an idle period (RFC 2861, Linux `tcp_cwnd_restart`): halves the window once
    /// per timeout of idleness, down to `initial` packets, and raises the threshold to three
    /// quarters of the window before. Returns whether the window shrank.
    pub fn restart(&mut self, initial: f64, idle: Span, rto: Span) -> bool {
        let before = self.cwnd;
        let floor = initial.min(before);
        let mut left = idle;
        while left > rto && self.cwnd > floor {
            left -= rto;
            self.cwnd = (self.cwnd / 2.0).max(floor);
        }
        if self.cwnd < before {
            self.ssthresh = self.ssthresh.max(0.75 * before);
            self.credit = 0.0;
        }
        self.cwnd < before
    }

    /// Begins a connection: with a window of one packet if several SYNs were lost (RFC 5681 §3.1,
    /// Linux `tcp_init_transfer`), else with the present one.
    pub fn begin_connection(&mut self, established: &Established) {
        if established.after_losses {
            self.cap(1.0);
        }
    }

    /// Limits the window to `packets` (but not below 1).
    pub fn cap(&mut self, packets: f64) {
        self.cwnd = self.cwnd.min(packets.max(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that rounding of sums of fractions leaves no rest of an acknowledgement.
    #[test]
    fn slow_start_below_the_threshold_leaves_nothing() {
        let mut window = RenoWindow::new(10.1);
        for acked in (0..200).map(|i| 0.1 + f64::from(i) / 7.0) {
            assert_eq!(window.slow_start(acked), 0.0);
        }
        let mut window = RenoWindow::new(10.0);
        window.reduce(12.0);
        window.set_cwnd(10.0);
        assert_eq!(window.slow_start(3.0), 1.0);
        assert_eq!(window.cwnd(), 12.0);
    }
}
