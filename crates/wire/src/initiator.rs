//! The end that wants a connection.

use core::net::SocketAddr;

use paceline_cc::{Span, Time};
use ring::hmac;
use snow::HandshakeState;
use thiserror::Error;

use crate::client_key::ClientKey;
use crate::connection::{Connection, Limits, Role};
use crate::key::{Key, KeyError, code, random};
use crate::packet::{COOKIE, Initiation, Packet, Response, Retry};
use crate::reset::ResetQuestion;
use crate::terms::{Answer, Offer};
use crate::{FormatError, noise};

/// What separates codes of initiations from those of retries.
pub(crate) const INITIATION_CODE: &[u8] = b"paceline initiation";
pub(crate) const RETRY_CODE: &[u8] = b"paceline retry";

/// The first wait for an answer; each further one is longer by half.
const PATIENCE: Span = Span::from_millis(300);
/// How often initiations of the largest size are sent before smaller ones are tried.
const LARGE_TRIES: u32 = 2;
/// A size that every path is expected to carry (RFC 8200's least MTU).
pub const BASE_MTU: u16 = 1280;
/// The sizes that are tried at once if the largest does not pass: what common tunnels and access lines
/// leave of 1500 and 9000 bytes, and the base.
pub(crate) const SMALLER: [u16; 11] =
    [8900, 4000, 1492, 1480, 1460, 1440, 1420, 1400, 1360, 1320, BASE_MTU];
/// How long answers to larger initiations may come after the first answer to any of them.
const SEARCH: Span = Span::from_millis(25);

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// Nobody answers.
    #[error(
        "nobody answers at {to} within {after}: is the address right, does `{command}` run there, and is the key the one \
         that it printed?"
    )]
    Silence {
        /// Where to.
        to: SocketAddr,
        /// So long was waited at least.
        after: Span,
        /// The command whose server takes such connections.
        command: &'static str,
    },
    /// The other end refuses.
    #[error("the other end refuses: {0}")]
    Refused(String),
    /// What is to be sent is beyond the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The system gives no randomness.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key is no good.
    #[error("the key cannot be used")]
    BadKey,
}

/// A handshake with packets of one size, which its first message names.
struct Attempt {
    mtu: u16,
    local: u32,
    /// The handshake that awaits an answer, and its message.
    state: HandshakeState,
    message: Vec<u8>,
    cookie: Option<[u8; COOKIE]>,
    /// When the initiation with this cookie left, and whether it left once only.
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

/// A connection that is being made.
///
/// Initiations are as long as the packets that they ask for, and so probe the path (RFC 8899). At
/// first there is one, of the size asked for. If it does not pass, several sizes are tried at once,
/// and the largest goes on from which a cookie comes back.
pub struct Initiator {
    keys: (Key, ClientKey),
    codes: (hmac::Key, hmac::Key),
    to: SocketAddr,
    offer: Offer,
    limits: Limits,
    /// In the order in which they are sent: the largest first.
    attempts: Vec<Attempt>,
    /// How many of them have been sent in this flight.
    sent: usize,
    /// When the search for the largest size that passes is over, once a first answer has come.
    decide: Time,
    tries: u32,
    began: Time,
    next: Time,
    wait: Span,
}

impl Initiator {
    /// A connection to the server at `to` that has this key, of packets of at most `offer.mtu`
    /// bytes. The offer's idle time and kind of window are those of `limits`. With the key that all clients share, the
    /// client's own key is a new one; to look like the same client again, use one of [`Key::for_new_client`].
    ///
    /// # Errors
    /// The key or the offer cannot be used.
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

    /// The largest size of packets that is tried at present, IP and UDP headers included; once the
    /// connection stands, its size.
    pub fn mtu(&self) -> u16 {
        self.attempts.first().map_or(BASE_MTU, |attempt| attempt.mtu)
    }

    /// True once the other end has answered, so that its address is known to be right.
    pub fn is_answered(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.cookie.is_some())
    }

    /// When [`Initiator::transmit`] is next worth calling.
    pub fn wake(&self) -> Time {
        self.next.min(self.decide)
    }

    /// The system says that the last initiation was too large for the path.
    ///
    /// # Errors
    /// As [`Initiator::new`].
    pub fn on_too_large(&mut self, now: Time) -> Result<(), ConnectError> {
        // While sizes are searched for, this one is just not answered.
        if self.attempts.len() == 1 && self.mtu() > BASE_MTU {
            self.search()?;
            self.attempts.remove(0);
            self.next = now;
        }
        Ok(())
    }

    /// Begins to look for the largest size that passes. The size asked for is among them: a round trip may
    /// take longer than the first answer was waited for.
    fn search(&mut self) -> Result<(), ConnectError> {
        let below = self.mtu();
        let sizes = SMALLER.into_iter().filter(|&mtu| mtu < below);
        let attempts = sizes.map(|mtu| Attempt::new(&self.keys, &self.offer, mtu));
        self.attempts.extend(attempts.collect::<Result<Vec<_>, _>>()?);
        (self.sent, self.decide) = (0, Time::NEVER);
        Ok(())
    }

    /// Ends the search: the largest size from which a cookie came stays.
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
    /// Nobody has answered for too long.
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
            // A cookie shows that packets of its size pass.
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

    /// Takes a datagram in. Once the connection stands, it is returned.
    ///
    /// # Errors
    /// The other end refuses.
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
        // The same cookie again leads to nothing new.
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
        // A forged response must not harm the handshake: snow leaves a state as it was if a
        // message is not good.
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
        // Karn's rule: it is not known which of several initiations the response answers.
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
