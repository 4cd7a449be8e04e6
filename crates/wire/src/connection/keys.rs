//! The keys of a connection, which are replaced while it lasts (docs/wire.md, "New keys").
//!
//! Each set of keys belongs to an epoch, whose number is in the first byte of the packet number.
//! One end starts a change with the public half of a fresh X25519 key; the other end answers with
//! its own. The new keys are made from both and from a secret that each change replaces, too. So
//! whoever learns the keys of one epoch cannot read earlier epochs, and can read later ones only
//! after manipulating the exchange.

use paceline_cc::{Span, Time};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hmac;
use ring::rand::SystemRandom;

use crate::cipher::{Cipher, TAG};
use crate::frame::Frame;
use crate::noise::Keys;

/// Age of keys at which the connection's initiator starts a change (WireGuard's REKEY-AFTER-TIME).
const REKEY_AFTER_TIME: Span = Span::from_secs(120);
/// Additional age at which the responder starts one, if the initiator has not.
const RESPONDER_MARGIN: Span = Span::from_secs(30);
/// Number of packets sent under one key at which this end starts a change: RFC 9001 §6.6 allows
/// 2^23 packets for AES-128-GCM. For ChaCha20-Poly1305 the limit is higher than any connection
/// reaches.
const REKEY_AFTER_PACKETS: u64 = 1 << 23;
/// Time for which packets under the old keys are accepted after the other end has used the new
/// ones, because they may be in flight.
const OLD_KEYS: Span = Span::from_secs(5);
/// Minimum wait before an unanswered frame is repeated; each further wait is twice as long.
const FIRST_REPEAT: Span = Span::from_millis(200);
/// Maximum wait before a repetition.
const LONGEST_REPEAT: Span = Span::from_millis(5000);

/// Reason why a packet was not decrypted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenError {
    /// This end has no keys, or no longer has them, for the packet's epoch.
    Epoch,
    /// The packet is not authentic.
    Forged,
}

/// The two ciphers of an epoch, and the secret from which the next epoch's keys are made.
struct Epoch {
    seal: Cipher,
    open: Cipher,
    chain: [u8; 32],
}

/// The timer of a frame that is repeated until the other end reacts.
#[derive(Debug)]
struct Repeat {
    due: Time,
    tries: u32,
}

impl Repeat {
    fn new() -> Repeat {
        Repeat { due: Time::ZERO, tries: 0 }
    }
    fn is_due(&mut self, now: Time, rtt: Span) -> bool {
        let is_due = self.due <= now;
        if is_due {
            let wait = FIRST_REPEAT.max(rtt * 2) * (1 << self.tries.min(8));
            self.tries += 1;
            self.due = now + wait.min(LONGEST_REPEAT.max(rtt * 2));
        }
        is_due
    }
}

/// A change that this end has started.
struct Started {
    private: EphemeralPrivateKey,
    public: [u8; 32],
    repeat: Repeat,
}

/// A change that the other end has started and this end has answered.
struct Answered {
    keys: Epoch,
    theirs: [u8; 32],
    ours: [u8; 32],
    /// True if the answer is to be sent, for the first time or again.
    is_due: bool,
}

/// The old keys, for packets that are still in flight.
struct Old {
    open: Cipher,
    /// When they are deleted; [`Time::NEVER`] until the other end has used the new keys.
    until: Time,
    /// Timer of the ping that shows the new keys to the other end.
    confirm: Repeat,
}

/// A frame to be sent for a change of keys.
#[derive(Copy, Clone, Debug)]
pub(super) enum KeyFrame {
    Frame(Frame<'static>),
    /// A ping under the new keys.
    Ping,
}

/// The keys of both directions.
pub(super) struct Keyring {
    is_initiator: bool,
    plaintext: bool,
    epoch: u8,
    keys: Epoch,
    old: Option<Old>,
    started: Option<Started>,
    answered: Option<Answered>,
    /// When this end starts the next change.
    start_at: Time,
    /// Number of packets sent in this epoch.
    sent: u64,
    changes: u64,
}

fn digest(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    parts.iter().for_each(|part| context.update(part));
    context.sign().as_ref().first_chunk().copied().unwrap_or_default()
}

impl Keyring {
    /// Returns the keyring with a handshake's keys. `None` if the keys cannot be used.
    pub(super) fn new(
        now: Time,
        keys: &Keys,
        is_initiator: bool,
        plaintext: bool,
    ) -> Option<Keyring> {
        let chain = digest(&[keys.0, keys.1].concat(), &[b"paceline chain"]);
        let keys = Keyring::epoch_of(keys, chain, is_initiator, plaintext)?;
        let mut keyring = Keyring {
            is_initiator,
            plaintext,
            epoch: 0,
            keys,
            old: None,
            started: None,
            answered: None,
            start_at: Time::NEVER,
            sent: 0,
            changes: 0,
        };
        keyring.set_start(now);
        Some(keyring)
    }

    fn epoch_of(
        keys: &Keys,
        chain: [u8; 32],
        is_initiator: bool,
        plaintext: bool,
    ) -> Option<Epoch> {
        let (seal, open) = if is_initiator { (keys.0, keys.1) } else { (keys.1, keys.0) };
        Some(Epoch {
            seal: Cipher::new(&seal, plaintext)?,
            open: Cipher::new(&open, plaintext)?,
            chain,
        })
    }

    fn set_start(&mut self, now: Time) {
        let margin = if self.is_initiator { Span::ZERO } else { RESPONDER_MARGIN };
        self.start_at = now + REKEY_AFTER_TIME + margin;
    }

    /// Returns the number of key changes.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the 64 bits of the next packet's number on the wire, which encryption uses as its
    /// nonce.
    #[inline]
    pub(super) fn wire_number(&self, number: u64) -> u64 {
        u64::from(self.epoch) << 56 | number
    }

    /// Encrypts a packet with this wire number.
    #[inline]
    pub(super) fn seal(
        &mut self,
        wire_number: u64,
        covered: &[u8],
        payload: &mut [u8],
    ) -> Option<[u8; TAG]> {
        self.sent += 1;
        self.keys.seal.seal(wire_number, covered, payload)
    }

    /// Decrypts a packet in place. The flag is true if its epoch is the newest.
    ///
    /// # Errors
    /// If the packet is not authentic, or there are no keys for its epoch.
    #[inline]
    pub(super) fn open<'a>(
        &mut self,
        now: Time,
        wire_number: u64,
        covered: &[u8],
        payload: &'a mut [u8],
    ) -> Result<(&'a [u8], bool), OpenError> {
        if (wire_number >> 56) as u8 != self.epoch {
            return self.open_other(now, wire_number, covered, payload);
        }
        let payload =
            self.keys.open.open(wire_number, covered, payload).ok_or(OpenError::Forged)?;
        if let Some(old) = self.old.as_mut().filter(|old| old.until == Time::NEVER) {
            old.until = now + OLD_KEYS;
        }
        Ok((payload, true))
    }

    /// Decrypts a packet under the old keys, or the first packet under new keys that this end has
    /// answered for.
    #[cold]
    fn open_other<'a>(
        &mut self,
        now: Time,
        wire_number: u64,
        covered: &[u8],
        payload: &'a mut [u8],
    ) -> Result<(&'a [u8], bool), OpenError> {
        let epoch = (wire_number >> 56) as u8;
        if epoch == self.epoch.wrapping_sub(1) {
            let old = self.old.as_ref().filter(|old| now < old.until).ok_or(OpenError::Epoch)?;
            let opened = old.open.open(wire_number, covered, payload);
            return opened.map(|payload| (payload, false)).ok_or(OpenError::Forged);
        }
        let answered = self.answered.as_ref().filter(|_| epoch == self.epoch.wrapping_add(1));
        let answered = answered.ok_or(OpenError::Epoch)?;
        let opened = answered.keys.open.open(wire_number, covered, payload);
        let payload = opened.ok_or(OpenError::Forged)?;
        if let Some(answered) = self.answered.take() {
            self.replace(now, answered.keys, now + OLD_KEYS);
        }
        Ok((payload, true))
    }

    /// Replaces the keys. Packets under the old ones are accepted until `until`.
    fn replace(&mut self, now: Time, keys: Epoch, until: Time) {
        let Epoch { open, .. } = std::mem::replace(&mut self.keys, keys);
        self.old = Some(Old { open, until, confirm: Repeat::new() });
        self.epoch = self.epoch.wrapping_add(1);
        (self.started, self.answered, self.sent) = (None, None, 0);
        self.changes += 1;
        self.set_start(now);
    }

    /// Returns the keys of the next epoch. `starter` and `answerer` are the public halves.
    fn next(&self, shared: &[u8], starter: &[u8; 32], answerer: &[u8; 32]) -> Option<Epoch> {
        let epoch = [self.epoch.wrapping_add(1)];
        let parts: [&[u8]; 5] = [b"paceline new keys", &epoch, starter, answerer, shared];
        let root = digest(&self.keys.chain, &parts);
        let keys = (digest(&root, &[b"initiator"]), digest(&root, &[b"responder"]));
        let chain = digest(&root, &[b"chain"]);
        Keyring::epoch_of(&keys, chain, self.is_initiator, self.plaintext)
    }

    /// Handles the other end's start of a change. Returns false if it is ignored. `is_newest` is
    /// true if the packet's epoch was the newest: old keys must not start changes.
    #[cold]
    pub(super) fn on_start(&mut self, is_newest: bool, epoch: u8, theirs: &[u8; 32]) -> bool {
        if !is_newest || epoch != self.epoch.wrapping_add(1) {
            return false;
        }
        if let Some(answered) = &mut self.answered {
            answered.is_due |= answered.theirs == *theirs;
            return answered.theirs == *theirs;
        }
        // Both ends have started a change: the one of the connection's initiator continues.
        if self.is_initiator && self.started.is_some() {
            return false;
        }
        let Some((private, ours)) = generate() else { return false };
        let Some(keys) = agree(private, theirs, |shared| self.next(shared, theirs, &ours)) else {
            return false;
        };
        self.started = None;
        self.answered = Some(Answered { keys, theirs: *theirs, ours, is_due: true });
        true
    }

    /// Handles the other end's answer. Returns false if it is ignored.
    #[cold]
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        is_newest: bool,
        epoch: u8,
        theirs: &[u8; 32],
    ) -> bool {
        if !is_newest || epoch != self.epoch.wrapping_add(1) {
            return false;
        }
        let Some(Started { private, public, .. }) = self.started.take() else { return false };
        // If the key agreement fails, the change is started again with another key.
        let keys = agree(private, theirs, |shared| self.next(shared, &public, theirs));
        keys.map(|keys| self.replace(now, keys, Time::NEVER)).is_some()
    }

    /// Returns when [`Keyring::pop`] is next worth calling.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        if self.answered.as_ref().is_some_and(|answered| answered.is_due) {
            return Time::ZERO;
        }
        match (&self.old, &self.started) {
            (Some(old), _) => old.until.min(old.confirm_due()),
            (None, Some(started)) => started.repeat.due,
            (None, None) if self.answered.is_some() => Time::NEVER,
            (None, None) if self.sent >= REKEY_AFTER_PACKETS => Time::ZERO,
            (None, None) => self.start_at,
        }
    }

    /// Returns the next frame to be sent for a change of keys.
    #[inline]
    pub(super) fn pop(&mut self, now: Time, rtt: Span) -> Option<KeyFrame> {
        if self.wake() <= now { self.pop_due(now, rtt) } else { None }
    }

    #[cold]
    fn pop_due(&mut self, now: Time, rtt: Span) -> Option<KeyFrame> {
        let epoch = self.epoch.wrapping_add(1);
        if let Some(answered) = self.answered.as_mut().filter(|answered| answered.is_due) {
            answered.is_due = false;
            let public = answered.ours;
            return Some(KeyFrame::Frame(Frame::NewKeysAnswer { epoch, public }));
        }
        self.old.take_if(|old| old.until <= now);
        if let Some(old) = &mut self.old {
            let waits = old.until == Time::NEVER;
            return (waits && old.confirm.is_due(now, rtt)).then_some(KeyFrame::Ping);
        }
        let starts = self.sent >= REKEY_AFTER_PACKETS || self.start_at <= now;
        if self.started.is_none() && self.answered.is_none() && starts {
            match generate() {
                Some((private, public)) => {
                    self.started = Some(Started { private, public, repeat: Repeat::new() });
                }
                // The system gives no random numbers: the present keys stay in use.
                None => (self.start_at, self.sent) = (now + RESPONDER_MARGIN, 0),
            }
        }
        let started = self.started.as_mut()?;
        let public = started.public;
        let is_due = started.repeat.is_due(now, rtt);
        is_due.then_some(KeyFrame::Frame(Frame::NewKeys { epoch, public }))
    }
}

impl Old {
    /// Returns when the next ping that shows the new keys is due.
    fn confirm_due(&self) -> Time {
        if self.until == Time::NEVER { self.confirm.due } else { Time::NEVER }
    }
}

fn generate() -> Option<(EphemeralPrivateKey, [u8; 32])> {
    let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).ok()?;
    let public = *private.compute_public_key().ok()?.as_ref().first_chunk()?;
    Some((private, public))
}

/// Passes the shared secret to `derive`. Returns `None` if the other end's public half is invalid
/// (of small order).
fn agree(
    private: EphemeralPrivateKey,
    theirs: &[u8; 32],
    derive: impl FnOnce(&[u8]) -> Option<Epoch>,
) -> Option<Epoch> {
    agree_ephemeral(private, &UnparsedPublicKey::new(&X25519, theirs), derive).ok().flatten()
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
