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
mod root;
mod staging;
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

use paceline_os::folder::{EntryKind, Folder};
use paceline_wire::records::{Hash, Transfer};

use self::destination::Destination;
use self::journal::{JOURNAL, JournalContent, JournalRecord, JournalState};
use self::output::Output;
use self::problem::Problem;
use self::root::Root;
use self::staging::Staging;
use super::note::Resume;
use super::progress::Progress;

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
    allows_outside_links: bool,
    /// The transfers that are being received.
    open: Mutex<BTreeMap<Hash, Slot>>,
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
        Store { target, allows_outside_links, open: Mutex::default(), output, progress }
    }

    /// Counts what arrives in `progress`.
    pub(super) fn counting(self, progress: Option<&Arc<Progress>>) -> Store {
        let progress = progress.map_or(self.progress, Arc::clone);
        Store { progress, ..self }
    }

    fn destination(&self) -> io::Result<Option<Destination>> {
        self.target.place().map(|(path, file)| Destination::open(path, file)).transpose()
    }

    /// Begins a transfer that goes to a folder, or goes on with it. An older connection that receives it is cut off.
    fn begin(&self, destination: Destination, transfer: &Transfer) -> Result<Begun, Problem> {
        let slot = Slot::default();
        // Nobody else has it yet: this does not wait.
        let mut staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let older = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(transfer.id, Arc::clone(&slot))
        };
        // Waits until the older one has done what it is at.
        drop(older.map(|older| older.lock().unwrap_or_else(PoisonError::into_inner).take()));
        if transfer.resumable
            && let Some(places) = finished::places(&destination, transfer)
        {
            drop(staging);
            self.end(&transfer.id, &slot);
            return Ok(Begun::Complete(places));
        }
        match Staging::open(destination, *transfer, self.allows_outside_links) {
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
                self.end(&transfer.id, &slot);
                Err(problem)
            }
        }
    }

    /// A connection receives a transfer no longer.
    fn end(&self, id: &Hash, slot: &Slot) {
        drop(slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(id).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            open.remove(id);
        }
    }

    /// Finds the transfers that were interrupted, and removes what is left of those that nobody comes back for.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn unfinished(&self) -> io::Result<Unfinished> {
        let mut found = Unfinished::default();
        let Some(destination) = self.destination()? else { return Ok(found) };
        for root in Root::all(&destination) {
            for name in root.folder.names()? {
                // What cannot be read is none.
                let _ = count(&root.folder, &name, &mut found);
            }
            // Only an empty one goes.
            let _ = destination.folder.remove_folder(&root.name);
        }
        Ok(found)
    }
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
