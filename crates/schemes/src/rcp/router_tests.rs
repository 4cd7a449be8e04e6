use paceline_cc::{
    Body, Capacity, Data, Header, LinkView, Load, Packet, RcpHeader, Reporter, Router, Stream, Time,
};

use super::*;

const MS: Span = Span::from_millis(1);
/// A packet per millisecond.
const C: f64 = 12.0;

/// A capacity of this rate until a moment, and of zero afterwards.
struct Until(Time, Rate);

impl Capacity for Until {
    fn offered(&self, from: Time, to: Time) -> u64 {
        self.1.bytes_in(to.min(self.0).since(from.min(self.0)))
    }
}

fn always(mbps: f64) -> Until {
    Until(Time::NEVER, Rate::from_mbps(mbps))
}

fn packet(number: u64, header: Header) -> Packet {
    let body = Body::Data(Data { number, header, ..Data::default() });
    Packet { body, ..Packet::opaque(1500) }
}

fn asking(rtt_ms: u64) -> Header {
    let rate = Rate::from_bps(u64::MAX);
    Header::Rcp(RcpHeader { rtt: Span::from_millis(rtt_ms), rate })
}

fn granted(packet: &Packet) -> Rate {
    match packet.body {
        Body::Data(Data { header: Header::Rcp(header), .. }) => header.rate,
        _ => panic!("no header"),
    }
}

/// A router on a link whose queue the test sets.
struct Road {
    router: RcpRouter,
    link: Until,
    queue: u64,
}

impl Road {
    fn new(text: &str) -> Road {
        let params = paceline_cc::Spec::parse(text).expect(text).params().expect(text);
        Road { router: RcpRouter::new(&params), link: always(C), queue: 0 }
    }

    fn arrive(&mut self, now: Time, packet: &mut Packet) {
        let packets = (self.queue / 1500) as usize;
        let link =
            LinkView { capacity: &self.link, queue_packets: packets, queue_bytes: self.queue };
        self.router.on_arrival(now, packet, &link);
    }

    fn depart(&mut self, now: Time, packet: &mut Packet, sojourn: Span) {
        let packets = (self.queue / 1500) as usize;
        let link =
            LinkView { capacity: &self.link, queue_packets: packets, queue_bytes: self.queue };
        self.router.on_departure(now, packet, sojourn, &link);
    }

    /// For `ms` milliseconds from `from` on, a packet arrives every `every` milliseconds and leaves
    /// at once.
    fn load(&mut self, from: u64, ms: u64, every: u64) {
        for at in (from..from + ms).step_by(every as usize) {
            let mut packet = packet(at, asking(100));
            self.arrive(Time::from_millis(at), &mut packet);
            self.depart(Time::from_millis(at), &mut packet, Span::ZERO);
        }
    }

    /// Returns the rate at `ms`, after a packet of another kind has made the router update it.
    fn rate_at(&mut self, ms: u64) -> f64 {
        let mut other = Packet::opaque(0);
        self.arrive(Time::from_millis(ms), &mut other);
        self.router.rate().as_mbps()
    }
}

#[test]
fn an_unused_link_raises_the_rate_by_half_per_rtt() {
    let mut road = Road::new("rcp[initial_rate=1Mbps]");
    assert!((road.rate_at(99) - 1.0).abs() < 1e-5);
    assert!((road.rate_at(100) - 1.5).abs() < 1e-5);
    assert!((road.rate_at(299) - 2.25).abs() < 1e-5);
    assert!((road.rate_at(300) - 3.375).abs() < 1e-5);
}

#[test]
fn late_updates_equal_those_of_a_timer() {
    let (mut eager, mut lazy) = (Road::new("rcp"), Road::new("rcp"));
    eager.queue = 3000;
    lazy.queue = 3000;
    for ms in 0..5000 {
        eager.rate_at(ms);
    }
    assert_eq!(eager.rate_at(5000), lazy.rate_at(5000));
    // Until it leaves, the departing packet waits in the queue.
    let mut leaving = packet(0, asking(0));
    lazy.queue = 1500;
    lazy.depart(Time::from_millis(7000), &mut leaving, MS);
    assert_eq!(eager.rate_at(7000), lazy.router.rate().as_mbps());
    // Years of silence are evaluated at once.
    eager.queue = 0;
    assert!((eager.rate_at(1 << 40) - 0.95 * C).abs() < 1e-5);
}

#[test]
fn a_link_used_as_aimed_at_keeps_its_rate() {
    // 19 packets in 20 ms: 95 %.
    let mut road = Road::new("rcp[initial_rate=7Mbps]");
    let mut number = 0;
    for ms in 0..1000u64 {
        if ms % 20 == 19 {
            continue;
        }
        number += 1;
        let mut packet = packet(number, asking(100));
        road.arrive(Time::from_millis(ms), &mut packet);
        road.depart(Time::from_millis(ms), &mut packet, Span::ZERO);
        assert!((granted(&packet).as_mbps() - 7.0).abs() < 1e-4);
    }
}

#[test]
fn half_of_the_traffic_raises_by_a_quarter_and_twice_halves() {
    let mut road = Road::new("rcp[initial_rate=1Mbps,eta=1]");
    road.load(0, 100, 2);
    assert!((road.rate_at(100) - 1.25).abs() < 1e-5);
    let mut road = Road::new("rcp[initial_rate=8Mbps,eta=1]");
    road.load(0, 100, 1);
    road.load(0, 100, 1);
    assert!((road.rate_at(100) - 4.0).abs() < 1e-4);
}

#[test]
fn traffic_without_headers_counts() {
    let mut road = Road::new("rcp[initial_rate=8Mbps,eta=1]");
    for ms in 0..100 {
        for _ in 0..2 {
            road.arrive(Time::from_millis(ms), &mut Packet::opaque(1500));
        }
    }
    assert!((road.rate_at(100) - 4.0).abs() < 1e-4);
}

#[test]
fn the_rate_starts_at_a_share_and_stays_within_bounds() {
    let mut road = Road::new("rcp");
    // A packet per RTT.
    assert!((road.rate_at(1) - 0.12).abs() < 1e-5);
    assert!((road.rate_at(100) - 0.05 * C * 1.5).abs() < 1e-5);
    assert!((road.rate_at(9_900) - 0.95 * C).abs() < 1e-5);
    road.link = Until(Time::from_secs(9), Rate::from_mbps(C));
    assert!((road.rate_at(9_999) - 0.95 * C).abs() < 1e-5);
    road.queue = 1500;
    assert!((road.rate_at(10_000) - 0.12).abs() < 1e-5);
    let mut floored = Road::new("rcp[floor=2Mbps,initial_rate=1Mbps]");
    assert_eq!(floored.rate_at(1), 2.0);
}

#[test]
fn rtts_of_headers_set_the_pace() {
    let mut road = Road::new("rcp[initial_rate=1Mbps,rtt=100ms]");
    let see = |road: &Road| {
        let mut d0 = 0.0;
        road.router.inspect(&mut |name, value| d0 = if name == "d0_ms" { value } else { d0 });
        d0
    };
    // Headers without an RTT do not change the mean.
    road.arrive(Time::ZERO, &mut packet(0, asking(0)));
    road.rate_at(100);
    assert_eq!(see(&road), 100.0);
    for ms in 100..2100 {
        road.arrive(Time::from_millis(ms), &mut packet(ms, asking(400)));
    }
    road.rate_at(2100);
    assert!((see(&road) - 400.0).abs() < 10.0, "{}", see(&road));
    for ms in 2100..9100 {
        road.arrive(Time::from_millis(ms), &mut packet(ms, asking(20)));
    }
    road.rate_at(9100);
    assert!((see(&road) - 20.0).abs() < 5.0, "{}", see(&road));
}

/// An outage of 20 s: its packets report an RTT of 20 s, later ones 100 ms.
#[test]
fn the_floor_forgets_an_outage_at_once_and_d0_within_its_length() {
    let mut road = Road::new("rcp");
    road.load(0, 10_000, 1);
    road.link = Until(Time::from_secs(10), Rate::from_mbps(C));
    road.queue = 15_000;
    for ms in 10_000..10_010 {
        road.arrive(Time::from_millis(ms), &mut packet(ms, asking(20_000)));
    }
    // A packet per two of the smallest RTTs and the 10 ms that the queue waits at the last capacity.
    let floor = 1500.0 * 8.0 / 0.21 / 1e6;
    assert!((road.rate_at(30_000) - floor).abs() < 1e-4, "{} {floor}", road.rate_at(30_000));
    road.link = always(C);
    road.queue = 0;
    for ms in (30_000..41_000).step_by(200) {
        road.arrive(Time::from_millis(ms), &mut packet(ms, asking(100)));
        assert!(road.router.rate().as_mbps() >= floor - 1e-4);
    }
    assert!(road.rate_at(42_000) > 0.9 * C, "{}", road.rate_at(42_000));
}

#[test]
fn the_smallest_rate_of_the_path_is_returned() {
    let rates = ["rcp[initial_rate=5Mbps]", "rcp[initial_rate=3Mbps]", "rcp[initial_rate=4Mbps]"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let mut packet = packet(1, asking(100));
        for at in order {
            Road::new(rates[at]).depart(Time::from_millis(1), &mut packet, Span::ZERO);
        }
        assert_eq!(granted(&packet), Rate::from_mbps(3.0));
        let mut receiver = RcpReceiver::new(super::receiver::granted);
        assert_eq!(receiver.explicit(), 0);
        receiver.on_arrival(Time::ZERO, &packet);
        assert_eq!(receiver.explicit(), 30_000);
        assert_eq!(receiver.explicit(), 30_000);
    }
}

#[test]
fn packets_that_come_late_and_other_schemes_are_not_returned() {
    let of = |number, kbps: u64| {
        let rate = Rate::from_bps(kbps * 1000);
        packet(number, Header::Rcp(RcpHeader { rtt: Span::ZERO, rate }))
    };
    let mut receiver = RcpReceiver::new(super::receiver::granted);
    let mut say = |packet: &Packet| {
        receiver.on_arrival(Time::ZERO, packet);
        receiver.explicit()
    };
    assert_eq!(say(&of(7, 500)), 5000);
    assert_eq!(say(&of(6, 900)), 5000);
    assert_eq!(say(&packet(8, Header::Vcp(Load::High))), 5000);
    assert_eq!(say(&packet(9, Header::None)), 5000);
    assert_eq!(say(&of(10, 600)), 6000);
    assert_eq!(say(&packet(11, asking(1))), u32::MAX);
    assert_eq!(say(&of(12, 0)), 1);
}

#[test]
fn the_authors_rule_follows_departures() {
    let mut road = Road::new("rcp[rule=authors]");
    let mut grants = Vec::new();
    let mut go = |road: &mut Road, from: u64, to: u64, sojourn: u64| {
        for ms in from..to {
            let mut packet = packet(ms, asking(0));
            road.arrive(Time::from_millis(ms), &mut packet);
            road.depart(Time::from_millis(ms), &mut packet, Span::from_millis(sojourn));
            grants.push(granted(&packet).as_mbps());
        }
    };
    // 100 packets of 100 opportunities, aiming at 95: 1 - 0.5 * 5/95, every 101 ms.
    go(&mut road, 1, 302, 0);
    let step = 1.0 - 0.5 * 5.0 / 95.0;
    for (ms, expected) in
        [(100, 6.0), (101, 6.0 * step), (201, 6.0 * step), (202, 6.0 * step * step)]
    {
        assert!((grants[ms - 1] - expected).abs() < 1e-4, "{ms}: {} {expected}", grants[ms - 1]);
    }
    // An outage of 10 s does not change the rate; then it is evaluated once.
    let before = road.router.rate();
    road.arrive(Time::from_millis(9_000), &mut packet(9, asking(0)));
    assert_eq!(road.router.rate(), before);
    let mut last = packet(10, asking(0));
    road.depart(Time::from_millis(10_400), &mut last, Span::from_millis(1400));
    assert_ne!(granted(&last), before);
    let mut d0 = 0.0;
    road.router.inspect(&mut |name, value| d0 = if name == "d0_ms" { value } else { d0 });
    assert_eq!(d0, 1500.0);
}

#[test]
fn the_authors_rule_has_its_own_bounds() {
    let mut road = Road::new("rcp[rule=authors]");
    assert_eq!(road.router.rate(), Rate::from_mbps(6.0));
    road.queue = 1_000_000;
    road.depart(Time::from_millis(500), &mut packet(0, asking(0)), Span::ZERO);
    assert_eq!(road.router.rate(), Rate::from_mbps(0.6));
    road.queue = 0;
    for tenths in 10..200 {
        road.depart(Time::from_millis(tenths * 101), &mut packet(0, asking(0)), Span::ZERO);
    }
    assert!(road.router.rate().as_mbps() > 12_000.0);
    assert!(road.router.rate().as_mbps() < 12_600.0);
}

#[test]
fn hostile_headers_and_hours_do_no_harm() {
    for rule in ["rcp", "rcp[rule=authors]", "rcp[t=1ms,rtt=1ms,floor=100Gbps]"] {
        for seed in 0..10 {
            let mut random = Stream::new(seed, rule);
            let mut road = Road::new(rule);
            let mut now = Time::ZERO;
            for _ in 0..3000 {
                let magnitude = random.below(50);
                now += Span::from_nanos(random.below(1 << magnitude));
                road.queue = random.below(1 << 40);
                road.link = Until(now - MS * random.below(200), Rate::from_mbps(C));
                let magnitude = random.below(64);
                let rtt = Span::from_nanos(random.below(1 << magnitude) * 2);
                let rate = Rate::from_bps(random.below(1 << magnitude) * 2);
                let header = match random.below(3) {
                    0 => Header::None,
                    _ => Header::Rcp(RcpHeader { rtt, rate }),
                };
                let mut packet = packet(random.below(99), header);
                packet.size = random.below(1 << 32) as u32;
                if random.chance(0.5) {
                    road.arrive(now, &mut packet);
                } else {
                    road.depart(now, &mut packet, Span::from_nanos(random.below(1 << magnitude)));
                    if header != Header::None {
                        assert!(granted(&packet) <= rate);
                    }
                }
                assert!(road.router.rate() > Rate::ZERO);
                road.router.inspect(&mut |name, value| assert!(value.is_finite(), "{name}"));
            }
        }
    }
}
