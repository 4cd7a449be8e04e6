use paceline_cc::{
    Body, Capacity, Data, Ecn, LinkView, Packet, Rate, Router, Span, Stream, Time, TrafficClass,
};

use super::*;

const UP: Ecn = ACCELERATE;
const DOWN: Ecn = BRAKE;
const MS: Span = Span::from_millis(1);

/// A capacity of 12 Mbit/s, a packet per millisecond, until a moment; another rate from then on.
struct Steps(Time, f64);

impl Capacity for Steps {
    fn offered(&self, from: Time, to: Time) -> u64 {
        let by = |t: Time| {
            Rate::from_mbps(12.0).bytes_in(t.min(self.0).since(Time::ZERO))
                + Rate::from_mbps(self.1).bytes_in(t.since(self.0))
        };
        by(to) - by(from)
    }
}

const CONSTANT: Steps = Steps(Time::NEVER, 0.0);

fn packet(ecn: Ecn, abc: bool) -> Packet {
    let body = Body::Data(Data::default());
    let class = if abc { TrafficClass::EXPLICIT } else { TrafficClass::DEFAULT };
    Packet { ecn, class, body, ..Packet::opaque(1500) }
}

/// A router and its clock, which each packet advances by a millisecond.
struct Road {
    router: AbcRouter,
    capacity: Steps,
    now: Time,
}

impl Road {
    fn new(params: AbcParams) -> Road {
        Road { router: AbcRouter::new(&params), capacity: CONSTANT, now: Time::from_secs(1) }
    }

    /// Returns a link that serves opportunities and reports the unused ones.
    fn telling(params: AbcParams) -> Road {
        let mut road = Road::new(params);
        road.router.rates.idle.set_link_tells();
        road
    }

    fn depart(&mut self, mut packet: Packet, sojourn: Span, queue: u64) -> Ecn {
        self.now += MS;
        let (queue_packets, queue_bytes) = (queue as usize, 1500 * queue);
        let link = LinkView { capacity: &self.capacity, queue_packets, queue_bytes };
        self.router.on_departure(self.now, &mut packet, sojourn, &link);
        packet.ecn
    }

    fn arrive(&mut self, mut packet: Packet, queue: u64) {
        let (queue_packets, queue_bytes) = (queue as usize, 1500 * queue);
        let link = LinkView { capacity: &self.capacity, queue_packets, queue_bytes };
        self.router.on_arrival(self.now, &mut packet, &link);
    }

    /// Returns the marks of `n` packets, one per millisecond, as a string: `A` accelerates, `b`
    /// brakes.
    fn marks(&mut self, n: usize) -> String {
        let mark = |ecn| match ecn {
            UP => 'A',
            DOWN => 'b',
            _ => '?',
        };
        (0..n).map(|_| mark(self.depart(packet(UP, true), Span::ZERO, 0))).collect()
    }

    fn see(&self, name: &str) -> f64 {
        let mut value = f64::NAN;
        self.router.inspect(&mut |seen, v| {
            if seen == name {
                value = v;
            }
        });
        value
    }

    fn fraction(&self) -> f64 {
        self.see("accel_fraction")
    }
}

/// Returns the parameters of the paper's rule.
fn paper() -> AbcParams {
    AbcParams { credit: Credit::Target, ..AbcParams::default() }
}

fn code() -> AbcParams {
    AbcParams { token0: 5.0, ..AbcParams::default() }
}

#[test]
fn tokens_of_the_code() {
    let mut road = Road::telling(code());
    assert_eq!(road.marks(13), "AAAAAAAAAbAbA");
    let ups = road.marks(100_000).matches('A').count();
    assert!((ups as f64 / 1e5 - 0.49).abs() < 1e-3, "{ups}");
}

#[test]
fn tokens_of_the_paper() {
    // With eta = 1 the fraction is a half.
    let mut road = Road::telling(AbcParams { eta: 1.0, ..paper() });
    assert_eq!(road.marks(7), "bbAbAbA");
    // With as much capacity unused as used, the fraction is 1.
    let mut road = Road::telling(paper());
    let marks: String = (0..6)
        .map(|_| {
            road.router.on_unused(road.now, 3000);
            road.marks(1)
        })
        .collect();
    assert_eq!(marks, "bAAAAA");
    assert_eq!(road.fraction(), 1.0);
}

#[test]
fn the_fraction_falls_with_the_delay() {
    let with = |delay, x: u64| {
        let mut road = Road::telling(AbcParams { delay, ..paper() });
        road.marks(30);
        // The packet itself is a millisecond of the queue.
        road.depart(packet(UP, true), MS * x, x.saturating_sub(1));
        road.fraction()
    };
    for delay in [Delay::Sojourn, Delay::Estimate] {
        for x in [1, 20, 50] {
            assert!((with(delay, x) - 0.49).abs() < 1e-9);
        }
        assert!((with(delay, 116) - (0.49 - 0.5 * 66.0 / 133.0)).abs() < 1e-9);
        assert!(with(delay, 180) > 0.0);
        assert_eq!(with(delay, 181), 0.0);
        assert_eq!(with(delay, 5000), 0.0);
    }
    let mut road = Road::telling(code());
    road.marks(30);
    road.depart(packet(UP, true), Span::ZERO, 115);
    assert!((road.fraction() - (0.49 - 0.5 * 66.0 / 133.0)).abs() < 1e-9);
}

#[test]
fn an_outage_ends_with_one_packet_per_window() {
    let after = |queue| {
        let mut road = Road::telling(code());
        road.marks(100);
        road.now += Span::from_secs(3);
        road.depart(packet(UP, true), Span::ZERO, queue);
        assert!((road.see("capacity_mbps") - 0.6).abs() < 1e-9);
        assert_eq!(road.see("capacity_mbps"), road.see("dequeue_rate_mbps"));
        road.fraction()
    };
    assert!((after(1) - 0.49).abs() < 1e-9);
    assert!(after(2) < 0.49);
    assert!(after(8) > 0.0);
    assert_eq!(after(9), 0.0);
}

#[test]
fn unused_opportunities_count_once() {
    // Every second opportunity is unused: twice the rate is available.
    for (params, fraction) in [(paper(), 0.98), (code(), 0.49)] {
        let mut road = Road::telling(params);
        let mut ups = 0;
        for i in 0..4000 {
            let up = road.depart(packet(UP, true), Span::ZERO, 0) == UP;
            ups += usize::from(i >= 100 && up);
            road.now += MS;
            road.router.on_unused(road.now, 1500);
        }
        assert!((road.fraction() - fraction).abs() < 0.05, "{}", road.fraction());
        assert!((ups as f64 / 3900.0 - 0.98).abs() < 0.01, "{ups}");
        assert!(road.see("token") <= 5.0 + 0.49);
    }
}

#[test]
fn departures_and_unused_opportunities_make_abcs_share() {
    // ABC has half of a 12 Mbit/s link: of four opportunities, one carries an ABC packet and one
    // could have.
    for (params, fraction) in [(paper(), 0.98), (code(), 0.49)] {
        let mut road = Road::new(params);
        let mut ups = 0;
        for i in 0..4000 {
            ups += usize::from(road.depart(packet(UP, true), Span::ZERO, 0) == UP && i >= 100);
            for unused in [0, 1500, 0] {
                road.router.on_unused_share(road.now, unused);
                road.depart(packet(Ecn::NotEct, false), Span::ZERO, 0);
            }
            // The other queue never empties, so an arrival never finds an idle link.
            road.arrive(packet(UP, true), 0);
        }
        assert!((road.see("capacity_mbps") - 6.0).abs() < 0.7, "{}", road.see("capacity_mbps"));
        assert!((road.fraction() - fraction).abs() < 0.1, "{}", road.fraction());
        assert!((ups as f64 / 3900.0 - 0.98).abs() < 0.03, "{ups}");
    }
}

#[test]
fn a_silent_link_is_asked_for_its_capacity() {
    // A packet arrives every 2 ms at an empty queue.
    let mut road = Road::new(paper());
    for _ in 0..100 {
        road.now += MS;
        road.arrive(packet(UP, true), 0);
        road.now = road.now - MS;
        road.depart(packet(UP, true), Span::ZERO, 0);
        road.now += MS;
    }
    // 20 to 30 ms of idleness count only as far as they lie in the last window.
    assert!((road.see("dequeue_rate_mbps") - 6.0).abs() < 0.7);
    assert!((road.fraction() - 0.98).abs() < 0.06, "{}", road.fraction());
    road.now += Span::from_secs(5);
    road.arrive(packet(UP, true), 0);
    assert!((road.see("capacity_mbps") - 12.0).abs() < 0.7);
    // On a link that is never idle, capacity and rate are equal.
    let mut road = Road::new(paper());
    for _ in 0..100 {
        road.arrive(packet(UP, true), 3);
        road.depart(packet(UP, true), MS, 3);
    }
    assert!((road.fraction() - 0.49).abs() < 1e-9);
}

#[test]
fn an_arrival_during_the_last_transmission_finds_no_idle_link() {
    let mut road = Road::new(paper());
    road.marks(50);
    let before = road.see("capacity_mbps");
    road.now += Span::from_micros(900);
    road.arrive(packet(UP, true), 0);
    assert_eq!(road.see("capacity_mbps"), before);
}

#[test]
fn brakes_stay_brakes_and_cost_no_token() {
    let mut road = Road::telling(paper());
    for _ in 0..20 {
        assert_eq!(road.depart(packet(DOWN, true), Span::ZERO, 0), DOWN);
    }
    assert_eq!(road.see("token"), 5.0);
    assert_eq!(road.marks(3), "AAA");
}

#[test]
fn foreign_marks_and_packets_are_left_alone() {
    let mut road = Road::telling(paper());
    assert_eq!(road.depart(packet(Ecn::Ce, true), Span::ZERO, 0), Ecn::Ce);
    let rate = road.see("dequeue_rate_mbps");
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        assert_eq!(road.depart(packet(ecn, false), Span::ZERO, 0), ecn);
    }
    assert_eq!(road.depart(packet(Ecn::NotEct, true), Span::ZERO, 0), Ecn::NotEct);
    assert_eq!(road.see("dequeue_rate_mbps"), rate);
    // Bytes of other packets are not capacity for ABC.
    for silent in [false, true] {
        let mut road = Road::new(paper());
        if !silent {
            road.router.rates.idle.set_link_tells();
        }
        for i in 0..100 {
            road.arrive(packet(UP, i % 2 == 0), 1);
            road.depart(packet(UP, i % 2 == 0), MS, 1);
        }
        assert!((road.fraction() - 0.49).abs() < 1e-9);
        assert!((road.see("dequeue_rate_mbps") - 6.0).abs() < 0.7);
    }
}

#[test]
fn behind_proxies_a_brake_is_ce() {
    let mut road = Road::telling(AbcParams { proxied: true, eta: 1.0, ..paper() });
    let ecn: Vec<_> = [Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ect1]
        .into_iter()
        .map(|ecn| road.depart(packet(ecn, true), Span::ZERO, 0))
        .collect();
    // Tokens: 0.5, 1, 1.5 - 1, 1, 1.5 - 1.
    assert_eq!(ecn, [Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ce, Ecn::Ect1]);
}

#[test]
fn the_rate_may_be_that_of_arrivals() {
    let mut road = Road::telling(AbcParams { rate: Basis::Enqueue, ..paper() });
    for _ in 0..100 {
        road.arrive(packet(UP, true), 1);
        road.arrive(packet(UP, true), 1);
        road.depart(packet(UP, true), MS, 1);
    }
    assert!((road.fraction() - 0.245).abs() < 0.01, "{}", road.fraction());
    // No packet has arrived lately: every packet is to accelerate, and there is no division by
    // zero.
    road.now += Span::from_secs(1);
    road.marks(30);
    assert_eq!(road.fraction(), 1.0);
}

#[test]
fn who_knows_the_future_marks_a_round_trip_early() {
    let ahead = || AbcParams { lookahead: Span::from_millis(100), ..paper() };
    let mut plain = Road::telling(paper());
    assert_eq!(Road::telling(ahead()).marks(500), plain.marks(500));
    // At 1.3 s the rate doubles or halves.
    for (rate, fraction) in [(24.0, 0.98), (6.0, 0.245)] {
        let mut road = Road::telling(ahead());
        road.capacity = Steps(Time::from_millis(1300), rate);
        road.marks(200);
        assert!((road.fraction() - 0.49).abs() < 1e-3);
        road.marks(1);
        assert!((road.fraction() - 0.49).abs() > 1e-3);
        road.marks(20);
        assert!((road.fraction() - fraction).abs() < 1e-3, "{}", road.fraction());
    }
}

#[test]
fn anything_may_come() {
    for (key, params) in [
        ("target", AbcParams { lookahead: Span::from_millis(100), ..paper() }),
        ("unused", code()),
        ("enqueue", AbcParams { rate: Basis::Enqueue, proxied: true, ..paper() }),
        ("sojourn", AbcParams { delay: Delay::Sojourn, t: MS, ..code() }),
    ] {
        let mut random = Stream::new(3, key);
        let mut road = Road::new(params);
        for _ in 0..50_000 {
            let jump = [0, 10, 1000, 100_000, 10_000_000][random.below(5) as usize];
            road.now += Span::from_micros(random.below(jump + 1));
            let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][random.below(4) as usize];
            let abc = random.chance(0.8);
            let mut packet = packet(ecn, abc);
            packet.size = random.below(9000) as u32;
            let queue = random.below(4) * random.below(200);
            match random.below(5) {
                0 if random.chance(0.5) => {
                    road.router.on_unused_share(road.now, random.below(100_000) as u32);
                }
                0 => road.router.on_unused(road.now, random.below(100_000) as u32),
                1 | 2 => road.arrive(packet, queue),
                _ => {
                    let sojourn = Span::from_micros(random.below(5_000_000));
                    let after = road.depart(packet, sojourn, queue);
                    let same = after == ecn;
                    assert!(same || (ecn, after) == (UP, DOWN) || after == Ecn::Ce);
                    assert!(same || abc && ecn.is_capable());
                    let limit = if abc && ecn.is_capable() { 5.0 } else { f64::MAX };
                    assert!((0.0..=limit).contains(&road.see("token")));
                }
            }
            road.router.inspect(&mut |name, value| assert!(value.is_finite(), "{name}"));
            assert!((0.0..=1.0).contains(&road.fraction()));
        }
    }
}

#[test]
fn batches_tell_the_capacity_of_a_wifi_link() {
    use paceline_cc::Batch;
    let fractions = |params: AbcParams, frames: u32, queue: u64| {
        let mut road = Road::new(params);
        let (bytes, rate) = (frames * 1500, Rate::from_mbps(60.0));
        let batch = Batch {
            station: 0,
            frames,
            max_frames: 20,
            bytes,
            acked_bytes: bytes,
            air_bytes: bytes,
            rate,
        };
        // A batch takes 2 ms, and 200 us for each frame.
        let each = MS * 2 + Span::from_micros(200) * u64::from(frames);
        for _ in 0..50 {
            road.now += each;
            road.router.on_batch(road.now, &batch);
        }
        road.depart(packet(UP, true), Span::ZERO, queue);
        road.fraction()
    };
    let params = AbcParams { dt: MS * 20, ..AbcParams::default() };
    // Full batches: the capacity is the present rate, so half of 98 % stay accelerates.
    assert!((fractions(params.clone(), 20, 0) - 0.49).abs() < 1e-6);
    // Ten frames in 4 ms are 30 of 40 Mbit/s.
    assert!((fractions(params.clone(), 10, 0) - 0.49 * 40.0 / 30.0).abs() < 1e-6);
    // One frame in 2.2 ms: the estimate is capped at twice the rate.
    assert!((fractions(params.clone(), 1, 0) - 0.98).abs() < 1e-6);
    // 200 packets at 40 Mbit/s take 60 ms, and the departing one 0.3 ms.
    let late = 0.49 - 0.5 * (0.0603 - 0.02) / 0.133;
    assert!((fractions(params.clone(), 20, 200) - late).abs() < 1e-6);
    // The link itself reports 12 Mbit/s, whatever the batches show.
    let own = AbcParams { capacity: Source::Link, ..params };
    assert!((fractions(own.clone(), 20, 0) - fractions(own, 1, 0)).abs() < 1e-9);
}
