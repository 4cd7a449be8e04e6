//! Tests that planted links, other connections and invalid streams do no harm.

use super::*;

#[test]
fn links_that_were_planted_lead_nowhere() {
    let here = Here::new("planted");
    let outside = Here::new("planted-outside");
    let sent = Sent::all_kinds();
    let whole = sent.stream(1, 0).len();
    sent.send(&here.store(), 1, whole - 150_000);
    let staged = here.staged().expect("it is underway");
    // The folder of the current file, and the partial file, are replaced by links to other places.
    std::fs::remove_dir_all(staged.join("tree/2/e")).expect("removed");
    symlink(&outside.0, staged.join("tree/2/e")).expect("a link");
    std::fs::write(outside.path("victim"), "x").expect("written");
    let _ = std::fs::remove_file(staged.join("partial.5"));
    symlink(outside.path("victim"), staged.join("partial.5")).expect("a link");
    let heard = sent.send(&here.store(), 2, usize::MAX);
    assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
    check_all_kinds(&here);
    // A hard link to another file in place of the partial file.
    let other = Here::new("planted-partial");
    sent.send(&other.store(), 1, whole - 150_000);
    let partial = other.staged().expect("it is underway").join("partial.5");
    std::fs::remove_file(&partial).expect("it is partial");
    std::fs::hard_link(outside.path("victim"), &partial).expect("a link");
    sent.send(&other.store(), 2, usize::MAX);
    check_all_kinds(&other);
    assert_eq!(names(&outside.0), ["victim"]);
    assert_eq!(std::fs::read(outside.path("victim")).expect("a file"), b"x");
    // A staging folder that another user has planted.
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
fn a_newer_connection_takes_the_transfer_over() {
    let here = Here::new("over");
    let (sent, store) = (Sent::all_kinds(), here.store());
    let stream = sent.stream(1, 0);
    let mut old = Intake::new(Arc::clone(&store), 1, None);
    let mut heard = Heard::default();
    old.push(&stream[..200_000], &mut |told| heard.hear(told));
    assert!(heard.resume.is_some());
    let newer = sent.send(&store, 2, 100_000);
    assert!(newer.resume.as_ref().is_some_and(|resume| resume.entry == 5));
    // Bytes of the older connection are not mixed in.
    old.push(&stream[200_000..], &mut |told| heard.hear(told));
    assert!(heard.taken_over && old.status() == TransferStatus::Underway);
    old.end();
    let newest = sent.send(&store, 3, usize::MAX);
    assert_eq!(newest.status, Some(TransferStatus::Complete));
    check_all_kinds(&here);
    // Another process keeps the transfer that it receives.
    let there = Here::new("over-process");
    let (one, other) = (there.store(), there.store());
    let mut first = Intake::new(one, 1, None);
    first.push(&stream[..200_000], &mut |_| {});
    let heard = sent.send(&other, 1, usize::MAX);
    assert!(heard.failures()[0].1.contains("another process"), "{:?}", heard.failures());
    first.push(&stream[200_000..], &mut |_| {});
    check_all_kinds(&there);
}

#[test]
fn what_is_no_transfer_or_goes_on_elsewhere_is_refused_and_what_is_staged_stays() {
    let here = Here::new("refused");
    let sent = Sent::all_kinds();
    sent.send(&here.store(), 1, 250_000);
    let refused = [
        // An offset that was not offered; an entry that was already received; a parent that is not
        // a folder.
        Record::Entry(file(5, "large").at(1000)),
        Record::Entry(file(3, "large")),
        Record::Entry(entry(1, "first", Content::Folder)),
    ];
    for record in refused {
        let mut stream = Vec::new();
        Record::Transfer(sent.transfer).write(&mut stream);
        record.write(&mut stream);
        let mut heard = Heard::default();
        let mut intake = Intake::new(here.store(), 2, None);
        intake.push(&stream, &mut |told| heard.hear(told));
        assert_eq!(heard.failures().len(), 1, "{record:?}");
        intake.push(&[0xff; 100], &mut |_| panic!("nothing more is taken"));
        intake.end();
    }
    let heard = sent.send(&here.store(), 3, usize::MAX);
    assert_eq!(heard.resume.expect("an answer").entry, 5);
    check_all_kinds(&here);
}
