//! The emulator between the kernel's own TCP and UDP: two network namespaces, one for the program
//! and one for the world, joined by nothing but the emulator. The least of times, medians of rates and
//! counts are asserted, never tails: the machine may be busy.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::{PORT, PROGRAM, WORLD, accept, counter, datagrams, delay, emulate, link};

#[test]
fn an_echo_takes_both_delays_and_never_less() {
    const COUNT: usize = 100;
    for offload in [false, true] {
        let world = |ready: &dyn Fn()| {
            let socket = datagrams(WORLD.into(), Duration::from_secs(5));
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
        // None is early; a busy machine makes many late, but hardly all of them.
        let wanted = Duration::from_millis(10)..Duration::from_millis(11);
        assert!(wanted.contains(&times[0]), "{times:?}");
    }
}

#[test]
fn datagrams_arrive_at_the_links_rate() {
    let world = |ready: &dyn Fn()| {
        let socket = datagrams(WORLD.into(), Duration::from_secs(10));
        ready();
        let mut times = Vec::new();
        while times.len() < 1000 && socket.recv(&mut [0; 2000]).is_ok() {
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
            let mut stream = accept(&listener);
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
