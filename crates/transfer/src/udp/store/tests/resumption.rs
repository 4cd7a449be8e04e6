//! Tests that transfers continue after they were cut off at any step.

use super::*;

/// The connection breaks off after each number of bytes, and another process continues the
/// transfer.
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
        // Each break loses at most 64 KiB plus half of the partial file.
        let most = whole + connection as usize * 230_000;
        assert!(received <= most, "{received} bytes over {connection} connections");
        let kept = heard.files.iter().filter(|file| file.1).count();
        assert_eq!(kept, 4, "the last connection hears of all");
    }
}

/// The process is killed within a step: the journal has more or less than was done.
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
            // Entries that had their final names before the journal lost them are received twice.
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

/// After a power cut the disk has some of the journal's entries and not others.
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
        // The undamaged part of a damaged file is reused.
        assert_eq!(damage == "content", heard.offset > 100_000, "{damage}: {}", heard.offset);
        assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
        check_all_kinds(&here);
    }
}

/// The file system becomes full in the middle of a file: the sender gets an error in words, and
/// continues when there is space.
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
    let staged = names(&here.path(ROOT));
    let mut piped = Sent::new(9, vec![(file(1, "input"), bytes(70_000, 9))]);
    piped.transfer.resumable = false;
    let refused = piped.send(&here.store(), 3, usize::MAX);
    let refused: Vec<String> = refused.failures().iter().map(|it| it.1.to_string()).collect();
    let staged_then = names(&here.path(ROOT));
    let grown = mount("remount,size=2m,mode=755");
    let second = sent.send(&here.store(), 2, usize::MAX);
    let complete = second.status == Some(TransferStatus::Complete);
    if complete {
        check_all_kinds(&here);
    }
    let unmounted = std::process::Command::new("umount").arg("-l").arg(&here.0).status();
    assert!(unmounted.expect("umount").success());
    assert!(said.as_ref().is_some_and(|said| said.contains("No space left")), "{said:?}");
    assert!(said.as_ref().is_some_and(|said| said.contains("then send again to continue")));
    assert_eq!(failures, [(0, &*said.unwrap_or_default())]);
    // The refusal of a transfer that cannot continue says so, and its folder is removed.
    assert!(
        matches!(&refused[..], [text] if text.contains("this transfer cannot continue")),
        "{refused:?}"
    );
    assert!(!refused[0].contains("stay"), "{refused:?}");
    assert_eq!(staged_then, staged);
    assert!(has_first && grown && complete, "{:?}", second.failures());
    assert_eq!(second.resume.expect("an answer").entry, 5);
    assert!(second.offset >= 64 << 10);
}

#[test]
fn what_cannot_go_on_leaves_nothing_behind() {
    let here = Here::new("rest");
    let mut sent = Sent::new(3, vec![(file(1, "a"), bytes(70_000, 1)), (file(2, "b"), vec![1])]);
    sent.transfer.resumable = false;
    let stream = sent.stream(1, 0);
    let mut intake = Intake::new(here.store(), 1, None);
    intake.push(&stream[..stream.len() - 60], &mut |_| {});
    assert!(here.staged().is_some());
    intake.end();
    assert_eq!((here.names(), here.staged()), (vec!["a".to_string()], None));
    // A killed transfer that cannot continue is removed at the next start; those that can are
    // counted.
    let killed = sent.send(&here.store(), 2, 0);
    assert!(killed.resume.is_none());
    let mut intake = Intake::new(here.store(), 3, None);
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
    // A sender that ends without sending any entry again can never resume: its staged entries are
    // removed.
    assert_eq!(other.send(&here.store(), 5, usize::MAX).status, Some(TransferStatus::Complete));
    assert_eq!(here.store().unfinished().expect("a folder"), Unfinished::default());
}
