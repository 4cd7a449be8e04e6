//! The progress of a transfer, as `paceline send` shows it.

use std::io::{BufRead as _, BufReader, Read as _};

use crate::common;
use crate::receiver::{Receiver, file, program};

/// Sends at 100 kbit/s with these options. Ends the sender after a line with `wanted`, and returns
/// its messages until then.
fn shown(options: &[&str], wanted: &str) -> String {
    let folder = paceline_testing::Folder::new("progress");
    let (path, _) = file(&folder, "in", 10_000_000);
    let receiver = Receiver::start(&[]);
    let mut all = vec!["send", &path, &receiver.at, "--key", &receiver.key, "--limit", "100kbps"];
    all.extend(options);
    let mut sender = program(&all).spawn().expect("the program starts");
    let mut err = BufReader::new(sender.stderr.take().expect("a pipe"));
    let (mut text, mut piece) = (String::new(), Vec::new());
    // A bar ends its lines with a carriage return.
    while !text.contains(wanted) {
        piece.clear();
        let end = if options.contains(&"bar") { b'\r' } else { b'\n' };
        assert!(err.read_until(end, &mut piece).expect("text") > 0, "it ended: {text}");
        text += &String::from_utf8_lossy(&piece);
    }
    sender.kill().expect("killed");
    sender.wait().expect("an end");
    let mut rest = String::new();
    err.read_to_string(&mut rest).expect("text");
    text
}

#[test]
fn without_a_terminal_lines_tell_how_much_has_arrived_and_how_long_it_takes() {
    let text = shown(&[], " left");
    let line = text.lines().find(|line| line.contains(" left")).expect("a line");
    assert!(line.contains("of 10.0 MB (") && line.contains("/s, "), "{line}");
}

/// At 100 kbit/s, the receiver of a transfer shows the arrived bytes, and nothing before the
/// connection.
#[test]
fn a_receiver_shows_what_arrives() {
    let folder = paceline_testing::Folder::new("progress-recv");
    let (path, _) = file(&folder, "in", 10_000_000);
    let arguments = ["recv", "--listen", "127.0.0.1:0", "-o", "/dev/null"];
    let mut child = program(&arguments).spawn().expect("it starts");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("a line");
    let key = line.trim().strip_prefix("key ").expect("a key").to_string();
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    line.clear();
    err.read_line(&mut line).expect("a line");
    let at = line.trim().strip_prefix("listening at ").expect("an address").to_string();
    let arguments = ["send", &path, &at, "--key", &key, "--limit", "100kbps", "-q"];
    let mut sender = program(&arguments).spawn().expect("it starts");
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.contains(" left") {
        assert!(err.read(&mut byte).expect("text") > 0, "it ended: {text}");
        text.push(char::from(byte[0]));
    }
    for child in [&mut sender, &mut child] {
        child.kill().expect("killed");
        child.wait().expect("an end");
    }
    assert!(text.contains("of 10.0 MB (") && text.contains("connected"), "{text}");
}

#[test]
fn quiet_transfers_show_nothing() {
    let folder = paceline_testing::Folder::new("progress-quiet");
    let (path, _) = file(&folder, "in", 120_000);
    // Each transfer takes ten seconds, and a line would be shown after five.
    let send = |options: [&str; 3]| {
        let mut receiver = Receiver::start(&["--once"]);
        let mut all =
            vec!["send", &path, &receiver.at, "--key", &receiver.key, "--limit", "100kbps"];
        all.extend(options);
        let seen = common::paceline(&all);
        assert_eq!((seen.code, seen.err.as_str()), (0, ""));
        assert_eq!(receiver.finish(60).0, Some(0));
    };
    std::thread::scope(|both| {
        both.spawn(|| send(["-q", "--progress", "lines"]));
        send(["--progress", "none", "--json"]);
    });
}
