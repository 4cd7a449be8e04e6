//! `paceline recv` with slow disks and slow readers, and killed at any time.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use crate::common;
use crate::receiver::{Receiver, bytes, file, program, wait};
use paceline_testing::Folder;

/// Returns the peak memory of a process in bytes.
fn peak_memory(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Starts a sender of a file.
fn send(path: &str, at: &str, key: &str) -> Child {
    program(&["send", path, at, "--key", key, "--timeout", "60s"]).spawn().expect("it starts")
}

/// Waits for a sender, which must end well. Returns its messages.
fn sent_well(mut sender: Child) -> String {
    assert_eq!(wait(&mut sender, 100), Some(0));
    let mut said = String::new();
    sender.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
    said
}

/// Checks that a measurement with this receiver succeeds.
fn measures(at: &str, key: &str) {
    let seen = common::paceline(&["send", at, "--key", key, "--duration", "300ms"]);
    assert_eq!(seen.code, 0, "{}{}", seen.out, seen.err);
}

#[test]
fn a_reader_that_stands_still_holds_up_only_its_own_sender() {
    use std::io::{BufRead as _, BufReader};
    let folder = Folder::new("store-reader");
    let content = bytes(120_000_000, 1);
    let path = folder.write("large", &content);
    let arguments = ["recv", "--listen", "127.0.0.1:0", "-o", "-", "--loops", "1"];
    let mut receiver = program(&arguments).spawn().expect("it starts");
    let mut said = BufReader::new(receiver.stderr.take().expect("a pipe")).lines();
    let mut word = |before: &str| {
        let line = said.next().expect("a line").expect("text");
        line.strip_prefix(before).unwrap_or_else(|| panic!("{line}")).to_string()
    };
    let (at, key) = (word("listening at "), word("key "));
    std::thread::spawn(move || said.for_each(drop));
    let mut out = receiver.stdout.take().expect("a pipe");
    let sender = send(&path, &at, &key);
    // Reads one byte, and no more until other senders were served.
    let mut came = vec![0; 1];
    out.read_exact(&mut came).expect("a byte");
    measures(&at, &key);
    // Sends another file: the first one again would be the same transfer and would take over.
    let other = folder.write("other", &bytes(100_000, 2));
    let refused = common::paceline(&["send", &other, &at, "--key", &key]);
    assert!(refused.code == 1 && refused.err.contains("another sender has"), "{}", refused.err);
    measures(&at, &key);
    // The receiver does not buffer all data that its reader does not take: the window is 32 MiB.
    assert!(peak_memory(receiver.id()) < 110 << 20, "{}", peak_memory(receiver.id()));
    let length = content.len();
    let reader = std::thread::spawn(move || {
        came.resize(length, 0);
        out.read_exact(&mut came[1..]).expect("bytes");
        came
    });
    sent_well(sender);
    assert!(reader.join().expect("bytes") == content);
    receiver.kill().expect("killed");
    receiver.wait().expect("an end");
}

/// A frozen file system in a file: every write to it blocks. Thawed and unmounted when dropped.
struct Frozen(String);

impl Frozen {
    fn new(folder: &Folder) -> Option<Frozen> {
        let (image, place) = (folder.path("image"), folder.path("mounted"));
        std::fs::create_dir(&place).expect("a folder");
        let script = format!(
            "truncate -s 64M {image} && mkfs.ext4 -q {image} && mount -o loop {image} {place} && fsfreeze --freeze {place}"
        );
        let seen = Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let frozen = Frozen(place);
        seen.status.success().then_some(frozen)
    }

    fn thaw(&self) {
        let _ = Command::new("fsfreeze").args(["--unfreeze", &self.0]).output();
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.thaw();
        let _ = Command::new("umount").args(["-l", &self.0]).output();
    }
}

#[test]
fn a_disk_that_stands_still_holds_up_only_its_own_senders() {
    let folder = Folder::new("store-frozen");
    let (path, content) = file(&folder, "in", 20_000_000);
    let Some(frozen) = Frozen::new(&folder) else {
        let (need, test) = (paceline_testing::Need::Kernel, paceline_testing::this_test());
        return paceline_testing::skip(need, &test, "no file system can be mounted and frozen");
    };
    let into = format!("{}/", frozen.0);
    let receiver = Receiver::start(&["-o", &into, "--loops", "1"]);
    let mut sender = send(&path, &receiver.at, &receiver.key);
    for _ in 0..3 {
        measures(&receiver.at, &receiver.key);
    }
    assert!(sender.try_wait().expect("a child").is_none(), "it waits for the disk");
    frozen.thaw();
    sent_well(sender);
    assert!(std::fs::read(format!("{into}in")).expect("the file") == content);
    drop(receiver);
}

/// Standard error is a full pipe that is not read; files arrive all the same.
#[test]
fn messages_that_nobody_reads_hold_up_no_files() {
    let folder = Folder::new("store-messages");
    let into = folder.path("into/");
    let receiver = Receiver::start(&["-o", &into]);
    // The messages with these names fill the pipe's 64 KiB.
    let names: Vec<String> =
        (0..600).map(|n| folder.write(&format!("{n}-{}", "x".repeat(200)), b"x")).collect();
    for names in names.chunks(200) {
        let mut arguments = vec!["send"];
        arguments.extend(names.iter().map(String::as_str));
        arguments.extend([&*receiver.at, "--key", &receiver.key]);
        let child = program(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        assert_eq!(wait(&mut child.expect("it starts"), 100), Some(0));
    }
    let arrived = std::fs::read_dir(&into).expect("the folder").count();
    assert!(arrived >= 600, "{arrived}");
}
