//! Bytes at given instants.

use paceline_cc::{Capacity, Time};
use paceline_trace::{Cursor, Trace};

use super::ServiceError;

/// How the opportunities of a trace are used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpportunityOptions {
    /// Bytes per opportunity.
    pub opportunity: u32,
    /// Overhead per packet in bytes.
    pub overhead: u32,
    /// True if the trace repeats; otherwise there are no opportunities after its last.
    pub repeat: bool,
}

/// Bytes that each opportunity of Mahimahi's traces offers: a packet of 1500 bytes, and the header of
/// the TUN device.
pub const MAHIMAHI_OPPORTUNITY: u32 = 1504;

/// Returns Mahimahi's options: 1504 bytes, with the 4 bytes of the TUN header on each packet, so
/// that a 1500-byte packet fills an opportunity.
impl Default for OpportunityOptions {
    fn default() -> OpportunityOptions {
        OpportunityOptions { opportunity: MAHIMAHI_OPPORTUNITY, overhead: 4, repeat: true }
    }
}

/// The opportunities of a trace, as Mahimahi and Cellsim use them.
///
/// Each opportunity offers a number of bytes. Whole packets leave at the opportunity. A packet too
/// large for the remaining bytes is served in part and ends in a later opportunity. Unused bytes
/// are lost. A packet that arrives exactly at an opportunity misses it.
#[derive(Clone, Debug)]
pub struct Opportunities {
    cursor: Cursor,
    options: OpportunityOptions,
    /// Number of remaining opportunities from the cursor on, if the trace does not repeat.
    left: usize,
}

impl Opportunities {
    /// Creates the opportunities of a trace.
    ///
    /// # Errors
    /// Opportunities offer no bytes.
    pub fn new(trace: Trace, options: OpportunityOptions) -> Result<Opportunities, ServiceError> {
        if options.opportunity == 0 {
            return Err(ServiceError::EmptyOpportunity);
        }
        Ok(Opportunities { left: trace.len(), cursor: trace.cursor(), options })
    }

    /// Returns the trace.
    pub fn trace(&self) -> &Trace {
        self.cursor.trace()
    }

    /// Returns the bytes per opportunity; never 0.
    pub fn bytes(&self) -> u32 {
        self.options.opportunity
    }

    /// Returns the overhead per packet in bytes.
    pub fn overhead(&self) -> u32 {
        self.options.overhead
    }

    /// Returns true if the trace repeats.
    pub fn repeats(&self) -> bool {
        self.options.repeat
    }

    /// Returns the time of the next opportunity that is neither used nor skipped; [`Time::NEVER`]
    /// after the last.
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

    /// Skips the opportunities until and including `now`; never goes back.
    #[inline]
    pub(crate) fn skip(&mut self, now: Time) {
        if self.next() > now {
            return;
        }
        self.cursor.seek(now);
        self.left = self.trace().len() - self.first_lap(now);
    }

    /// Returns the bytes offered at time zero, which lie in no interval of [`Capacity::offered`].
    pub(super) fn offered_at_zero(&self) -> u64 {
        self.first_lap(Time::ZERO) as u64 * u64::from(self.options.opportunity)
    }

    /// Returns the number of opportunities of the first lap until and including `time`.
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
        // The entry at 0 of the second lap coincides with the end of the first lap.
        assert_eq!(service.next(), ms(5));
        service.skip(ms(1));
        assert_eq!(service.next(), ms(5));
        service.skip(ms(5));
        assert_eq!(service.next(), ms(7));
    }
}
