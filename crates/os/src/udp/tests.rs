//! Sockets on the loopback interface.

use nix::sched::{CloneFlags, unshare};

use super::*;
use crate::route::Links;

/// Receives until `count` datagrams have come, for at most a minute.
fn receive(socket: &Socket, count: usize) -> Vec<(SocketAddr, u8, bool, Vec<u8>)> {
    let mut inbox = Inbox::default();
    let mut came = Vec::new();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while came.len() < count && std::time::Instant::now() < end {
        let received = socket.receive(&mut inbox, |group| {
            for bytes in group.bytes.chunks(group.size) {
                came.push((group.from, group.ecn, group.stamp.is_some(), bytes.to_vec()));
            }
        });
        received.expect("a socket");
    }
    came
}

#[test]
fn groups_arrive_as_datagrams_with_their_marks() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let local: SocketAddr = local.parse().expect("an address");
        let (Ok(mut one), Ok(two)) = (Socket::bind(local), Socket::bind(local)) else {
            paceline_testing::skip(
                paceline_testing::Need::Kernel,
                &paceline_testing::this_test(),
                &format!("no sockets at {local}"),
            );
            continue;
        };
        let to = two.local().expect("an address");
        for ecn in 0..4 {
            let bytes: Vec<u8> = (0..10_000u32).map(|i| (i / 1000) as u8).collect();
            assert_eq!(one.send(to, ecn, &bytes[..9_500], 1000), SendOutcome::All);
            let came = receive(&two, 10);
            assert_eq!(came.len(), 10);
            for (i, (from, mark, stamped, bytes)) in came.iter().enumerate() {
                assert_eq!((*from, *mark), (one.local().expect("an address"), ecn));
                assert!(*stamped && bytes.iter().all(|&byte| byte == i as u8));
                assert_eq!(bytes.len(), if i == 9 { 500 } else { 1000 });
            }
        }
    }
}

#[test]
fn packets_say_which_address_they_came_to_and_answers_leave_from_there() {
    for at in ["0.0.0.0:0", "[::]:0"] {
        let Ok(mut server) = Socket::bind(at.parse().expect("an address")) else { continue };
        let port = server.local().expect("an address").port();
        for asked in ["127.0.0.5", "127.0.0.1", "::1"] {
            let asked: IpAddr = asked.parse().expect("an address");
            if asked.is_ipv6() && at.starts_with('0') {
                continue;
            }
            let (to, any) = (
                SocketAddr::new(asked, port),
                match asked {
                    IpAddr::V4(_) => "127.0.0.1:0",
                    IpAddr::V6(_) => "[::1]:0",
                },
            );
            let Ok(mut client) = Socket::bind(any.parse().expect("an address")) else { continue };
            assert_eq!(client.send(to, 0, b"question", 8), SendOutcome::All);
            let (mut inbox, mut seen) = (Inbox::default(), None);
            let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while seen.is_none() && std::time::Instant::now() < end {
                let see = |group: Group<'_>| seen = Some((group.from, group.local));
                server.receive(&mut inbox, see).expect("a socket");
            }
            let (from, local) = seen.expect("a datagram");
            assert_eq!(local, Some(asked), "{at}");
            assert_eq!(server.send_from(local, from, 2, &[7; 2500], 1000), SendOutcome::All);
            let answers = receive(&client, 3);
            assert!(answers.iter().all(|(from, ecn, ..)| (*from, *ecn) == (to, 2)), "{answers:?}");
            assert_eq!(answers.len(), 3, "{at}");
        }
        // An address that this machine does not have, or has lost, is not insisted on.
        let client = Socket::bind("127.0.0.1:0".parse().expect("an address")).expect("loopback");
        let (to, lost) = (client.local().expect("an address"), IpAddr::from([192, 0, 2, 7]));
        assert_eq!(server.send_from(Some(lost), to, 0, b"late", 4), SendOutcome::All);
        assert_eq!(receive(&client, 1).len(), 1);
    }
}

#[test]
fn an_ipv6_socket_speaks_with_ipv4_too() {
    let Ok(mut six) = Socket::bind("[::]:0".parse().expect("an address")) else { return };
    let mut four = Socket::bind("127.0.0.1:0".parse().expect("an address")).expect("loopback");
    let to = four.local().expect("an address");
    assert_eq!(six.send(to, 2, b"hello", 5), SendOutcome::All);
    let (from, ecn, _, bytes) = receive(&four, 1).remove(0);
    assert_eq!((ecn, &bytes[..]), (2, &b"hello"[..]));
    let back = SocketAddr::from(([127, 0, 0, 1], six.local().expect("an address").port()));
    assert_eq!(from, back);
    assert_eq!(four.send(back, 1, b"well", 4), SendOutcome::All);
    let (from, ecn, _, bytes) = receive(&six, 1).remove(0);
    assert_eq!((ecn, &bytes[..], from), (1, &b"well"[..], to));
}

/// The kernel refuses a whole group whose first datagram is too long for the interface.
#[test]
fn of_a_group_that_is_too_long_the_shorter_last_datagram_is_sent() {
    let name = paceline_testing::this_test();
    let thread = std::thread::spawn(move || {
        let ready = unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from).and_then(|()| {
            let mut links = Links::open().map_err(io::Error::other)?;
            let lo = links.index("lo").map_err(io::Error::other)?;
            links.set_up(lo, 1300, 1000).map_err(io::Error::other)
        });
        if let Err(error) = ready {
            return paceline_testing::skip(
                paceline_testing::Need::Net,
                &name,
                &format!("no network of its own: {error}"),
            );
        }
        for (local, fits) in [("127.0.0.1:0", 1272), ("[::1]:0", 1252)] {
            let local: SocketAddr = local.parse().expect("an address");
            let (Ok(mut one), Ok(two)) = (Socket::bind(local), Socket::bind(local)) else {
                continue;
            };
            let to = two.local().expect("an address");
            for source in [None, Some(local.ip())] {
                let bytes = vec![7; 1472 + fits];
                let sent = one.send_from(source, to, 0, &bytes, 1472);
                assert_eq!(sent, SendOutcome::TooLarge, "{local}");
                let came = receive(&two, 1);
                assert_eq!(came[0].3.len(), fits, "{local}");
                // Groups are still possible.
                assert_eq!(one.group(), MOST_SEGMENTS);
                assert_eq!(one.send_from(source, to, 0, &bytes[..2000], 1000), SendOutcome::All);
                assert_eq!(receive(&two, 2).len(), 2, "{local}");
            }
        }
    });
    thread.join().expect("no panic");
}
