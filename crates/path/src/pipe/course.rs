//! A delay that follows a recording.

use paceline_cc::{Span, Time};
use paceline_trace::Delays;

/// The position of a pipe in a recording. Packets enter in order, so that the next delay is the
/// current one or one soon after it.
#[derive(Clone, Debug)]
pub(super) struct Course {
    delays: Delays,
    /// Start of the current lap, and the step that applied last.
    lap: Time,
    step: usize,
}

impl Course {
    pub(super) fn new(delays: Delays) -> Course {
        Course { delays, lap: Time::ZERO, step: 0 }
    }

    /// Returns the delay of a packet that enters at `now`, which must not go back.
    #[inline]
    pub(super) fn at(&mut self, now: Time) -> Span {
        let period = self.delays.period();
        let mut within = now.since(self.lap);
        if within >= period {
            let laps = within.as_nanos() / period.as_nanos().max(1);
            self.lap += period * laps;
            within = now.since(self.lap);
            self.step = 0;
        }
        let steps = self.delays.steps();
        // Usually a few steps on; after a pause, any step.
        for _ in 0..8 {
            match steps.get(self.step + 1) {
                Some(&(begin, _)) if begin <= within => self.step += 1,
                _ => return steps.get(self.step).map_or(Span::ZERO, |&(_, delay)| delay),
            }
        }
        self.step = steps.partition_point(|&(begin, _)| begin <= within).saturating_sub(1);
        steps.get(self.step).map_or(Span::ZERO, |&(_, delay)| delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_where_the_recording_is() {
        let series: Vec<(Span, Span)> = (0..500)
            .map(|i| (Span::from_millis(3 + i % 5), Span::from_micros(i * 37 % 900)))
            .collect();
        let delays = Delays::new("a", &series).expect("valid");
        let mut course = Course::new(delays.clone());
        let mut now = Time::ZERO;
        for i in 0..4000u64 {
            assert_eq!(course.at(now), delays.at(now.since(Time::ZERO)), "at {now:?}");
            now += Span::from_micros(if i % 100 == 0 { 700_000 } else { i % 4000 });
        }
    }
}
