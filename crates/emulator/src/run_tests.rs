use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};
use paceline_cc::Rate;
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Link, Pipe, Service};

use super::*;
use crate::element::Element;
use crate::port::SocketPort;
use paceline_testing::packets::PacketSpec;

fn chain(mbps: f64) -> Chain {
    let link =
        Link::new(Box::new(Fifo::new(Limit::NONE)), Service::constant(Rate::from_mbps(mbps)));
    let pipe = Pipe::new(Span::from_millis(2));
    Chain::new(vec![Element::Pipe(Box::new(pipe)), Element::Link(Box::new(link))])
}

/// How long anything may take before the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs an emulator with links of 12 Mbit/s in a thread of its own while `test` has the far ends of both devices.
/// What it returns stays open until the end.
fn emulate<T>(test: impl FnOnce(SocketPort, SocketPort) -> T) -> Summary {
    emulate_at(12.0, test)
}

/// Does [`emulate`] with links of `mbps` Mbit/s.
fn emulate_at<T>(mbps: f64, test: impl FnOnce(SocketPort, SocketPort) -> T) -> Summary {
    let (inner, program) = SocketPort::pair(false).expect("sockets");
    let (outer, world) = SocketPort::pair(false).expect("sockets");
    let stop = EventFd::from_flags(EfdFlags::EFD_NONBLOCK).expect("an eventfd");
    let emulator =
        Emulator::new(inner, outer, chain(mbps), chain(mbps), EmulatorOptions::default());
    thread::scope(|scope| {
        let running = scope.spawn(|| emulator.run(&[stop.as_fd()], &mut |_| Control::Stop));
        let _open = test(program, world);
        stop.write(1).expect("a write");
        running.join().expect("no panic").expect("a run")
    })
}

/// Writes a packet as soon as the device takes it.
fn send(port: &mut SocketPort, packet: &[u8]) {
    while port.write(&[std::io::IoSlice::new(packet)]).is_err() {
        thread::sleep(Duration::from_micros(50));
    }
}

/// Waits until `count` packets have arrived; returns their arrival times.
fn collect(port: &mut SocketPort, count: usize) -> Vec<Instant> {
    let mut buffer = vec![0; 2000];
    let mut times = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while times.len() < count && Instant::now() < deadline {
        match port.read(&mut buffer) {
            Ok(_) => times.push(Instant::now()),
            Err(_) => thread::sleep(Duration::from_micros(50)),
        }
    }
    times
}

#[test]
fn packets_take_as_long_as_the_link_says() {
    let packet = PacketSpec::UDP4.build(&[0; 1472], false);
    let mut spans = Vec::new();
    let mut run = || {
        emulate(|mut program, mut world| {
            let begin = Instant::now();
            for _ in 0..100 {
                send(&mut program, &packet);
                send(&mut world, &packet);
            }
            for port in [&mut world, &mut program] {
                let times = collect(port, 100);
                assert_eq!(times.len(), 100);
                spans.push(times[99] - begin);
            }
            (program, world)
        })
    };
    // On a busy machine packets are late; one run of many is not.
    let end = Instant::now() + PATIENCE;
    let summary = loop {
        let summary = run();
        if summary.lateness.p50 < Span::from_millis(1) || Instant::now() >= end {
            break summary;
        }
    };
    // 2 ms, and 100 times 1 ms.
    assert!(spans.iter().all(|span| *span >= Duration::from_millis(102)), "{spans:?}");
    assert_eq!((summary.up.sent_packets, summary.down.sent_packets), (100, 100));
    assert_eq!(summary.ended, EndReason::Stopped);
    assert_eq!(summary.lateness.count, 200);
    assert!(summary.lateness.p50 < Span::from_millis(1), "{:?}", summary.lateness);
    // Six of a hundred packets are more than a handful.
    let late = summary.up.late_packets.max(summary.down.late_packets);
    assert_eq!(summary.late, late >= 6, "{late} late");
    let stage = &summary.up.stages[1];
    assert_eq!(stage.counters.delivered_bytes, 150_000);
    assert_eq!(stage.offered_bytes, Rate::from_mbps(12.0).bytes_in(summary.duration));
}

#[test]
fn an_idle_emulator_costs_nothing() {
    let idle = || {
        let summary = emulate(|program, world| {
            thread::sleep(Duration::from_millis(300));
            (program, world)
        });
        assert!(summary.duration >= Span::from_millis(200));
        summary.cpu
    };
    // What interrupts the thread may be counted as its work: the least of several. One that polls would use its
    // share of the processor each time.
    let least = (0..10).map(|_| idle()).find(|cpu| *cpu < Span::from_millis(5));
    assert!(least.is_some(), "5 ms of 300 ms and more each time");
}

#[test]
fn a_closed_device_ends_the_run() {
    let summary = emulate(|mut program, world| {
        drop(world);
        // The emulator closes its devices at its end.
        let deadline = Instant::now() + PATIENCE;
        while program.read(&mut [0; 100]).is_err() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        program
    });
    assert_eq!(summary.ended, EndReason::Closed(Direction::Down));
}

#[test]
fn a_run_may_have_an_end() {
    let (inner, mut program) = SocketPort::pair(false).expect("sockets");
    let (outer, mut world) = SocketPort::pair(false).expect("sockets");
    let end = Time::from_millis(300);
    let options = EmulatorOptions { end, ..EmulatorOptions::default() };
    let pipe = |ms| Chain::new(vec![Element::Pipe(Box::new(Pipe::new(Span::from_millis(ms))))]);
    let emulator = Emulator::new(inner, outer, pipe(5), pipe(1_000_000), options);
    for port in [&mut program, &mut world] {
        send(port, &PacketSpec::UDP4.build(&[0; 100], false));
    }
    let summary = emulator.run(&[], &mut |_| Control::Stop).expect("a run");
    assert_eq!(summary.ended, EndReason::Over);
    assert!(summary.duration >= Span::from_millis(300), "{:?}", summary.duration);
    assert_eq!((summary.up.sent_packets, summary.down.sent_packets), (1, 0));
}

#[test]
fn what_is_in_queues_at_the_end_is_counted() {
    let packet = PacketSpec::UDP4.build(&[0; 1472], false);
    let mut written = 0;
    // 20 ms for each of 100: when a few have come, the others take longer than any thread waits.
    let summary = emulate_at(0.6, |mut program, mut world| {
        for _ in 0..100 {
            send(&mut program, &packet);
        }
        written = collect(&mut world, 3).len();
        (program, world)
    });
    assert_eq!(written, 3);
    let backlog: usize = summary.up.stages.iter().map(|stage| stage.backlog_packets).sum();
    assert_eq!(summary.up.sent_packets + backlog as u64, 100);
    assert!(backlog > 0);
}

/// A link that carries nothing for its first 10 s, and 12 Mbit/s from then on.
fn late_link() -> Chain {
    let steps = [(Span::ZERO, Rate::ZERO), (Span::from_secs(10), Rate::from_mbps(12.0))];
    let service = Service::schedule(&steps, None).expect("a schedule");
    Chain::new(vec![Element::Link(Box::new(Link::new(Box::new(Fifo::new(Limit::NONE)), service)))])
}

/// Runs an emulator that begins on `trigger` with links of 12 Mbit/s, over which packets pass before it in `early`.
fn triggered<T>(
    trigger: Trigger,
    early: fn() -> Chain,
    test: impl FnOnce(SocketPort, SocketPort) -> T,
) -> Summary {
    let (inner, program) = SocketPort::pair(false).expect("sockets");
    let (outer, world) = SocketPort::pair(false).expect("sockets");
    let stop = EventFd::from_flags(EfdFlags::EFD_NONBLOCK).expect("an eventfd");
    let mut emulator =
        Emulator::new(inner, outer, chain(12.0), chain(12.0), EmulatorOptions::default());
    emulator.begin_on(trigger, early(), early());
    thread::scope(|scope| {
        let running = scope.spawn(|| emulator.run(&[stop.as_fd()], &mut |_| Control::Stop));
        let _open = test(program, world);
        stop.write(1).expect("a write");
        running.join().expect("no panic").expect("a run")
    })
}

#[test]
fn a_run_begins_with_the_first_data() {
    let handshake = PacketSpec::UDP4.build(&[0; 32], false);
    let data = PacketSpec::UDP4.build(&[0; 1472], false);
    let summary = triggered(
        Trigger::Data(None),
        || chain(12.0),
        |mut program, mut world| {
            for _ in 0..3 {
                send(&mut program, &handshake);
                assert_eq!(collect(&mut world, 1).len(), 1, "packets pass before the trigger");
                send(&mut world, &handshake);
                assert_eq!(collect(&mut program, 1).len(), 1, "packets pass before the trigger");
            }
            thread::sleep(Duration::from_millis(300));
            for _ in 0..5 {
                send(&mut world, &data);
            }
            assert_eq!(collect(&mut program, 5).len(), 5);
            send(&mut program, &handshake);
            assert_eq!(collect(&mut world, 1).len(), 1);
            (program, world)
        },
    );
    // Only what came with the data or later is counted.
    assert_eq!((summary.up.sent_packets, summary.down.sent_packets), (1, 5));
    assert!(summary.waited >= Some(Span::from_millis(300)), "{:?}", summary.waited);
    assert!(!summary.never_began && summary.errors.is_empty(), "{:?}", summary.errors);
}

#[test]
fn packets_from_before_the_trigger_keep_their_path() {
    let summary = triggered(Trigger::Data(None), late_link, |mut program, mut world| {
        // It would wait for 10 s on the path of before, and does so while data pass.
        send(&mut program, &PacketSpec::UDP4.build(&[0; 32], false));
        thread::sleep(Duration::from_millis(50));
        send(&mut program, &PacketSpec::UDP4.build(&[1; 1000], false));
        let times = collect(&mut world, 2);
        assert_eq!(times.len(), 2);
        assert!(times[1] - times[0] >= Duration::from_secs(5), "{times:?}");
        (program, world)
    });
    assert_eq!((summary.up.received_packets, summary.up.sent_packets), (1, 1));
}

/// A link of 12 Mbit/s whose queue has no place for packets of more than 1000 bytes.
fn small_packets_alone() -> Chain {
    let queue = Fifo::new(Limit::bytes(1000));
    let link = Link::new(Box::new(queue), Service::constant(Rate::from_mbps(12.0)));
    Chain::new(vec![Element::Link(Box::new(link))])
}

#[test]
fn a_run_begins_when_a_file_appears() {
    let path = std::env::temp_dir().join(format!("paceline-trigger-{}", std::process::id()));
    let small = PacketSpec::UDP4.build(&[0; 32], false);
    let large = PacketSpec::UDP4.build(&[0; 1472], false);
    let summary =
        triggered(Trigger::File(path.clone()), small_packets_alone, |mut program, mut world| {
            send(&mut program, &small);
            assert_eq!(collect(&mut world, 1).len(), 1, "packets pass before the trigger");
            std::fs::write(&path, "").expect("a file");
            // Large packets pass only the path of the run.
            let end = Instant::now() + PATIENCE;
            let mut buffer = vec![0; 2000];
            while world.read(&mut buffer).is_err() {
                assert!(Instant::now() < end, "the run has not begun");
                send(&mut program, &large);
                thread::sleep(Duration::from_micros(500));
            }
            (program, world)
        });
    std::fs::remove_file(&path).expect("the file");
    assert!(!summary.never_began && summary.waited.is_some(), "{summary:?}");
    // The small packet is not counted.
    let up = &summary.up;
    assert!(up.sent_packets >= 1, "{up:?}");
    assert_eq!(up.stages[1].counters.delivered_bytes % 1500, 0, "{up:?}");
    assert!(up.received_packets >= up.sent_packets, "{up:?}");
}

#[test]
fn a_trigger_that_never_comes_is_an_error_of_the_summary() {
    let summary = triggered(
        Trigger::Data(Some(paceline_ip::packet::TCP)),
        || chain(12.0),
        |mut program, mut world| {
            send(&mut program, &PacketSpec::UDP4.build(&[0; 1000], false));
            assert_eq!(collect(&mut world, 1).len(), 1);
            (program, world)
        },
    );
    assert!(summary.never_began);
    assert_eq!((summary.up.sent_packets, summary.duration), (0, Span::ZERO));
    assert!(summary.errors[0].contains("data/tcp"), "{:?}", summary.errors);
}
