//! Every registered controller, with its defaults and with every value of its choices, with random
//! events: its plan stays sane.
//!
//! The budget is fixed; `PACELINE_FUZZ=100 cargo test -p paceline-schemes --test all model_fuzz` runs a
//! hundred times as long.

use crate::common;
use paceline_cc::{
    Congestion, Controller, Ecn, Fate, Feedback, Forecast, Outgoing, Rate, RateSample, Report,
    Setup, Span, Spec, Stream, Time,
};

const MSS: u32 = 1500;
const EVENTS: u64 = 4000;

/// The state that a sender would have.
struct Model {
    now: Time,
    number: u64,
    in_flight: u64,
    delivered: u64,
    round: u64,
    srtt: Span,
    min_rtt: Span,
    tags: Vec<(u64, u64, Time)>,
}

fn pause(random: &mut Stream) -> Span {
    match random.below(50) {
        0 => Span::from_secs(random.below(30)),
        1..=10 => Span::ZERO,
        _ => Span::from_micros(random.below(20_000)),
    }
}

fn send(controller: &mut dyn Controller, model: &mut Model, random: &mut Stream) {
    let size = 1 + random.below(MSS as u64) as u32;
    let mut outgoing = Outgoing::new(model.number, size, model.in_flight);
    outgoing.retransmission = random.chance(0.05);
    outgoing.empty = controller.plan().sends_empty_packet;
    let tag = controller.on_send(model.now, &mut outgoing);
    let again = controller.plan().sends_empty_packet;
    assert!(!outgoing.empty || !again, "asks for a second empty packet");
    model.tags.push((model.number, tag, model.now));
    model.number += 1;
    model.in_flight += outgoing.size as u64;
}

fn report(controller: &mut dyn Controller, model: &Model, random: &mut Stream) {
    let report = match random.below(2) {
        0 => Report::Rate(Rate::from_bps(random.below(1 << 40))),
        _ => Report::Forecast(Forecast {
            total: random.below(1 << 60),
            from: Time::from_millis(random.below(1 << 40)),
            counts: std::array::from_fn(|_| random.below(1 << 17) as u16),
        }),
    };
    controller.on_report(model.now, &report);
}

fn feed(controller: &mut dyn Controller, model: &mut Model, random: &mut Stream) {
    let packets = random.below(5).min(model.tags.len() as u64);
    let sent = model.tags.first().map_or(model.now, |tag| tag.2);
    let known: Vec<_> = model.tags.drain(..packets as usize).collect();
    let fates: Vec<Fate> = known
        .iter()
        .map(|&(number, tag, sent)| {
            let mut fate = Fate::new(number, MSS, sent, tag, random.chance(0.1));
            if random.chance(0.5) {
                fate.received = Time::from_millis(random.below(1 << 40));
            }
            fate
        })
        .collect();
    let lost = fates.iter().filter(|fate| fate.lost).count() as u64;
    let acked = packets - lost;
    let rtt = model.now.since(sent).max(Span::from_nanos(1 + random.below(1000)));
    if acked > 0 {
        model.srtt = if model.srtt.is_zero() { rtt } else { model.srtt - model.srtt / 8 + rtt / 8 };
        model.min_rtt = if model.min_rtt.is_zero() { rtt } else { model.min_rtt.min(rtt) };
    }
    let prior = model.in_flight;
    model.in_flight = model.in_flight.saturating_sub(packets * MSS as u64);
    model.delivered += acked * MSS as u64;
    let round_start = random.chance(0.1);
    model.round += round_start as u64;
    let congestion = match random.below(60) {
        0 => Some(Congestion::Loss),
        1 => Some(Congestion::Ecn),
        2 => Some(Congestion::Timeout),
        3 => Some(Congestion::Undo),
        _ => None,
    };
    let magnitude = random.below(40);
    let sample = random.chance(0.7).then(|| {
        let prior = model.delivered.saturating_sub(random.below(1 << 20));
        let mut sample = RateSample::new(acked * MSS as u64, rtt, prior);
        sample.rate = Rate::from_bps(random.below(1 << magnitude));
        sample.app_limited = random.chance(0.2);
        sample
    });
    let echoes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    let mut feedback = Feedback::new(model.now, MSS);
    (feedback.acked, feedback.acked_packets) = (acked * MSS as u64, acked as u32);
    (feedback.lost, feedback.lost_packets) = (lost * MSS as u64, lost as u32);
    feedback.marked_packets = random.below(acked + 1) as u32;
    feedback.echo = echoes[random.below(4) as usize];
    feedback.explicit = random.below(1 << 33) as u32;
    (feedback.prior_in_flight, feedback.in_flight) = (prior, model.in_flight);
    feedback.cwnd_limited = random.chance(0.7);
    feedback.max_in_flight = prior;
    feedback.may_raise_cwnd = random.chance(0.95);
    feedback.rtt = (acked > 0).then_some(rtt);
    (feedback.srtt, feedback.min_rtt) = (model.srtt, model.min_rtt);
    feedback.delivered = model.delivered;
    (feedback.round, feedback.round_start) = (model.round, round_start);
    feedback.sample = sample;
    feedback.congestion = congestion;
    feedback.in_recovery = random.chance(0.2);
    feedback.fates = &fates;
    controller.on_feedback(&feedback);
}

#[test]
fn fuzz_keeps_plans_sane() {
    let budget = std::env::var("PACELINE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1u64);
    for common::Variant { text, seeds } in common::variants(20, 6) {
        let spec = Spec::parse(&text).expect("a spec");
        let halves = paceline_schemes::registry::build(&spec).expect("a scheme");
        for seed in 0..seeds * budget {
            let mut random = Stream::new(seed, &text);
            let setup = Setup::new(seed, 0).with(|setup| setup.mss = MSS);
            let mut controller = (halves.controller)(&setup);
            let mut model = Model {
                now: Time::from_millis(random.below(1000)),
                number: 0,
                in_flight: 0,
                delivered: 0,
                round: 0,
                srtt: Span::ZERO,
                min_rtt: Span::ZERO,
                tags: Vec::new(),
            };
            for step in 0..EVENTS {
                model.now += pause(&mut random);
                match random.below(20) {
                    0..=8 => send(&mut *controller, &mut model, &mut random),
                    9..=16 => feed(&mut *controller, &mut model, &mut random),
                    17 => report(&mut *controller, &model, &mut random),
                    _ => controller.on_idle(model.now, pause(&mut random), Span::from_millis(300)),
                }
                if controller.plan().timer <= model.now {
                    controller.on_timer(model.now);
                }
                let plan = controller.plan();
                let place = format!("{text} seed {seed} step {step}: {plan:?}");
                let open = plan.cwnd >= MSS as u64 || plan.pacing.is_some();
                assert!(open || plan.exact_window, "{place}");
                // A window larger than any memory shows an arithmetic error.
                assert!(plan.cwnd < 1 << 50, "{place}");
                assert!(plan.pacing.is_none_or(|rate| rate.as_bps() > 0), "{place}");
                assert!(plan.timer > model.now, "{place}");
                controller.inspect(&mut |name, value| {
                    assert!(!value.is_nan(), "{text} seed {seed} step {step}: {name}");
                });
            }
        }
    }
}
