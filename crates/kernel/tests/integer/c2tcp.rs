//! C2TCP over Cubic or NewReno, as in `bpf/c2tcp.h`: the simulator's `C2tcpSender` as
//! `c2tcp[settle=0s,floor=100ms,prr=false]` configures it.

use paceline_kernel::C2tcpLimits;

use super::cubic::Cubic;
use super::fixed::{MOST_ACKED, ONE, scale};
use super::hystart::HyStart;
use super::reno::Reno;
use super::{Congestion, WholeFeedback};

/// An RTT below the target counts for at most 1000 packets.
const MOST_COUNTS: u64 = 1000;

/// Returns a target or an interval in microseconds.
fn limit_over([rtts, least]: [u64; 2], min_rtt: u64) -> u64 {
    (rtts.wrapping_mul(min_rtt) >> 16).max(least)
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Verdict {
    Good,
    Waiting,
    Bad,
}

/// The loss-based window under C2TCP.
#[derive(Copy, Clone, Debug)]
enum Window {
    Cubic(Cubic, HyStart),
    Reno(Reno),
}

impl Window {
    fn cwnd(&self) -> u64 {
        match self {
            Window::Cubic(cubic, _) => cubic.cwnd(),
            Window::Reno(reno) => reno.cwnd(),
        }
    }

    fn in_slow_start(&self) -> bool {
        match self {
            Window::Cubic(cubic, _) => cubic.in_slow_start(),
            Window::Reno(reno) => reno.in_slow_start(),
        }
    }

    fn back_off(&mut self) {
        match self {
            Window::Cubic(cubic, _) => cubic.back_off(),
            Window::Reno(reno) => reno.back_off(),
        }
    }

    fn on_feedback(&mut self, feedback: &WholeFeedback) {
        match self {
            Window::Cubic(cubic, hystart) => {
                let cwnd = cubic.cwnd();
                if cubic.in_slow_start() && hystart.observe(feedback, cwnd) {
                    cubic.leave_slow_start();
                }
                cubic.on_feedback(feedback);
                if feedback.congestion == Congestion::Timeout {
                    hystart.time_out(feedback);
                }
            }
            Window::Reno(reno) => reno.on_feedback(feedback),
        }
    }
}

/// C2TCP's sender: a loss-based window that RTTs above the target close and shorter RTTs open.
#[derive(Copy, Clone, Debug)]
pub(crate) struct C2tcp {
    window: Window,
    /// Words of [`C2tcpLimits::words`].
    limits: [u64; 4],
    /// Whether the last RTT was at most the target.
    first: bool,
    /// Time in microseconds after which a long RTT counts as bad.
    next: u64,
    /// Back-offs since the condition became bad, plus one.
    backoffs: u64,
    /// Newton's approximation of `1 / sqrt(backoffs)`, in units of 2^-16.
    inverse_sqrt: u64,
    /// Whether the recovery in progress began with a timeout.
    timed_out: bool,
}

/// C2TCP over Cubic, with the default limits.
impl Default for C2tcp {
    fn default() -> C2tcp {
        C2tcp {
            window: Window::Cubic(Cubic::default(), HyStart::default()),
            limits: C2tcpLimits::default().words(),
            first: true,
            next: 0,
            backoffs: 1,
            inverse_sqrt: 0,
            timed_out: false,
        }
    }
}

impl C2tcp {
    /// Returns C2TCP over NewReno.
    pub(crate) fn over_reno() -> C2tcp {
        C2tcp { window: Window::Reno(Reno::default()), ..C2tcp::default() }
    }

    /// Returns the same window with other limits.
    #[must_use]
    pub(crate) fn with_limits(self, limits: &C2tcpLimits) -> C2tcp {
        C2tcp { limits: limits.words(), ..self }
    }

    /// Returns the window in packets.
    pub(crate) fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    /// Processes an acknowledgement or the expiry of the loss timer. Returns true if it has reduced
    /// the window because the condition is bad.
    pub(crate) fn on_feedback(&mut self, feedback: &WholeFeedback) -> bool {
        let [rtts, least, interval_rtts, least_interval] = self.limits;
        let target = limit_over([rtts, least], feedback.min_rtt);
        let interval = limit_over([interval_rtts, least_interval], feedback.min_rtt);
        let verdict = match feedback.rtt {
            0 => Verdict::Waiting,
            rtt => self.condition(feedback.now, rtt, target, interval),
        };
        let is_bad = verdict == Verdict::Bad;
        if is_bad {
            self.window.back_off();
        }
        let before = self.window.cwnd();
        let cwnd_limited = feedback.cwnd_limited || is_bad;
        self.window.on_feedback(&WholeFeedback { cwnd_limited, ..*feedback });
        self.timed_out &= feedback.in_recovery;
        self.timed_out |= feedback.congestion == Congestion::Timeout;
        let repaired = !feedback.in_recovery || self.timed_out;
        let grows = feedback.cwnd_limited && feedback.may_raise_cwnd && repaired;
        let avoiding = grows && !self.window.in_slow_start();
        if verdict == Verdict::Good && grows {
            let counts = (target / 1000) / (feedback.rtt / 1000).max(1);
            let counts = counts.clamp(1, MOST_COUNTS);
            match &mut self.window {
                Window::Cubic(cubic, _) => {
                    let opened = cubic.cwnd().saturating_sub(before);
                    let more = growth(cubic.cwnd(), feedback.acked, counts, opened, avoiding);
                    cubic.add(more);
                }
                // Over NewReno, `counts / cwnd` packets are added whatever its own step has
                // opened.
                Window::Reno(reno) => reno.add_share(counts),
            }
        }
        is_bad
    }

    fn condition(&mut self, now: u64, rtt: u64, target: u64, interval: u64) -> Verdict {
        let whole = |micros: u64| micros / 1000 * 1000;
        if rtt / 1000 <= target / 1000 {
            self.first = true;
            self.backoffs = 1;
            return Verdict::Good;
        }
        if self.first {
            self.first = false;
            self.backoffs = 1;
            self.inverse_sqrt = 0xffff;
            self.newton();
            self.next = whole(now + interval);
            return Verdict::Waiting;
        }
        if now <= self.next {
            return Verdict::Waiting;
        }
        self.next = whole(now + ((interval * self.inverse_sqrt) >> 16));
        self.backoffs += 1;
        self.newton();
        Verdict::Bad
    }

    fn newton(&mut self) {
        let x = self.inverse_sqrt << 16;
        let taken = (self.backoffs.min(1 << 20) * ((x * x) >> 32)).min(3 << 32);
        let step = ((3 << 32) - taken) >> 2;
        self.inverse_sqrt = (((step * x) >> 31) >> 16) & 0xffff;
    }

    /// Resumes sending after `idle` microseconds with nothing in flight.
    pub(crate) fn on_idle(&mut self, now: u64, idle: u64, rto: u64) {
        match &mut self.window {
            Window::Cubic(cubic, _) => cubic.on_idle(now, idle, rto),
            Window::Reno(reno) => reno.on_idle(idle, rto),
        }
    }
}

/// Returns the packets by which an RTT below the target opens Cubic's window, in addition to the
/// `opened` packets of Cubic's own step.
fn growth(cwnd: u64, acked: u64, counts: u64, opened: u64, avoiding: bool) -> u64 {
    let counts = counts * ONE;
    let (acked, opened) = (acked.min(MOST_ACKED), opened.min(MOST_ACKED));
    if !avoiding {
        scale(counts, ONE, cwnd)
    } else if acked == 0 {
        0
    } else if opened * cwnd >= acked * ONE {
        scale(counts, opened, acked)
    } else {
        scale(counts + acked, ONE, cwnd).saturating_sub(opened)
    }
}
