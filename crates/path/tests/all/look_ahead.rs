//! A look-ahead link behaves like the same link followed by the delay.

use paceline_cc::{Body, Data, Ecn, Packet, Rate, Span, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Counters, Limit, Link, LinkEvent, LookAheadLink, Pipe, Service};

fn packet(number: u64, size: u32) -> Packet {
    let body = Body::Data(Data { number, segment: number, ..Data::default() });
    Packet { body, ecn: Ecn::Ect0, ..Packet::opaque(size) }
}

/// The packets that came out, the counters, and the log.
#[derive(Debug, PartialEq)]
struct Seen {
    arrivals: Vec<(Time, u64, Time)>,
    counters: Counters,
    events: Vec<LinkEvent>,
}

/// The link under test, with the delay after it.
enum Stages {
    /// A link and a delay.
    Two(Box<(Link, Pipe)>),
    /// The look-ahead link that replaces both.
    One(Box<LookAheadLink>),
}

impl Stages {
    fn push(&mut self, now: Time, packet: &Packet) {
        match self {
            Stages::Two(both) => both.0.push(now, packet),
            Stages::One(link) => link.push(now, packet),
        }
    }

    /// Handles all events until `now`.
    fn advance(&mut self, now: Time, out: &mut Vec<(Time, u64, Time)>) {
        let mut place = Packet::opaque(0);
        let last: &mut dyn Stage = match self {
            Stages::Two(both) => {
                let (link, pipe) = &mut **both;
                while link.wake() <= now {
                    let at = link.wake();
                    while link.pop_into(at, &mut place) {
                        pipe.push(at, &place);
                    }
                }
                pipe
            }
            Stages::One(link) => &mut **link,
        };
        while last.wake() <= now {
            let at = last.wake();
            while last.pop_into(at, &mut place) {
                out.push((at, place.number(), place.queued));
            }
        }
    }
}

fn run(seed: u64, ahead: bool) -> Seen {
    let mut random = Stream::new(seed, "link ahead");
    let rate = Rate::from_bps(1 + random.below(20_000_000));
    let delay = Span::from_micros(random.below(3000));
    let limit = match random.below(3) {
        0 => Limit::packets(1 + random.below(20)),
        1 => Limit::bytes(100 + random.below(20_000)),
        _ => Limit::NONE,
    };
    let mut link = Link::new(Box::new(Fifo::new(limit)), Service::constant(rate));
    link.record(true);
    let mut stages = match ahead {
        true => {
            let ahead = LookAheadLink::new(&link, delay).expect("its departures are known");
            Stages::One(Box::new(ahead))
        }
        false => Stages::Two(Box::new((link, Pipe::new(delay)))),
    };
    let mut arrivals = Vec::new();
    let mut now = Time::ZERO;
    for number in 0..2000 {
        // Bursts, pauses, and arrivals exactly at a departure.
        now = match random.below(10) {
            0..5 => now,
            5..9 => now + Span::from_micros(random.below(3000)),
            _ => now + Span::from_millis(random.below(200)),
        };
        stages.advance(now, &mut arrivals);
        stages.push(now, &packet(number, 40 + 20 * random.below(74) as u32));
    }
    let end = now + Span::from_millis(20);
    stages.advance(end, &mut arrivals);
    let (counters, events) = match &mut stages {
        Stages::Two(both) => (both.0.counters(), both.0.log().events()),
        Stages::One(link) => {
            link.note_departures(end);
            (link.counters(), link.log().events())
        }
    };
    Seen { arrivals, counters, events: events.to_vec() }
}

#[test]
fn looking_ahead_changes_nothing() {
    for seed in 0..200 {
        let (plain, ahead) = (run(seed, false), run(seed, true));
        assert_eq!(plain.counters, ahead.counters, "seed {seed}");
        assert_eq!(plain.arrivals, ahead.arrivals, "seed {seed}");
        assert_eq!(plain.events, ahead.events, "seed {seed}");
        assert!(plain.counters.delivered_packets > 0);
    }
}

#[test]
fn only_links_that_know_their_future_look_ahead() {
    let rate = || Service::constant(Rate::from_mbps(1.0));
    let steps = [(Span::ZERO, Rate::from_mbps(1.0))];
    let schedule = Service::schedule(&steps, None).expect("valid");
    let can = |limit, service| {
        let link = Link::new(Box::new(Fifo::new(limit)), service);
        LookAheadLink::new(&link, Span::from_millis(1)).is_some()
    };
    let five = Limit::packets(5);
    assert!(can(five, rate()));
    assert!(!can(five, Service::constant(Rate::ZERO)) && !can(five, schedule));
    assert!(!can(Limit::sojourn(Span::from_millis(1)), rate()));
}
