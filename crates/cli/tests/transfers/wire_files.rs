//! Tests which files `paceline recv` keeps, where, and under which names, and the output of
//! `paceline send` about them.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::common;
use crate::receiver::{Receiver, bytes, file, program, wait};
use paceline_testing::Folder;
use serde_json::Value;

/// A `paceline recv -o -`. Its standard output has the files, and its standard error the
/// messages.
struct ToOutput {
    child: std::process::Child,
    at: String,
    key: String,
}

impl ToOutput {
    fn start() -> ToOutput {
        ToOutput::of(&["--once"], Stdio::piped())
    }

    /// Starts it with these further options and this standard output.
    fn of(more: &[&str], output: Stdio) -> ToOutput {
        use std::io::{BufRead as _, BufReader};
        let arguments = [&["recv", "--listen", "127.0.0.1:0", "-o", "-"], more].concat();
        let mut child = program(&arguments).stdout(output).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut word = |before: &str| {
            let line = said.next().expect("a line").expect("text");
            line.strip_prefix(before).unwrap_or_else(|| panic!("{line}")).to_string()
        };
        let (at, key) = (word("listening at "), word("key "));
        std::thread::spawn(move || said.for_each(drop));
        ToOutput { child, at, key }
    }
}

#[test]
fn standard_output_takes_one_sender_at_a_time() {
    let folder = Folder::new("files-output");
    let (path, _) = file(&folder, "second", 500_000);
    let mut receiver = ToOutput::start();
    let mut first = program(&["send", "-", &receiver.at, "--key", &receiver.key])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let content = bytes(900_000, 1);
    let mut input = first.stdin.take().expect("a pipe");
    input.write_all(&content[..300_000]).expect("room");
    // The first sender's bytes arrive at standard output, which it now has alone.
    let mut out = receiver.child.stdout.take().expect("a pipe");
    let mut came = vec![0; 1];
    out.read_exact(&mut came).expect("a byte");
    let reader = std::thread::spawn(move || {
        out.read_to_end(&mut came).expect("bytes");
        came
    });
    let seen = common::paceline(&["send", &path, &receiver.at, "--key", &receiver.key]);
    assert_eq!(seen.code, 1, "{}{}", seen.out, seen.err);
    assert!(seen.err.contains("standard output, which another sender has"), "{}", seen.err);
    // The first sender goes on, although the other's connection has ended: --once waits for the
    // first one's end.
    input.write_all(&content[300_000..]).expect("room");
    drop(input);
    let output = first.wait_with_output().expect("an end");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("900000 bytes are whole at the receiver (standard output)"), "{text}");
    assert_eq!(wait(&mut receiver.child, 100), Some(0));
    assert!(reader.join().expect("bytes") == content, "senders were mixed");
}

#[test]
fn a_receiver_whose_standard_output_fails_tells_the_sender_and_ends() {
    let folder = Folder::new("files-broken");
    let (path, _) = file(&folder, "in", 500_000);
    for (more, is_full) in [(&["--once"][..], false), (&[], false), (&["--once"], true)] {
        let output = match is_full {
            true => std::fs::File::options().write(true).open("/dev/full").expect("it").into(),
            false => Stdio::piped(),
        };
        let mut receiver = ToOutput::of(more, output);
        drop(receiver.child.stdout.take());
        let seen = common::paceline(&["send", &path, &receiver.at, "--key", &receiver.key]);
        assert_eq!(seen.code, 1, "{}", seen.err);
        let why = if is_full { "No space left" } else { "Broken pipe" };
        let told = format!("standard output cannot be written: {why}");
        assert!(seen.err.contains(&told), "{}", seen.err);
        assert!(!seen.err.contains("send again"), "{}", seen.err);
        assert_eq!(wait(&mut receiver.child, 100), Some(1), "{more:?}");
    }
}

#[test]
fn a_receiver_that_refuses_a_file_ends_with_an_error_with_once() {
    let folder = Folder::new("files-none");
    let (first, content) = file(&folder, "first", 100_000);
    let (second, _) = file(&folder, "second", 3_000_000);
    std::fs::create_dir(folder.path("tree")).expect("a folder");
    std::fs::copy(&second, folder.path("tree/large")).expect("a file");
    let out = folder.path("out");
    for (sent, kept) in [(vec![folder.path("tree")], false), (vec![first, second], true)] {
        let mut receiver = Receiver::start(&["-o", &out, "--once"]);
        let mut arguments = vec!["send"];
        arguments.extend(sent.iter().map(String::as_str));
        arguments.extend([&receiver.at, "--key", &receiver.key]);
        let seen = common::paceline(&arguments);
        assert_eq!(seen.code, 1, "{}", seen.err);
        assert!(seen.err.contains("give it a folder, `recv -o DIR/`"), "{}", seen.err);
        let (code, err) = receiver.finish(100);
        assert_eq!(code, Some(1), "{sent:?}: {err}");
        assert_eq!(std::fs::read(&out).ok(), kept.then(|| content.clone()));
    }
}

#[test]
fn several_files_follow_each_other_on_standard_output() {
    let folder = Folder::new("files-follow");
    let files = ["one", "two", "three"].map(|name| file(&folder, name, 200_000 + name.len()));
    let mut receiver = ToOutput::start();
    let mut arguments = vec!["send"];
    arguments.extend(files.iter().map(|(path, _)| path.as_str()));
    arguments.extend([&receiver.at, "--key", &receiver.key]);
    let mut out = receiver.child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut came = Vec::new();
        out.read_to_end(&mut came).expect("bytes");
        came
    });
    let seen = common::paceline(&arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(wait(&mut receiver.child, 100), Some(0));
    let all = files.iter().flat_map(|(_, content)| content.clone()).collect::<Vec<u8>>();
    assert!(reader.join().expect("bytes") == all);
}

/// Forty files over one connection: more messages than an end keeps waiting.
#[test]
fn many_files_go_over_one_connection() {
    let folder = Folder::new("files-many");
    let into = folder.path("into/");
    let files: Vec<_> = (0..40).map(|n| file(&folder, &format!("f{n}"), n * 1000)).collect();
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let mut arguments = vec!["send", "--json"];
    arguments.extend(files.iter().map(|(path, _)| path.as_str()));
    arguments.extend([&receiver.at, "--key", &receiver.key]);
    let seen = common::paceline(&arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let (code, err) = receiver.finish(60);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(err.matches(": connected").count(), 1, "{err}");
    let rows: Value = serde_json::from_str(&seen.out).expect("JSON");
    let row = &rows["runs"][0];
    assert_eq!(row["file_bytes"], 780_000);
    assert!(row["kept"].is_null());
    for (n, (path, content)) in files.iter().enumerate() {
        let name = path.rsplit('/').next().expect("a name");
        assert!(std::fs::read(format!("{into}{name}")).expect("the file") == *content, "{name}");
        assert_eq!(row["files"][n]["path"], *path);
        assert_eq!(row["files"][n]["kept"], format!("{into}{name}"));
        assert!(row["files"][n]["problem"].is_null());
    }
}

/// The receiver's files may have at most 100 kB: it refuses the second of three meanwhile.
#[test]
fn a_file_that_fails_is_named_and_the_others_arrive() {
    let folder = Folder::new("files-fails");
    let into = folder.path("into/");
    let (small, large, last) = (
        file(&folder, "small", 50_000),
        file(&folder, "large", 3_000_000),
        file(&folder, "last", 60_000),
    );
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_paceline"), "recv"])
        .args(["--listen", "127.0.0.1:0", "-o", &into])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let first = |pipe: &mut dyn std::io::Read, before: &str| {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(pipe), &mut line).expect("a line");
        line.trim().strip_prefix(before).expect("its beginning").to_string()
    };
    let at = first(child.stderr.as_mut().expect("a pipe"), "listening at ");
    let key = first(child.stdout.as_mut().expect("a pipe"), "key ");
    let seen = common::paceline(&[
        "send",
        &small.0,
        &large.0,
        &last.0,
        &at,
        "--key",
        &key,
        "--timeout",
        "60s",
    ]);
    assert_eq!(seen.code, 1, "{}", seen.err);
    assert!(seen.err.contains(&format!("{}: did not arrive", large.0)), "{}", seen.err);
    assert!(seen.err.contains("File too large"), "{}", seen.err);
    assert!(!seen.err.contains(&small.0) && !seen.err.contains(&last.0), "{}", seen.err);
    let mut names: Vec<_> = std::fs::read_dir(&into)
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["last", "small"]);
    // If a single file fails, that is an error as before.
    let seen = common::paceline(&["send", &large.0, &at, "--key", &key, "--timeout", "60s"]);
    assert!(seen.code == 1 && seen.err.contains("the file did not arrive"), "{}", seen.err);
    child.kill().expect("killed");
    child.wait().expect("an end");
}

#[test]
fn files_are_kept_here_without_o_and_thrown_away_only_on_request() {
    let folder = Folder::new("files-here");
    let (path, content) = file(&folder, "in", 10_000);
    let here = folder.path("here");
    std::fs::create_dir(&here).expect("a folder");
    for (arguments, place) in [(&[][..], "(./in)"), (&["-o", "/dev/null"], "(/dev/null)")] {
        let mut command = program(&["recv", "--listen", "127.0.0.1:0", "--once"]);
        let mut receiver = Receiver::of(command.args(arguments).current_dir(&here));
        let seen = common::paceline(&["send", &path, &receiver.at, "--key", &receiver.key]);
        assert_eq!(seen.code, 0, "{}", seen.err);
        assert!(seen.out.contains(&format!("are whole at the receiver {place}")), "{}", seen.out);
        assert_eq!(receiver.finish(60).0, Some(0));
    }
    assert!(std::fs::read(format!("{here}/in")).expect("the file") == content);
    assert_eq!(std::fs::read_dir(&here).expect("the folder").count(), 1);
}

#[test]
fn names_are_kept_where_they_are_harmless() {
    let folder = Folder::new("files-names");
    let into = folder.path("into/");
    let long = format!("{}.txt", "x".repeat(251));
    let names = [
        (".bashrc", "%2Ebashrc"),
        ("-rf", "%2Drf"),
        ("cod\u{202e}gpj.exe", "cod%E2%80%AEgpj.exe"),
        ("zero\u{200b}width", "zero%E2%80%8Bwidth"),
        ("Grüße *.txt", "Grüße *.txt"),
        (&long, &long),
    ];
    let mut receiver = Receiver::start(&["-o", &into, "--once"]);
    let paths: Vec<String> = names.iter().map(|(name, _)| folder.write(name, b"x")).collect();
    let mut arguments = vec!["send"];
    arguments.extend(paths.iter().map(String::as_str));
    arguments.extend([&receiver.at, "--key", &receiver.key]);
    let seen = common::paceline(&arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(receiver.finish(60).0, Some(0));
    for (name, kept) in names {
        let found = std::fs::read(format!("{into}{kept}"));
        assert!(found.is_ok_and(|content| content == b"x"), "{name:?}");
    }
}

/// After a power cut, a file whose arrival was confirmed still has its name.
#[test]
fn the_folder_is_written_to_the_disk_after_a_file_has_its_name() {
    let folder = Folder::new("files-sync");
    let (path, _) = file(&folder, "in", 1000);
    let (into, log) = (folder.path("into/"), folder.path("calls"));
    std::fs::create_dir(&into).expect("a folder");
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        let (need, test) = (paceline_testing::Need::Programs, paceline_testing::this_test());
        return paceline_testing::skip(need, &test, "no strace that works");
    }
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", "trace=renameat2,fsync", "-o", &log]);
    strace.args([env!("CARGO_BIN_EXE_paceline"), "recv", "--listen", "127.0.0.1:0", "--once"]);
    strace.args(["-o", &into]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut receiver = Receiver::of(&mut strace);
    let seen = common::paceline(&[
        "send",
        &path,
        &receiver.at,
        "--key",
        &receiver.key,
        "--timeout",
        "60s",
    ]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(receiver.finish(60).0, Some(0));
    let calls = std::fs::read_to_string(&log).expect("a log");
    let line = |what: &str| calls.lines().position(|line| line.contains(what));
    let into = into.trim_end_matches('/');
    let named = line(&format!("{into}>, \"in\"")).expect("it gets a name");
    let synced =
        line(&format!("{into}>)")).unwrap_or_else(|| panic!("no fsync of the folder: {calls}"));
    assert!(named < synced, "{calls}");
}

#[test]
fn a_port_at_which_nothing_listens_is_told() {
    let folder = Folder::new("files-refused");
    let (path, _) = file(&folder, "in", 1000);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("an address");
    let at = socket.local_addr().expect("an address").to_string();
    drop(socket);
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    let seen = common::paceline(&["send", &path, &at, "--key", &key, "--timeout", "600s"]);
    assert_eq!(seen.code, 1);
    assert!(seen.err.contains("refused: nothing listens there"), "{}", seen.err);
}
