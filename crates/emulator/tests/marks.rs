//! Marks that real receivers count: what routers and queues write into the headers of IPv4 and
//! IPv6.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};

use common::{
    PORT, PROGRAM, PROGRAM6, WORLD, WORLD6, accept, asking, bare_link, counter, counter6,
    datagrams, delay, emulate, has_ipv6, link, settled,
};
use nix::sys::socket::{setsockopt, sockopt};
use paceline_cc::{RouterSetup, Spec};
use paceline_emulator::Element;
use paceline_testing::Need;

const ECT1: u8 = 1;

/// The families to be tested: the addresses of the world and the program in each.
fn families(test: &str) -> Vec<[IpAddr; 2]> {
    let mut families = vec![[WORLD.into(), PROGRAM.into()]];
    if has_ipv6() {
        families.push([WORLD6.into(), PROGRAM6.into()]);
    } else {
        paceline_testing::skip(Need::Kernel, test, "only its IPv6 part: the kernel has none");
    }
    families
}

/// Packets that came with ECT(1), ECT(0) and CE, as this thread's network counts them.
fn fields(six: bool) -> [u64; 3] {
    match six {
        false => ["InECT1Pkts", "InECT0Pkts", "InCEPkts"].map(counter),
        true => ["Ip6InECT1Pkts", "Ip6InECT0Pkts", "Ip6InCEPkts"].map(counter6),
    }
}

fn since(six: bool, before: [u64; 3]) -> [u64; 3] {
    let now = fields(six);
    [now[0] - before[0], now[1] - before[1], now[2] - before[2]]
}

/// A link under a scheme's router.
fn routed(scheme: &str, mbps: f64, packets: u64) -> Element {
    let spec = Spec::parse(scheme).expect("a scheme");
    let halves = paceline_schemes::registry::build(&spec).expect("a scheme");
    let router = halves.router.expect("a router half")(&RouterSetup::default());
    Element::Link(Box::new(bare_link("droptail", mbps, packets).with_router(router)))
}

/// Datagrams in ECT(1), as ABC's senders write "accelerate", through ABC's router.
#[test]
fn abcs_brakes_are_counted_by_the_receiver() {
    const COUNT: usize = 2000;
    let test = "abcs_brakes_are_counted_by_the_receiver";
    for [outside, inside] in families(test) {
        let six = outside.is_ipv6();
        let world = |ready: &dyn Fn()| {
            let socket = datagrams(outside);
            let before = fields(six);
            ready();
            let mut received = 0_u64;
            while received < COUNT as u64 && socket.recv(&mut [0; 2000]).is_ok() {
                received += 1;
            }
            (received, since(six, before))
        };
        let program = || {
            let socket = asking(inside, outside);
            match six {
                false => setsockopt(&socket, sockopt::Ipv4Tos, &ECT1.into()),
                true => setsockopt(&socket, sockopt::Ipv6TClass, &ECT1.into()),
            }
            .expect("a field");
            // As fast as the emulator reads.
            (0..COUNT).for_each(|_| assert_eq!(socket.send(&[0; 1000]).expect("sent"), 1000));
        };
        let up = vec![delay(1), routed("abc", 12.0, 10_000)];
        let Some((summary, (received, [accelerates, brakes, congestion]), ())) =
            emulate(test, true, up, world, program)
        else {
            return;
        };
        let counters = summary.up.stages[1].counters;
        assert_eq!(received, COUNT as u64);
        assert_eq!(accelerates + brakes, received, "{counters:?}");
        assert_eq!((brakes, congestion), (counters.ect0_marks, 0), "{counters:?}");
        // A queue that only grows is no reason to accelerate.
        assert!(brakes > received / 2, "{counters:?}");
    }
}

/// The kernel's own TCP, whose marks are CE: CoDel's, and ABC's for unmodified receivers.
#[test]
fn tcp_is_marked_in_both_families() {
    const BYTES: usize = 2_000_000;
    let test = "tcp_is_marked_in_both_families";
    let bottleneck = |name: &str| match name {
        "codel" => link("codel[ecn=true]", 50.0, 1000),
        _ => routed("abc[proxied=true,dt=5ms]", 50.0, 1000),
    };
    for [outside, inside] in families(test) {
        let six = outside.is_ipv6();
        for name in ["codel", "abc"] {
            let world = |ready: &dyn Fn()| {
                let listener = TcpListener::bind((outside, PORT)).expect("a socket");
                let before = fields(six);
                ready();
                let mut stream = accept(&listener);
                let mut all = Vec::with_capacity(BYTES);
                stream.read_to_end(&mut all).expect("a stream");
                (all.len(), settled(|| since(six, before)))
            };
            let program = || {
                // The machine's own choice may not mind marks.
                let choice = "/proc/sys/net/ipv4/tcp_congestion_control";
                fs::write(choice, "reno").expect("a setting");
                let mut stream = TcpStream::connect((outside, PORT)).expect("a connection");
                assert_eq!(stream.local_addr().map(|from| from.ip()).ok(), Some(inside));
                stream.write_all(&vec![7; BYTES]).expect("written");
            };
            let up = vec![delay(5), bottleneck(name)];
            let Some((summary, (bytes, [_, _, congestion]), ())) =
                emulate(test, true, up, world, program)
            else {
                return;
            };
            let counters = summary.up.stages[1].counters;
            let marks = counters.marks + counters.ect0_marks;
            assert_eq!(bytes, BYTES);
            assert!(marks > 0, "{name}: {counters:?}");
            assert_eq!(congestion, marks, "{name}: {counters:?}");
            assert_eq!(counters.dropped_packets(), 0, "{name}: {counters:?}");
        }
    }
}
