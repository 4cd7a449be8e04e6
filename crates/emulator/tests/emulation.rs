//! The emulator between the kernel's own TCP and UDP: two network namespaces, one for the program
//! and one for the world, joined by nothing but the emulator. A busy machine adds to every time: what is
//! asserted are lower bounds, the least of many times, and counts.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use common::{
    PATIENCE, PORT, PROGRAM, WORLD, accept, asking, counter, datagrams, delay, echo, emulate, link,
    settled,
};

#[test]
fn an_echo_takes_both_delays_and_never_less() {
    // 5 ms each way; one of them twice would be 15 ms.
    const BOTH: Duration = Duration::from_millis(10);
    const ONE_TWICE: Duration = Duration::from_millis(15);
    for offload in [false, true] {
        let program = || {
            let socket = asking(PROGRAM.into(), WORLD.into());
            let begun = Instant::now();
            let ask = || {
                let sent = Instant::now();
                socket.send(b"question").expect("sent");
                socket.recv(&mut [0; 100]).expect("an answer");
                sent.elapsed()
            };
            // A busy machine makes many late: asked until one is in time.
            let mut times: Vec<Duration> = (0..100).map(|_| ask()).collect();
            while times.iter().min() >= Some(&ONE_TWICE) && begun.elapsed() < PATIENCE {
                times.push(ask());
            }
            socket.send(&[]).expect("sent");
            times.into_iter().min()
        };
        let test = "an_echo_takes_both_delays_and_never_less";
        let Some(found) = emulate(test, offload, vec![delay(5)], echo, program) else { return };
        let least = found.2.expect("an echo");
        assert!((BOTH..ONE_TWICE).contains(&least), "{least:?}");
    }
}

#[test]
fn datagrams_arrive_at_the_links_rate() {
    const COUNT: usize = 1000;
    const EACH: Duration = Duration::from_millis(1);
    let world = |ready: &dyn Fn()| {
        let socket = datagrams(WORLD.into());
        ready();
        let mut times = Vec::new();
        while times.len() < COUNT && socket.recv(&mut [0; 2000]).is_ok() {
            times.push(Instant::now());
        }
        times
    };
    let program = || {
        let socket = asking(PROGRAM.into(), WORLD.into());
        let begun = Instant::now();
        // The socket waits until the emulator has read: nothing is lost, and the link always has packets.
        (0..COUNT).for_each(|_| assert_eq!(socket.send(&[0; 1472]).expect("sent"), 1472));
        (begun, Instant::now())
    };
    let up = vec![delay(5), link("droptail", 12.0, 10_000)];
    let Some(found) = emulate("datagrams_arrive_at_the_links_rate", true, up, world, program)
    else {
        return;
    };
    let (summary, times, (begun, sent)) = found;
    assert_eq!(times.len(), COUNT);
    assert!(summary.up.sent_packets >= COUNT as u64, "{:?}", summary.up);
    // How late each is if the first departs as soon as it can: never early.
    let late: Vec<f64> = (1..)
        .zip(&times)
        .map(|(number, time)| {
            let since = time.duration_since(begun + Duration::from_millis(5));
            since.as_secs_f64() - (EACH * number).as_secs_f64()
        })
        .collect();
    assert!(late.iter().all(|late| *late >= 0.0), "{late:?}");
    // All are in the queue when the last is sent. From then on the least late of the first half and of the
    // second half are equally late: one packet every millisecond, to half a percent.
    let queued = times.partition_point(|time| *time < sent);
    assert!(queued < COUNT / 2, "{queued} have come before the last was sent");
    let (first, second) = late[queued..].split_at((COUNT - queued) / 2);
    let least = |late: &[f64]| late.iter().copied().fold(f64::INFINITY, f64::min);
    let drift = (least(second) - least(first)).abs();
    let between = EACH.as_secs_f64() * first.len() as f64;
    assert!(drift < 0.005 * between, "{drift} s in {between} s: {late:?}");
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
            (all, settled(|| counter("InCEPkts")) - before)
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
        // Where the machine is busy, TCP sends some again that were only late.
        assert!(counters.arrived_packets as usize > BYTES / 1460);
        assert!((counters.arrived_packets as usize) < 2 * BYTES / 1460);
    }
}
