//! One end: an endpoint of quinn's with its connection.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::BytesMut;
use paceline_sim::cc::{Body, Ecn, Packet, Span, Stage, Time};
use paceline_sim::{SenderCounters, TransportEnd};
use quinn_proto::{Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Transmit};

use super::{Application, HEADERS};
use crate::clock::Clock;
use crate::datagrams::Datagrams;

/// Datagrams that quinn may put into one transmission, as its driver on Linux allows.
const SEGMENTS: usize = 10;

/// An endpoint with one connection, and the application on it.
pub(super) struct QuinnEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    application: Box<dyn Application>,
    clock: Clock,
    /// Datagrams that leave, and those that arrive.
    leaving: Datagrams,
    arriving: Datagrams,
    local: SocketAddr,
    remote: SocketAddr,
    /// Packets that are ready to leave.
    ready: VecDeque<Packet>,
    buffer: Vec<u8>,
    wake: Time,
    rtt: Option<Span>,
}

impl QuinnEnd {
    pub(super) fn new(
        endpoint: Endpoint,
        application: Box<dyn Application>,
        clock: Clock,
        (leaving, arriving): (Datagrams, Datagrams),
        [local, remote]: [SocketAddr; 2],
    ) -> QuinnEnd {
        QuinnEnd {
            wake: application.start(),
            endpoint,
            connection: None,
            application,
            clock,
            leaving,
            arriving,
            local,
            remote,
            ready: VecDeque::new(),
            buffer: Vec::new(),
            rtt: None,
        }
    }

    /// Lets the connection and the application do what they can at `now`.
    fn drive(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        if self.connection.is_none()
            && self.application.start() <= now
            && let Some(config) = self.application.connect()
        {
            self.connection =
                self.endpoint.connect(instant, config, self.remote, "paceline.test").ok();
        }
        let Some((handle, mut connection)) = self.connection.take() else {
            self.wake = self.application.start();
            return;
        };
        if connection.poll_timeout().is_some_and(|at| at <= instant) {
            connection.handle_timeout(instant);
        }
        loop {
            while connection.poll().is_some() {}
            self.application.drive(now, &mut connection);
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    connection.handle_event(event);
                }
            }
            self.buffer.clear();
            let mut buffer = std::mem::take(&mut self.buffer);
            let transmit = connection.poll_transmit(instant, SEGMENTS, &mut buffer);
            if let Some(transmit) = &transmit {
                self.queue(transmit, &buffer);
            }
            self.buffer = buffer;
            if transmit.is_none() {
                break;
            }
        }
        self.wake = connection.poll_timeout().map_or(Time::NEVER, |at| self.clock.time(at));
        self.connection = Some((handle, connection));
    }

    /// Makes packets of a transmission's datagrams.
    fn queue(&mut self, transmit: &Transmit, bytes: &[u8]) {
        let bytes = &bytes[..transmit.size.min(bytes.len())];
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        for datagram in bytes.chunks(segment) {
            let mut packet = Packet::opaque(datagram.len() as u32 + HEADERS);
            packet.body = Body::Opaque(self.leaving.put(datagram));
            packet.ecn = match transmit.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            self.ready.push_back(packet);
        }
    }
}

impl Stage for QuinnEnd {
    fn push(&mut self, now: Time, packet: &Packet) {
        let Body::Opaque(handle) = packet.body else { return };
        let datagram = self.arriving.take(handle);
        if datagram.is_empty() {
            return;
        }
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let instant = self.clock.instant(now);
        let mut answer = Vec::new();
        let bytes = BytesMut::from(&datagram[..]);
        let local = Some(self.local.ip());
        let event = self.endpoint.handle(instant, self.remote, local, ecn, bytes, &mut answer);
        match event {
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, instant, &mut answer, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(refused) => {
                        if let Some(transmit) = refused.response {
                            self.queue(&transmit, &answer);
                        }
                    }
                }
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                    let rtt = u64::try_from(connection.rtt().as_nanos()).unwrap_or(u64::MAX);
                    self.rtt = Some(Span::from_nanos(rtt));
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.queue(&transmit, &answer),
            None => {}
        }
        // Packets leave when the simulator asks for them, which is at once.
        self.wake = now;
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.ready.is_empty() && self.wake <= now {
            self.drive(now);
        }
        match self.ready.pop_front() {
            Some(packet) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    fn wake(&self) -> Time {
        if self.ready.is_empty() { self.wake } else { Time::ZERO }
    }
}

impl TransportEnd for QuinnEnd {
    fn received(&self) -> u64 {
        self.application.received()
    }

    fn take_rtt(&mut self) -> Option<Span> {
        self.rtt.take()
    }

    fn counters(&self) -> SenderCounters {
        let mut counters = SenderCounters::default();
        if let Some((_, connection)) = &self.connection {
            let path = connection.stats().path;
            (counters.sent, counters.lost) = (path.sent_packets, path.lost_packets);
        }
        counters
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some((_, connection)) = &self.connection {
            let path = connection.stats().path;
            see("cwnd", path.cwnd as f64 / f64::from(path.current_mtu.max(1)));
            see("rtt", path.rtt.as_secs_f64() * 1e3);
        }
    }
}
