//! Names inside: what /etc/resolv.conf says there, and a relay for name servers that only this
//! machine reaches.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Shutdown, SocketAddr, SocketAddrV6, TcpListener, TcpStream, UdpSocket,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::net::if_::if_nametoindex;

const FILE: &str = "/etc/resolv.conf";
const PORT: u16 = 53;
/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most questions on the way at the same time.
const MOST: usize = 64;
const LARGEST: usize = 65_535;

/// What names need inside.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolver {
    /// The contents of the file inside, if they differ from those outside.
    pub(crate) text: Option<String>,
    /// The name server to which questions must be relayed.
    pub(crate) relay: Option<SocketAddr>,
}

impl Resolver {
    /// Reads the settings outside. `beyond` tells if the inside can reach other machines.
    pub(crate) fn outside(base: Ipv4Addr, beyond: bool) -> Resolver {
        fs::read_to_string(FILE).map_or_else(|_| Resolver::default(), |t| plan(&t, base, beyond))
    }
}

/// Plans for the text of `/etc/resolv.conf` outside. The inside reaches no name server at a loopback or a link-local
/// address, and without `beyond` none at all: then it gets the relay at `base`.
fn plan(text: &str, base: Ipv4Addr, beyond: bool) -> Resolver {
    let server = |line: &str| {
        name_server(line.trim().strip_prefix("nameserver")?.split_whitespace().next()?)
    };
    let servers: Vec<SocketAddr> = text.lines().filter_map(server).collect();
    let Some(&first) = servers.first() else { return Resolver::default() };
    let reached =
        |server: &SocketAddr| beyond && !server.ip().is_loopback() && !is_link_local(server);
    if servers.iter().all(reached) {
        return Resolver::default();
    }
    let relay = (!servers.iter().any(reached)).then_some(first);
    let mut inside = String::new();
    if relay.is_some() {
        inside += &format!("nameserver {base}\n");
    }
    for line in text.lines().filter(|line| server(line).is_none_or(|server| reached(&server))) {
        inside += line;
        inside.push('\n');
    }
    Resolver { text: Some(inside), relay }
}

/// Reads the address of a name server: `192.0.2.53`, `2001:db8::53`, `fe80::1%eth0` or `fe80::1%2`. The scope of an
/// interface that is not there is 0.
fn name_server(text: &str) -> Option<SocketAddr> {
    let (address, interface) = text.split_once('%').unwrap_or((text, "0"));
    Some(match address.parse().ok()? {
        IpAddr::V4(four) => SocketAddr::from((four, PORT)),
        IpAddr::V6(six) => {
            let index = interface.parse().or_else(|_| if_nametoindex(interface));
            SocketAddrV6::new(six, PORT, 0, index.unwrap_or_default()).into()
        }
    })
}

/// Returns true for an IPv6 address that only the machines of one link reach.
fn is_link_local(server: &SocketAddr) -> bool {
    matches!(server, SocketAddr::V6(six) if six.ip().is_unicast_link_local())
}

/// Answers questions at `base` with the answers of `server`, for as long as this process lives.
///
/// # Errors
/// The port is not free or not allowed, or the server's address is link-local without an interface of this machine.
pub(crate) fn relay(base: Ipv4Addr, server: SocketAddr) -> io::Result<()> {
    if let SocketAddr::V6(six) = server
        && is_link_local(&server)
        && six.scope_id() == 0
    {
        let problem = format!("{FILE} names no interface of this machine for {}", six.ip());
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    relay_between(SocketAddr::new(base.into(), PORT), server).map(drop)
}

/// Relays from `at` to `to`. Returns the address where it answers.
fn relay_between(at: SocketAddr, to: SocketAddr) -> io::Result<SocketAddr> {
    let streams = TcpListener::bind(at)?;
    let at = streams.local_addr()?;
    let datagrams = Arc::new(UdpSocket::bind(at)?);
    let busy = Arc::new(AtomicUsize::new(0));
    thread::Builder::new().name("names".into()).spawn(move || {
        let mut question = vec![0; LARGEST];
        while let Ok((length, from)) = datagrams.recv_from(&mut question) {
            let question = question.get(..length).unwrap_or_default().to_vec();
            let back = Arc::clone(&datagrams);
            attempt(&busy, move || {
                ask(&question, to).and_then(|a| back.send_to(&a, from)).map(drop)
            });
        }
    })?;
    let busy = Arc::new(AtomicUsize::new(0));
    thread::Builder::new().name("names-tcp".into()).spawn(move || {
        for inside in streams.incoming().flatten() {
            attempt(&busy, move || carry(inside, to));
        }
    })?;
    Ok(at)
}

/// Runs `work` on a thread, unless `MOST` threads are busy. A failed look-up is not reported: the
/// program inside repeats its query.
fn attempt(busy: &Arc<AtomicUsize>, work: impl FnOnce() -> io::Result<()> + Send + 'static) {
    if busy.fetch_add(1, Ordering::Relaxed) >= MOST {
        busy.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let done = Arc::clone(busy);
    let started = thread::Builder::new().spawn(move || {
        let _ = work();
        done.fetch_sub(1, Ordering::Relaxed);
    });
    if started.is_err() {
        busy.fetch_sub(1, Ordering::Relaxed);
    }
}

fn ask(question: &[u8], server: SocketAddr) -> io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        std::net::Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.connect(server)?;
    socket.send(question)?;
    let mut answer = vec![0; LARGEST];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// Carries a connection's bytes both ways.
fn carry(inside: TcpStream, server: SocketAddr) -> io::Result<()> {
    let outside = TcpStream::connect_timeout(&server, PATIENCE)?;
    for stream in [&inside, &outside] {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
    }
    let (from, to) = (inside.try_clone()?, outside.try_clone()?);
    let up = thread::Builder::new().spawn(move || pump(from, to))?;
    let down = pump(outside, inside);
    let _ = up.join();
    down
}

fn pump(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let mut bytes = vec![0; 16_384];
    loop {
        let length = from.read(&mut bytes)?;
        if length == 0 {
            return to.shutdown(Shutdown::Write);
        }
        to.write_all(bytes.get(..length).unwrap_or_default())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);

    #[test]
    fn servers_elsewhere_are_reached_directly() {
        assert_eq!(plan("nameserver 192.0.2.53\n", BASE, true), Resolver::default());
        assert_eq!(plan("# nothing\n", BASE, true), Resolver::default());
    }

    #[test]
    fn a_loopback_server_is_relayed() {
        let stub = plan("nameserver 127.0.0.53\noptions edns0\nsearch x.example\n", BASE, true);
        let text = "nameserver 100.64.0.1\noptions edns0\nsearch x.example\n";
        assert_eq!(stub.text.as_deref(), Some(text));
        assert_eq!(stub.relay, Some(SocketAddr::from(([127, 0, 0, 53], PORT))));
    }

    #[test]
    fn a_loopback_server_among_others_is_left_out() {
        let both = plan("nameserver ::1\nnameserver 192.0.2.53\n", BASE, true);
        assert_eq!(both, Resolver { text: Some("nameserver 192.0.2.53\n".into()), relay: None });
    }

    #[test]
    fn a_link_local_server_is_relayed_through_its_interface() {
        let server = |scope| {
            SocketAddr::from(SocketAddrV6::new("fe80::1".parse().expect("six"), PORT, 0, scope))
        };
        let index = if_nametoindex("lo").expect("the loopback device");
        for (text, scope) in [
            ("nameserver fe80::1%lo\n", index),
            ("nameserver fe80::1%7 # by its number\n", 7),
            ("nameserver fe80::1%nosuch0\n", 0),
            ("nameserver fe80::1\n", 0),
        ] {
            let plan = plan(text, BASE, true);
            let expected = Resolver {
                text: Some("nameserver 100.64.0.1\n".into()),
                relay: Some(server(scope)),
            };
            assert_eq!(plan, expected, "{text}");
        }
        let error = relay(BASE, server(0)).expect_err("no interface").to_string();
        assert!(error.contains("no interface of this machine for fe80::1"), "{error}");
        let both = plan("nameserver fe80::1%lo\nnameserver 192.0.2.53\n", BASE, true);
        assert_eq!(both, Resolver { text: Some("nameserver 192.0.2.53\n".into()), relay: None });
    }

    #[test]
    fn without_a_way_on_all_are_relayed() {
        let closed = plan("nameserver 192.0.2.53\n", BASE, false);
        assert_eq!(closed.relay, Some(SocketAddr::from(([192, 0, 2, 53], PORT))));
    }

    #[test]
    fn the_relay_carries_datagrams_and_connections() -> io::Result<()> {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let streams = TcpListener::bind(local)?;
        let to = streams.local_addr()?;
        let datagrams = UdpSocket::bind(to)?;
        let at = relay_between(local, to)?;

        let asker = UdpSocket::bind(local)?;
        asker.set_read_timeout(Some(PATIENCE))?;
        asker.send_to(b"question", at)?;
        let mut bytes = [0; 64];
        let (length, from) = datagrams.recv_from(&mut bytes)?;
        assert_eq!(&bytes[..length], b"question");
        datagrams.send_to(b"answer", from)?;
        let length = asker.recv(&mut bytes)?;
        assert_eq!(&bytes[..length], b"answer");

        let mut asker = TcpStream::connect(at)?;
        asker.write_all(b"long question")?;
        asker.shutdown(Shutdown::Write)?;
        let mut question = Vec::new();
        let (mut stream, _) = streams.accept()?;
        stream.read_to_end(&mut question)?;
        assert_eq!(question, b"long question");
        stream.write_all(b"long answer")?;
        drop(stream);
        let mut answer = Vec::new();
        asker.read_to_end(&mut answer)?;
        assert_eq!(answer, b"long answer");
        Ok(())
    }
}
