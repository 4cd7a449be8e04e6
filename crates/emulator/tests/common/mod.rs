//! Two network namespaces, one for the program and one for the world, joined by nothing but the
//! emulator.
#![allow(dead_code, reason = "each test program uses a part")]

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike as _};
use paceline_cc::{Rate, Span, Spec, Stream};
use paceline_emulator::{Chain, Control, Element, Emulator, EmulatorOptions, Summary};
use paceline_os::route::Links;
use paceline_os::{Tun, TunOptions};
use paceline_path::queue::build;
use paceline_path::{Limit, Link, Pipe, Service};
use paceline_testing::Need;

pub(crate) const WORLD: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
pub(crate) const PROGRAM: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
pub(crate) const WORLD6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const PROGRAM6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
pub(crate) const PORT: u16 = 4000;

pub(crate) fn delay(ms: u64) -> Element {
    Element::Pipe(Box::new(Pipe::new(Span::from_millis(ms))))
}

pub(crate) fn link(queue: &str, mbps: f64, packets: u64) -> Element {
    Element::Link(Box::new(bare_link(queue, mbps, packets)))
}

/// A link without a router.
pub(crate) fn bare_link(queue: &str, mbps: f64, packets: u64) -> Link {
    let spec = Spec::parse(queue).expect("a queue");
    let queue = build(&spec, Limit::packets(packets), Stream::new(1, "queue")).expect("a queue");
    Link::new(queue, Service::constant(Rate::from_mbps(mbps)))
}

/// How long anything may take before the test has failed: far longer than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A socket for datagrams that loses none although its thread has to wait for a busy machine, and
/// that stops waiting for more after [`PATIENCE`].
pub(crate) fn datagrams(at: IpAddr) -> UdpSocket {
    let socket = UdpSocket::bind((at, PORT)).expect("a socket");
    setsockopt(&socket, sockopt::RcvBufForce, &(64 << 20)).expect("a large buffer");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

/// A socket that sends to the one of [`datagrams`], and stops waiting for answers after [`PATIENCE`].
pub(crate) fn asking(from: IpAddr, to: IpAddr) -> UdpSocket {
    let socket = UdpSocket::bind((from, 0)).expect("a socket");
    socket.connect((to, PORT)).expect("an address");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

/// Echoes datagrams until an empty one comes.
pub(crate) fn echo(ready: &dyn Fn()) {
    let socket = datagrams(WORLD.into());
    ready();
    let mut text = vec![0; 65_536];
    while let Ok((length @ 1.., from)) = socket.recv_from(&mut text) {
        socket.send_to(&text[..length], from).expect("sent");
    }
}

/// The first connection, which does not wait for ever either.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    let patience = TimeVal::seconds(PATIENCE.as_secs() as i64);
    setsockopt(listener, sockopt::ReceiveTimeout, &patience).expect("a timeout");
    let (stream, _) = listener.accept().expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Whether the kernel has IPv6.
pub(crate) fn has_ipv6() -> bool {
    fs::exists("/proc/net/if_inet6").unwrap_or(false)
}

/// Says that a test cannot be done here for want of rights.
pub(crate) fn skip(test: &str, why: &str) {
    paceline_testing::skip(Need::Net, test, why);
}

/// Moves this thread into a network of its own with one device; `None` without the right to.
fn network(own: [IpAddr; 2], peer: [IpAddr; 2], offload: bool) -> Option<Tun> {
    unshare(CloneFlags::CLONE_NEWNET).ok()?;
    let tun = Tun::open(&TunOptions { offload, ..TunOptions::new("test") }).expect("a device");
    let mut links = Links::open().expect("netlink");
    let index = links.index("test").expect("the device");
    for (own, peer) in own.into_iter().zip(peer).filter(|(own, _)| own.is_ipv4() || has_ipv6()) {
        links.add_address(index, own, peer).expect("an address");
    }
    fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("a setting");
    Some(tun)
}

/// Runs both sides, each on a thread in a network of its own, until both have ended. The world
/// says when it is ready. The run's summary, and what the sides found.
pub(crate) fn emulate<A: Send, B: Send>(
    test: &str,
    offload: bool,
    up: Vec<Element>,
    world: impl FnOnce(&dyn Fn()) -> A + Send,
    program: impl FnOnce() -> B + Send,
) -> Option<(Summary, A, B)> {
    let outside = [WORLD.into(), WORLD6.into()];
    let inside = [PROGRAM.into(), PROGRAM6.into()];
    let stop = EventFd::new().expect("an eventfd");
    let (ready, wait) = channel();
    let (world_tun, world_device): (_, Receiver<Option<Tun>>) = channel();
    let (program_tun, program_device): (_, Receiver<Option<Tun>>) = channel();
    thread::scope(|scope| {
        let world = scope.spawn(move || {
            let tun = network(outside, inside, offload);
            let able = tun.is_some();
            world_tun.send(tun).expect("a listener");
            able.then(|| world(&|| ready.send(()).expect("a listener")))
        });
        let program = scope.spawn(move || {
            let tun = network(inside, outside, offload);
            let able = tun.is_some();
            program_tun.send(tun).expect("a listener");
            able.then(|| {
                wait.recv_timeout(PATIENCE).expect("the world is ready");
                program()
            })
        });
        let devices = world_device.recv().ok().flatten().zip(program_device.recv().ok().flatten());
        let Some((outer, inner)) = devices else {
            skip(test, "no network namespaces without root");
            return None;
        };
        let down = Chain::new(vec![delay(5)]);
        let options = EmulatorOptions::default();
        let emulator = Emulator::new(inner, outer, Chain::new(up), down, options);
        let stopped = &stop;
        let running = scope.spawn(move || emulator.run(&[stopped.as_fd()], &mut |_| Control::Stop));
        let found = (world.join(), program.join());
        stop.write(1).expect("a write");
        let summary = running.join().expect("no panic").expect("a run");
        Some((summary, found.0.expect("no panic")?, found.1.expect("no panic")?))
    })
}

/// A counter of the kernel for this thread's network.
pub(crate) fn counter(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/netstat").expect("counters");
    let lines: Vec<_> = text.lines().collect();
    let found = lines.as_chunks::<2>().0.iter().find_map(|[names, values]| {
        let place = names.split_whitespace().position(|word| word == name)?;
        values.split_whitespace().nth(place)?.parse().ok()
    });
    found.expect("a counter of that name")
}

/// The same for IPv6, which has a table of its own.
pub(crate) fn counter6(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp6").expect("counters");
    let mut pairs = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let found = pairs.find(|(known, _)| *known == name);
    found.and_then(|(_, value)| value.trim().parse().ok()).expect("a counter of that name")
}

/// What `read` returns once it returns the same for 300 ms: TCP may have sent packets again that arrive after
/// the last byte.
pub(crate) fn settled<T: PartialEq>(read: impl Fn() -> T) -> T {
    let mut last = read();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(300));
        let now = read();
        if now == last {
            break;
        }
        last = now;
    }
    last
}
