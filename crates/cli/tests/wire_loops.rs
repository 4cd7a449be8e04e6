//! `paceline recv` with several event loops, and with senders whose address changes.

mod common;
#[path = "common/receiver.rs"]
mod receiver;

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use paceline_testing::Folder;
use receiver::{Receiver, file, program, wait};

/// Ends a receiver by SIGINT, as a user does. Returns its last messages.
fn interrupt(receiver: &mut Receiver) -> String {
    let pid = receiver.child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
    assert!(killed.success());
    let (code, said) = receiver.finish(60);
    assert_eq!(code, Some(0), "{said}");
    said
}

#[test]
fn senders_are_divided_among_the_loops_and_all_arrive() {
    let folder = Folder::new("wire-loops");
    let (into, logs) = (folder.path("into/"), folder.path("logs/"));
    std::fs::create_dir_all(&logs).expect("a folder");
    let mut receiver = Receiver::start(&["-o", &into, "--qlog", &logs, "--loops", "3"]);
    // The logs' names have the connections' identifiers. The second byte of an identifier is the
    // loop's number.
    let loops = || -> Vec<u8> {
        let names = std::fs::read_dir(&logs).expect("the folder");
        let names = names.map(|entry| entry.expect("a file").file_name());
        let names = names.map(|name| name.into_string().expect("text"));
        let number = |name: String| u8::from_str_radix(&name["recv-00".len()..][..2], 16);
        names.map(|name| number(name).expect("an identifier")).collect()
    };
    // The system chooses the loop of a connection at random. One of three loops gets none of 24
    // connections once in 5000 times, so it practically never happens five times in a row.
    let mut count = 0;
    while count < 5 * 24 && loops().iter().collect::<BTreeSet<_>>().len() < 3 {
        let files: Vec<_> =
            (count..count + 24).map(|n| file(&folder, &format!("f{n}"), 50_000 + n)).collect();
        count += files.len();
        let send = |(path, _): &(String, Vec<u8>)| {
            let arguments = ["send", path, &receiver.at, "--key", &receiver.key];
            program(&arguments).spawn().expect("the program starts")
        };
        let senders: Vec<Child> = files.iter().map(send).collect();
        for mut sender in senders {
            assert_eq!(wait(&mut sender, 100), Some(0));
        }
        for (path, content) in &files {
            let name = path.rsplit('/').next().expect("a name");
            let arrived = std::fs::read(format!("{into}{name}")).expect("the file");
            assert!(arrived == *content, "{name}");
        }
    }
    let said = interrupt(&mut receiver);
    let wanted = format!("interrupted: {count} connections since the start, 0 refused");
    assert!(said.contains(&wanted), "{said}");
    let loops = loops();
    assert_eq!((loops.len(), BTreeSet::from_iter(loops)), (count, BTreeSet::from([0, 1, 2])));
}

#[test]
fn files_of_one_name_that_arrive_at_once_do_not_replace_each_other() {
    let folder = Folder::new("wire-same-name");
    let into = folder.path("into/");
    let receiver = Receiver::start(&["-o", &into, "--loops", "2"]);
    let mut pipes: Vec<Child> = Vec::new();
    for _ in 0..6 {
        let arguments = ["send", "-", &receiver.at, "--key", &receiver.key];
        let piped = program(&arguments).stdin(std::process::Stdio::piped()).spawn();
        pipes.push(piped.expect("the program starts"));
    }
    // All connections are open before the first one ends.
    std::thread::sleep(Duration::from_millis(500));
    for (number, pipe) in (0u8..).zip(&mut pipes) {
        let mut input = pipe.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, &[number; 10]).expect("room");
    }
    for pipe in &mut pipes {
        assert_eq!(wait(pipe, 100), Some(0));
    }
    let kept = std::fs::read_dir(&into).expect("the folder");
    let contents = kept.map(|entry| std::fs::read(entry.expect("a file").path()).expect("bytes"));
    let contents: BTreeSet<Vec<u8>> = contents.collect();
    assert_eq!(contents, (0..6u8).map(|number| vec![number; 10]).collect());
}

/// Forwards datagrams between a sender and a receiver, and takes a new port towards the receiver
/// after each `every` datagrams, as some NATs do. Answers still arrive at the old ports.
fn relay(relay: &UdpSocket, to: SocketAddr, every: usize, over: &AtomicBool) -> usize {
    relay.set_read_timeout(Some(Duration::from_millis(1))).expect("a socket");
    let another = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("a socket");
        socket
    };
    let mut ports = vec![another()];
    let (mut sender, mut count, mut bytes) = (None, 0, vec![0; 65_536]);
    while !over.load(Ordering::Acquire) {
        if let Ok((length, from)) = relay.recv_from(&mut bytes) {
            sender = Some(from);
            count += 1;
            if count % every == 0 {
                ports.push(another());
            }
            let _ = ports.last().expect("a port").send_to(&bytes[..length], to);
        }
        for port in &ports {
            while let (Ok(length), Some(sender)) = (port.recv(&mut bytes), sender) {
                let _ = relay.send_to(&bytes[..length], sender);
            }
        }
    }
    ports.len()
}

#[test]
fn a_connection_stays_at_its_loop_when_the_address_changes() {
    let folder = Folder::new("wire-roaming");
    let out = folder.path("out");
    let (path, content) = file(&folder, "in", 4_000_000);
    let mut receiver = Receiver::start(&["-o", &out, "--once", "--loops", "4"]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let at = socket.local_addr().expect("an address").to_string();
    let to = receiver.at.parse().expect("an address");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let relay = scope.spawn(|| relay(&socket, to, 200, &over));
        let seen = common::paceline(&["send", &path, &at, "--key", &receiver.key]);
        over.store(true, Ordering::Release);
        let ports = relay.join().expect("no panic");
        assert_eq!(seen.code, 0, "{}", seen.err);
        // By chance alone, the loop would get the datagrams of a quarter of these ports.
        assert!(ports > 10, "only {ports} ports");
    });
    let (code, said) = receiver.finish(60);
    assert_eq!((code, said.matches("connected").count()), (Some(0), 1), "{said}");
    assert!(std::fs::read(&out).expect("the file") == content);
}

#[test]
fn a_number_of_loops_that_cannot_be_is_refused() {
    for number in ["0", "65", "many"] {
        let seen = common::paceline(&["recv", "--loops", number]);
        assert_eq!((seen.code, &seen.out[..]), (2, ""), "{number}");
        assert!(seen.err.contains("give a number from 1 to 64"), "{}", seen.err);
    }
}

#[test]
fn an_address_that_is_taken_is_refused_with_the_remedy() {
    let receiver = Receiver::start(&[]);
    for loops in ["1", "2"] {
        let seen = common::paceline(&["recv", "--listen", &receiver.at, "--loops", loops]);
        let said =
            format!("error: {}: another program has this address; name another", receiver.at);
        assert!(seen.code == 1 && seen.err.starts_with(&said), "{}", seen.err);
    }
}
