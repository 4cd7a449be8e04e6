use paceline_cc::{Congestion, Controller, Ecn, Rate, SchemeSpec, Signals, Span, Stream, Time};

use super::*;
use crate::registry;
use crate::testing::{Acks, MSS, problem};

const UP: Ecn = ACCELERATE;
const DOWN: Ecn = BRAKE;

fn basic() -> AbcParams {
    AbcParams {
        dual_window: false,
        additive_increase: AdditiveIncrease::Off,
        min_window: 1.0,
        ..AbcParams::default()
    }
}

fn see(sender: &AbcSender, name: &str) -> f64 {
    let mut value = f64::NAN;
    sender.inspect(&mut |seen, v| {
        if seen == name {
            value = v;
        }
    });
    value
}

fn w(sender: &AbcSender) -> f64 {
    see(sender, "w_abc")
}

fn acks() -> Acks {
    Acks::new(Span::from_millis(100))
}

fn hear(sender: &mut AbcSender, echo: Ecn, packets: u64) -> f64 {
    sender.on_feedback(&acks().ack(packets).with(|feedback| feedback.echo = echo));
    w(sender)
}

/// Returns a sender whose window is `packets`.
fn at(packets: f64, params: AbcParams) -> AbcSender {
    AbcSender::new(&AbcParams { initial_window: packets, ..params }, MSS)
}

#[test]
fn accelerates_add_and_brakes_take() {
    assert_eq!(hear(&mut at(10.0, basic()), UP, 2), 12.0);
    assert_eq!(hear(&mut at(10.0, basic()), DOWN, 2), 8.0);
    assert_eq!(hear(&mut at(10.0, basic()), Ecn::Ce, 2), 10.0);
    assert_eq!(hear(&mut at(10.0, basic()), Ecn::NotEct, 2), 10.0);
    assert_eq!(hear(&mut at(2.0, basic()), DOWN, 3), 1.0);
    assert_eq!(hear(&mut at(3.0, AbcParams { min_window: 2.0, ..basic() }), DOWN, 3), 2.0);
    let mut half = at(10.0, basic());
    half.on_feedback(&acks().ack(1).with(|feedback| {
        feedback.echo = UP;
        feedback.acked = 750;
    }));
    assert_eq!(w(&half), 10.5);
}

#[test]
fn a_window_of_ten_is_paced_at_twenty_per_round_trip() {
    let mut sender = at(10.0, basic());
    assert!(sender.plan().pacing.is_none());
    hear(&mut sender, Ecn::Ce, 2);
    let plan = sender.plan();
    assert_eq!(plan.cwnd, 15_000);
    assert_eq!(plan.pacing, Some(Rate::from_bytes_per_sec(300_000.0)));
    assert_eq!(plan.burst, 2 * MSS);
    let mut unpaced = at(10.0, AbcParams { pacing: 0.0, ..basic() });
    hear(&mut unpaced, UP, 2);
    assert!(unpaced.plan().pacing.is_none());
}

#[test]
fn the_last_round_trip_paces_once_it_is_shorter() {
    let mut sender = at(10.0, basic());
    let late = Span::from_secs(1);
    sender.on_feedback(&acks().ack(1).with(|feedback| feedback.srtt = late));
    assert_eq!(sender.plan().pacing, Some(Rate::from_bytes_per_sec(300_000.0)));
    sender.on_feedback(&acks().ack(1).with(|feedback| feedback.rtt = Some(late)));
    assert_eq!(sender.plan().pacing, Some(Rate::from_bytes_per_sec(300_000.0)));
}

#[test]
fn the_codes_floor_ignores_brakes() {
    let code = |packets| at(packets, AbcParams { brake_floor: 5.0, ..basic() });
    assert_eq!(hear(&mut code(10.0), DOWN, 2), 8.0);
    assert_eq!(hear(&mut code(7.0), DOWN, 1), 6.0);
    assert_eq!(hear(&mut code(6.0), DOWN, 1), 6.0);
    assert_eq!(hear(&mut code(7.0), DOWN, 2), 7.0);
}

#[test]
fn additive_increase_is_one_packet_per_round_trip() {
    let grown = |increase, per_ack: u64| {
        let mut sender = at(100.0, AbcParams { additive_increase: increase, ..basic() });
        for _ in 0..100 / per_ack {
            hear(&mut sender, Ecn::Ce, per_ack);
        }
        w(&sender) - 100.0
    };
    assert!((grown(AdditiveIncrease::PerPacket, 1) - 1.0).abs() < 0.01);
    assert!((grown(AdditiveIncrease::PerPacket, 2) - 1.0).abs() < 0.01);
    assert!((grown(AdditiveIncrease::PerAck, 2) - 0.5).abs() < 0.01);
    assert_eq!(grown(AdditiveIncrease::Off, 2), 0.0);
    // An acknowledgement of more than the window counts for at most one round trip.
    let mut sender = at(2.0, AbcParams::default());
    hear(&mut sender, Ecn::Ce, 50);
    assert_eq!(w(&sender), 3.0);
}

#[test]
fn a_round_trip_multiplies_the_window_by_twice_the_fraction() {
    for (fraction, after) in [(0.0, 1.0), (0.3, 60.0), (0.5, 100.0), (0.9, 180.0), (1.0, 200.0)] {
        let mut sender = at(100.0, basic());
        let ups = (100.0 * fraction) as usize;
        for i in 0..100 {
            // Accelerates and brakes are spread evenly.
            let up = (i + 1) * ups / 100 > i * ups / 100;
            hear(&mut sender, if up { UP } else { DOWN }, 1);
        }
        assert!((w(&sender) - after).abs() <= 1.0, "{fraction}: {}", w(&sender));
    }
}

#[test]
fn the_window_settles_where_the_paper_says() {
    // w = 1/(1-2f); f = 0.49 gives 50.
    let (mut token, mut sum, mut sender) = (0.0, 0.0, at(10.0, AbcParams::default()));
    for i in 0..100_000 {
        token += 0.49;
        let up = token > 1.0;
        token -= if up { 1.0 } else { 0.0 };
        let mut acks = acks();
        acks.in_flight = w(&sender) as u64;
        let echo = if up { UP } else { DOWN };
        sender.on_feedback(&acks.ack(1).with(|feedback| feedback.echo = echo));
        sum += if i >= 50_000 { w(&sender) } else { 0.0 };
    }
    assert!((sum / 50_000.0 - 50.0).abs() < 1.0, "{}", sum / 50_000.0);
}

#[test]
fn lost_acknowledgements_slow_the_change_but_keep_its_sign() {
    let mut random = Stream::new(1, "abc ack loss");
    for fraction in [0.3, 0.7] {
        for delivered in [1.0, 0.5, 0.2] {
            let mut sender = at(1000.0, basic());
            for _ in 0..1000 {
                let echo = if random.chance(fraction) { UP } else { DOWN };
                if random.chance(delivered) {
                    hear(&mut sender, echo, 1);
                }
            }
            let change = (w(&sender) - 1000.0) / 1000.0;
            let expected = (2.0 * fraction - 1.0) * delivered;
            assert!((change - expected).abs() < 0.09, "{change} {expected}");
            assert_eq!(change > 0.0, expected > 0.0);
        }
    }
}

#[test]
fn the_basic_sender_ignores_losses_and_timeouts() {
    let mut sender = at(10.0, basic());
    for congestion in [Congestion::Loss, Congestion::Ecn, Congestion::Timeout, Congestion::Undo] {
        sender.on_feedback(&acks().event(0, Some(congestion)));
        assert_eq!(w(&sender), 10.0);
        assert!(!sender.plan().reduces_by_prr);
    }
    assert_eq!(sender.needs(), Signals::ECHO);
}

#[test]
fn both_windows_stay_within_twice_the_flight() {
    let mut sender = at(100.0, AbcParams::default());
    let mut acks = acks();
    acks.in_flight = 20;
    sender.on_feedback(&acks.ack(0));
    assert_eq!((w(&sender), see(&sender, "w_cubic")), (45.0, 45.0));
    // With nothing in flight, some packets may still leave, two round trips later.
    acks.in_flight = 0;
    for _ in 0..3 {
        sender.on_feedback(&acks.ack(0).with(|feedback| feedback.round_start = true));
    }
    assert_eq!(see(&sender, "cwnd"), 5.0);
}

#[test]
fn a_moment_with_little_in_flight_costs_nothing() {
    let mut sender = at(100.0, AbcParams::default());
    let mut acks = acks();
    acks.in_flight = 100;
    sender.on_feedback(&acks.ack(0));
    acks.in_flight = 3;
    sender.on_feedback(&acks.ack(0));
    assert_eq!(see(&sender, "cwnd"), 100.0);
}

#[test]
fn congestion_is_for_the_second_window() {
    for congestion in [Congestion::Loss, Congestion::Ecn] {
        let mut sender = at(100.0, AbcParams::default());
        let mut acks = acks();
        acks.in_flight = 100;
        sender.on_feedback(&acks.event(0, Some(congestion)));
        assert_eq!(w(&sender), 100.0);
        assert!((see(&sender, "w_cubic") - 70.0).abs() < 1e-9);
        assert!((see(&sender, "cwnd") - 70.0).abs() < 1e-9);
        assert!(sender.plan().reduces_by_prr);
    }
    let mut sender = at(100.0, AbcParams::default());
    let mut acks = acks();
    acks.in_flight = 100;
    sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((w(&sender), see(&sender, "w_cubic")), (100.0, 1.0));
    assert_eq!(sender.needs(), Signals::ECHO.and(Signals::ECN));
}

#[test]
fn behind_proxies_ce_is_a_brake_and_no_congestion() {
    let proxied = AbcParams { proxied: true, dual_window: true, ..basic() };
    let mut sender = at(10.0, proxied);
    assert_eq!(sender.plan().ecn, Ecn::Ect0);
    assert_eq!(sender.needs(), Signals::ECHO);
    assert_eq!(hear(&mut sender, Ecn::Ect0, 2), 12.0);
    assert_eq!(hear(&mut sender, Ecn::Ect1, 2), 14.0);
    assert_eq!(hear(&mut sender, Ecn::Ce, 2), 12.0);
    let cubic = see(&sender, "w_cubic");
    sender.on_feedback(&acks().event(0, Some(Congestion::Ecn)));
    assert_eq!(see(&sender, "w_cubic"), cubic);
    sender.on_feedback(&acks().event(0, Some(Congestion::Loss)));
    assert!(see(&sender, "w_cubic") < cubic);
    assert_eq!(at(10.0, basic()).plan().ecn, UP);
}

/// Cubic's window of a connection behind a proxy grows through round trips that begin with CE, and no
/// proportional reduction limits sending.
#[test]
fn brakes_of_proxies_do_not_stop_the_second_window() {
    let grown = |congestion: Congestion| {
        let proxied = AbcParams { proxied: true, ..AbcParams::default() };
        let mut sender = at(10.0, proxied);
        let mut acks = acks();
        acks.in_flight = 10;
        for round in 0..3 {
            let first = (round == 0 || congestion == Congestion::Ecn).then_some(congestion);
            sender.on_feedback(&acks.event(0, first).with(|it| it.in_recovery = true));
            for _ in 0..5 {
                sender.on_feedback(&acks.ack(2).with(|feedback| {
                    feedback.echo = Ecn::Ect0;
                    feedback.in_recovery = true;
                }));
            }
        }
        (see(&sender, "w_cubic"), sender.plan().reduces_by_prr)
    };
    let (cwnd, reduces_by_prr) = grown(Congestion::Ecn);
    assert!(cwnd > 20.0 && !reduces_by_prr, "{cwnd} {reduces_by_prr}");
    let (cwnd, reduces_by_prr) = grown(Congestion::Loss);
    assert!(cwnd <= 7.0 && reduces_by_prr, "{cwnd} {reduces_by_prr}");
}

/// Runs round trips with a full window in flight until `until` returns true; returns their number.
fn rounds(
    sender: &mut AbcSender,
    acks: &mut Acks,
    echo: Ecn,
    until: impl Fn(&AbcSender) -> bool,
) -> u32 {
    for round in 0..1000 {
        if until(sender) {
            return round;
        }
        let flight = see(sender, "cwnd") as u64;
        for i in 0..flight {
            acks.in_flight = flight;
            acks.now += acks.rtt / flight;
            let feedback = acks.ack(1).with(|feedback| feedback.echo = echo);
            sender.on_feedback(&feedback.with(|feedback| feedback.round_start = i == 0));
        }
    }
    panic!("no end")
}

#[test]
fn the_second_window_rises_at_once_with_the_first() {
    // Before any loss, the window doubles per round trip, however long ABC has limited it.
    let mut sender = at(10.0, AbcParams::default());
    let mut acks = acks();
    rounds(&mut sender, &mut acks, DOWN, acks_are_few);
    assert!(rounds(&mut sender, &mut acks, UP, |s| see(s, "cwnd") >= 512.0) <= 11);

    // Seconds after a loss elsewhere, at a window of 500, it still grows by half per round trip.
    acks.in_flight = 500;
    sender.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    acks.now += Span::from_secs(10);
    rounds(&mut sender, &mut acks, DOWN, acks_are_few);
    assert!(see(&sender, "w_cubic") < 10.0);
    let taken = rounds(&mut sender, &mut acks, UP, |s| see(s, "cwnd") >= 320.0);
    assert!(taken <= 14, "{taken} round trips");
}

fn acks_are_few(sender: &AbcSender) -> bool {
    see(sender, "cwnd") <= 2.0 && see(sender, "w_cubic") <= 9.5
}

#[test]
fn the_first_window_does_not_run_away_from_the_second() {
    // The bottleneck is elsewhere and loses a packet whenever 100 are in flight.
    let mut sender = at(10.0, AbcParams::default());
    let mut acks = acks();
    for _ in 0..200 {
        let flight = see(&sender, "cwnd") as u64;
        acks.in_flight = flight;
        acks.now += acks.rtt;
        let loss = (flight > 100).then_some(Congestion::Loss);
        let feedback = acks.event(flight, loss);
        sender.on_feedback(&feedback.with(|feedback| {
            feedback.echo = UP;
            feedback.round_start = true;
        }));
        assert!(w(&sender) <= 2.0 * 205.0 + 5.0);
        assert!(see(&sender, "cwnd") <= 205.0);
    }
    assert!(w(&sender) > see(&sender, "w_cubic"));
}

#[test]
fn anything_may_be_fed() {
    let texts = ["abc", "abc[dual_window=false]", "abc[proxied=true,brake_floor=5]"];
    for text in texts {
        let spec = SchemeSpec::parse(text).expect(text).sender;
        let mut sender =
            (registry::build(&spec).expect(text).controller)(&paceline_cc::Setup::default());
        let mut acks = acks();
        let mut random = Stream::new(7, text);
        for _ in 0..50_000 {
            let echo = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][random.below(4) as usize];
            let feedback = acks.any(&mut random);
            sender.on_feedback(&feedback.with(|feedback| feedback.echo = echo));
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(10_000));
                sender.on_idle(acks.now, idle, Span::from_millis(300));
            }
            let plan = sender.plan();
            assert!(plan.cwnd >= 1500);
            assert!(plan.pacing != Some(Rate::ZERO));
            assert_eq!(plan.timer, Time::NEVER);
            sender.inspect(&mut |name, value| assert!(value.is_finite() && value >= 1.0, "{name}"));
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for text in [
        "abc[eta=0]",
        "abc[eta=1.6]",
        "abc[delta=0ms]",
        "abc[t=0ms]",
        "abc[token_limit=0.5]",
        "abc[token0=6]",
        "abc[token0=-1]",
        "abc[min_window=0.5]",
        "abc[initial_window=0]",
        "abc[brake_floor=-1]",
        "abc[pacing=-1]",
        "abc[credit=unused,lookahead=100ms]",
    ] {
        assert!(problem(text).contains("abc["), "{text}");
    }
    assert!(problem("abc[credit=both]").contains("target, unused"));
    assert_eq!(problem("abc[dt=60ms,dual_window=false,additive_increase=ack,rate=enqueue]"), "");
}
