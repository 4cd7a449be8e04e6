//! Bytes at given instants.

use paceline_cc::{Capacity, Time};
use paceline_trace::{Cursor, Trace};

use super::ServiceError;

/// What an opportunity of a trace is worth.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpportunityOptions {
    /// Bytes that each opportunity offers.
    pub opportunity: u32,
    /// Bytes that each packet costs beyond its size.
    pub overhead: u32,
    /// Starts again after the last opportunity; otherwise there are none after it.
    pub repeat: bool,
}

/// Mahimahi's: 1504 bytes, the 4 bytes of the TUN header on each packet, so that a 1500-byte
/// packet fills an opportunity.
impl Default for OpportunityOptions {
    fn default() -> OpportunityOptions {
        OpportunityOptions { opportunity: 1504, overhead: 4, repeat: true }
    }
}

/// The opportunities of a trace, as Mahimahi and Cellsim use them.
///
/// Each opportunity offers a number of bytes. Whole packets leave at the opportunity; a packet too
/// large for what is left is partially served and finishes in a later opportunity; bytes that
/// nobody uses are lost. A packet that arrives at the very instant of an opportunity misses it.
#[derive(Clone, Debug)]
pub struct Opportunities {
    cursor: Cursor,
    options: OpportunityOptions,
    /// Opportunities from the cursor's on, if the trace does not repeat.
    left: usize,
}

impl Opportunities {
    /// The opportunities of a trace.
    ///
    /// # Errors
    /// Opportunities of no bytes.
    pub fn new(trace: Trace, options: OpportunityOptions) -> Result<Opportunities, ServiceError> {
        if options.opportunity == 0 {
            return Err(ServiceError::EmptyOpportunity);
        }
        Ok(Opportunities { left: trace.len(), cursor: trace.cursor(), options })
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        self.cursor.trace()
    }

    /// Bytes that each opportunity offers; never 0.
    pub fn bytes(&self) -> u32 {
        self.options.opportunity
    }

    /// Bytes that each packet costs beyond its size.
    pub fn overhead(&self) -> u32 {
        self.options.overhead
    }

    /// True if the trace starts again after its last opportunity.
    pub fn repeats(&self) -> bool {
        self.options.repeat
    }

    /// The next opportunity that is neither used nor skipped; [`Time::NEVER`] after the last.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        if self.options.repeat || self.left > 0 { self.cursor.peek() } else { Time::NEVER }
    }

    /// Uses the next opportunity.
    #[inline]
    pub(crate) fn take(&mut self) {
        self.cursor.advance();
        self.left = self.left.saturating_sub(1);
    }

    /// Skips the opportunities up to and including `now`; never goes back.
    #[inline]
    pub(crate) fn skip(&mut self, now: Time) {
        if self.next() > now {
            return;
        }
        self.cursor.seek(now);
        self.left = self.trace().len() - self.first_lap(now);
    }

    /// Opportunities of the first lap up to and including `time`.
    fn first_lap(&self, time: Time) -> usize {
        let ms = time.as_nanos() / 1_000_000;
        self.trace().opportunities().partition_point(|&entry| u64::from(entry) <= ms)
    }
}

impl Capacity for Opportunities {
    fn offered(&self, from: Time, to: Time) -> u64 {
        let count = if self.options.repeat {
            self.trace().count_in(from, to)
        } else {
            self.first_lap(to).saturating_sub(self.first_lap(from)) as u64
        };
        count.saturating_mul(self.options.opportunity.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    fn service(repeat: bool) -> Opportunities {
        let trace = Trace::new("test", vec![0, 2, 2, 5]).expect("valid");
        let options = OpportunityOptions { repeat, ..OpportunityOptions::default() };
        Opportunities::new(trace, options).expect("valid")
    }

    #[test]
    fn a_trace_that_does_not_repeat_ends() {
        let mut once = service(false);
        let mut times = Vec::new();
        while once.next() != Time::NEVER {
            times.push(once.next());
            once.take();
        }
        assert_eq!(times, [ms(0), ms(2), ms(2), ms(5)]);
        assert_eq!(once.offered(ms(0), ms(100)), 3 * 1504);
        let mut skipped = service(false);
        skipped.skip(ms(2));
        assert_eq!(skipped.next(), ms(5));
        skipped.skip(ms(5));
        assert_eq!(skipped.next(), Time::NEVER);
    }

    #[test]
    fn a_trace_repeats() {
        let mut service = service(true);
        assert_eq!(service.offered(ms(0), ms(5)), 4 * 1504);
        assert_eq!(service.offered(ms(5), ms(10)), 4 * 1504);
        service.skip(ms(4));
        assert_eq!(service.next(), ms(5));
        service.take();
        // The entry at 0 of the second lap falls on the end of the first.
        assert_eq!(service.next(), ms(5));
        service.skip(ms(1));
        assert_eq!(service.next(), ms(5));
        service.skip(ms(5));
        assert_eq!(service.next(), ms(7));
    }
}
