//! The handshake that begins a connection: a SYN, sent again until a SYN-ACK comes, and what the round
//! trip tells the connection.

use paceline_cc::{Body, Ecn, Established, Handshake, Packet, Span, Time};

use super::{EMPTY_SIZE, Sender};

/// The first wait for a SYN-ACK (RFC 6298 §2.1); it doubles with each SYN sent again (§5.5).
const SYN_TIMEOUT: Span = Span::from_secs(1);
/// SYNs sent again before the connection attempt ends: Linux' `tcp_syn_retries`.
const SYN_RETRIES: u32 = 6;

/// Bytes of the acknowledgement that ends a handshake: IPv4 and TCP headers with timestamps. It takes as much of a
/// link as any packet of this size; on a slow one that decides when the first data passes.
const HANDSHAKE_ACK_SIZE: u32 = 52;

/// How far a connection's handshake is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// The application has not asked for the connection.
    Closed,
    /// A SYN was sent, and no SYN-ACK has come.
    SynSent,
    /// A SYN-ACK has come: data may leave.
    Established,
}

/// The handshakes of a sender's connections, one after the other.
#[derive(Debug)]
pub(super) struct Connector {
    state: State,
    /// SYNs sent for this connection.
    syns: u32,
    /// When the next SYN leaves; [`Time::NEVER`] but in `SynSent`.
    next_syn: Time,
    /// A SYN-ACK has come and is to be acknowledged.
    acks: bool,
    /// SYNs sent, SYN-ACKs received and these acknowledged since the start, for all connections.
    sent: u64,
    answered: u64,
    acknowledged: u64,
}

impl Connector {
    pub(super) fn new() -> Connector {
        Connector {
            state: State::Closed,
            syns: 0,
            next_syn: Time::NEVER,
            acks: false,
            sent: 0,
            answered: 0,
            acknowledged: 0,
        }
    }

    /// When [`Sender::shake_hands`] is next to be called.
    pub(super) fn next_syn(&self) -> Time {
        if self.acks { Time::ZERO } else { self.next_syn }
    }

    /// SYNs sent, SYN-ACKs received, and those of them that were acknowledged.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        (self.sent, self.answered, self.acknowledged)
    }

    /// True if a SYN was sent for the connection at hand.
    pub(super) fn has_begun(&self) -> bool {
        self.syns > 0
    }

    /// Begins the next connection, whose application may not have asked for it yet.
    pub(super) fn close(&mut self) {
        (self.state, self.syns, self.next_syn) = (State::Closed, 0, Time::NEVER);
    }

    /// Notes that a SYN leaves at `now`; returns its number.
    fn on_syn(&mut self, now: Time) -> u32 {
        let number = self.syns;
        self.state = State::SynSent;
        self.next_syn = now + SYN_TIMEOUT * (1 << number);
        self.syns += 1;
        self.sent += 1;
        number
    }
}

impl Sender {
    /// Puts a SYN into `place` if one is due: the first when the application asks for the connection,
    /// the others when no SYN-ACK has come in time.
    #[cold]
    pub(super) fn shake_hands(&mut self, now: Time, place: &mut Packet) -> bool {
        let (is_over, is_on) = (self.is_over(), self.source.is_on());
        let Some(connector) = &mut self.connector else { return false };
        if std::mem::take(&mut connector.acks) {
            connector.acknowledged += 1;
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
            connector.close();
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

    /// A packet of a handshake, which is not ECN-capable (RFC 3168 §6.1.1).
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

    /// Takes a SYN-ACK in: its RTT is the connection's first sample, as TCP's timestamps give it also
    /// after SYNs that were sent again.
    #[cold]
    pub(super) fn on_handshake(&mut self, now: Time, answer: &Handshake) {
        let Some(connector) = &mut self.connector else { return };
        connector.answered += 1;
        connector.acks = true;
        self.wake = now;
        self.pending = true;
        if connector.state != State::SynSent || answer.connection != self.config.setup.connection {
            return;
        }
        (connector.state, connector.next_syn) = (State::Established, Time::NEVER);
        let mut established = Established::new(now, now.since(answer.sent));
        // Linux `tcp_init_transfer`: more than one SYN was sent again, and the SYN-ACK does not answer
        // the first SYN, which would show that the timeouts were spurious.
        established.after_losses = connector.syns > 2 && answer.number > 0;
        self.pacer.hold(false);
        self.set_established(&established);
    }

    /// Tells the connection of its handshake: the first RTT sample, and so the first retransmission
    /// timer. For drivers that shake hands themselves, before the first data.
    #[cold]
    pub fn set_established(&mut self, established: &Established) {
        self.account.on_handshake(established.rtt);
        self.controller.on_established(established);
        self.replan();
        self.pending = true;
    }
}
