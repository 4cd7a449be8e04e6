use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::sys::eventfd::EventFd;
use paceline_cc::{Packet, Rate, Stage, Stream};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Link, OpportunityOptions};
use paceline_trace::Trace;

use super::*;
use crate::output::testing;
use crate::{Chain, Control, Element, Emulator, EmulatorOptions, Port as _, SocketPort};

fn service(entries: &[u32], repeat: bool) -> Service {
    let trace = Trace::new("test", entries.to_vec()).expect("valid");
    let options = OpportunityOptions { repeat, ..OpportunityOptions::default() };
    Service::trace(trace, options).expect("valid")
}

/// Arrivals: times in microseconds, and sizes.
type Arrivals = [(u64, u32)];

/// The log of a link; `late` says how late the driver comes after each packet.
fn log(
    service: &Service,
    limit: Limit,
    arrivals: &Arrivals,
    end: u64,
    late: &mut dyn FnMut() -> u64,
) -> String {
    let mut link = Link::new(Box::new(Fifo::new(limit)), service.clone());
    link.record(true);
    let mut lines = Lines::new(service);
    let mut out = Vec::new();
    let micros = |n: u64| Time::from_nanos(n * 1000);
    for &(at, size) in arrivals {
        if late() == 0 {
            while link.wake() <= micros(at) {
                let _ = link.pop(link.wake());
                link.log_mut().drain_events().for_each(|event| lines.event(&event, &mut out));
            }
        }
        link.push(micros(at), &Packet::opaque(size));
        if late() == 0 {
            link.log_mut().drain_events().for_each(|event| lines.event(&event, &mut out));
            lines.pass(micros(at.saturating_sub(1_000)), &mut out);
        }
    }
    while link.pop(micros(end)).is_some() {}
    link.log_mut().drain_events().for_each(|event| lines.event(&event, &mut out));
    lines.pass(micros(end), &mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn a_log_by_hand() {
    // Two opportunities at 2 ms, one at 5 ms; again from 7 ms on.
    let service = service(&[2, 2, 5], true);
    let arrivals =
        [(500, 1000), (700, 1500), (2_000, 40), (5_400, 1500), (5_500, 1500), (5_999, 60)];
    let text = log(&service, Limit::packets(2), &arrivals, 12_500, &mut || 0);
    // 1004 bytes leave with the first opportunity, 1504 with what is left of it and the second.
    // The 44 that arrive at 2 ms miss both. Then two packets fill the queue.
    let wanted = "\
0 + 1004
0 + 1504
2 # 1504
2 - 1004 2
2 # 1504
2 - 1504 2
2 + 44
5 # 1504
5 - 44 3
5 + 1504
5 + 1504
5 + 64
5 d 1 64
7 # 1504
7 - 1504 2
7 # 1504
7 - 1504 2
10 # 1504
12 # 1504
12 # 1504
";
    assert_eq!(text, wanted);
}

#[test]
fn a_trace_that_does_not_repeat_falls_silent() {
    let text = log(
        &service(&[0, 1, 2], false),
        Limit::NONE,
        &[(1_200, 100), (2_500, 100)],
        9_000,
        &mut || 0,
    );
    assert_eq!(text, "0 # 1504\n1 # 1504\n1 + 104\n2 # 1504\n2 - 104 1\n2 + 104\n");
}

#[test]
fn a_steady_link_offers_what_each_millisecond_had() {
    let service = Service::constant(Rate::from_mbps(12.0));
    let text = log(&service, Limit::NONE, &[(500, 1500)], 3_000, &mut || 0);
    assert_eq!(text, "0 + 1500\n1 # 1500\n1 - 1500 1\n2 # 1500\n3 # 1500\n");
}

/// Mahimahi's own bookkeeping, in whole milliseconds, for a queue of at most `most` packets.
fn model(entries: &[u32], arrivals: &Arrivals, most: usize, end: u64) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut queue: VecDeque<(u64, u64)> = VecDeque::new();
    let mut current: Option<(u64, u64, u64)> = None;
    let (mut next, mut base) = (0, 0);
    let events = arrivals.iter().map(|&(at, size)| (at / 1000, u64::from(size) + 4));
    for (now, size) in events.chain([(end / 1000, 0)]) {
        while base + u64::from(entries[next]) <= now {
            let time = base + u64::from(entries[next]);
            lines.push(format!("{time} # 1504"));
            next += 1;
            if next == entries.len() {
                (next, base) = (0, base + u64::from(entries[next - 1]));
            }
            let mut left = 1504;
            while left > 0 {
                let took =
                    current.take().or_else(|| queue.pop_front().map(|(at, size)| (at, size, size)));
                let Some((at, size, owed)) = took else { break };
                let part = owed.min(left);
                left -= part;
                if owed > part {
                    current = Some((at, size, owed - part));
                } else {
                    lines.push(format!("{time} - {size} {}", time - at));
                }
            }
        }
        if size > 0 {
            lines.push(format!("{now} + {size}"));
            if queue.len() < most {
                queue.push_back((now, size));
            } else {
                lines.push(format!("{now} d 1 {size}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_log_is_mahimahis_whatever_the_driver() {
    let mut stream = Stream::new(1, "log");
    for round in 0..200 {
        let mut entries: Vec<u32> = (0..20).map(|_| stream.below(60) as u32).collect();
        entries.push(60);
        entries.sort_unstable();
        let mean = 100.0 + 4000.0 * stream.uniform();
        let mut at = 0.0;
        let mut arrivals = Vec::new();
        while at < 300_000.0 {
            at += stream.exponential(mean);
            let size = if stream.chance(0.5) { 1500 } else { 40 + stream.below(1461) as u32 };
            arrivals.push((at as u64, size));
        }
        let end = at as u64 + 50_000;
        let wanted = model(&entries, &arrivals, 10, end);
        let service = service(&entries, true);
        let limit = Limit::packets(10);
        let exact = log(&service, limit, &arrivals, end, &mut || 0);
        assert_eq!(exact, wanted, "round {round}");
        let late = log(&service, limit, &arrivals, end, &mut || stream.below(3));
        assert_eq!(late, wanted, "round {round}, late");
        assert!(wanted.contains(" d ") || mean > 1500.0);
    }
}

#[test]
fn the_head_is_mahimahis() {
    let mut out = Vec::new();
    let names = LogHead {
        trace: "a/up".into(),
        command: "mm-link a/up b --uplink-log=l cmd\nx".into(),
        queue: "droptail [packets=250]".into(),
        config: Some("[delay 50 ms] ".into()),
    };
    let started = UNIX_EPOCH + std::time::Duration::from_micros(1_600_000_000_123_900);
    head(Direction::Up, &names, "l", started, &mut out);
    let wanted = "\
# mahimahi mm-link (Uplink) [a/up] > l
# command line: mm-link a/up b --uplink-log=l cmd x
# queue: droptail [packets=250]
# init timestamp: 1600000000123
# base timestamp: 0
# mahimahi config: [delay 50 ms] \n";
    assert_eq!(String::from_utf8_lossy(&out), wanted);
}

#[test]
fn a_full_disk_is_told_once() {
    let place = (Direction::Up, 0);
    let service = Service::constant(Rate::from_mbps(12.0));
    let log = MahimahiLog::create(Path::new("/dev/full"), LogHead::default(), place, &service);
    let mut log = log.expect("can be opened");
    testing::start(&mut log);
    let mut errors = Vec::new();
    for ms in 0..200_000 {
        let event = testing::event(Time::from_millis(ms), EventKind::Arrival, 1500);
        errors.extend(log.on_event(&testing::live(event, &[])).err());
    }
    errors.extend(log.finish(&testing::summary(Span::from_secs(200))).err());
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].kind(), io::ErrorKind::StorageFull);
}

/// Nanoseconds of the wall clock since 1970.
fn wall() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos()
}

const MILLISECOND: u128 = 1_000_000;
/// Packets of the test below: one in each fortieth of a millisecond.
const PACKETS: u128 = 40;

/// Sends packets through a link of 96 Mbit/s, each after the one before has arrived. Returns for each the wall
/// clock's times before it was written and after it was read, and the link's log.
fn packets_by_the_wall_clock() -> (Vec<[u128; 2]>, String) {
    let path = testing::file("wall-clock");
    let service = Service::constant(Rate::from_mbps(96.0));
    let link = Link::new(Box::new(Fifo::new(Limit::NONE)), service.clone());
    let up = Chain::new(vec![Element::Link(Box::new(link))]);
    let log = MahimahiLog::create(&path, LogHead::default(), (Direction::Up, 0), &service);
    let (inner, mut program) = SocketPort::pair(false).expect("sockets");
    let (outer, mut world) = SocketPort::pair(false).expect("sockets");
    let stop = EventFd::new().expect("an eventfd");
    let options = EmulatorOptions::default();
    let mut emulator = Emulator::new(inner, outer, up, Chain::new(Vec::new()), options);
    emulator.watch(Box::new(log.expect("a file")));
    let mut packet = vec![0; 100];
    (packet[0], packet[3], packet[9]) = (0x45, 100, 17);
    let times = std::thread::scope(|scope| {
        let running = scope.spawn(|| emulator.run(&[stop.as_fd()], &mut |_| Control::Stop));
        let end = Instant::now() + Duration::from_secs(60);
        let send = |part: u128| {
            // Packets are spread over the millisecond, whatever this machine's timers do.
            while wall() % MILLISECOND * PACKETS / MILLISECOND != part {
                std::hint::spin_loop();
            }
            let sent = wall();
            program.write(&[IoSlice::new(&packet)]).expect("room for one");
            while world.read(&mut [0; 200]).is_err() {
                assert!(Instant::now() < end, "a packet does not arrive");
                std::thread::yield_now();
            }
            [sent, wall()]
        };
        let times = (0..PACKETS).map(send).collect();
        stop.write(1).expect("a write");
        running.join().expect("no panic").expect("a run");
        times
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    std::fs::remove_file(&path).expect("removed");
    (times, text)
}

/// A packet arrives after it was written and has departed before it is read. The log has the whole millisecond
/// that each falls into. These bounds hold however long a thread waits for a processor.
#[test]
fn the_logs_times_are_the_wall_clocks() {
    // The emulator reads the two clocks one after the other, and knows their difference to that.
    const READING: u128 = 20_000;
    let (times, text) = packets_by_the_wall_clock();
    let begun = text.lines().find_map(|line| line.strip_prefix("# init timestamp: "));
    let begun: u128 = begun.expect("a head").parse().expect("milliseconds");
    let logged = |kind: &str| -> Vec<u128> {
        let lines = text.lines().filter(|line| line.split(' ').nth(1) == Some(kind));
        let ms = lines.filter_map(|line| line.split(' ').next()?.parse::<u128>().ok());
        ms.map(|ms| (begun + ms) * MILLISECOND).collect()
    };
    let (arrivals, departures) = (logged("+"), logged("-"));
    assert_eq!([arrivals.len(), departures.len()], [times.len(); 2], "{text}");
    for ((&[sent, seen], arrival), departure) in times.iter().zip(arrivals).zip(departures) {
        assert!(arrival + MILLISECOND + READING > sent, "{sent}, arrival {arrival}: {text}");
        assert!(departure <= seen + READING, "{seen}, departure {departure}: {text}");
    }
}
