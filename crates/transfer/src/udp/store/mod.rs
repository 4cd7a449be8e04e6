//! Where a server keeps received files. Incomplete transfers are staged in `DIR/.paceline/`, from
//! where they continue after any interruption (docs/transfer.md).

mod destination;
mod finished;
mod intake;
mod journal;
mod layout;
mod links;
mod names;
mod output;
mod passing;
mod problem;
mod quota;
mod root;
mod staging;
mod target;
mod transfer_status;
mod usage;
mod verify;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use paceline_os::RealTimeError;
use paceline_os::folder::{EntryKind, Folder};
use paceline_wire::records::{Hash, Transfer};

use self::destination::Destination;
use self::journal::{JOURNAL, JournalContent, JournalRecord, JournalState};
use self::layout::FINISHED;
use self::names::kept_name;
use self::output::Output;
use self::problem::{Problem, transfer_problem};
use self::quota::Quota;
use self::root::Root;
use self::staging::{Rules, Staging};
use super::note::Resume;
use super::progress::Progress;

pub use self::quota::DiskLimits;
pub use self::target::{Target, Unfinished};
pub(super) use self::transfer_status::TransferStatus;
pub(super) use self::worker::{Owner, Worker, WorkerCount, WorkerReport, WorkerReports};

/// A transfer that a connection receives. `None` after a newer connection has taken the transfer
/// over.
type Slot = Arc<Mutex<Option<Staging>>>;

/// Identifies a transfer: the client's folder, if each client has its own, and the transfer's id.
type TransferKey = (Option<Arc<str>>, Hash);

/// The store of received files, shared by all connections of a server.
pub(super) struct Store {
    target: Target,
    rules: Rules,
    /// Disk space for transfers, if it is limited.
    quota: Option<Arc<Quota>>,
    /// True if each client has its own folder.
    has_client_folders: bool,
    /// Transfers that are being received.
    open: Mutex<BTreeMap<TransferKey, Slot>>,
    /// Standard output, if files go there.
    output: Output,
    /// Counters for a display.
    progress: Arc<Progress>,
}

/// How a transfer begins.
enum Begun {
    /// Everything is already here, at these paths.
    Complete(Vec<String>),
    /// The transfer is received into the slot, starting at `Resume`.
    Staged(Slot, Resume),
}

impl Store {
    /// Creates a store for this target. `end` becomes readable when this program is to end.
    pub(super) fn new(target: Target, allows_outside_links: bool, end: OwnedFd) -> Store {
        let output = Output::new(end);
        let progress = Arc::default();
        Store {
            target,
            rules: Rules { allows_outside_links, keeps_folders_readable: false },
            quota: None,
            has_client_folders: false,
            open: Mutex::default(),
            output,
            progress,
        }
    }

    /// Sets the limits on disk space.
    pub(super) fn limited(self, limits: DiskLimits) -> Store {
        let quota = Quota::new(&self.target, limits).map(Arc::new);
        let has_client_folders = limits.client_quota.is_some();
        let rules = Rules { keeps_folders_readable: quota.is_some(), ..self.rules };
        Store { rules, quota, has_client_folders, ..self }
    }

    /// Measures the disk space in use, if it is limited. Returns the bytes and the quota for all
    /// clients.
    ///
    /// # Errors
    /// The file system returns an error.
    pub(super) fn count(&self) -> Result<Option<(u64, Option<u64>)>, RealTimeError> {
        let Some(quota) = &self.quota else { return Ok(None) };
        quota.recount().map_err(|problem| RealTimeError::Message(problem.text()))?;
        Ok(Some(quota.used()))
    }

    /// Returns why standard output takes no more files, once a write to it has failed.
    pub(super) fn output_failure(&self) -> Option<&str> {
        self.output.failure()
    }

    /// Returns the name of a client's folder.
    fn client_folder(client: &str) -> Arc<str> {
        // A list of clients may contain the name `..`.
        kept_name(client.as_bytes(), true).to_string_lossy().into()
    }

    /// Makes the store count received files in `progress`.
    pub(super) fn counting(self, progress: Option<&Arc<Progress>>) -> Store {
        let progress = progress.map_or(self.progress, Arc::clone);
        Store { progress, ..self }
    }

    /// Returns the folder for files of this client.
    fn destination(&self, client: Option<&Arc<str>>) -> io::Result<Option<Destination>> {
        let Some((path, file)) = self.target.place() else { return Ok(None) };
        let all = Destination::open(path, file)?;
        match (self.has_client_folders, client) {
            (false, _) => Ok(Some(all)),
            (true, Some(client)) => all.of_client(client).map(Some),
            (true, None) => Err(io::Error::other("this client is not on the list of clients")),
        }
    }

    /// Begins a transfer to a folder, or continues it. An older connection that receives the same
    /// transfer loses it.
    fn begin(
        &self,
        destination: Destination,
        client: Option<&Arc<str>>,
        transfer: &Transfer,
    ) -> Result<Begun, Problem> {
        let slot = Slot::default();
        let key = (client.cloned(), transfer.id);
        // No other thread can have locked this new slot, so this does not block.
        let mut staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let older = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(key.clone(), Arc::clone(&slot))
        };
        // Wait for the older connection's current step, then take its transfer.
        drop(older.map(|older| older.lock().unwrap_or_else(PoisonError::into_inner).take()));
        if transfer.resumable
            && let Some(places) = finished::places(&destination, transfer)
        {
            drop(staging);
            self.end(&key, &slot);
            return Ok(Begun::Complete(places));
        }
        match self.open_with_room(destination, client, transfer) {
            Ok(opened) => {
                let beginnings = opened.beginnings();
                let beginnings =
                    beginnings.map(|whole| (whole.length, journal::hex(&whole.hash))).collect();
                let entry = opened.next();
                *staging = Some(opened);
                drop(staging);
                Ok(Begun::Staged(slot, Resume { entry, beginnings, ..Resume::default() }))
            }
            Err(problem) => {
                drop(staging);
                self.end(&key, &slot);
                Err(problem)
            }
        }
    }

    /// Opens a transfer's folder and reserves disk space for the rest of it. Measures the disk
    /// space again before it refuses.
    fn open_with_room(
        &self,
        destination: Destination,
        client: Option<&Arc<str>>,
        transfer: &Transfer,
    ) -> Result<Staging, Problem> {
        let mut opened = Staging::open(destination, *transfer, self.rules)?;
        let Some(quota) = &self.quota else { return Ok(opened) };
        let lease = quota.lease(client);
        if lease.add(opened.missing_bytes())?.is_err() {
            if opened.is_empty() {
                // Remove the folder that was just created: its size would count beside the request.
                opened.leave();
                quota.recount()?;
                let failed = transfer_problem("the receiver's folder cannot be opened");
                let destination = self.destination(client).map_err(&failed)?;
                let destination =
                    destination.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
                opened = Staging::open(destination, *transfer, self.rules)?;
            } else {
                quota.recount()?;
            }
            if let Err(shortage) = lease.add(opened.missing_bytes())? {
                opened.leave();
                return Err(shortage.into());
            }
        }
        opened.set_lease(lease);
        Ok(opened)
    }

    /// Notes that a connection no longer receives this transfer.
    fn end(&self, key: &TransferKey, slot: &Slot) {
        drop(slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(key).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            open.remove(key);
        }
    }

    /// Finds interrupted transfers, and removes the remains of those that cannot be resumed.
    ///
    /// # Errors
    /// The file system returns an error.
    pub(super) fn unfinished(&self) -> io::Result<Unfinished> {
        let mut found = Unfinished::default();
        let Some((path, file)) = self.target.place() else { return Ok(found) };
        let destination = Destination::open(path, file)?;
        find_unfinished(&destination.folder, &mut found)?;
        if self.has_client_folders {
            for name in destination.folder.names()? {
                if let Ok(folder) = destination.folder.folder(&name) {
                    find_unfinished(&folder, &mut found)?;
                }
            }
        }
        Ok(found)
    }
}

/// Adds the transfers staged in `folder` to `found`.
fn find_unfinished(folder: &Folder, found: &mut Unfinished) -> io::Result<()> {
    for root in Root::all(folder) {
        for name in root.folder.names()? {
            // Skip folders that cannot be read.
            let _ = count(&root.folder, &name, found);
        }
        // Removes the folder only if it is empty.
        let _ = folder.remove_folder(&root.name);
    }
    Ok(())
}

/// Adds a transfer's folder to `found`.
fn count(root: &Folder, name: &OsStr, found: &mut Unfinished) -> io::Result<()> {
    if name == FINISHED {
        return Ok(());
    }
    let folder = root.folder(name)?;
    let Some(_lock) = folder.lock()? else { return Ok(()) };
    let content =
        folder.file(OsStr::new(JOURNAL), false).and_then(|file| JournalContent::read(&file));
    let content = content.unwrap_or_default();
    if !matches!(content.begin(), Some(JournalRecord::Begin { resumable: true, .. })) {
        return root.remove_all(name);
    }
    found.transfers += 1;
    found.bytes += JournalState::of(&content.records).bytes;
    for name in folder.names()? {
        let status = folder.status(&name)?;
        if name != JOURNAL && status.kind == EntryKind::File {
            found.bytes += status.length;
        }
    }
    Ok(())
}
