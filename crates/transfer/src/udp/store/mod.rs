//! Where a server keeps what it receives. What is not whole is staged in `DIR/.paceline/`, from where a transfer goes on
//! after whatever has interrupted it (docs/transfer.md).

mod destination;
mod finished;
mod intake;
mod journal;
mod links;
mod names;
mod output;
mod passing;
mod problem;
mod quota;
mod root;
mod staging;
mod usage;
mod verify;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use paceline_os::LiveError;
use paceline_os::folder::{EntryKind, Folder};
use paceline_wire::records::{Hash, Transfer};

use self::destination::Destination;
use self::journal::{JOURNAL, JournalContent, JournalRecord, JournalState};
use self::names::kept_name;
use self::output::Output;
use self::problem::{Problem, transfer_problem};
use self::quota::Quota;
use self::root::Root;
use self::staging::{Rules, Staging};
use super::note::Resume;
use super::progress::Progress;

pub use self::quota::DiskLimits;
pub(super) use self::worker::{Owner, Report, Reports, TransferStatus, Worker, WorkerCount};

/// Where what arrives goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Into this file, whatever its name was.
    File(PathBuf),
    /// Into this folder, under its own name.
    Folder(PathBuf),
    /// To standard output: one sender at a time, one file at a time.
    Output,
    /// Nowhere: it is only checked.
    Nowhere,
}

impl Target {
    /// The folder of what arrives, and the name in it if that is given.
    fn place(&self) -> Option<(&Path, Option<&OsStr>)> {
        match self {
            Target::Folder(path) => Some((path, None)),
            Target::File(path) => Some((path.parent().unwrap_or(Path::new("")), path.file_name())),
            Target::Output | Target::Nowhere => None,
        }
    }
}

/// A transfer that a connection receives. Empty once a newer connection has taken the transfer over.
type Slot = Arc<Mutex<Option<Staging>>>;

/// What tells transfers apart: the client's folder, if each client has one, and the transfer's id.
type TransferKey = (Option<Arc<str>>, Hash);

/// Unfinished transfers in a folder.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// How many there are.
    pub transfers: usize,
    /// Bytes of their files that are here.
    pub bytes: u64,
}

/// Where a server keeps what it receives. All its connections share it.
pub(super) struct Store {
    target: Target,
    rules: Rules,
    /// How much of the disk transfers may take, if that is limited.
    quota: Option<Arc<Quota>>,
    /// True if each client has a folder of its own.
    has_client_folders: bool,
    /// The transfers that are being received.
    open: Mutex<BTreeMap<TransferKey, Slot>>,
    /// Standard output, if files go there.
    output: Output,
    /// Counters for a display.
    progress: Arc<Progress>,
}

/// How a transfer begins.
enum Begun {
    /// All of it is in these places already.
    Complete(Vec<String>),
    /// It is received into the slot, from `Resume` on.
    Staged(Slot, Resume),
}

impl Store {
    /// A store for this target. `end` is readable once this program is to end.
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

    /// Limits what is kept.
    pub(super) fn limited(self, limits: DiskLimits) -> Store {
        let quota = Quota::new(&self.target, limits).map(Arc::new);
        let has_client_folders = limits.client_quota.is_some();
        let rules = Rules { keeps_folders_readable: quota.is_some(), ..self.rules };
        Store { rules, quota, has_client_folders, ..self }
    }

    /// Counts what is kept, if that is limited. Returns its bytes and the quota for all clients.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn count(&self) -> Result<Option<(u64, Option<u64>)>, LiveError> {
        let Some(quota) = &self.quota else { return Ok(None) };
        quota.recount().map_err(|problem| LiveError::Message(problem.text()))?;
        Ok(Some(quota.used()))
    }

    /// Returns the name of a client's folder.
    fn client_folder(client: &str) -> Arc<str> {
        // A list of clients may call one `..`.
        kept_name(client.as_bytes(), true).to_string_lossy().into()
    }

    /// Counts what arrives in `progress`.
    pub(super) fn counting(self, progress: Option<&Arc<Progress>>) -> Store {
        let progress = progress.map_or(self.progress, Arc::clone);
        Store { progress, ..self }
    }

    /// Returns where files of this client go.
    fn destination(&self, client: Option<&Arc<str>>) -> io::Result<Option<Destination>> {
        let Some((path, file)) = self.target.place() else { return Ok(None) };
        let all = Destination::open(path, file)?;
        match (self.has_client_folders, client) {
            (false, _) => Ok(Some(all)),
            (true, Some(client)) => all.of_client(client).map(Some),
            (true, None) => Err(io::Error::other("this client is not on the list of clients")),
        }
    }

    /// Begins a transfer that goes to a folder, or goes on with it. An older connection that receives it is cut off.
    fn begin(
        &self,
        destination: Destination,
        client: Option<&Arc<str>>,
        transfer: &Transfer,
    ) -> Result<Begun, Problem> {
        let slot = Slot::default();
        let key = (client.cloned(), transfer.id);
        // Nobody else has it yet: this does not wait.
        let mut staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let older = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(key.clone(), Arc::clone(&slot))
        };
        // Waits until the older one has done what it is at.
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

    /// Opens the folder of a transfer, and has the room granted that the rest of it needs. Before it refuses, it counts what
    /// is on the disk.
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
                // What it has made already would count beside what it needs.
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

    /// A connection receives a transfer no longer.
    fn end(&self, key: &TransferKey, slot: &Slot) {
        drop(slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(key).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            open.remove(key);
        }
    }

    /// Finds the transfers that were interrupted, and removes what is left of those that nobody comes back for.
    ///
    /// # Errors
    /// The file system refuses.
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

/// Adds the transfers that are staged in a folder to those that were found.
fn find_unfinished(folder: &Folder, found: &mut Unfinished) -> io::Result<()> {
    for root in Root::all(folder) {
        for name in root.folder.names()? {
            // What cannot be read is none.
            let _ = count(&root.folder, &name, found);
        }
        // Only an empty one goes.
        let _ = folder.remove_folder(&root.name);
    }
    Ok(())
}

/// Adds a transfer's folder to those that were found.
fn count(root: &Folder, name: &OsStr, found: &mut Unfinished) -> io::Result<()> {
    if name == finished::FINISHED {
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
