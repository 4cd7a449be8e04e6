//! Which clients a server admits: those whose keys it lists, each with what is handed out to it.

use std::collections::BTreeMap;

use crate::{ClientPublic, Handout};

/// What a client reads whose key is not on the list.
pub(crate) const NOT_LISTED: &str = "this client's key is not on the server's list of clients: ask for its public \
    key (`paceline key show FILE`) to be added";
/// What a client reads whose key was taken off the list while it was connected.
pub(crate) const REVOKED: &str = "this client's key was taken off the server's list of clients";
/// What a client reads to which the server hands out something else from now on.
pub(crate) const CHANGED: &str =
    "the server has changed what it hands out to this client: connect again";
/// What a client reads whose newer connection has taken the place of this one.
pub(crate) const REPLACED: &str = "a newer connection of this client has taken its place";

/// A client that is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedClient {
    /// The public half of its key.
    pub key: ClientPublic,
    /// What people call it.
    pub name: String,
    /// What is handed out to it.
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

    /// Returns why a connection with what was handed out to it cannot go on under this list; `None` if it can.
    pub(crate) fn objection(&self, key: &ClientPublic, handout: &Handout) -> Option<&'static str> {
        match self.clients.get(key) {
            None => Some(REVOKED),
            Some(client) if client.handout != *handout => Some(CHANGED),
            Some(_) => None,
        }
    }
}

impl FromIterator<AdmittedClient> for Admission {
    /// Makes a list; of several clients with one key the last counts.
    fn from_iter<T: IntoIterator<Item = AdmittedClient>>(clients: T) -> Admission {
        let clients = clients.into_iter().map(|client| (client.key, client)).collect();
        Admission { clients }
    }
}
