//! Tests that received files stay within the disk limits, whatever senders announce and however
//! they end.

use super::*;

/// Returns the disk space that a transfer of `entries` entries with `bytes` bytes of files needs
/// while it is received.
fn need(entries: u64, bytes: u64) -> u64 {
    bytes + entries * (4096 + 1024) + 4 * 4096 + 1024
}

fn limited(here: &Here, limits: DiskLimits) -> Arc<Store> {
    let (end, _) = io::pipe().expect("a pipe");
    let store = Store::new(Target::Folder(here.0.clone()), false, end.into()).limited(limits);
    store.count().expect("it can be counted");
    Arc::new(store)
}

fn with_quota(here: &Here, quota: u64) -> Arc<Store> {
    limited(here, DiskLimits { quota: Some(quota), ..DiskLimits::default() })
}

/// A transfer of one file, whose sender announces its length.
fn one_file(id: u8, name: &str, length: usize) -> Sent<'_> {
    let mut sent = Sent::new(id, vec![(file(1, name), bytes(length, u64::from(id)))]);
    sent.transfer.bytes = Some(length as u64);
    sent
}

/// Returns the bytes on the disk as quotas count them, by a simple walk.
fn on_disk(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let about = entry.path().symlink_metadata().expect("it is there");
            4096 + match about.is_dir() {
                true => on_disk(&entry.path()),
                false if about.is_file() => about.len(),
                false => 0,
            }
        })
        .sum()
}

fn refusal(heard: &Heard) -> &str {
    assert_eq!(heard.files.len(), 1, "{:?}", heard.files);
    let (0, false, text) = &heard.files[0] else { panic!("{:?}", heard.files) };
    assert!(heard.events.contains(&Event::Failed(text.clone())), "both ends hear it");
    assert_ne!(heard.status, Some(TransferStatus::Complete));
    text
}

#[test]
fn an_offer_that_does_not_fit_is_refused_before_its_data_and_leaves_nothing() {
    let here = Here::new("quota-offer");
    let store = with_quota(&here, need(1, 100_000));
    let sent = one_file(1, "in", 100_001);
    let heard = sent.send(&store, 1, usize::MAX);
    assert_eq!(
        refusal(&heard),
        "no room: the receiver's quota for all clients is 122528 bytes (--quota), 122528 bytes are left, and this \
         transfer needs 122529 more. Send less, or make room at the receiver (what is removed from its folder counts no \
         longer), then send again; what is whole stays"
    );
    assert!(heard.resume.is_none() && heard.sent == 0);
    assert_eq!((here.names(), here.staged()), (vec![], None));
    // A transfer that fills the quota exactly.
    let heard = one_file(2, "in", 100_000).send(&store, 2, usize::MAX);
    assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
    // A sender that announces more bytes than any disk has.
    let mut sent = one_file(3, "huge", 10);
    sent.transfer.bytes = Some(u64::MAX - 1);
    refusal(&sent.send(&store, 3, usize::MAX));
}

#[test]
fn more_than_was_announced_ends_at_the_quota_and_what_is_whole_stays() {
    for is_announced in [false, true] {
        let here = Here::new(&format!("quota-liar-{is_announced}"));
        let quota = 400_000;
        let store = with_quota(&here, quota);
        let names: Vec<String> = (1..=40).map(|number| format!("f{number}")).collect();
        let files = names.iter().zip(1..);
        let files = files.map(|(name, number)| (file(number, name), bytes(20_000, 1)));
        let mut sent = Sent::new(4, files.collect());
        sent.transfer.bytes = is_announced.then_some(10);
        let heard = sent.send(&store, 1, usize::MAX);
        let failures = heard.failures();
        assert!(failures.len() == 1 && failures[0].1.contains("no room"), "{failures:?}");
        let count = here.names().len();
        // Each file takes 24,096 bytes and some lines of the journal.
        assert!((13..=16).contains(&count), "{count}");
        assert!(on_disk(&here.0) <= quota, "{}", on_disk(&here.0));
        // A file that never ends.
        let heard =
            Sent::new(5, vec![(file(1, "endless"), bytes(500_000, 1))]).send(&store, 2, 600_000);
        assert!(heard.failures()[0].1.contains("no room"), "{:?}", heard.failures());
        assert!(on_disk(&here.0) <= quota, "{}", on_disk(&here.0));
        assert!(!here.path("endless").exists());
    }
}

#[test]
fn what_is_granted_to_one_transfer_is_not_granted_to_another() {
    let here = Here::new("quota-two");
    let store = with_quota(&here, need(1, 100_000) + need(1, 50_000));
    let (first, second) = (one_file(1, "a", 100_000), one_file(2, "b", 100_000));
    let mut intake = Intake::new(Arc::clone(&store), 1, None);
    let stream = first.stream(1, 0);
    let (begin, rest) = stream.split_at(HEAD_OF_STREAM);
    intake.push(begin, &mut |_| {});
    // It has sent no data yet, and its reservation stays.
    refusal(&second.send(&store, 2, usize::MAX));
    let third = one_file(3, "c", 50_000).send(&store, 3, usize::MAX);
    assert_eq!(third.status, Some(TransferStatus::Complete));
    intake.push(rest, &mut |_| {});
    assert_eq!(intake.status(), TransferStatus::Complete);
    intake.end();
    assert_eq!(here.names(), ["a", "c"]);
    // A transfer that is given up releases its reservation.
    std::fs::remove_file(here.path("a")).expect("removed");
    let mut intake = Intake::new(Arc::clone(&store), 4, None);
    let mut begin = Vec::new();
    let mut gives_up = one_file(4, "d", 90_000).transfer;
    gives_up.resumable = false;
    Record::Transfer(gives_up).write(&mut begin);
    intake.push(&begin, &mut |_| {});
    refusal(&second.send(&store, 5, usize::MAX));
    intake.end();
    let heard = one_file(5, "b", 90_000).send(&store, 6, usize::MAX);
    assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
}

/// Bytes of the record that announces a transfer.
const HEAD_OF_STREAM: usize = paceline_wire::records::HEAD + 32 + 1 + 4 + 8;

/// The quota has room for one transfer, which breaks off at any byte; the receiver keeps running,
/// or is restarted.
#[test]
fn a_transfer_that_goes_on_does_not_count_twice() {
    let sent = || {
        let mut sent = Sent::all_kinds();
        sent.transfer.bytes =
            Some(sent.entries.iter().map(|(_, content)| content.len() as u64).sum());
        sent
    };
    let whole = sent().stream(1, 0).len();
    let quota = need(11, sent().transfer.bytes.expect("a number")) + 4096;
    let mut random = paceline_cc::Stream::new(2, "quota");
    for round in 0..40 {
        let here = Here::new(&format!("quota-resume-{round}"));
        let mut store = with_quota(&here, quota);
        let (mut connection, mut heard) = (0, Heard::default());
        while heard.status != Some(TransferStatus::Complete) {
            assert!(connection < 100, "it comes to an end");
            connection += 1;
            heard = sent().send(&store, connection, random.below(whole as u64 / 2) as usize);
            assert_eq!(heard.failures(), [], "round {round}, connection {connection}");
            // Two files have a second name.
            assert!(on_disk(&here.0) <= quota + 370_000);
            if round % 2 == 1 {
                store = with_quota(&here, quota);
            }
        }
        // Folders stay readable.
        let mode = here.path("d/none").metadata().expect("a folder").mode();
        assert_eq!(mode & 0o777, 0o750);
        check_all_kinds(&here);
    }
}

#[test]
fn a_restart_keeps_the_count_and_removed_files_make_room() {
    let here = Here::new("quota-restart");
    let quota = need(1, 100_000) + 50_000;
    assert_eq!(
        one_file(1, "a", 100_000).send(&with_quota(&here, quota), 1, usize::MAX).files.len(),
        1
    );
    for is_restarted in [false, true] {
        let store = with_quota(&here, quota);
        let (used, _) = store.count().expect("counted").expect("a quota");
        assert_eq!(used, on_disk(&here.0));
        refusal(&one_file(2, "b", 80_000).send(&store, 1, usize::MAX));
        std::fs::remove_file(here.path("a")).expect("removed");
        let store = if is_restarted { with_quota(&here, quota) } else { store };
        let heard = one_file(3, "a", 90_000).send(&store, 2, usize::MAX);
        assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
    }
}

#[test]
fn each_client_has_a_folder_and_a_quota_of_its_own() {
    let here = Here::new("quota-clients");
    let limits =
        DiskLimits { client_quota: Some(need(1, 100_000) + 30_000), ..DiskLimits::default() };
    let store = limited(&here, limits);
    let send = |store: &Arc<Store>, sent: &Sent<'_>, client: Option<&str>| {
        let client = client.map(Store::client_folder);
        sent.send_into(Intake::new(Arc::clone(store), 1, client), usize::MAX)
    };
    for client in ["ada", "..", ".paceline"] {
        let heard = send(&store, &one_file(1, "a", 100_000), Some(client));
        assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
        let heard = send(&store, &one_file(2, "b", 80_000), Some(client));
        assert!(refusal(&heard).contains("quota for this client"), "{:?}", heard.files);
        let heard = send(&limited(&here, limits), &one_file(2, "b", 80_000), Some(client));
        assert!(refusal(&heard).contains("(--client-quota)"), "{:?}", heard.files);
    }
    assert_eq!(names(&here.0), ["%2E.", "%2Epaceline", "ada"]);
    assert_eq!(here.path("ada/a").metadata().expect("a file").len(), 100_000);
    std::fs::remove_file(here.path("ada/a")).expect("removed");
    let heard = send(&store, &one_file(2, "b", 80_000), Some("ada"));
    assert_eq!(heard.status, Some(TransferStatus::Complete));
    // A client that is not listed has no folder, and links to a client's folder are not followed.
    refusal(&send(&store, &one_file(3, "c", 1), None));
    symlink("/tmp", here.path("eve")).expect("a link");
    refusal(&send(&store, &one_file(3, "c", 1), Some("eve")));
    // A transfer that broke off in a client's folder is found again.
    let intake = Intake::new(Arc::clone(&store), 9, Some(Store::client_folder("bob")));
    let cut = Sent::all_kinds().send_into(intake, 30_000);
    assert_eq!(cut.failures(), []);
    assert_eq!(limited(&here, limits).unfinished().expect("a folder").transfers, 1);
    assert!(here.path("bob/.paceline").exists() && !here.path(".paceline").exists());
}

#[test]
fn everything_in_the_folder_counts_and_of_a_given_file_that_file_alone() {
    let here = Here::new("quota-all");
    std::fs::create_dir_all(here.path("own/deep")).expect("a folder");
    std::fs::write(here.path("own/deep/x"), vec![1; 1000]).expect("room");
    std::fs::hard_link(here.path("own/deep/x"), here.path("y")).expect("a link");
    symlink("nowhere", here.path("z")).expect("a link");
    let (used, _) = with_quota(&here, 1).count().expect("counted").expect("a quota");
    assert_eq!(used, 5 * 4096 + 1000);
    // A file that is replaced needs space for the old and the new version, not for three.
    let (end, _) = io::pipe().expect("a pipe");
    let limits =
        DiskLimits { quota: Some(2 * need(1, 100_000) + 6 * 8192), ..DiskLimits::default() };
    let target = Target::File(here.path("out"));
    let store = Arc::new(Store::new(target, false, end.into()).limited(limits));
    assert_eq!(store.count().expect("counted").expect("a quota").0, 0);
    for id in 1..6 {
        let heard = one_file(id, "in", 100_000).send(&store, u64::from(id), usize::MAX);
        assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
    }
}

#[test]
fn space_for_others_stays_free() {
    let here = Here::new("quota-free");
    let limits = DiskLimits { keep_free: Some(1 << 60), ..DiskLimits::default() };
    let heard = one_file(1, "a", 10).send(&limited(&here, limits), 1, usize::MAX);
    let text = refusal(&heard);
    assert!(text.contains("keeps 1152921504606846976 bytes of its disk free"), "{text}");
    let limits = DiskLimits { keep_free: Some(1), ..DiskLimits::default() };
    let heard = one_file(1, "a", 10_000_000).send(&limited(&here, limits), 1, usize::MAX);
    assert_eq!((heard.status, heard.failures()), (Some(TransferStatus::Complete), vec![]));
}

/// Folders that their owner may not read arrive readable, so that their contents are counted.
#[test]
fn folders_that_nobody_may_read_are_counted() {
    let here = Here::new("quota-closed");
    let store = with_quota(&here, 1_000_000);
    let closed = |number, path| Entry { mode: Some(0), ..entry(number, path, Content::Folder) };
    let entries = vec![
        (closed(1, "d"), vec![]),
        (closed(2, "d/e"), vec![]),
        (file(3, "d/e/f"), bytes(100_000, 3)),
    ];
    let heard = Sent::new(8, entries).send(&store, 1, usize::MAX);
    assert_eq!(heard.failures(), []);
    for path in ["d", "d/e"] {
        let mode = here.path(path).metadata().expect("a folder").mode();
        assert_eq!(mode & 0o777, 0o500, "{path}");
    }
    assert_eq!(store.count().expect("counted").expect("a quota").0, on_disk(&here.0));
    let _ = std::process::Command::new("chmod").args(["-R", "700"]).arg(&here.0).status();
}
