//! A rate that changes at given times.

use paceline_cc::{Capacity, Rate, Span, Time};

use super::{ServiceError, WORK_PER_BYTE};

/// A piecewise-constant rate. A packet in transmission continues at the new rate; rate zero is an
/// outage. Without rounding drift, like [`super::Constant`].
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: Vec<Step>,
    period: Option<Span>,
    /// Work of one period; 0 without a period.
    total: u128,
    /// End of the last packet, and the work done since its exact end.
    end: Time,
    credit: u64,
    /// The step in which the last packet started, by absolute time.
    here: Stretch,
    /// True if steps can be added: see [`Schedule::set_rate`].
    open: bool,
}

/// A step by its offset in the period, with the work done in the period before it.
#[derive(Copy, Clone, Debug)]
struct Step {
    offset: u64,
    rate: u64,
    before: u128,
}

/// A period of time [from, until) with one rate.
#[derive(Copy, Clone, Debug, Default)]
struct Stretch {
    from: u64,
    until: u64,
    rate: u64,
}

impl Schedule {
    /// Creates a schedule with the rate of each step from its offset on, repeated every `period` if
    /// there is one.
    ///
    /// # Errors
    /// Those of [`super::Service::schedule`].
    pub fn new(steps: &[(Span, Rate)], period: Option<Span>) -> Result<Schedule, ServiceError> {
        let (&(first, _), &(last, last_rate)) =
            steps.first().zip(steps.last()).ok_or(ServiceError::NoSteps)?;
        if !first.is_zero() {
            return Err(ServiceError::LateStart(first));
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            return Err(ServiceError::Unordered(pair[1].0));
        }
        if let Some(period) = period.filter(|&period| period <= last) {
            return Err(ServiceError::ShortPeriod { last, period });
        }
        let mut before = 0;
        let mut table: Vec<Step> = Vec::with_capacity(steps.len());
        for &(offset, rate) in steps {
            if let Some(previous) = table.last() {
                before += work(previous.rate, offset.as_nanos() - previous.offset);
            }
            table.push(Step { offset: offset.as_nanos(), rate: rate.as_bps(), before });
        }
        let tail = period.map_or(0, |p| work(last_rate.as_bps(), (p - last).as_nanos()));
        Ok(Schedule {
            total: if period.is_some() { before + tail } else { 0 },
            steps: table,
            period,
            end: Time::ZERO,
            credit: 0,
            here: Stretch::default(),
            open: false,
        })
    }

    /// Creates a schedule of one rate, to which others can be added. The last packet ends at `end`,
    /// and `credit` of work was done since its exact end.
    pub(super) fn open(rate: Rate, end: Time, credit: u64) -> Schedule {
        Schedule {
            steps: vec![Step { offset: 0, rate: rate.as_bps(), before: 0 }],
            period: None,
            total: 0,
            end,
            credit,
            here: Stretch::default(),
            open: true,
        }
    }

    /// Returns true if [`Schedule::set_rate`] may be called.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Sets a rate, not zero, from `now` on, which must not be before the last change. Returns when
    /// the packet that started last ends.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) -> Time {
        let (at, rate) = (now.as_nanos(), rate.as_bps());
        let done = self.done(at);
        let goal = self.done(self.end.as_nanos()).saturating_sub(u128::from(self.credit));
        match self.steps.last_mut() {
            Some(last) if last.offset == at => last.rate = rate,
            _ => self.steps.push(Step { offset: at, rate, before: done }),
        }
        self.here = Stretch::default();
        if self.end > now {
            let end = if goal > done { self.reach(goal) } else { at };
            self.credit = self.done(end).saturating_sub(goal).min(u64::MAX.into()) as u64;
            self.end = Time::from_nanos(end);
        }
        self.end
    }

    /// Returns the rate at `time`.
    #[inline]
    pub fn rate_at(&self, time: Time) -> Rate {
        if let [always] = &self.steps[..] {
            return Rate::from_bps(always.rate);
        }
        Rate::from_bps(self.stretch(time.as_nanos()).rate)
    }

    /// Returns when a packet of `size` bytes ends whose transmission starts at `start`.
    pub(crate) fn finish(&mut self, start: Time, size: u32) -> Time {
        if start != self.end {
            self.credit = 0;
        }
        let size_work = u128::from(size) * u128::from(WORK_PER_BYTE);
        let need = size_work.saturating_sub(u128::from(self.credit));
        let start_nanos = start.as_nanos();
        if !(self.here.from..self.here.until).contains(&start_nanos) {
            self.here = self.stretch(start_nanos);
        }
        let Stretch { until, rate, .. } = self.here;
        let end = if need == 0 {
            self.credit -= size_work as u64;
            start_nanos
        } else if need <= work(rate, until - start_nanos) {
            // Ends within this step: the rate is above zero, and the quotient is below `until -
            // start`.
            let nanos = match u64::try_from(need) {
                Ok(need) => need.div_ceil(rate),
                Err(_) => need.div_ceil(u128::from(rate)) as u64,
            };
            self.credit = (work(rate, nanos) - need) as u64;
            start_nanos + nanos
        } else {
            let goal = self.done(start_nanos).saturating_add(need);
            let end = self.reach(goal);
            self.credit = self.done(end).saturating_sub(goal).min(u64::MAX.into()) as u64;
            end
        };
        self.end = Time::from_nanos(end);
        self.end
    }

    /// Returns the number of periods before `time`, and the index of the step of `time` with the
    /// offset of `time` in it.
    fn locate(&self, time: u64) -> (u64, usize, u64) {
        let (rounds, offset) = match self.period {
            Some(period) => (time / period.as_nanos(), time % period.as_nanos()),
            None => (0, time),
        };
        let index = self.steps.partition_point(|step| step.offset <= offset).saturating_sub(1);
        (rounds, index, offset)
    }

    fn stretch(&self, time: u64) -> Stretch {
        let (_, index, offset) = self.locate(time);
        let begin = time - offset;
        let step = self.steps[index];
        let ends = self.steps.get(index + 1).map(|next| next.offset);
        let until = ends.or(self.period.map(Span::as_nanos)).unwrap_or(u64::MAX);
        Stretch { from: begin + step.offset, until: begin.saturating_add(until), rate: step.rate }
    }

    /// Returns the work done from time zero to `time`.
    fn done(&self, time: u64) -> u128 {
        let (rounds, index, offset) = self.locate(time);
        let step = self.steps[index];
        u128::from(rounds) * self.total + step.before + work(step.rate, offset - step.offset)
    }

    /// Returns the first time at which `goal` > 0 work is done; `u64::MAX` if never.
    fn reach(&self, goal: u128) -> u64 {
        let (rounds, goal) = match self.period {
            Some(_) if self.total == 0 => return u64::MAX,
            // The last unit of a period's work belongs to that period, not to the next.
            Some(_) => ((goal - 1) / self.total, (goal - 1) % self.total + 1),
            None => (0, goal),
        };
        let index = self.steps.partition_point(|step| step.before < goal).saturating_sub(1);
        let step = self.steps[index];
        let Some(nanos) =
            (step.rate > 0).then(|| (goal - step.before).div_ceil(u128::from(step.rate)))
        else {
            return u64::MAX;
        };
        let period = self.period.map_or(0, |period| u128::from(period.as_nanos()));
        let start = rounds.saturating_mul(period).saturating_add(u128::from(step.offset));
        start.saturating_add(nanos).min(u64::MAX.into()) as u64
    }
}

fn work(rate: u64, nanos: u64) -> u128 {
    u128::from(rate) * u128::from(nanos)
}

impl Capacity for Schedule {
    fn offered(&self, from: Time, to: Time) -> u64 {
        let bytes = |time: Time| self.done(time.as_nanos()) / u128::from(WORK_PER_BYTE);
        bytes(to).saturating_sub(bytes(from)).min(u64::MAX.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    fn millis(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn a_packet_continues_at_the_new_rate() {
        let steps = [(millis(0), Rate::from_mbps(12.0)), (millis(10), Rate::from_mbps(6.0))];
        let mut schedule = Schedule::new(&steps, None).expect("valid");
        // Half of the packet at 12 Mbit/s, half at 6 Mbit/s.
        let start = Time::ZERO + Span::from_micros(9_500);
        assert_eq!(schedule.finish(start, 1500), Time::from_millis(11));
        assert_eq!(schedule.offered(Time::ZERO, Time::from_millis(20)), 15_000 + 7_500);
    }

    #[test]
    fn outages_hold_packets() {
        let steps = [
            (millis(0), Rate::from_mbps(12.0)),
            (millis(10), Rate::ZERO),
            (millis(30), Rate::from_mbps(12.0)),
        ];
        let mut schedule = Schedule::new(&steps, None).expect("valid");
        let start = Time::ZERO + Span::from_micros(9_500);
        let end = Time::ZERO + Span::from_micros(30_500);
        assert_eq!(schedule.finish(start, 1500), end);
        // A packet that needs exactly the remaining work ends before the outage, not after it.
        assert_eq!(schedule.finish(Time::from_millis(9), 1500), Time::from_millis(10));
        let dead = [(millis(0), Rate::from_mbps(12.0)), (millis(10), Rate::ZERO)];
        let mut schedule = Schedule::new(&dead, None).expect("valid");
        assert_eq!(schedule.finish(start, 1500), Time::NEVER);
        let mut schedule = Schedule::new(&dead, Some(millis(100))).expect("valid");
        assert_eq!(schedule.finish(start, 1500), Time::ZERO + Span::from_micros(100_500));
        let mut silent = Schedule::new(&[(Span::ZERO, Rate::ZERO)], Some(millis(1))).expect("ok");
        assert_eq!(silent.finish(start, 1), Time::NEVER);
        assert_eq!(silent.finish(start, 0), start);
    }

    #[test]
    fn mistakes_are_told() {
        let rate = Rate::from_mbps(1.0);
        let error = |steps: &[(Span, Rate)], period| Schedule::new(steps, period).err();
        assert_eq!(error(&[], None), Some(ServiceError::NoSteps));
        assert_eq!(error(&[(millis(1), rate)], None), Some(ServiceError::LateStart(millis(1))));
        let twice = [(millis(0), rate), (millis(5), rate), (millis(5), rate)];
        assert_eq!(error(&twice, None), Some(ServiceError::Unordered(millis(5))));
        let short = ServiceError::ShortPeriod { last: Span::ZERO, period: Span::ZERO };
        assert_eq!(error(&[(Span::ZERO, rate)], Some(Span::ZERO)), Some(short));
    }

    /// Integrates in steps of one nanosecond.
    fn brute(steps: &[(Span, Rate)], period: Option<Span>, sizes: &[u32]) -> Vec<u64> {
        let rate_at = |time: u64| {
            let offset = period.map_or(time, |p| time % p.as_nanos());
            steps.iter().rfind(|(at, _)| at.as_nanos() <= offset).map_or(0, |s| s.1.as_bps())
        };
        let (mut time, mut done, mut goal) = (0, 0u128, 0u128);
        let mut ends = Vec::new();
        for &size in sizes {
            goal += u128::from(size) * u128::from(WORK_PER_BYTE);
            while done < goal {
                done += u128::from(rate_at(time));
                time += 1;
            }
            ends.push(time);
        }
        ends
    }

    #[test]
    fn completions_match_brute_force() {
        let mut stream = Stream::new(3, "schedule");
        for _ in 0..200 {
            let mut offset = 0;
            let steps: Vec<_> = (0..1 + stream.below(6))
                .map(|_| {
                    let at = Span::from_nanos(offset);
                    offset += 1 + stream.below(200);
                    let rate = if stream.chance(0.3) { 0 } else { stream.below(200_000_000_000) };
                    (at, Rate::from_bps(rate + u64::from(offset > 900)))
                })
                .chain([(Span::from_nanos(5_000), Rate::from_bps(77_000_000_001))])
                .collect();
            let period = stream.chance(0.5).then_some(Span::from_nanos(6_000));
            let sizes: Vec<_> = (0..60).map(|_| stream.below(900) as u32).collect();
            let mut schedule = Schedule::new(&steps, period).expect("valid");
            let mut now = Time::ZERO;
            let ends: Vec<_> = sizes
                .iter()
                .map(|&size| {
                    now = schedule.finish(now, size);
                    now.as_nanos()
                })
                .collect();
            assert_eq!(ends, brute(&steps, period, &sizes), "{steps:?} {period:?} {sizes:?}");
        }
    }

    #[test]
    fn extremes_do_not_panic() {
        for rate in [0, 1, u64::MAX] {
            let steps = [(Span::ZERO, Rate::from_bps(rate)), (Span::from_nanos(1), Rate::ZERO)];
            for period in [None, Some(Span::from_nanos(2)), Some(Span::MAX)] {
                let mut schedule = Schedule::new(&steps, period).expect("valid");
                for start in [Time::ZERO, Time::from_nanos(u64::MAX - 1), Time::NEVER] {
                    for size in [0, 1, u32::MAX] {
                        assert!(schedule.finish(start, size) >= start);
                    }
                    schedule.offered(Time::ZERO, start);
                }
            }
        }
    }
}
