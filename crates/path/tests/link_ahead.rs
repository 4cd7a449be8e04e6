//! A link that looks ahead does what the same link and the delay behind it do one after the other.

use paceline_cc::{Body, Data, Ecn, Packet, Rate, Span, Stage, Stream, Time};
use paceline_path::{Counters, Limit, Link, LinkEvent, Pipe, Service};

fn packet(number: u64, size: u32) -> Packet {
    let body = Body::Data(Data { number, segment: number, ..Data::default() });
    Packet { body, ecn: Ecn::Ect0, ..Packet::opaque(size) }
}

/// What came out, what was counted, and what was logged.
#[derive(Debug, PartialEq)]
struct Seen {
    arrivals: Vec<(Time, u64, Time)>,
    counters: Counters,
    events: Vec<LinkEvent>,
}

/// Lets everything happen that is due up to `now`.
fn advance(link: &mut Link, pipe: &mut Option<Pipe>, now: Time, out: &mut Vec<(Time, u64, Time)>) {
    let mut place = Packet::opaque(0);
    loop {
        let behind = pipe.as_ref().map_or(Time::NEVER, Stage::wake);
        let next = link.wake().min(behind);
        if next > now || next == Time::NEVER {
            return;
        }
        // The link first: what it hands over may be due at once.
        if link.wake() == next {
            while link.pop_into(next, &mut place) {
                match pipe {
                    Some(pipe) => pipe.push(next, &place),
                    None => out.push((next, place.number(), place.queued)),
                }
            }
        }
        if let Some(pipe) = pipe {
            while pipe.pop_into(next, &mut place) {
                out.push((next, place.number(), place.queued));
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
    let queue = paceline_path::queue::Fifo::new(limit);
    let mut link = Link::new(Box::new(queue), Service::constant(rate));
    link.record(true);
    let mut pipe = None;
    if ahead {
        assert!(link.look_ahead(delay));
    } else {
        pipe = Some(Pipe::new(delay));
    }
    let mut arrivals = Vec::new();
    let mut now = Time::ZERO;
    for number in 0..2000 {
        // Bursts, pauses, and arrivals at the very moment of a departure.
        now = match random.below(10) {
            0..5 => now,
            5..9 => now + Span::from_micros(random.below(3000)),
            _ => now + Span::from_millis(random.below(200)),
        };
        advance(&mut link, &mut pipe, now, &mut arrivals);
        link.push(now, &packet(number, 40 + 20 * random.below(74) as u32));
    }
    let end = now + Span::from_millis(20);
    advance(&mut link, &mut pipe, end, &mut arrivals);
    link.note_departures(end);
    Seen { arrivals, counters: link.counters(), events: link.events().to_vec() }
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
    let fifo = || Box::new(paceline_path::queue::Fifo::new(Limit::packets(5)));
    let delay = Span::from_millis(1);
    assert!(!Link::new(fifo(), Service::constant(Rate::ZERO)).look_ahead(delay));
    let steps = [(Span::ZERO, Rate::from_mbps(1.0))];
    let schedule = Service::schedule(&steps, None).expect("valid");
    assert!(!Link::new(fifo(), schedule).look_ahead(delay));
    let stale = Box::new(paceline_path::queue::Fifo::new(Limit::sojourn(delay)));
    assert!(!Link::new(stale, Service::constant(Rate::from_mbps(1.0))).look_ahead(delay));
    assert!(Link::new(fifo(), Service::constant(Rate::from_mbps(1.0))).look_ahead(delay));
}
