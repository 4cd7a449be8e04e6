//! The printable keys by which clients and servers recognise each other.
//!
//! A key string holds the server's public key, by which a client recognises the right server, and a
//! secret that the server shares with all of its clients. A `pl1-` string holds nothing else, so
//! the server cannot tell its owners apart. A `pl2-` string also holds the private half of one
//! client's own key ([`ClientKey`]).

use std::fmt;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::client_key::{ClientKey, ClientPublic};
pub use crate::key_error::KeyError;
use crate::key_text::{CLIENT_PREFIX, PREFIX};
use crate::packet::MAC;
use crate::{key_pair, key_text};

/// Number of bytes of the checksum that follows public key and shared secret in a printed key.
const CHECK: usize = 5;
/// Number of bytes of the checksum at the end of a client's printed key, after its private half.
const CLIENT_CHECK: usize = 6;
/// Number of bytes of the checksum in an identity file.
const FILE_CHECK: usize = 3;
/// First words of an identity file.
const FILE: &str = "paceline identity 1";

/// What a server gives to those who may send to it. Everybody who has it may send, unless the
/// server admits only listed clients.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub(crate) public: [u8; 32],
    pub(crate) shared: [u8; 32],
    /// The client's own key, in a box, since few keys have one.
    client: Option<Box<ClientKey>>,
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

/// Returns random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}

impl Key {
    /// Reads a printed key of either kind.
    ///
    /// # Errors
    /// If the text is not a key, or incomplete.
    pub fn parse(text: &str) -> Result<Key, KeyError> {
        let text = text.trim();
        if let Some(text) = text.strip_prefix(PREFIX) {
            let bytes: [u8; 64] = key_text::decode(text, CHECK).ok_or(KeyError::Check)?;
            return Ok(Key { public: part(&bytes, 0), shared: part(&bytes, 1), client: None });
        }
        if let Some(text) = text.strip_prefix(CLIENT_PREFIX) {
            let bytes: [u8; 96] = key_text::decode(text, CLIENT_CHECK).ok_or(KeyError::Check)?;
            let client = ClientKey::of(part(&bytes, 2)).ok_or(KeyError::Check)?;
            let (public, shared) = (part(&bytes, 0), part(&bytes, 1));
            return Ok(Key { public, shared, client: Some(Box::new(client)) });
        }
        Err(if text.starts_with("plc-") { KeyError::Public } else { KeyError::Shape })
    }

    /// Returns the public half of the client's own key; `None` if this is the key that all clients
    /// share.
    pub fn client(&self) -> Option<ClientPublic> {
        self.client.as_ref().map(|client| client.public())
    }
    /// Returns the client's own key, if it has one.
    pub(crate) fn client_key(&self) -> Option<&ClientKey> {
        self.client.as_deref()
    }
    /// Returns the key that all clients of this server share.
    #[must_use]
    pub fn without_client(&self) -> Key {
        Key { client: None, ..self.clone() }
    }

    /// Makes a key for a new client of this server, with a new private half. Returns the public
    /// half, too.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn for_new_client(&self) -> Result<(Key, ClientPublic), KeyError> {
        let client = ClientKey::generate()?;
        let public = client.public();
        Ok((Key { client: Some(Box::new(client)), ..self.clone() }, public))
    }

    /// Returns the key with which a packet proves that its sender has this key. `purpose` separates
    /// the kinds of packets.
    pub(crate) fn mac(&self, purpose: &[u8]) -> hmac::Key {
        let root = hmac::Key::new(hmac::HMAC_SHA256, &self.shared);
        let mut context = hmac::Context::with_key(&root);
        context.update(purpose);
        context.update(&self.public);
        hmac::Key::new(hmac::HMAC_SHA256, context.sign().as_ref())
    }
}

/// Returns the authentication code of `bytes` under `key`.
pub(crate) fn code(key: &hmac::Key, bytes: &[u8]) -> [u8; MAC] {
    hmac::sign(key, bytes).as_ref().first_chunk::<MAC>().copied().unwrap_or_default()
}

/// Returns the 32 bytes at position `index`, counted in units of 32 bytes.
fn part<const N: usize>(bytes: &[u8; N], index: usize) -> [u8; 32] {
    let part = bytes.get(32 * index..).and_then(|rest| rest.first_chunk::<32>());
    part.copied().unwrap_or_default()
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [self.public, self.shared].concat();
        match &self.client {
            None => write!(f, "{PREFIX}{}", key_text::encode(&bytes, CHECK)),
            Some(client) => {
                let bytes = [&bytes[..], client.private()].concat();
                write!(f, "{CLIENT_PREFIX}{}", key_text::encode(&bytes, CLIENT_CHECK))
            }
        }
    }
}

impl Identity {
    /// Makes a new identity.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn generate() -> Result<Identity, KeyError> {
        let pair = key_pair::generate().ok_or(KeyError::Random)?;
        let key = Key { public: pair.1, shared: random()?, client: None };
        Ok(Identity { private: pair.0, key })
    }

    /// Returns the key for those who may send.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the identity as the text of a file, which only the server may read.
    pub fn to_text(&self) -> String {
        let bytes = [self.private, self.key.public, self.key.shared].concat();
        format!("{FILE}\n{}\n", key_text::encode(&bytes, FILE_CHECK))
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// If the text is not an identity.
    pub fn parse(text: &str) -> Result<Identity, KeyError> {
        let text = text.trim().strip_prefix(FILE).ok_or(KeyError::Identity)?.trim();
        let bytes: [u8; 96] = key_text::decode(text, FILE_CHECK).ok_or(KeyError::Identity)?;
        let key = Key { public: part(&bytes, 1), shared: part(&bytes, 2), client: None };
        Ok(Identity { private: part(&bytes, 0), key })
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
    fn a_clients_own_key_is_read_as_it_is_printed() {
        let identity = Identity::generate().expect("random numbers");
        let (key, public) = identity.key().for_new_client().expect("random numbers");
        let text = key.to_string();
        assert!(text.starts_with("pl2-") && !format!("{key:?}").contains(&text[4..12]));
        let again = Key::parse(&text).expect("a key");
        assert_eq!((again.client(), &again), (Some(public), &key));
        assert_eq!(again.without_client(), *identity.key());
        // A `pl2-` string without its client part is not a valid `pl1-` string.
        assert_eq!(Key::parse(&text.replacen("pl2-", "pl1-", 1)), Err(KeyError::Check));
        assert_eq!(Key::parse(&text[..text.len() - 4]), Err(KeyError::Check));
        assert_eq!(Key::parse(&public.to_string()), Err(KeyError::Public));
        let mut wrong = text.into_bytes();
        wrong[100] = if wrong[100] == b'A' { b'B' } else { b'A' };
        let wrong = String::from_utf8(wrong).expect("text");
        assert_eq!(Key::parse(&wrong), Err(KeyError::Check));
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
