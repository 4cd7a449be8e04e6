//! The key of one client, by which a server recognises it among clients with the same shared
//! secret.
//!
//! The private half stays with the client, in its key string (`pl2-`). The public half (`plc-`) is
//! in the server's list, and is not secret.

use std::fmt;

use crate::key_error::KeyError;
use crate::{key_pair, key_text};

/// Prefix of a printed public half.
const PREFIX: &str = "plc-";
/// Number of bytes of the checksum at the end of a printed public half.
const CHECK: usize = 4;

/// Public half of a client's key: the client's identity.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientPublic(pub(crate) [u8; 32]);

/// Both halves of a client's key.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientKey {
    private: [u8; 32],
    public: ClientPublic,
}

impl ClientPublic {
    /// Reads a printed public half.
    ///
    /// # Errors
    /// If the text is not a public half. A secret key string, which does not belong into a server's
    /// list, has an error of its own.
    pub fn parse(text: &str) -> Result<ClientPublic, KeyError> {
        let text = text.trim();
        let Some(text) = text.strip_prefix(PREFIX) else {
            let secret = text.starts_with("pl1-") || text.starts_with("pl2-");
            return Err(if secret { KeyError::NotPublic } else { KeyError::PublicShape });
        };
        key_text::decode(text, CHECK).map(ClientPublic).ok_or(KeyError::Check)
    }
}

impl fmt::Display for ClientPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", key_text::encode(&self.0, CHECK))
    }
}

impl fmt::Debug for ClientPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey({}, ..)", self.public)
    }
}

impl ClientKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn generate() -> Result<ClientKey, KeyError> {
        let (private, public) = key_pair::generate().ok_or(KeyError::Random)?;
        Ok(ClientKey { private, public: ClientPublic(public) })
    }

    /// Returns the key with this private half; `None` if the system has no X25519.
    pub(crate) fn of(private: [u8; 32]) -> Option<ClientKey> {
        let public = ClientPublic(key_pair::public_of(&private)?);
        Some(ClientKey { private, public })
    }

    /// Returns the public half, which servers list.
    pub fn public(&self) -> ClientPublic {
        self.public
    }
    pub(crate) fn private(&self) -> &[u8; 32] {
        &self.private
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_halves_are_read_as_they_are_printed() {
        let key = ClientKey::generate().expect("random numbers");
        let text = key.public().to_string();
        assert!(text.starts_with("plc-") && text.len() == 52, "{text}");
        assert_eq!(ClientPublic::parse(&format!(" {text}\n")), Ok(key.public()));
        assert_eq!(ClientKey::of(*key.private()), Some(key.clone()));
        // Debug output does not contain the private half.
        let private = key_text::encode(key.private(), CHECK);
        assert!(!format!("{key:?}").contains(&private[..8]));
    }

    #[test]
    fn mistyped_and_secret_keys_are_no_public_halves() {
        let text = ClientKey::generate().expect("random numbers").public().to_string();
        for at in PREFIX.len()..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] = if wrong[at] == b'A' { b'B' } else { b'A' };
            let wrong = String::from_utf8(wrong).expect("text");
            assert_eq!(ClientPublic::parse(&wrong), Err(KeyError::Check), "character {at}");
        }
        for (wrong, error) in [
            ("", KeyError::PublicShape),
            ("hello", KeyError::PublicShape),
            ("plc-", KeyError::Check),
            ("plc-ü", KeyError::Check),
            ("pl1-AAAA", KeyError::NotPublic),
            ("pl2-AAAA", KeyError::NotPublic),
        ] {
            assert_eq!(ClientPublic::parse(wrong), Err(error), "{wrong}");
        }
        assert_eq!(ClientPublic::parse(&format!("{text}A")), Err(KeyError::Check));
    }
}
