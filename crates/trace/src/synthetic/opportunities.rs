//! The opportunities of a synthetic trace, in the making.

use crate::trace::too_many;
use crate::{MAX_OPPORTUNITIES, TraceError};

/// The opportunities of the trace `name` so far, in milliseconds.
pub(super) struct Opportunities<'a> {
    name: &'a str,
    entries: Vec<u32>,
}

impl<'a> Opportunities<'a> {
    pub(super) fn new(name: &'a str) -> Opportunities<'a> {
        Opportunities { name, entries: Vec::new() }
    }

    /// Adds the packets of the milliseconds after `start`: `counts` has one number for each.
    ///
    /// # Errors
    /// There are [`MAX_OPPORTUNITIES`] or more.
    pub(super) fn add(&mut self, start: u32, counts: &[u64]) -> Result<(), TraceError> {
        for (ms, &count) in (start + 1..).zip(counts) {
            self.entries.extend(std::iter::repeat_n(ms, count as usize));
        }
        if self.entries.len() >= MAX_OPPORTUNITIES { Err(too_many(self.name)) } else { Ok(()) }
    }

    /// Returns all of them. The last one is at `length`, the trace's period.
    pub(super) fn end(mut self, length: u32) -> Vec<u32> {
        if self.entries.last() != Some(&length) {
            self.entries.push(length);
        }
        self.entries
    }
}
