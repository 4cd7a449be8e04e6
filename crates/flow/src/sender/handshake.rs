//! The handshake that begins a connection: a SYN, repeated until a SYN-ACK arrives, and the RTT
//! sample that this gives.

use paceline_cc::{Body, Ecn, Established, Handshake, Packet, Span, Time};

use super::{EMPTY_SIZE, Sender};

/// Wait for a SYN-ACK after the first SYN (RFC 6298 §2.1). It doubles with each further SYN (§5.5).
const SYN_TIMEOUT: Span = Span::from_secs(1);
/// Number of SYNs repeated before the connection attempt ends: Linux' `tcp_syn_retries`.
const SYN_RETRIES: u32 = 6;

/// Size in bytes of the acknowledgement that ends a handshake: IPv4 and TCP headers with
/// timestamps. It occupies a link like any packet of this size; on a slow link this delays the
/// first data.
const HANDSHAKE_ACK_SIZE: u32 = 52;

/// State of a connection's handshake.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// The application has not asked for the connection.
    Closed,
    /// A SYN was sent, and no SYN-ACK has arrived.
    SynSent,
    /// A SYN-ACK has arrived: data may be sent.
    Established,
}

/// The handshakes of a sender's connections, one after the other.
#[derive(Debug)]
pub(super) struct Connector {
    state: State,
    /// Number of SYNs sent for this connection since the application asked for it.
    syns: u32,
    /// True if a SYN was sent for this connection.
    has_begun: bool,
    /// When the next SYN is sent; [`Time::NEVER`] except in `SynSent`.
    next_syn: Time,
    /// True if a SYN-ACK has arrived and is to be acknowledged.
    acks: bool,
    pub(super) counts: HandshakeCounts,
}

/// Packets of handshakes since the start, over all connections.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeCounts {
    /// SYNs sent.
    pub syns: u64,
    /// SYN-ACKs received.
    pub syn_acks: u64,
    /// SYN-ACKs acknowledged.
    pub acks: u64,
}

impl Connector {
    pub(super) fn new() -> Connector {
        Connector {
            state: State::Closed,
            syns: 0,
            has_begun: false,
            next_syn: Time::NEVER,
            acks: false,
            counts: HandshakeCounts::default(),
        }
    }

    /// Returns when [`Sender::shake_hands`] is next to be called.
    pub(super) fn next_syn(&self) -> Time {
        if self.acks { Time::ZERO } else { self.next_syn }
    }

    /// Returns true if the connection is established and nothing of the handshake is to be sent:
    /// then [`Sender::shake_hands`] does nothing.
    #[inline]
    pub(super) fn is_established(&self) -> bool {
        self.state == State::Established && !self.acks
    }

    /// Returns true if a SYN was sent for the present connection.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Begins the next connection, which the application may not have asked for yet.
    pub(super) fn close(&mut self) {
        self.wait();
        self.has_begun = false;
    }

    /// Waits until the application asks for the connection again.
    fn wait(&mut self) {
        (self.state, self.syns, self.next_syn) = (State::Closed, 0, Time::NEVER);
    }

    /// Notes that a SYN is sent at `now`; returns its number.
    fn on_syn(&mut self, now: Time) -> u32 {
        let number = self.syns;
        self.state = State::SynSent;
        self.has_begun = true;
        self.next_syn = now + SYN_TIMEOUT * (1 << number);
        self.syns += 1;
        self.counts.syns += 1;
        number
    }
}

impl Sender {
    /// Puts a SYN into `place` if one is due: the first when the application asks for the
    /// connection, further ones when no SYN-ACK has arrived in time.
    #[cold]
    pub(super) fn shake_hands(&mut self, now: Time, place: &mut Packet) -> bool {
        let (is_over, is_on) = (self.is_over(), self.source.is_on());
        let Some(connector) = &mut self.connector else { return false };
        if std::mem::take(&mut connector.acks) {
            connector.counts.acks += 1;
            let body = Body::Opaque(0);
            *place = Packet { body, ..self.control_packet(now, HANDSHAKE_ACK_SIZE) };
            return true;
        }
        let is_due = match connector.state {
            State::Closed => is_on,
            State::SynSent => connector.next_syn <= now,
            State::Established => false,
        };
        if !is_due {
            return false;
        }
        if is_over || !is_on {
            // The application has closed the connection; it may ask for it again.
            connector.wait();
            return false;
        }
        if connector.syns > SYN_RETRIES {
            // ETIMEDOUT: the application ends.
            connector.next_syn = Time::NEVER;
            self.stop(now);
            return false;
        }
        let number = connector.on_syn(now);
        let connection = self.config.setup.connection;
        let body = Body::Handshake(Handshake { connection, number, sent: now });
        *place = Packet { body, ..self.control_packet(now, EMPTY_SIZE) };
        true
    }

    /// Returns a packet of the handshake, which is not ECN-capable (RFC 3168 §6.1.1).
    fn control_packet(&self, now: Time, size: u32) -> Packet {
        Packet {
            flow: self.config.setup.flow,
            size,
            route: self.config.route,
            ecn: Ecn::NotEct,
            class: self.config.class,
            sent: now,
            queued: now,
            body: Body::Opaque(0),
        }
    }

    /// Takes a SYN-ACK in. Its RTT is the connection's first sample, also after repeated SYNs, as
    /// TCP's timestamps make possible.
    #[cold]
    pub(super) fn on_handshake(&mut self, now: Time, answer: &Handshake) {
        let Some(connector) = &mut self.connector else { return };
        connector.counts.syn_acks += 1;
        connector.acks = true;
        self.wake = now;
        self.pending = true;
        if connector.state != State::SynSent || answer.connection != self.config.setup.connection {
            return;
        }
        (connector.state, connector.next_syn) = (State::Established, Time::NEVER);
        let mut established = Established::new(now, now.since(answer.sent));
        // Linux `tcp_init_transfer`: more than one SYN was repeated, and the SYN-ACK does not
        // answer the first SYN, which would show that the timeouts were spurious.
        established.after_losses = connector.syns > 2 && answer.number > 0;
        self.pacer.hold(false);
        self.set_established(&established);
    }

    /// Notes that the driver's own handshake has established the connection. It gives the first RTT
    /// sample, and so sets the retransmission timer. For drivers that do the handshake themselves;
    /// call it before the first data.
    #[cold]
    pub fn set_established(&mut self, established: &Established) {
        self.account.on_handshake(established.rtt);
        self.controller.on_established(established);
        self.replan();
        self.pending = true;
    }
}
