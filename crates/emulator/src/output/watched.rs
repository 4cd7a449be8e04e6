//! The elements that outputs observe, and their names.

use paceline_path::{LinkEvent, Service};

use crate::{Direction, LiveEvent};

/// An element of a chain.
#[derive(Clone, Debug)]
pub struct WatchedElement {
    /// The direction of its packets.
    pub direction: Direction,
    /// Its number, in the order in which packets pass.
    pub stage: usize,
    /// Its name for people: a trace, a rate, `delay`.
    pub name: String,
    /// The queue as the user wrote it; empty if there is none.
    pub queue: String,
    /// A link's capacity.
    pub service: Option<Service>,
}

impl WatchedElement {
    /// Returns true if the event is of this element.
    #[inline]
    pub fn is_of(&self, event: &LiveEvent<'_>) -> bool {
        event.direction == self.direction && event.stage == self.stage
    }

    /// Returns the bytes that a packet counts for, the link's overhead included.
    #[inline]
    pub fn bytes(&self, event: &LinkEvent) -> u64 {
        let overhead = self.service.as_ref().map_or(0, Service::overhead);
        u64::from(event.size) + u64::from(overhead)
    }
}

/// Returns the direction as a word.
pub fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}
