use paceline_cc::{
    Congestion, Controller, Load, Outgoing, Rate, SchemeSpec, Signals, Stream, Time,
};

use super::sender::VcpSender;
use super::*;
use crate::testing::{Acks, MSS, problem};

fn cwnd(sender: &VcpSender) -> f64 {
    let mut cwnd = f64::NAN;
    sender.inspect(&mut |name, value| cwnd = if name == "cwnd" { value } else { cwnd });
    cwnd
}

fn paper() -> VcpParams {
    VcpParams::variant("paper").expect("a variant")
}

fn at(packets: f64, rtt_ms: u64) -> (VcpSender, Acks) {
    of(VcpParams { initial_window: packets, ..paper() }, rtt_ms)
}

fn of(params: VcpParams, rtt_ms: u64) -> (VcpSender, Acks) {
    let mut acks = Acks::new(Span::from_millis(rtt_ms));
    acks.in_flight = params.initial_window as u64;
    (VcpSender::new(&params, MSS), acks)
}

fn hear(sender: &mut VcpSender, acks: &mut Acks, load: Load, packets: u64) -> f64 {
    sender.on_feedback(&acks.ack(packets).with(|feedback| feedback.explicit = load as u32));
    cwnd(sender)
}

/// Acknowledges a round trip, packet by packet.
fn round(sender: &mut VcpSender, acks: &mut Acks, load: Load) -> f64 {
    for _ in 0..cwnd(sender) as u64 {
        hear(sender, acks, load, 1);
    }
    acks.now += acks.rtt;
    cwnd(sender)
}

#[test]
fn low_load_doubles_in_twelve_round_trips_of_t_rho() {
    for (rtt_ms, expected) in [(200, 11.43), (100, 22.87)] {
        let (mut sender, mut acks) = at(1000.0, rtt_ms);
        let mut before = 1000.0;
        for trips in 1..100 {
            let after = round(&mut sender, &mut acks, Load::Low);
            if after >= 2000.0 {
                let part = (2000.0f64 / before).ln() / (after / before).ln();
                let taken = trips as f64 - 1.0 + part;
                assert!((taken - expected).abs() < 0.02, "{rtt_ms}: {taken}");
                break;
            }
            assert!(trips < 90);
            before = after;
        }
    }
    // Exact per packet; RTTs longer than 2.5 t_rho count as 2.5 t_rho.
    let (mut sender, mut acks) = at(100.0, 200);
    assert_eq!(hear(&mut sender, &mut acks, Load::Low, 1), 100.0625);
    let (mut sender, mut acks) = at(100.0, 5000);
    let most = 1.0625f64.powf(2.5) - 1.0;
    assert!((hear(&mut sender, &mut acks, Load::Low, 1) - 100.0 - most).abs() < 1e-9);
}

#[test]
fn high_load_adds_a_packet_per_100_ms_squared() {
    let square = |rtt_ms: u64| {
        let (mut sender, mut acks) = at(100.0, rtt_ms);
        (hear(&mut sender, &mut acks, Load::High, 1) - 100.0) * 100.0
    };
    for (rtt_ms, expected) in
        [(10, 0.02), (20, 0.04), (50, 0.25), (100, 1.0), (200, 4.0), (500, 25.0), (700, 27.0)]
    {
        assert!((square(rtt_ms) - expected).abs() < 1e-9, "{rtt_ms}: {}", square(rtt_ms));
    }
}

#[test]
fn overload_cuts_an_eighth_then_waits_then_adds() {
    let (mut sender, mut acks) = at(100.0, 100);
    let start = acks.now;
    assert_eq!(hear(&mut sender, &mut acks, Load::Overload, 1), 87.5);
    for ms in [0, 50, 150, 199] {
        acks.now = start + Span::from_millis(ms);
        for load in [Load::Overload, Load::High, Load::Low] {
            assert_eq!(hear(&mut sender, &mut acks, load, 1), 87.5);
        }
    }
    // A round trip of addition, whatever the load.
    for (ms, load) in [(200, Load::Overload), (250, Load::Low), (299, Load::High)] {
        acks.now = start + Span::from_millis(ms);
        let before = cwnd(&sender);
        assert!((hear(&mut sender, &mut acks, load, 1) - before - 1.0 / before).abs() < 1e-9);
    }
    acks.now = start + Span::from_millis(300);
    let before = cwnd(&sender);
    assert_eq!(hear(&mut sender, &mut acks, Load::Overload, 1), before * 0.875);
    let (mut one, mut acks) = at(1.0, 100);
    assert_eq!(hear(&mut one, &mut acks, Load::Overload, 1), 1.0);
}

#[test]
fn as_in_ns2_only_overload_is_disregarded() {
    let params = VcpParams { initial_window: 100.0, settle: Settle::Overload, ..paper() };
    let (mut sender, mut acks) = of(params, 200);
    let start = acks.now;
    assert_eq!(hear(&mut sender, &mut acks, Load::Overload, 1), 87.5);
    assert_eq!(hear(&mut sender, &mut acks, Load::Low, 1), 87.5625);
    assert_eq!(hear(&mut sender, &mut acks, Load::Overload, 1), 87.5625);
    acks.now = start + Span::from_millis(250);
    let added = hear(&mut sender, &mut acks, Load::Overload, 1);
    assert!((added - 87.5625 - 4.0 / 87.5625).abs() < 1e-9);
    acks.now = start + Span::from_millis(400);
    assert_eq!(hear(&mut sender, &mut acks, Load::Overload, 1), added * 0.875);
}

#[test]
fn a_queue_need_not_speed_growth_up() {
    let grown = |scale, load| {
        let params = VcpParams { initial_window: 100.0, scale, ..paper() };
        let (mut sender, mut acks) = of(params, 100);
        let full = acks.ack(1).with(|feedback| feedback.srtt = Span::from_millis(400));
        sender.on_feedback(&full.with(|feedback| feedback.explicit = load as u32));
        (cwnd(&sender) - 100.0) * 100.0
    };
    assert!((grown(Scale::Smoothed, Load::High) - 16.0).abs() < 1e-9);
    assert!((grown(Scale::Smallest, Load::High) - 1.0).abs() < 1e-9);
    let once = 100.0 * (1.0625f64.sqrt() - 1.0);
    assert!((grown(Scale::Smallest, Load::Low) - once).abs() < 1e-9);
}

#[test]
fn unscaled_constants_are_per_round_trip() {
    for rtt_ms in [20, 100, 600] {
        let grown = |load| {
            let unscaled = Scale::Unscaled;
            let params = VcpParams { initial_window: 100.0, scale: unscaled, ..paper() };
            let (mut sender, mut acks) = of(params, rtt_ms);
            round(&mut sender, &mut acks, load)
        };
        assert!((grown(Load::Low) - 106.25).abs() < 0.5, "{rtt_ms}: {}", grown(Load::Low));
        assert!((grown(Load::High) - 101.0).abs() < 0.01, "{rtt_ms}: {}", grown(Load::High));
    }
    // Twelve round trips to double, as in ABC's paper.
    let params = VcpParams { initial_window: 1000.0, scale: Scale::Unscaled, ..paper() };
    let (mut sender, mut acks) = of(params, 100);
    let windows: Vec<f64> = (0..12).map(|_| round(&mut sender, &mut acks, Load::Low)).collect();
    assert!(windows[10] < 2000.0 && windows[11] >= 2000.0, "{windows:?}");
}

#[test]
fn times_are_rounded_up_to_10_ms() {
    let params = VcpParams { initial_window: 100.0, t_rho: Span::from_millis(203), ..paper() };
    let (mut sender, mut acks) = of(params, 101);
    let start = acks.now;
    hear(&mut sender, &mut acks, Load::Overload, 1);
    acks.now = start + Span::from_millis(209);
    assert_eq!(hear(&mut sender, &mut acks, Load::High, 1), 87.5);
    // 101 ms are 100 ms on this clock: the addition lasts until 310 ms.
    acks.now = start + Span::from_millis(309);
    let before = cwnd(&sender);
    assert!(hear(&mut sender, &mut acks, Load::Overload, 1) > before);
    acks.now = start + Span::from_millis(310);
    assert!(hear(&mut sender, &mut acks, Load::Overload, 1) < before);
}

#[test]
fn losses_and_timeouts_are_renos() {
    let (mut sender, mut acks) = at(100.0, 100);
    sender.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!(cwnd(&sender), 50.0);
    sender.on_feedback(&acks.event(0, Some(Congestion::Undo)));
    assert_eq!(cwnd(&sender), 100.0);
    sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(cwnd(&sender), 1.0);
    // Slow start to half of the window, then multiplication.
    for expected in [2.0, 4.0, 8.0, 16.0, 32.0, 50.0] {
        let mut after = 0.0;
        for _ in 0..cwnd(&sender) as u64 {
            after = hear(&mut sender, &mut acks, Load::Low, 1).min(50.0);
        }
        assert_eq!(after, expected);
    }
    // High load ends it early; with slow_start=false there is none.
    sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    hear(&mut sender, &mut acks, Load::Low, 1);
    assert!(hear(&mut sender, &mut acks, Load::High, 1) < 2.6);
    assert!(hear(&mut sender, &mut acks, Load::Low, 1) < 2.6);
    let params = VcpParams { initial_window: 100.0, slow_start: false, ..paper() };
    let (mut sender, mut acks) = of(params, 200);
    sender.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(hear(&mut sender, &mut acks, Load::Low, 1), 1.0625);
}

#[test]
fn idleness_halves_per_timeout_and_slow_start_returns() {
    let (mut sender, mut acks) = of(paper(), 200);
    while cwnd(&sender) < 64.0 {
        hear(&mut sender, &mut acks, Load::Low, 1);
    }
    let second = Span::from_secs(1);
    sender.on_idle(acks.now, second, second);
    assert_eq!(cwnd(&sender), 64.0);
    sender.on_idle(acks.now, Span::from_millis(2500), second);
    assert_eq!(cwnd(&sender), 16.0);
    assert_eq!(hear(&mut sender, &mut acks, Load::Low, 16), 32.0);
    assert_eq!(hear(&mut sender, &mut acks, Load::Low, 16), 48.0);
    hear(&mut sender, &mut acks, Load::Low, 16);
    assert_eq!(hear(&mut sender, &mut acks, Load::Low, 1), 64.0625);
}

#[test]
fn without_loads_from_routers_the_window_grows_as_reno() {
    let (mut sender, mut acks) = at(1.0, 100);
    for expected in [2.0, 3.0, 4.0] {
        assert_eq!(hear(&mut sender, &mut acks, Load::Unknown, 1), expected);
    }
    sender.on_feedback(&acks.event(0, Some(Congestion::Loss)));
    assert_eq!(hear(&mut sender, &mut acks, Load::Unknown, 2), 3.0);
}

#[test]
fn an_unused_window_does_not_grow() {
    let (mut sender, mut acks) = at(100.0, 100);
    hear(&mut sender, &mut acks, Load::Overload, 1);
    acks.now += Span::from_secs(1);
    acks.cwnd_limited = false;
    for load in [Load::Low, Load::High] {
        assert_eq!(hear(&mut sender, &mut acks, load, 1), 87.5);
    }
}

#[test]
fn small_windows_of_long_round_trips_are_paced() {
    let (mut sender, mut acks) = at(4.0, 500);
    assert!(sender.plan().pacing.is_none());
    hear(&mut sender, &mut acks, Load::Overload, 1);
    let plan = sender.plan();
    assert_eq!((cwnd(&sender), plan.cwnd), (3.5, 4500));
    assert_eq!(plan.pacing, Some(Rate::from_bps(84_000)));
    // Not paced: packets are only half of t_rho apart, or the window is below two packets.
    let (mut sender, mut acks) = at(5.0, 500);
    hear(&mut sender, &mut acks, Load::High, 1);
    assert!(sender.plan().pacing.is_none());
    let (mut sender, mut acks) = at(1.0, 500);
    hear(&mut sender, &mut acks, Load::Low, 1);
    assert!(sender.plan().pacing.is_none());
}

#[test]
fn packets_ask_for_the_load() {
    let (mut sender, _) = at(1.0, 100);
    assert_eq!(sender.needs(), Signals::HEADERS);
    let mut packet = Outgoing::new(0, MSS, 0);
    sender.on_send(Time::ZERO, &mut packet);
    assert_eq!(packet.header, Header::Vcp(Load::Unknown));
}

#[test]
fn anything_may_be_fed() {
    for text in ["vcp", "vcp[settle=overload,slow_start=false]", "vcp[t_rho=1ms,t_d=1ms,kappa=10]"]
    {
        let params: VcpParams = SchemeSpec::parse(text).expect(text).sender.params().expect(text);
        for seed in 0..10 {
            let mut random = Stream::new(seed, text);
            let (mut sender, mut acks) = of(params.clone(), 100);
            for _ in 0..5000 {
                let explicit = random.below(5) as u32;
                sender.on_feedback(
                    &acks.any(&mut random).with(|feedback| feedback.explicit = explicit),
                );
                if random.chance(0.01) {
                    let idle = Span::from_millis(random.below(9000));
                    sender.on_idle(acks.now, idle, Span::from_millis(300));
                }
                let plan = sender.plan();
                assert!(cwnd(&sender).is_finite() && plan.cwnd >= 1500 && plan.cwnd < 1 << 50);
                assert!(plan.pacing.is_none_or(|rate| rate > Rate::ZERO));
            }
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for text in [
        "vcp[kappa=0]",
        "vcp[alpha=0]",
        "vcp[beta=1]",
        "vcp[t_d=0ms]",
        "vcp[t_rho=0ms]",
        "vcp[t_q=0ms]",
        "vcp[kappa_q=-1]",
        "vcp[gamma_l=0]",
        "vcp[queue_weight=0]",
        "vcp[initial_window=0]",
        "vcp[settle=some]",
    ] {
        assert!(problem(text).contains("vcp["), "{text}");
    }
    assert_eq!(problem("vcp[rule=authors,settle=overload,slow_start=false]"), "");
}
