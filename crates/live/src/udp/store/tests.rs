//! Transfers into a store, cut off at every step.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_wire::records::{Content, Entry, FileHash, Mtime, Record, Transfer};

use super::intake::{Intake, Told};
use super::root::ROOT;
use super::*;
use crate::udp::note::Note;
use crate::udp::server::Event;

/// A folder of a test, which goes at its end.
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

    /// Names in the folder, without the one of what is staged.
    fn names(&self) -> Vec<String> {
        names(&self.0).into_iter().filter(|name| name != ROOT).collect()
    }

    /// The folder of the transfer, if something is staged.
    fn staged(&self) -> Option<PathBuf> {
        let root = self.path(ROOT);
        names(&root).into_iter().find(|name| name != finished::FINISHED).map(|name| root.join(name))
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
    // The other end is closed: readable. Only standard output looks at it.
    Arc::new(Store::new(target, false, end.into()))
}

/// A transfer for tests: its entries and what is in its files.
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

    /// Files, folders in each other, links: each kind, at the top level and below.
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

    /// The stream of a sender that goes on at entry `from`, of which the receiver has `offset` bytes.
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
        let mut heard = Heard::default();
        let mut intake = Intake::new(Arc::clone(store), connection);
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

/// What sender and user hear of a connection.
#[derive(Default)]
struct Heard {
    resume: Option<Resume>,
    files: Vec<(u32, bool, String)>,
    events: Vec<Event>,
    taken_over: bool,
    status: Option<TransferStatus>,
    /// Bytes of the stream behind its first record.
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

/// Checks that everything of [`Sent::all_kinds`] is in its place and nothing else.
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

#[test]
fn a_folder_arrives_with_modes_times_and_links_and_is_skipped_then() {
    let here = Here::new("whole");
    let (sent, store) = (Sent::all_kinds(), here.store());
    let heard = sent.send(&store, 1, usize::MAX);
    assert_eq!(heard.status, Some(TransferStatus::Complete));
    assert_eq!(heard.resume, Some(Resume { entry: 1, ..Resume::default() }));
    let kept: Vec<u32> = heard.files.iter().filter(|file| file.1).map(|file| file.0).collect();
    assert_eq!((kept, heard.failures()), (vec![1, 2, 10, 11], vec![]));
    let folder = here.path("d").display().to_string();
    assert_eq!(heard.events[1], Event::Kept { name: folder, bytes: 300_010 });
    check_all_kinds(&here);
    // Once more: nothing is sent.
    let heard = sent.send(&here.store(), 2, usize::MAX);
    let resume = heard.resume.expect("an answer");
    assert!(resume.complete && resume.places.len() == 4 && heard.sent == 0);
    assert_eq!(resume.places[1], here.path("d").display().to_string());
    assert_eq!(heard.status, Some(TransferStatus::Complete));
    // After a change there it is received anew, beside what is there.
    std::fs::write(here.path("d/zero"), "x").expect("written");
    let heard = sent.send(&here.store(), 3, usize::MAX);
    assert_eq!(heard.resume.expect("an answer").entry, 1);
    let expected = ["again", "again.1", "d", "d.1", "first", "first.1", "last", "last.1"];
    assert_eq!(here.names(), expected);
    assert_eq!(std::fs::read(here.path("d/zero")).expect("a file"), b"x");
}

/// The connection breaks off after each number of bytes, and another process goes on.
#[test]
fn a_transfer_goes_on_after_a_break_anywhere() {
    let whole = Sent::all_kinds().stream(1, 0).len();
    let mut random = paceline_cc::Stream::new(1, "store");
    for round in 0..60 {
        let here = Here::new(&format!("break-{round}"));
        let sent = Sent::all_kinds();
        let (mut connection, mut received, mut heard) = (0, 0, Heard::default());
        while heard.status != Some(TransferStatus::Complete) {
            assert!(connection < 100, "it comes to an end");
            assert!(here.names().len() < 4 && !here.path("d").exists() || heard.files.len() > 1);
            let most = random.below(whole as u64 / 3) as usize;
            connection += 1;
            heard = sent.send(&here.store(), connection, most);
            assert_eq!(heard.failures(), []);
            received += heard.sent.min(most);
        }
        check_all_kinds(&here);
        // Of each break at most 64 KiB and half of what the partial file had are lost.
        let most = whole + connection as usize * 230_000;
        assert!(received <= most, "{received} bytes over {connection} connections");
        let kept = heard.files.iter().filter(|file| file.1).count();
        assert_eq!(kept, 4, "the last connection hears of all");
    }
}

/// A copy of a folder with what is staged, as a kill would leave it.
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.expect("cp").success());
}

/// The process is killed within a step: the journal is longer or shorter than what was done.
#[test]
fn a_kill_between_a_record_and_its_step_loses_and_mixes_nothing() {
    let sent = Sent::all_kinds();
    let whole = sent.stream(1, 0).len();
    let here = Here::new("steps");
    sent.send(&here.store(), 1, whole - 400);
    let staged = here.staged().expect("it is underway");
    let journal = std::fs::read_to_string(staged.join(JOURNAL)).expect("a journal");
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    assert!(lines.len() > 12, "{journal}");
    for count in 0..lines.len() {
        for torn in [0, 9] {
            let other = Here::new(&format!("steps-{count}-{torn}"));
            std::fs::remove_dir(&other.0).expect("it is empty");
            copy(&here.0, &other.0);
            let journal = lines[..count].concat() + &lines[count][..torn];
            let name = other.staged().expect("it is underway").join(JOURNAL);
            std::fs::write(name, journal).expect("written");
            let heard = sent.send(&other.store(), 1, usize::MAX);
            assert_eq!(heard.status, Some(TransferStatus::Complete), "{count}");
            assert_eq!(heard.failures(), [], "{count}");
            // Entries that had their places before the journal lost them are there twice.
            let twice = other.names().iter().filter(|name| name.ends_with(".1")).count();
            for name in other.names().iter().filter(|name| name.ends_with(".1")) {
                let first = other.path(name.trim_end_matches(".1"));
                std::fs::remove_dir_all(&first)
                    .or_else(|_| std::fs::remove_file(&first))
                    .expect("gone");
                std::fs::rename(other.path(name), first).expect("moved");
            }
            assert!(twice < 3);
            if twice == 0 {
                check_all_kinds(&other);
            }
        }
    }
}

/// After a power cut the disk has some things of the journal and not others.
#[test]
fn after_another_start_of_the_system_files_are_read_back() {
    let sent = Sent::all_kinds();
    let whole = sent.stream(1, 0).len();
    for damage in ["none", "content", "missing", "length", "unknown", "link", "folder"] {
        let here = Here::new(&format!("boot-{damage}"));
        sent.send(&here.store(), 1, whole - 350);
        let staged = here.staged().expect("it is underway");
        let name = staged.join(JOURNAL);
        let file = Folder::open(&staged).expect("a folder");
        let content = file.file(OsStr::new(JOURNAL), false).expect("a journal");
        let content = JournalContent::read(&content).expect("a journal");
        std::fs::remove_file(&name).expect("removed");
        let mut changed = journal::Journal::create(&file).expect("a journal");
        for (_, record) in content.records {
            let record = match record {
                JournalRecord::Boot { .. } => JournalRecord::Boot { id: "another".into() },
                record => record,
            };
            changed.append(&record).expect("room");
        }
        let tree = staged.join("tree/2");
        let (large, expected) = (
            tree.join("e/large"),
            match damage {
                "none" | "unknown" => 9,
                "folder" => 4,
                "link" => 6,
                _ => 5,
            },
        );
        match damage {
            "content" => {
                let mut bytes = std::fs::read(&large).expect("a file");
                bytes[200_000..].fill(0);
                std::fs::write(&large, bytes).expect("written");
            }
            "missing" => std::fs::remove_file(&large).expect("removed"),
            "length" => std::fs::write(&large, "").expect("written"),
            "unknown" => std::fs::write(tree.join("stray"), "x").expect("written"),
            "link" => {
                std::fs::remove_file(tree.join("e/link")).expect("removed");
                symlink("/etc", tree.join("e/link")).expect("a link");
            }
            "folder" => std::fs::remove_dir_all(tree.join("e")).expect("removed"),
            _ => {}
        }
        let heard = sent.send(&here.store(), 2, usize::MAX);
        let resume = heard.resume.as_ref().expect("an answer");
        assert_eq!(resume.entry, expected, "{damage}");
        // What is left of a damaged file is of use.
        assert_eq!(damage == "content", heard.offset > 100_000, "{damage}: {}", heard.offset);
        assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
        check_all_kinds(&here);
    }
}

#[test]
fn links_that_were_planted_lead_nowhere() {
    let here = Here::new("planted");
    let outside = Here::new("planted-outside");
    let sent = Sent::all_kinds();
    let whole = sent.stream(1, 0).len();
    sent.send(&here.store(), 1, whole - 150_000);
    let staged = here.staged().expect("it is underway");
    // The folder of the file that goes on, and the partial file, lead elsewhere.
    std::fs::remove_dir_all(staged.join("tree/2/e")).expect("removed");
    symlink(&outside.0, staged.join("tree/2/e")).expect("a link");
    std::fs::write(outside.path("victim"), "x").expect("written");
    let _ = std::fs::remove_file(staged.join("partial.5"));
    symlink(outside.path("victim"), staged.join("partial.5")).expect("a link");
    let heard = sent.send(&here.store(), 2, usize::MAX);
    assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
    check_all_kinds(&here);
    // A further name of another file as the partial file.
    let other = Here::new("planted-partial");
    sent.send(&other.store(), 1, whole - 150_000);
    let partial = other.staged().expect("it is underway").join("partial.5");
    std::fs::remove_file(&partial).expect("it is partial");
    std::fs::hard_link(outside.path("victim"), &partial).expect("a link");
    sent.send(&other.store(), 2, usize::MAX);
    check_all_kinds(&other);
    assert_eq!(names(&outside.0), ["victim"]);
    assert_eq!(std::fs::read(outside.path("victim")).expect("a file"), b"x");
    // The folder of what is staged, planted by others.
    let root = Here::new("planted-root");
    symlink(&outside.0, root.path(ROOT)).expect("a link");
    let second = root.path(&format!("{ROOT}-{}", nix::unistd::geteuid().as_raw()));
    let heard = sent.send(&root.store(), 1, usize::MAX);
    assert_eq!(heard.status, Some(TransferStatus::Complete));
    assert!(second.is_dir() && names(&outside.0) == ["victim"]);
    std::fs::set_permissions(&second, std::fs::Permissions::from_mode(0o777)).expect("set");
    let heard = sent.send(&root.store(), 2, usize::MAX);
    assert!(heard.failures()[0].1.contains("others may write"), "{:?}", heard.failures());
}

#[test]
fn links_that_lead_outside_are_not_made() {
    let here = Here::new("outside");
    let link = |number, path, target| entry(number, path, Content::Symlink { target });
    let sent = Sent::new(
        7,
        vec![
            (entry(1, "d", Content::Folder), vec![]),
            (link(2, "d/a", b"/etc/passwd"), vec![]),
            (link(3, "d/b", b"../x"), vec![]),
            (link(4, "d/c", b"a/.."), vec![]),
            (link(5, "d/d", b"x"), vec![]),
            (file(6, "d/e"), b"e".to_vec()),
            (link(7, "top", b"d"), vec![]),
        ],
    );
    let heard = sent.send(&here.store(), 1, usize::MAX);
    let failed: Vec<u32> = heard.failures().iter().map(|failure| failure.0).collect();
    assert_eq!(failed, [2, 3, 4, 7]);
    assert!(heard.failures()[0].1.contains("--outside-links"), "{:?}", heard.failures());
    assert_eq!(names(&here.path("d")), ["d", "e"]);
    // It is not complete: the same command again sends it again.
    assert!(!sent.send(&here.store(), 2, 0).resume.expect("an answer").complete);
    let (end, _) = io::pipe().expect("a pipe");
    let other = Here::new("outside-allowed");
    let store = Arc::new(Store::new(Target::Folder(other.0.clone()), true, end.into()));
    assert_eq!(sent.send(&store, 1, usize::MAX).failures(), []);
    assert_eq!(std::fs::read_link(other.path("d/a")).expect("a link"), Path::new("/etc/passwd"));
}

#[test]
fn a_newer_connection_takes_the_transfer_over() {
    let here = Here::new("over");
    let (sent, store) = (Sent::all_kinds(), here.store());
    let stream = sent.stream(1, 0);
    let mut old = Intake::new(Arc::clone(&store), 1);
    let mut heard = Heard::default();
    old.push(&stream[..200_000], &mut |told| heard.hear(told));
    assert!(heard.resume.is_some());
    let newer = sent.send(&store, 2, 100_000);
    assert!(newer.resume.as_ref().is_some_and(|resume| resume.entry == 5));
    // Nothing of the older one comes between.
    old.push(&stream[200_000..], &mut |told| heard.hear(told));
    assert!(heard.taken_over && old.status() == TransferStatus::Underway);
    old.end();
    let newest = sent.send(&store, 3, usize::MAX);
    assert_eq!(newest.status, Some(TransferStatus::Complete));
    check_all_kinds(&here);
    // Another process is not cut off: it keeps the transfer.
    let there = Here::new("over-process");
    let (one, other) = (there.store(), there.store());
    let mut first = Intake::new(one, 1);
    first.push(&stream[..200_000], &mut |_| {});
    let heard = sent.send(&other, 1, usize::MAX);
    assert!(heard.failures()[0].1.contains("another process"), "{:?}", heard.failures());
    first.push(&stream[200_000..], &mut |_| {});
    check_all_kinds(&there);
}

#[test]
fn what_cannot_go_on_leaves_nothing_behind() {
    let here = Here::new("rest");
    let mut sent = Sent::new(3, vec![(file(1, "a"), bytes(70_000, 1)), (file(2, "b"), vec![1])]);
    sent.transfer.resumable = false;
    let stream = sent.stream(1, 0);
    let mut intake = Intake::new(here.store(), 1);
    intake.push(&stream[..stream.len() - 60], &mut |_| {});
    assert!(here.staged().is_some());
    intake.end();
    assert_eq!((here.names(), here.staged()), (vec!["a".to_string()], None));
    // Killed: the next start removes it, and counts those that can go on.
    let killed = sent.send(&here.store(), 2, 0);
    assert!(killed.resume.is_none());
    let mut intake = Intake::new(here.store(), 3);
    intake.push(&stream[..1000], &mut |_| {});
    let staged = here.staged().expect("it is underway");
    copy(&staged, &here.path("copy"));
    intake.end();
    std::fs::create_dir_all(here.path(ROOT)).expect("a folder");
    std::fs::rename(here.path("copy"), &staged).expect("moved");
    let other = Sent::all_kinds();
    other.send(&here.store(), 4, 200_000);
    let found = here.store().unfinished().expect("a folder");
    assert_eq!(found.transfers, 1);
    assert!((150_000..200_000).contains(&found.bytes), "{found:?}");
    assert!(!staged.exists());
    // A sender that changes nothing and says that all is sent leaves its staged entries to nobody.
    assert_eq!(other.send(&here.store(), 5, usize::MAX).status, Some(TransferStatus::Complete));
    assert_eq!(here.store().unfinished().expect("a folder"), Unfinished::default());
}

#[test]
fn entries_that_fail_are_told_and_the_others_arrive() {
    let here = Here::new("fails");
    let sent = Sent::new(
        4,
        vec![
            (entry(1, "d", Content::Folder), vec![]),
            (file(2, "d/a\u{200b}"), b"1".to_vec()),
            // The name that the one before was given.
            (file(3, "d/a%E2%80%8B"), b"2".to_vec()),
            (entry(4, "d/x", Content::HardLink { target: 3 }), vec![]),
            (file(5, "d/last"), b"3".to_vec()),
        ],
    );
    let heard = sent.send(&here.store(), 1, usize::MAX);
    let failed: Vec<u32> = heard.failures().iter().map(|failure| failure.0).collect();
    assert_eq!(failed, [3, 4]);
    assert_eq!(heard.status, Some(TransferStatus::Complete));
    assert_eq!(names(&here.path("d")), ["a%E2%80%8B", "last"]);
    assert_eq!(std::fs::read(here.path("d/a%E2%80%8B")).expect("a file"), b"1");
    // A wrong hash, and a file that the sender gives up.
    let given_up = [
        Record::Transfer(Transfer { id: [9; 32], resumable: true, entries: 2, bytes: None }),
        Record::Entry(file(1, "a")),
        Record::Piece { number: 1, bytes: b"x" },
        Record::Close { number: 1, whole: None },
        Record::Entry(file(2, "b")),
        Record::Piece { number: 2, bytes: b"x" },
        Record::Close { number: 2, whole: Some(FileHash::default().whole()) },
        Record::End,
    ];
    let mut stream = Vec::new();
    given_up.iter().for_each(|record| record.write(&mut stream));
    let mut heard = Heard::default();
    Intake::new(here.store(), 2).push(&stream, &mut |told| heard.hear(told));
    assert!(heard.failures()[0].1.contains("changed meanwhile"), "{:?}", heard.failures());
    assert!(heard.failures()[1].1.contains("hash"), "{:?}", heard.failures());
    assert_eq!(here.names(), ["d"]);
}

#[test]
fn what_is_no_transfer_or_goes_on_elsewhere_is_refused_and_what_is_staged_stays() {
    let here = Here::new("refused");
    let sent = Sent::all_kinds();
    sent.send(&here.store(), 1, 250_000);
    let refused = [
        // An offset that was not offered; an entry that is here; a folder that is none.
        Record::Entry(file(5, "large").at(1000)),
        Record::Entry(file(3, "large")),
        Record::Entry(entry(1, "first", Content::Folder)),
    ];
    for record in refused {
        let mut stream = Vec::new();
        Record::Transfer(sent.transfer).write(&mut stream);
        record.write(&mut stream);
        let mut heard = Heard::default();
        let mut intake = Intake::new(here.store(), 2);
        intake.push(&stream, &mut |told| heard.hear(told));
        assert_eq!(heard.failures().len(), 1, "{record:?}");
        intake.push(&[0xff; 100], &mut |_| panic!("nothing more is taken"));
        intake.end();
    }
    let heard = sent.send(&here.store(), 3, usize::MAX);
    assert_eq!(heard.resume.expect("an answer").entry, 5);
    check_all_kinds(&here);
}

#[test]
fn a_file_with_a_given_name_is_replaced_and_takes_no_folders() {
    let here = Here::new("given");
    let target = Target::File(here.path("out"));
    for content in [b"one", b"two"] {
        let sent = Sent::new(content[0], vec![(file(1, "in"), content.to_vec())]);
        let heard = sent.send(&store(target.clone()), 1, usize::MAX);
        assert_eq!(heard.files, [(1, true, here.path("out").display().to_string())]);
        assert_eq!(std::fs::read(here.path("out")).expect("a file"), content);
    }
    assert_eq!(here.names(), ["out"]);
    // What is in one file is not in another.
    let sent = Sent::new(b'o', vec![(file(1, "in"), b"one".to_vec())]);
    let second = store(Target::File(here.path("second")));
    assert!(!sent.send(&second, 1, usize::MAX).resume.expect("an answer").complete);
    assert!(sent.send(&second, 1, usize::MAX).resume.expect("an answer").complete);
    assert_eq!(here.names(), ["out", "second"]);
    std::fs::remove_file(here.path("second")).expect("removed");
    let sent = Sent::all_kinds();
    let heard = sent.send(&store(target), 1, usize::MAX);
    assert!(heard.failures()[0].1.contains("recv -o DIR/"), "{:?}", heard.failures());
    assert_eq!(here.names(), ["out"]);
}

#[test]
fn nowhere_checks_all_and_keeps_nothing() {
    let sent = Sent::all_kinds();
    let heard = sent.send(&store(Target::Nowhere), 1, usize::MAX);
    let kept: Vec<u32> = heard.files.iter().filter(|file| file.1).map(|file| file.0).collect();
    assert_eq!((kept, heard.failures()), (vec![1, 2, 10, 11], vec![]));
    assert_eq!(heard.status, Some(TransferStatus::Complete));
}

/// On a file system that is full in the middle of a file: the sender hears it in words, and goes on when there is room.
#[test]
fn a_full_disk_keeps_what_is_whole_and_goes_on_later() {
    let here = Here::new("full");
    let mount = |options: &str| {
        let mut command = std::process::Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&here.0);
        command.output().is_ok_and(|output| output.status.success())
    };
    if !mount("size=200k,mode=755") {
        let (need, test) = (paceline_testing::Need::Kernel, paceline_testing::this_test());
        return paceline_testing::skip(need, &test, "no tmpfs can be mounted");
    }
    let sent = Sent::all_kinds();
    let first = sent.send(&here.store(), 1, usize::MAX);
    let failures = first.failures();
    let said = failures.first().map(|failure| failure.1.to_string());
    let has_first = here.path("first").exists();
    let grown = mount("remount,size=2m,mode=755");
    let second = sent.send(&here.store(), 2, usize::MAX);
    let complete = second.status == Some(TransferStatus::Complete);
    if complete {
        check_all_kinds(&here);
    }
    let unmounted = std::process::Command::new("umount").arg("-l").arg(&here.0).status();
    assert!(unmounted.expect("umount").success());
    assert!(said.as_ref().is_some_and(|said| said.contains("No space left")), "{said:?}");
    assert_eq!(failures, [(0, &*said.unwrap_or_default())]);
    assert!(has_first && grown && complete, "{:?}", second.failures());
    assert_eq!(second.resume.expect("an answer").entry, 5);
    assert!(second.offset >= 64 << 10);
}
