//! A connection: takes packets and the time in, gives packets out.

mod application;
mod blackhole;
mod credit;
mod datagram_reassembly;
mod forgeries;
mod held;
mod idle;
mod incoming;
mod keys;
mod messages;
mod outgoing;
mod path;
mod peer;
mod rest;
mod role;
mod segment_reassembly;
mod setup;
mod unanswered;

pub use idle::LONGEST_IDLE;
use idle::quiet;
pub use role::Role;
pub use setup::Limits;

use core::net::SocketAddr;
use std::collections::VecDeque;

use paceline_cc::{Ack, Body, Ecn, Header, Packet, Span, Time};

use self::blackhole::BlackHole;
use self::forgeries::Forgeries;
pub use self::held::HeldBudget;
use self::incoming::{Envelope, Incoming};
use self::keys::{KeyFrame, Keyring, OpenError};
use self::messages::Messages;
use self::outgoing::Outgoing;
use self::path::Path;
use self::peer::Peer;
use self::rest::Rest;
use self::unanswered::Unanswered;
use crate::bytes::printable;
use crate::cipher::{ReplayWindow, TAG};
use crate::frame::{self, Frame, Frames, Kind, OlderRanges};
use crate::packet::{self, SHORT, Transport};
use crate::terms::Service;

/// Number of times that a close is sent before the other end counts as gone.
const CLOSES: u32 = 5;
/// Largest number of pings waiting to be answered.
const MOST_PONGS: usize = 16;

/// Receives what arrives on a connection.
pub trait Sink {
    /// Takes the next bytes of the stream.
    fn on_stream(&mut self, _connection: u32, _bytes: &[u8]) {}
    /// Takes a datagram of the application.
    fn on_datagram(&mut self, _connection: u32, _bytes: &[u8]) {}
    /// Takes the arrival of a data packet.
    fn on_packet(&mut self, _connection: u32, _now: Time, _arrival: &Arrival) {}
    /// Takes an RTT sample.
    fn on_rtt(&mut self, _connection: u32, _rtt: Span) {}
    /// Takes an acknowledgement of this end's data. `packet` is the number of its packet and the
    /// length of its datagram in bytes.
    fn on_ack(&mut self, _connection: u32, _now: Time, _packet: (u64, u32), _ack: &Ack) {}
}

/// A data packet that has arrived.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Transmission number.
    pub number: u64,
    /// When it was sent on the sender's clock.
    pub sent: Time,
    /// Size in bytes on the wire, IP and UDP headers included.
    pub size: u32,
    /// Length of its datagram in bytes, without those headers.
    pub length: u32,
}

/// A packet to be sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Destination.
    pub to: SocketAddr,
    /// Number of bytes written.
    pub length: usize,
    /// ECN field of its IP header.
    pub ecn: Ecn,
    /// Packet number.
    pub number: u64,
    /// Transmission number of the data in it, if it carries data.
    pub data: Option<u64>,
    /// True if it carries an acknowledgement: [`Connection::latest_ack`].
    pub ack: bool,
}

/// How a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// This end closed it.
    Here {
        /// 0 for a normal end.
        code: u16,
        /// Reason.
        reason: String,
    },
    /// The other end closed it.
    There {
        /// 0 for a normal end.
        code: u16,
        /// Reason.
        reason: String,
    },
    /// No packet has arrived from the other end for this time.
    Silence(Span),
    /// The server answers, but no longer has this connection: it was restarted. The client can
    /// connect again at once.
    Reset,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CloseState {
    Open,
    /// This end sends a close until the other end answers.
    Closing {
        end: End,
        tries: u32,
        due: Time,
    },
    Closed(End),
}

/// A connection.
pub struct Connection {
    local: u32,
    remote: u32,
    keys: Keyring,
    /// Number of the next packet, which counts on when keys are changed.
    number: u64,
    replay: ReplayWindow,
    path: Path,
    ip_udp: usize,
    black_hole: BlackHole,
    outgoing: Option<Outgoing>,
    incoming: Option<Incoming>,
    /// Scheme of the other end's data; empty if it sends none.
    peer_scheme: Box<str>,
    peer: Peer,
    /// Scheme of this end's data; empty if it sends none.
    scheme: Box<str>,
    service: Service,
    messages: Messages,
    /// At an initiator: the question that it asks a server that does not answer. `None` at a
    /// responder.
    unanswered: Option<Unanswered>,
    state: CloseState,
    idle: Span,
    /// When a packet last arrived, or when this end last had data to send after a rest, whichever
    /// is later.
    heard: Time,
    rest: Rest,
    ping: Time,
    pings: u32,
    /// Pings to be answered, oldest first.
    pongs: VecDeque<u32>,
    /// Number of datagrams ignored, and of those among them that were not authentic.
    ignored: u64,
    forgeries: Forgeries,
    /// The acknowledgement written last.
    latest_ack: Option<Ack>,
}

impl Connection {
    /// Ends the connection; a `code` of 0 is a normal end.
    pub fn close(&mut self, code: u16, reason: &str) {
        if self.state == CloseState::Open {
            let cut = reason.floor_char_boundary(frame::LONGEST_MESSAGE / 2);
            let reason = reason.get(..cut).unwrap_or("").to_string();
            let end = End::Here { code, reason };
            self.state = CloseState::Closing { end, tries: 0, due: Time::ZERO };
        }
    }
    /// Ends the connection without informing the other end.
    pub(crate) fn give_up(&mut self, reason: &str) {
        let end = End::Here { code: 1, reason: reason.to_string() };
        self.state = CloseState::Closed(end);
    }

    /// Returns when [`Connection::transmit`] is next worth calling.
    pub fn wake(&self) -> Time {
        match &self.state {
            CloseState::Closed(_) => Time::NEVER,
            CloseState::Closing { due, .. } => *due,
            CloseState::Open => {
                if !self.pongs.is_empty() {
                    return Time::ZERO;
                }
                if self.rest.is_resting() && self.has_datagrams() {
                    return Time::ZERO;
                }
                let timers = (self.heard + self.longest_silence()).min(self.ping);
                let timers = timers.min(self.rest.begins()).min(self.messages.wake());
                let timers = timers.min(self.path.wake());
                let incoming = self.incoming.as_ref().map_or(Time::NEVER, Incoming::wake);
                let outgoing = self.outgoing.as_ref().map_or(Time::NEVER, Outgoing::wake);
                let unanswered = self.unanswered.as_ref().map_or(Time::NEVER, Unanswered::wake);
                let timers = timers.min(unanswered);
                timers.min(incoming).min(outgoing).min(self.black_hole.wake()).min(self.keys.wake())
            }
        }
    }

    /// Takes a datagram in. Returns false if it does not belong to this connection or is ignored.
    pub fn on_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        bytes: &mut [u8],
        sink: &mut dyn Sink,
    ) -> bool {
        let taken = self.take(now, from, ecn, bytes, sink);
        self.ignored += u64::from(!taken);
        taken
    }

    fn take(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        bytes: &mut [u8],
        sink: &mut dyn Sink,
    ) -> bool {
        let Ok(packet::Packet::Transport(read)) = packet::Packet::read(bytes) else {
            return self.on_reset(bytes);
        };
        let Transport { receiver, number: wire_number, header, payload_at, .. } = read;
        let number = packet::count(wire_number);
        let is_new = self.replay.is_new(number);
        if receiver != self.local || !(is_new || self.path.awaits_answer_of(from)) {
            return false;
        }
        let size = (bytes.len() + self.ip_udp) as u32;
        let (head, payload) = bytes.split_at_mut(payload_at.min(bytes.len()));
        let covered = head.get(..SHORT).unwrap_or(&[]);
        let (payload, is_newest_epoch) = match self.keys.open(now, wire_number, covered, payload) {
            Ok(opened) => opened,
            Err(error) => {
                if error == OpenError::Forged && self.forgeries.count() {
                    self.give_up("too many packets were forged");
                }
                return false;
            }
        };
        if !is_new {
            return self.take_repeated(now, from, payload);
        }
        let newest = number >= self.replay.end();
        self.replay.insert(number);
        self.heard = now;
        self.rest.on_heard();
        if let Some(unanswered) = &mut self.unanswered {
            unanswered.on_heard();
        }
        self.ping = self.next_ping();
        if newest {
            self.path.on_newest(now, from);
        }
        let mut taken = true;
        for frame in Frames::new(payload) {
            let Ok(frame) = frame else { break };
            let envelope = (number, is_newest_epoch, header, ecn, size);
            taken &= self.on_frame(now, from, frame, envelope, sink);
        }
        taken
    }

    #[inline]
    fn on_frame(
        &mut self,
        now: Time,
        from: SocketAddr,
        frame: Frame<'_>,
        (number, is_newest_epoch, header, ecn, size): (u64, bool, Header, Ecn, u32),
        sink: &mut dyn Sink,
    ) -> bool {
        let open = self.state == CloseState::Open;
        match frame {
            Frame::Data(data) => {
                let Some(incoming) = self.incoming.as_mut().filter(|_| open) else { return false };
                let length = size.saturating_sub(self.ip_udp as u32);
                let envelope = Envelope { header, ecn, size, length, class: incoming.class() };
                let taken = incoming.on_data(now, &data, envelope, self.local, sink);
                if matches!(data.kind, Kind::Datagram | Kind::DatagramPart { .. }) {
                    self.on_carried(now);
                }
                return taken;
            }
            Frame::Part(part) => {
                let Some(incoming) = self.incoming.as_mut().filter(|_| open) else { return false };
                let length = size.saturating_sub(self.ip_udp as u32);
                let envelope = Envelope { header, ecn, size, length, class: incoming.class() };
                return incoming.on_part(now, &part, envelope, self.local, sink);
            }
            Frame::Ack(ack, older) => {
                let Some(outgoing) = &mut self.outgoing else { return false };
                sink.on_ack(
                    self.local,
                    now,
                    (number, size.saturating_sub(self.ip_udp as u32)),
                    &ack,
                );
                let before = outgoing.sender().delivered();
                outgoing.on_ack(now, &ack, older);
                let acked = outgoing.sender().delivered() - before;
                self.black_hole.on_ack(acked, &outgoing.stats());
                if let Some(rtt) = outgoing.take_rtt() {
                    sink.on_rtt(self.local, rtt);
                }
            }
            Frame::Report(report) => {
                let Some(outgoing) = &mut self.outgoing else { return false };
                outgoing.on_report(now, report);
            }
            Frame::Message { number, bytes } => self.messages.on_message(number, bytes),
            Frame::MessageAck(number) => self.messages.on_ack(number),
            Frame::Ping(number) => {
                // Several pings arrive together when the other end searches for the path's packet
                // size.
                if self.pongs.len() == MOST_PONGS {
                    self.pongs.pop_front();
                }
                self.pongs.push_back(number);
            }
            Frame::Pong(number) => self.black_hole.on_pong(now, number),
            Frame::Challenge(token) => self.path.on_challenge(from, token),
            Frame::Answer(token) => {
                self.on_path_answer(now, from, token);
            }
            Frame::Close { code, reason } => self.on_close(code, reason),
            Frame::Credit(limit) => {
                let Some(outgoing) = &mut self.outgoing else { return false };
                outgoing.on_credit(limit);
            }
            Frame::NewKeys { epoch, public } => {
                return self.keys.on_start(is_newest_epoch, epoch, &public);
            }
            Frame::NewKeysAnswer { epoch, public } => {
                return self.keys.on_answer(now, is_newest_epoch, epoch, &public);
            }
            Frame::CreditSpent(_) => {
                return self.incoming.as_mut().is_some_and(Incoming::on_credit_question);
            }
        }
        true
    }

    fn on_close(&mut self, code: u16, reason: &str) {
        let end = match &self.state {
            CloseState::Closed(_) => return,
            // The other end's answer to this end's close.
            CloseState::Closing { end: end @ End::Here { .. }, .. } => {
                self.state = CloseState::Closed(end.clone());
                return;
            }
            _ => End::There { code, reason: printable(reason) },
        };
        // One close in answer, then the connection ends.
        self.state = CloseState::Closing { end, tries: CLOSES - 1, due: Time::ZERO };
    }

    /// Returns the smoothed RTT; zero before the first sample.
    pub fn rtt(&self) -> Span {
        self.outgoing.as_ref().map_or(Span::ZERO, |outgoing| outgoing.sender().rtt().smoothed())
    }

    /// Writes the next packet that is due into `bytes`.
    pub fn transmit(&mut self, now: Time, bytes: &mut [u8]) -> Option<Transmit> {
        match &self.state {
            CloseState::Closed(_) => None,
            CloseState::Closing { .. } => self.transmit_close(now, bytes),
            CloseState::Open => {
                // Checked first: an end whose process was stopped for a while would have been
                // resting.
                self.look_for_rest(now);
                let silence = now.since(self.heard);
                if silence >= self.longest_silence() {
                    // Rounded to whole milliseconds, since it is shown to people.
                    let silence = Span::from_millis(silence.as_nanos() / 1_000_000);
                    self.state = CloseState::Closed(End::Silence(silence));
                    return None;
                }
                self.transmit_open(now, bytes)
            }
        }
    }

    fn transmit_close(&mut self, now: Time, bytes: &mut [u8]) -> Option<Transmit> {
        let wait = self.rtt().max(Span::from_millis(100)) * 2;
        let CloseState::Closing { end, tries, due } = &mut self.state else { return None };
        if *due > now {
            return None;
        }
        if *tries == CLOSES {
            self.state = CloseState::Closed(end.clone());
            return None;
        }
        *tries += 1;
        // The answer to the other end's close is sent once.
        *due = if matches!(end, End::There { .. }) { Time::ZERO } else { now + wait };
        let (code, reason) = match end {
            End::Here { code, reason } => (*code, reason.clone()),
            _ => (0, String::new()),
        };
        let to = self.path.current();
        self.control(to, &Frame::Close { code, reason: &reason }, bytes)
    }

    fn transmit_open(&mut self, now: Time, bytes: &mut [u8]) -> Option<Transmit> {
        self.follow_path(now);
        let to = self.path.current();
        if let Some(question) = self.reset_question(now, bytes) {
            return Some(question);
        }
        if let Some((to, token)) = self.path.pop_answer() {
            return self.control(to, &Frame::Answer(token), bytes);
        }
        if let Some((to, token)) = self.path.pop_challenge(now) {
            return self.control(to, &Frame::Challenge(token), bytes);
        }
        if let Some(number) = self.pongs.pop_front() {
            return self.control(to, &Frame::Pong(number), bytes);
        }
        let keys = self.keys.pop(now, self.rtt());
        if let Some(KeyFrame::Frame(frame)) = keys {
            return self.control(to, &frame, bytes);
        }
        if self.ping <= now || keys.is_some() {
            self.ping = now + quiet(self.idle, 8);
            self.pings = self.pings.wrapping_add(1);
            self.on_sent(now);
            return self.control(to, &Frame::Ping(self.pings), bytes);
        }
        if let Some(outgoing) = &mut self.outgoing {
            let (rtt, stats) = (outgoing.sender().rtt().smoothed(), outgoing.stats());
            let next = self.pings.wrapping_add(1);
            if let Some(mtu) = self.black_hole.update(now, rtt, &stats, next) {
                outgoing.set_mtu(mtu);
            }
            if let Some((number, size)) = self.black_hole.pop_ping() {
                self.pings = number;
                return self.padded_ping(to, number, usize::from(size), bytes);
            }
        }
        if self.messages.wake() <= now {
            let rtt = self.rtt();
            let mut place = [0; frame::LONGEST_MESSAGE + 16];
            let frame = self.messages.pop(now, rtt);
            let length = frame.and_then(|frame| frame::write(&frame, &mut place).ok());
            if let Some(length) = length {
                self.on_sent(now);
                return self.packet(to, place.get(..length)?, bytes);
            }
        }
        if let Some(limit) = self.incoming.as_mut().and_then(Incoming::pop_credit) {
            return self.control(to, &Frame::Credit(limit), bytes);
        }
        let incoming = self.incoming.as_mut();
        let popped = incoming
            .and_then(|incoming| if incoming.wake() <= now { incoming.pop(now) } else { None });
        match popped {
            Some(Body::Ack(ack)) => {
                self.latest_ack = Some(ack);
                let mut place = [0; frame::OLDER_RANGES];
                // The ranges that this end's receiver remembers besides those in `ack`.
                let ranges = self.incoming.iter().flat_map(|incoming| incoming.older_ranges(&ack));
                let older = OlderRanges::new(&ack, ranges, &mut place);
                let transmit = self.control(to, &Frame::Ack(ack, older), bytes)?;
                return Some(Transmit { ack: true, ..transmit });
            }
            Some(Body::Report(report)) => return self.control(to, &Frame::Report(report), bytes),
            _ => {}
        }
        let outgoing = self.outgoing.as_mut()?;
        if let Some(limit) = outgoing.pop_credit_question(now) {
            return self.control(to, &Frame::CreditSpent(limit), bytes);
        }
        let outgoing = self.outgoing.as_mut()?;
        if outgoing.wake() > now {
            return None;
        }
        let (packet, from) = outgoing.pop(now)?;
        self.data(now, to, (&packet, from), bytes)
    }

    /// Writes a ping in a packet of `size` bytes, IP and UDP headers included.
    #[cold]
    fn padded_ping(
        &mut self,
        to: SocketAddr,
        number: u32,
        size: usize,
        bytes: &mut [u8],
    ) -> Option<Transmit> {
        let at =
            Transport::write(self.remote, self.keys.wire_number(self.number), &Header::None, bytes)
                .ok()?;
        let length = size.saturating_sub(self.ip_udp + at + TAG);
        let place = bytes.get_mut(at..at + length)?;
        place.fill(0);
        frame::write(&Frame::Ping(number), place).ok()?;
        self.finish(to, Ecn::NotEct, at, length, bytes)
    }

    /// Writes a packet of one frame without data.
    fn control(&mut self, to: SocketAddr, frame: &Frame<'_>, bytes: &mut [u8]) -> Option<Transmit> {
        let mut place = [0; frame::LONGEST_MESSAGE + 16];
        let length = frame::write(frame, &mut place).ok()?;
        self.packet(to, place.get(..length)?, bytes)
    }

    fn packet(&mut self, to: SocketAddr, payload: &[u8], bytes: &mut [u8]) -> Option<Transmit> {
        let at =
            Transport::write(self.remote, self.keys.wire_number(self.number), &Header::None, bytes)
                .ok()?;
        bytes.get_mut(at..at + payload.len())?.copy_from_slice(payload);
        self.finish(to, Ecn::NotEct, at, payload.len(), bytes)
    }

    #[inline]
    fn data(
        &mut self,
        now: Time,
        to: SocketAddr,
        (packet, from): (&Packet, u32),
        bytes: &mut [u8],
    ) -> Option<Transmit> {
        let Body::Data(data) = &packet.body else { return None };
        let at =
            Transport::write(self.remote, self.keys.wire_number(self.number), &data.header, bytes)
                .ok()?;
        let room = bytes.get_mut(at..)?;
        let headers = (self.ip_udp, at);
        let length = self.outgoing.as_mut()?.fill(now, (packet, from), data, headers, room).ok()?;
        let transmit = self.finish(to, packet.ecn, at, length, bytes)?;
        self.on_sent(now);
        Some(Transmit { data: Some(data.number), ..transmit })
    }

    /// Encrypts a packet whose payload is in place.
    #[inline]
    fn finish(
        &mut self,
        to: SocketAddr,
        ecn: Ecn,
        at: usize,
        length: usize,
        bytes: &mut [u8],
    ) -> Option<Transmit> {
        let wire_number = self.keys.wire_number(self.number);
        let (head, rest) = bytes.split_at_mut(at);
        let covered = head.get(..SHORT)?;
        let tag = self.keys.seal(wire_number, covered, rest.get_mut(..length)?)?;
        rest.get_mut(length..length + TAG)?.copy_from_slice(&tag);
        let number = self.number;
        self.number += 1;
        let length = at + length + TAG;
        Some(Transmit { to, length, ecn, number, data: None, ack: false })
    }
}
