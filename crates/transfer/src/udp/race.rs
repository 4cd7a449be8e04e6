//! Connects to a server that has several addresses. It tries the next address when the previous one
//! has been silent for 250 ms or cannot be reached; the first that answers wins (RFC 8305).

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use paceline_cc::{Span, Time};
use paceline_os::udp::Socket;
use paceline_wire::key::Key;
use paceline_wire::{ConnectError, Connection, Initiator, Limits, Offer};

use super::outbox::Outbox;

/// How long an address may stay silent before the next one is tried (RFC 8305 §8).
pub(crate) const HEAD_START: Span = Span::from_millis(250);

/// Concurrent handshakes with the addresses of one server.
pub(crate) struct Race {
    key: Key,
    offer: Offer,
    limits: Limits,
    waiting: VecDeque<SocketAddr>,
    running: Vec<(SocketAddr, Initiator)>,
    /// When to try the next address.
    next: Time,
    /// The error of the last address that was given up.
    failure: Option<ConnectError>,
    /// True if the system has sent a packet to one of the addresses.
    has_sent: bool,
    /// Error number of the last packet that the system could not send.
    lost: Option<i32>,
    place: Vec<u8>,
}

impl Race {
    pub(crate) fn new(
        now: Time,
        key: &Key,
        addresses: &[SocketAddr],
        offer: Offer,
        limits: Limits,
    ) -> Race {
        Race {
            key: key.clone(),
            offer,
            limits,
            waiting: addresses.iter().copied().collect(),
            running: Vec::new(),
            next: now,
            failure: None,
            has_sent: false,
            lost: None,
            place: vec![0; 65_536],
        }
    }

    /// Returns when [`Race::transmit`] is next worth calling.
    pub(crate) fn wake(&self) -> Time {
        let next = if self.waiting.is_empty() { Time::NEVER } else { self.next };
        self.running.iter().fold(next, |wake, (_, one)| wake.min(one.wake()))
    }

    /// If the system has sent no packet to any of the addresses, returns the words for it, with the
    /// last error.
    pub(crate) fn unsendable(&self) -> Option<String> {
        let error = self.lost.filter(|_| !self.has_sent && self.waiting.is_empty())?;
        Some(format!("this machine cannot send there: {}", io::Error::from_raw_os_error(error)))
    }

    /// Returns the text of an error of [`Race::transmit`].
    pub(crate) fn error_text(&self, error: &ConnectError) -> String {
        match (error, self.unsendable()) {
            (ConnectError::Silence { .. }, Some(why)) => format!("{why}; {error}"),
            _ => error.to_string(),
        }
    }

    /// Sends the handshake packets whose time has come.
    ///
    /// # Errors
    /// The offer is invalid, or no address has answered in time.
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        socket: &mut Socket,
        outbox: &mut Outbox,
    ) -> Result<(), ConnectError> {
        loop {
            let due = now >= self.next || self.running.is_empty();
            if due && let Some(to) = self.waiting.pop_front() {
                let (offer, limits) = (self.offer.clone(), self.limits.clone());
                self.running.push((to, Initiator::new(now, &self.key, to, offer, limits)?));
                self.next = now + HEAD_START;
            }
            let Race { running, place, failure, next, has_sent, lost, .. } = self;
            let mut is_lost = false;
            let mut error = None;
            running.retain_mut(|(to, one)| match one.transmit(now, place) {
                Ok(Some(length)) => {
                    *has_sent |= outbox.send_one(socket, *to, place.get(..length).unwrap_or(&[]));
                    if let Some(error) = outbox.take_lost() {
                        (is_lost, *lost) = (true, Some(error));
                    }
                    if outbox.was_too_large() {
                        error = one.on_too_large(now).err();
                    }
                    true
                }
                Ok(None) => true,
                Err(silence @ ConnectError::Silence { .. }) => {
                    *failure = Some(silence);
                    false
                }
                Err(other) => {
                    error = Some(other);
                    false
                }
            });
            if let Some(error) = error {
                return Err(error);
            }
            if is_lost {
                *next = now;
            }
            match (self.running.is_empty(), self.waiting.is_empty(), self.failure.take()) {
                (true, true, Some(failure)) => return Err(failure),
                (true, false, _) => {}
                (false, false, _) if self.next <= now => {}
                _ => return Ok(()),
            }
        }
    }

    /// Handles a datagram. Returns the connection once one is established.
    ///
    /// # Errors
    /// The server refuses the connection.
    pub(crate) fn on_datagram(
        &mut self,
        now: Time,
        bytes: &[u8],
    ) -> Result<Option<Connection>, ConnectError> {
        for (_, one) in &mut self.running {
            if let Some(connection) = one.on_datagram(now, bytes)? {
                return Ok(Some(connection));
            }
        }
        // One address has answered: drop the handshakes with all others.
        if let Some(answered) = self.running.iter().position(|(_, one)| one.is_answered()) {
            self.waiting.clear();
            self.running.swap(0, answered);
            self.running.truncate(1);
        }
        Ok(None)
    }
}

#[cfg(test)]
#[path = "race_tests.rs"]
mod tests;
