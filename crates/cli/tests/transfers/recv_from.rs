//! `paceline recv --from`: a receiver that others cannot reach fetches files from a
//! `paceline send --listen`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::common;
use crate::place::{LENGTH, Place, RATE, kill_9};
use crate::receiver::{Receiver, bytes, file, program, wait};
use crate::tree;
use serde_json::Value;

/// A sender that listens, as `paceline send --listen`.
struct Giver {
    child: Child,
    err: BufReader<ChildStderr>,
    said: String,
}

impl Place {
    /// Starts a sender that listens and has these files. Its port may still be in use by a sender
    /// that was just killed.
    fn giver(&self, what: &[&str]) -> Giver {
        let arguments = ["send", "--listen", &self.at, "--key-file", &self.server, "--json"];
        let mut command = program(&[&arguments, what].concat());
        let mut giver = Giver::of(command.spawn().expect("it starts"));
        giver.until("listening at ");
        giver
    }

    fn taker(&self, more: &[&str]) -> Command {
        let arguments = ["recv", "--from", &self.at, "--key-file", &self.client, "-o", &self.into];
        program(&[&arguments, more].concat())
    }
}

impl Giver {
    fn of(mut child: Child) -> Giver {
        let err = BufReader::new(child.stderr.take().expect("a pipe"));
        Giver { child, err, said: String::new() }
    }

    /// Waits for a message line with this text.
    fn until(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            assert!(self.err.read_line(&mut line).expect("text") > 0, "it ended: {}", self.said);
            self.said += &line;
            if line.contains(text) {
                return;
            }
        }
    }

    /// Waits for the sender's end. Returns its status, its row, and its messages.
    fn finish(mut self) -> (Option<i32>, Value, String) {
        self.err.read_to_string(&mut self.said).expect("text");
        let code = wait(&mut self.child, 100);
        let mut out = String::new();
        self.child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
        let all = serde_json::from_str::<Value>(&out).unwrap_or(Value::Null);
        (code, all["runs"][0].clone(), std::mem::take(&mut self.said))
    }
}

impl Drop for Giver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the program to its end. Returns its status and its messages.
fn run(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_folder_is_fetched_and_no_second_time() {
    let place = Place::new("from-folder");
    let from = place.folder.path("tree");
    tree::make(Path::new(&from));
    let (path, content) = file(&place.folder, "beside", 100_000);
    for is_first in [true, false] {
        let giver = place.giver(&[&from, &path]);
        let (code, err) = run(&mut place.taker(&[]));
        assert_eq!(code, Some(0), "{err}");
        let (code, row, err) = giver.finish();
        assert_eq!(code, Some(0), "{err}");
        tree::assert_same(Path::new(&from), Path::new(&format!("{}tree", place.into)));
        assert!(std::fs::read(format!("{}beside", place.into)).expect("the file") == content);
        assert_eq!(row["files"][0]["kept"], format!("{}tree", place.into));
        assert_eq!(row["skipped"], !is_first);
        assert!(!Path::new(&format!("{}tree.1", place.into)).exists());
    }
}

/// First the receiver is killed and started again, then the sender.
#[test]
fn what_was_cut_off_goes_on_at_either_end() {
    let place = Place::new("from-killed");
    let top = place.folder.path("tree");
    tree::make(Path::new(&top));
    std::fs::write(format!("{top}/large"), bytes(LENGTH, 1)).expect("a file");
    let giver = place.giver(&[&top]);
    let mut taker = place.taker(&["--limit", RATE]).spawn().expect("it starts");
    place.wait_for_staged(2_000_000);
    kill_9(&mut taker);
    assert!(!Path::new(&format!("{}tree", place.into)).exists(), "it is not whole");
    // Runs the same command again; then the sender is killed.
    let taker = place.taker(&["--limit", RATE]).spawn().expect("it starts");
    place.wait_for_staged(5_000_000);
    drop(giver);
    let giver = place.giver(&[&top]);
    let output = taker.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("a transfer goes on") && err.contains("connected again"), "{err}");
    let (code, row, err) = giver.finish();
    assert_eq!(code, Some(0), "{err}");
    assert!(row["resumed_bytes"].as_u64().is_some_and(|bytes| bytes > 2_000_000), "{row}");
    tree::assert_same(Path::new(&top), Path::new(&format!("{}tree", place.into)));
}

/// The sender does not notice that its receiver was killed; it has to accept the next connection
/// all the same.
#[test]
fn a_killed_receiver_comes_back_to_the_same_sender() {
    let place = Place::new("from-back");
    let content = bytes(LENGTH, 2);
    let path = place.folder.write("large", &content);
    let giver = place.giver(&[&path]);
    for staged in [1_500_000, 5_000_000] {
        let mut taker = place.taker(&["--limit", RATE]).spawn().expect("it starts");
        place.wait_for_staged(staged);
        kill_9(&mut taker);
    }
    let (code, err) = run(&mut place.taker(&[]));
    assert_eq!(code, Some(0), "{err}");
    let (code, row, err) = giver.finish();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(row["connections"], 3);
    assert!(err.contains("connected again"), "{err}");
    assert!(std::fs::read(format!("{}large", place.into)).expect("the file") == content);
}

#[test]
fn a_wrong_key_gets_nothing_and_the_sender_waits_on() {
    let place = Place::new("from-key");
    let (path, content) = file(&place.folder, "in", 200_000);
    let shown = common::paceline(&["key", "show", &place.client]);
    let list = place.list(&[("laptop", shown.out.trim())]);
    let giver = place.giver(&["--clients", &list, &path]);
    // The sender does not answer another server's key, and refuses an unlisted key with a reason.
    let stranger = place.folder.path("stranger.key");
    assert_eq!(common::paceline(&["key", "new", "-o", &stranger]).code, 0);
    let (unlisted, _) = place.client_key("unlisted.key");
    let strangers: &[&str] = &["--timeout", "1s"];
    for (key, more, said) in
        [(&stranger, strangers, "nobody answers"), (&unlisted, &[], "not on the server's list")]
    {
        let arguments = ["recv", "--from", &place.at, "--key-file", key, "-o", &place.into];
        let (code, err) = run(&mut program(&[&arguments, more].concat()));
        assert!(code == Some(1) && err.contains(said), "{err}");
    }
    let (code, err) = run(&mut place.taker(&[]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(giver.finish().0, Some(0));
    assert!(std::fs::read(format!("{}in", place.into)).expect("the file") == content);
}

/// Receivers ask for small files here as for large ones; and a name that is taken.
#[test]
fn a_file_that_exists_stays_and_the_fetched_one_lies_beside_it() {
    let place = Place::new("from-exists");
    let (path, content) = file(&place.folder, "in", 1000);
    std::fs::create_dir_all(&place.into).expect("a folder");
    std::fs::write(format!("{}in", place.into), b"before").expect("room");
    for _ in 0..2 {
        let giver = place.giver(&[&path]);
        let (code, err) = run(&mut place.taker(&[]));
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(giver.finish().0, Some(0));
    }
    assert_eq!(std::fs::read(format!("{}in", place.into)).expect("a file"), b"before");
    assert!(std::fs::read(format!("{}in.1", place.into)).expect("a file") == content);
    assert!(!Path::new(&format!("{}in.2", place.into)).exists());
}

/// An error at one receiver ends this receiver, and not the sender.
#[test]
fn a_receiver_that_fails_does_not_end_the_sender() {
    let place = Place::new("from-fails");
    let from = place.folder.path("tree");
    tree::make(Path::new(&from));
    let mut giver = place.giver(&[&from]);
    // A file stands where the receiver would need a folder.
    let into = place.folder.path("file");
    let arguments = ["recv", "--from", &place.at, "--key-file", &place.client, "-o", &into];
    let (code, err) = run(&mut program(&arguments));
    assert!(code == Some(1) && err.contains("recv -o DIR/"), "{err}");
    giver.until("waiting for");
    let (code, err) = run(&mut place.taker(&[]));
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = giver.finish();
    assert_eq!(code, Some(0), "{err}");
    tree::assert_same(Path::new(&from), Path::new(&format!("{}tree", place.into)));
}

#[test]
fn standard_input_is_fetched_once_and_says_that_it_cannot_go_on() {
    let place = Place::new("from-input");
    let arguments = ["send", "-", "--listen", &place.at, "--key-file", &place.server];
    let content = bytes(300_000, 3);
    for breaks in [false, true] {
        let child = program(&arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut giver = Giver::of(child);
        giver.until("listening at ");
        let mut input = giver.child.stdin.take().expect("a pipe");
        let mut taker = place.taker(&[]).spawn().expect("it starts");
        input.write_all(&content[..200_000]).expect("room");
        if breaks {
            place.wait_for_staged(100_000);
            kill_9(&mut taker);
            let mut other = place.taker(&[]).spawn().expect("it starts");
            let (code, _, err) = giver.finish();
            assert!(code == Some(1) && err.contains("cannot be read a second time"), "{err}");
            kill_9(&mut other);
            continue;
        }
        input.write_all(&content[200_000..]).expect("room");
        drop(input);
        let output = taker.wait_with_output().expect("an end");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{err}");
        assert_eq!(giver.finish().0, Some(0));
        assert!(std::fs::read(format!("{}input", place.into)).expect("a file") == content);
    }
}

#[test]
fn ends_of_one_kind_refuse_each_other_in_words() {
    let place = Place::new("from-kind");
    let (path, _) = file(&place.folder, "in", 1000);
    let _giver = place.giver(&[&path]);
    let (code, err) = run(&mut program(&["send", &path, &place.at, "--key-file", &place.client]));
    assert!(code == Some(1) && err.contains("paceline recv --from"), "{err}");
    let receiver = Receiver::start(&[]);
    let mut taker = program(&["recv", "--from", &receiver.at, "-o", &place.into]);
    let (code, err) = run(taker.env("PACELINE_KEY", &receiver.key));
    assert!(code == Some(1) && err.contains("send --listen"), "{err}");
}

#[test]
fn a_receiver_prints_logs_and_draws_what_it_has_fetched() {
    let place = Place::new("from-outputs");
    let path = place.folder.write("large", &bytes(LENGTH, 4));
    let (log, pages) = (place.folder.path("log.sqlog"), place.folder.path("pages"));
    let giver = place.giver(&[&path]);
    let outputs = ["--json", "--qlog", &log, "--report", &pages];
    let output = place.taker(&outputs).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert_eq!(giver.finish().0, Some(0));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let saved = std::fs::read(format!("{pages}/recv.json")).expect("a document");
    let saved: Value = serde_json::from_slice(&saved).expect("JSON");
    for document in [&printed, &saved] {
        let [row] = &document["connections"].as_array().expect("a list")[..] else {
            panic!("{document}")
        };
        assert_eq!((&row["from"], &row["scheme"]), (&place.at.as_str().into(), &"copa".into()));
        assert!(row["goodput"].as_u64().is_some_and(|bytes| bytes > LENGTH as u64), "{row}");
        assert!(row["problem"].is_null() && row["reverse"] == false, "{row}");
        let rates = row["series"]["throughput_mbps"].as_array().expect("a course");
        assert!(!rates.is_empty());
    }
    let page = std::fs::read_to_string(format!("{pages}/recv.html")).expect("a page");
    assert!(page.contains(&format!("paceline recv --from {}", place.at)), "its title");
    let log = std::fs::read_to_string(&log).expect("a log");
    let count = |name: &str| log.matches(name).count();
    assert!(count("transport:packet_received") * 1500 > LENGTH, "data");
    assert!(count("transport:packet_sent") > 10, "acknowledgements");
    assert_eq!(count("connectivity:connection_closed"), 1);
    // Files and JSON cannot both go to standard output.
    let arguments = ["recv", "--from", &place.at, "--key-file", &place.client, "-o", "-", "--json"];
    let (code, err) = run(&mut program(&arguments));
    assert!(code == Some(2) && err.contains("both go to standard output"), "{err}");
}

/// A connection that broke off has its own row and log, with the reason.
#[test]
fn each_connection_of_a_receiver_has_a_row_and_a_log() {
    let place = Place::new("from-rows");
    let path = place.folder.write("large", &bytes(LENGTH, 5));
    let log = place.folder.path("log");
    let giver = place.giver(&[&path]);
    let outputs = ["--json", "--qlog", &log, "--limit", RATE];
    let taker = place.taker(&outputs).spawn().expect("it starts");
    place.wait_for_staged(3_000_000);
    drop(giver);
    let giver = place.giver(&[&path]);
    let output = taker.wait_with_output().expect("an end");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert_eq!(giver.finish().0, Some(0));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = printed["connections"].as_array().expect("a list");
    assert_eq!(rows.len(), 2, "{printed}");
    assert!(rows[0]["problem"].is_string() && rows[1]["problem"].is_null(), "{printed}");
    assert!(Path::new(&log).exists() && Path::new(&format!("{log}-2")).exists());
}

/// If no answer arrives, the message names the command that should run at the other end.
#[test]
fn silence_names_the_command_of_the_other_end() {
    let place = Place::new("from-silence");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("an address");
    let at = silent.local_addr().expect("an address").to_string();
    let (path, _) = file(&place.folder, "in", 1000);
    let fetch: &[&str] = &["recv", "--from", &at, "-o", &place.into];
    for (arguments, command) in
        [(fetch, "`paceline send --listen`"), (&["send", &path, &at], "`paceline recv`")]
    {
        let more = ["--timeout", "1s", "--key-file", &place.client];
        let arguments = [arguments, &more].concat();
        let (code, err) = run(&mut program(&arguments));
        assert!(code == Some(1) && err.contains("nobody answers at"), "{err}");
        assert!(err.contains(&format!("does {command} run there")), "{err}");
    }
    drop(silent);
    // So does the message if nothing listens at the port.
    let (code, err) = run(&mut place.taker(&[]));
    assert!(code == Some(1) && err.contains("running (`paceline send --listen`)"), "{err}");
}
