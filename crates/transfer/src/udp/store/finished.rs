//! Completed transfers. Their journals are kept, so that a repeated command sends nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use paceline_os::folder::{EntryKind, Folder};
use paceline_wire::records::Transfer;

use super::destination::Destination;
use super::journal::{JOURNAL, JournalContent, JournalPath, JournalRecord, JournalState};
use super::layout::{FINISHED, folder_name};
use super::root::Root;

/// Maximum number of journals kept.
const MOST: usize = 100;
/// Maximum total size of the journals kept, without the newest one, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Moves a transfer's journal to the folder of completed ones, and removes the oldest there.
///
/// # Errors
/// The file system returns an error.
pub(super) fn keep(root: &Folder, folder: &Folder, name: &OsStr) -> io::Result<()> {
    match root.make_folder(OsStr::new(FINISHED), 0o700) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let finished = root.folder(OsStr::new(FINISHED))?;
    folder.rename(OsStr::new(JOURNAL), &finished, name)?;
    prune(&finished, name)
}

fn prune(finished: &Folder, newest: &OsStr) -> io::Result<()> {
    let mut journals = Vec::new();
    for name in finished.names()? {
        if let (true, Ok(status)) = (name != newest, finished.status(&name)) {
            journals.push((status.mtime, name, status.length));
        }
    }
    journals.sort();
    journals.reverse();
    let mut bytes = 0;
    for (count, (_, name, length)) in (1..).zip(&journals) {
        bytes += length;
        if count >= MOST || bytes > MOST_BYTES {
            finished.remove_all(name)?;
        }
    }
    Ok(())
}

/// Returns the paths of the top-level entries of a completed transfer if all its entries are
/// unchanged: of the recorded kinds, files by length and mtime, symbolic links by target.
pub(super) fn places(destination: &Destination, transfer: &Transfer) -> Option<Vec<String>> {
    Root::all(&destination.folder).find_map(|root| places_by(&root.folder, destination, transfer))
}

fn places_by(root: &Folder, destination: &Destination, transfer: &Transfer) -> Option<Vec<String>> {
    let finished = root.folder(OsStr::new(FINISHED)).ok()?;
    let name = folder_name(&transfer.id);
    let file = finished.file(&name, false).ok()?;
    let content = JournalContent::read(&file).ok()?;
    if content.begin() == Some(&JournalRecord::begin(transfer))
        && is_in_place(destination, &content.records) == Some(true)
    {
        let placed = JournalState::of(&content.records).placed;
        let names = sent_names(&content.records);
        let gives = |(entry, place, _): &(u32, JournalPath, u64)| {
            names.get(entry).is_some_and(|name| destination.gives(name, place))
        };
        if !placed.iter().all(gives) {
            // It was received into another name of this folder: one of both commands had `-o FILE`.
            return None;
        }
        return Some(placed.iter().map(|(_, place, _)| destination.text(place)).collect());
    }
    // Something has changed: receive it again.
    let _ = finished.remove(&name);
    None
}

/// Returns the sender's names of the top-level entries, by entry number.
fn sent_names<'a>(records: &'a [(u64, JournalRecord)]) -> BTreeMap<u32, &'a JournalPath> {
    let name = |(_, record): &'a (u64, JournalRecord)| match record {
        JournalRecord::File { entry, path, name, .. }
        | JournalRecord::Folder { entry, path, name, .. }
        | JournalRecord::Symlink { entry, path, name, .. }
        | JournalRecord::HardLink { entry, path, name, .. } => {
            path.split().0.0.is_empty().then_some((*entry, name))
        }
        _ => None,
    };
    records.iter().filter_map(name).collect()
}

/// Returns the records of files and symbolic links, by entry number. Hard links are compared with
/// them.
fn link_targets(records: &[(u64, JournalRecord)]) -> BTreeMap<u32, &JournalRecord> {
    let mut targets = BTreeMap::new();
    for (_, record) in records {
        if let JournalRecord::File { entry, .. } | JournalRecord::Symlink { entry, .. } = record {
            targets.insert(*entry, record);
        }
    }
    targets
}

/// Returns true if the entry `name` in `folder` is what `record` says. The time of a folder changes
/// with its contents and does not count.
fn is_unchanged(folder: &Folder, name: &OsStr, record: &JournalRecord) -> io::Result<bool> {
    let status = folder.status(name)?;
    Ok(match record {
        JournalRecord::Folder { .. } => status.kind == EntryKind::Folder,
        JournalRecord::File { length, mtime, .. } => {
            status.kind == EntryKind::File
                && status.length == *length
                && mtime.is_none_or(|mtime| mtime == status.mtime)
        }
        JournalRecord::Symlink { target, .. } => {
            status.kind == EntryKind::Symlink && folder.target(name)? == target.to_os()
        }
        // A hard link whose target has no record: the journal cannot decide.
        _ => false,
    })
}

fn is_in_place(destination: &Destination, records: &[(u64, JournalRecord)]) -> Option<bool> {
    let placed = JournalState::of(records).placed;
    let targets = link_targets(records);
    let mut last: Option<(JournalPath, Folder)> = None;
    for (_, record) in records {
        let (path, expected) = match record {
            JournalRecord::File { path, .. }
            | JournalRecord::Folder { path, .. }
            | JournalRecord::Symlink { path, .. } => (path, record),
            JournalRecord::HardLink { path, of, .. } => (path, *targets.get(of).unwrap_or(&record)),
            _ => continue,
        };
        let index = placed.binary_search_by_key(&path.top(), |placed| placed.0).ok()?;
        let place = OsStr::from_bytes(&placed.get(index)?.1.0).to_os_string();
        // The destination's name replaces the first component.
        let (parent, name) = path.split();
        let name = if parent.0.is_empty() { place.clone() } else { name };
        if last.as_ref().is_none_or(|(known, _)| *known != parent) {
            let mut components: Vec<OsString> =
                parent.components().map(OsStr::to_os_string).collect();
            if let Some(first) = components.first_mut() {
                first.clone_from(&place);
            }
            let own = destination.folder.own().ok()?;
            let folder = components.iter().try_fold(own, |folder, name| folder.folder(name));
            last = Some((parent, folder.ok()?));
        }
        if !is_unchanged(&last.as_ref()?.1, &name, expected).ok()? {
            return Some(false);
        }
    }
    Some(true)
}
