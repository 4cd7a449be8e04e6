//! `paceline key`, and the sources from which commands read keys.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common;
use crate::receiver::{Receiver, file, program, wait};
use paceline_testing::Folder;

fn set_mode(path: &str, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("our file");
}

/// Makes new keys in this file. Returns their key string.
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
            (vec!["send", "127.0.0.1:9", "--duration", "1s", "--key-file", &client], &client),
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
            // It ends in good order, after it has printed its output.
            let (mut said, err) = (String::new(), child.stderr.as_mut().expect("a pipe"));
            BufReader::new(err).read_line(&mut said).expect("a line");
            assert!(said.starts_with("listening at "), "{said}");
            let pid = child.id().to_string();
            let asked = Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
            assert!(asked.success());
        } else {
            // It must print nothing at all.
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
    // The first start makes the keys and prints their key string.
    let printed = start(&[]);
    let string = common::paceline(&["key", "show", &path]).out;
    assert_eq!(printed, format!("key {string}"));
    assert_eq!(start(&[]), "");
    assert_eq!(start(&["--quiet"]), "");
    std::fs::remove_file(&path).expect("the file");
    assert_eq!(start(&["--quiet"]), "");
    assert!(Path::new(&path).exists());
    // Fails with --quiet and without a file, since nothing would print the new keys' string.
    let seen = common::paceline(&["recv", "--listen", "127.0.0.1:0", "--quiet"]);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("paceline key new -o FILE"), "{}", seen.err);
    // The option's former name prints a note with the present one.
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
    // The server's keys from the environment and from standard input.
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
            // A program that does not read standard input may have ended already.
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
    // A key string is not enough for a server.
    let seen = common::paceline(&["recv", "--listen", "127.0.0.1:0", "--key-file", &client]);
    assert!(seen.code == 2 && seen.err.contains("`paceline key new`"), "{}", seen.err);
    let seen = common::paceline(&["send", "-", "127.0.0.1:9", "--key-file", "-"]);
    assert!(seen.code == 2 && seen.err.contains("standard input can be the key"), "{}", seen.err);
}

/// Makes the key of a new client of the server with this key file. Returns its public half.
fn new_client(server: &str, path: &str) -> String {
    let seen = common::paceline(&["key", "new", "--for", server, "-o", path]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    seen.out.trim().to_string()
}

#[test]
fn a_clients_key_is_made_for_a_server_and_only_its_public_half_is_shown() {
    let folder = Folder::new("keys-client");
    let (server, client) = (folder.path("server.key"), folder.path("client.key"));
    let string = new(&server);
    let public = new_client(&server, &client);
    assert!(public.starts_with("plc-") && public.lines().count() == 1, "{public}");
    let secret = std::fs::read_to_string(&client).expect("the file");
    assert!(secret.starts_with("pl2-"), "a client's key");
    let mode = std::fs::metadata(&client).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let seen = common::paceline(&["key", "show", &client]);
    assert_eq!((seen.code, seen.out.trim()), (0, &*public));
    // A key string or another client's key is enough for a new client's key.
    std::fs::write(folder.path("string"), &string).expect("room");
    set_mode(&folder.path("string"), 0o600);
    for (number, from) in [folder.path("string"), client.clone()].iter().enumerate() {
        let other = new_client(from, &folder.path(&format!("client-{number}.key")));
        assert!(other.starts_with("plc-") && other != public, "{other}");
    }
    // An existing file is not replaced, and a public half is no key.
    let seen = common::paceline(&["key", "new", "--for", &server, "-o", &client]);
    assert!(seen.code == 1 && seen.err.contains("which stays"), "{}", seen.err);
    assert_eq!(std::fs::read_to_string(&client).expect("the file"), secret);
    let listed = folder.write("listed", public.as_bytes());
    set_mode(&listed, 0o600);
    let seen =
        common::paceline(&["send", "127.0.0.1:9", "--duration", "1s", "--key-file", &listed]);
    assert!(seen.code == 2 && seen.err.contains("client's public key"), "{}", seen.err);
}

#[test]
fn a_client_cannot_be_listed_with_an_address_of_the_server() {
    let folder = Folder::new("keys-addresses");
    let (server, client) = (folder.path("server.key"), folder.path("client.key"));
    let list = folder.path("clients");
    new(&server);
    let add = |more: &[&str]| {
        let arguments =
            ["tunnel", "clients", "add", "ada", "--key-file", &server, "--clients", &list];
        let server = ["--server-address", "10.77.0.1/29", "-o", &client];
        common::paceline(&[&arguments[..], &server[..], more].concat())
    };
    for (address, said) in [
        ("10.77.0.1", "10.77.0.1/32 contains 10.77.0.1, the server's own address"),
        ("10.77.0.0/29", "10.77.0.0/29 contains 10.77.0.1, the server's own address"),
        ("10.77.0.0", "10.77.0.0 is the first or the broadcast address of 10.77.0.0/29"),
        ("10.77.0.7", "10.77.0.7 is the first or the broadcast address of 10.77.0.0/29"),
    ] {
        let seen = add(&["--address", address]);
        assert!(seen.code == 2 && seen.err.contains(said), "{address}: {}", seen.err);
        assert!(!Path::new(&list).exists() && !Path::new(&client).exists(), "{address}");
    }
    let seen = add(&["--address", "10.77.0.6"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
}

/// Sends this file with this key. Returns the exit status and the messages.
fn send(path: &str, at: &str, key: &str) -> (Option<i32>, String) {
    let output = program(&["send", path, at, "--key-file", key]).output().expect("it starts");
    (output.status.code(), error_of(&output))
}

#[test]
fn a_receiver_with_a_list_admits_its_clients_and_reads_it_again() {
    let folder = Folder::new("keys-listed");
    let (path, _) = file(&folder, "in", 5000);
    let (server, list) = (folder.path("server.key"), folder.path("clients.txt"));
    std::fs::write(folder.path("shared.key"), new(&server)).expect("room");
    let shared = folder.path("shared.key");
    set_mode(&shared, 0o600);
    let keys = ["one", "two"].map(|name| folder.path(&format!("{name}.key")));
    let public = keys.each_ref().map(|key| new_client(&server, key));
    let write = |text: String| {
        std::fs::write(&list, text).expect("room");
        set_mode(&list, 0o644);
    };
    write(format!("# who may send\none {}\n", public[0]));
    for loops in ["1", "3"] {
        let mut child = program(&[
            "recv",
            "--listen",
            "127.0.0.1:0",
            "--key-file",
            &server,
            "--clients",
            &list,
            "--loops",
            loops,
            "-o",
            "/dev/null",
        ])
        .spawn()
        .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut until = move |text: &str| loop {
            let line = lines.next().expect("it says more").expect("text");
            if line.contains(text) {
                break line;
            }
        };
        let at = until("listening at ").replace("listening at ", "");
        let hang_up = || {
            let pid = child.id().to_string();
            let asked = Command::new("kill").args(["-HUP", &pid]).status().expect("kill");
            assert!(asked.success());
        };
        assert_eq!(send(&path, &at, &keys[0]).0, Some(0));
        until(": done");
        for key in [&keys[1], &shared, &server] {
            let (code, said) = send(&path, &at, key);
            assert!(code == Some(1) && said.contains("not on the server's list"), "{said}");
        }
        // Replaces the first client by the second in the list; the first client's connection ends.
        let long = ["send", &at, "--duration", "300s", "--key-file", &keys[0]];
        let mut long = program(&long).spawn().expect("it starts");
        until(": connected");
        write(format!("two {}\n", public[1]));
        hang_up();
        assert!(until("the list of clients was read").contains("1 admitted"));
        assert_eq!(wait(&mut long, 60), Some(1));
        let mut said = String::new();
        std::io::Read::read_to_string(&mut long.stderr.take().expect("a pipe"), &mut said)
            .expect("text");
        assert!(said.contains("taken off the server's list"), "{said}");
        assert_eq!(send(&path, &at, &keys[1]).0, Some(0));
        let (code, said) = send(&path, &at, &keys[0]);
        assert!(code == Some(1) && said.contains("not on the server's list"), "{said}");
        // The receiver names the mistake in a list, and keeps the former one.
        write(format!("one {}\ntwo\n", public[0]));
        hang_up();
        let told = until("the list of clients that was read before stays");
        assert!(told.contains("clients.txt, line 2: two: no key"), "{told}");
        assert_eq!(send(&path, &at, &keys[1]).0, Some(0));
        child.kill().expect("it runs");
        child.wait().expect("an end");
        write(format!("one {}\n", public[0]));
    }
    // A receiver without a list reports that at SIGHUP and goes on: the service manager may ask any
    // service to reload.
    let receiver = ["recv", "--listen", "127.0.0.1:0", "--key-file", &server, "-o", "/dev/null"];
    let mut child = program(&receiver).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("it says more").expect("text");
    let at = line().replace("listening at ", "");
    let asked = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
    assert!(asked.expect("kill").success());
    assert!(line().contains("no list of clients"));
    assert_eq!(send(&path, &at, &shared).0, Some(0));
    child.kill().expect("it runs");
    child.wait().expect("an end");
    // At the start, a wrong list ends the program.
    write("one\n".into());
    let seen = common::paceline(&[
        "recv",
        "--listen",
        "127.0.0.1:0",
        "--key-file",
        &server,
        "--clients",
        &list,
    ]);
    assert!(seen.code != 0 && seen.err.contains("clients.txt, line 1"), "{}", seen.err);
}
