//! The end that asks for a connection.

use core::net::SocketAddr;

use paceline_cc::{Span, Time};
use ring::hmac;
use snow::HandshakeState;
use thiserror::Error;

use crate::client_key::ClientKey;
use crate::connection::{Connection, Limits, Role};
use crate::key::{Key, KeyError, code, random};
use crate::mtu::{BASE_MTU, SMALLER};
use crate::packet::{COOKIE, Initiation, Packet, Response, Retry};
use crate::reset::ResetQuestion;
use crate::terms::{Answer, Offer};
use crate::{FormatError, noise};

/// Label of the codes of initiations, which keeps them apart from those of retries.
pub(crate) const INITIATION_CODE: &[u8] = b"paceline initiation";
pub(crate) const RETRY_CODE: &[u8] = b"paceline retry";

/// Wait for an answer to the first initiation; each further wait is longer by half.
const PATIENCE: Span = Span::from_millis(300);
/// Number of initiations of the largest size before smaller sizes are tried.
const LARGE_TRIES: u32 = 2;
/// How long answers to larger initiations may arrive after the first answer to any of them.
const SEARCH: Span = Span::from_millis(25);

/// Reason why no connection is made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The server has not answered.
    #[error(
        "nobody answers at {to} within {after}: is the address right, does `{command}` run there, and is the key the one \
         that it printed?"
    )]
    Silence {
        /// Address of the server.
        to: SocketAddr,
        /// Minimum time that the initiator waited.
        after: Span,
        /// The command whose server takes such connections.
        command: &'static str,
    },
    /// The server refuses the connection.
    #[error("the other end refuses: {0}")]
    Refused(String),
    /// A value to be sent is out of the format's range.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The system gives no random numbers.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key cannot be used.
    #[error("the key cannot be used")]
    BadKey,
}

/// A handshake for packets of one size, which its first message states.
struct Attempt {
    mtu: u16,
    local: u32,
    /// State of the handshake that awaits an answer, and its message.
    state: HandshakeState,
    message: Vec<u8>,
    cookie: Option<[u8; COOKIE]>,
    /// When the initiation with this cookie was sent, and whether it was sent only once.
    asked: Option<(Time, bool)>,
}

impl Attempt {
    fn new(keys: &(Key, ClientKey), offer: &Offer, mtu: u16) -> Result<Attempt, ConnectError> {
        let offer = Offer { mtu, ..offer.clone() };
        let mut state = noise::initiator(&keys.0, &keys.1).ok_or(ConnectError::BadKey)?;
        let message = noise::write(&mut state, &offer.write()?).ok_or(ConnectError::BadKey)?;
        let local = u32::from_be_bytes(random()?);
        Ok(Attempt { mtu, local, state, message, cookie: None, asked: None })
    }
}

/// A connection whose handshake is in progress.
///
/// Initiations are as long as the packets that they ask for, and so probe the path (RFC 8899).
/// First, one initiation of the requested size is sent. If it does not pass, several sizes are
/// tried at once, and the handshake continues with the largest size for which a cookie comes back.
pub struct Initiator {
    keys: (Key, ClientKey),
    codes: (hmac::Key, hmac::Key),
    to: SocketAddr,
    offer: Offer,
    limits: Limits,
    /// One for each size, in the order of sending: the largest first.
    attempts: Vec<Attempt>,
    /// Number of attempts sent in the present flight.
    sent: usize,
    /// When the search for the largest size that passes ends; set by the first answer.
    decide: Time,
    tries: u32,
    began: Time,
    next: Time,
    wait: Span,
}

impl Initiator {
    /// Starts a connection to the server at `to` that has this key, with packets of at most
    /// `offer.mtu` bytes. The offer's idle time and kind of window are taken from `limits`. With
    /// the key that all clients share, the client's own key is a new one; to be recognised as the
    /// same client again, use a key from [`Key::for_new_client`].
    ///
    /// # Errors
    /// If the key or the offer cannot be used.
    pub fn new(
        now: Time,
        key: &Key,
        to: SocketAddr,
        offer: Offer,
        limits: Limits,
    ) -> Result<Initiator, ConnectError> {
        let offer = Offer { idle: limits.idle, credit: limits.reads_later, ..offer };
        let client = key.client_key().cloned().map_or_else(ClientKey::generate, Ok)?;
        let keys = (key.without_client(), client);
        Ok(Initiator {
            codes: (key.mac(INITIATION_CODE), key.mac(RETRY_CODE)),
            attempts: vec![Attempt::new(&keys, &offer, offer.mtu)?],
            keys,
            to,
            offer,
            limits,
            sent: 0,
            decide: Time::NEVER,
            tries: 0,
            began: now,
            next: now,
            wait: PATIENCE,
        })
    }

    /// Returns the largest packet size tried at present, IP and UDP headers included; after the
    /// handshake, the connection's packet size.
    pub fn mtu(&self) -> u16 {
        self.attempts.first().map_or(BASE_MTU, |attempt| attempt.mtu)
    }

    /// Returns true once the server has answered, so that its address is known to be right.
    pub fn is_answered(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.cookie.is_some())
    }

    /// Returns when [`Initiator::transmit`] is next worth calling.
    pub fn wake(&self) -> Time {
        self.next.min(self.decide)
    }

    /// Handles the system's report that the last initiation was too large for the path.
    ///
    /// # Errors
    /// As [`Initiator::new`].
    pub fn on_too_large(&mut self, now: Time) -> Result<(), ConnectError> {
        // During the search for a size, this initiation simply gets no answer.
        if self.attempts.len() == 1 && self.mtu() > BASE_MTU {
            self.search()?;
            self.attempts.remove(0);
            self.next = now;
        }
        Ok(())
    }

    /// Starts the search for the largest size that passes. The requested size is tried again: a
    /// round trip may take longer than the first wait.
    fn search(&mut self) -> Result<(), ConnectError> {
        let below = self.mtu();
        let sizes = SMALLER.into_iter().filter(|&mtu| mtu < below);
        let attempts = sizes.map(|mtu| Attempt::new(&self.keys, &self.offer, mtu));
        self.attempts.extend(attempts.collect::<Result<Vec<_>, _>>()?);
        (self.sent, self.decide) = (0, Time::NEVER);
        Ok(())
    }

    /// Ends the search: the attempt with the largest size for which a cookie came stays.
    fn settle(&mut self, now: Time) {
        if let Some(best) = self.attempts.iter().position(|attempt| attempt.cookie.is_some()) {
            self.attempts.swap(0, best);
            self.attempts.truncate(1);
            (self.sent, self.next, self.wait) = (0, now, PATIENCE);
        }
        self.decide = Time::NEVER;
    }

    /// Writes the next initiation if one is due.
    ///
    /// # Errors
    /// If the server has not answered for too long.
    pub fn transmit(&mut self, now: Time, bytes: &mut [u8]) -> Result<Option<usize>, ConnectError> {
        if now >= self.decide {
            self.settle(now);
        }
        if now < self.next {
            return Ok(None);
        }
        let after = now.since(self.began);
        if after > self.limits.silence {
            let (to, after, command) = (self.to, self.limits.silence, self.offer.server_command());
            return Err(ConnectError::Silence { to, after, command });
        }
        if self.sent == 0 {
            // A cookie for an attempt shows that packets of its size pass.
            let alone = matches!(&self.attempts[..], [only] if only.cookie.is_none());
            if self.tries == LARGE_TRIES && alone && self.mtu() > BASE_MTU {
                self.search()?;
            }
            self.tries += 1;
        }
        let Some(attempt) = self.attempts.get_mut(self.sent) else { return Ok(None) };
        let length = usize::from(attempt.mtu).saturating_sub(self.limits.ip_udp(&self.to));
        let mac = |covered: &[u8]| code(&self.codes.0, covered);
        let cookie = attempt.cookie.as_ref();
        let length =
            Initiation::write(attempt.local, cookie, &attempt.message, mac, length, bytes)?;
        if cookie.is_some() {
            attempt.asked = Some((now, attempt.asked.is_none()));
        }
        self.sent += 1;
        if self.sent == self.attempts.len() {
            self.sent = 0;
            self.next = now + self.wait;
            self.wait = (self.wait * 3 / 2).min(Span::from_millis(3000));
        }
        Ok(Some(length))
    }

    /// Takes a datagram in. Returns the connection once its handshake is complete.
    ///
    /// # Errors
    /// If the server refuses the connection.
    pub fn on_datagram(
        &mut self,
        now: Time,
        bytes: &[u8],
    ) -> Result<Option<Connection>, ConnectError> {
        match Packet::read(bytes) {
            Ok(Packet::Retry(retry)) => {
                self.on_retry(now, &retry);
                Ok(None)
            }
            Ok(Packet::Response(response)) => self.on_response(now, &response),
            _ => Ok(None),
        }
    }

    fn on_retry(&mut self, now: Time, retry: &Retry<'_>) {
        if hmac::verify(&self.codes.1, retry.covered, retry.mac).is_err() {
            return;
        }
        let several = self.attempts.len() > 1;
        let ours = |attempt: &&mut Attempt| attempt.local == retry.receiver;
        let Some(attempt) = self.attempts.iter_mut().find(ours) else { return };
        // A cookie that came before starts nothing new.
        if attempt.cookie.as_ref() == Some(retry.cookie) {
            return;
        }
        attempt.cookie = Some(*retry.cookie);
        if !several {
            (self.sent, self.next, self.wait) = (0, now, PATIENCE);
        } else if self.attempts.first().is_some_and(|attempt| attempt.cookie.is_some()) {
            self.settle(now);
        } else {
            self.decide = self.decide.min(now + SEARCH);
        }
    }

    fn on_response(
        &mut self,
        now: Time,
        response: &Response<'_>,
    ) -> Result<Option<Connection>, ConnectError> {
        let ours = |attempt: &Attempt| attempt.local == response.receiver;
        let Some(at) = self.attempts.iter().position(ours) else { return Ok(None) };
        let Some(attempt) = self.attempts.get_mut(at) else { return Ok(None) };
        // A forged response does no harm: snow keeps its state if a message is invalid.
        let payload = noise::read(&mut attempt.state, response.noise);
        let Some(payload) = payload else { return Ok(None) };
        let Ok(answer) = Answer::read(&payload) else { return Ok(None) };
        let (window, credit, idle, handout, reset) = match answer {
            Answer::Accepted { window, credit, idle, handout, reset } => {
                (window, credit, idle, handout, reset)
            }
            Answer::Refused(reason) => return Err(ConnectError::Refused(reason)),
        };
        let Attempt { mtu, local, asked, .. } = *attempt;
        // Karn's rule: no sample if the response may answer any of several initiations.
        let rtt = asked.filter(|(_, once)| *once).map(|(sent, _)| now.since(sent));
        let fresh = noise::initiator(&self.keys.0, &self.keys.1).ok_or(ConnectError::BadKey)?;
        let state = std::mem::replace(&mut attempt.state, fresh);
        let keys = noise::keys(state).ok_or(ConnectError::BadKey)?;
        self.attempts.swap(0, at);
        self.offer.mtu = mtu;
        let question = ResetQuestion::new(&self.keys.0, reset);
        let role = Role::Initiator { window, credit, idle, rtt };
        let ids = (local, response.sender);
        Connection::new(now, role, keys, ids, self.to, &self.offer, &self.limits)
            .map(|made| Some(made.with_peer(None, handout).with_reset(question)))
            .map_err(ConnectError::Refused)
    }
}
