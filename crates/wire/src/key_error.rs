//! Errors of keys.

use thiserror::Error;

use crate::key_text::{CLIENT_PREFIX, PREFIX};

/// Reason why text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It does not have the form of a key.
    #[error(
        "no key: a key begins with `{PREFIX}` or `{CLIENT_PREFIX}`; copy the whole string that `paceline key show` or `recv` prints"
    )]
    Shape,
    /// Characters are missing or wrong.
    #[error(
        "the key is incomplete or mistyped; copy the whole string that `paceline key show` or `recv` prints"
    )]
    Check,
    /// It is the public half of a client's key instead of a secret key string.
    #[error(
        "this is a client's public key, which servers list; the client needs the file that `paceline key new --for` has \
         written"
    )]
    Public,
    /// It does not have the form of a client's public half.
    #[error(
        "not a client's public key, which begins with `plc-`; `paceline key show FILE` prints it"
    )]
    PublicShape,
    /// It is a secret key string instead of a client's public half.
    #[error(
        "this is a secret key string, not a client's public key, which begins with `plc-`; `paceline key show FILE` prints \
         that"
    )]
    NotPublic,
    /// A file is not an identity.
    #[error("not a whole file of a server's keys; `paceline key new -o FILE` makes one")]
    Identity,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}
