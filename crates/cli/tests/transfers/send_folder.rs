//! `paceline send FOLDER`: the arriving entries, and the messages about entries that cannot be
//! sent.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::common;
use crate::receiver::{Receiver, file, program};
use crate::tree;
use paceline_testing::Folder;
use serde_json::Value;

/// Sends these files. Returns the messages, and the row of the JSON.
fn send(receiver: &Receiver, what: &[&str]) -> (common::Seen, Value) {
    let arguments = [&["send"], what, &[&receiver.at, "--key", &receiver.key, "--json"]].concat();
    let seen = common::paceline(&arguments);
    let row =
        serde_json::from_str::<Value>(&seen.out).map_or(Value::Null, |all| all["runs"][0].clone());
    (seen, row)
}

fn make_pipe(path: &str) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_folder_arrives_with_names_modes_times_and_links() {
    let folder = Folder::new("folder-all");
    let (from, into) = (folder.path("tree"), folder.path("into/"));
    tree::make(Path::new(&from));
    let (path, content) = file(&folder, "beside", 100_000);
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let (seen, row) = send(&receiver, &[&from, &path]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(receiver.finish(100).0, Some(0));
    tree::assert_same(Path::new(&from), Path::new(&format!("{into}tree")));
    assert!(std::fs::read(format!("{into}beside")).expect("the file") == content);
    assert_eq!(row["files"][0]["kept"], format!("{into}tree"));
    assert_eq!(row["files"][1]["kept"], format!("{into}beside"));
    assert_eq!(row["files"][0]["bytes"], 370_023);
    assert_eq!(row["problems"].as_array().map(Vec::len), Some(0));
    assert!(row["skipped"] == false && row["connections"] == 1 && row["repeated_bytes"] == 0);
}

#[test]
fn a_link_as_an_argument_is_followed_and_links_within_folders_are_not() {
    let folder = Folder::new("folder-link");
    let (from, into) = (folder.path("tree"), folder.path("into/"));
    tree::make(Path::new(&from));
    let link = folder.path("to-tree");
    std::os::unix::fs::symlink("tree", &link).expect("a link");
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let (seen, _) = send(&receiver, &[&link]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(receiver.finish(100).0, Some(0));
    tree::assert_same(Path::new(&from), Path::new(&format!("{into}to-tree")));
}

/// Messages and round trips of many small files must not add up.
#[test]
fn two_thousand_small_files_arrive() {
    let folder = Folder::new("folder-many");
    let (from, into) = (folder.path("tree"), folder.path("into/"));
    for n in 0..2000 {
        let name = format!("tree/{:02}/{n:04}", n % 37);
        let path = folder.path(&name);
        std::fs::create_dir_all(Path::new(&path).parent().expect("a folder")).expect("a folder");
        std::fs::write(path, vec![n as u8; n % 300]).expect("a file");
    }
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let (seen, row) = send(&receiver, &[&from]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(receiver.finish(100).0, Some(0));
    tree::assert_same(Path::new(&from), Path::new(&format!("{into}tree")));
    assert_eq!(row["connections"], 1);
}

#[test]
fn what_cannot_be_sent_is_named_and_the_rest_arrives() {
    let folder = Folder::new("folder-pipe");
    let (from, into) = (folder.path("tree"), folder.path("into/"));
    tree::make(Path::new(&from));
    let pipe = format!("{from}/sub/pipe");
    make_pipe(&pipe);
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let (seen, row) = send(&receiver, &[&from]);
    assert_eq!(seen.code, 1, "{}", seen.err);
    assert!(seen.err.contains("sub/pipe: left out: it is not a file"), "{}", seen.err);
    assert_eq!(row["problems"][0]["path"], pipe);
    assert_eq!(row["files"][0]["kept"], format!("{into}tree"));
    assert_eq!(receiver.finish(100).0, Some(0));
    std::fs::remove_file(&pipe).expect("removed");
    tree::set_mtime(Path::new(&format!("{from}/sub")), 1_234_567_890, 5);
    tree::set_mtime(Path::new(&format!("{into}tree/sub")), 1_234_567_890, 5);
    tree::assert_same(Path::new(&from), Path::new(&format!("{into}tree")));
}

/// The first argument is a pipe, to which the test writes after the second has changed.
#[test]
fn a_file_that_changes_meanwhile_is_not_taken_for_whole() {
    let folder = Folder::new("folder-changed");
    let into = folder.path("into/");
    let (path, _) = file(&folder, "changes", 200_000);
    let (last, content) = file(&folder, "last", 100_000);
    let pipe = folder.path("pipe");
    make_pipe(&pipe);
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let arguments =
        ["send", &pipe, &path, &last, &receiver.at, "--key", &receiver.key, "--timeout", "100s"];
    let sender = program(&arguments).spawn().expect("the program starts");
    receiver.connected();
    std::fs::write(&path, b"something else").expect("a file");
    let mut input = std::fs::File::options().write(true).open(&pipe).expect("the pipe");
    input.write_all(b"from a pipe").expect("room");
    drop(input);
    let output = sender.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("changes: did not arrive: it has changed"), "{err}");
    let _ = receiver.finish(100);
    assert_eq!(std::fs::read(format!("{into}pipe")).expect("a file"), b"from a pipe");
    assert!(std::fs::read(format!("{into}last")).expect("a file") == content);
    assert!(!Path::new(&format!("{into}changes")).exists());
}

#[test]
fn a_missing_argument_is_told_before_anything_is_sent() {
    let folder = Folder::new("folder-missing");
    let receiver = Receiver::start(&[]);
    let (seen, _) = send(&receiver, &[&folder.path("nothing")]);
    assert_eq!(seen.code, 2, "{}", seen.err);
    assert!(seen.err.contains("nothing: cannot be read"), "{}", seen.err);
}
