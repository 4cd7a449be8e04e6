//! One element of a chain: a stage of the simulator with its log, and the handles of the packets that it has lost.

use std::collections::VecDeque;

use paceline_cc::{Capacity, Packet, Stage, Time};
use paceline_path::{Counters, DropReason, EventKind, Link, LinkEvent, Pipe, PortLog, Service};
use paceline_wifi::Medium;

use super::onoff::OnOff;
use super::pool::Pool;
use super::shared::SharedLane;
use super::summary::{ElementKind, StageSummary};

/// A stage that packets pass.
pub enum Element {
    /// A queue, perhaps a router, and a service.
    Link(Box<Link>),
    /// The access point of a medium, station 0, which alone sends.
    AccessPoint(Box<Medium>),
    /// Delay, jitter, loss, duplication.
    Pipe(Box<Pipe>),
    /// A line that goes on and off.
    OnOff(Box<OnOff>),
    /// One direction of a path that both share with simulated flows.
    Shared(SharedLane),
    /// Packets pass at once, and observers hear of them.
    Meter(VecDeque<(Time, Packet)>),
}

impl Element {
    /// Creates a meter.
    pub fn meter() -> Element {
        Element::Meter(VecDeque::new())
    }

    /// The capacity over time of a link or an access point; `None` of other elements.
    pub fn capacity(&self) -> Option<&Service> {
        match self {
            Element::Link(link) => Some(link.service()),
            Element::AccessPoint(medium) => medium.capacity(0),
            Element::Pipe(_) | Element::OnOff(_) | Element::Shared(_) | Element::Meter(_) => None,
        }
    }

    /// True if it has ports, which keep logs.
    pub(super) fn has_ports(&self) -> bool {
        matches!(self, Element::Link(_) | Element::AccessPoint(_))
    }

    /// Shows the logs of all ports, to be emptied.
    pub(super) fn each_log(&mut self, mut see: impl FnMut(&mut PortLog)) {
        match self {
            Element::Link(link) => see(link.log_mut()),
            Element::AccessPoint(medium) => medium.logs_mut(0).for_each(see),
            Element::Pipe(_) | Element::OnOff(_) | Element::Shared(_) | Element::Meter(_) => {}
        }
    }
}

/// An element with its log.
pub(super) struct LoggedElement {
    pub(super) element: Element,
    recording: bool,
    /// Events of elements that keep no log themselves: arrivals and losses, and departures.
    pub(super) arrivals: VecDeque<LinkEvent>,
    pub(super) departures: VecDeque<LinkEvent>,
    /// Counters of such elements.
    counters: Counters,
    duplicated: u64,
    /// Handles of lost packets, which are given back once observers have heard of the loss.
    pub(super) lost: Vec<u32>,
}

impl LoggedElement {
    pub(super) fn new(mut element: Element) -> LoggedElement {
        match &mut element {
            Element::Pipe(pipe) => pipe.keep_lost(true),
            element => element.each_log(|log| log.keep_drops(true)),
        }
        LoggedElement {
            element,
            recording: false,
            arrivals: VecDeque::new(),
            departures: VecDeque::new(),
            counters: Counters::default(),
            duplicated: 0,
            lost: Vec::new(),
        }
    }

    pub(super) fn record(&mut self, on: bool) {
        self.recording = on;
        match &mut self.element {
            Element::Link(link) => link.record(on),
            Element::AccessPoint(medium) => medium.record(on),
            Element::Pipe(_) | Element::OnOff(_) | Element::Shared(_) | Element::Meter(_) => {}
        }
    }

    pub(super) fn kind(&self) -> ElementKind {
        match &self.element {
            Element::Link(_) | Element::AccessPoint(_) => ElementKind::Link,
            Element::Pipe(_) => ElementKind::Pipe,
            Element::OnOff(_) => ElementKind::OnOff,
            Element::Shared(_) => ElementKind::Shared,
            Element::Meter(_) => ElementKind::Meter,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, now: Time, packet: &Packet, pool: &mut Pool) {
        match &mut self.element {
            Element::Link(link) => return link.push(now, packet),
            Element::AccessPoint(medium) => return medium.push(now, packet),
            Element::Pipe(_) | Element::OnOff(_) | Element::Shared(_) | Element::Meter(_) => {}
        }
        self.counters.arrived_packets += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let mut packet = *packet;
        packet.queued = now;
        if self.recording {
            self.arrivals.push_back(event(now, EventKind::Arrival, &packet));
        }
        let mut lost = None;
        match &mut self.element {
            Element::Link(_) | Element::AccessPoint(_) => {}
            Element::Pipe(pipe) => {
                pipe.push(now, &packet);
                lost = pipe.drain_lost().next();
                let duplicated = pipe.counters().duplicated;
                if duplicated > self.duplicated {
                    self.duplicated = duplicated;
                    pool.duplicate(packet.number() as u32);
                }
            }
            Element::OnOff(line) => {
                line.push(now, &packet);
                lost = line.drain_lost().next();
            }
            Element::Shared(lane) => {
                packet.sent = now;
                lane.push(now, &packet);
                self.note_shared_losses(now);
            }
            Element::Meter(passing) => passing.push_back((now, packet)),
        }
        if let Some(lost) = lost {
            self.note_loss(now, &lost);
        }
    }

    fn note_loss(&mut self, now: Time, lost: &Packet) {
        self.counters.dropped_full += 1;
        self.counters.dropped_bytes += u64::from(lost.size);
        self.lost.push(lost.number() as u32);
        if self.recording {
            let kind = EventKind::Drop { reason: DropReason::Full };
            self.arrivals.push_back(event(now, kind, lost));
        }
    }

    /// Notes the packets of this direction that a shared path has dropped by `now`.
    fn note_shared_losses(&mut self, now: Time) {
        while let Element::Shared(lane) = &mut self.element
            && let Some(lost) = lane.take_lost()
        {
            self.note_loss(now, &lost);
        }
    }

    /// Pops a packet that is due at or before `now`, and returns when it left.
    #[inline]
    pub(super) fn pop(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        if let Element::Shared(lane) = &mut self.element {
            let through = if lane.wake() <= now { lane.pop(now) } else { None };
            self.note_shared_losses(now);
            let (due, passed) = through?;
            // Links on the way have noted when it came to them.
            *packet = Packet { queued: passed.sent, ..passed };
            self.leave(due, packet);
            return Some(due);
        }
        loop {
            let due = self.wake();
            if due > now || due == Time::NEVER {
                return None;
            }
            let stage: &mut dyn Stage = match &mut self.element {
                Element::Link(link) => &mut **link,
                Element::AccessPoint(medium) => &mut **medium,
                Element::Pipe(pipe) => &mut **pipe,
                Element::OnOff(line) => &mut **line,
                Element::Shared(_) => return None,
                Element::Meter(passing) => {
                    let (_, passed) = passing.pop_front()?;
                    *packet = passed;
                    self.leave(due, packet);
                    return Some(due);
                }
            };
            if stage.pop_into(due, packet) {
                // Ports count and log what leaves them.
                if !self.element.has_ports() {
                    self.leave(due, packet);
                }
                return Some(due);
            }
            // An opportunity may be too small for the packet.
            if stage.wake() <= due || !self.element.has_ports() {
                return None;
            }
        }
    }

    fn leave(&mut self, at: Time, packet: &Packet) {
        let sojourn = at.since(packet.queued);
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += u64::from(packet.size);
        self.counters.sojourn += sojourn;
        if self.recording {
            self.departures.push_back(event(at, EventKind::Departure { sojourn }, packet));
        }
    }

    #[inline]
    pub(super) fn wake(&self) -> Time {
        match &self.element {
            Element::Link(link) => link.wake(),
            Element::AccessPoint(medium) => medium.wake(),
            Element::Pipe(pipe) => pipe.wake(),
            Element::OnOff(line) => line.wake(),
            Element::Shared(lane) => lane.wake(),
            Element::Meter(passing) => passing.front().map_or(Time::NEVER, |&(at, _)| at),
        }
    }

    /// Gives the bytes of dropped and lost packets back to the pool.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        self.element.each_log(|log| {
            for dropped in log.drain_drops() {
                pool.release(dropped.packet.number() as u32);
            }
        });
        for handle in self.lost.drain(..) {
            pool.release(handle);
        }
    }

    pub(super) fn summary(&self, end: Time) -> StageSummary {
        let (counters, offered_bytes, backlog_packets, backlog_bytes) = match &self.element {
            Element::Link(link) => {
                let offered = link.service().offered(Time::ZERO, end);
                (link.counters(), offered, link.backlog_packets(), link.backlog_bytes())
            }
            Element::AccessPoint(medium) => {
                let offered = medium.capacity(0).map_or(0, |it| it.offered(Time::ZERO, end));
                let (packets, bytes) = (medium.backlog_packets(0), medium.backlog_bytes(0));
                (medium.counters(0), offered, packets, bytes)
            }
            Element::Pipe(pipe) => (self.counters, 0, pipe.packets(), 0),
            Element::OnOff(_) => (self.counters, 0, 0, 0),
            Element::Shared(_) => {
                let gone = self.counters.delivered_packets + self.counters.dropped_full;
                let held = self.counters.arrived_packets.saturating_sub(gone);
                (self.counters, 0, held as usize, 0)
            }
            Element::Meter(passing) => (self.counters, 0, passing.len(), 0),
        };
        let element = self.kind();
        StageSummary { element, counters, offered_bytes, backlog_packets, backlog_bytes }
    }
}

/// Creates an event outside a queue.
fn event(time: Time, kind: EventKind, packet: &Packet) -> LinkEvent {
    LinkEvent::new(time, kind, packet, 0)
}
