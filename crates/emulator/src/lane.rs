//! One direction: reads from one device, passes through the chain, writes to the other.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};

use paceline_cc::{Body, Ecn, Packet, Span, Time, TrafficClass};
use paceline_ip::marks::Marks;
use paceline_ip::offload::{HEADER, Head, Layout};
use paceline_ip::packet::parse;
use paceline_path::EventKind;

use super::chain::{Chain, Release};
use super::clock::Clock;
use super::element::Element;
use super::lateness::Lateness;
use super::observe::LiveEvent;
use super::pool::{Bytes, Pool};
use super::port::Port;
use super::summary::{Direction, DirectionSummary};
use super::watch::Watchers;

/// The most packets that wait for a device that takes none. Beyond, the oldest are given up.
const MOST_WAITING: usize = 65_536;

/// The state of a device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum DeviceState {
    /// It works.
    Open,
    /// It has no packet, or takes none, at the moment.
    Exhausted,
    /// It has gone.
    Closed,
}

/// One direction.
pub(super) struct Lane {
    direction: Direction,
    pub(super) chain: Chain,
    pool: Pool,
    /// Packets that have passed the chain and are not written yet.
    out: VecDeque<Release>,
    /// Packets that are written; their bytes are kept until observers have heard of them.
    done: Vec<u32>,
    handles: Vec<u32>,
    head: Head,
    /// A packet with all of its headers: for devices without offloads, and for observers.
    whole: Vec<u8>,
    recording: bool,
    /// The class of packets that understand ECN: the emulator cannot tell which of them belong to
    /// ABC flows, so that its routers take all of them for such.
    ecn_class: TrafficClass,
    /// True if a link has a router, which may look for congestion headers.
    routed: bool,
    pub(super) lateness: Lateness,
    pub(super) counts: DirectionSummary,
}

/// Returns true for the errors of a device that has gone.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EBADFD
                | libc::EBADF
                | libc::ENODEV
                | libc::ENXIO
                | libc::ECONNRESET
                | libc::ECONNREFUSED
                | libc::EPIPE
                | libc::ENOTCONN
        )
    )
}

/// Returns true for errors after which the same write may succeed later.
fn is_full(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
        || matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

impl Lane {
    /// Creates a direction with `memory` bytes for packets.
    pub(super) fn new(direction: Direction, chain: Chain, memory: usize) -> Lane {
        let is_routed = |element: &Element| match element {
            Element::Link(link) => link.router().is_some(),
            Element::AccessPoint(medium) => medium.has_router(0),
            // A shared path may have routers.
            Element::Shared(_) => true,
            _ => false,
        };
        let routed = chain.elements().any(is_routed);
        Lane {
            routed,
            direction,
            chain,
            pool: Pool::new(memory),
            out: VecDeque::new(),
            done: Vec::new(),
            handles: Vec::new(),
            head: Head::new(),
            whole: Vec::new(),
            recording: false,
            ecn_class: TrafficClass::EXPLICIT,
            lateness: Lateness::default(),
            counts: DirectionSummary::default(),
        }
    }

    pub(super) fn record(&mut self, on: bool) {
        self.recording = on;
        self.chain.record(on);
    }

    /// Returns when the next packet is due.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.chain.wake()
    }

    /// Returns the direction of its packets.
    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns true if no packet is on the way.
    pub(super) fn is_empty(&self) -> bool {
        self.pool.packets() == 0
    }

    /// Returns true if packets are waiting for a device that would not take them.
    pub(super) fn is_blocked(&self) -> bool {
        !self.out.is_empty()
    }

    /// Reads one piece and lets its packets enter at the time of the read.
    pub(super) fn receive<P: Port>(
        &mut self,
        port: &mut P,
        clock: &impl Clock,
    ) -> (DeviceState, Time) {
        let read = self.read(port);
        let now = clock.now();
        match read {
            Ok(length) => {
                self.enter(now, length, if port.has_header() { HEADER } else { 0 });
                (DeviceState::Open, now)
            }
            Err(state) => (state, now),
        }
    }

    /// Reads one piece, and returns its length.
    ///
    /// # Errors
    /// The device has no piece at the moment, has gone, or (open) was interrupted.
    pub(super) fn read<P: Port>(&mut self, port: &mut P) -> Result<usize, DeviceState> {
        match port.read(self.pool.staging()) {
            Ok(0) => Err(DeviceState::Closed),
            Ok(length) => Ok(length),
            Err(error) if is_closed(&error) => Err(DeviceState::Closed),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(DeviceState::Open),
            // Also EIO, while the interface is down.
            Err(_) => Err(DeviceState::Exhausted),
        }
    }

    /// Returns the piece of `length` bytes that was read last and has not entered.
    pub(super) fn piece(&mut self, length: usize) -> &[u8] {
        self.pool.staging().get(..length).unwrap_or_default()
    }

    /// Lets the packets of a piece enter that another direction's lane has read and not let in.
    pub(super) fn enter_from(
        &mut self,
        reader: &mut Lane,
        now: Time,
        length: usize,
        headers: usize,
    ) {
        let piece = reader.piece(length);
        if let Some(place) = self.pool.staging().get_mut(..piece.len()) {
            place.copy_from_slice(piece);
            self.enter(now, length, headers);
        }
    }

    /// Lets the packets of the piece that was read last enter the chain.
    pub(super) fn enter(&mut self, now: Time, length: usize, headers: usize) {
        let read = self.pool.staging().get(..length).unwrap_or_default();
        let understood = read.split_at_checked(headers).and_then(|(header, packet)| {
            let parsed = parse(packet).ok()?;
            let layout = Layout::new(header, packet, &parsed).ok()?;
            Some((parsed, layout))
        });
        let Some((parsed, layout)) = understood else {
            self.counts.malformed += 1;
            return;
        };
        let segments = layout.segments();
        if self.recording {
            self.counts.flows.note(read.get(headers..).unwrap_or_default(), &parsed);
        }
        if !self.pool.keep(headers + layout.length(), headers, &layout, &mut self.handles) {
            self.counts.no_memory += u64::from(segments);
            return;
        }
        let capable = parsed.ecn.is_capable();
        let mut packet = Packet {
            flow: parsed.flow,
            ecn: parsed.ecn,
            class: if capable { self.ecn_class } else { TrafficClass::DEFAULT },
            sent: now,
            queued: now,
            ..Packet::opaque(0)
        };
        for (segment, &handle) in (0..segments).zip(&self.handles) {
            packet.size = layout.size(segment);
            packet.body = if self.routed { self.pool.body(handle) } else { Body::Opaque(handle) };
            self.counts.received_packets += 1;
            self.counts.received_fragments += u64::from(parsed.fragment);
            self.counts.received_bytes += u64::from(packet.size);
            self.chain.push(now, &packet, &mut self.pool);
        }
    }

    /// Moves packets on up to `now` and writes those that are through.
    pub(super) fn release<P: Port>(
        &mut self,
        now: Time,
        port: &mut P,
        clock: &impl Clock,
    ) -> DeviceState {
        self.chain.advance(now, &mut self.pool, &mut self.out);
        if self.out.is_empty() {
            return DeviceState::Open;
        }
        // The kernel carries a packet on before it returns from the write.
        let mut next = clock.now();
        while let Some(&first) = self.out.front() {
            let count = self.together(port.has_header());
            let actual = next;
            let written = self.write(first, count, port);
            next = clock.now();
            let mut health = DeviceState::Open;
            let mut sent = true;
            match written {
                Ok(_) => {}
                Err(error) if is_full(&error) && self.out.len() <= MOST_WAITING => {
                    return DeviceState::Exhausted;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    sent = false;
                    if is_closed(&error) {
                        health = DeviceState::Closed;
                    }
                }
            }
            for release in self.out.drain(..count.min(self.out.len())) {
                if sent {
                    let late = actual.since(release.due);
                    self.lateness.record(late, 1);
                    self.counts.sent_packets += 1;
                    self.counts.sent_bytes += u64::from(release.size);
                } else {
                    self.counts.refused += 1;
                }
                if self.recording {
                    self.pool.set_written(release.handle, actual, release.marks.header);
                }
                self.done.push(release.handle);
            }
            if health == DeviceState::Closed {
                return health;
            }
        }
        DeviceState::Open
    }

    /// Returns the number of packets at the front that can be written as one piece: neighbours out of one piece, with
    /// equal ECN fields and unchanged congestion headers. Packets marked CE are written singly, since receivers count
    /// pieces, not segments.
    fn together(&self, header: bool) -> usize {
        let mut releases = self.out.iter();
        let Some(first) = releases.next() else { return 0 };
        if !header || first.marks.ecn == Ecn::Ce {
            return 1;
        }
        let Some(bytes) = self.pool.bytes(first.handle) else { return 1 };
        let is_rewritten = |release: &Release, bytes: &Bytes<'_>| {
            bytes.layout.is_rewritten(bytes.packet(), bytes.segment, &release.marks)
        };
        if bytes.layout.segments() == 1 || is_rewritten(first, &bytes) {
            return 1;
        }
        let follow = releases.zip(1..).take_while(|(next, offset)| {
            next.marks.ecn == first.marks.ecn
                && self.pool.bytes(next.handle).is_some_and(|other| {
                    let follows = other.segment == bytes.segment + offset;
                    other.buffer == bytes.buffer && follows && !is_rewritten(next, &other)
                })
        });
        1 + follow.count()
    }

    fn write<P: Port>(&mut self, first: Release, count: usize, port: &mut P) -> io::Result<usize> {
        let Some(bytes) = self.pool.bytes(first.handle) else { return Ok(0) };
        let (layout, segment) = (bytes.layout, bytes.segment);
        let (packet, marks) = (bytes.packet(), &first.marks);
        if !port.has_header() {
            if layout.is_whole(packet, marks) && layout.has_checksum() {
                return port.write(&[IoSlice::new(packet)]);
            }
            self.whole.clear();
            layout.complete(packet, segment, marks, &mut self.whole);
            return port.write(&[IoSlice::new(&self.whole)]);
        }
        if bytes.headers == HEADER && layout.is_whole(packet, marks) {
            return port.write(&[IoSlice::new(bytes.all)]);
        }
        let (from, to) = layout.head(packet, segment, count as u16, marks, &mut self.head);
        let payload = packet.get(from..to).unwrap_or_default();
        port.write(&[IoSlice::new(self.head.bytes()), IoSlice::new(payload)])
    }

    /// Passes the events up to `now` to observers, and gives the bytes of packets that have gone back to the pool.
    pub(super) fn settle(&mut self, now: Time, watchers: &mut Watchers) {
        if self.recording {
            // What waits for the device has no time of departure yet.
            if self.is_blocked() {
                return;
            }
            let bytes_wanted = watchers.want_bytes();
            let Lane { direction, chain, pool, whole, .. } = self;
            chain.tell(|stage, element, last, event| {
                let handle = event.number as u32;
                let departure = matches!(event.kind, EventKind::Departure { .. });
                let mut marks = Marks::ecn(event.after);
                let mut actual = now;
                if departure && last {
                    (actual, marks.header) = pool.written(handle);
                }
                // The element may be ahead of the clock's last reading, never of the next.
                let actual = if actual == Time::NEVER { now } else { actual }.max(event.time);
                whole.clear();
                if bytes_wanted && let Some(bytes) = pool.bytes(handle) {
                    bytes.layout.complete(bytes.packet(), bytes.segment, &marks, whole);
                }
                watchers.event(&LiveEvent {
                    direction: *direction,
                    stage,
                    element,
                    event,
                    actual,
                    bytes: whole,
                });
            });
        }
        self.chain.give_back(&mut self.pool);
        for handle in self.done.drain(..) {
            self.pool.release(handle);
        }
    }

    /// Returns the counters up to `end`; packets released later than `bound` are late.
    pub(super) fn summary(&self, end: Time, bound: Span) -> DirectionSummary {
        DirectionSummary {
            lateness: self.lateness.summary(),
            late_packets: self.lateness.beyond(bound),
            stages: self.chain.summaries(end),
            ..self.counts.clone()
        }
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
