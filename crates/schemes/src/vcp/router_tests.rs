use paceline_cc::{
    Body, Capacity, Data, LinkView, Load, Packet, Rate, RcpHeader, Reporter, Router, Stream, Time,
};

use super::router::VcpRouter;
use super::*;

/// A capacity of a packet per millisecond until a moment, and of zero afterwards.
struct Until(Time);

impl Capacity for Until {
    fn offered(&self, from: Time, to: Time) -> u64 {
        Rate::from_mbps(12.0).bytes_in(to.min(self.0).since(from.min(self.0)))
    }
}

fn packet(number: u64, load: Load) -> Packet {
    let body = Body::Data(Data { number, header: Header::Vcp(load), ..Data::default() });
    Packet { body, ..Packet::opaque(1500) }
}

fn told(packet: &Packet) -> Load {
    match packet.body {
        Body::Data(Data { header: Header::Vcp(load), .. }) => load,
        _ => panic!("no header"),
    }
}

struct Road {
    router: VcpRouter,
    link: Until,
    packets: usize,
}

impl Road {
    fn new(text: &str) -> Road {
        let params = paceline_cc::Spec::parse(text).expect(text).params().expect(text);
        Road { router: VcpRouter::new(&params), link: Until(Time::NEVER), packets: 0 }
    }

    fn arrive(&mut self, ms: u64) {
        let (queue_packets, queue_bytes) = (self.packets, 1500 * self.packets as u64);
        let link = LinkView { capacity: &self.link, queue_packets, queue_bytes };
        self.router.on_arrival(Time::from_millis(ms), &mut packet(0, Load::Unknown), &link);
    }

    /// Lets a packet leave, with the other packets behind it.
    fn depart(&mut self, ms: u64) -> Load {
        let (queue_packets, queue_bytes) = (self.packets, 1500 * self.packets as u64);
        let link = LinkView { capacity: &self.link, queue_packets, queue_bytes };
        let mut packet = packet(0, Load::Unknown);
        self.router.on_departure(Time::from_millis(ms), &mut packet, Span::ZERO, &link);
        told(&packet)
    }

    /// Lets `count` packets arrive and leave within the 200 ms from `from` on.
    fn interval(&mut self, from: u64, count: u64) {
        for i in 0..count {
            self.arrive(from + i * 199 / count);
            self.depart(from + i * 199 / count);
        }
    }
}

#[test]
fn loads_are_shown_from_one_measurement_to_the_next() {
    let mut road = Road::new("vcp[variant=paper]");
    // The target is 196 packets of 200; 80 % of it are 156.8.
    for (from, count, expected) in [
        (0, 156, Load::Low),
        (200, 157, Load::High),
        (400, 195, Load::High),
        (600, 196, Load::Overload),
        (800, 300, Load::Overload),
        (1000, 0, Load::Low),
    ] {
        road.interval(from, count);
        let mut probe = Packet::opaque(0);
        let link = LinkView { capacity: &road.link, queue_packets: 0, queue_bytes: 0 };
        road.router.on_arrival(Time::from_millis(from + 200), &mut probe, &link);
        let load = road.router.load(Time::from_millis(from + 200));
        assert_eq!(load, expected, "{count}");
    }
}

#[test]
fn the_queue_is_sampled_and_smoothed() {
    let mut road = Road::new("vcp[variant=paper]");
    // 98 packets wait: a quarter of them counts with weight one half, as 6 % of the target.
    road.packets = 98;
    let mut see = |ms| {
        road.arrive(ms);
        let (mut load, mut queue) = (0.0, 0.0);
        road.router.inspect(&mut |name, value| match name {
            "load" => load = value,
            _ => queue = value,
        });
        (load, queue / 1500.0)
    };
    see(0);
    let (load, queue) = see(200);
    assert_eq!(queue, 24.5);
    assert!((load - (1.0 + 12.25) / 196.0).abs() < 1e-9, "{load}");
    let (_, queue) = see(1000);
    assert!((queue - 98.0 * (1.0 - 0.75f64.powi(5))).abs() < 1e-9, "{queue}");
    // The queue is filled for half of the samples of an interval, and empty for the other half.
    let mut road = Road::new("vcp[variant=paper,queue_weight=1]");
    road.packets = 100;
    road.arrive(0);
    road.arrive(100);
    road.packets = 0;
    road.arrive(200);
    road.router.inspect(&mut |name, value| {
        if name == "queue_bytes" {
            assert_eq!(value, 75_000.0);
        }
    });
}

#[test]
fn late_updates_equal_those_of_a_timer() {
    let (mut eager, mut lazy) = (Road::new("vcp[variant=paper]"), Road::new("vcp[variant=paper]"));
    for road in [&mut eager, &mut lazy] {
        road.packets = 40;
        road.interval(0, 190);
    }
    for ms in 200..3000 {
        let link = LinkView { capacity: &eager.link, queue_packets: 40, queue_bytes: 60_000 };
        eager.router.on_arrival(Time::from_millis(ms), &mut Packet::opaque(0), &link);
    }
    let both = |road: &mut Road| {
        let link = LinkView { capacity: &road.link, queue_packets: 40, queue_bytes: 60_000 };
        road.router.on_arrival(Time::from_millis(3000), &mut Packet::opaque(0), &link);
        let mut seen = Vec::new();
        road.router.inspect(&mut |_, value| seen.push(value));
        seen
    };
    assert_eq!(both(&mut eager), both(&mut lazy));
}

#[test]
fn an_outage_is_an_overload() {
    let mut road = Road::new("vcp[variant=paper]");
    road.interval(0, 100);
    road.link = Until(Time::from_millis(400));
    road.packets = 1;
    road.arrive(500);
    road.packets = 2;
    assert_eq!(road.depart(650), Load::Overload);
}

#[test]
fn the_highest_load_of_the_path_is_returned() {
    let mut overloaded = Road::new("vcp[variant=paper]");
    overloaded.interval(0, 300);
    let mut low = Road::new("vcp[variant=paper]");
    low.interval(0, 10);
    for order in [[true, false], [false, true]] {
        let mut packet = packet(3, Load::Unknown);
        for heavy in order {
            let road = if heavy { &mut overloaded } else { &mut low };
            let link = LinkView { capacity: &road.link, queue_packets: 0, queue_bytes: 0 };
            road.router.on_departure(Time::from_millis(201), &mut packet, Span::ZERO, &link);
        }
        assert_eq!(told(&packet), Load::Overload);
        let mut receiver = VcpReceiver::new(shown);
        receiver.on_arrival(Time::ZERO, &packet);
        assert_eq!(receiver.explicit(), 3);
    }
}

#[test]
fn other_headers_stay_as_they_are() {
    let header = Header::Rcp(RcpHeader { rtt: Span::ZERO, rate: Rate::from_mbps(1.0) });
    let body = Body::Data(Data { header, ..Data::default() });
    let mut packet = Packet { body, ..Packet::opaque(1500) };
    let mut road = Road::new("vcp[variant=paper]");
    let link = LinkView { capacity: &road.link, queue_packets: 0, queue_bytes: 0 };
    road.router.on_departure(Time::ZERO, &mut packet, Span::ZERO, &link);
    assert!(matches!(packet.body, Body::Data(Data { header: seen, .. }) if seen == header));
    assert_eq!(shown(&header), None);
}

#[test]
fn the_authors_rule_shows_overload_for_the_first_half() {
    let mut road = Road::new("vcp[variant=abc]");
    for ms in 1..=200 {
        road.arrive(ms);
        road.packets = 1;
        road.arrive(ms);
        road.packets = 1;
        assert_eq!(road.depart(ms), Load::Low);
        road.packets = 0;
        road.depart(ms);
    }
    // In the last 200 ms, twice as many packets have arrived as left.
    assert_eq!(road.depart(201), Load::Overload);
    assert_eq!(road.depart(301), Load::Overload);
    assert_eq!(road.depart(302), Load::High);
    assert_eq!(road.depart(401), Load::High);
}

#[test]
fn the_authors_rule_counts_packets_that_the_queue_accepts() {
    let load = |taken: bool| {
        let mut road = Road::new("vcp[variant=abc]");
        road.packets = 10;
        for ms in 1..=300 {
            road.arrive(ms);
            road.packets += taken as usize;
            if taken {
                road.packets -= 1;
                road.depart(ms);
            }
        }
        road.packets = 10;
        road.depart(301);
        let mut rho = 0.0;
        road.router.inspect(&mut |_, value| rho = value);
        rho
    };
    assert!(load(true) > 0.9);
    // Half of the queue counts, and the packet whose acceptance is not known yet.
    assert!(load(false) < 0.05, "{}", load(false));
}

#[test]
fn anything_may_come() {
    for text in ["vcp", "vcp[rule=authors]", "vcp[t_rho=1ms,t_q=10s]", "vcp[t_q=1ms,t_rho=10s]"] {
        let mut random = Stream::new(1, text);
        let mut road = Road::new(text);
        let mut now = 0;
        for _ in 0..20_000 {
            let magnitude = random.below(40);
            now += random.below(1 << magnitude);
            road.packets = random.below(1 << 20) as usize;
            road.link = Until(Time::from_millis(now.saturating_sub(random.below(900))));
            if random.chance(0.5) {
                road.arrive(now);
            } else {
                assert_ne!(road.depart(now), Load::Unknown);
            }
            road.router.inspect(&mut |name, value| assert!(!value.is_nan(), "{name}"));
        }
    }
}
