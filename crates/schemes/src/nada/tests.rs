//! Vectors computed by hand from the equations of RFC 8698, and whole senders over a link.

use paceline_cc::{Controller, Ecn, Fate, Outgoing, Stream, Time};

use super::log::{Log, Summary};
use super::loss_intervals::LossIntervals;
use super::signal::{Signal, warped, warping};
use super::*;
use crate::testing::{Acks, MSS, problem};

fn near(figure: f64, expected: f64) {
    assert!((figure - expected).abs() < 1e-6 * expected.abs().max(1.0), "{figure}, not {expected}");
}

fn params() -> NadaParams {
    NadaParams::default()
}

/// Equation 1: QTH = 50 ms, LAMBDA = 0.5.
#[test]
fn long_delays_are_warped_by_equation_1() {
    near(warped(&params(), 0.0), 0.0);
    near(warped(&params(), 30.0), 30.0);
    near(warped(&params(), 50.0), 50.0);
    // 50 e^-0.5, 50 e^-1 and 50 e^-3.5.
    near(warped(&params(), 100.0), 30.326533);
    near(warped(&params(), 150.0), 18.393972);
    near(warped(&params(), 400.0), 1.509869);
}

/// Ended intervals of 100 packets: a loss is recent for 700 packets, half recent after 750, forgotten after 800.
/// If the present interval counts, it weighs a sixth of the average, and the loss is recent for ever.
#[test]
fn warping_ends_after_seven_loss_intervals() {
    let closed = NadaParams { open_interval: false, ..params() };
    let mut losses = LossIntervals::default();
    assert_eq!(warping(&params(), &losses), 0.0);
    for loss in 0..10 {
        losses.on_loss(101 * loss);
        if loss < 9 {
            (0..100).for_each(|_| losses.on_arrival());
        }
    }
    for (arrivals, expected) in [(0, 1.0), (700, 1.0), (50, 0.5), (25, 0.25), (25, 0.0)] {
        (0..arrivals).for_each(|_| losses.on_arrival());
        near(warping(&closed, &losses), expected);
        near(warping(&params(), &losses), 1.0);
    }
}

fn summary(d_queue: f64, loss: f64, marks: f64) -> Summary {
    let d_queue = Some(d_queue);
    Summary { d_queue, rtt: 100.0, r_recv: None, loss, marks, is_underused: false }
}

/// Equation 2, with shares smoothed by ALPHA = 0.1.
#[test]
fn losses_and_marks_add_to_the_signal_by_equation_2() {
    let none = LossIntervals::default();
    let signal_of = |summaries: &[Summary]| {
        let mut signal = Signal::default();
        summaries.iter().for_each(|summary| signal.update(&params(), summary, &none));
        (signal.current(), signal.previous())
    };
    assert_eq!(signal_of(&[summary(20.0, 0.0, 0.0)]), (20.0, 0.0));
    // 10 % once are smoothed to 1 %: 10 ms for losses, 2 ms for marks.
    near(signal_of(&[summary(20.0, 0.1, 0.0)]).0, 30.0);
    near(signal_of(&[summary(20.0, 0.0, 0.1)]).0, 22.0);
    near(signal_of(&[summary(20.0, 0.1, 0.1)]).0, 32.0);
    // Twice 10 %: 1.9 %, 10 · 3.61.
    let (current, previous) = signal_of(&[summary(0.0, 0.1, 0.0), summary(0.0, 0.1, 0.0)]);
    near(current, 36.1);
    near(previous, 10.0);
    // XMAX.
    assert_eq!(signal_of(&[summary(2000.0, 0.0, 0.0)]).0, 500.0);
}

/// Equations 3 and 4: gamma = min(0.5, 50 / (rtt + 100 + 120)).
#[test]
fn ramping_up_follows_equations_3_and_4() {
    near(law::ramp_up(&params(), 150e3, 1e6, 100.0), 1.15625e6);
    near(law::ramp_up(&params(), 150e3, 1e6, 0.0), 1.227273e6);
    near(law::ramp_up(&params(), 150e3, 1e6, 280.0), 1.1e6);
    // Never lower than before, as for an application that sends less than the rate.
    near(law::ramp_up(&params(), 2e6, 1e6, 100.0), 2e6);
    let bold = NadaParams { qbound: Span::from_secs(1), ..params() };
    near(law::ramp_up(&bold, 150e3, 1e6, 100.0), 1.5e6);
}

/// Equations 5 to 7, with RMAX = 1.5 Mbit/s, XREF = 10 ms, KAPPA = 0.5, ETA = 2 and TAU = 500 ms.
#[test]
fn the_gradual_update_follows_equations_5_to_7() {
    let updated = |r_ref: f64, delta: f64, signals: (f64, f64)| {
        law::update_gradually(&params(), r_ref, delta, signals)
    };
    // At 1 Mbit/s the flow rests at a signal of 15 ms, at 1.5 Mbit/s of 10 ms.
    near(updated(1e6, 100.0, (15.0, 15.0)), 1e6);
    near(updated(1.5e6, 100.0, (10.0, 10.0)), 1.5e6);
    // 50 ms above it: 0.5 · 0.2 · 0.1, and if it has just risen 0.5 · 2 · 0.1 more.
    near(updated(1e6, 100.0, (65.0, 65.0)), 0.99e6);
    near(updated(1e6, 100.0, (65.0, 15.0)), 0.89e6);
    // After 500 ms five times as much.
    near(updated(1e6, 500.0, (65.0, 65.0)), 0.95e6);
    // 100 ms below it.
    near(updated(150e3, 100.0, (0.0, 0.0)), 153e3);
    // A priority of 2 rests at 30 ms.
    let twice = NadaParams { prio: 2.0, ..params() };
    near(law::update_gradually(&twice, 1e6, 100.0, (30.0, 30.0)), 1e6);
    near(law::update_gradually(&twice, 1e6, 100.0, (15.0, 15.0)), 1.003e6);
}

#[test]
fn rates_keep_to_their_bounds_by_equations_8_and_9() {
    for (r_ref, expected) in [(-1e6, 150e3), (1e6, 1e6), (9e9, 1.5e6), (f64::NAN, 1.5e6)] {
        assert_eq!(law::clip(&params(), r_ref), expected, "{r_ref}");
    }
}

/// Equations 10 to 13: 0.1 · 8 · bytes · 30, at most 5 %.
#[test]
fn waiting_data_lowers_the_encoder_and_raises_the_sending_rate() {
    near(law::encoder_rate(&params(), 1e6, 0), 1e6);
    near(law::encoder_rate(&params(), 1e6, 1000), 976e3);
    near(law::encoder_rate(&params(), 1e6, 10_000), 950e3);
    near(law::encoder_rate(&params(), 150e3, 10_000), 150e3);
    near(law::sending_rate(&params(), 1e6, 1000), 1.024e6);
    near(law::sending_rate(&params(), 1e6, u64::MAX), 1.05e6);
    near(law::sending_rate(&params(), 1.5e6, 10_000), 1.5e6);
}

const OFFSET: Span = Span::from_secs(777);

fn arrived(number: u64, sent_ms: u64, transit_ms: u64) -> Fate {
    let sent = Time::from_millis(sent_ms);
    let received = sent + Span::from_millis(transit_ms) + OFFSET;
    Fate::new(number, 1000, sent, 0, false).with(|fate| fate.received = received)
}

/// Twenty packets of 1000 bytes, one per 10 ms; the clocks' offset cancels.
#[test]
fn the_log_sums_up_the_observation_window() {
    let mut log = Log::new(&params());
    let feed = |log: &mut Log, numbers: std::ops::Range<u64>, transit_ms: u64| {
        for number in numbers {
            let fate = arrived(number, 10 * number, transit_ms);
            log.on_arrival(Time::from_millis(10 * number + 100), &fate, fate.received);
        }
    };
    feed(&mut log, 0..20, 50);
    let found = log.summary(Time::from_millis(300));
    let expected = Summary {
        d_queue: Some(0.0),
        rtt: 100.0,
        r_recv: Some(800e3),
        loss: 0.0,
        marks: 0.0,
        is_underused: true,
    };
    assert_eq!(found, expected);
    // The smallest of fifteen: one packet without a queue hides fourteen with one.
    feed(&mut log, 20..34, 70);
    let found = log.summary(Time::from_millis(440));
    assert_eq!((found.d_queue, found.is_underused), (Some(0.0), false));
    feed(&mut log, 34..35, 70);
    assert_eq!(log.summary(Time::from_millis(450)).d_queue, Some(20.0));
    // Of 36 packets one is lost; of 35 that arrived seven are marked.
    log.on_loss(Time::from_millis(450));
    log.on_marks(Time::from_millis(450), 7);
    let found = log.summary(Time::from_millis(450));
    near(found.loss, 1.0 / 36.0);
    near(found.marks, 0.2);
    // After 500 ms all is forgotten but the base delay.
    feed(&mut log, 200..220, 55);
    let found = log.summary(Time::from_millis(2300));
    assert_eq!((found.d_queue, found.loss, found.marks), (Some(5.0), 0.0, 0.0));
    assert!(found.is_underused);
}

/// A media flow at its sending rate over a link without limit to its queue.
struct Path {
    nada: NadaSender,
    acks: Acks,
    now: Time,
    free: Time,
    number: u64,
}

const HALF: Span = Span::from_millis(25);

impl Path {
    fn new(params: &NadaParams) -> Path {
        let start = Time::from_secs(1);
        let nada = NadaSender::new(params, MSS);
        Path { nada, acks: Acks::new(HALF * 2), now: start, free: start, number: 0 }
    }

    /// Sends for `time`; returns the queueing delay at the end.
    fn run(&mut self, time: Span, link: Rate) -> Span {
        let end = self.now + time;
        let mut queue = Span::ZERO;
        while self.now < end {
            self.nada.on_send(self.now, &mut Outgoing::new(self.number, MSS, 0));
            self.free = self.free.max(self.now) + link.time_for(MSS.into());
            queue = self.free.since(self.now);
            let received = self.free + HALF + OFFSET;
            let fate = Fate::new(self.number, MSS, self.now, 0, false)
                .with(|fate| fate.received = received);
            self.number += 1;
            self.acks.now = self.now;
            self.acks.rtt = HALF * 2 + queue;
            let fates = [fate];
            self.nada.on_feedback(&self.acks.ack(1).with(|ack| ack.fates = &fates));
            if self.nada.plan().timer <= self.now {
                self.nada.on_timer(self.now);
            }
            self.now += self.rate().time_for(MSS.into());
        }
        queue
    }

    fn rate(&self) -> Rate {
        self.nada.plan().pacing.expect("paced")
    }
}

#[test]
fn a_flow_ramps_up_and_rests_at_its_signal() {
    let mut path = Path::new(&params());
    assert_eq!(path.rate(), Rate::from_bps(150_000));
    path.run(Span::from_secs(10), Rate::from_mbps(100.0));
    assert_eq!(path.rate(), Rate::from_bps(1_500_000));
    // On 1 Mbit/s it rests with 15 ms of queue beside the packet's own 12 ms, which are in the base delay
    // only while the link was faster.
    let queue = path.run(Span::from_secs(60), Rate::from_mbps(1.0)).as_millis_f64();
    assert!((10.0..40.0).contains(&queue), "{queue}");
    let share = path.rate().as_mbps();
    assert!((0.9..1.1).contains(&share), "{share}");
}

/// RFC 8698 §5.1.3 has no least number of packets. At 50 kbit/s two of 1500 bytes arrive in `logwin`, and the rate stayed
/// there for ever.
#[test]
fn a_flow_of_few_packets_per_logwin_ramps_up() {
    let mut path = Path::new(&NadaParams { rmin: Rate::from_bps(50_000), ..params() });
    path.run(Span::from_secs(20), Rate::from_mbps(10.0));
    assert_eq!(path.rate(), Rate::from_bps(1_500_000));
}

/// Two packets that arrived at once, half a second after two others: 2000 bytes in 500 ms, not the link's rate.
#[test]
fn the_rate_of_few_packets_is_over_logwin() {
    let mut log = Log::new(&params());
    let mut rate_at = |ms: u64| {
        for (number, after) in [(ms, 0), (ms + 1, 1)] {
            let fate = arrived(number, ms + after, 50);
            log.on_arrival(Time::from_millis(ms + after + 50), &fate, fate.received);
        }
        log.summary(Time::from_millis(ms + 51)).r_recv
    };
    assert_eq!(rate_at(1000), None);
    near(rate_at(1502).expect("known"), 2000.0 * 8.0 / 0.502);
}

#[test]
fn packets_are_ecn_capable_unless_told_otherwise() {
    assert_eq!(NadaSender::new(&params(), MSS).plan().ecn, Ecn::Ect0);
    let without = NadaSender::new(&NadaParams { ecn: false, ..params() }, MSS);
    assert_eq!(without.plan().ecn, Ecn::NotEct);
    assert!(!without.needs().contains(paceline_cc::Signals::ECN));
}

#[test]
fn the_largest_rate_is_at_least_the_smallest() {
    assert!(problem("nada[rmin=2Mbps]").contains("rmax"), "{}", problem("nada[rmin=2Mbps]"));
    assert_eq!(problem("nada[rmin=2Mbps,rmax=2Mbps]"), "");
}

/// Random events, receive times that mean nothing included.
#[test]
fn fuzz_keeps_rates_within_their_bounds() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, "nada fuzz");
        let params = params();
        let mut nada = NadaSender::new(&params, MSS);
        let mut acks = Acks::new(Span::from_millis(100));
        for number in 0..5_000 {
            let feedback = acks.any(&mut random);
            let mut packet = Outgoing::new(number, MSS, 0);
            packet.waiting = random.next_u64() >> random.below(64);
            nada.on_send(acks.now, &mut packet);
            let fates: Vec<Fate> = (0..random.below(4))
                .map(|_| {
                    let sent = Time::from_nanos(random.below(1 + acks.now.as_nanos()));
                    let received = match random.below(3) {
                        0 => Time::NEVER,
                        1 => acks.now + OFFSET,
                        _ => Time::from_nanos(random.next_u64() / 2),
                    };
                    let number = random.below(number + 1);
                    Fate::new(number, MSS, sent, 0, random.chance(0.1))
                        .with(|fate| fate.received = received)
                })
                .collect();
            let marked = random.below(5) as u32;
            nada.on_feedback(&feedback.with(|feedback| {
                feedback.fates = &fates;
                feedback.marked_packets = marked;
            }));
            let target = nada.target().expect("has a target");
            assert!((params.rmin..=params.rmax).contains(&target), "{seed} {number}: {target}");
            nada.inspect(&mut |name, value| assert!(value.is_finite(), "{seed} {number}: {name}"));
        }
    }
}
