//! The way from one end to the other: propagation delay and impairments.

mod course;
mod impair;
mod loss;
mod processing;

pub use impair::{Impairments, Jitter, JitterShape, Reorder};
pub use loss::{GilbertElliott, Loss};

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use paceline_cc::{Packet, Span, Stage, Stream, Time};
use thiserror::Error;

use course::Course;
use processing::Processing;

use crate::ring::Ring;

/// Why a pipe cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PipeError {
    /// A value is not a probability.
    #[error("the probability of {what} must lie between 0 and 1, not {value}")]
    Probability {
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// Bursts of this length are impossible.
    #[error(
        "bursts of {0} packets do not give this loss rate; they must be one packet or longer, \
         and long enough to be separated by good packets"
    )]
    Burst(f64),
}

/// Delays packets, and may lose, jitter, reorder or duplicate them.
///
/// Packets do not overtake each other unless an impairment allows it. Lost packets are removed when
/// they are pushed. A duplicate has the same [`paceline_cc::Body`]: a driver that owns the bytes of
/// opaque packets must expect a handle twice.
#[derive(Debug)]
pub struct Pipe {
    delay: Span,
    /// Packets in the order of their arrival at the far end.
    line: Ring<(Time, Packet)>,
    /// Arrival time of the first packet, in the line or in the heap; [`Time::NEVER`] if there is
    /// none.
    due: Time,
    /// Arrival time of the packet that was pushed last into `line`.
    last: Time,
    extras: Extras,
}

/// Effects in addition to the fixed delay. One value, so that an entering packet needs one
/// comparison.
#[derive(Debug)]
enum Extras {
    None,
    /// A host at the pipe's entry holds each packet for a random time.
    Processing(Box<Processing>),
    /// Impairments, and the host at the entry if there is one.
    Impairments(Box<ImpairmentState>),
}

/// The state of a pipe with impairments.
#[derive(Debug)]
struct ImpairmentState {
    /// The host at the pipe's entry, if there is one.
    processing: Option<Box<Processing>>,
    impairments: Impairments,
    course: Option<Course>,
    stream: Stream,
    /// Packets that may overtake, ordered by arrival and then by entry.
    heap: BinaryHeap<Reverse<Entry>>,
    entered: u64,
    counters: PipeCounters,
    keep_lost: bool,
    lost: Vec<Packet>,
}

/// Counters of a pipe since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipeCounters {
    /// Packets lost.
    pub lost_packets: u64,
    /// Bytes lost.
    pub lost_bytes: u64,
    /// Packets duplicated.
    pub duplicated: u64,
    /// Packets that left their place by [`Impairments::reorder`].
    pub reordered: u64,
}

#[derive(Debug)]
struct Entry {
    due: Time,
    number: u64,
    packet: Packet,
}

impl Pipe {
    /// Creates a pipe with a fixed delay.
    pub fn new(delay: Span) -> Pipe {
        Pipe { delay, line: Ring::new(), due: Time::NEVER, last: Time::ZERO, extras: Extras::None }
    }

    /// Adds a host at the entry, which holds each packet for a time that is uniform in [0,
    /// `longest`), drawn from `stream`. Packets keep their order.
    #[must_use]
    pub fn with_processing(mut self, longest: Span, stream: Stream) -> Pipe {
        let processing = Box::new(Processing::new(longest, stream));
        match &mut self.extras {
            Extras::Impairments(impaired) => impaired.processing = Some(processing),
            Extras::None | Extras::Processing(_) => self.extras = Extras::Processing(processing),
        }
        self
    }

    /// Creates a pipe with a delay and impairments, which draw random numbers from `stream`.
    ///
    /// # Errors
    /// A probability is outside [0, 1].
    pub fn with_impairments(
        delay: Span,
        impairments: Impairments,
        stream: Stream,
    ) -> Result<Pipe, PipeError> {
        impairments.check()?;
        let impaired = ImpairmentState {
            processing: None,
            course: impairments.delays.clone().map(Course::new),
            impairments,
            stream,
            heap: BinaryHeap::new(),
            entered: 0,
            counters: PipeCounters::default(),
            keep_lost: false,
            lost: Vec::new(),
        };
        Ok(Pipe { extras: Extras::Impairments(Box::new(impaired)), ..Pipe::new(delay) })
    }

    /// Returns the state of the impairments, if the pipe has any.
    fn impaired(&self) -> Option<&ImpairmentState> {
        match &self.extras {
            Extras::Impairments(impaired) => Some(impaired),
            Extras::None | Extras::Processing(_) => None,
        }
    }

    /// Returns the state of the impairments for changes, if the pipe has any.
    fn impaired_mut(&mut self) -> Option<&mut ImpairmentState> {
        match &mut self.extras {
            Extras::Impairments(impaired) => Some(impaired),
            Extras::None | Extras::Processing(_) => None,
        }
    }

    /// Returns the fixed delay.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Sets the fixed delay from `now` on. The arrivals of packets on the way are shifted by the
    /// difference, but not into the past; these packets keep their order, and packets that enter
    /// later do not overtake them.
    pub fn set_delay(&mut self, now: Time, delay: Span) {
        let old = std::mem::replace(&mut self.delay, delay);
        let moved = |due: Time| (due + delay - old).max(now);
        self.line.for_each_mut(|(due, _)| *due = moved(*due));
        self.last = moved(self.last);
        self.due = self.line.front().map_or(Time::NEVER, |(due, _)| *due);
        if let Some(impaired) = self.impaired_mut() {
            let entries = std::mem::take(&mut impaired.heap).into_iter();
            let later =
                |Reverse(entry): Reverse<Entry>| Reverse(Entry { due: moved(entry.due), ..entry });
            impaired.heap = entries.map(later).collect();
            let due = impaired.due();
            self.due = self.due.min(due);
        }
    }

    /// Returns true if the pipe has only a fixed delay.
    pub fn is_plain(&self) -> bool {
        matches!(self.extras, Extras::None)
    }

    /// Returns the counters since the start.
    pub fn counters(&self) -> PipeCounters {
        self.impaired().map(|impaired| impaired.counters).unwrap_or_default()
    }

    /// Returns the packets on the way.
    pub fn packets(&self) -> usize {
        self.line.len() + self.impaired().map_or(0, |impaired| impaired.heap.len())
    }

    /// Sets whether lost packets are kept for [`Pipe::drain_lost`], for a driver that owns their
    /// bytes.
    pub fn keep_lost(&mut self, on: bool) {
        if let Some(impaired) = self.impaired_mut() {
            impaired.keep_lost = on;
        }
    }

    /// Takes the packets lost since the last call, if they are kept.
    pub fn drain_lost(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.impaired_mut().into_iter().flat_map(|impaired| impaired.lost.drain(..))
    }

    #[inline]
    fn enter(&mut self, due: Time, packet: &Packet) {
        // Never before the packet ahead.
        self.last = self.last.max(due);
        if self.line.is_empty() {
            self.due = self.last;
        }
        let last = self.last;
        self.line.push_with(
            || (last, *packet),
            |place| {
                place.0 = last;
                place.1 = *packet;
            },
        );
    }

    /// Takes the next packet that is due at or before `now`, like [`Stage::pop_into`], but without
    /// a copy if the packet is in the pipe's line; otherwise the packet is in `place`. Also returns
    /// when the pipe must be called next.
    #[inline(always)]
    pub fn take_due<'a>(
        &'a mut self,
        now: Time,
        place: &'a mut Packet,
    ) -> Option<(&'a Packet, Time)> {
        if self.due > now {
            return None;
        }
        // A pipe uses either the line or, for packets that may overtake, the heap.
        if self.line.is_empty() {
            return if self.pop_rough(now, place) { Some((place, self.due)) } else { None };
        }
        let ((_, packet), next) = self.line.take_front()?;
        self.due = next.map_or(Time::NEVER, |(due, _)| *due);
        Some((packet, self.due))
    }

    #[inline(never)]
    fn pop_rough(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.wake() > now {
            return false;
        }
        let Some(impaired) = self.impaired_mut() else { return false };
        let popped = impaired.heap.pop();
        let due = impaired.due();
        self.due = due;
        match popped {
            Some(Reverse(entry)) => {
                *place = entry.packet;
                true
            }
            None => false,
        }
    }

    /// Adds a packet to a pipe with impairments.
    #[inline(never)]
    fn push_rough(&mut self, now: Time, packet: &Packet) {
        let Extras::Impairments(impaired) = &mut self.extras else { return };
        let held = impaired.processing.as_mut().map_or(Span::ZERO, |processing| processing.draw());
        let now = now + held;
        if impaired.impairments.loss.lost(&mut impaired.stream) {
            impaired.counters.lost_packets += 1;
            impaired.counters.lost_bytes += u64::from(packet.size);
            if impaired.keep_lost {
                impaired.lost.push(*packet);
            }
            return;
        }
        let twice = impaired.stream.chance(impaired.impairments.duplicate);
        impaired.counters.duplicated += u64::from(twice);
        for _ in 0..1 + u32::from(twice) {
            let Extras::Impairments(impaired) = &mut self.extras else { return };
            let base = match &mut impaired.course {
                Some(course) => self.delay + course.at(now),
                None => self.delay,
            };
            let (delay, moved) = impaired.impairments.delay(base, &mut impaired.stream);
            impaired.counters.reordered += u64::from(moved);
            let due = impaired.impairments.arrival(now + delay);
            if impaired.impairments.reorders() {
                impaired.enter(due, moved, &mut self.last, packet);
                self.due = impaired.due();
            } else {
                self.enter(due, packet);
            }
        }
    }
}

impl ImpairmentState {
    /// Returns the arrival time of the heap's first packet.
    fn due(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.0.due)
    }

    /// Adds a packet to the heap. Without `reorder_jitter`, only packets that `moved` leave the
    /// order.
    fn enter(&mut self, due: Time, moved: bool, last: &mut Time, packet: &Packet) {
        let mut due = due;
        if !moved && !self.impairments.reorder_jitter {
            *last = (*last).max(due);
            due = *last;
        }
        self.heap.push(Reverse(Entry { due, number: self.entered, packet: *packet }));
        self.entered += 1;
    }
}

impl Stage for Pipe {
    #[inline(always)]
    fn push(&mut self, now: Time, packet: &Packet) {
        let delay = match &mut self.extras {
            Extras::None => self.delay,
            Extras::Processing(processing) => self.delay + processing.draw(),
            Extras::Impairments(_) => return self.push_rough(now, packet),
        };
        self.enter(now + delay, packet);
    }

    #[inline(always)]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.due > now {
            return false;
        }
        let Some(((_, packet), next)) = self.line.take_front() else {
            return self.pop_rough(now, place);
        };
        *place = *packet;
        self.due = next.map_or(Time::NEVER, |(due, _)| *due);
        true
    }

    #[inline]
    fn wake(&self) -> Time {
        self.due
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}

#[cfg(test)]
mod tests;
