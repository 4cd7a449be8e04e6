//! The end that wants a connection.

use core::net::SocketAddr;

use paceline_cc::{Span, Time};
use ring::hmac;
use snow::HandshakeState;
use thiserror::Error;

use crate::connection::{Connection, Limits, Role};
use crate::key::{Key, KeyError, code, random};
use crate::packet::{COOKIE, Initiation, Packet, Response, Retry};
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

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// Nobody answers.
    #[error(
        "nobody answers at {to} within {after}: is the address right, does `paceline recv` run \
         there, and is the key the one that it printed?"
    )]
    Silence {
        /// Where to.
        to: SocketAddr,
        /// After so long.
        after: Span,
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

/// A connection that is being made.
pub struct Initiator {
    key: Key,
    codes: (hmac::Key, hmac::Key),
    to: SocketAddr,
    local: u32,
    offer: Offer,
    limits: Limits,
    /// The handshake that awaits an answer, and its message.
    state: HandshakeState,
    message: Vec<u8>,
    cookie: Option<[u8; COOKIE]>,
    mtu: u16,
    tries: u32,
    began: Time,
    next: Time,
    wait: Span,
}

impl Initiator {
    /// A connection to the server at `to` that has this key, of packets of at most `offer.mtu`
    /// bytes.
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
        let mtu = offer.mtu;
        let mut state = noise::initiator(key).ok_or(ConnectError::BadKey)?;
        let message = noise::write(&mut state, &offer.write()?).ok_or(ConnectError::BadKey)?;
        Ok(Initiator {
            codes: (key.mac(INITIATION_CODE), key.mac(RETRY_CODE)),
            key: key.clone(),
            to,
            local: u32::from_be_bytes(random()?),
            offer,
            limits,
            state,
            message,
            cookie: None,
            mtu,
            tries: 0,
            began: now,
            next: now,
            wait: PATIENCE,
        })
    }

    /// The size of the packets that are tried at present, IP and UDP headers included.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// When [`Initiator::transmit`] is next worth calling.
    pub fn wake(&self) -> Time {
        self.next
    }

    /// The system says that the last initiation was too large for the path.
    ///
    /// # Errors
    /// As [`Initiator::new`].
    pub fn on_too_large(&mut self, now: Time) -> Result<(), ConnectError> {
        if self.mtu > BASE_MTU {
            self.restart(BASE_MTU)?;
        }
        self.next = now;
        Ok(())
    }

    /// Begins the handshake anew, since the first message names the size.
    fn restart(&mut self, mtu: u16) -> Result<(), ConnectError> {
        self.mtu = mtu;
        self.offer.mtu = mtu;
        self.state = noise::initiator(&self.key).ok_or(ConnectError::BadKey)?;
        let offer = self.offer.write()?;
        self.message = noise::write(&mut self.state, &offer).ok_or(ConnectError::BadKey)?;
        self.cookie = None;
        Ok(())
    }

    /// Writes the next initiation if one is due.
    ///
    /// # Errors
    /// Nobody has answered for too long.
    pub fn transmit(&mut self, now: Time, bytes: &mut [u8]) -> Result<Option<usize>, ConnectError> {
        if now < self.next {
            return Ok(None);
        }
        let after = now.since(self.began);
        if after > self.limits.silence {
            return Err(ConnectError::Silence { to: self.to, after });
        }
        if self.tries == LARGE_TRIES && self.mtu > BASE_MTU {
            self.restart(BASE_MTU)?;
        }
        self.tries += 1;
        self.next = now + self.wait;
        self.wait = (self.wait * 3 / 2).min(Span::from_millis(3000));
        let length = usize::from(self.mtu).saturating_sub(self.limits.ip_udp(&self.to));
        let mac = |covered: &[u8]| code(&self.codes.0, covered);
        let cookie = self.cookie.as_ref();
        let length = Initiation::write(self.local, cookie, &self.message, mac, length, bytes)?;
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
        let ours = retry.receiver == self.local;
        if ours && hmac::verify(&self.codes.1, retry.covered, retry.mac).is_ok() {
            // The same cookie again leads to nothing new.
            if self.cookie.as_ref() != Some(retry.cookie) {
                self.cookie = Some(*retry.cookie);
                self.next = now;
                self.wait = PATIENCE;
            }
        }
    }

    fn on_response(
        &mut self,
        now: Time,
        response: &Response<'_>,
    ) -> Result<Option<Connection>, ConnectError> {
        if response.receiver != self.local {
            return Ok(None);
        }
        // A forged response must not harm the handshake: snow leaves a state as it was if a
        // message is not good.
        let Some(payload) = noise::read(&mut self.state, response.noise) else { return Ok(None) };
        let Ok(answer) = Answer::read(&payload) else { return Ok(None) };
        let window = match answer {
            Answer::Accepted { window } => window,
            Answer::Refused(reason) => return Err(ConnectError::Refused(reason)),
        };
        let fresh = noise::initiator(&self.key).ok_or(ConnectError::BadKey)?;
        let state = std::mem::replace(&mut self.state, fresh);
        let keys = noise::keys(state).ok_or(ConnectError::BadKey)?;
        let role = Role::Initiator { window };
        let ids = (self.local, response.sender);
        Connection::new(now, role, keys, ids, self.to, &self.offer, &self.limits)
            .map(Some)
            .map_err(ConnectError::Refused)
    }
}
