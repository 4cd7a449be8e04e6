//! What the emulator tells those who watch it: logs, captures, meters, reports.

use std::io;
use std::time::SystemTime;

use paceline_cc::{Span, Time};
use paceline_path::{Counters, LinkEvent};

use super::chain::Chain;
use super::shared::SimulatedFlow;

/// Which way packets go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the program inside to the network outside.
    Up,
    /// From the network outside to the program inside.
    Down,
}

/// What an element of a chain is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// A queue, perhaps a router, and a service.
    Link,
    /// Delay, jitter, loss.
    Pipe,
    /// A line that comes and goes.
    OnOff,
    /// A path that both directions share with simulated flows.
    Shared,
    /// Nothing: packets pass and are told of.
    Meter,
}

/// Something that happened to a packet at one element of a chain. Those of one element come in
/// the order of their scheduled times; different elements are told of one after the other.
#[derive(Copy, Clone, Debug)]
pub struct LiveEvent<'a> {
    /// The way the packet goes.
    pub direction: Direction,
    /// The element, counted from 0 in the order in which packets pass.
    pub stage: usize,
    /// What the element is. Elements other than links lose packets by themselves: the reason in
    /// their drops says nothing.
    pub element: ElementKind,
    /// What happened; its time is when it was scheduled. `number` is the packet's handle while it
    /// is in the emulator; handles are used again.
    pub event: LinkEvent,
    /// When the emulator did it. For departures from the last element, when the packet was
    /// written to the device.
    pub actual: Time,
    /// The IP packet as it then was, ECN field and checksums included, if an observer
    /// [wants it](Observer::wants_bytes); otherwise empty.
    pub bytes: &'a [u8],
}

/// What can be seen of a running emulator.
#[derive(Copy, Clone)]
pub struct View<'a> {
    /// The way up.
    pub up: &'a Chain,
    /// The way down.
    pub down: &'a Chain,
    /// The lateness of all releases so far.
    pub lateness: LatenessSummary,
}

/// Someone who watches.
///
/// An error ends the watching of this observer only: it is kept in [`Summary::errors`], and
/// [`Observer::finish`] is still called.
pub trait Observer: Send {
    /// The name in error messages, such as a file's.
    fn name(&self) -> String;
    /// True if events shall carry the packets' bytes, which costs a copy of each.
    fn wants_bytes(&self) -> bool {
        false
    }
    /// False if events need not be told; then the links keep no log, unless others want one.
    fn wants_events(&self) -> bool {
        true
    }
    /// Time zero is now; by the wall clock, `started`.
    fn on_start(&mut self, _started: SystemTime, _view: &View<'_>) -> io::Result<()> {
        Ok(())
    }
    /// Something happened.
    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()>;
    /// Comes about ten times a second, also when nothing happens, if
    /// [`Observer::wants_ticks`] says so.
    fn on_tick(&mut self, _now: Time, _view: &View<'_>) -> io::Result<()> {
        Ok(())
    }
    /// True if ticks are wanted. An emulator without observers that tick sleeps while idle.
    fn wants_ticks(&self) -> bool {
        false
    }
    /// The end.
    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        Ok(())
    }
}

/// Release errors: how long after its scheduled time each packet was written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LatenessSummary {
    /// Packets released.
    pub count: u64,
    /// The median.
    pub p50: Span,
    /// The 99th percentile.
    pub p99: Span,
    /// The largest.
    pub max: Span,
}

/// Why a run ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It was asked to stop.
    Stopped,
    /// A device was closed or has vanished: the one that packets of this direction come from.
    Closed(Direction),
    /// Its time was over.
    Over,
}

/// What a run was like.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Time zero by the wall clock.
    pub started: SystemTime,
    /// How long it ran.
    pub duration: Span,
    /// Why it ended.
    pub ended: EndReason,
    /// Release errors of both directions.
    pub lateness: LatenessSummary,
    /// The largest 99th percentile of release errors with which a run counts as exact.
    pub bound: Span,
    /// True if the release errors of either direction passed the bound: the results are not those
    /// of the link.
    pub late: bool,
    /// Processor time of the emulator's thread.
    pub cpu: Span,
    /// The way up.
    pub up: DirectionSummary,
    /// The way down.
    pub down: DirectionSummary,
    /// Flows that were simulated beside the program's packets.
    pub simulated: Vec<SimulatedFlow>,
    /// What observers could not do, each with its name; also what else went wrong without ending
    /// the run.
    pub errors: Vec<String>,
}

/// What happened in one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionSummary {
    /// Packets read from the device, segments of large ones counted singly.
    pub received_packets: u64,
    /// Their bytes, IP headers included.
    pub received_bytes: u64,
    /// Those of them that are IP fragments, each of which is a packet to queues and links.
    pub received_fragments: u64,
    /// Packets written to the device, segments of large ones counted singly.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets read that were no IP packets, or whose lengths contradict each other; dropped.
    pub malformed: u64,
    /// Packets dropped because the emulator's memory for packets was used up.
    pub no_memory: u64,
    /// Packets that the device would not take.
    pub refused: u64,
    /// Release errors.
    pub lateness: LatenessSummary,
    /// The elements, in the order in which packets pass.
    pub stages: Vec<StageSummary>,
}

/// What happened at one element.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StageSummary {
    /// What the element is.
    pub element: ElementKind,
    /// Links: what they counted. Others: arrivals, and losses as `dropped_full`.
    pub counters: Counters,
    /// Links: bytes that the service offered from the start to the end.
    pub offered_bytes: u64,
    /// Packets held at the end.
    pub backlog_packets: usize,
    /// Links: bytes held at the end.
    pub backlog_bytes: u64,
}
