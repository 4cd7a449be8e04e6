//! Measures the disk space of entries below a destination, for quotas.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use nix::unistd::geteuid;
use paceline_os::folder::{EntryKind, Folder, Status};

use super::destination::Destination;
use super::journal::JournalPath;
use super::layout::{ENTRY, FINISHED, TREE};
use super::root::Root;

/// Bytes on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes of all entries.
    pub(super) total: u64,
    /// Of these, the bytes of each client's folder, by the folder's name.
    pub(super) clients: BTreeMap<Arc<str>, u64>,
}

/// Measures a destination. With `has_client_folders`, each top-level folder belongs to a client.
///
/// Other threads may write and move entries meanwhile. An entry that moves from `.paceline` to its
/// final path is counted once, because source folders are measured before the folders to which
/// their entries move.
///
/// # Errors
/// The file system returns an error, or a folder of this user cannot be read. Unreadable folders of
/// other users count as empty.
pub(super) fn measure(destination: &Destination, has_client_folders: bool) -> io::Result<Usage> {
    let mut usage = Usage::default();
    let mut counter = Counter::default();
    usage.total += counter.count_roots(&destination.folder)?;
    for name in destination.kept_names()? {
        let path = JournalPath::from_name(&name);
        let failed = |error: io::Error| named(&error, &destination.text(&path));
        let of_client = match has_client_folders {
            true => counter.count_client(&destination.folder, &name).map_err(failed)?,
            false => None,
        };
        if let Some(bytes) = of_client {
            usage.total += ENTRY + bytes;
            if let Some(client) = name.to_str() {
                usage.clients.insert(client.into(), bytes);
            }
        } else {
            usage.total += counter.count_once(&destination.folder, &name).map_err(failed)?;
        }
    }
    Ok(usage)
}

/// Adds the entry's path to an error.
fn named(error: &io::Error, path: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

/// Returns `None` if the entry was removed or moved meanwhile.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A folder whose entries are being counted.
struct Level {
    folder: Folder,
    /// True if the folder belongs to this process's user.
    is_own: bool,
    /// Names of entries that are still to be counted.
    names: Vec<OsString>,
}

impl Level {
    /// Opens a folder. Returns `None` if it belongs to another user and cannot be read.
    fn open(parent: &Folder, name: &OsStr, status: &Status) -> io::Result<Option<Level>> {
        let is_own = status.owner == geteuid().as_raw();
        let opened = parent.folder(name).and_then(|folder| Ok((folder.names()?, folder)));
        let opened = readable(opened, is_own)?;
        Ok(opened.map(|(names, folder)| Level { folder, is_own, names }))
    }
}

/// Returns `None` if another user denies the access.
fn readable<T>(result: io::Result<T>, is_own: bool) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_own => Ok(None),
        Err(error) => Err(error),
    }
}

/// Counts entries, each once.
#[derive(Default)]
struct Counter {
    /// Devices and inodes of files with several names, and of entries that may move while they are
    /// counted.
    seen: BTreeSet<(u64, u64)>,
}

impl Counter {
    /// Counts the folders `.paceline` in `folder`.
    fn count_roots(&mut self, folder: &Folder) -> io::Result<u64> {
        let mut bytes = 0;
        for root in Root::all(folder) {
            bytes += ENTRY;
            self.seen.insert(root.folder.own_status()?.identity);
            let mut names = root.folder.names()?;
            // Last, because journals move from transfers to `finished`.
            names.sort_by_key(|name| name == FINISHED);
            for name in names {
                bytes += match name == FINISHED {
                    true => self.count_once(&root.folder, &name)?,
                    false => self.count_staged(&root.folder, &name)?,
                };
            }
        }
        Ok(bytes)
    }

    /// Counts the contents of a client's folder. Returns `None` if the entry is not a client's
    /// folder.
    fn count_client(&mut self, all: &Folder, name: &OsStr) -> io::Result<Option<u64>> {
        let Some(status) = found(all.status(name))? else { return Ok(None) };
        if status.kind != EntryKind::Folder || self.seen.contains(&status.identity) {
            return Ok(None);
        }
        let level = found(Level::open(all, name, &status))?.flatten();
        let Some(level) = level else { return Ok(None) };
        let mut bytes = self.count_roots(&level.folder)?;
        for name in level.folder.names()? {
            bytes += self.count_once(&level.folder, &name)?;
        }
        Ok(Some(bytes))
    }

    /// Counts the folder of a transfer.
    fn count_staged(&mut self, root: &Folder, name: &OsStr) -> io::Result<u64> {
        let Some(folder) = found(root.folder(name))? else { return Ok(0) };
        let mut bytes = ENTRY;
        let mut names = folder.names()?;
        // Last, because partial files move to the tree.
        names.sort_by_key(|name| name == TREE);
        for name in names {
            if name != TREE {
                bytes += self.count_once(&folder, &name)?;
            } else if let Some(tree) = found(folder.folder(&name))? {
                bytes += ENTRY;
                for name in tree.names()? {
                    bytes += self.count_once(&tree, &name)?;
                }
            }
        }
        Ok(bytes)
    }

    /// Counts an entry that may move meanwhile, with its contents, unless it was counted before.
    fn count_once(&mut self, folder: &Folder, name: &OsStr) -> io::Result<u64> {
        let Some(status) = found(folder.status(name))? else { return Ok(0) };
        let Some((mut bytes, first)) = self.count_single(folder, name, &status)? else {
            return Ok(0);
        };
        let (device, _) = status.identity;
        let mut levels: Vec<Level> = first.into_iter().collect();
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.names.pop() else {
                levels.pop();
                continue;
            };
            let status = found(readable(level.folder.status(&name), level.is_own))?.flatten();
            // A file system mounted below this one is on another disk.
            let Some(status) = status.filter(|status| status.identity.0 == device) else {
                continue;
            };
            let counted = self.count_single(&level.folder, &name, &status)?;
            if let Some((more, below)) = counted {
                bytes += more;
                levels.extend(below);
            }
        }
        self.seen.insert(status.identity);
        Ok(bytes)
    }

    /// Counts one entry. Returns a folder, whose contents remain to be counted. Returns `None` for
    /// other entries, for moved ones and for those counted before.
    fn count_single(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        status: &Status,
    ) -> io::Result<Option<(u64, Option<Level>)>> {
        let is_seen = self.seen.contains(&status.identity);
        match status.kind {
            // A hard link counts only as a name.
            EntryKind::File if status.links > 1 => {
                let is_first = self.seen.insert(status.identity);
                Ok(Some((ENTRY + if is_first { status.length } else { 0 }, None)))
            }
            _ if is_seen => Ok(None),
            EntryKind::Folder => {
                let level = found(Level::open(folder, name, status))?;
                Ok(level.map(|level| (ENTRY, level)))
            }
            EntryKind::File => Ok(Some((ENTRY + status.length, None))),
            EntryKind::Symlink | EntryKind::Other => Ok(Some((ENTRY, None))),
        }
    }
}
