//! The good and the bad condition: whether any RTT of the last interval was below the target
//! (paper §III-A).

use paceline_cc::{Span, Time};

use super::Rule;

/// The condition after an RTT sample.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Below the target: the window may open.
    Good,
    /// Above it, for no longer than an interval.
    Waiting,
    /// Above it for longer: the window is to close.
    Bad,
}

/// Watches RTTs as CoDel watches sojourn times.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    rule: Rule,
    /// True if the last RTT was below the target.
    first: bool,
    /// When the condition is next found bad.
    next: Time,
    /// Number of back-offs since the condition became bad, plus one.
    backoffs: u32,
    /// Newton's approximation of `1 / sqrt(backoffs)`, in units of 2⁻¹⁶.
    inverse_sqrt: u32,
}

impl Condition {
    pub(super) fn new(rule: Rule) -> Condition {
        Condition { rule, first: true, next: Time::ZERO, backoffs: 1, inverse_sqrt: 0 }
    }

    pub(super) fn backoffs(&self) -> u32 {
        self.backoffs - 1
    }

    /// Takes an RTT sample in.
    pub(super) fn on_rtt(&mut self, now: Time, rtt: Span, target: Span, interval: Span) -> Verdict {
        let good = match self.rule {
            Rule::Paper => rtt < target,
            Rule::Kernel => millis(rtt) <= millis(target),
        };
        if good {
            self.first = true;
            self.backoffs = 1;
            return Verdict::Good;
        }
        if self.first {
            self.first = false;
            self.backoffs = 1;
            self.inverse_sqrt = u16::MAX as u32;
            self.newton_step();
            self.next = self.after(now, interval);
            return Verdict::Waiting;
        }
        if now <= self.next {
            return Verdict::Waiting;
        }
        self.next = self.after(now, self.shortened(interval));
        self.backoffs = self.backoffs.saturating_add(1);
        self.newton_step();
        Verdict::Bad
    }

    /// Returns a deadline in whole milliseconds, as the kernel drops the microseconds.
    fn after(&self, now: Time, interval: Span) -> Time {
        match self.rule {
            Rule::Paper => now + interval,
            Rule::Kernel => Time::from_millis((now + interval).as_nanos() / 1_000_000),
        }
    }

    fn shortened(&self, interval: Span) -> Span {
        match self.rule {
            Rule::Paper => interval.mul_f64(1.0 / libm::sqrt(self.backoffs as f64)),
            Rule::Kernel => interval.mul_f64(self.inverse_sqrt as f64 / 65536.0),
        }
    }

    /// Takes one step of Newton's method towards `1 / sqrt(backoffs)`: x (3 - n x²) / 2, in
    /// integers, as CoDel's code does in Linux.
    fn newton_step(&mut self) {
        let x = (self.inverse_sqrt as u64) << 16;
        let square = (x * x) >> 32;
        let step = (3u64 << 32).saturating_sub(self.backoffs as u64 * square) >> 2;
        self.inverse_sqrt = (((step * x) >> 31) >> 16) as u32 & u16::MAX as u32;
    }
}

/// Returns whole milliseconds, rounded down.
pub(super) fn millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}
