//! Compares staged entries with the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};

use paceline_os::folder::{EntryKind, Folder};
use paceline_wire::records::FileHash;

use super::journal::{JournalPath, JournalRecord, hex};

/// Opens a folder of the tree.
pub(super) fn folder_at(tree: &Folder, path: &JournalPath) -> io::Result<Folder> {
    path.components().try_fold(tree.own()?, |folder, name| folder.folder(name))
}

/// Opens folders of the tree one after the other, and keeps the last one open.
pub(super) struct Walk<'a> {
    tree: &'a Folder,
    last: Option<(JournalPath, Folder)>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(tree: &'a Folder) -> Walk<'a> {
        Walk { tree, last: None }
    }

    /// Returns the folder of an entry, and the entry's name there.
    pub(super) fn find(&mut self, path: &JournalPath) -> io::Result<(&Folder, OsString)> {
        let (parent, name) = path.split();
        if self.last.as_ref().is_none_or(|(last, _)| *last != parent) {
            let folder = folder_at(self.tree, &parent)?;
            self.last = Some((parent, folder));
        }
        match &self.last {
            Some((_, folder)) => Ok((folder, name)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn hash_of(mut file: File) -> io::Result<String> {
    let (mut hash, mut place) = (FileHash::default(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut place)? {
            0 => return Ok(hex(&hash.whole().hash)),
            count => hash.update(place.get(..count).unwrap_or(&[])),
        }
    }
}

/// Returns true if the entry is as recorded. With `is_deep`, also reads and hashes files.
fn is_as_recorded(
    walk: &mut Walk<'_>,
    record: &JournalRecord,
    path: &JournalPath,
    is_deep: bool,
) -> io::Result<bool> {
    let (folder, name) = walk.find(path)?;
    let status = folder.status(&name)?;
    Ok(match record {
        JournalRecord::Folder { .. } => status.kind == EntryKind::Folder,
        JournalRecord::File { length, hash, .. } => {
            let is_long_enough = status.kind == EntryKind::File && status.length == *length;
            is_long_enough && (!is_deep || hash_of(folder.file(&name, false)?)? == *hash)
        }
        JournalRecord::Symlink { target, .. } => {
            status.kind == EntryKind::Symlink && folder.target(&name)? == target.to_os()
        }
        _ => true,
    })
}

/// Finds the first record whose entry in the tree differs from the journal. Skips entries whose
/// top-level entry is in `placed`, because they have left the tree. Returns the record's offset and
/// its entry.
///
/// # Errors
/// The disk returns an error.
pub(super) fn first_difference(
    tree: &Folder,
    records: &[(u64, JournalRecord)],
    placed: &[u32],
    is_deep: bool,
) -> io::Result<Option<(u64, u32)>> {
    let failed: BTreeSet<u32> = records
        .iter()
        .filter_map(|(_, record)| match record {
            JournalRecord::Failed { entry, .. } => Some(*entry),
            _ => None,
        })
        .collect();
    let files: BTreeMap<u32, &JournalRecord> = records
        .iter()
        .filter_map(|(_, record)| match record {
            JournalRecord::File { entry, .. } | JournalRecord::Symlink { entry, .. } => {
                Some((*entry, record))
            }
            _ => None,
        })
        .collect();
    let mut walk = Walk::new(tree);
    for (offset, record) in records {
        let (entry, path, expected) = match record {
            JournalRecord::Folder { entry, path, .. }
            | JournalRecord::File { entry, path, .. }
            | JournalRecord::Symlink { entry, path, .. } => (*entry, path, record),
            JournalRecord::HardLink { entry, path, of, .. } => {
                (*entry, path, *files.get(of).unwrap_or(&record))
            }
            _ => continue,
        };
        if failed.contains(&entry) || placed.binary_search(&path.top()).is_ok() {
            continue;
        }
        // An entry that cannot be read counts as missing.
        if !is_as_recorded(&mut walk, expected, path, is_deep).unwrap_or(false) {
            return Ok(Some((*offset, entry)));
        }
    }
    Ok(None)
}

/// Removes entries of the tree that no record names.
///
/// # Errors
/// The file system returns an error.
pub(super) fn remove_unknown(tree: &Folder, records: &[(u64, JournalRecord)]) -> io::Result<()> {
    let known: BTreeSet<&JournalPath> = records
        .iter()
        .filter_map(|(_, record)| match record {
            JournalRecord::Folder { path, .. }
            | JournalRecord::File { path, .. }
            | JournalRecord::Symlink { path, .. }
            | JournalRecord::HardLink { path, .. } => Some(path),
            _ => None,
        })
        .collect();
    remove_unknown_in(tree, &JournalPath::default(), &known)
}

fn remove_unknown_in(
    folder: &Folder,
    path: &JournalPath,
    known: &BTreeSet<&JournalPath>,
) -> io::Result<()> {
    let mtime = folder.own_status()?.mtime;
    for name in folder.names()? {
        let path = path.join(&name);
        if !known.contains(&path) {
            folder.remove_all(&name)?;
            // Restore the mtime, which may already be the sender's.
            let _ = folder.set_mtime(mtime);
        } else if folder.status(&name)?.kind == EntryKind::Folder {
            remove_unknown_in(&readable(folder, &name)?, &path, known)?;
        }
    }
    Ok(())
}

/// Opens a folder. If its mode forbids reading, changes the mode so that only the owner may.
fn readable(folder: &Folder, name: &OsStr) -> io::Result<Folder> {
    folder.folder(name).or_else(|_| folder.own_folder(name))
}
