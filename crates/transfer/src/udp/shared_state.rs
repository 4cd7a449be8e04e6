//! State that all loops of a server share.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Once};

use paceline_os::Interrupts;
use paceline_wire::{ClientPublic, ConnectionCounts};

use super::listed::ListedClients;
use super::server_options::ServerOptions;
use super::stop_signal::StopSignal;
use super::store::{Store, WorkerCount};

/// State that all loops of a server share.
pub(super) struct SharedState<'a> {
    pub(super) options: &'a ServerOptions,
    pub(super) interrupts: &'a Interrupts,
    /// The clients that are admitted; `None` admits every client that has the server's key.
    pub(super) listed: Option<ListedClients>,
    /// Number of clients so far.
    pub(super) clients: AtomicU64,
    /// Number of current connections at all loops.
    pub(super) counts: ConnectionCounts,
    /// Number of measurements in progress at all loops: with `once`, the server waits for all flows
    /// of one measurement.
    pub(super) measurements: AtomicU64,
    /// Where files go.
    pub(super) store: Arc<Store>,
    /// Number of connections that bring files, at all loops.
    pub(super) workers: WorkerCount,
    pub(super) stop: StopSignal,
    /// Makes all loops together report only once that a real-time priority was refused.
    pub(super) ordinary: Once,
}

impl SharedState<'_> {
    /// Returns the name of the client with this key, if each client has its own folder.
    pub(super) fn folder_client(&self, key: Option<ClientPublic>) -> Option<String> {
        self.options.disk.client_quota?;
        let key = key?;
        let name = self.listed.as_ref().and_then(|listed| listed.name(&key));
        // A client just removed from the list is disconnected soon; until then its key is its name.
        Some(name.unwrap_or_else(|| key.to_string()))
    }
}
