//! The data that this end sends: a sender of `flow`, and the bytes of its segments.

use std::collections::VecDeque;

use paceline_cc::{Ack, Body, Data, NO_SEGMENT, Packet, Report, Span, Stage as _, Time};
use paceline_flow::{Sender, SenderStats};

use super::credit::SpentCredit;
use crate::FormatError;
use crate::cipher::TAG;
use crate::frame::{self, DATA, DATAGRAM_PART, Kind, MOST_DATAGRAM_PARTS, PART};
use crate::terms::Service;

/// Largest number of waiting datagrams.
const MOST_DATAGRAMS: usize = 1024;

/// Position of a segment's bytes in the stream.
#[derive(Copy, Clone, Debug)]
struct Piece {
    offset: u64,
    length: u32,
}

/// A waiting datagram, or a part of one.
#[derive(Debug)]
struct Datagram {
    bytes: Vec<u8>,
    kind: Kind,
}

impl Datagram {
    /// Returns the length in bytes, plus the bytes by which the frame of a part is longer than that
    /// of a whole datagram.
    fn length(&self) -> usize {
        let more = if self.kind == Kind::Datagram { 0 } else { DATAGRAM_PART - DATA };
        self.bytes.len() + more
    }
}

/// The part of a segment that is written next: its packet and piece, its position, and the bytes of
/// data that a packet carries.
struct NextPart<'a> {
    packet: &'a Packet,
    from: u32,
    capacity: usize,
    piece: Piece,
}

/// The sending side of this end.
pub(super) struct Outgoing {
    sender: Sender,
    service: Service,
    /// Bytes of a full packet, and those of them that are not data, IP and UDP headers included.
    mtu: u64,
    overhead: u64,
    /// Bytes of IP and UDP headers, which are included in `overhead`.
    ip_udp: u64,
    /// A packet whose data is longer than the path's packets, and the position of its next part.
    rest: Option<(Packet, u32)>,
    /// Bytes sent and not acknowledged, followed by bytes not sent yet.
    buffer: VecDeque<u8>,
    /// Position of the buffer in the stream, and position of the first byte not sent yet.
    base: u64,
    next: u64,
    most: usize,
    /// How much of the stream the other end lets this one send.
    credit: SpentCredit,
    /// The segments from number `first` on.
    pieces: VecDeque<Piece>,
    first: u64,
    datagrams: VecDeque<Datagram>,
    /// Length of the largest datagram; bytes of the waiting datagrams; bytes that the application
    /// holds back.
    longest: usize,
    datagram_bytes: u64,
    announced: u64,
    finished: bool,
    /// The packet popped from the sender that is being written.
    place: Packet,
}

impl Outgoing {
    pub(super) fn new(
        sender: Sender,
        service: Service,
        (mtu, overhead, ip_udp): (u64, u64, u64),
        most: usize,
        credit: SpentCredit,
    ) -> Outgoing {
        Outgoing {
            longest: mtu.saturating_sub(overhead) as usize,
            datagram_bytes: 0,
            announced: 0,
            sender,
            service,
            mtu,
            overhead,
            ip_udp,
            rest: None,
            buffer: VecDeque::new(),
            base: 0,
            next: 0,
            most,
            credit,
            pieces: VecDeque::new(),
            first: 0,
            datagrams: VecDeque::new(),
            finished: false,
            place: Packet::opaque(0),
        }
    }

    /// Returns the number of bytes of the stream that have arrived without a gap.
    pub(super) fn acknowledged(&self) -> u64 {
        self.base
    }
    /// Returns the number of bytes of the stream sent at least once.
    pub(super) fn stream_sent(&self) -> u64 {
        self.next
    }
    pub(super) fn stats(&self) -> SenderStats {
        self.sender.stats()
    }
    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }
    pub(super) fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }
    pub(super) fn take_rtt(&mut self) -> Option<Span> {
        self.sender.take_rtt()
    }
    pub(super) fn wake(&self) -> Time {
        match self.finished {
            true => Time::NEVER,
            false if self.rest.is_some() => Time::ZERO,
            false => self.sender.wake().min(self.credit.wake()),
        }
    }
    /// Sets the largest size of packets. Drops waiting datagrams that are longer.
    pub(super) fn set_mtu(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.longest = self.mtu.saturating_sub(self.overhead) as usize;
        self.sender.set_largest(self.mtu);
        self.datagrams.retain(|datagram| datagram.length() <= self.longest);
        self.datagram_bytes = self.datagrams.iter().map(|datagram| datagram.length() as u64).sum();
        self.tell_ready();
    }
    /// Handles a change of the path, and of the size of IP and UDP headers with it: forgets
    /// estimates of the old path.
    pub(super) fn on_new_path(&mut self, ip_udp: usize) {
        self.overhead = self.overhead.saturating_sub(self.ip_udp) + ip_udp as u64;
        self.ip_udp = ip_udp as u64;
        self.sender.on_new_path();
        self.set_mtu(u16::try_from(self.mtu).unwrap_or(u16::MAX));
    }
    /// Tells the scheme that the application has had no data for a while (`rests`), or that it has
    /// data again.
    pub(super) fn set_rest(&mut self, now: Time, rests: bool) {
        self.sender.set_rest(now, rests);
    }
    /// Stops sending new data and retransmissions.
    pub(super) fn stop(&mut self) {
        self.finished = true;
    }
    /// Returns true if all data written is acknowledged.
    pub(super) fn is_drained(&self) -> bool {
        self.buffer.is_empty() && self.pieces.is_empty() && self.datagrams.is_empty()
    }
    /// Returns the number of bytes that can be written.
    pub(super) fn room(&self) -> usize {
        self.most.saturating_sub(self.buffer.len())
    }
    /// Takes bytes of the stream, as many as there is room for. Returns their number.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        self.buffer.extend(bytes.get(..taken).unwrap_or(&[]));
        self.tell_ready();
        taken
    }
    /// Returns the length of the longest datagram.
    pub(super) fn longest_datagram(&self) -> usize {
        self.longest
    }
    /// Takes a datagram. Returns false if too many wait, or if it is too long.
    pub(super) fn write_datagram(&mut self, bytes: &[u8]) -> bool {
        let takes = self.datagrams.len() < MOST_DATAGRAMS && bytes.len() <= self.longest;
        if takes {
            self.queue_datagram(bytes, Kind::Datagram);
            self.tell_ready();
        }
        takes
    }
    /// Takes a datagram, and divides it into parts if it is longer than a packet. Returns false if
    /// too many wait, or if it would need too many parts.
    pub(super) fn write_long_datagram(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() <= self.longest {
            return self.write_datagram(bytes);
        }
        let part = self.longest.saturating_sub(DATAGRAM_PART - DATA).max(1);
        let count = bytes.len().div_ceil(part);
        let takes = count <= usize::from(MOST_DATAGRAM_PARTS)
            && self.datagrams.len() + count <= MOST_DATAGRAMS;
        if takes {
            for (index, bytes) in bytes.chunks(part).enumerate() {
                let kind = Kind::DatagramPart { index: index as u8, count: count as u8 };
                self.queue_datagram(bytes, kind);
            }
            self.tell_ready();
        }
        takes
    }
    fn queue_datagram(&mut self, bytes: &[u8], kind: Kind) {
        let datagram = Datagram { bytes: bytes.to_vec(), kind };
        self.datagram_bytes += datagram.length() as u64;
        self.datagrams.push_back(datagram);
    }
    /// Sets the number of bytes of datagrams that the application holds back.
    pub(super) fn announce_datagrams(&mut self, bytes: u64) {
        self.announced = bytes;
    }
    /// Returns the number of waiting datagrams.
    pub(super) fn waiting_datagrams(&self) -> usize {
        self.datagrams.len()
    }

    /// Returns the bytes of the stream that have not been sent yet.
    fn unsent(&self) -> u64 {
        self.base + self.buffer.len() as u64 - self.next
    }

    /// Returns the unsent bytes of the stream that the other end has room for.
    fn sendable(&self) -> u64 {
        self.unsent().min(self.credit.beyond(self.next))
    }

    /// Notes that the other end grants the bytes of the stream below `limit`.
    pub(super) fn on_credit(&mut self, limit: u64) {
        self.credit.on_granted(limit);
        self.tell_ready();
    }
    /// Returns the present limit, if it is time to ask for more.
    pub(super) fn pop_credit_question(&mut self, now: Time) -> Option<u64> {
        let waits = !self.finished && self.unsent() > 0 && self.credit.beyond(self.next) == 0;
        self.credit.pop(now, waits, self.sender.rtt().smoothed())
    }

    fn tell_ready(&mut self) {
        match self.service {
            Service::Stream => {
                let waiting = self.sendable();
                // While several packets wait, an upper bound suffices: only the last one must fit
                // exactly.
                self.sender.set_ready(if waiting > 0 { waiting + self.overhead } else { 0 });
            }
            Service::Datagrams => {
                let Some(front) = self.datagrams.front() else {
                    self.sender.set_datagrams(self.overhead, 0);
                    return;
                };
                // Exact for the size of the next packet, and for whether it is the last one.
                let length = front.length() as u64;
                let next = length + self.overhead;
                let behind = self.datagram_bytes - length + self.announced;
                self.sender.set_datagrams(next, next + behind);
            }
            Service::Filler => {}
        }
    }

    /// Takes an acknowledgement in.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack, older: frame::OlderRanges<'_>) {
        let cumulative = ack.cumulative;
        self.sender.push_ack(now, ack, older);
        while self.first < cumulative && self.pieces.pop_front().is_some() {
            self.first += 1;
        }
        let end = self.pieces.front().map_or(self.next, |piece| piece.offset);
        let done = end.saturating_sub(self.base).min(self.buffer.len() as u64);
        self.buffer.drain(..done as usize);
        self.base += done;
    }

    /// Takes a report in.
    pub(super) fn on_report(&mut self, now: Time, report: Report) {
        self.push(now, Body::Report(report));
    }

    fn push(&mut self, now: Time, body: Body) {
        self.sender.push(now, &Packet { body, ..Packet::opaque(0) });
    }

    /// Returns the next packet that is due, and the position in its data of the part to be sent.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<(Packet, u32)> {
        if self.finished {
            return None;
        }
        if let Some(rest) = self.rest.take() {
            return Some(rest);
        }
        self.tell_ready();
        self.sender.pop_into(now, &mut self.place).then_some((self.place, 0))
    }

    /// Writes the frames of a popped packet, from `from` of its data on, into `room`, which begins
    /// after the headers. `ip_udp` is the size of the IP and UDP headers. Returns the length of the
    /// frames.
    pub(super) fn fill(
        &mut self,
        now: Time,
        (packet, from): (&Packet, u32),
        data: &Data,
        headers: (usize, usize),
        room: &mut [u8],
    ) -> Result<usize, FormatError> {
        let (ip_udp, header) = headers;
        let fixed = ip_udp + header + TAG + DATA;
        // Padding before the data makes up for a congestion header shorter than `overhead` allows.
        let spare = (self.overhead as usize).saturating_sub(fixed);
        let size = (packet.size as usize).min(self.mtu as usize);
        let capacity = size.saturating_sub(self.overhead as usize);
        let padding = spare.min(size.saturating_sub(fixed));
        let sent = now.as_nanos() / 1000;
        let of = |kind, segment: u64, room: &mut [u8], padding: usize| {
            let place = room.get_mut(..padding).ok_or(FormatError::Room("padding"))?;
            place.fill(0);
            let head =
                frame::Data { kind, number: data.number, segment, cwr: data.cwr, sent, bytes: &[] };
            let place = room.get_mut(padding..).ok_or(FormatError::Room("data"))?;
            Ok::<usize, FormatError>(padding + frame::write_data_header(&head, place)?)
        };
        let (at, length) = match self.service {
            Service::Stream if data.segment != NO_SEGMENT => {
                let Some(piece) = self.piece(data.segment, capacity) else {
                    return of(Kind::Filler, data.segment, room, padding);
                };
                if piece.length as usize > capacity {
                    let part = NextPart { packet, from, capacity, piece };
                    return self.fill_part(now, data, &part, room);
                }
                let at = of(Kind::Stream, data.segment, room, padding)?;
                let length = piece.length as usize;
                let place = room.get_mut(at..at + length).ok_or(FormatError::Room("data"))?;
                let from = (piece.offset - self.base) as usize;
                copy(&self.buffer, from, place);
                (at, length)
            }
            Service::Datagrams if data.segment == self.first => {
                self.first += 1;
                let front = self.datagrams.pop_front();
                self.datagram_bytes -= front.as_ref().map_or(0, |front| front.length() as u64);
                let none = Datagram { bytes: Vec::new(), kind: Kind::Datagram };
                let Datagram { bytes, kind } = front.unwrap_or(none);
                let at = of(kind, data.segment, room, padding)?;
                let place = room.get_mut(at..at + bytes.len());
                place.ok_or(FormatError::Room("a datagram"))?.copy_from_slice(&bytes);
                (at, bytes.len())
            }
            _ => {
                let at = of(Kind::Filler, data.segment, room, padding)?;
                let place = room.get_mut(at..at + capacity).ok_or(FormatError::Room("data"))?;
                place.fill(0);
                (at, capacity)
            }
        };
        Ok(at + length)
    }

    /// Writes a part of a piece that is longer than the path's packets have become. All parts have
    /// the number of the transmission, which is acknowledged when the segment is complete.
    #[cold]
    fn fill_part(
        &mut self,
        now: Time,
        data: &Data,
        part: &NextPart<'_>,
        room: &mut [u8],
    ) -> Result<usize, FormatError> {
        let NextPart { packet, from, capacity, piece } = *part;
        let most = capacity.saturating_sub(PART - DATA).max(1) as u32;
        let length = piece.length.saturating_sub(from).min(most);
        let head = frame::Part {
            data: frame::Data {
                kind: Kind::Stream,
                number: data.number,
                segment: data.segment,
                cwr: data.cwr,
                sent: now.as_nanos() / 1000,
                bytes: &[],
            },
            offset: from as u16,
            total: piece.length as u16,
        };
        let at = frame::write_part_header(&head, room)?;
        let place = room.get_mut(at..at + length as usize).ok_or(FormatError::Room("data"))?;
        copy(&self.buffer, (piece.offset - self.base) as usize + from as usize, place);
        if from + length < piece.length {
            self.rest = Some((*packet, from + length));
        }
        Ok(at + length as usize)
    }

    /// Returns the piece of a segment, which it makes if the segment is new; `None` if it is
    /// acknowledged.
    fn piece(&mut self, segment: u64, capacity: usize) -> Option<Piece> {
        let index = segment.checked_sub(self.first)?;
        if let Some(piece) = self.pieces.get(index as usize) {
            return Some(*piece);
        }
        let length = self.sendable().min(capacity as u64);
        let piece = Piece { offset: self.next, length: length as u32 };
        self.next += length;
        self.pieces.push_back(piece);
        Some(piece)
    }
}

/// Copies bytes out of a ring buffer.
fn copy(ring: &VecDeque<u8>, from: usize, into: &mut [u8]) {
    let (front, back) = ring.as_slices();
    let split = front.len().saturating_sub(from).min(into.len());
    let (head, tail) = into.split_at_mut(split);
    if let Some(bytes) = front.get(from..from + split) {
        head.copy_from_slice(bytes);
    }
    let from = (from + split).saturating_sub(front.len());
    if let Some(bytes) = back.get(from..from + tail.len()) {
        tail.copy_from_slice(bytes);
    }
}
