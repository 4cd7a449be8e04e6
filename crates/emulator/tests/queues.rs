//! Every queue and every router carries IP packets of any kind.

use std::io::IoSlice;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use nix::sys::eventfd::EventFd;
use paceline_cc::{Rate, RouterSetup, Spec, Stream};
use paceline_emulator::{
    Chain, Control, Element, Emulator, EmulatorOptions, Port, SocketPort, Summary,
};
use paceline_path::queue::{build, builtin};
use paceline_path::{Limit, Link, Service};
use paceline_schemes::SCHEMES;

const COUNT: usize = 60;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Of those for experiments (RFC 3692).
const UNKNOWN: u8 = 253;

/// A packet of this protocol with this ECN field, whose payload tells its number. IPv4's header
/// checksum is left out: nobody here looks at it.
fn packet(number: usize, ipv4: bool, protocol: u8, ecn: u8) -> Vec<u8> {
    let headers = if ipv4 { 20 } else { 40 };
    let mut packet = vec![0; headers + 100];
    let length = packet.len() as u16;
    if ipv4 {
        (packet[0], packet[1], packet[8], packet[9]) = (0x45, ecn, 64, protocol);
        packet[2..4].copy_from_slice(&length.to_be_bytes());
    } else {
        (packet[0], packet[1], packet[6], packet[7]) = (0x60, ecn << 4, protocol, 64);
        packet[4..6].copy_from_slice(&(length - 40).to_be_bytes());
    }
    packet[headers + 50] = number as u8;
    packet
}

/// The number of a packet.
fn number(packet: &[u8]) -> usize {
    let headers = if packet[0] >> 4 == 4 { 20 } else { 40 };
    packet[headers + 50].into()
}

/// Sends packets of all kinds through a link; those that came out, and the summary.
fn carried(link: Link) -> (Vec<usize>, Summary) {
    let (inner, mut program) = SocketPort::pair(false).expect("sockets");
    let (outer, mut world) = SocketPort::pair(false).expect("sockets");
    let stop = EventFd::new().expect("an eventfd");
    let up = Chain::new(vec![Element::Link(Box::new(link))]);
    let emulator =
        Emulator::new(inner, outer, up, Chain::new(Vec::new()), EmulatorOptions::default());
    thread::scope(|scope| {
        let running = scope.spawn(|| emulator.run(&[stop.as_fd()], &mut |_| Control::Stop));
        for index in 0..COUNT {
            let protocol = [UDP, TCP, ICMP, UNKNOWN][index / 2 % 4];
            let sent = packet(index, index % 2 == 0, protocol, (index / 8 % 4) as u8);
            while program.write(&[IoSlice::new(&sent)]).is_err() {
                thread::sleep(Duration::from_micros(50));
            }
        }
        let (mut numbers, mut buffer) = (Vec::new(), [0; 200]);
        // Some may have been dropped: until none has come for a thousand looks, of a millisecond and more each.
        let mut quiet = 0;
        while numbers.len() < COUNT && quiet < 1000 {
            if let Ok(length) = world.read(&mut buffer) {
                numbers.push(number(&buffer[..length]));
                quiet = 0;
            } else {
                thread::sleep(Duration::from_millis(1));
                quiet += 1;
            }
        }
        stop.write(1).expect("a write");
        numbers.sort_unstable();
        (numbers, running.join().expect("no panic").expect("a run"))
    })
}

fn link(queue: &str) -> Link {
    let spec = Spec::parse(queue).expect("a queue");
    let queue = build(&spec, Limit::packets(1000), Stream::new(1, "queue")).expect("a queue");
    Link::new(queue, Service::constant(Rate::from_mbps(100.0)))
}

fn check(name: &str, link: Link) {
    let (numbers, summary) = carried(link);
    let counters = summary.up.stages[0].counters;
    assert_eq!(summary.up.malformed, 0, "{name}");
    assert_eq!(counters.arrived_packets, COUNT as u64, "{name}: {counters:?}");
    // Nothing fills the queue, though some drop or mark what comes at once.
    let dropped = counters.dropped_packets() as usize;
    assert_eq!(numbers.len() + dropped, COUNT, "{name}: {counters:?}");
    assert!(numbers.len() >= COUNT / 2, "{name}: {counters:?}");
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {numbers:?}");
}

#[test]
fn every_queue_carries_everything() {
    let queues = builtin();
    assert!(queues.iter().len() > 5);
    for queue in &queues {
        check(&queue.name, link(&queue.name));
    }
}

#[test]
fn every_router_lets_everything_pass() {
    let mut routers = 0;
    for scheme in SCHEMES {
        let spec = Spec::parse(scheme.name).expect("a scheme");
        let halves = paceline_schemes::registry::build(&spec).expect("a scheme");
        let Some(make) = halves.router else { continue };
        routers += 1;
        check(scheme.name, link("droptail").with_router(make(&RouterSetup::default())));
    }
    assert!(routers > 1, "{routers}");
}
