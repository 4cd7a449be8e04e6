//! The times at which a link may send, as lines of a log, whether or not anything is sent.

use paceline_cc::{Capacity as _, Span, Time};
use paceline_path::{LinkEvent, Opportunities, Service};
use paceline_trace::Cursor;

const MILLISECOND: Span = Span::from_millis(1);

/// The opportunities of a link, one after the other.
#[derive(Clone, Debug)]
pub(super) enum LinkOpportunities {
    /// Opportunities of a trace.
    Trace(Box<TraceOpportunities>),
    /// A rate, logged once per millisecond: the bytes of each millisecond, at its end.
    Steady { service: Box<Service>, until: Time, logged_bytes: u64 },
}

/// The opportunities of a trace: those that are logged, and those that packets have used.
#[derive(Clone, Debug)]
pub(super) struct TraceOpportunities {
    bytes: u32,
    logged: OpportunityWalk,
    used: OpportunityWalk,
    /// Bytes that packets left unused of the last opportunity, and its time.
    credit: u64,
    at: Option<Time>,
}

/// A walk over the opportunities of a link.
#[derive(Clone, Debug)]
struct OpportunityWalk {
    cursor: Cursor,
    /// Number of opportunities that are still to come; `None` for a trace that repeats.
    left: Option<usize>,
    passed: u64,
}

impl OpportunityWalk {
    fn new(opportunities: &Opportunities) -> OpportunityWalk {
        let trace = opportunities.trace();
        let left = (!opportunities.repeats()).then_some(trace.len());
        OpportunityWalk { cursor: trace.cursor(), left, passed: 0 }
    }

    fn next(&self) -> Time {
        if self.left == Some(0) { Time::NEVER } else { self.cursor.peek() }
    }

    fn take(&mut self) -> Time {
        let time = self.next();
        self.cursor.advance();
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.passed += 1;
        time
    }
}

impl LinkOpportunities {
    pub(super) fn new(service: &Service) -> LinkOpportunities {
        match service {
            Service::Trace(trace) => LinkOpportunities::Trace(Box::new(TraceOpportunities {
                bytes: trace.bytes(),
                logged: OpportunityWalk::new(trace),
                used: OpportunityWalk::new(trace),
                credit: 0,
                at: None,
            })),
            _ => LinkOpportunities::Steady {
                service: Box::new(service.clone()),
                until: Time::ZERO,
                logged_bytes: 0,
            },
        }
    }

    /// Passes on the opportunities up to and including `time` that have not been passed on.
    pub(super) fn pass(&mut self, time: Time, tell: &mut dyn FnMut(Time, u64)) {
        match self {
            LinkOpportunities::Trace(trace) => {
                while trace.logged.next() <= time && trace.logged.next() != Time::NEVER {
                    tell(trace.logged.take(), trace.bytes.into());
                }
            }
            LinkOpportunities::Steady { service, until, logged_bytes } => {
                while let next = *until + MILLISECOND
                    && next <= time
                    && next != Time::NEVER
                {
                    let offered = service.offered(Time::ZERO, next);
                    if offered > *logged_bytes {
                        tell(next, offered - *logged_bytes);
                    }
                    (*until, *logged_bytes) = (next, offered);
                }
            }
        }
    }

    /// Notes the departure of a packet of `bytes` bytes, overhead included. Passes on the opportunities up to the one
    /// in which it departs. Several may have the same time.
    pub(super) fn depart(
        &mut self,
        event: &LinkEvent,
        sojourn: Span,
        bytes: u64,
        tell: &mut dyn FnMut(Time, u64),
    ) {
        match self {
            LinkOpportunities::Trace(trace) => trace.depart(event.time, sojourn, bytes, tell),
            LinkOpportunities::Steady { .. } => self.pass(event.time, tell),
        }
    }
}

impl TraceOpportunities {
    /// Finds the opportunities that a packet has used: the link serves one packet after the other, and begins with the
    /// next one in the same opportunity if it has arrived by then.
    fn depart(&mut self, time: Time, sojourn: Span, bytes: u64, tell: &mut dyn FnMut(Time, u64)) {
        let arrival = Time::from_nanos(time.as_nanos().saturating_sub(sojourn.as_nanos()));
        if self.at.is_none_or(|at| arrival >= at) {
            self.credit = 0;
        }
        let first = self.credit.min(bytes);
        self.credit -= first;
        let mut owed = bytes - first;
        while self.used.next() <= arrival && owed > 0 {
            self.used.take();
        }
        while owed > 0 && self.used.next() <= time {
            self.at = Some(self.used.take());
            let part = owed.min(self.bytes.into());
            owed -= part;
            self.credit = u64::from(self.bytes) - part;
        }
        while self.logged.passed < self.used.passed {
            tell(self.logged.take(), self.bytes.into());
        }
    }
}
