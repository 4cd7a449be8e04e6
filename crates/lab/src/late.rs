//! A causal sender with which others are compared on links of varying rate: it knows the link's rate exactly, but one
//! round trip late. A router that reports the rate, as ABC's does, reaches the sender after about the same time; the
//! omniscient protocol knows the future.

use paceline_cc::{Controller, Feedback, Halves, Plan, Setup, Span, Time};
use paceline_sim::scenario::CustomScheme;
use paceline_trace::Trace;

/// Time after which the sender reads the link's rate again if no acknowledgement arrives.
const READING: Span = Span::from_millis(5);

/// What a sender does with the rate that the link had one round trip ago.
#[derive(Copy, Clone, Debug)]
pub struct LateKnowledge {
    /// Round-trip delay without queues: the age of the newest opportunity that the sender knows.
    pub rtt: Span,
    /// Time over which the rate is averaged.
    pub window: Span,
    /// Queueing delay at which it aims: the congestion window is the rate times the RTT plus this.
    pub target: Span,
}

impl LateKnowledge {
    /// Returns the scheme of such senders over a link with these opportunities.
    pub fn scheme(self, trace: &Trace) -> CustomScheme {
        let trace = trace.clone();
        let make = move |setup: &Setup| LateSender {
            knowledge: self,
            trace: trace.clone(),
            mss: setup.mss,
            now: Time::ZERO,
        };
        let [window, target] = [self.window, self.target].map(Span::as_millis_f64);
        CustomScheme::new(
            format!("late[window={window}ms,target={target}ms]"),
            Halves::sender(make),
        )
    }

    /// Returns the packets that may be in flight at `now`.
    fn packets(&self, trace: &Trace, now: Time) -> f64 {
        let newest = now - self.rtt;
        // At the beginning the sender knows less than a window.
        let known = self.window.min(newest.since(Time::ZERO)).as_secs_f64();
        if known <= 0.0 {
            return 0.0;
        }
        let opportunities = trace.count_in(newest - self.window, newest);
        opportunities as f64 * (self.rtt + self.target).as_secs_f64() / known
    }
}

struct LateSender {
    knowledge: LateKnowledge,
    trace: Trace,
    mss: u32,
    now: Time,
}

impl Controller for LateSender {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.now = feedback.now;
    }

    fn on_timer(&mut self, now: Time) {
        self.now = now;
    }

    fn plan(&self) -> Plan {
        let packets = self.knowledge.packets(&self.trace, self.now).max(1.0);
        let window = packets * f64::from(self.mss);
        Plan::window(window as u64).without_prr().timer(self.now + READING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_requests::compare::Comparison;
    use paceline_sim::scenario::Capacity;

    const KNOWLEDGE: LateKnowledge = LateKnowledge {
        rtt: Span::from_millis(100),
        window: Span::from_millis(50),
        target: Span::from_millis(20),
    };

    /// Returns a trace of 20 s with an opportunity each `before` ms, and from 10 s on each `after` ms.
    fn trace(before: usize, after: usize) -> Trace {
        let entries = (0..10_000).step_by(before).chain((10_000..=20_000).step_by(after));
        Trace::new("steps", entries.map(|ms| ms as u32).collect()).expect("sorted")
    }

    #[test]
    fn the_window_is_that_of_the_rate_one_round_trip_ago() {
        let (steady, falls) = (trace(1, 1), trace(1, 10));
        // 50 opportunities in 50 ms, for 100 ms of propagation and 20 ms of queue.
        assert_eq!(KNOWLEDGE.packets(&steady, Time::from_secs(5)), 120.0);
        for ms in (0..=10_100).step_by(5) {
            let now = Time::from_millis(ms);
            assert_eq!(KNOWLEDGE.packets(&falls, now), KNOWLEDGE.packets(&steady, now), "{ms} ms");
        }
        let fallen = KNOWLEDGE.packets(&falls, Time::from_millis(10_150));
        assert!((fallen - 12.0).abs() < 1e-9, "{fallen}");
        assert_eq!(KNOWLEDGE.packets(&steady, Time::ZERO), 0.0);
    }

    #[test]
    fn the_queue_of_a_steady_link_is_the_target() {
        let link = trace(1, 1);
        let mut comparison =
            Comparison::new("steady", Capacity::trace(link.clone()), KNOWLEDGE.scheme(&link));
        comparison.warmup = Span::from_secs(2);
        comparison.duration = Span::from_secs(10);
        let outcome = comparison.run().expect("a scenario");
        let link = &outcome.links[0];
        assert!(link.utilization > 0.99, "{}", link.utilization);
        let mean = link.queue_delay_ms.mean;
        assert!((15.0..=21.0).contains(&mean), "{mean} ms");
    }
}
