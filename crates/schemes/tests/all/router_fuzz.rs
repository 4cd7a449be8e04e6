//! Every registered router and reporter, with its defaults and with every value of its choices,
//! with random traffic and hostile headers: no panic, no NaN left in a header, and equal results
//! for equal seeds.
//!
//! The budget is fixed; `PACELINE_FUZZ=100 cargo test -p paceline-schemes --test all router_fuzz` runs
//! a hundred times as long.

use std::collections::VecDeque;

use crate::common;
use paceline_cc::{
    Body, Capacity, Data, Ecn, Header, LinkView, Load, Packet, Rate, RcpHeader, Reporter, Router,
    RouterSetup, Setup, Span, Spec, SproutHeader, Stream, Time, TrafficClass, XcpHeader,
};

const EVENTS: u64 = 3000;
/// Number of events for Sprout, whose receiver computes for a millisecond after each long pause.
const FEWER_EVENTS: u64 = 700;

/// Further variants whose routers differ from the default's: in numbers, or in several choices.
const MORE: [&str; 6] = [
    "abc[credit=target,lookahead=100ms]",
    "xcp[capacity=12Mbps]",
    "xcpb[detect=counter,unit=bytes]",
    "xcpb[detect=empty,kappa=0,sample=boundary,count_drops=true]",
    "xcpw[rtt=0s]",
    "xcpw[alpha=2,beta=2,t=1ms]",
];

/// A link with a constant rate and outages: the second half of some seconds.
struct Patchy {
    rate: Rate,
    outages: bool,
}

impl Patchy {
    /// Returns the time without outages up to `time`.
    fn open(&self, time: Time) -> u64 {
        let nanos = time.as_nanos();
        if !self.outages {
            return nanos;
        }
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        seconds * 500_000_000 + rest.min(500_000_000)
    }
}

impl Capacity for Patchy {
    fn offered(&self, from: Time, to: Time) -> u64 {
        let span = self.open(to).saturating_sub(self.open(from));
        self.rate.bytes_in(Span::from_nanos(span))
    }
}

fn bits(random: &mut Stream) -> u64 {
    let magnitude = random.below(64);
    random.next_u64() >> magnitude
}

fn any_float(random: &mut Stream) -> f64 {
    match random.below(8) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => f64::MAX,
        4 => f64::from_bits(random.next_u64()),
        _ => (random.uniform() - 0.5) * 1e5,
    }
}

/// Returns a header as a well-behaved sender would write it, or an arbitrary one.
fn any_header(random: &mut Stream) -> Header {
    let hostile = random.chance(0.3);
    let span = |random: &mut Stream| match hostile {
        true => Span::from_nanos(bits(random)),
        false => Span::from_micros(random.below(200_000)),
    };
    match random.below(6) {
        0 => Header::None,
        1 | 2 => {
            let (rtt, interval) = (span(random), span(random));
            let feedback = if hostile { any_float(random) } else { 1e6 };
            Header::Xcp(XcpHeader { rtt, interval: interval / 20, feedback })
        }
        3 => Header::Rcp(RcpHeader { rtt: span(random), rate: Rate::from_bps(bits(random)) }),
        4 => Header::Vcp(
            [Load::Unknown, Load::Low, Load::High, Load::Overload][random.below(4) as usize],
        ),
        _ => Header::Sprout(SproutHeader {
            connection: random.below(3) as u32,
            offset: bits(random),
            throwaway: bits(random) as u32,
            time_to_next: bits(random) as u32,
        }),
    }
}

fn any_packet(random: &mut Stream, number: u64) -> Packet {
    let size = match random.below(20) {
        0 => random.next_u64() as u32,
        1 => 0,
        2..=5 => 64,
        _ => 1500,
    };
    let body = match random.below(10) {
        0 => Body::Opaque(7),
        1 => Body::Ack(Default::default()),
        _ => Body::Data(Data { number, header: any_header(random), ..Data::default() }),
    };
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][random.below(4) as usize];
    let class = if random.chance(0.5) { TrafficClass::EXPLICIT } else { TrafficClass::DEFAULT };
    Packet { class, ecn, body, ..Packet::opaque(size) }
}

/// Checks what the network has left in a packet: the kind of header is unchanged, and values are
/// numbers.
fn check(packet: &Packet, before: &Packet, place: &str) {
    let (Body::Data(after), Body::Data(before)) = (&packet.body, &before.body) else { return };
    match (&after.header, &before.header) {
        (Header::Xcp(after), Header::Xcp(before)) => {
            let told = after.feedback;
            // A router that does not know the header leaves it unchanged.
            let same = told.to_bits() == before.feedback.to_bits();
            assert!(same || told.is_finite(), "{place}: {before:?} became {after:?}");
        }
        (Header::Rcp(after), Header::Rcp(before)) => {
            assert!(after.rate <= before.rate, "{place}: {before:?} became {after:?}");
        }
        (Header::Vcp(after), Header::Vcp(before)) => {
            assert!(after >= before, "{place}: {before:?} became {after:?}");
        }
        (after, before) => {
            let kinds = [after, before].map(std::mem::discriminant);
            assert_eq!(kinds[0], kinds[1], "{place}: another kind of header");
        }
    }
}

/// Runs a router and a receiver behind it; returns their outputs.
fn drive(
    name: &str,
    seed: u64,
    mut router: Option<Box<dyn Router>>,
    mut reporter: Option<Box<dyn Reporter>>,
) -> Vec<u64> {
    let mut random = Stream::new(seed, name);
    let mut said = Vec::new();
    let rate = Rate::from_bps(bits(&mut random) >> 20);
    let link = Patchy { rate, outages: random.chance(0.5) };
    let mut queue: VecDeque<(Time, Packet)> = VecDeque::new();
    let mut now = Time::ZERO;
    let events = if name.starts_with("sprout") { FEWER_EVENTS } else { EVENTS };
    for step in 0..events {
        let place = format!("{name} seed {seed} step {step}");
        now += match random.below(60) {
            0 => Span::from_secs(random.below(1_000)),
            1 => Span::from_nanos(bits(&mut random) >> 10),
            2..=20 => Span::ZERO,
            _ => Span::from_micros(random.below(3_000)),
        };
        let view = |queue: &VecDeque<(Time, Packet)>| {
            (queue.len(), queue.iter().map(|(_, packet)| packet.size as u64).sum())
        };
        match random.below(10) {
            0..=4 => {
                let mut packet = any_packet(&mut random, step);
                let before = packet;
                let (queue_packets, queue_bytes) = view(&queue);
                let link = LinkView { capacity: &link, queue_packets, queue_bytes };
                if let Some(router) = &mut router {
                    router.on_arrival(now, &mut packet, &link);
                }
                check(&packet, &before, &place);
                if queue.len() < 100 && random.chance(0.95) {
                    queue.push_back((now, packet));
                }
            }
            5..=8 => {
                let Some((since, mut packet)) = queue.pop_front() else { continue };
                let before = packet;
                let (queue_packets, queue_bytes) = view(&queue);
                let link = LinkView { capacity: &link, queue_packets, queue_bytes };
                if let Some(router) = &mut router {
                    router.on_departure(now, &mut packet, now.since(since), &link);
                }
                check(&packet, &before, &place);
                said.push(packet.ecn as u64);
                if let Body::Data(data) = &packet.body
                    && let Header::Xcp(header) = &data.header
                {
                    said.push(header.feedback.to_bits());
                }
                if let Some(reporter) = &mut reporter {
                    if random.chance(0.5) && reporter.flushes(&packet) {
                        said.extend([reporter.explicit() as u64, reporter.echo() as u64]);
                    }
                    reporter.on_arrival(now, &packet);
                    if random.chance(0.5) {
                        said.extend([reporter.explicit() as u64, reporter.echo() as u64]);
                    }
                    if reporter.wake() <= now {
                        let clock = now + Span::from_secs(1234);
                        said.push(reporter.report(now, clock).is_some() as u64);
                    }
                }
            }
            _ => {
                // The queue drops a packet, or opportunities pass.
                if random.chance(0.3) {
                    queue.pop_front();
                } else if queue.is_empty()
                    && let Some(router) = &mut router
                {
                    router.on_unused(now, bits(&mut random) as u32);
                }
            }
        }
        if let Some(router) = &router {
            router.inspect(&mut |what, value| assert!(!value.is_nan(), "{place}: {what}"));
        }
    }
    said
}

#[test]
fn fuzz_keeps_headers_sane() {
    let budget = std::env::var("PACELINE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1u64);
    let more = MORE.map(|text| common::Variant { text: text.into(), seeds: 6 });
    for common::Variant { text, seeds } in common::variants(8, 3).into_iter().chain(more) {
        let spec = Spec::parse(&text).expect("a spec");
        let halves = paceline_schemes::registry::build(&spec).expect("a scheme");
        if halves.router.is_none() && halves.reporter.is_none() {
            continue;
        }
        for seed in 0..seeds * budget {
            let router = || halves.router.as_ref().map(|make| make(&RouterSetup::default()));
            let reporter = || halves.reporter.as_ref().map(|make| make(&Setup::default()));
            let first = drive(&text, seed, router(), reporter());
            assert!(!first.is_empty(), "{text}");
            if seed == 0 {
                assert_eq!(first, drive(&text, seed, router(), reporter()), "{text}");
            }
        }
    }
}
