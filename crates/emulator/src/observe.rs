//! Events, and the trait of those who get them: logs, captures, meters, reports.

use std::io;
use std::time::SystemTime;

use paceline_cc::Time;
use paceline_path::LinkEvent;

use super::chain::Chain;
use super::flows::FlowNames;
use super::summary::{Direction, ElementKind, LatenessSummary, Summary};

/// An event of a packet at one element of a chain. Observers get the events of one element in the order of their
/// scheduled times, and those of different elements one element after the other.
#[derive(Copy, Clone, Debug)]
pub struct LiveEvent<'a> {
    /// The way the packet goes.
    pub direction: Direction,
    /// The element, counted from 0 in the order in which packets pass.
    pub stage: usize,
    /// What the element is. The drop reason of elements other than links has no meaning.
    pub element: ElementKind,
    /// The event; its time is the scheduled one. `number` is the packet's handle while it
    /// is in the emulator; handles are used again.
    pub event: LinkEvent,
    /// When the emulator did it. For departures from the last element, when the packet was
    /// written to the device.
    pub actual: Time,
    /// The IP packet as it then was, ECN field and checksums included, if an observer
    /// [wants it](Observer::wants_bytes); otherwise empty.
    pub bytes: &'a [u8],
}

/// The state of a running emulator, for observers.
#[derive(Copy, Clone)]
pub struct View<'a> {
    /// The way up.
    pub up: &'a Chain,
    /// The way down.
    pub down: &'a Chain,
    /// The flows of the way up.
    pub up_flows: &'a FlowNames,
    /// The flows of the way down.
    pub down_flows: &'a FlowNames,
    /// The lateness of all releases so far.
    pub lateness: LatenessSummary,
}

/// Gets the events of a run: a log, a capture, a meter, a report.
///
/// After an error, this observer gets no more events and ticks: the error is kept in [`Summary::errors`], and
/// [`Observer::finish`] is still called.
pub trait Observer: Send {
    /// Returns the name in error messages, such as a file's.
    fn name(&self) -> String;
    /// Returns true if events shall carry the packets' bytes, which costs a copy of each.
    fn wants_bytes(&self) -> bool {
        false
    }
    /// Returns false if this observer needs no events. Without any that does, the links keep no log.
    fn wants_events(&self) -> bool {
        true
    }
    /// Called at time zero, which is `started` by the wall clock.
    fn on_start(&mut self, _started: SystemTime, _view: &View<'_>) -> io::Result<()> {
        Ok(())
    }
    /// Called for each event.
    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()>;
    /// Called about ten times a second, also when nothing happens, if [`Observer::wants_ticks`].
    fn on_tick(&mut self, _now: Time, _view: &View<'_>) -> io::Result<()> {
        Ok(())
    }
    /// Returns true if ticks are wanted. An emulator without observers that tick sleeps while idle.
    fn wants_ticks(&self) -> bool {
        false
    }
    /// Called at the end, with the counters of the run.
    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        Ok(())
    }
}
