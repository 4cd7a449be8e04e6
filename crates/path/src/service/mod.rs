//! How fast a link transmits, and when.
//!
//! A constant rate and a schedule of rates transmit one packet after the other; a trace offers
//! bytes at given instants (Mahimahi, Cellsim) and loses the bytes for which no packet waits.

mod constant;
mod opportunities;
mod schedule;

pub use constant::Constant;
pub use opportunities::{Opportunities, OpportunityOptions};
pub use schedule::Schedule;

use std::ops::Range;

use paceline_cc::{Capacity, Rate, Span, Time};
use paceline_trace::Trace;
use thiserror::Error;

/// Bits times nanoseconds of one byte at one bit per second: work is measured in these units, so
/// that rate times time needs no division.
const WORK_PER_BYTE: u64 = 8_000_000_000;

/// How a link transmits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Service {
    /// Always at the same rate.
    Constant(Constant),
    /// At a rate that changes at given times.
    Schedule(Schedule),
    /// A number of bytes at each of given instants.
    Trace(Opportunities),
}

/// Why a service cannot be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// A schedule without steps.
    #[error("a schedule needs at least one step")]
    NoSteps,
    /// The time before the first step has no rate.
    #[error("a schedule begins at 0s, not at {0}; add a step at 0s")]
    LateStart(Span),
    /// The steps are not in order.
    #[error("the step at {0} of a schedule does not come after the one before it")]
    Unordered(Span),
    /// The period ends before the last step begins.
    #[error("a schedule with a step at {last} cannot repeat every {period}")]
    ShortPeriod {
        /// Where the last step begins.
        last: Span,
        /// The period.
        period: Span,
    },
    /// Opportunities that offer nothing.
    #[error("an opportunity must offer at least one byte")]
    EmptyOpportunity,
}

impl Service {
    /// Always `rate`; at rate zero nothing is ever transmitted.
    pub fn constant(rate: Rate) -> Service {
        Service::Constant(Constant::new(rate))
    }

    /// The rate of each step from its offset on, repeated every `period` if there is one.
    ///
    /// # Errors
    /// No steps, a first offset other than zero, unordered offsets, or a period that ends before
    /// the last step begins.
    pub fn schedule(steps: &[(Span, Rate)], period: Option<Span>) -> Result<Service, ServiceError> {
        Ok(Service::Schedule(Schedule::new(steps, period)?))
    }

    /// The opportunities of a trace.
    ///
    /// # Errors
    /// Opportunities of no bytes.
    pub fn trace(trace: Trace, options: OpportunityOptions) -> Result<Service, ServiceError> {
        Ok(Service::Trace(Opportunities::new(trace, options)?))
    }

    /// Bytes that each packet costs beyond its size.
    pub fn overhead(&self) -> u32 {
        match self {
            Service::Constant(_) | Service::Schedule(_) => 0,
            Service::Trace(trace) => trace.overhead(),
        }
    }

    /// Returns the bytes offered in an interval that includes its start and excludes its end, as
    /// everything that is measured counts events. [`Capacity::offered`], which routers ask, excludes
    /// the start and includes the end: an opportunity at an edge lies in the other interval there.
    pub fn offered_in(&self, interval: Range<Time>) -> u64 {
        if interval.is_empty() {
            return 0;
        }
        match self {
            Service::Trace(trace) => {
                // Opportunities are whole milliseconds, so that none lies between.
                let before = |edge: Time| edge - Span::from_nanos(1);
                trace.offered(before(interval.start), before(interval.end))
            }
            // A rate offers nothing at a single moment.
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
