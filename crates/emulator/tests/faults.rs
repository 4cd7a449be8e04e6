//! What a program inside may do to the emulator: packets that are none, packets that are too large,
//! many flows at once.

mod common;

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::time::Instant;

use common::{PORT, PROGRAM, WORLD, asking, datagrams, delay, echo, emulate, link};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};
use paceline_cc::Stream;
use std::os::fd::AsRawFd;

/// Asks with that many bytes; whether they come back.
fn is_answered(bytes: usize) -> bool {
    let socket = asking(PROGRAM.into(), WORLD.into());
    let question: Vec<u8> = (0..bytes).map(|i| (i * 7) as u8).collect();
    socket.send(&question).expect("sent");
    let mut answer = vec![0; 65_536];
    socket.recv(&mut answer).is_ok_and(|length| answer[..length] == question)
}

#[test]
fn what_is_no_packet_is_counted_and_the_run_goes_on() {
    const COUNT: u64 = 500;
    let test = "what_is_no_packet_is_counted_and_the_run_goes_on";
    for offload in [false, true] {
        let program = || {
            let flags = SockFlag::empty();
            let raw = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw);
            let raw = raw.expect("a raw socket");
            let to = SockaddrIn::from(std::net::SocketAddrV4::new(WORLD, 0));
            let mut stream = Stream::new(6, "garbage");
            for _ in 0..COUNT {
                let length = 20 + stream.below(1400) as usize;
                let mut packet: Vec<u8> = (0..length).map(|_| stream.below(256) as u8).collect();
                // The kernel mends the length and the checksum, but not the version.
                let version = [0, 1, 2, 3, 5, 6, 9, 15][stream.below(8) as usize];
                packet[0] = version << 4 | 5;
                sendto(raw.as_raw_fd(), &packet, &to, MsgFlags::empty()).expect("sent");
            }
            // More than the kernel puts into one packet: it comes in pieces.
            let answered = [8, 1472, 1473, 20_000, 65_507].map(is_answered);
            asking(PROGRAM.into(), WORLD.into()).send(&[]).expect("sent");
            answered
        };
        let up = vec![delay(1), link("droptail", 1000.0, 100_000)];
        let Some((summary, (), answered)) = emulate(test, offload, up, echo, program) else {
            return;
        };
        assert_eq!(answered, [true; 5], "{:?}", summary.up);
        // Of version 6, a length may be right by chance.
        assert!(summary.up.malformed > COUNT * 9 / 10, "{:?}", summary.up);
        assert_eq!((summary.down.malformed, summary.up.no_memory), (0, 0));
    }
}

#[test]
fn ten_thousand_flows_pass_at_the_same_time() {
    const FLOWS: u16 = 10_000;
    const FIRST: u16 = 20_000;
    let test = "ten_thousand_flows_pass_at_the_same_time";
    let world = |ready: &dyn Fn()| {
        let socket = datagrams(WORLD.into());
        ready();
        let mut seen = BTreeSet::new();
        while seen.len() < usize::from(FLOWS)
            && let Ok((_, from)) = socket.recv_from(&mut [0; 200])
        {
            seen.insert(from.port());
        }
        seen
    };
    let program = || {
        let begun = Instant::now();
        // The device's queue has room for all of them, if they come before the emulator has its turn.
        for flow in 0..FLOWS {
            let socket = UdpSocket::bind((PROGRAM, FIRST + flow)).expect("a socket");
            socket.send_to(&[0; 100], (WORLD, PORT)).expect("sent");
        }
        begun.elapsed()
    };
    // 128 bytes of each: two seconds and a half at this rate.
    let up = vec![delay(1), link("fq_codel[flows=65536,limit=40000]", 4.0, 40_000)];
    let Some((summary, seen, took)) = emulate(test, true, up, world, program) else { return };
    let counters = summary.up.stages[1].counters;
    assert_eq!(seen, (FIRST..FIRST + FLOWS).collect(), "{counters:?}");
    assert_eq!((counters.dropped_packets(), summary.up.no_memory), (0, 0), "{counters:?}");
    assert_eq!(counters.delivered_packets, counters.arrived_packets);
    // By Little's law: how many waited at the same time, in the mean of the 2.56 s that the link takes for them. It
    // would be 5000 if all came at once, less those that can have gone while they were sent; .25 s are room for
    // an emulator that has to wait for a processor.
    let waiting = counters.sojourn.as_secs_f64() / 2.56;
    let gone = f64::from(FLOWS) * (took.as_secs_f64() + 0.25) / 2.56;
    assert!(waiting > 5000.0 - gone, "{waiting}, {took:?}: {counters:?}");
}
