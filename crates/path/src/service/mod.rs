//! Services: how fast and when a link transmits.
//!
//! A constant rate and a schedule of rates transmit one packet after the other. A trace offers
//! bytes at given instants (Mahimahi, Cellsim); bytes for which no packet waits are lost.

mod constant;
mod opportunities;
mod schedule;

pub use constant::Constant;
pub use opportunities::{MAHIMAHI_OPPORTUNITY, Opportunities, OpportunityOptions};
pub use schedule::Schedule;

use std::ops::Range;

use paceline_cc::{Capacity, Rate, Span, Time};
use paceline_trace::Trace;
use thiserror::Error;

/// Work for one byte, in bit/s times nanoseconds. In these units, rate times time needs no
/// division.
const WORK_PER_BYTE: u64 = 8_000_000_000;

/// How a link transmits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Service {
    /// A constant rate.
    Constant(Constant),
    /// A rate that changes at given times.
    Schedule(Schedule),
    /// A number of bytes at each of the given instants.
    Trace(Opportunities),
}

/// Why a service cannot be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// The schedule has no steps.
    #[error("a schedule needs at least one step")]
    NoSteps,
    /// The first step does not start at zero.
    #[error("a schedule begins at 0s, not at {0}; add a step at 0s")]
    LateStart(Span),
    /// The steps are not in order.
    #[error("the step at {0} of a schedule does not come after the one before it")]
    Unordered(Span),
    /// The period ends before the last step starts.
    #[error("a schedule with a step at {last} cannot repeat every {period}")]
    ShortPeriod {
        /// Start of the last step.
        last: Span,
        /// The period.
        period: Span,
    },
    /// Opportunities offer no bytes.
    #[error("an opportunity must offer at least one byte")]
    EmptyOpportunity,
}

impl Service {
    /// Creates a constant rate. With rate zero no packet is ever transmitted.
    pub fn constant(rate: Rate) -> Service {
        Service::Constant(Constant::new(rate))
    }

    /// Creates a schedule with the rate of each step from its offset on, repeated every `period` if
    /// there is one.
    ///
    /// # Errors
    /// There are no steps, the first offset is not zero, offsets are not in order, or the period
    /// ends before the last step starts.
    pub fn schedule(steps: &[(Span, Rate)], period: Option<Span>) -> Result<Service, ServiceError> {
        Ok(Service::Schedule(Schedule::new(steps, period)?))
    }

    /// Creates the opportunities of a trace.
    ///
    /// # Errors
    /// Opportunities offer no bytes.
    pub fn trace(trace: Trace, options: OpportunityOptions) -> Result<Service, ServiceError> {
        Ok(Service::Trace(Opportunities::new(trace, options)?))
    }

    /// Returns the overhead per packet in bytes.
    pub fn overhead(&self) -> u32 {
        match self {
            Service::Constant(_) | Service::Schedule(_) => 0,
            Service::Trace(trace) => trace.overhead(),
        }
    }

    /// Returns the bytes offered in an interval that includes its start and excludes its end, as in
    /// all measurements. [`Capacity::offered`], which routers use, excludes the start and includes
    /// the end, so that an opportunity at an edge lies in the other interval there.
    pub fn offered_in(&self, interval: Range<Time>) -> u64 {
        if interval.is_empty() {
            return 0;
        }
        match self {
            Service::Trace(trace) => {
                // Opportunities are at whole milliseconds, so none lies in between.
                let before = |edge: Time| edge - Span::from_nanos(1);
                let bytes = trace.offered(before(interval.start), before(interval.end));
                match interval.start {
                    Time::ZERO => bytes.saturating_add(trace.offered_at_zero()),
                    _ => bytes,
                }
            }
            // A rate offers no bytes at a single moment.
            _ => self.offered(interval.start, interval.end),
        }
    }
}

impl Capacity for Service {
    fn offered(&self, from: Time, to: Time) -> u64 {
        match self {
            Service::Constant(constant) => constant.offered(from, to),
            Service::Schedule(schedule) => schedule.offered(from, to),
            Service::Trace(trace) => trace.offered(from, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums over parts equal the whole, and each lap offers the same.
    #[test]
    fn opportunities_at_zero_count_in_measurements() {
        let trace = Trace::new("zeros", vec![0, 0, 0, 10]).expect("valid");
        let at = Time::from_millis;
        for repeat in [true, false] {
            let options = OpportunityOptions { opportunity: 1, repeat, ..Default::default() };
            let service =
                Service::Trace(Opportunities::new(trace.clone(), options).expect("valid"));
            assert_eq!(service.offered_in(at(0)..at(10)), 3);
            assert_eq!(service.offered_in(at(0)..at(1)), 3);
            assert_eq!(service.offered_in(at(0)..at(0)), 0);
            assert_eq!(service.offered_in(at(1)..at(10)), 0);
            assert_eq!(service.offered_in(at(10)..at(20)), if repeat { 4 } else { 1 });
            assert_eq!(service.offered_in(at(0)..at(20)), if repeat { 7 } else { 4 });
            // Routers count from behind the start to the end.
            assert_eq!(service.offered(at(0), at(9)), 0);
        }
    }
}
