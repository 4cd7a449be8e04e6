//! The clients that a server admits, from a file that the server reads again on SIGHUP.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use paceline_cc::Span;
use paceline_os::RealTimeError;
use paceline_wire::{Admission, ClientPublic, Handout};

use crate::clients_file::ClientsFile;

/// Interval at which each loop checks for a newer list.
pub(super) const LOOK_INTERVAL: Span = Span::from_millis(250);

/// The list of clients, shared by all loops of a server.
pub(super) struct ListedClients {
    path: PathBuf,
    /// Number of times that the list was read.
    version: AtomicU64,
    newest: Mutex<Arc<Admission>>,
}

impl ListedClients {
    /// Reads the file.
    ///
    /// # Errors
    /// Those of [`ClientsFile::read`].
    pub(super) fn read(path: &Path) -> Result<ListedClients, RealTimeError> {
        let list = ListedClients {
            path: path.to_path_buf(),
            version: AtomicU64::new(0),
            newest: Mutex::default(),
        };
        list.reload()?;
        Ok(list)
    }

    /// Reads the file again. Returns how many clients it lists.
    ///
    /// # Errors
    /// Those of [`ClientsFile::read`]; then the previous list stays in use.
    pub(super) fn reload(&self) -> Result<usize, RealTimeError> {
        let file = ClientsFile::read(&self.path)?;
        let admission = Arc::new(file.admission(|_| Handout::default()));
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = admission;
        self.version.fetch_add(1, Ordering::Release);
        Ok(file.clients.len())
    }

    /// Returns the name of the client with this key, if the list has it.
    pub(super) fn name(&self, key: &ClientPublic) -> Option<String> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.client(key).map(|client| client.name.clone())
    }

    /// Returns the list if it is newer than version `seen`, and updates `seen`.
    pub(super) fn newer(&self, seen: &mut u64) -> Option<Arc<Admission>> {
        let version = self.version.load(Ordering::Acquire);
        if version == *seen {
            return None;
        }
        *seen = version;
        Some(Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
