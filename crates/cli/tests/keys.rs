//! `paceline key`, and where commands take keys from.

mod common;
#[path = "common/receiver.rs"]
mod receiver;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::Folder;
use receiver::{Receiver, file, program, wait};

fn set_mode(path: &str, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("our file");
}

/// New keys in this file; their key string.
fn new(path: &str) -> String {
    let seen = common::paceline(&["key", "new", "-o", path]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    seen.out.trim().to_string()
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn keys_are_made_once_and_shown() {
    let folder = Folder::new("keys-new");
    let path = folder.path("server.key");
    let string = new(&path);
    assert!(string.starts_with("pl1-") && string.lines().count() == 1, "{string}");
    let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = std::fs::read(&path).expect("the file");
    let seen = common::paceline(&["key", "new", "-o", &path]);
    assert!(seen.code == 1 && seen.out.is_empty(), "{}", seen.out);
    assert!(seen.err.contains("there is a file of this name, which stays"), "{}", seen.err);
    assert!(std::fs::read(&path).expect("the file") == before);
    let seen = common::paceline(&["key", "show", &path]);
    assert_eq!((seen.code, seen.out.trim()), (0, &*string));
    let seen = common::paceline(&["key", "show", &folder.write("none", b"hello\n")]);
    assert_eq!(seen.code, 2, "{}", seen.err);
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_remedy() {
    let folder = Folder::new("keys-mode");
    let (server, client) = (folder.path("server.key"), folder.path("client.key"));
    std::fs::write(&client, new(&server)).expect("room");
    for mode in [0o640, 0o604, 0o602, 0o660] {
        set_mode(&server, mode);
        set_mode(&client, mode);
        for (arguments, path) in [
            (vec!["key", "show", &server], &server),
            (vec!["recv", "--listen", "127.0.0.1:0", "--key-file", &server], &server),
            (vec!["tunnel", "server", "--key-file", &server, "--address", "10.77.0.1/24"], &server),
            (vec!["saturate", "server", "--listen", "127.0.0.1:0", "--key-file", &server], &server),
            (vec!["send", "127.0.0.1:9", "--bulk", "1s", "--key-file", &client], &client),
            (
                vec![
                    "tunnel",
                    "client",
                    "127.0.0.1:9",
                    "--address",
                    "10.77.0.2/24",
                    "--key-file",
                    &client,
                ],
                &client,
            ),
            (
                vec!["saturate", "client", "127.0.0.1:9", "--only", "up", "--key-file", &client],
                &client,
            ),
        ] {
            let seen = common::paceline(&arguments);
            assert_eq!(seen.code, 2, "{arguments:?}: {}", seen.err);
            assert!(seen.err.contains(&format!("chmod 600 {path}")), "{}", seen.err);
        }
    }
}

#[test]
fn servers_print_keys_only_if_they_have_made_them() {
    let folder = Folder::new("keys-printed");
    let path = folder.path("server.key");
    let start = |more: &[&str]| {
        let all = [&["recv", "--listen", "127.0.0.1:0", "--key-file", &path][..], more].concat();
        let mut child = program(&all).spawn().expect("it starts");
        if more.is_empty() {
            // It ends properly, after it has printed what it prints.
            let (mut said, err) = (String::new(), child.stderr.as_mut().expect("a pipe"));
            BufReader::new(err).read_line(&mut said).expect("a line");
            assert!(said.starts_with("listening at "), "{said}");
            let pid = child.id().to_string();
            let asked = Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
            assert!(asked.success());
        } else {
            // It says nothing at all.
            let end = Instant::now() + Duration::from_secs(60);
            while !Path::new(&path).exists() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_secs(1));
            child.kill().expect("it runs");
        }
        let output = child.wait_with_output().expect("an end");
        assert!(!error_of(&output).contains("pl1-"), "{}", error_of(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // The first start makes the keys and prints their string.
    let printed = start(&[]);
    let string = common::paceline(&["key", "show", &path]).out;
    assert_eq!(printed, format!("key {string}"));
    assert_eq!(start(&[]), "");
    assert_eq!(start(&["--quiet"]), "");
    std::fs::remove_file(&path).expect("the file");
    assert_eq!(start(&["--quiet"]), "");
    assert!(Path::new(&path).exists());
    // New keys with --quiet and without a file: their string would be printed nowhere.
    let seen = common::paceline(&["recv", "--listen", "127.0.0.1:0", "--quiet"]);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("paceline key new -o FILE"), "{}", seen.err);
    // The former name says what it is called now.
    let seen = common::paceline(&["recv", "--listen", "203.0.113.1:9", "--identity", &path]);
    assert!(seen.err.contains("--identity is now called --key-file"), "{}", seen.err);
}

#[test]
fn keys_come_from_files_standard_input_and_the_environment() {
    let folder = Folder::new("keys-places");
    let (path, _) = file(&folder, "in", 5000);
    let (server, client) = (folder.path("server.key"), folder.path("client.key"));
    let string = new(&server);
    std::fs::write(&client, format!("key {string}\n")).expect("room");
    set_mode(&client, 0o600);
    let content = std::fs::read_to_string(&server).expect("the file");
    // The server's keys by the environment and by standard input.
    for by_environment in [true, false] {
        let mut command = program(&["recv", "--listen", "127.0.0.1:0", "-o", "/dev/null"]);
        if by_environment {
            command.env("PACELINE_KEY", &content);
        } else {
            command.args(["--key-file", "-"]).stdin(Stdio::piped());
        }
        let mut child = command.spawn().expect("it starts");
        if let Some(mut input) = child.stdin.take() {
            input.write_all(content.as_bytes()).expect("room");
        }
        let receiver = Receiver::listening(child, &string);
        for (file, environment, input) in [
            (Some(&*client), None, None),
            (Some(&*server), None, None),
            (Some("-"), None, Some(&*string)),
            (None, Some(&*string), None),
            (None, Some(&*content), None),
            // An option overrides the environment.
            (Some(&*client), Some("no key"), None),
        ] {
            let mut command = program(&["send", &path, &receiver.at]);
            command.args(file.into_iter().flat_map(|file| ["--key-file", file]));
            command.envs(environment.map(|text| ("PACELINE_KEY", text)));
            let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
            let mut pipe = child.stdin.take().expect("a pipe");
            // Who does not ask for it may have ended already.
            let _ = pipe.write_all(input.unwrap_or_default().as_bytes());
            drop(pipe);
            assert_eq!(wait(&mut child, 60), Some(0), "{file:?} {environment:?}");
        }
    }
    let seen = common::paceline(&["send", &path, "127.0.0.1:9"]);
    assert!(seen.code == 2 && seen.err.contains("--key-file FILE"), "{}", seen.err);
    let output = program(&["send", &path, "127.0.0.1:9"]).env("PACELINE_KEY", "hello").output();
    let output = output.expect("it starts");
    assert!(error_of(&output).contains("$PACELINE_KEY: no key"), "{}", error_of(&output));
    // A string is no server's keys.
    let seen = common::paceline(&["recv", "--listen", "127.0.0.1:0", "--key-file", &client]);
    assert!(seen.code == 2 && seen.err.contains("`paceline key new`"), "{}", seen.err);
    let seen = common::paceline(&["send", "-", "127.0.0.1:9", "--key-file", "-"]);
    assert!(seen.code == 2 && seen.err.contains("standard input is either"), "{}", seen.err);
}
