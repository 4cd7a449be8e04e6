//! Transfers into a store, and functions shared by their tests.

mod arrival;
mod intrusion;
mod quota;
mod resumption;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_wire::records::{Content, Entry, FileHash, Mtime, Record, Transfer};

use super::intake::{Intake, Told};
use super::root::ROOT;
use super::*;
use crate::udp::events::Event;
use crate::udp::note::Note;

/// A folder for a test, which is removed at its end.
struct Here(PathBuf);

impl Here {
    fn new(test: &str) -> Here {
        let name = format!("paceline-store-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Here(path)
    }

    fn store(&self) -> Arc<Store> {
        store(Target::Folder(self.0.clone()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the names in the folder, without the staging folder.
    fn names(&self) -> Vec<String> {
        names(&self.0).into_iter().filter(|name| name != ROOT).collect()
    }

    /// Returns the transfer's staging folder, if there is one.
    fn staged(&self) -> Option<PathBuf> {
        let root = self.path(ROOT);
        names(&root).into_iter().find(|name| name != FINISHED).map(|name| root.join(name))
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn store(target: Target) -> Arc<Store> {
    let (end, _) = io::pipe().expect("a pipe");
    // The other end is closed, so this end is readable. Only standard output checks it.
    Arc::new(Store::new(target, false, end.into()))
}

/// A transfer for tests: its entries and the contents of its files.
struct Sent<'a> {
    transfer: Transfer,
    entries: Vec<(Entry<'a>, Vec<u8>)>,
}

fn entry<'a>(number: u32, path: &'a str, content: Content<'a>) -> Entry<'a> {
    Entry {
        number,
        is_top_level: !path.contains('/'),
        mode: Some(if content == Content::Folder { 0o750 } else { 0o640 }),
        mtime: Some(Mtime { seconds: 1_000_000 + i64::from(number), nanoseconds: 5 }),
        path: path.as_bytes(),
        content,
    }
}

fn file(number: u32, path: &str) -> Entry<'_> {
    entry(number, path, Content::File { size: None, offset: 0 })
}

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut random = paceline_cc::Stream::new(seed, "file");
    (0..length).map(|_| random.next_u64() as u8).collect()
}

impl<'a> Sent<'a> {
    fn new(id: u8, entries: Vec<(Entry<'a>, Vec<u8>)>) -> Sent<'a> {
        let count = entries.len() as u32;
        let transfer = Transfer { id: [id; 32], resumable: true, entries: count, bytes: None };
        Sent { transfer, entries }
    }

    /// Files, nested folders and links: each kind, at the top level and below.
    fn all_kinds() -> Sent<'a> {
        Sent::new(
            1,
            vec![
                (file(1, "first"), bytes(70_000, 1)),
                (entry(2, "d", Content::Folder), vec![]),
                (file(3, "d/.hidden"), bytes(10, 3)),
                (entry(4, "d/e", Content::Folder), vec![]),
                (file(5, "d/e/large"), bytes(300_000, 5)),
                (entry(6, "d/e/link", Content::Symlink { target: b"../.hidden" }), vec![]),
                (entry(7, "d/hard", Content::HardLink { target: 5 }), vec![]),
                (entry(8, "d/none", Content::Folder), vec![]),
                (file(9, "d/zero"), vec![]),
                (entry(10, "again", Content::HardLink { target: 1 }), vec![]),
                (file(11, "last"), bytes(5, 11)),
            ],
        )
    }

    /// Returns the stream of a sender that continues at entry `from`, of which the receiver has
    /// `offset` bytes.
    fn stream(&self, from: u32, offset: u64) -> Vec<u8> {
        let mut stream = Vec::new();
        Record::Transfer(self.transfer).write(&mut stream);
        let mut open: Vec<Entry<'_>> = Vec::new();
        let close = |entry: &Entry<'_>, stream: &mut Vec<u8>| {
            let whole = Some(FileHash::default().whole());
            Record::Close { number: entry.number, whole }.write(stream);
        };
        let target = self.entries.iter().find(|(entry, _)| entry.number == from);
        for (entry, content) in &self.entries {
            let is_above = target.is_some_and(|(target, _)| {
                let inside = [entry.path, b"/"].concat();
                target.path.starts_with(&inside)
            });
            if entry.number < from && !is_above {
                continue;
            }
            while open.last().is_some_and(|last| entry.parent() != Some(last.path)) {
                close(&open.pop().expect("a folder"), &mut stream);
            }
            let offset = if entry.number == from { offset } else { 0 };
            Record::Entry(entry.at(offset)).write(&mut stream);
            match entry.content {
                Content::Folder => open.push(*entry),
                Content::File { .. } => {
                    let mut hash = FileHash::default();
                    hash.update(content);
                    let rest = &content[offset as usize..];
                    for bytes in rest.chunks(50_000) {
                        Record::Piece { number: entry.number, bytes }.write(&mut stream);
                    }
                    let whole = Some(hash.whole());
                    Record::Close { number: entry.number, whole }.write(&mut stream);
                }
                _ => close(entry, &mut stream),
            }
        }
        open.iter().rev().for_each(|entry| close(entry, &mut stream));
        Record::End.write(&mut stream);
        stream
    }

    /// Sends over one connection, which breaks off after `most` bytes of the stream.
    fn send(&self, store: &Arc<Store>, connection: u64, most: usize) -> Heard {
        self.send_into(Intake::new(Arc::clone(store), connection, None), most)
    }

    fn send_into(&self, mut intake: Intake, most: usize) -> Heard {
        let mut heard = Heard::default();
        let mut begin = Vec::new();
        Record::Transfer(self.transfer).write(&mut begin);
        intake.push(&begin, &mut |told| heard.hear(told));
        if heard.resume.as_ref().is_some_and(|resume| !resume.complete) {
            let resume = heard.resume.clone().expect("an answer");
            let content = self.entries.iter().find(|(entry, _)| entry.number == resume.entry);
            let offset = resume.beginnings.iter().find_map(|(length, hash)| {
                let mut own = FileHash::default();
                own.update(content?.1.get(..*length as usize)?);
                (journal::hex(&own.whole().hash) == *hash).then_some(*length)
            });
            let offset = offset.unwrap_or(0);
            let stream = self.stream(resume.entry, offset);
            let rest = &stream[begin.len()..];
            heard.sent = rest.len();
            heard.offset = offset;
            for bytes in rest[..most.min(rest.len())].chunks(40_000) {
                intake.push(bytes, &mut |told| heard.hear(told));
            }
        }
        intake.end();
        heard.status = Some(intake.status());
        heard
    }
}

/// What sender and user are told about a connection.
#[derive(Default)]
struct Heard {
    resume: Option<Resume>,
    files: Vec<(u32, bool, String)>,
    events: Vec<Event>,
    taken_over: bool,
    status: Option<TransferStatus>,
    /// Bytes of the stream after its first record.
    sent: usize,
    offset: u64,
}

impl Heard {
    fn hear(&mut self, told: Told) {
        match told {
            Told::Note(Note::Resume(resume)) => self.resume = Some(resume),
            Told::Note(Note::File { file, kept, text }) => self.files.push((file, kept, text)),
            Told::Note(_) => {}
            Told::Event(event) => self.events.push(event),
            Told::TakenOver => self.taken_over = true,
        }
    }

    fn failures(&self) -> Vec<(u32, &str)> {
        self.files.iter().filter(|file| !file.1).map(|file| (file.0, &*file.2)).collect()
    }
}

/// Checks that all entries of [`Sent::all_kinds`] are in place, and no others.
fn check_all_kinds(here: &Here) {
    let sent = Sent::all_kinds();
    assert_eq!(here.names(), ["again", "d", "first", "last"]);
    for (entry, content) in &sent.entries {
        let path = here.path(std::str::from_utf8(entry.path).expect("UTF-8"));
        let about = path.symlink_metadata().expect("it is there");
        match entry.content {
            Content::File { .. } => {
                assert!(std::fs::read(&path).expect("a file") == *content, "{}", path.display());
                assert_eq!(about.mode() & 0o7777, 0o640);
            }
            Content::Folder => assert_eq!(about.mode() & 0o7777, 0o750, "{}", path.display()),
            Content::Symlink { .. } => {
                assert_eq!(std::fs::read_link(&path).expect("a link"), Path::new("../.hidden"));
            }
            Content::HardLink { target } => {
                let target = &sent.entries[target as usize - 1].0;
                let target = here.path(std::str::from_utf8(target.path).expect("UTF-8"));
                assert_eq!(about.ino(), target.metadata().expect("a file").ino());
                continue;
            }
        }
        assert_eq!(about.mtime(), 1_000_000 + i64::from(entry.number), "{}", path.display());
    }
    assert_eq!(here.staged(), None);
}

/// Copies a folder with its staged entries, as a kill would leave it.
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.expect("cp").success());
}
