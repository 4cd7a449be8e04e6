//! Makes a transfer's folder and its journal consistent when a connection continues it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use paceline_os::folder::EntryKind;
use paceline_wire::records::FileHash;

use super::{News, PARTIAL, Partial, Staging, partial_name};
use crate::udp::store::journal::{
    JOURNAL, Journal, JournalContent, JournalPath, JournalRecord, JournalState, boot_id,
};
use crate::udp::store::verify;

/// Lengths of beginnings are multiples of this many bytes.
const BEGINNING: u64 = 64 << 10;
/// Maximum number of beginnings of a partial file that are offered to the sender.
const MOST_BEGINNINGS: usize = 12;

impl Staging {
    /// Makes folder and journal consistent, however the last connection ended.
    pub(super) fn recover(&mut self, mut content: JournalContent) -> io::Result<()> {
        self.finish_moves(&content)?;
        if let Some(top) = self.state.top.clone()
            && let (true, Some(place)) = (top.is_whole, &top.place)
            && self.tree.status(OsStr::new(&top.entry.to_string())).is_err()
            && self.destination.has(place)
        {
            let place = OsString::from_vec(place.0.clone());
            let folder = top.folder.map(|_| self.destination.folder.own_folder(&place));
            self.on_placed(&top, folder.transpose()?)?;
            content = self.journal.read()?;
        }
        let boot = boot_id();
        let is_deep = self.state.boot != boot;
        let placed: Vec<u32> = self.state.placed.iter().map(|placed| placed.0).collect();
        let bad = verify::first_difference(&self.tree, &content.records, &placed, is_deep)?;
        if let Some((offset, entry)) = bad {
            self.keep_as_partial(&content, entry);
            let file = self.folder.file(OsStr::new(JOURNAL), true)?;
            self.journal = Journal::go_on(file, offset)?;
            content.records.retain(|(at, _)| *at < offset);
            self.state = JournalState::of(&content.records);
        }
        verify::remove_unknown(&self.tree, &content.records)?;
        if is_deep {
            self.append(JournalRecord::Boot { id: boot })?;
        }
        for open in self.state.open.clone() {
            let (parent, name) = open.path.split();
            if !open.has_failed {
                self.folder_at(&parent)?.own_folder(&name)?;
            }
        }
        for (entry, place, bytes) in self.state.placed.clone() {
            let place = self.destination.text(&place);
            self.news.push(News::Kept { entry, place, bytes, before: true });
        }
        for (entry, text) in self.state.reasons.clone() {
            self.news.push(News::Failed { entry, text, before: true });
        }
        self.find_partial()
    }

    /// Moves files to their paths that the journal calls complete and that were not moved.
    fn finish_moves(&mut self, content: &JournalContent) -> io::Result<()> {
        for name in self.folder.names()? {
            let number = name.to_str().and_then(|name| name.strip_prefix(PARTIAL)?.parse().ok());
            let Some(number): Option<u32> = number else { continue };
            let record = content.records.iter().find_map(|(_, record)| match record {
                JournalRecord::File { entry, path, .. } if *entry == number => Some(path),
                _ => None,
            });
            if let Some(path) = record {
                let (parent, last) = path.split();
                let parent = self.folder_at(&parent);
                let moved = parent.and_then(|into| self.folder.rename_new(&name, &into, &last));
                if moved.is_err() {
                    self.folder.remove(&name)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a file that differs from the journal the partial file, so that its first bytes may be
    /// kept.
    fn keep_as_partial(&mut self, content: &JournalContent, entry: u32) {
        let path = content.records.iter().find_map(|(_, record)| match record {
            JournalRecord::File { entry: number, path, .. } if *number == entry => Some(path),
            _ => None,
        });
        if let Some((parent, name)) = path.map(JournalPath::split)
            && let Ok(parent) = self.folder_at(&parent)
            && parent.status(&name).is_ok_and(|status| status.kind == EntryKind::File)
        {
            let _ = parent.rename(&name, &self.folder, &partial_name(entry));
        }
    }

    /// Finds the partial file of the next entry and hashes its beginnings. Removes other partial
    /// files.
    fn find_partial(&mut self) -> io::Result<()> {
        let next = self.next();
        for name in self.folder.names()? {
            if name.as_bytes().starts_with(PARTIAL.as_bytes()) && name != partial_name(next) {
                self.folder.remove_all(&name)?;
            }
        }
        let name = partial_name(next);
        let Ok(status) = self.folder.status(&name) else { return Ok(()) };
        // Do not write to a file that has other names.
        let is_own = status.kind == EntryKind::File && status.links == 1;
        let Some(mut file) = is_own.then(|| self.folder.file(&name, true).ok()).flatten() else {
            return self.folder.remove_all(&name);
        };
        let beginnings = beginnings(&mut file, status.length)?;
        self.partial = Some(Partial { entry: next, length: status.length, beginnings });
        Ok(())
    }
}

/// Returns the hashes of beginnings of a file: the longest multiple of 64 KiB, then about half of the
/// length each time.
fn beginnings(file: &mut File, length: u64) -> io::Result<Vec<FileHash>> {
    let mut lengths = Vec::new();
    let mut next = length / BEGINNING;
    while next > 0 && lengths.len() < MOST_BEGINNINGS {
        lengths.push(next * BEGINNING);
        next /= 2;
    }
    let (mut hashes, mut hash) = (Vec::new(), FileHash::default());
    let mut place = vec![0; 256 << 10];
    file.seek(SeekFrom::Start(0))?;
    for end in lengths.into_iter().rev() {
        while hash.length() < end {
            let room = (end - hash.length()).min(place.len() as u64) as usize;
            let count = file.read(place.get_mut(..room).unwrap_or(&mut []))?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            hash.update(place.get(..count).unwrap_or(&[]));
        }
        hashes.push(hash.clone());
    }
    hashes.reverse();
    Ok(hashes)
}
