//! `paceline send` continues after kills and outages, over new connections or by the same command.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::place::{LENGTH, Place, RATE, kill_9};
use crate::receiver::{bytes, program, wait};
use crate::tree;
use serde_json::Value;

impl Place {
    fn sender(&self, path: &str, more: &[&str]) -> Command {
        let arguments = ["send", path, &self.at, "--key", &self.key, "--json"];
        program(&[&arguments, more].concat())
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

/// Waits for the sender's end. Returns its status, its row, and its messages.
fn row(child: Child) -> (Option<i32>, Value, String) {
    let output = child.wait_with_output().expect("an end");
    let all = serde_json::from_slice::<Value>(&output.stdout).unwrap_or(Value::Null);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), all["runs"][0].clone(), err)
}

#[test]
fn the_same_command_goes_on_after_the_sender_is_killed() {
    let place = Place::new("resume-sender");
    let content = bytes(LENGTH, 1);
    let path = place.folder.write("large", &content);
    let _receiver = place.receiver(&[]);
    for staged in [1_500_000, 5_000_000] {
        let mut sender = place.sender(&path, &["--limit", RATE]).spawn().expect("it starts");
        place.wait_for_staged(staged);
        kill_9(&mut sender);
        assert_eq!(place.names(), Vec::<String>::new(), "what is incomplete has a name");
    }
    let (code, row, err) = row(place.sender(&path, &[]).spawn().expect("it starts"));
    assert_eq!(code, Some(0), "{err}");
    assert!(place.is_whole("large", &content));
    // The receiver keeps at least 64 KiB times a power of two: more than half of the bytes that had
    // arrived.
    let resumed = row["resumed_bytes"].as_u64().expect("a number");
    assert!((2_500_000..=LENGTH as u64).contains(&resumed), "{resumed}");
    assert_eq!(row["connections"], 1);
    // A repeated command sends nothing, and nothing arrives twice.
    let (code, row, err) = self::row(place.sender(&path, &[]).spawn().expect("it starts"));
    assert!(code == Some(0) && row["skipped"] == true, "{err} {row}");
    assert_eq!(row["files"][0]["kept"], format!("{}large", place.into));
    assert_eq!(place.names(), ["large"]);
}

#[test]
fn a_sender_goes_on_at_a_receiver_that_was_killed_and_started_again() {
    let place = Place::new("resume-receiver");
    let content = bytes(LENGTH, 2);
    let path = place.folder.write("large", &content);
    let mut receiver = place.receiver(&["--timeout", "2s"]);
    let arguments = ["--limit", RATE, "--timeout", "2s"];
    let sender = place.sender(&path, &arguments).spawn().expect("it starts");
    place.wait_for_staged(3_000_000);
    kill_9(&mut receiver.child);
    assert_eq!(place.names(), Vec::<String>::new());
    let _receiver = place.receiver(&[]);
    let (code, row, err) = row(sender);
    assert_eq!(code, Some(0), "{err}");
    assert!(place.is_whole("large", &content));
    assert!(err.contains("connecting again") && err.contains("connected again"), "{err}");
    assert_eq!(row["connections"], 2);
    let repeated = row["repeated_bytes"].as_u64().expect("a number");
    assert!(repeated < LENGTH as u64 / 2, "{repeated}");
}

/// The receiver is stopped for longer than both ends' idle time.
#[test]
fn an_outage_longer_than_the_idle_time_costs_a_new_connection_and_no_data() {
    let place = Place::new("resume-outage");
    let top = place.folder.path("tree");
    tree::make(Path::new(&top));
    std::fs::write(format!("{top}/large"), bytes(LENGTH, 3)).expect("a file");
    let receiver = place.receiver(&["--timeout", "1s", "--loops", "1"]);
    let arguments = ["--limit", RATE, "--timeout", "1s"];
    let sender = place.sender(&top, &arguments).spawn().expect("it starts");
    place.wait_for_staged(3_000_000);
    signal(&receiver.child, "-STOP");
    std::thread::sleep(Duration::from_secs(4));
    signal(&receiver.child, "-CONT");
    let (code, row, err) = row(sender);
    assert_eq!(code, Some(0), "{err}");
    tree::assert_same(Path::new(&top), Path::new(&format!("{}tree", place.into)));
    assert!(row["connections"].as_u64().is_some_and(|count| count >= 2), "{err} {row}");
}

#[test]
fn a_file_that_changed_in_between_is_sent_anew() {
    let place = Place::new("resume-changed");
    let mut content = bytes(LENGTH, 4);
    let path = place.folder.write("large", &content);
    let _receiver = place.receiver(&[]);
    let mut sender = place.sender(&path, &["--limit", RATE]).spawn().expect("it starts");
    place.wait_for_staged(2_000_000);
    kill_9(&mut sender);
    content[100] ^= 1;
    place.folder.write("large", &content);
    let (code, row, err) = row(place.sender(&path, &[]).spawn().expect("it starts"));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(row["resumed_bytes"], 0);
    assert!(place.is_whole("large", &content), "old and new bytes are mixed");
}

#[test]
fn without_retries_an_outage_ends_the_sender() {
    let place = Place::new("resume-never");
    let path = place.folder.write("large", &bytes(LENGTH, 5));
    let mut receiver = place.receiver(&["--timeout", "3s"]);
    let arguments = ["--limit", RATE, "--timeout", "3s", "--retry", "0"];
    let mut sender = place.sender(&path, &arguments).spawn().expect("it starts");
    place.wait_for_staged(1_000_000);
    kill_9(&mut receiver.child);
    assert_eq!(wait(&mut sender, 100), Some(1));
}

#[test]
fn an_interrupt_ends_it_at_once_and_the_same_command_goes_on() {
    let place = Place::new("resume-interrupt");
    let content = bytes(LENGTH, 6);
    let path = place.folder.write("large", &content);
    let _receiver = place.receiver(&[]);
    let sender = place.sender(&path, &["--limit", RATE]).spawn().expect("it starts");
    place.wait_for_staged(2_000_000);
    signal(&sender, "-INT");
    let (code, _, err) = row(sender);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("the same command goes on from there"), "{err}");
    let (code, row, err) = row(place.sender(&path, &[]).spawn().expect("it starts"));
    assert_eq!(code, Some(0), "{err}");
    assert!(row["resumed_bytes"].as_u64().is_some_and(|bytes| bytes > 500_000), "{row}");
    assert!(place.is_whole("large", &content));
}
