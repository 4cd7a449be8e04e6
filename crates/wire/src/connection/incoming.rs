//! The data that this end receives: a receiver of `flow`, and the bytes that wait for earlier ones.

use std::collections::{BTreeMap, VecDeque};

use paceline_cc::{
    Ack, Body, Data, Ecn, Header, NO_SEGMENT, Packet, Stage as _, Time, TrafficClass,
};
use paceline_flow::{EMPTY_SIZE, Receiver, ReceiverStats};

use super::credit::GrantedCredit;
use super::datagram_reassembly::DatagramReassembly;
use super::held::HeldBytes;
use super::segment_reassembly::SegmentReassembly;
use super::{Arrival, Sink};
use crate::frame::{self, Kind};
use crate::terms::Service;

/// Assumed minimum of data in a full packet, by which a window is converted into segments.
const LEAST_DATA: u64 = 1024;

/// Number of acknowledgements kept for packets that arrive in one batch, as if each packet had
/// arrived alone. Further packets are acknowledged at the end of the batch.
const MOST_EARLY: usize = 8;

/// The properties of a packet outside its frames.
#[derive(Copy, Clone, Debug)]
pub(super) struct Envelope {
    pub(super) header: Header,
    pub(super) ecn: Ecn,
    pub(super) size: u32,
    /// Length of its datagram in bytes, without IP and UDP headers.
    pub(super) length: u32,
    pub(super) class: TrafficClass,
}

/// The receiving side of this end.
pub(super) struct Incoming {
    receiver: Receiver,
    service: Service,
    class: TrafficClass,
    window: u64,
    /// Credit granted to the other end, if the application reports what it has consumed.
    credit: Option<GrantedCredit>,
    /// This connection's share of the budget of all connections.
    held: HeldBytes,
    /// The first missing segment.
    next: u64,
    /// Data that has arrived beyond `next`.
    out_of_order: BTreeMap<u64, Vec<u8>>,
    out_of_order_bytes: u64,
    /// Segments and datagrams of which some parts have arrived.
    parts: SegmentReassembly,
    reassembly: DatagramReassembly,
    /// The last acknowledgement, and whether to send it again.
    last: Option<Ack>,
    again: bool,
    /// Acknowledgements of packets that arrived before others in one batch.
    early: VecDeque<Body>,
}

impl Incoming {
    pub(super) fn new(
        receiver: Receiver,
        service: Service,
        class: TrafficClass,
        (window, credit): (u64, Option<GrantedCredit>),
        held: HeldBytes,
    ) -> Incoming {
        Incoming {
            receiver,
            service,
            class,
            window,
            credit,
            held,
            next: 0,
            out_of_order: BTreeMap::new(),
            out_of_order_bytes: 0,
            parts: SegmentReassembly::default(),
            reassembly: DatagramReassembly::default(),
            last: None,
            again: false,
            early: VecDeque::new(),
        }
    }

    pub(super) fn stats(&self) -> ReceiverStats {
        self.receiver.stats()
    }
    pub(super) fn class(&self) -> TrafficClass {
        self.class
    }
    pub(super) fn wake(&self) -> Time {
        let credit = self.credit.as_ref().is_some_and(GrantedCredit::is_due);
        if self.again || credit || !self.early.is_empty() {
            return Time::ZERO;
        }
        self.receiver.wake()
    }
    /// Returns the credit to be granted now, if any.
    pub(super) fn pop_credit(&mut self) -> Option<u64> {
        self.credit.as_mut()?.pop()
    }
    /// Notes that the other end asks for credit. Returns false if this end grants none.
    pub(super) fn on_credit_question(&mut self) -> bool {
        self.credit.as_mut().map(GrantedCredit::on_asked).is_some()
    }
    /// Notes that the application has consumed `bytes` more.
    pub(super) fn consume(&mut self, bytes: u64) {
        if let Some(credit) = &mut self.credit {
            credit.consume(bytes);
            self.note_held();
        }
    }
    /// Returns the bytes of the stream passed to the application and not consumed.
    pub(super) fn unread(&self) -> u64 {
        self.credit.as_ref().map_or(0, GrantedCredit::unread)
    }
    /// Updates this connection's share of the budget.
    fn note_held(&mut self) {
        self.held.set(self.buffered_bytes() + self.unread());
    }
    /// Returns the next acknowledgement or report that is due.
    pub(super) fn pop(&mut self, now: Time) -> Option<Body> {
        if let Some(body) = self.early.pop_front() {
            return Some(body);
        }
        if let Some(packet) = self.receiver.pop(now) {
            if let Body::Ack(ack) = packet.body {
                (self.last, self.again) = (Some(ack), false);
            }
            return Some(packet.body);
        }
        std::mem::take(&mut self.again).then_some(self.last.map(Body::Ack)).flatten()
    }
    /// Returns the ranges of numbers that `ack` reports beside its blocks.
    pub(super) fn older_ranges(&self, ack: &Ack) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.receiver.older_ranges(ack)
    }
    /// Sends the last acknowledgement again, since earlier ones may have gone to an address that
    /// the other end has left.
    pub(super) fn repeat(&mut self) {
        self.again = self.last.is_some();
    }
    /// Returns the number of bytes that wait for earlier ones.
    pub(super) fn buffered_bytes(&self) -> u64 {
        self.out_of_order_bytes + self.parts.buffered_bytes() + self.reassembly.buffered_bytes()
    }

    /// Takes in a part of a segment. The segment counts as arrived when it is complete. Returns
    /// false if the part is not accepted.
    #[cold]
    pub(super) fn on_part(
        &mut self,
        now: Time,
        part: &frame::Part<'_>,
        envelope: Envelope,
        connection: u32,
        sink: &mut dyn Sink,
    ) -> bool {
        let frame::Part { data, offset, total } = *part;
        let (end, total) = (usize::from(offset) + data.bytes.len(), usize::from(total));
        if data.segment < self.next || self.out_of_order.contains_key(&data.segment) {
            // The segment is complete already: the part only lets the transmission be acknowledged.
            let known = frame::Data { bytes: &[], ..data };
            return end < total || self.on_data(now, &known, envelope, connection, sink);
        }
        // The first missing segment always has room, since without it no data would ever leave.
        let fits = match data.segment == self.next {
            // Its own stored parts count as part of it.
            true => self.takes_next(0),
            false => self.takes_ahead(total as u64),
        };
        if !self.takes(&data) || !fits {
            return false;
        }
        let pushed = self.parts.push(part, envelope.size);
        self.note_held();
        match pushed {
            Err(()) => false,
            Ok(None) => true,
            Ok(Some((bytes, size))) => {
                let whole = frame::Data { bytes: &bytes, ..data };
                self.on_data(now, &whole, Envelope { size, ..envelope }, connection, sink)
            }
        }
    }

    /// Takes in data. Returns false if it is not accepted, as if it had been lost.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        now: Time,
        data: &frame::Data<'_>,
        envelope: Envelope,
        connection: u32,
        sink: &mut dyn Sink,
    ) -> bool {
        if !self.takes(data) {
            return false;
        }
        let sent = Time::from_nanos(data.sent.saturating_mul(1000));
        // Headers here are longer than the sender of a packet without data has counted, and Sprout
        // computes the queue from the difference of the two counts.
        let size = if data.bytes.is_empty() { EMPTY_SIZE } else { envelope.size };
        self.receiver.push(
            now,
            &Packet {
                flow: 0,
                size,
                route: 0,
                ecn: envelope.ecn,
                class: envelope.class,
                sent,
                queued: sent,
                body: Body::Data(Data {
                    number: data.number,
                    segment: data.segment,
                    header: envelope.header,
                    cwr: data.cwr,
                    push: false,
                }),
            },
        );
        // Schemes rely on acknowledgements as frequent as in the simulator, also where a link
        // delivers several packets at one moment. The receiver keeps only one acknowledgement,
        // which a change of marks has triggered (its wake is then time zero).
        let due = self.receiver.wake();
        if (due == Time::ZERO || (due <= now && self.early.len() < MOST_EARLY))
            && let Some(packet) = self.receiver.pop(now)
        {
            if let Body::Ack(ack) = packet.body {
                (self.last, self.again) = (Some(ack), false);
            }
            self.early.push_back(packet.body);
        }
        let Envelope { size, length, .. } = envelope;
        let arrival = Arrival { number: data.number, sent, size, length };
        sink.on_packet(connection, now, &arrival);
        match data.kind {
            Kind::Datagram => sink.on_datagram(connection, data.bytes),
            Kind::DatagramPart { index, count } => {
                let whole = self.reassembly.push(data.segment, (index, count), data.bytes);
                self.note_held();
                if let Some(whole) = whole {
                    sink.on_datagram(connection, &whole);
                }
            }
            Kind::Stream => self.deliver(data, connection, sink),
            Kind::Filler => {}
        }
        true
    }

    /// Returns true if there is room for `length` bytes beyond a gap.
    #[inline]
    fn takes_ahead(&self, length: u64) -> bool {
        let held = self.buffered_bytes() + self.unread();
        held + length <= self.window && self.held.has_room(length)
    }
    /// Returns true if there is room for `length` bytes of the first missing segment. Room lacks
    /// only with an application that reads later: if the bytes were not granted, or if the budget
    /// is used up while the application has unread bytes.
    #[inline]
    fn takes_next(&self, length: u64) -> bool {
        let Some(credit) = &self.credit else { return true };
        let unread = credit.unread();
        let granted = self.buffered_bytes() + unread + length <= self.window;
        granted && (unread == 0 || self.held.has_room(length))
    }

    /// Returns true if the connection carries data of this kind and has room for it.
    fn takes(&self, data: &frame::Data<'_>) -> bool {
        let empty = data.segment == NO_SEGMENT;
        match (self.service, data.kind) {
            (Service::Stream, Kind::Stream) => {
                let ahead = data.segment.saturating_sub(self.next);
                let length = data.bytes.len() as u64;
                let far = ahead > self.window / LEAST_DATA + 16;
                match ahead {
                    0 => !empty && (data.segment < self.next || self.takes_next(length)),
                    _ => !empty && !far && self.takes_ahead(length),
                }
            }
            // Repetitions of arrived data, and packets that only keep control going.
            (Service::Stream, Kind::Filler) => empty || data.segment < self.next,
            (Service::Datagrams, Kind::Datagram | Kind::DatagramPart { .. }) => !empty,
            (Service::Datagrams | Service::Filler, Kind::Filler) => true,
            _ => false,
        }
    }

    fn deliver(&mut self, data: &frame::Data<'_>, connection: u32, sink: &mut dyn Sink) {
        if data.segment > self.next {
            self.out_of_order.entry(data.segment).or_insert_with(|| {
                self.out_of_order_bytes += data.bytes.len() as u64;
                data.bytes.to_vec()
            });
            self.note_held();
            return;
        }
        if data.segment < self.next {
            return;
        }
        let mut delivered = data.bytes.len() as u64;
        sink.on_stream(connection, data.bytes);
        self.next += 1;
        while let Some(entry) =
            self.out_of_order.first_entry().filter(|entry| *entry.key() == self.next)
        {
            let bytes = entry.remove();
            self.out_of_order_bytes -= bytes.len() as u64;
            delivered += bytes.len() as u64;
            sink.on_stream(connection, &bytes);
            self.next += 1;
        }
        if let Some(credit) = &mut self.credit {
            credit.on_delivered(delivered);
        }
        self.parts.forget_below(self.next);
        self.note_held();
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Spec;
    use paceline_schemes::registry;

    use super::super::setup;
    use super::*;
    use crate::connection::{HeldBudget, Limits};
    use crate::terms::Offer;

    #[derive(Default)]
    struct Stream(Vec<u8>);
    impl Sink for Stream {
        fn on_stream(&mut self, _connection: u32, bytes: &[u8]) {
            self.0.extend(bytes);
        }
    }

    #[test]
    fn the_missing_segment_is_taken_in_parts_however_full_the_window_is() {
        let halves = registry::build(&Spec::parse("cubic").expect("a name")).expect("a scheme");
        let limits = Limits { window: 4096, ..Limits::default() };
        let mut incoming = setup::incoming(&halves, &Offer::default(), &limits);
        let (header, ecn, class) = (Header::None, Ecn::NotEct, incoming.class());
        let envelope = Envelope { header, ecn, size: 1500, length: 1472, class };
        let (mut stream, now) = (Stream::default(), Time::from_secs(1));
        let data = |segment, bytes| {
            let number = segment;
            frame::Data { kind: Kind::Stream, number, segment, cwr: false, sent: 0, bytes }
        };
        // A whole window of data waits for segment 0, no part of which has arrived.
        for segment in [1, 2] {
            assert!(incoming.on_data(now, &data(segment, &[7; 2048]), envelope, 1, &mut stream));
        }
        assert_eq!(incoming.buffered_bytes(), 4096);
        let later = frame::Part { data: data(3, &[3; 700]), offset: 0, total: 1400 };
        assert!(!incoming.on_part(now, &later, envelope, 1, &mut stream), "there is no room");
        for offset in [0, 700] {
            let part = frame::Part { data: data(0, &[0; 700]), offset, total: 1400 };
            assert!(incoming.on_part(now, &part, envelope, 1, &mut stream));
        }
        assert_eq!((stream.0.len(), incoming.buffered_bytes()), (1400 + 4096, 0));
    }

    #[test]
    fn connections_share_the_budget_for_bytes_beyond_gaps() {
        let halves = registry::build(&Spec::parse("cubic").expect("a name")).expect("a scheme");
        let limits = Limits { held: HeldBudget::new(100_000), ..Limits::default() };
        let mut greedy = setup::incoming(&halves, &Offer::default(), &limits);
        let mut other = setup::incoming(&halves, &Offer::default(), &limits);
        let (header, ecn, class) = (Header::None, Ecn::NotEct, greedy.class());
        let envelope = Envelope { header, ecn, size: 1500, length: 1472, class };
        let (mut stream, now) = (Stream::default(), Time::from_secs(1));
        let bytes = [7; 1000];
        let data = |segment| {
            let (kind, number) = (Kind::Stream, segment);
            frame::Data { kind, number, segment, cwr: false, sent: 0, bytes: &bytes }
        };
        let mut fill = |one: &mut Incoming| {
            let taken = (1..1000)
                .filter(|segment| one.on_data(now, &data(*segment), envelope, 1, &mut stream));
            taken.count()
        };
        // Segment 0 is missing. One connection uses up the budget; another has its own 64 KiB.
        assert_eq!((fill(&mut greedy), fill(&mut other)), (100, 65));
        assert_eq!(limits.held.held(), 165_000);
        // The next segment in order always has room, and frees the bytes that waited for it.
        assert!(other.on_data(now, &data(0), envelope, 1, &mut stream));
        assert_eq!((stream.0.len(), limits.held.held()), (66_000, 100_000));
        drop(greedy);
        assert_eq!(limits.held.held(), 0);
    }

    #[test]
    fn a_sender_that_ignores_its_credit_gets_no_more_than_the_window_held() {
        let halves = registry::build(&Spec::parse("cubic").expect("a name")).expect("a scheme");
        let limits = Limits { window: 10_000, reads_later: true, ..Limits::default() };
        let mut incoming = setup::incoming(&halves, &Offer::default(), &limits);
        let (header, ecn, class) = (Header::None, Ecn::NotEct, incoming.class());
        let envelope = Envelope { header, ecn, size: 1500, length: 1472, class };
        let (mut stream, now) = (Stream::default(), Time::from_secs(1));
        let bytes = [7; 1000];
        let data = |segment| {
            let (kind, number) = (Kind::Stream, segment);
            frame::Data { kind, number, segment, cwr: false, sent: 0, bytes: &bytes }
        };
        let mut push = |incoming: &mut Incoming, segment| {
            incoming.on_data(now, &data(segment), envelope, 1, &mut stream)
        };
        // Behind the gap, as many bytes arrive as were granted; this leaves no room for those
        // before.
        assert_eq!((8..30).filter(|&segment| push(&mut incoming, segment)).count(), 10);
        assert!(!push(&mut incoming, 0));
        drop(incoming);
        let mut incoming = setup::incoming(&halves, &Offer::default(), &limits);
        assert_eq!((0..30).filter(|&segment| push(&mut incoming, segment)).count(), 10);
        assert_eq!((incoming.unread(), incoming.pop_credit()), (10_000, None));
        // Data that arrives again is acknowledged again all the same.
        assert!(push(&mut incoming, 3));
        incoming.consume(10_000);
        assert_eq!((incoming.unread(), incoming.pop_credit()), (0, Some(20_000)));
        assert!(push(&mut incoming, 10));
        assert_eq!(limits.held.held(), 1_000);
    }
}
