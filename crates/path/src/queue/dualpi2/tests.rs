//! Tests of sorting, scheduling, coupling, overload, and of the whole loop.

use paceline_cc::Spec;

use super::*;
use crate::queue::build;
use crate::queue::testing::{Outcome, open_loop, packet, stream};

fn queue(text: &str, limit: Limit) -> Box<dyn Queue> {
    build(&Spec::parse(text).expect("legal"), limit, stream()).expect("known")
}

/// Makes even packets classic with this codepoint, odd ones scalable.
fn mixed(classic: Ecn) -> impl FnMut(&Packet) -> Packet {
    move |packet| {
        let odd = packet.number() % 2 == 1;
        let ecn = if odd { Ecn::Ect1 } else { classic };
        Packet { flow: u32::from(odd), ecn, ..*packet }
    }
}

#[test]
fn classic_excess_is_dropped_and_the_delay_held() {
    for text in ["dualpi2", "dualpi2[random=false]"] {
        let mut queue = queue(text, Limit::packets(1000));
        let outcome = open_loop(&mut *queue, 800, 1000, 60_000, |packet| *packet);
        assert!((outcome.loss() - 0.2).abs() < 0.01, "{outcome:?}");
        assert!((13.5..16.5).contains(&outcome.delay_ms), "{outcome:?}");
    }
}

#[test]
fn classic_marks_turn_into_drops_on_overload() {
    // An open loop does not react to marks: p' grows until ECN-capable packets are dropped, at p' =
    // 1/k with a quarter of drops, which is more than the excess.
    let mut queue = queue("dualpi2", Limit::packets(1000));
    let capable = |packet: &Packet| Packet { ecn: Ecn::Ect0, ..*packet };
    let outcome = open_loop(&mut *queue, 800, 1000, 60_000, capable);
    assert!((outcome.loss() - 0.2).abs() < 0.02, "{outcome:?}");
    assert!(outcome.marked > 0);
}

#[test]
fn scalable_excess_is_marked_then_dropped() {
    let mut l4s = queue("dualpi2", Limit::packets(1000));
    let scalable = |packet: &Packet| Packet { ecn: Ecn::Ect1, ..*packet };
    let outcome = open_loop(&mut *l4s, 800, 1000, 60_000, scalable);
    assert!((outcome.loss() - 0.2).abs() < 0.02, "{outcome:?}");
    assert!(outcome.marking() > 0.99, "{outcome:?}");
    // At light load no packet waits for a millisecond.
    let outcome = open_loop(&mut *queue("dualpi2", Limit::NONE), 1100, 1000, 2_000, scalable);
    assert_eq!((outcome.dropped, outcome.marked), (0, 0));
}

#[test]
fn the_low_latency_queue_goes_first() {
    // The link lacks a tenth of the load, all of it C's.
    for text in ["dualpi2", "dualpi2[scheduler=tsfifo]"] {
        let mut queue = queue(text, Limit::packets(1000));
        let (mut drops, mut l_wait) = (Vec::new(), Span::ZERO);
        for time in 0..20_000 {
            let now = Time::from_millis(time);
            let ecn = if time % 3 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            let new = Packet { ecn, ..packet(time, 1500, now) };
            queue.push(now, &new, &mut drops);
            if time % 10 != 0 {
                // `pop` returns nothing if it drops all packets.
                let out = queue.pop(now, &mut drops).filter(|out| out.ecn != Ecn::NotEct);
                let wait = out.map_or(Span::ZERO, |out| now.since(out.queued));
                l_wait = if time > 10_000 { l_wait.max(wait) } else { Span::ZERO };
            }
        }
        assert!(l_wait <= Span::from_millis(2), "{text} {l_wait}");
        // While the controller initially overshoots, packets of L are dropped or must wait.
        drops.retain(|dropped| dropped.packet.number() > 10_000);
        assert!((900..1100).contains(&drops.len()), "{text} {}", drops.len());
        assert!(drops.iter().all(|dropped| dropped.packet.ecn == Ecn::NotEct), "{text}");
    }
}

/// Returns the share of C's packets among those sent while both queues are full.
fn share_of_classic(text: &str) -> f64 {
    let mut queue = queue(text, Limit::NONE);
    let mut drops = Vec::new();
    let mut shape = mixed(Ecn::NotEct);
    for number in 0..2000 {
        queue.push(Time::ZERO, &shape(&packet(number, 1500, Time::ZERO)), &mut drops);
    }
    let classic = (0..1000)
        .filter_map(|_| queue.pop(Time::from_millis(1), &mut drops))
        .filter(|packet| packet.flow == 0)
        .count();
    classic as f64 / 1000.0
}

#[test]
fn classic_keeps_its_share() {
    assert!((share_of_classic("dualpi2") - 0.1).abs() < 0.005);
    assert!((share_of_classic("dualpi2[c_protection=0.5]") - 0.5).abs() < 0.005);
    assert_eq!(share_of_classic("dualpi2[c_protection=0]"), 0.0);
    assert_eq!(share_of_classic("dualpi2[scheduler=tsfifo]"), 0.0);
    assert_eq!(share_of_classic("dualpi2[scheduler=tsfifo,tshift=0s]"), 0.0);
}

#[test]
fn coupled_probabilities_are_linear_and_squared() {
    // Both queues are full, and there is no step: with p' fixed at 0.2, L marks 40 % and C drops 4
    // %.
    let text = "dualpi2[alpha=0,beta=0,step_thresh=1h,mtu=0,c_protection=0.5]";
    for (text, slack) in
        [(text.to_string(), 0.03), (text.replace("=0.5", "=0.5,random=false"), 0.005)]
    {
        let spec = Spec::parse(&text).expect("legal");
        let params: DualPi2Params = spec.params().expect("known");
        let mut queue = DualPi2::new(params, Limit::packets(100), stream());
        let base = DualPi2Params { alpha: 1.0, target: Span::ZERO, ..DualPi2Params::default() };
        queue.pi2.update(&DualPi2Params { beta: 0.0, ..base }, Span::from_millis(200));
        assert!((queue.pi2.base() - 0.2).abs() < 1e-12);
        let (mut shape, mut drops) = (mixed(Ecn::NotEct), Vec::new());
        let mut outcome = Outcome::default();
        for number in 0..20_000 {
            let now = Time::from_millis(number);
            queue.push(now, &shape(&packet(number, 1500, now)), &mut drops);
            if let Some(packet) = queue.pop(now, &mut drops) {
                outcome.by_flow[packet.flow as usize] += 1;
                outcome.marked += u64::from(packet.ecn == Ecn::Ce);
            }
        }
        let marked = outcome.marked as f64 / outcome.by_flow[1] as f64;
        let aqm = drops.iter().filter(|dropped| dropped.reason == DropReason::Aqm).count();
        assert!((marked - 0.4).abs() < slack, "{text} {marked}");
        assert!((aqm as f64 / 10_000.0 - 0.04).abs() < slack / 3.0, "{text} {aqm}");
    }
}

#[test]
fn the_step_marks_by_time_or_packets_or_along_a_ramp() {
    let marks = |text: &str, waited: u64| {
        let mut queue = queue(text, Limit::NONE);
        let mut drops = Vec::new();
        for number in 0..10 {
            let new = Packet { ecn: Ecn::Ect1, ..packet(number, 1500, Time::ZERO) };
            queue.push(Time::ZERO, &new, &mut drops);
        }
        let now = Time::ZERO + Span::from_micros(waited);
        (0..10).filter_map(|_| queue.pop(now, &mut drops)).filter(|p| p.ecn == Ecn::Ce).count()
    };
    assert_eq!(marks("dualpi2", 1000), 0);
    // The last packet is alone in its queue.
    assert_eq!(marks("dualpi2", 1001), 9);
    assert_eq!(marks("dualpi2[th_len=0]", 1001), 10);
    assert_eq!(marks("dualpi2[step_packets=4]", 0), 5);
    let ramp = "dualpi2[range=400us,random=false,th_len=0]";
    assert_eq!((marks(ramp, 800), marks(ramp, 1000), marks(ramp, 1200)), (0, 5, 10));
}

/// Linux `must_drop`: no drop and no mark while less than two full packets are left.
#[test]
fn a_short_queue_is_left_alone() {
    let dropped_and_marked = |text: &str, ecn: Ecn, size: u32| {
        let mut queue = queue(text, Limit::packets(1000));
        let (mut drops, mut marked) = (Vec::new(), 0);
        // p' is 1 after the first update, at 16 ms of delay.
        for time in [0, 16] {
            let new = Packet { ecn, ..packet(time, size, Time::from_millis(time)) };
            (0..2).for_each(|_| queue.push(Time::from_millis(time), &new, &mut drops));
        }
        while let Some(out) = queue.pop(Time::from_millis(17), &mut drops) {
            marked += u64::from(out.ecn == Ecn::Ce);
        }
        (drops.len() as u64, marked)
    };
    let text = "dualpi2[alpha=0,beta=100,step_thresh=100s]";
    // Four packets: after the first pop three are left, after the second two.
    assert_eq!(dropped_and_marked(text, Ecn::NotEct, 1500), (2, 0));
    assert_eq!(dropped_and_marked(text, Ecn::NotEct, 900), (0, 0));
    assert_eq!(dropped_and_marked(text, Ecn::Ect1, 900), (0, 0));
    let rfc = "dualpi2[alpha=0,beta=100,step_thresh=100s,mtu=0]";
    assert_eq!(dropped_and_marked(rfc, Ecn::NotEct, 900), (4, 0));
    assert_eq!(dropped_and_marked(rfc, Ecn::Ect1, 900), (4, 0));
    // The step marks all the same: the two that have waited for 17 ms, not those of 1 ms.
    let step = "dualpi2[alpha=0,beta=100]";
    assert_eq!(dropped_and_marked(step, Ecn::Ect1, 900), (0, 2));
}
