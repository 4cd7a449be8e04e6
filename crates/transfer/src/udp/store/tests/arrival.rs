//! Tests of entries that arrive, and of the reports about those that do not.

use super::*;
use crate::udp::events::Events;
use crate::udp::inbound::Inbound;

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
    // A second time, nothing is sent.
    let heard = sent.send(&here.store(), 2, usize::MAX);
    let resume = heard.resume.expect("an answer");
    assert!(resume.complete && resume.places.len() == 4 && heard.sent == 0);
    assert_eq!(resume.places[1], here.path("d").display().to_string());
    assert_eq!(heard.status, Some(TransferStatus::Complete));
    // After a change of the received files, the transfer is received again, next to the changed
    // files.
    std::fs::write(here.path("d/zero"), "x").expect("written");
    let heard = sent.send(&here.store(), 3, usize::MAX);
    assert_eq!(heard.resume.expect("an answer").entry, 1);
    let expected = ["again", "again.1", "d", "d.1", "first", "first.1", "last", "last.1"];
    assert_eq!(here.names(), expected);
    assert_eq!(std::fs::read(here.path("d/zero")).expect("a file"), b"x");
}

/// An entry of [`Sent::all_kinds`], and what replaces it.
type Replacement = (&'static str, fn(&Path));

/// A finished transfer whose entry has another kind, target or content now is not complete.
#[test]
fn replaced_folders_and_links_are_received_again() {
    let replacements: [Replacement; 4] = [
        ("d/none", |path| {
            std::fs::remove_dir(path).expect("removed");
            std::fs::write(path, "x").expect("written");
        }),
        ("d/e/link", |path| {
            std::fs::remove_file(path).expect("removed");
            symlink("large", path).expect("a link");
        }),
        ("d/hard", |path| {
            std::fs::remove_file(path).expect("removed");
            std::fs::write(path, "x").expect("written");
        }),
        ("again", |path| {
            std::fs::remove_file(path).expect("removed");
            symlink("first", path).expect("a link");
        }),
    ];
    for (name, replace) in replacements {
        let here = Here::new("replaced");
        let (sent, store) = (Sent::all_kinds(), here.store());
        sent.send(&store, 1, usize::MAX);
        assert!(sent.send(&store, 2, usize::MAX).resume.expect("an answer").complete);
        replace(&here.path(name));
        let resume = sent.send(&store, 3, usize::MAX).resume.expect("an answer");
        assert!(!resume.complete, "{name}");
    }
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
    // A transfer that is complete in one file is not complete in another.
    let sent = Sent::new(b'o', vec![(file(1, "in"), b"one".to_vec())]);
    let second = store(Target::File(here.path("second")));
    assert!(!sent.send(&second, 1, usize::MAX).resume.expect("an answer").complete);
    assert!(sent.send(&second, 1, usize::MAX).resume.expect("an answer").complete);
    assert_eq!(here.names(), ["out", "second"]);
    // The folder does not have the file under its own name yet. After the second transfer it does,
    // and a third sends nothing.
    let folder = here.store();
    for complete in [false, true] {
        assert_eq!(sent.send(&folder, 1, usize::MAX).resume.expect("an answer").complete, complete);
        assert_eq!(here.names(), ["in", "out", "second"]);
    }
    // If the name was taken, the numbered name counts as the entry's own.
    let other = Sent::new(b'n', vec![(file(1, "in"), b"two".to_vec())]);
    for complete in [false, true] {
        let heard = other.send(&folder, 1, usize::MAX);
        assert_eq!(heard.resume.expect("an answer").complete, complete);
        assert_eq!(here.names(), ["in", "in.1", "out", "second"]);
    }
    for name in ["second", "in", "in.1"] {
        std::fs::remove_file(here.path(name)).expect("removed");
    }
    let sent = Sent::all_kinds();
    let heard = sent.send(&store(target), 1, usize::MAX);
    assert!(heard.failures()[0].1.contains("recv -o DIR/"), "{:?}", heard.failures());
    assert_eq!(here.names(), ["out"]);
}

#[test]
fn a_file_with_a_given_name_takes_one_file_of_a_transfer() {
    let here = Here::new("given-one");
    let target = Target::File(here.path("out"));
    let entries = || {
        vec![
            (file(1, "a"), b"one".to_vec()),
            (file(2, "b"), b"two".to_vec()),
            (entry(3, "c", Content::HardLink { target: 1 }), vec![]),
        ]
    };
    // The second transfer breaks off after its first file, and continues.
    for (id, breaks) in [(1, &[usize::MAX][..]), (2, &[100, usize::MAX])] {
        let sent = Sent::new(id, entries());
        for (connection, most) in (1..).zip(breaks) {
            let heard = sent.send(&store(target.clone()), connection, *most);
            assert_eq!(std::fs::read(here.path("out")).expect("a file"), b"one");
            if *most == usize::MAX {
                let kept: Vec<u32> =
                    heard.files.iter().filter(|file| file.1).map(|file| file.0).collect();
                assert!(kept.iter().all(|kept| *kept == 1), "{kept:?}");
                let failures = heard.failures();
                assert_eq!(failures.iter().map(|it| it.0).collect::<Vec<_>>(), [2, 3]);
                assert!(failures.iter().all(|it| it.1.contains("recv -o DIR/")), "{failures:?}");
            }
        }
    }
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

#[test]
fn entries_that_fail_are_told_and_the_others_arrive() {
    let here = Here::new("fails");
    let sent = Sent::new(
        4,
        vec![
            (entry(1, "d", Content::Folder), vec![]),
            (file(2, "d/a\u{200b}"), b"1".to_vec()),
            // This file's name equals the name under which the previous one is kept.
            (file(3, "d/a%E2%80%8B"), b"2".to_vec()),
            (entry(4, "d/x", Content::HardLink { target: 3 }), vec![]),
            (file(5, "d/last"), b"3".to_vec()),
        ],
    );
    let heard = sent.send(&here.store(), 1, usize::MAX);
    let failed: Vec<u32> = heard.failures().iter().map(|failure| failure.0).collect();
    assert_eq!(failed, [3, 4]);
    assert_eq!(heard.status, Some(TransferStatus::PartlyKept));
    assert_eq!(names(&here.path("d")), ["a%E2%80%8B", "last"]);
    assert_eq!(std::fs::read(here.path("d/a%E2%80%8B")).expect("a file"), b"1");
    // A file with a wrong hash, and a file that the sender gives up.
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
    Intake::new(here.store(), 2, None).push(&stream, &mut |told| heard.hear(told));
    assert!(heard.failures()[0].1.contains("changed meanwhile"), "{:?}", heard.failures());
    assert!(heard.failures()[1].1.contains("hash"), "{:?}", heard.failures());
    assert_eq!(here.names(), ["d"]);
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
    // The transfer is not complete: the same command sends it again.
    assert!(!sent.send(&here.store(), 2, 0).resume.expect("an answer").complete);
    let (end, _) = io::pipe().expect("a pipe");
    let other = Here::new("outside-allowed");
    let store = Arc::new(Store::new(Target::Folder(other.0.clone()), true, end.into()));
    assert_eq!(sent.send(&store, 1, usize::MAX).failures(), []);
    assert_eq!(std::fs::read_link(other.path("d/a")).expect("a link"), Path::new("/etc/passwd"));
}

#[test]
fn a_worker_that_still_writes_delays_the_judgement_and_not_its_loop() {
    let here = Here::new("finish");
    let (sent, store) = (Sent::all_kinds(), here.store());
    let (reports, reported) = WorkerReports::new().expect("a file");
    let (events, _heard) = Events::new();
    let mut inbound = Inbound::default();
    assert!(inbound.finish(), "nothing has come");
    // The worker waits for this lock as it would for the reader of standard output.
    let open = store.open.lock().expect("a lock");
    inbound.on_stream(&sent.stream(1, 0));
    let owner =
        Owner { connection: 1, number: 1, client: None, reports: &reports, events: &events };
    inbound.hand_on(&store, &WorkerCount::default(), owner);
    assert!(!inbound.finish());
    drop(open);
    while !inbound.finish() {
        let (connection, report) = reported.recv().expect("a report");
        assert_eq!(connection, 1);
        inbound.on_report(report);
    }
    assert_eq!(inbound.status(), TransferStatus::Complete);
}
