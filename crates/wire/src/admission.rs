//! A server's list of admitted clients: their public keys, and the handout of each.

use std::collections::BTreeMap;

use crate::{ClientPublic, Handout};

/// Reason that a client gets whose key is not on the list.
pub(crate) const NOT_LISTED: &str = "this client's key is not on the server's list of clients: ask for its public \
    key (`paceline key show FILE`) to be added";
/// Reason that a client gets whose key was taken off the list while it was connected.
pub(crate) const REVOKED: &str = "this client's key was taken off the server's list of clients";
/// Reason that a connected client gets when its handout in the list has changed.
pub(crate) const CHANGED: &str =
    "the server has changed this client's addresses or networks: connect again";
/// Reason that a connection gets when its client has made a newer one.
pub(crate) const REPLACED: &str = "a newer connection of this client has taken its place";

/// An admitted client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedClient {
    /// Public half of its key.
    pub key: ClientPublic,
    /// Name that people use for it.
    pub name: String,
    /// What the server hands out to it.
    pub handout: Handout,
}

/// A server's list of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    clients: BTreeMap<ClientPublic, AdmittedClient>,
}

impl Admission {
    /// Returns the client with this key, if it is listed.
    pub fn client(&self, key: &ClientPublic) -> Option<&AdmittedClient> {
        self.clients.get(key)
    }
    /// Returns all clients in the order of their keys.
    pub fn clients(&self) -> impl Iterator<Item = &AdmittedClient> {
        self.clients.values()
    }

    /// Returns the reason why a connection with this key and handout cannot continue under this
    /// list; `None` if it can.
    pub(crate) fn objection(&self, key: &ClientPublic, handout: &Handout) -> Option<&'static str> {
        match self.clients.get(key) {
            None => Some(REVOKED),
            Some(client) if client.handout != *handout => Some(CHANGED),
            Some(_) => None,
        }
    }
}

impl FromIterator<AdmittedClient> for Admission {
    /// Makes a list. If several clients have one key, the last counts.
    fn from_iter<T: IntoIterator<Item = AdmittedClient>>(clients: T) -> Admission {
        let clients = clients.into_iter().map(|client| (client.key, client)).collect();
        Admission { clients }
    }
}
