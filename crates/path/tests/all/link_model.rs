//! Properties of random links under random traffic.

use crate::common::{packet, random_arrivals, random_link};
use paceline_cc::{Packet, Span, Stage, Stream, Time};
use paceline_path::{EventKind, Link, LinkEvent};

const END: Time = Time::from_secs(100_000);

/// Pops until no packet is due, and checks that the link's next wake-up is in the future.
fn collect(link: &mut Link, now: Time, out: &mut Vec<u64>) {
    while let Some(packet) = link.pop(now) {
        out.push(packet.number());
    }
    assert!(link.wake() > now, "{:?} at {now:?}", link.wake());
}

/// A driver that calls exactly when the link asks for it, before or after an arrival at the same
/// time.
fn timely(mut link: Link, arrivals: &[(Time, Packet)], first: bool) -> (Vec<u64>, Vec<LinkEvent>) {
    let mut out = Vec::new();
    link.record(true);
    for &(at, packet) in arrivals {
        while link.wake() < at || (first && link.wake() == at) {
            let now = link.wake();
            collect(&mut link, now, &mut out);
        }
        link.push(at, &packet);
        assert!(link.wake() >= at);
    }
    while link.wake() < END {
        let now = link.wake();
        collect(&mut link, now, &mut out);
    }
    (out, link.log().events().to_vec())
}

/// A driver that calls at irregular times, later than the link asks for.
fn late(
    mut link: Link,
    arrivals: &[(Time, Packet)],
    stream: &mut Stream,
) -> (Vec<u64>, Vec<LinkEvent>) {
    let mut out = Vec::new();
    link.record(true);
    for &(at, packet) in arrivals {
        if stream.chance(0.1) {
            collect(&mut link, at, &mut out);
        } else if stream.chance(0.2) {
            out.extend(link.pop(at).map(|packet| packet.number()));
        }
        link.push(at, &packet);
    }
    collect(&mut link, END, &mut out);
    (out, link.log().events().to_vec())
}

#[test]
fn late_pops_give_what_timely_ones_give() {
    for seed in 0..300 {
        let link = || random_link(&mut Stream::new(seed, "link"));
        let mut stream = Stream::new(seed, "traffic");
        let arrivals = random_arrivals(&mut stream, 400);
        let expected = timely(link(), &arrivals, true);
        assert_eq!(timely(link(), &arrivals, false), expected, "seed {seed}");
        assert_eq!(late(link(), &arrivals, &mut stream), expected, "seed {seed}");
        assert!(expected.1.windows(2).all(|pair| pair[0].time <= pair[1].time), "seed {seed}");
    }
}

#[test]
fn packets_are_conserved_and_stay_in_order() {
    for seed in 1000..1300 {
        let mut stream = Stream::new(seed, "conservation");
        let mut link = random_link(&mut stream);
        link.log_mut().keep_drops(true);
        let mut out = Vec::new();
        let mut drops = 0;
        for (at, packet) in random_arrivals(&mut stream, 500) {
            link.push(at, &packet);
            if stream.chance(0.5) {
                collect(&mut link, at, &mut out);
            }
            drops += link.log_mut().drain_drops().count() as u64;
            let counters = link.counters();
            assert_eq!(counters.dropped_packets(), drops, "seed {seed}");
            assert_eq!(
                counters.arrived_packets,
                counters.delivered_packets + drops + link.backlog_packets() as u64,
                "seed {seed}"
            );
            assert_eq!(counters.delivered_packets, (out.len() + link.uncollected()) as u64);
        }
        collect(&mut link, END, &mut out);
        assert!(out.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}");
    }
}

#[test]
fn the_log_and_the_counters_agree() {
    for seed in 2000..2100 {
        let mut stream = Stream::new(seed, "log");
        let mut link = random_link(&mut stream);
        link.record(true);
        let mut out = Vec::new();
        for (at, packet) in random_arrivals(&mut stream, 300) {
            link.push(at, &packet);
        }
        collect(&mut link, END, &mut out);
        let counters = link.counters();
        let sojourn = link.log().events().iter().filter_map(|event| match event.kind {
            EventKind::Departure { sojourn } => Some(sojourn),
            _ => None,
        });
        let sum = sojourn.clone().fold(Span::ZERO, |sum, sojourn| sum + sojourn);
        assert_eq!((sojourn.count() as u64, sum), (counters.delivered_packets, counters.sojourn));
        let count = |wanted: fn(&LinkEvent) -> bool| {
            link.log().events().iter().filter(|event| wanted(event)).count() as u64
        };
        let drops = count(|event| matches!(event.kind, EventKind::Drop { .. }));
        assert_eq!(drops, counters.dropped_packets());
        assert_eq!(count(|event| event.kind == EventKind::Arrival), counters.arrived_packets);
        // After the end of a trace, a marked packet may still be in the queue or in transmission.
        let marked = count(|event| event.marked);
        let seen = counters.marks + counters.ect0_marks;
        assert!(marked <= seen && seen <= marked + link.backlog_packets() as u64, "seed {seed}");
    }
}

#[test]
fn odd_calls_do_not_panic() {
    let times = [0, 1, 999_999, 1_000_000, 5_000_000_000, u64::MAX - 1, u64::MAX];
    for seed in 3000..3200 {
        let mut stream = Stream::new(seed, "odd");
        // Keep walks over unused opportunities short, because a router is told about each.
        let mut link = random_link(&mut stream);
        let span = if link.router().is_some() { 5 } else { times.len() as u64 };
        for number in 0..200 {
            let now = Time::from_nanos(times[stream.below(span) as usize]);
            match stream.below(3) {
                0 => {
                    let sizes = [0, 1, 1500, 65_535, u32::MAX];
                    let limit =
                        if link.router().is_some() { 4 } else { 4 + u64::from(number > 190) };
                    let size = sizes[stream.below(limit) as usize];
                    link.push(now, &packet(number, size, now));
                }
                1 => drop(link.pop(now)),
                _ => drop((link.wake(), link.counters())),
            }
        }
    }
}
