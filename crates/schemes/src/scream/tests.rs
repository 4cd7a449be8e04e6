//! Vectors computed by hand from the draft and from RFC 8298, and whole senders over a link.

use paceline_cc::{Congestion, Controller, Ecn, Fate, Outgoing, Stream, Time};

use super::frames::NewFrame;
use super::marked_share::MarkedShare;
use super::queue_delay::QueueDelay;
use super::rate_v1::{RateV1, Sums};
use super::rate_v2::RateV2;
use super::trend::Trend;
use super::window_v1::{Event, WindowV1};
use super::window_v2::{Acked, WindowV2};
use super::*;
use crate::testing::{Acks, MSS, problem};

fn near(figure: f64, expected: f64) {
    assert!((figure - expected).abs() < 1e-6 * expected.abs().max(1.0), "{figure}, not {expected}");
}

fn v2() -> ScreamParams {
    ScreamParams::default()
}

fn v1() -> ScreamParams {
    ScreamParams::variant("v1").expect("a variant")
}

/// An acknowledgement at `ms` of `bytes` bytes with an RTT of 25 ms, with much in flight.
fn acked(ms: u64, bytes: f64) -> Acked {
    Acked {
        now: Time::from_millis(ms),
        srtt: Span::from_millis(25),
        qdelay: 0.0,
        qdelay_target: 0.06,
        bytes,
        marked_bytes: 0.0,
        packets: 1,
        marked: 0,
        has_loss: false,
        in_flight: 1e9,
        target: 1e6,
        is_report: true,
    }
}

/// A window of 15 000 bytes, ten packets, that has met no congestion, at 1 s.
fn window_v2() -> WindowV2 {
    let params = ScreamParams { min_window: 15_000, ..v2() };
    let mut window = WindowV2::new(&params, MSS);
    window.update(&params, &acked(1000, 0.0));
    assert_eq!(window.ref_wnd(), 15_000.0);
    window
}

/// Draft: rises by 1/8 of the difference, falls by 1/128 of itself.
#[test]
fn the_share_of_marks_rises_fast_and_falls_slowly() {
    let mut share = MarkedShare::default();
    let mut count = |ms: u64, packets| {
        share.count(&v2(), Time::from_millis(ms), Span::from_millis(25), packets);
        share.l4s_alpha()
    };
    near(count(100, (10, 5)), 0.0625);
    // Not within 10 ms.
    near(count(105, (5, 0)), 0.0625);
    near(count(110, (5, 0)), 0.0625 * 127.0 / 128.0);
    near(count(120, (4, 4)), 0.0625 * 127.0 / 128.0 * 0.875 + 0.125);
}

/// Draft, "Reference Window Increase": a packet per RTT, and 2 % of the window more.
#[test]
fn the_reference_window_grows_by_a_packet_per_rtt_and_two_per_cent() {
    // A packet is a tenth of the window: 1500 · 0.1 · (1 + 0.02 · 10).
    let mut window = window_v2();
    window.update(&v2(), &acked(1010, 1500.0));
    near(window.ref_wnd(), 15_180.0);
    // At half the virtual RTT half as much.
    let mut window = window_v2();
    let short = Acked { srtt: Span::from_micros(12_500), ..acked(1010, 1500.0) };
    window.update(&v2(), &short);
    near(window.ref_wnd(), 15_090.0);
    // Marked bytes do not count. A mark ends the 2 %, and is a reaction of its own once per virtual RTT.
    let mut window = window_v2();
    let marked = Acked { marked_bytes: 750.0, marked: 1, ..acked(1010, 1500.0) };
    window.update(&v2(), &marked);
    near(window.ref_wnd(), 15_075.0);
    // The window grows neither beyond 1.5 times the bytes in flight and a packet, nor at the largest rate.
    let mut window = WindowV2::new(&ScreamParams { min_window: 15_000, ..v2() }, MSS);
    window.update(&v2(), &Acked { in_flight: 8_999.0, ..acked(1010, 1500.0) });
    assert_eq!(window.ref_wnd(), 15_000.0);
    let mut window = window_v2();
    window.update(&v2(), &Acked { target: 30e6, ..acked(1010, 1500.0) });
    assert_eq!(window.ref_wnd(), 15_000.0);
}

/// Draft, "Reference Window Reduction".
#[test]
fn the_reference_window_is_reduced_once_per_virtual_rtt() {
    let reduced = |params: &ScreamParams, event: Acked| {
        let mut window = window_v2();
        window.update(params, &Acked { bytes: 0.0, ..event });
        window.ref_wnd()
    };
    let lost = Acked { has_loss: true, ..acked(1030, 0.0) };
    near(reduced(&v2(), lost), 10_500.0);
    let marked = Acked { marked: 1, ..acked(1030, 0.0) };
    let classic = ScreamParams { ecn: EcnMode::Classic, ..v2() };
    near(reduced(&classic, marked), 12_000.0);
    // L4S: all packets marked gives an average of 1/8, of which the half is the reduction.
    near(reduced(&v2(), marked), 15_000.0 * (1.0 - 0.0625));
    // An RTT of 100 ms has four reductions.
    let long = Acked { srtt: Span::from_millis(100), ..marked };
    let long = Acked { now: Time::from_millis(1200), ..long };
    near(reduced(&v2(), long), 15_000.0 * (1.0 - 0.0625 / 4.0));
    // At most once in 25 ms.
    let mut window = window_v2();
    for ms in [1030, 1040, 1050] {
        window.update(&v2(), &Acked { has_loss: true, ..acked(ms, 0.0) });
    }
    near(window.ref_wnd(), 10_500.0);
    window.update(&v2(), &acked(1056, 0.0));
    near(window.ref_wnd(), 7_350.0);
}

/// Draft, "Detecting Increased Queue Delay": from half the target on, up to a half at the target. The average follows a
/// rise by a quarter.
#[test]
fn queueing_delay_counts_as_marks() {
    let mut window = window_v2();
    // 180 ms once are 45 ms on average: (45 - 30) / 30 = 0.5, of which the half is the reduction.
    window.update(&v2(), &Acked { qdelay: 0.18, ..acked(1030, 0.0) });
    near(window.ref_wnd(), 15_000.0 * 0.75);
    // A fall counts at once.
    window.update(&v2(), &Acked { qdelay: 0.02, ..acked(1060, 0.0) });
    near(window.ref_wnd(), 15_000.0 * 0.75);
}

/// Near the window at which congestion was met, growth and reductions are a quarter or less.
#[test]
fn the_inflection_point_slows_growth() {
    let mut window = window_v2();
    near(window.distance(), 1.0);
    window.update(&v2(), &Acked { has_loss: true, ..acked(1030, 0.0) });
    // (8 · (10 500 - 15 000) / 15 000)² = 5.76.
    near(window.distance(), 1.0);
    // 10 500 bytes: a packet of 1500 bytes at 30 ms after congestion, of 100 RTTs: 0.012 · 0.02 · 7.
    window.update(&v2(), &acked(1055, 1500.0));
    let increment = 1500.0 * 1500.0 / 10_500.0 * (1.0 + 0.02 * 7.0 * 0.01);
    near(window.ref_wnd(), 10_500.0 + increment);
}

/// Draft, "Send Window Calculation": 3 windows while the delay is steady, 1.5 at the limit of its deviation.
#[test]
fn a_varying_delay_lowers_the_overhead() {
    let mut window = window_v2();
    near(window.deviation_limit(), 0.05);
    near(window.overhead(&v2()), 3.0);
    // Deviations are capped at 1.5 times the limit, and a sample weighs 1/64.
    window.update(&v2(), &Acked { qdelay: 0.025, ..acked(1030, 0.0) });
    near(window.steadiness(), 1.0 - 0.075 / 64.0 / 0.05);
    for ms in 2..2000 {
        window.update(&v2(), &Acked { qdelay: 0.025, ..acked(1000 + 30 * ms, 0.0) });
    }
    near(window.overhead(&v2()), 1.5);
    // A larger window has a larger limit.
    let large = WindowV2::new(&ScreamParams { min_window: 150_000, ..v2() }, MSS);
    near(large.deviation_limit(), 0.09);
}

/// Draft, "Media Rate Control" and "Packet Pacing".
#[test]
fn the_rate_is_the_window_per_rtt_with_deductions() {
    let window = window_v2();
    let mut rate = RateV2::new(&v2(), &window, MSS.into());
    let target = |rate: &mut RateV2, params: &ScreamParams, ms: u64| {
        rate.update(params, &window, Span::from_millis(ms), MSS.into());
        rate.target()
    };
    // 8 · 15 000 / 0.1 · 1500 / 1520 / 1.2.
    near(target(&mut rate, &v2(), 100), 986_842.105);
    near(rate.pacing(&v2()), 1.5 * 986_842.105);
    // At 90 % of the largest rate pacing is twice as fast, at all of it four times.
    let limited = ScreamParams { max_rate: Rate::from_bps(1_096_491), ..v2() };
    near(target(&mut rate, &limited, 100), 986_842.105);
    assert!((rate.pacing(&limited) / (2.0 * 1.5 * 986_842.105) - 1.0).abs() < 1e-4);
    let limited = ScreamParams { max_rate: Rate::from_bps(500_000), ..v2() };
    near(target(&mut rate, &limited, 100), 500_000.0);
    near(rate.pacing(&limited), 4.0 * 750_000.0);
    // Data that has waited for a period and a quarter: 1/16 more.
    target(&mut rate, &v2(), 100);
    let frame = NewFrame { size: 0, queue_age: 0.05 };
    rate.on_frame(&frame, 0.04);
    near(target(&mut rate, &v2(), 100), 1_200_000.0 * 1500.0 / 1520.0 / 1.2625);
    // Three packets in the window: 20 % less, as a packet is a third of it.
    let small = WindowV2::new(&ScreamParams { min_window: 4500, ..v2() }, MSS);
    rate = RateV2::new(&v2(), &small, MSS.into());
    near(rate.target(), 8.0 * 4500.0 / 0.05 * 0.8 * 1500.0 / 1520.0 / 1.2);
}

/// RFC 8298 §4.1.2.2: the window follows the off-target term as in LEDBAT; in fast increase it grows by the acknowledged
/// bytes.
#[test]
fn version_1_follows_the_delay_target() {
    let calm = |ms: u64| Acked { qdelay_target: 0.1, ..acked(ms, 1500.0) };
    let mut window = WindowV1::new(&ScreamParams { min_window: 15_000, ..v1() }, MSS);
    let mut update = |acked: Acked| (window.update(&v1(), &acked), window.cwnd());
    assert_eq!(update(calm(1000)), (Event::None, 16_500.0));
    // Not if less than two thirds of it are in flight.
    assert_eq!(update(Acked { in_flight: 9_000.0, ..calm(1010) }).1, 16_500.0);
    assert_eq!(update(Acked { has_loss: true, ..calm(1100) }), (Event::Loss, 13_200.0));
    // Once per RTT. At half the target: 0.5 · 1500 · 1500 / 13 200.
    let (event, cwnd) = update(Acked { has_loss: true, qdelay: 0.05, ..calm(1110) });
    assert_eq!(event, Event::None);
    near(cwnd, 13_285.227273);
    // At twice the target it falls by as much as it grows at none.
    near(update(Acked { qdelay: 0.2, ..calm(1111) }).1, 13_285.227273 - 169.361047);
    assert!(!window.is_in_fast_increase());
    let marked = Acked { marked: 1, ..calm(1200) };
    let mut window = WindowV1::new(&ScreamParams { min_window: 30_000, ..v1() }, MSS);
    assert_eq!(window.update(&v1(), &marked), Event::Mark);
    near(window.cwnd(), 27_000.0);
    // Five calm seconds later it is in fast increase again.
    for ms in (1201..6300).step_by(10) {
        window.update(&v1(), &calm(ms));
    }
    assert!(window.is_in_fast_increase());
}

/// RFC 8298 §4.1.2.1.
#[test]
fn the_trend_sees_a_delay_that_rises() {
    let mut steady = Trend::default();
    let mut rising = Trend::default();
    for step in 0..40 {
        steady.update(Time::from_millis(50 * step), 0.5);
        rising.update(Time::from_millis(50 * step), step as f64 / 40.0);
    }
    assert!(rising.get() > 0.2 && rising.memory() >= rising.get(), "{}", rising.get());
    let mut flat = Trend::default();
    (0..40).for_each(|step| flat.update(Time::from_millis(50 * step), 0.0));
    assert_eq!(flat.get(), 0.0);
}

/// RFC 8298 §4.1.3.
#[test]
fn version_1_ramps_the_rate_up_and_cuts_it() {
    let params = ScreamParams { min_rate: Rate::from_bps(1_000_000), ..v1() };
    let window = WindowV1::new(&params, MSS);
    let mut rate = RateV1::new(&params);
    let made = |ms: u64| {
        // 2 Mbit/s all along.
        let bytes = ms * 250;
        Sums { sent: bytes, acked: bytes, made: bytes }
    };
    let mut update = |ms: u64, event: Event, waiting: u64| {
        let now = Time::from_millis(ms);
        rate.update(&params, now, (event, &window), made(ms), waiting);
        rate.target()
    };
    near(update(0, Event::None, 0), 1e6);
    // 200 kbit/s per second for 200 ms, in fast increase.
    near(update(200, Event::None, 0), 1.04e6);
    near(update(300, Event::None, 0), 1.04e6);
    near(update(400, Event::None, 0), 1.08e6);
    near(update(500, Event::Loss, 0), 1e6);
    // Near the last largest rate a fifth of it: (4 · (1 - 1.08) / 1.08)² = 0.088.
    near(update(600, Event::None, 0), 1.008e6);
}

/// The base delay is forgotten after a queue that never empties, and the rate is halved until it has.
#[test]
fn a_standing_queue_ends_in_a_new_base_delay() {
    let mut qdelay = QueueDelay::new();
    let srtt = Span::from_millis(100);
    let mut step = |index: u64, transit: u64| {
        let sent = Time::from_millis(100 * index);
        let received = sent + Span::from_millis(transit) + Span::from_secs(777);
        let fate = Fate::new(index, MSS, sent, 0, false).with(|fate| fate.received = received);
        let now = sent + Span::from_millis(transit + 50);
        qdelay.on_arrival(now, &fate);
        let delay = qdelay.get();
        qdelay.end_round(now, srtt, 0.06);
        (delay, qdelay.is_draining(now))
    };
    assert_eq!(step(1, 50), (0.0, false));
    // 40 ms over it: the average of the smallest passes 15 ms after 256 · ln(40 / 25) = 120 round trips.
    let drained = (2..400).find(|&index| step(index, 90).1).expect("drains");
    assert!((115..130).contains(&drained), "{drained}");
    // Then 90 ms is the base delay, until a smaller one is seen.
    assert_eq!(step(drained + 10, 90).0, 0.0);
    assert_eq!(step(drained + 11, 100).0, 0.01);
}

#[test]
fn variants_differ_in_code_points_and_needs() {
    let plan = |text: &str| {
        let spec = paceline_cc::Spec::parse(text).expect(text);
        let halves = crate::registry::build(&spec).expect(text);
        (halves.controller)(&paceline_cc::Setup::default()).plan()
    };
    assert_eq!(plan("scream").ecn, Ecn::Ect1);
    assert_eq!(plan("scream[variant=v1]").ecn, Ecn::Ect0);
    assert_eq!(plan("scream[ecn=off]").ecn, Ecn::NotEct);
    for (text, name) in [
        ("scream[max_rate=1kbps]", "max_rate"),
        ("scream[qdelay_target_hi=10ms]", "qdelay_target_hi"),
        ("scream[overhead_max=1]", "overhead_max"),
    ] {
        assert!(problem(text).contains(name), "{text}: {}", problem(text));
    }
}

/// A media flow over a link without limit to its queue, with acknowledgements after half the RTT.
fn run(params: &ScreamParams, link: Rate, time: Span) -> (f64, Span) {
    let half = Span::from_millis(25);
    let mut scream = ScreamSender::new(params, MSS);
    let mut acks = Acks::new(half * 2);
    let (mut now, mut free) = (Time::from_secs(1), Time::from_secs(1));
    let (mut number, mut next_send, mut in_flight) = (0, now, 0u64);
    let (mut arrivals, mut queue) = (std::collections::VecDeque::new(), Span::ZERO);
    let end = now + time;
    while now < end {
        while arrivals.front().is_some_and(|fate: &Fate| fate.received + half <= now) {
            let fates: Vec<Fate> = arrivals.pop_front().into_iter().collect();
            (acks.now, acks.rtt) = (now, now.since(fates[0].sent));
            let mut ack = acks.ack(1);
            (ack.prior_in_flight, ack.fates) = (in_flight, &fates);
            in_flight -= u64::from(MSS);
            scream.on_feedback(&ack);
        }
        while next_send <= now && in_flight + u64::from(MSS) <= scream.plan().cwnd {
            let mut packet = Outgoing::new(number, MSS, in_flight);
            packet.waiting = u64::MAX;
            let tag = scream.on_send(now, &mut packet);
            free = free.max(now) + link.time_for(MSS.into());
            queue = free.since(now);
            let received = free + half;
            let fate = Fate::new(number, MSS, now, tag, false);
            arrivals.push_back(fate.with(|fate| fate.received = received));
            (number, in_flight) = (number + 1, in_flight + u64::from(MSS));
            // As an encoder would at the target.
            let rate = scream.target().expect("has a target");
            next_send = now.max(next_send) + rate.time_for(MSS.into());
        }
        now += Span::from_micros(500);
    }
    (scream.target().expect("has a target").as_mbps(), queue)
}

/// Version 1's encoder may make more than the link carries, which then waits in the sender; its target may be
/// 400 ms.
#[test]
fn a_flow_finds_the_link_and_keeps_its_queue_below_the_target() {
    for (params, name, most, longest) in [(v2(), "v2", 3.6, 150), (v1(), "v1", 4.5, 400)] {
        let (rate, queue) = run(&params, Rate::from_mbps(3.0), Span::from_secs(60));
        assert!((1.8..most).contains(&rate), "{name}: {rate}");
        assert!(queue < Span::from_millis(longest), "{name}: {queue}");
    }
}

/// The draft, and `detectLoss` of the authors' program: a loss counts when a later packet is acknowledged. Lost bytes let
/// the window grow, so that it tripled in an outage of a minute.
#[test]
fn a_timeout_does_not_let_the_window_rise() {
    for (params, name) in [(v2(), "v2"), (v1(), "v1")] {
        let mut scream = ScreamSender::new(&params, MSS);
        let mut acks = Acks::new(Span::from_millis(50));
        let inspect = |scream: &ScreamSender| {
            let mut cwnd = 0.0;
            scream.inspect(&mut |what, value| {
                if what == "cwnd" {
                    cwnd = value
                }
            });
            // Version 1's rate rises up to what the window gives.
            (cwnd, scream.target().filter(|_| params.version == Version::V2))
        };
        let send = |scream: &mut ScreamSender, number: u64| {
            scream.on_send(Time::from_millis(10 * number), &mut Outgoing::new(number, MSS, 90_000));
        };
        (0..60).for_each(|number| send(&mut scream, number));
        acks.in_flight = 60;
        acks.now = Time::from_millis(650);
        scream.on_feedback(&acks.ack(0));
        let before = inspect(&scream);
        let lose = |from: u64| -> Vec<Fate> {
            let sent = |number| Time::from_millis(10 * number);
            (from..from + 60).map(|number| Fate::new(number, MSS, sent(number), 0, true)).collect()
        };
        for seconds in 1..20 {
            acks.now = Time::from_secs(seconds);
            let fates = lose(60 * (seconds - 1));
            let timeout = acks.event(0, Some(Congestion::Timeout));
            scream.on_feedback(&timeout.with(|feedback| {
                (feedback.lost, feedback.lost_packets) = (60 * u64::from(MSS), 60);
                feedback.fates = &fates;
            }));
            assert_eq!(inspect(&scream), before, "{name} {seconds}");
        }
    }
}

/// Random events, receive times that mean nothing included.
#[test]
fn fuzz_keeps_rates_within_their_bounds() {
    for (params, name) in [(v2(), "v2"), (v1(), "v1")] {
        for seed in 0..20 {
            let mut random = Stream::new(seed, "scream fuzz");
            let mut scream = ScreamSender::new(&params, MSS);
            let mut acks = Acks::new(Span::from_millis(100));
            for number in 0..5_000 {
                let feedback = acks.any(&mut random);
                let mut packet = Outgoing::new(number, MSS, 0);
                packet.waiting = random.next_u64() >> random.below(64);
                packet.retransmission = random.chance(0.1);
                scream.on_send(acks.now, &mut packet);
                let fates: Vec<Fate> = (0..random.below(4))
                    .map(|_| {
                        let sent = Time::from_nanos(random.below(1 + acks.now.as_nanos()));
                        let received = match random.below(3) {
                            0 => Time::NEVER,
                            1 => acks.now + Span::from_secs(777),
                            _ => Time::from_nanos(random.next_u64() / 2),
                        };
                        Fate::new(number, MSS, sent, random.below(2), random.chance(0.1))
                            .with(|fate| fate.received = received)
                    })
                    .collect();
                let (marked, lost) = (random.below(5) as u32, random.below(3) as u32);
                scream.on_feedback(&feedback.with(|feedback| {
                    feedback.fates = &fates;
                    (feedback.marked_packets, feedback.lost_packets) = (marked, lost);
                    feedback.lost = u64::from(lost) * u64::from(MSS);
                }));
                let target = scream.target().expect("has a target");
                let bounds = params.min_rate..=params.max_rate;
                assert!(bounds.contains(&target), "{name} {seed} {number}: {target}");
                assert!(scream.plan().cwnd >= 2 * u64::from(MSS), "{name} {seed} {number}");
                scream.inspect(&mut |what, value| {
                    assert!(value.is_finite(), "{name} {seed} {number}: {what} {value}");
                });
            }
        }
    }
}
