//! The emulator between the kernel's own TCP and UDP: two network namespaces, one for the program
//! and one for the world, joined by nothing but the emulator. Medians and counts are asserted,
//! never tails: the machine may be busy.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::eventfd::EventFd;
use paceline_cc::{Rate, Span, Spec};
use paceline_live::emulator::{Chain, Control, Element, Emulator, EmulatorOptions, Summary};
use paceline_live::linux::route::Links;
use paceline_live::linux::{Tun, TunOptions};
use paceline_path::queue::build;
use paceline_path::{Limit, Link, Pipe, Service};

const WORLD: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
const PROGRAM: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
const PORT: u16 = 4000;

fn delay(ms: u64) -> Element {
    Element::Pipe(Box::new(Pipe::new(Span::from_millis(ms))))
}

fn link(queue: &str, mbps: f64, packets: u64) -> Element {
    let spec = Spec::parse(queue).expect("a queue");
    let queue = build(&spec, Limit::packets(packets)).expect("a queue");
    let service = Service::constant(Rate::from_mbps(mbps));
    Element::Link(Box::new(Link::new(queue, service)))
}

/// Moves this thread into a network of its own with one device; `None` without the right to.
fn network(own: Ipv4Addr, peer: Ipv4Addr, offload: bool) -> Option<Tun> {
    unshare(CloneFlags::CLONE_NEWNET).ok()?;
    let tun = Tun::open(&TunOptions { offload, ..TunOptions::new("test") }).expect("a device");
    let mut links = Links::open().expect("netlink");
    let index = links.index("test").expect("the device");
    links.add_address(index, IpAddr::V4(own), IpAddr::V4(peer)).expect("an address");
    fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("a setting");
    Some(tun)
}

/// Runs both sides, each on a thread in a network of its own, until both have ended. The world
/// says when it is ready. The run's summary, and what the sides found.
fn emulate<A: Send, B: Send>(
    test: &str,
    offload: bool,
    up: Vec<Element>,
    world: impl FnOnce(&dyn Fn()) -> A + Send,
    program: impl FnOnce() -> B + Send,
) -> Option<(Summary, A, B)> {
    let stop = EventFd::new().expect("an eventfd");
    let (ready, wait) = channel();
    let (world_tun, world_device): (_, Receiver<Option<Tun>>) = channel();
    let (program_tun, program_device): (_, Receiver<Option<Tun>>) = channel();
    thread::scope(|scope| {
        let world = scope.spawn(move || {
            let tun = network(WORLD, PROGRAM, offload);
            let able = tun.is_some();
            world_tun.send(tun).expect("a listener");
            able.then(|| world(&|| ready.send(()).expect("a listener")))
        });
        let program = scope.spawn(move || {
            let tun = network(PROGRAM, WORLD, offload);
            let able = tun.is_some();
            program_tun.send(tun).expect("a listener");
            able.then(|| {
                wait.recv_timeout(Duration::from_secs(20)).expect("the world is ready");
                program()
            })
        });
        let devices = world_device.recv().ok().flatten().zip(program_device.recv().ok().flatten());
        let Some((outer, inner)) = devices else {
            // The harness keeps what macros print to itself.
            let _ = writeln!(io::stderr(), "SKIPPED {test}: no network namespaces without root");
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

#[test]
fn an_echo_takes_both_delays_and_never_less() {
    const COUNT: usize = 100;
    for offload in [false, true] {
        let world = |ready: &dyn Fn()| {
            let socket = UdpSocket::bind((WORLD, PORT)).expect("a socket");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
            ready();
            let mut text = [0; 100];
            for _ in 0..COUNT {
                let (length, from) = socket.recv_from(&mut text).expect("a question");
                socket.send_to(&text[..length], from).expect("sent");
            }
        };
        let program = || {
            let socket = UdpSocket::bind((PROGRAM, 0)).expect("a socket");
            socket.connect((WORLD, PORT)).expect("an address");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
            let mut times: Vec<_> = (0..COUNT)
                .map(|_| {
                    let begin = Instant::now();
                    socket.send(b"question").expect("sent");
                    socket.recv(&mut [0; 100]).expect("an answer");
                    begin.elapsed()
                })
                .collect();
            times.sort_unstable();
            times
        };
        let test = "an_echo_takes_both_delays_and_never_less";
        let Some(found) = emulate(test, offload, vec![delay(5)], world, program) else { return };
        let times = found.2;
        assert!(times[0] >= Duration::from_millis(10), "{times:?}");
        assert!(times[COUNT / 2] < Duration::from_millis(11), "{times:?}");
    }
}

#[test]
fn datagrams_arrive_at_the_links_rate() {
    let world = |ready: &dyn Fn()| {
        let socket = UdpSocket::bind((WORLD, PORT)).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
        ready();
        let mut times = Vec::new();
        while socket.recv(&mut [0; 2000]).is_ok() {
            times.push(Instant::now());
        }
        times
    };
    let program = || {
        let socket = UdpSocket::bind((PROGRAM, 0)).expect("a socket");
        socket.connect((WORLD, PORT)).expect("an address");
        for _ in 0..1000 {
            socket.send(&[0; 1472]).expect("sent");
            thread::sleep(Duration::from_micros(200));
        }
    };
    let up = vec![delay(5), link("droptail", 12.0, 10_000)];
    let Some(found) = emulate("datagrams_arrive_at_the_links_rate", true, up, world, program)
    else {
        return;
    };
    let (summary, times, ()) = found;
    assert_eq!(times.len(), 1000);
    assert!(summary.up.sent_packets >= 1000, "{:?}", summary.up);
    // One every millisecond; the median of the time that a hundred take.
    let mut spans: Vec<_> = times.windows(101).map(|w| w[100] - w[0]).collect();
    spans.sort_unstable();
    let median = spans[spans.len() / 2].as_secs_f64();
    assert!((median / 0.1 - 1.0).abs() < 0.005, "{median} s");
}

/// A counter of the kernel for this thread's network.
fn counter(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/netstat").expect("counters");
    let lines: Vec<_> = text.lines().collect();
    let found = lines.as_chunks::<2>().0.iter().find_map(|[names, values]| {
        let place = names.split_whitespace().position(|word| word == name)?;
        values.split_whitespace().nth(place)?.parse().ok()
    });
    found.expect("a counter of that name")
}

#[test]
fn bytes_arrive_unchanged_and_each_mark_is_counted_by_the_receiver() {
    const BYTES: usize = 12_000_000;
    const BLOCK: usize = 65_537;
    let pattern: Vec<u8> = (0..BLOCK).map(|i| (i * i / 7) as u8).collect();
    for offload in [false, true] {
        let world = |ready: &dyn Fn()| {
            let listener = TcpListener::bind((WORLD, PORT)).expect("a socket");
            let before = counter("InCEPkts");
            ready();
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut all = Vec::with_capacity(BYTES);
            stream.read_to_end(&mut all).expect("a stream");
            (all, counter("InCEPkts") - before)
        };
        let program = || {
            let mut stream = TcpStream::connect((WORLD, PORT)).expect("a connection");
            let begin = Instant::now();
            let mut left = BYTES;
            while left > 0 {
                let length = left.min(BLOCK);
                stream.write_all(&pattern[..length]).expect("written");
                left -= length;
            }
            begin.elapsed()
        };
        let up = vec![delay(5), link("step[k=5]", 100.0, 1000)];
        let test = "bytes_arrive_unchanged_and_each_mark_is_counted_by_the_receiver";
        let Some(found) = emulate(test, offload, up, world, program) else { return };
        let (summary, (all, marks), _) = found;
        assert_eq!(all.len(), BYTES);
        assert!(all.chunks(BLOCK).all(|block| *block == pattern[..block.len()]));
        let counters = summary.up.stages[1].counters;
        assert!(counters.marks > 10, "{counters:?}");
        assert_eq!(marks, counters.marks);
        assert_eq!((counters.dropped_packets(), summary.up.refused), (0, 0));
        assert_eq!(summary.up.malformed + summary.down.malformed, 0);
        // What the link counts are packets of the wire, whatever the kernel hands over.
        assert!(counters.arrived_packets as usize > BYTES / 1460);
        assert!(counters.arrived_packets as usize <= BYTES / 1400);
    }
}
