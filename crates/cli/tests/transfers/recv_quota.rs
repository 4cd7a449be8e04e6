//! `paceline recv` with limits on its use of the disk.

use std::process::{Child, Command};

use crate::place::{LENGTH, Place, RATE, kill_9};
use crate::receiver::{Receiver, bytes, file, program, wait};

impl Place {
    fn sender_with(&self, path: &str, key_file: &str, more: &[&str]) -> Command {
        let arguments = ["send", path, &self.at, "--key-file", key_file];
        program(&[&arguments, more].concat())
    }
}

/// Waits for a program's end. Returns its status and its messages.
fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("an end");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn run(command: &mut Command) -> (Option<i32>, String) {
    end(command.spawn().expect("it starts"))
}

#[test]
fn a_sender_of_too_much_hears_at_once_how_much_is_left() {
    let place = Place::new("quota-offer");
    let mut receiver = place.receiver(&["--quota", "500kB"]);
    let (large, _) = file(&place.folder, "large", 600_000);
    let (code, err) = run(&mut place.sender_with(&large, &place.client, &["--limit", "100kbps"]));
    assert_eq!(code, Some(1), "{err}");
    for said in ["no room", "500000 bytes (--quota)", "500000 bytes are left", "622528 more"] {
        assert!(err.contains(said), "{said}: {err}");
    }
    assert_eq!((place.names(), place.staged()), (vec![], 0));
    let (small, content) = file(&place.folder, "small", 300_000);
    let (code, err) = run(&mut place.sender_with(&small, &place.client, &[]));
    assert_eq!(code, Some(0), "{err}");
    assert!(place.is_whole("small", &content));
    // The user has removed the file, so there is room again.
    let (other, content) = file(&place.folder, "other", 301_000);
    let (code, err) = run(&mut place.sender_with(&other, &place.client, &[]));
    assert!(code == Some(1) && err.contains("bytes are left"), "{err}");
    std::fs::remove_file(format!("{}small", place.into)).expect("removed");
    let (code, err) = run(&mut place.sender_with(&other, &place.client, &[]));
    assert_eq!(code, Some(0), "{err}");
    assert!(place.is_whole("other", &content));
    receiver.child.kill().expect("killed");
    let (_, said) = receiver.finish(100);
    assert!(said.contains("bytes of the quota of 500000 are in use"), "{said}");
    assert!(said.contains("a file has not arrived: no room"), "{said}");
}

#[test]
fn a_receiver_that_refuses_the_only_transfer_ends() {
    let place = Place::new("quota-once");
    let mut receiver = place.receiver(&["--quota", "1MB", "--once"]);
    let (large, _) = file(&place.folder, "large", 6_000_000);
    let (code, err) = run(&mut place.sender_with(&large, &place.client, &[]));
    assert!(code == Some(1) && err.contains("no room"), "{err}");
    let (code, said) = receiver.finish(100);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("a file has not arrived: no room"), "{said}");
}

#[test]
fn standard_input_ends_at_the_quota() {
    let place = Place::new("quota-input");
    let _receiver = place.receiver(&["--quota", "1MB"]);
    let (path, _) = file(&place.folder, "in", 3_000_000);
    let mut sender = place.sender_with("-", &place.client, &[]);
    sender.stdin(std::fs::File::open(&path).expect("the file"));
    let (code, err) = run(&mut sender);
    assert!(code == Some(1) && err.contains("no room"), "{err}");
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn two_senders_share_a_quota() {
    let place = Place::new("quota-two");
    let receiver = place.receiver(&["--quota", "13MB"]);
    let content = bytes(LENGTH, 1);
    let first = place.folder.write("first", &content);
    let (second, _) = file(&place.folder, "second", 2_000_000);
    let sender =
        place.sender_with(&first, &place.client, &["--limit", RATE]).spawn().expect("it starts");
    place.wait_for_staged(1_000_000);
    // The first transfer has reserved room, most of which it does not use yet.
    let (code, err) = run(&mut place.sender_with(&second, &place.client, &[]));
    assert!(code == Some(1) && err.contains("no room"), "{err}");
    let (code, err) = end(sender);
    assert_eq!(code, Some(0), "{err}");
    assert!(place.is_whole("first", &content));
    assert_eq!(place.names(), ["first"]);
    drop(receiver);
}

/// The receiver is killed within a transfer, and while it counts the files that it keeps.
#[test]
fn a_killed_receiver_keeps_its_count() {
    let place = Place::new("quota-killed");
    let limits = ["--quota", "14MB", "--timeout", "2s"];
    let content = bytes(LENGTH, 2);
    let path = place.folder.write("large", &content);
    let mut receiver = place.receiver(&limits);
    let limited = ["--limit", RATE, "--timeout", "2s"];
    let sender = place.sender_with(&path, &place.client, &limited).spawn().expect("it starts");
    place.wait_for_staged(4_000_000);
    kill_9(&mut receiver.child);
    // The rest fits, because the bytes that have arrived are counted only once.
    let receiver = place.receiver(&limits);
    let (code, err) = end(sender);
    assert_eq!(code, Some(0), "{err}");
    assert!(place.is_whole("large", &content));
    drop(receiver);
    let mut receiver = place.receiver(&limits);
    let (other, _) = file(&place.folder, "other", 2_500_000);
    let (code, err) = run(&mut place.sender_with(&other, &place.client, &[]));
    assert!(code == Some(1) && err.contains("no room"), "{err}");
    receiver.child.kill().expect("killed");
    assert!(receiver.finish(100).1.contains("of the quota of 14000000 are in use"));
}

#[test]
fn each_listed_client_has_a_quota_of_its_own() {
    let place = Place::new("quota-clients");
    let ((ada, ada_key), (bob, bob_key)) =
        (place.client_key("ada.key"), place.client_key("bob.key"));
    let list = place.list(&[("ada", &ada_key), ("bob", &bob_key)]);
    let receiver =
        place.receiver(&["--clients", &list, "--client-quota", "1MB", "--quota", "1700kB"]);
    let (path, content) = file(&place.folder, "in", 800_000);
    let (more, _) = file(&place.folder, "more", 400_000);
    for (name, key) in [("ada", &ada), ("bob", &bob)] {
        let (code, err) = run(&mut place.sender_with(&path, key, &[]));
        assert_eq!(code, Some(0), "{err}");
        assert!(place.is_whole(&format!("{name}/in"), &content));
    }
    let (code, err) = run(&mut place.sender_with(&more, &ada, &[]));
    assert!(code == Some(1) && err.contains("--quota"), "{err}");
    std::fs::remove_file(format!("{}bob/in", place.into)).expect("removed");
    let (code, err) = run(&mut place.sender_with(&more, &ada, &[]));
    assert!(
        code == Some(1) && err.contains("for this client is 1000000 bytes (--client-quota)"),
        "{err}"
    );
    let (code, err) = run(&mut place.sender_with(&more, &bob, &[]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(place.names(), ["ada", "bob"]);
    drop(receiver);
}

#[test]
fn a_receiver_that_fetches_has_limits_too() {
    let place = Place::new("quota-fetch");
    let (path, _) = file(&place.folder, "in", 600_000);
    let arguments = ["send", "--listen", &place.at, "--key-file", &place.server, &path];
    let giver = Receiver::listening(program(&arguments).spawn().expect("it starts"), &place.key);
    let fetch = |quota| {
        let arguments =
            ["recv", "--from", &place.at, "--key-file", &place.client, "-o", &place.into];
        run(&mut program(&[&arguments[..], &["--quota", quota]].concat()))
    };
    let (code, err) = fetch("500kB");
    assert!(code == Some(1) && err.contains("no room") && err.contains("(--quota)"), "{err}");
    let (code, err) = fetch("1MB");
    assert_eq!(code, Some(0), "{err}");
    let mut giver = giver;
    let (code, said) = giver.finish(100);
    assert!(code == Some(0) && said.contains("no room"), "{said}");
}

#[test]
fn wrong_limits_are_refused_with_a_remedy() {
    let place = Place::new("quota-wrong");
    let into = place.into.clone();
    let single = place.folder.path("file");
    let list = place.list(&[]);
    for (arguments, said) in [
        (&["--quota", "0"][..], "above zero"),
        (&["--quota", "much"], "expected a size such as 20GB"),
        (&["--quota", "5Gb"], "unknown unit `Gb`"),
        (&["--keep-free=-1"], "expected a size such as 20GB"),
        (&["--client-quota", "5GB"], "--clients"),
        (&["--quota", "5GB", "--measure"], "--measure"),
        (&["--quota", "5GB", "-o", "-"], "nothing is kept there"),
        (&["--keep-free", "5GB", "-o", "/dev/null"], "nothing is kept there"),
        (&["--client-quota", "5GB", "--clients", &list, "-o", &single], "a folder of its own"),
    ] {
        let mut all = vec!["recv", "--listen", "127.0.0.1:0"];
        if !arguments.contains(&"-o") && !arguments.contains(&"--measure") {
            all.extend(["-o", &into]);
        }
        all.extend(arguments);
        let mut child = program(&all).spawn().expect("it starts");
        let code = wait(&mut child, 100);
        let (_, err) = end(child);
        assert!(code == Some(2) && err.contains(said), "{arguments:?}: {code:?} {err}");
    }
}
