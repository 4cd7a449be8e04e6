//! The printable key of a server.
//!
//! It holds the server's public key, by which a sender knows that it speaks with the right server,
//! and a secret that both share, by which the server knows those who may send to it.

use std::fmt;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use crate::packet::MAC;

/// What a printed key begins with.
const PREFIX: &str = "pl1-";
/// The characters of a printed key, for six bits each.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Bytes of the check at a printed key's end.
const CHECK: usize = 5;
/// Public key, shared secret, check.
const BYTES: usize = 64 + CHECK;
/// What an identity file begins with.
const FILE: &str = "paceline identity 1";

/// Why text is no key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It does not look like one.
    #[error(
        "no key: a key begins with `{PREFIX}`; copy the whole string that `paceline key show` or `recv` prints"
    )]
    Shape,
    /// Characters are missing or wrong.
    #[error(
        "the key is incomplete or mistyped; copy the whole string that `paceline key show` or `recv` prints"
    )]
    Check,
    /// A file is no identity.
    #[error("no keys of a server, or not whole: `paceline key new -o FILE` makes some")]
    Identity,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// What a server gives to those who may send to it. Whoever has it may send.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub(crate) public: [u8; 32],
    pub(crate) shared: [u8; 32],
}

/// A server's secret: its private key and the shared secret.
#[derive(Clone)]
pub struct Identity {
    pub(crate) private: [u8; 32],
    key: Key,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}

fn check(bytes: &[u8]) -> [u8; CHECK] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().first_chunk::<CHECK>().copied().unwrap_or_default()
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 1);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            let index = (word >> (18 - 6 * i)) as usize & 63;
            text.push(char::from(ALPHABET[index]));
        }
    }
    text
}

/// The bytes of a text of whole groups of four characters.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let mut word = 0;
        for character in group {
            let value = ALPHABET.iter().position(|known| known == character)?;
            word = word << 6 | value as u32;
        }
        if group.len() != 4 {
            return None;
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..]);
    }
    Some(bytes)
}

impl Key {
    /// Reads a printed key.
    ///
    /// # Errors
    /// It is none, or not whole.
    pub fn parse(text: &str) -> Result<Key, KeyError> {
        let text = text.trim().strip_prefix(PREFIX).ok_or(KeyError::Shape)?;
        if text.len() != BYTES / 3 * 4 {
            return Err(KeyError::Check);
        }
        let bytes = decode(text).ok_or(KeyError::Check)?;
        let (secret, end) = bytes.split_at_checked(64).ok_or(KeyError::Check)?;
        let (public, shared) = secret.split_at(32);
        match (public.first_chunk(), shared.first_chunk()) {
            (Some(public), Some(shared)) if check(secret) == end => {
                Ok(Key { public: *public, shared: *shared })
            }
            _ => Err(KeyError::Check),
        }
    }

    /// The key by which a packet shows that its writer has this key; `purpose` tells packets of
    /// one kind from those of another.
    pub(crate) fn mac(&self, purpose: &[u8]) -> hmac::Key {
        let root = hmac::Key::new(hmac::HMAC_SHA256, &self.shared);
        let mut context = hmac::Context::with_key(&root);
        context.update(purpose);
        context.update(&self.public);
        hmac::Key::new(hmac::HMAC_SHA256, context.sign().as_ref())
    }
}

/// The code of `bytes` under `key`.
pub(crate) fn code(key: &hmac::Key, bytes: &[u8]) -> [u8; MAC] {
    hmac::sign(key, bytes).as_ref().first_chunk::<MAC>().copied().unwrap_or_default()
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [self.public, self.shared].concat();
        bytes.extend(check(&bytes));
        write!(f, "{PREFIX}{}", encode(&bytes))
    }
}

impl Identity {
    /// A new identity.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn generate() -> Result<Identity, KeyError> {
        let pair = crate::noise::generate().ok_or(KeyError::Random)?;
        let key = Key { public: pair.1, shared: random()? };
        Ok(Identity { private: pair.0, key })
    }

    /// The key to give to those who may send.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The identity as the text of a file, which nobody else may read.
    pub fn to_text(&self) -> String {
        // 99 bytes, so that the groups are whole.
        let mut bytes = [self.private, self.key.public, self.key.shared].concat();
        bytes.extend(&check(&bytes)[..3]);
        format!("{FILE}\n{}\n", encode(&bytes))
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Identity, KeyError> {
        let text = text.trim().strip_prefix(FILE).ok_or(KeyError::Identity)?.trim();
        let bytes = if text.len() == 132 { decode(text) } else { None };
        let bytes = bytes.ok_or(KeyError::Identity)?;
        let (secret, end) = bytes.split_at_checked(96).ok_or(KeyError::Identity)?;
        let part = |i: usize| secret.get(32 * i..).and_then(|rest| rest.first_chunk::<32>());
        match (part(0), part(1), part(2)) {
            (Some(private), Some(public), Some(shared)) if check(secret)[..3] == *end => {
                Ok(Identity { private: *private, key: Key { public: *public, shared: *shared } })
            }
            _ => Err(KeyError::Identity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_printed() {
        let identity = Identity::generate().expect("random numbers");
        let text = identity.key().to_string();
        assert_eq!(Key::parse(&text).as_ref(), Ok(identity.key()));
        assert_eq!(Key::parse(&format!(" {text}\n")).as_ref(), Ok(identity.key()));
        let again = Identity::parse(&identity.to_text()).expect("an identity");
        assert_eq!((again.private, again.key()), (identity.private, identity.key()));
        assert!(!format!("{identity:?}{:?}", identity.key()).contains(&text[4..12]));
    }

    #[test]
    fn a_mistyped_key_is_refused() {
        let text = Identity::generate().expect("random numbers").key().to_string();
        assert_eq!(Key::parse("hello"), Err(KeyError::Shape));
        assert_eq!(Key::parse(&text[..text.len() - 1]), Err(KeyError::Check));
        for at in PREFIX.len()..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] = if wrong[at] == b'A' { b'B' } else { b'A' };
            let wrong = String::from_utf8(wrong).expect("text");
            assert_eq!(Key::parse(&wrong), Err(KeyError::Check), "character {at}");
        }
        assert_eq!(Key::parse("pl1-ü"), Err(KeyError::Check));
        assert!(Identity::parse("paceline identity 1\nAAAA\n").is_err());
    }
}
