//! The sleep that a thread of real-time priority owes the kernel.

use paceline_cc::{Span, Time};

/// How long processor time is counted before the count begins anew: a tenth of the kernel's period of a second.
const PERIOD: Span = Span::from_millis(100);
/// How often it is read.
const INTERVAL: Span = Span::from_micros(500);
/// The share of a period in which to sleep: one part in this many. The kernel wants one in 20.
const PARTS: u64 = 12;

/// Says when a thread has slept too little.
///
/// Linux stops all threads of real-time priority on a processor for the rest of a second once they have run for 950 ms
/// of it (`kernel.sched_rt_runtime_us`). An emulator that never sleeps between packets would therefore be
/// stopped for 50 ms in each second. One that sleeps a twelfth of the time, some microseconds at once, is not.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// When the period began, and the processor time at that moment.
    since: Time,
    used: Span,
    /// When to read the processor time again.
    next: Time,
    due: bool,
}

impl Rest {
    /// Returns whether this thread has slept too little in the period. `cpu_time` returns the processor time that it
    /// has used.
    pub(super) fn is_due(&mut self, now: Time, cpu_time: impl FnOnce() -> Span) -> bool {
        if now >= self.next {
            let used = cpu_time();
            let passed = now.since(self.since);
            if passed >= PERIOD {
                (self.since, self.used, self.due) = (now, used, false);
            } else {
                let slept = passed - (used - self.used);
                self.due = slept < passed / PARTS;
            }
            self.next = now + INTERVAL;
        }
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a thread work for `work` in turn with `sleep`, and with 20 microseconds more if it has to sleep. Returns the
    /// share of a second in which it slept, and the longest time that it spent in sleep it had to take.
    fn run(work: u64, sleep: u64) -> (f64, u64) {
        let (mut rest, mut now, mut used) = (Rest::default(), 0, 0);
        let (mut owed, mut longest) = (0, 0);
        while now < 1_000_000 {
            now += work + sleep;
            used += work;
            if rest.is_due(Time::from_nanos(1000 * now), || Span::from_micros(used)) {
                now += 20;
                owed += 20 + work + sleep;
                longest = longest.max(owed);
            } else {
                owed = 0;
            }
        }
        ((now - used) as f64 / now as f64, longest)
    }

    #[test]
    fn a_thread_that_never_sleeps_by_itself_sleeps_more_than_the_kernel_asks_for() {
        for work in [5, 15, 40, 100] {
            let (share, longest) = run(work, 0);
            assert!(share > 0.06 && share < 0.12, "{work}: {share}");
            assert!(longest <= 1500, "{work}: {longest}");
        }
        // With 300 µs of work before each wait, rest is always due: the thread sleeps 20 of 320 µs.
        assert!(run(300, 0).0 > 0.06);
    }

    #[test]
    fn a_thread_that_sleeps_enough_owes_nothing() {
        assert_eq!(run(80, 20), (0.2, 0));
    }
}
