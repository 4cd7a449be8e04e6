//! Rest: a connection for datagrams that carries none sends only a keepalive now and then, so that
//! a radio can sleep.
//!
//! Each end rests on its own when it has neither sent nor received a datagram for [`REST_AFTER`]
//! and its packets are acknowledged. Its scheme then sends no heartbeats and so gets no reports,
//! and the end sends a keepalive each [`Offer::keepalive`], the responder a quarter of the idle
//! time later than the initiator, so that one ping and one pong serve both. The idle time counts
//! from the first unanswered ping, or from the first datagram that this end sends. The first
//! datagram in either direction ends the rest.

use paceline_cc::{Span, Time};

use super::Connection;
use super::idle::{LONGEST_IDLE, quiet};
use super::role::Role;
use crate::terms::{Offer, Service};

/// Time without a datagram after which a connection rests.
const REST_AFTER: Span = Span::from_secs(3);
/// Shortest interval of keepalives.
const LEAST_KEEPALIVE: Span = Span::from_secs(1);

/// State of a connection's rest.
#[derive(Debug)]
pub(super) struct Rest {
    /// Interval of this end's keepalives while it rests, and the longest silence; `None` if it
    /// never rests.
    keepalive: Option<Span>,
    longest_silence: Span,
    /// When a datagram was last sent or received.
    carried: Time,
    /// True if no packet has arrived since this end sent a datagram: then it does not rest.
    is_unanswered: bool,
    resting: bool,
}

impl Rest {
    pub(super) fn new(now: Time, role: Role, offer: &Offer, idle: Span) -> Rest {
        let keepalive = offer.keepalive.clamp(LEAST_KEEPALIVE, LONGEST_IDLE);
        let rests = offer.service == Service::Datagrams && !offer.keepalive.is_zero();
        let later = if role == Role::Responder { quiet(idle, 4) } else { Span::ZERO };
        Rest {
            keepalive: rests.then_some(keepalive + later),
            longest_silence: keepalive + idle,
            carried: now,
            is_unanswered: false,
            resting: false,
        }
    }

    pub(super) fn is_resting(&self) -> bool {
        self.resting
    }

    /// Notes that a packet has arrived.
    #[inline]
    pub(super) fn on_heard(&mut self) {
        self.is_unanswered = false;
    }

    /// Returns when a rest begins if no datagram is carried until then.
    pub(super) fn begins(&self) -> Time {
        match self.keepalive {
            Some(_) if !self.resting && !self.is_unanswered => self.carried + REST_AFTER,
            _ => Time::NEVER,
        }
    }
}

impl Connection {
    /// Returns true while the connection carries no datagrams and sends only keepalives
    /// ([`Offer::keepalive`]).
    pub fn is_resting(&self) -> bool {
        self.rest.resting
    }

    /// Returns true if datagrams wait to be sent.
    pub(super) fn has_datagrams(&self) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| outgoing.waiting_datagrams() > 0)
    }

    /// Returns the time without a packet after which the other end counts as gone.
    pub(super) fn longest_silence(&self) -> Span {
        if self.rest.resting { self.rest.longest_silence } else { self.idle }
    }

    /// Returns when this end sends a ping if no packet arrives.
    pub(super) fn next_ping(&self) -> Time {
        let keepalive = self.rest.keepalive.filter(|_| self.rest.resting);
        self.heard + keepalive.unwrap_or(quiet(self.idle, 4))
    }

    /// Begins or ends a rest if it is time to.
    pub(super) fn look_for_rest(&mut self, now: Time) {
        if self.rest.keepalive.is_none() {
        } else if self.has_datagrams() {
            if self.rest.resting {
                // The idle time counts from now on, for packets sent from now on.
                self.heard = self.heard.max(now);
            }
            self.on_carried(now);
            self.rest.is_unanswered = true;
        } else if self.rest.begins() <= now {
            self.set_rest(now, true);
        }
    }

    /// Notes that a datagram was sent or has arrived.
    pub(super) fn on_carried(&mut self, now: Time) {
        self.rest.carried = now;
        if self.rest.resting {
            self.set_rest(now, false);
        }
    }

    fn set_rest(&mut self, now: Time, rests: bool) {
        self.rest.resting = rests;
        self.ping = self.next_ping();
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.set_rest(now, rests);
        }
    }
}
