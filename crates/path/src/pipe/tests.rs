use super::*;
use paceline_cc::Body;

use crate::queue::testing::packet;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// Pushes one packet per millisecond. Returns the numbers and times of the packets that come out,
/// in order.
fn run(mut pipe: Pipe, count: u64) -> Vec<(u64, Time)> {
    let mut out = Vec::new();
    let collect = |pipe: &mut Pipe, until: Time, out: &mut Vec<(u64, Time)>| {
        while pipe.wake() <= until && pipe.wake() != Time::NEVER {
            let now = pipe.wake();
            let packet = pipe.pop(now).expect("due");
            out.push((packet.number(), now));
        }
    };
    for number in 0..count {
        collect(&mut pipe, ms(number), &mut out);
        pipe.push(ms(number), &packet(number, 1000, ms(number)));
    }
    collect(&mut pipe, Time::from_secs(1_000_000), &mut out);
    assert_eq!((pipe.packets(), pipe.wake()), (0, Time::NEVER));
    let counters = pipe.counters();
    assert_eq!(out.len() as u64, count - counters.lost_packets + counters.duplicated);
    assert_eq!(counters.lost_bytes, counters.lost_packets * 1000);
    assert!(out.windows(2).all(|pair| pair[0].1 <= pair[1].1), "times go forward");
    out
}

fn impaired(impairments: Impairments) -> Pipe {
    let stream = Stream::new(11, "pipe");
    Pipe::with_impairments(Span::from_millis(20), impairments, stream).expect("valid")
}

fn in_order(out: &[(u64, Time)]) -> bool {
    out.windows(2).all(|pair| pair[0].0 <= pair[1].0)
}

fn jitter(shape: JitterShape) -> Option<Jitter> {
    Some(Jitter { shape, mean: Span::from_millis(30), sd: Span::from_millis(10) })
}

#[test]
fn a_fixed_delay_is_exact() {
    let expected: Vec<_> = (0..100).map(|number| (number, ms(number + 20))).collect();
    assert_eq!(run(Pipe::new(Span::from_millis(20)), 100), expected);
    assert_eq!(run(impaired(Impairments::default()), 100), expected);
}

#[test]
fn late_pops_return_all_that_is_due() {
    let mut pipe = Pipe::new(Span::from_millis(20));
    for number in 0..10 {
        pipe.push(ms(number), &packet(number, 1000, ms(number)));
    }
    assert!(pipe.pop(ms(19)).is_none());
    let out: Vec<_> = std::iter::from_fn(|| pipe.pop(ms(25))).map(|p| p.number()).collect();
    assert_eq!(out, [0, 1, 2, 3, 4, 5]);
    assert_eq!(pipe.wake(), ms(26));
}

#[test]
fn jitter_keeps_the_order_unless_told_otherwise() {
    for shape in [JitterShape::Uniform, JitterShape::Normal, JitterShape::Exponential] {
        let mut impairments = Impairments { jitter: jitter(shape), ..Impairments::default() };
        let out = run(impaired(impairments.clone()), 20_000);
        assert!(in_order(&out), "{shape:?}");
        impairments.reorder_jitter = true;
        let out = run(impaired(impairments), 20_000);
        assert!(!in_order(&out), "{shape:?}");
        let delays: Vec<f64> =
            out.iter().map(|&(number, at)| at.since(ms(number)).as_millis_f64()).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / delays.len() as f64;
        let sd = if shape == JitterShape::Exponential { 30.0 } else { 10.0 };
        assert!((mean - 50.0).abs() < 0.8, "{shape:?}: mean {mean}");
        assert!((variance.sqrt() - sd).abs() < 0.03 * sd, "{shape:?}: {}", variance.sqrt());
    }
}

#[test]
fn negative_jitter_never_goes_back_in_time() {
    let wild = Jitter { shape: JitterShape::Normal, mean: Span::ZERO, sd: Span::from_millis(500) };
    let impairments =
        Impairments { jitter: Some(wild), reorder_jitter: true, ..Impairments::default() };
    let out = run(impaired(impairments), 2_000);
    assert!(out.iter().all(|&(number, at)| at >= ms(number)));
}

#[test]
fn reordering_moves_some_packets_and_keeps_the_rest_in_order() {
    for extra in [None, Some(Span::from_millis(7))] {
        let reorder = Reorder { probability: 0.1, extra };
        let impairments = Impairments { reorder: Some(reorder), ..Impairments::default() };
        let out = run(impaired(impairments), 10_000);
        let delay = extra.map_or(Span::ZERO, |extra| Span::from_millis(20) + extra);
        let (moved, kept): (Vec<_>, Vec<_>) =
            out.iter().partition(|&&(number, at)| at.since(ms(number)) == delay);
        assert!((moved.len() as f64 - 1000.0).abs() < 100.0, "{}", moved.len());
        assert!(in_order(&kept) && in_order(&moved) && !in_order(&out));
        assert!(kept.iter().all(|&(number, at)| at == ms(number + 20)));
    }
}

#[test]
fn loss_and_duplication_are_counted() {
    let loss = GilbertElliott::with_bursts(0.2, 4.0).expect("valid");
    let impairments =
        Impairments { loss: Loss::GilbertElliott(loss), duplicate: 0.1, ..Impairments::default() };
    let out = run(impaired(impairments.clone()), 50_000);
    assert!(in_order(&out));
    assert!((out.len() as f64 / 50_000.0 - 0.8 * 1.1).abs() < 0.02, "{}", out.len());
    let mut pipe = impaired(impairments);
    pipe.keep_lost(true);
    for number in 0..1000 {
        pipe.push(ms(number), &packet(number, 1000, ms(number)));
    }
    let lost = pipe.drain_lost().count() as u64;
    assert!(lost > 0 && lost == pipe.counters().lost_packets);
    assert_eq!(pipe.drain_lost().count(), 0);
}

#[test]
fn mistakes_are_told() {
    let error =
        |impairments| Pipe::with_impairments(Span::ZERO, impairments, Stream::new(1, "pipe")).err();
    assert!(error(Impairments { loss: Loss::Bernoulli(-0.1), ..Impairments::default() }).is_some());
    assert!(error(Impairments { duplicate: f64::NAN, ..Impairments::default() }).is_some());
    let reorder = Some(Reorder { probability: 2.0, extra: None });
    assert!(error(Impairments { reorder, ..Impairments::default() }).is_some());
}

/// Delays that alternate between 30 ms and 5 ms, changing every 100 ms.
fn falling() -> Impairments {
    let series = [
        (Span::from_millis(100), Span::from_millis(30)),
        (Span::from_millis(100), Span::from_millis(5)),
    ];
    let delays = paceline_trace::Delays::new("falling", &series).expect("valid");
    Impairments { delays: Some(delays), ..Impairments::default() }
}

/// Returns the arrival times, in milliseconds, of packets that enter every 10 ms, in the order of
/// arrival.
fn arrivals(impairments: Impairments) -> Vec<(u32, f64)> {
    let stream = Stream::new(1, "pipe");
    let mut pipe =
        Pipe::with_impairments(Span::from_millis(1), impairments, stream).expect("valid");
    for number in 0..40 {
        let packet = Packet { body: Body::Opaque(number), ..Packet::opaque(1500) };
        pipe.push(Time::from_millis(10 * u64::from(number)), &packet);
    }
    std::iter::from_fn(|| {
        let at = pipe.wake();
        pipe.pop(at).map(|packet| (packet.number() as u32, at.as_secs_f64() * 1e3))
    })
    .collect()
}

#[test]
fn a_recording_is_followed_in_order() {
    let seen = arrivals(falling());
    for (place, &(number, at)) in seen.iter().enumerate() {
        assert_eq!(place as u32, number, "nobody overtakes");
        let entered = 10.0 * f64::from(number);
        let own = entered + if number % 20 < 10 { 31.0 } else { 6.0 };
        // After the fall, packets wait for the last slow one, which entered 10 ms before the fall.
        let last_slow = if number % 20 < 10 { own } else { 200.0 * f64::from(number / 20) + 121.0 };
        assert!((at - own.max(last_slow)).abs() < 1e-6, "{number}: {at}");
    }
}

#[test]
fn packets_overtake_where_that_is_asked_for() {
    let seen = arrivals(Impairments { reorder_jitter: true, ..falling() });
    for &(number, at) in &seen {
        let own = 10.0 * f64::from(number) + if number % 20 < 10 { 31.0 } else { 6.0 };
        assert!((at - own).abs() < 1e-6, "{number}: {at}");
    }
    assert!(seen.windows(2).any(|pair| pair[0].0 > pair[1].0), "some overtake");
}

/// A change of the delay shifts packets on the way, none into the past, and none overtakes another.
#[test]
fn a_new_delay_moves_what_is_on_the_way() {
    for impairments in [None, Some(Impairments { reorder_jitter: true, ..Impairments::default() })]
    {
        let delay = Span::from_millis(50);
        let mut pipe = match impairments {
            None => Pipe::new(delay),
            Some(rough) => {
                let jitter = Jitter {
                    shape: JitterShape::Exponential,
                    mean: Span::from_nanos(1),
                    sd: Span::from_nanos(1),
                };
                let rough = Impairments { jitter: Some(jitter), ..rough };
                Pipe::with_impairments(delay, rough, Stream::new(1, "pipe")).expect("valid")
            }
        };
        for at in [0, 20, 40] {
            pipe.push(Time::from_millis(at), &Packet::opaque(at as u32 + 1));
        }
        // 10 ms later.
        pipe.set_delay(Time::from_millis(40), Span::from_millis(60));
        assert_eq!(pipe.wake().as_nanos() / 1_000_000, 60);
        // 45 ms earlier: the first packet would have arrived at 15 ms.
        pipe.set_delay(Time::from_millis(41), Span::from_millis(15));
        let mut popped = Vec::new();
        for now in [41, 54, 56] {
            while let Some(packet) = pipe.pop(Time::from_millis(now)) {
                popped.push((now, packet.size));
            }
        }
        assert_eq!(popped, [(41, 1), (41, 21), (56, 41)]);
        pipe.push(Time::from_millis(56), &Packet::opaque(9));
        assert_eq!(pipe.wake().as_nanos() / 1_000_000, 71);
    }
}

#[test]
fn slots_release_packets_in_groups_and_in_order() {
    let slot = Span::from_millis(20);
    let seen = run(impaired(Impairments { slot: Some(slot), ..Impairments::default() }), 100);
    assert!(seen.iter().all(|(_, at)| at.as_nanos() % slot.as_nanos() == 0), "{seen:?}");
    assert!(in_order(&seen));
    // No packet arrives earlier than without slots, or more than a slot later.
    for (held, plain) in seen.iter().zip(run(Pipe::new(Span::from_millis(20)), 100)) {
        assert!(held.1 >= plain.1 && held.1.since(plain.1) < slot);
    }
    // Packets that overtake wait for slots too.
    let rough = Impairments {
        slot: Some(slot),
        jitter: jitter(JitterShape::Exponential),
        reorder_jitter: true,
        ..Impairments::default()
    };
    assert!(run(impaired(rough), 100).iter().all(|(_, at)| at.as_nanos() % slot.as_nanos() == 0));
}
