use std::cell::Cell;
use std::sync::{Arc, Mutex};

use paceline_cc::{Header, Rate, Span, Spec, Stage, Stream, TrafficClass};
use paceline_ip::packet::TCP;
use paceline_path::queue::{Fifo, build};
use paceline_path::{Impairments, Limit, Link, Loss, OpportunityOptions, Pipe, Port, Service};
use paceline_trace::Trace;
use paceline_wifi::{AccessPoint, Ht, MediumConfig, Phy};

use super::*;
use crate::element::Element;
use crate::observe::Observer;
use crate::summary::Summary;
use crate::testing::{FixedClock, ListDevice};
use paceline_testing::packets::{PacketSpec, header_is_right};

const MEMORY: usize = 1 << 26;

fn link(queue: &str, service: Service) -> Link {
    let spec = Spec::parse(queue).expect("a queue");
    let stream = Stream::new(1, "queue");
    Link::new(build(&spec, Limit::packets(100), stream).expect("a queue"), service)
}

fn trace(times: Vec<u32>) -> Service {
    let trace = Trace::new("test", times).expect("a trace");
    Service::trace(trace, OpportunityOptions::default()).expect("a service")
}

/// A lossy, jittery way, then a link under CoDel.
fn way() -> (Pipe, Link) {
    let impairments = Impairments { loss: Loss::Bernoulli(0.02), ..Impairments::default() };
    let stream = Stream::new(5, "way");
    let pipe = Pipe::with_impairments(Span::from_micros(3217), impairments, stream);
    let times = (0..400).flat_map(|i| [i * 3, i * 3, i * 3 + i % 3]).collect();
    (pipe.expect("a pipe"), link("codel", trace(times)))
}

/// One lane between two lists, and the time.
struct Bench {
    lane: Lane,
    from: ListDevice,
    to: ListDevice,
    clock: FixedClock,
    watchers: Watchers,
}

impl Bench {
    fn new(elements: Vec<Element>, header: bool) -> Bench {
        Bench {
            lane: Lane::new(Direction::Up, Chain::new(elements), MEMORY),
            from: ListDevice::new(header),
            to: ListDevice::new(header),
            clock: FixedClock(Cell::new(Time::ZERO)),
            watchers: Watchers::default(),
        }
    }

    fn watch(&mut self, observer: impl Observer + 'static) {
        self.watchers.add(Box::new(observer));
        self.lane.record(true);
    }

    /// The emulator gets round to its work at this time.
    fn turn(&mut self, now: Time) -> DeviceState {
        self.clock.0.set(now);
        let health = self.lane.release(now, &mut self.to, &self.clock);
        self.lane.settle(now, &mut self.watchers);
        while self.lane.receive(&mut self.from, &self.clock).0 == DeviceState::Open {}
        health
    }

    /// A packet comes at this time, and is let in.
    fn push(&mut self, now: Time, piece: Vec<u8>) {
        self.from.incoming.push_back(piece);
        self.turn(now);
    }

    /// Goes on until nothing is left to do.
    fn finish(&mut self) {
        for _ in 0..100_000 {
            let wake = self.lane.wake();
            if wake == Time::NEVER {
                break;
            }
            self.turn(wake.max(self.clock.now()));
        }
        self.turn(self.clock.now() + Span::from_secs(1));
        assert_eq!(self.lane.pool.packets(), 0, "bytes were kept");
    }
}

type ObservedEvents = Arc<Mutex<Vec<(usize, paceline_path::LinkEvent, Time, Vec<u8>)>>>;

/// Writes everything down, and fails after a number of events if there is one.
struct RecordingObserver {
    told: ObservedEvents,
    fails_at: usize,
    finished: Arc<Mutex<Vec<String>>>,
}

impl RecordingObserver {
    fn new(fails_at: usize) -> (RecordingObserver, ObservedEvents) {
        let told = ObservedEvents::default();
        (RecordingObserver { told: told.clone(), fails_at, finished: Default::default() }, told)
    }
}

impl Observer for RecordingObserver {
    fn name(&self) -> String {
        "observer".into()
    }
    fn wants_bytes(&self) -> bool {
        true
    }
    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        let mut told = self.told.lock().expect("not poisoned");
        if told.len() == self.fails_at {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        told.push((event.stage, event.event, event.actual, event.bytes.to_vec()));
        Ok(())
    }
    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        self.finished.lock().expect("not poisoned").extend(summary.errors.iter().cloned());
        Ok(())
    }
}

/// Times and sizes of 3000 arrivals, at first more than the link carries.
fn arrivals() -> Vec<(Time, usize)> {
    let mut stream = Stream::new(8, "arrivals");
    let mut now = 0.0;
    let mut next = |i: u64| {
        now += stream.exponential(if i < 2000 { 250_000.0 } else { 900_000.0 });
        (Time::from_nanos(now as u64), 60 + stream.below(1400) as usize)
    };
    (0..3000).map(&mut next).collect()
}

/// What the stages do when they are asked at the right times only.
fn ideal(arrivals: &[(Time, usize)]) -> Vec<(Time, u32)> {
    let (mut pipe, mut link) = way();
    let mut out = Vec::new();
    let mut run = |pipe: &mut Pipe, link: &mut Link, until: Time| {
        loop {
            let next = pipe.wake().min(link.wake());
            if next > until || next == Time::NEVER {
                return;
            }
            if let Some(packet) = link.pop(next) {
                out.push((next, packet.size));
            } else if let Some(packet) = pipe.pop(next) {
                link.push(next, &packet);
            }
        }
    };
    for &(at, payload) in arrivals {
        run(&mut pipe, &mut link, at);
        pipe.push(at, &Packet::opaque(payload as u32 + 28));
    }
    run(&mut pipe, &mut link, Time::from_secs(100));
    out
}

#[test]
fn packets_leave_when_they_leave_in_the_simulator() {
    let arrivals = arrivals();
    let ideal = ideal(&arrivals);
    assert!((1500..2950).contains(&ideal.len()), "{}", ideal.len());
    // However seldom the emulator gets round to its work.
    for lag in [0, 50_000, 7_000_000] {
        let (pipe, link) = way();
        let elements = vec![Element::Pipe(Box::new(pipe)), Element::Link(Box::new(link))];
        let mut bench = Bench::new(elements, false);
        let (observer, told) = RecordingObserver::new(usize::MAX);
        bench.watch(observer);
        for &(at, payload) in &arrivals {
            // Between arrivals it works late, or not at all.
            let late = bench.lane.wake() + Span::from_nanos(lag);
            if late < at {
                bench.turn(late.max(bench.clock.now()));
            }
            bench.push(at, PacketSpec::UDP4.build(&vec![0; payload], false));
        }
        bench.finish();
        let told = told.lock().expect("not poisoned");
        let left = told.iter().filter(|(stage, event, ..)| {
            *stage == 1 && matches!(event.kind, EventKind::Departure { .. })
        });
        let left: Vec<_> = left.map(|(_, event, ..)| (event.time, event.size)).collect();
        assert_eq!(left, ideal, "late by {lag} ns");
        assert_eq!(bench.to.written.len(), ideal.len());
        for stage in 0..2 {
            let times: Vec<_> =
                told.iter().filter(|event| event.0 == stage).map(|event| event.1.time).collect();
            assert!(times.is_sorted(), "events of element {stage}");
        }
        assert!(told.iter().all(|(_, event, actual, bytes)| {
            *actual >= event.time && bytes.len() == event.size as usize
        }));
    }
}

#[test]
fn an_access_point_transmits_as_in_the_simulator() {
    let medium = || {
        let config = MediumConfig::new(Phy::ht(Ht::default()), 1, Rate::ZERO);
        let random = Stream::new(1, "medium");
        let access_point = AccessPoint::new(config, Vec::new(), &random).expect("legal");
        let port = Port::new(Box::new(Fifo::new(Limit::packets(20))));
        access_point.medium(port.into()).expect("legal")
    };
    let mut alone = medium();
    let mut bench = Bench::new(vec![Element::AccessPoint(Box::new(medium()))], false);
    let (observer, told) = RecordingObserver::new(usize::MAX);
    bench.watch(observer);
    // A burst every 50 ms, of which the port holds 20 packets.
    for at in (0..10).map(|burst| Time::from_millis(50 * burst)) {
        for _ in 0..60 {
            alone.push(at, &Packet::opaque(1228));
            bench.push(at, PacketSpec::UDP4.build(&[0; 1200], false));
        }
    }
    // Also checks that the bytes of dropped packets are given back.
    bench.finish();
    let mut expected = Vec::new();
    while alone.wake() != Time::NEVER {
        let at = alone.wake();
        expected.extend(alone.pop(at).map(|_| at));
    }
    let told = told.lock().expect("not poisoned");
    let departures = told.iter().filter_map(|(_, event, ..)| match event.kind {
        EventKind::Departure { .. } => Some(event.time),
        _ => None,
    });
    assert_eq!(departures.collect::<Vec<_>>(), expected);
    assert_eq!(bench.to.written.len(), expected.len());
    let summary = bench.lane.chain.summaries(Time::from_secs(1));
    assert_eq!(summary[0].counters, alone.counters(0));
    assert!(summary[0].counters.dropped_full > 100 && summary[0].offered_bytes > 0);
}

#[test]
fn a_large_piece_is_as_many_packets_and_is_written_as_few() {
    let like = PacketSpec { protocol: TCP, ecn: Ecn::Ect0, ..PacketSpec::UDP4 };
    let piece = like.piece(&vec![3; 14_480], 1448);
    // Enough for three packets at once, then for one.
    let service = trace(vec![1, 1, 1, 2, 3, 3, 3, 3, 3, 3]);
    let mut bench = Bench::new(vec![Element::Link(Box::new(link("droptail", service)))], true);
    bench.push(Time::ZERO, piece.clone());
    for ms in 1..4 {
        bench.turn(Time::from_millis(ms));
    }
    let counts = &bench.lane.counts;
    assert_eq!((counts.received_packets, counts.sent_packets), (10, 10));
    assert_eq!(counts.received_bytes, 10 * 1500);
    let payloads: Vec<_> = bench.to.written.iter().map(|piece| piece.len() - 10 - 52).collect();
    assert_eq!(payloads, [3 * 1448, 1448, 6 * 1448]);
    bench.turn(Time::from_millis(5));
    assert_eq!(bench.lane.pool.packets(), 0);
    // When nothing holds it, it is written as it was read.
    let mut bench = Bench::new(Vec::new(), true);
    bench.push(Time::ZERO, piece.clone());
    bench.finish();
    assert_eq!(bench.to.written, [piece]);
}

/// Marks the third and the fourth of every six packets.
struct MarkingRouter(u32);

impl paceline_cc::Router for MarkingRouter {
    fn on_departure(
        &mut self,
        _: Time,
        packet: &mut Packet,
        _: Span,
        _: &paceline_cc::LinkView<'_>,
    ) {
        self.0 += 1;
        if matches!(self.0 % 6, 3 | 4) && packet.class == TrafficClass::EXPLICIT {
            packet.ecn = Ecn::Ce;
        }
    }
}

#[test]
fn marks_are_written_into_the_header() {
    for (ipv4, header) in [(true, true), (true, false), (false, true), (false, false)] {
        let link = Link::new(Box::new(Fifo::new(Limit::NONE)), trace(vec![1]));
        let link = link.with_router(Box::new(MarkingRouter(0)));
        let mut bench = Bench::new(vec![Element::Link(Box::new(link))], header);
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::NotEct, Ecn::NotEct, Ecn::NotEct] {
            let like = PacketSpec { ipv4, ecn, ..PacketSpec::UDP4 };
            let packet = if header { like.piece(&[1; 50], 0) } else { like.build(&[1; 50], false) };
            bench.push(Time::ZERO, packet);
        }
        bench.finish();
        let skipped = if header { 10 } else { 0 };
        let fields = bench.to.written.iter().map(|piece| {
            let packet = &piece[skipped..];
            assert!(!ipv4 || header_is_right(packet));
            parse(packet).expect("a packet").ecn
        });
        let fields: Vec<_> = fields.collect();
        let (one, two) = (Ecn::Ect0, Ecn::Ect1);
        assert_eq!(fields, [one, two, Ecn::Ce, Ecn::NotEct, Ecn::NotEct, Ecn::NotEct]);
    }
}

/// Grants every second packet no feedback, and counts the congestion headers that it sees.
struct SparseFeedbackRouter(Arc<Mutex<u32>>);

impl paceline_cc::Router for SparseFeedbackRouter {
    fn on_departure(
        &mut self,
        _: Time,
        packet: &mut Packet,
        _: Span,
        _: &paceline_cc::LinkView<'_>,
    ) {
        if let Body::Data(data) = &mut packet.body
            && let Header::Xcp(header) = &mut data.header
        {
            let mut seen = self.0.lock().expect("not poisoned");
            *seen += 1;
            if seen.is_multiple_of(2) {
                header.feedback = 0.0;
            }
        }
    }
}

#[test]
fn routers_find_congestion_headers_and_what_they_write_leaves() {
    let rtt = Span::from_millis(100);
    let datagram = |feedback: f64| {
        let header = Header::Xcp(paceline_cc::XcpHeader { rtt, interval: rtt / 10, feedback });
        let mut bytes = vec![5; 1000];
        paceline_wire::packet::Transport::write(1, 2, &header, &mut bytes).expect("room");
        bytes
    };
    for header in [true, false] {
        let seen = Arc::new(Mutex::new(0));
        let service = Service::constant(Rate::from_mbps(1e6));
        let link = Link::new(Box::new(Fifo::new(Limit::NONE)), service);
        let link = link.with_router(Box::new(SparseFeedbackRouter(seen.clone())));
        let mut bench = Bench::new(vec![Element::Link(Box::new(link))], header);
        let (observer, told) = RecordingObserver::new(usize::MAX);
        bench.watch(observer);
        let four: Vec<u8> = (0..4).flat_map(|_| datagram(500.0)).collect();
        let piece = PacketSpec::UDP4.piece(&four, 1000);
        match header {
            true => bench.push(Time::ZERO, piece),
            false => (0..4).for_each(|_| {
                bench.push(Time::ZERO, PacketSpec::UDP4.build(&datagram(500.0), false));
            }),
        }
        // Somebody else's packet.
        let other = PacketSpec::UDP4.build(&[0x42; 1000], false);
        let other = if header { PacketSpec::UDP4.piece(&[0x42; 1000], 0) } else { other };
        bench.push(Time::ZERO, other.clone());
        bench.finish();
        assert_eq!(*seen.lock().expect("not poisoned"), 4);
        let skipped = if header { 10 } else { 0 };
        let written: Vec<_> =
            bench.to.written.iter().map(|piece| piece[skipped + 28..].to_vec()).collect();
        let (full, none) = (datagram(500.0), datagram(0.0));
        assert_eq!(written[..4], [full.clone(), none.clone(), full, none.clone()]);
        assert_eq!(bench.to.written[4], other);
        // Observers see what left.
        let told = told.lock().expect("not poisoned");
        let left = told.iter().filter(|event| {
            matches!(event.1.kind, EventKind::Departure { .. }) && event.3[28..] == none
        });
        assert_eq!(left.count(), 2);
    }
}

#[test]
fn marked_segments_are_written_singly() {
    let like = PacketSpec { protocol: TCP, ecn: Ecn::Ect0, ..PacketSpec::UDP4 };
    let link = Link::new(Box::new(Fifo::new(Limit::NONE)), Service::constant(Rate::from_mbps(1e6)));
    let link = link.with_router(Box::new(MarkingRouter(0)));
    let mut bench = Bench::new(vec![Element::Link(Box::new(link))], true);
    bench.push(Time::ZERO, like.piece(&[3; 8000], 1000));
    bench.turn(Time::from_secs(1));
    let written = bench.to.written.iter().map(|piece| {
        let parsed = parse(&piece[10..]).expect("a packet");
        (parsed.ecn, (parsed.length - 52) / 1000)
    });
    let (no, ce) = (Ecn::Ect0, Ecn::Ce);
    assert_eq!(written.collect::<Vec<_>>(), [(no, 2), (ce, 1), (ce, 1), (no, 4)]);
}

#[test]
fn what_is_no_packet_is_counted_and_what_is_large_passes() {
    let mut bench = Bench::new(Vec::new(), false);
    let large = PacketSpec::UDP4.build(&vec![7; 65_000], false);
    for piece in [vec![0; 1], vec![0x45; 19], vec![0x60; 40], vec![0xff; 65_535], large.clone()] {
        bench.push(Time::ZERO, piece);
    }
    bench.finish();
    assert_eq!(bench.lane.counts.malformed, 4);
    assert_eq!(bench.to.written, [large]);
}

#[test]
fn an_outage_of_an_hour_is_sat_out() {
    let mut bench = Bench::new(
        vec![Element::Link(Box::new(link("droptail", trace(vec![1, 3_600_001]))))],
        false,
    );
    let packet = PacketSpec::UDP4.build(&[0; 1472], false);
    for _ in 0..2 {
        bench.push(Time::ZERO, packet.clone());
    }
    bench.turn(Time::from_millis(1));
    assert_eq!(bench.to.written.len(), 1);
    assert_eq!(bench.lane.wake(), Time::from_millis(3_600_001));
    bench.finish();
    assert_eq!(bench.to.written.len(), 2);
    assert_eq!(bench.lane.lateness.summary().max, Span::ZERO);
}

#[test]
fn ten_thousand_flows_are_told_apart() {
    let spec = Spec::parse("fq_codel[flows=65536,limit=40000]").expect("a queue");
    let queue = build(&spec, Limit::NONE, Stream::new(1, "queue")).expect("a queue");
    let link = Link::new(queue, Service::constant(Rate::from_mbps(10_000.0)));
    let mut bench = Bench::new(vec![Element::Link(Box::new(link))], false);
    for _ in 0..2 {
        for port in 0..10_000 {
            // As much as a flow may send in its turn.
            bench
                .push(Time::ZERO, PacketSpec { port, ..PacketSpec::UDP4 }.build(&[0; 1486], false));
        }
    }
    bench.finish();
    assert_eq!(bench.to.written.len(), 20_000);
    // Some flows share a queue by chance; all others had their turn before anybody's second.
    let port = |packet: &Vec<u8>| u16::from_be_bytes([packet[20], packet[21]]);
    let mut ports: Vec<_> = bench.to.written[..10_000].iter().map(port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert!(ports.len() > 9000, "{}", ports.len());
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_run() {
    let mut bench = Bench::new(Vec::new(), false);
    let (observer, told) = RecordingObserver::new(5);
    let finished = observer.finished.clone();
    bench.watch(observer);
    let (other, all) = RecordingObserver::new(usize::MAX);
    bench.watch(other);
    for ms in 0..50 {
        bench.push(Time::from_millis(ms), PacketSpec::UDP4.build(&[0; 40], false));
    }
    bench.finish();
    assert_eq!(bench.to.written.len(), 50);
    assert_eq!(told.lock().expect("not poisoned").len(), 5);
    assert_eq!(all.lock().expect("not poisoned").len(), 100);
    let summary = Summary {
        started: std::time::SystemTime::now(),
        duration: Span::ZERO,
        waited: None,
        never_began: false,
        ended: crate::EndReason::Stopped,
        lateness: Default::default(),
        bound: Span::ZERO,
        late: false,
        cpu: Span::ZERO,
        up: bench.lane.summary(Time::ZERO, Span::from_millis(1)),
        down: DirectionSummary::default(),
        simulated: Vec::new(),
        errors: Vec::new(),
    };
    let summary = bench.watchers.finish(summary);
    assert_eq!(summary.errors.len(), 1);
    assert!(summary.errors[0].contains("observer") && summary.errors[0].contains("space"));
    assert_eq!(*finished.lock().expect("not poisoned"), summary.errors);
}

#[test]
fn a_device_that_is_full_loses_nothing() {
    let mut bench = Bench::new(Vec::new(), false);
    let (observer, told) = RecordingObserver::new(usize::MAX);
    bench.watch(observer);
    bench.to.errors.extend([libc::EAGAIN, libc::ENOBUFS, libc::ENOMEM]);
    bench.push(Time::ZERO, PacketSpec::UDP4.build(&[0; 40], false));
    let mut ms = 0;
    while bench.to.written.is_empty() {
        ms += 1;
        bench.turn(Time::from_millis(ms));
        assert!(ms < 10);
    }
    assert_eq!(bench.lane.lateness.summary().max, Span::from_millis(4));
    // The log tells when it was really written.
    let told = told.lock().expect("not poisoned");
    assert_eq!(
        told.last().map(|event| (event.1.time, event.2)),
        Some((Time::ZERO, Time::from_millis(4)))
    );
}

#[test]
fn a_packet_that_is_refused_is_counted_and_a_closed_device_told() {
    let mut bench = Bench::new(Vec::new(), false);
    bench.to.errors.extend([libc::EINVAL, libc::EIO]);
    for _ in 0..3 {
        bench.push(Time::ZERO, PacketSpec::UDP4.build(&[0; 40], false));
    }
    assert_eq!(bench.turn(Time::from_millis(1)), DeviceState::Open);
    assert_eq!((bench.lane.counts.refused, bench.to.written.len()), (2, 1));
    bench.push(Time::from_millis(2), PacketSpec::UDP4.build(&[0; 40], false));
    bench.to.errors.push_back(libc::EBADFD);
    assert_eq!(bench.turn(Time::from_millis(3)), DeviceState::Closed);
}

#[test]
fn packets_that_arrive_twice_are_written_twice() {
    let impairments = Impairments { duplicate: 1.0, ..Impairments::default() };
    let pipe = Pipe::with_impairments(Span::ZERO, impairments, Stream::new(1, "twice"));
    let mut bench = Bench::new(vec![Element::Pipe(Box::new(pipe.expect("a pipe")))], false);
    for ms in 0..10 {
        bench.push(Time::from_millis(ms), PacketSpec::UDP4.build(&[ms as u8; 40], false));
    }
    bench.finish();
    assert_eq!(bench.to.written.len(), 20);
    assert!(bench.to.written.as_chunks::<2>().0.iter().all(|[one, two]| one == two));
}

#[test]
fn no_memory_is_counted() {
    let mut bench = Bench::new(vec![Element::Pipe(Box::new(Pipe::new(Span::from_secs(1))))], false);
    bench.lane.pool = Pool::new(200_000);
    for _ in 0..200 {
        bench.push(Time::ZERO, PacketSpec::UDP4.build(&[0; 1000], false));
    }
    bench.finish();
    let counts = &bench.lane.counts;
    assert!(counts.no_memory > 100 && counts.sent_packets > 40);
    assert_eq!(counts.no_memory + counts.sent_packets, 200);
}
