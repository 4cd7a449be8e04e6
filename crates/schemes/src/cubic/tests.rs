use paceline_cc::{Congestion, Spec, Stream};

use super::*;
use crate::testing::{Acks, MSS};

const RTT: Span = Span::from_millis(100);

/// Returns the RFC's parameters with Linux' slow start.
fn rfc() -> CubicParams {
    CubicParams { growth: Growth::Rfc9438, whole_packets: false, ..CubicParams::default() }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

/// Returns a window of `packets` in congestion avoidance that has never had a loss.
fn avoiding(params: &CubicParams, packets: f64) -> (CubicWindow, Acks) {
    let mut window = CubicWindow::new(params);
    window.add(packets - params.initial_window);
    window.base.leave_slow_start();
    (window, Acks::new(RTT))
}

fn lose(window: &mut CubicWindow, acks: &mut Acks) {
    window.on_feedback(&acks.event(0, Some(Congestion::Loss)));
}

/// Acknowledges packet by packet, a window per RTT, for `span`.
fn run(window: &mut CubicWindow, acks: &mut Acks, span: Span) {
    let end = acks.now + span;
    while acks.now < end {
        acks.now += Span::from_secs_f64(acks.rtt.as_secs_f64() / window.cwnd());
        window.on_feedback(&acks.ack(1));
    }
}

fn inspected(window: &CubicWindow, name: &str) -> f64 {
    let mut found = f64::NAN;
    window.inspect(&mut |key, value| {
        if key == name {
            found = value;
        }
    });
    found
}

#[test]
fn facts_of_two_losses() {
    let (mut window, mut acks) = avoiding(&rfc(), 100.0);
    lose(&mut window, &mut acks);
    assert!(close(window.cwnd(), 70.0, 1e-9) && close(window.ssthresh(), 70.0, 1e-9));
    window.on_feedback(&acks.ack(1));
    assert!(close(inspected(&window, "k"), 4217.2, 0.1));
    window.base.set_cwnd(80.0);
    lose(&mut window, &mut acks);
    assert!(close(inspected(&window, "w_max"), 68.0, 1e-9));
    assert!(close(window.cwnd(), 56.0, 1e-9));
    window.on_feedback(&acks.ack(1));
    assert!(close(inspected(&window, "k"), 3107.2, 0.1));
}

#[test]
fn without_fast_convergence_the_plateau_is_the_last_window() {
    let params = CubicParams { fast_convergence: false, ..rfc() };
    let (mut window, mut acks) = avoiding(&params, 100.0);
    lose(&mut window, &mut acks);
    window.base.set_cwnd(80.0);
    lose(&mut window, &mut acks);
    assert_eq!(inspected(&window, "w_max"), 80.0);
}

#[test]
fn the_window_follows_the_curve() {
    let params = CubicParams { tcp_friendliness: false, ..rfc() };
    let (mut window, mut acks) = avoiding(&params, 100.0);
    lose(&mut window, &mut acks);
    let start = acks.now;
    let k = libm::cbrt(30.0 / 0.4);
    for _ in 0..60 {
        run(&mut window, &mut acks, Span::from_millis(100));
        let x = acks.now.since(start).as_secs_f64() - k;
        let closed_form = 0.4 * x * x * x + 100.0;
        assert!(close(window.cwnd(), closed_form, 1.0), "{} {closed_form}", window.cwnd());
    }
    assert!(acks.now.since(start).as_secs_f64() > k + 1.5);
}

#[test]
fn linux_lets_renos_window_grow_slowly_for_good() {
    for (growth, expected) in [(Growth::Rfc9438, 28.7), (Growth::Linux, 24.6)] {
        let params = CubicParams { growth, ..rfc() };
        let (mut window, mut acks) = avoiding(&params, 20.0);
        lose(&mut window, &mut acks);
        // 20 round trips of 0.53 packets, or of one packet from the twelfth on.
        run(&mut window, &mut acks, Span::from_secs(2));
        let cwnd = window.cwnd();
        assert!(close(cwnd, expected, 1.0), "{growth:?}: {cwnd}");
    }
}

#[test]
fn in_whole_packets_the_plateau_is_reached_sooner_and_kept_longer() {
    // Within one packet of the plateau, cbrt(1 / 0.4) = 1.36 s on either side of K = 4.2 s after
    // a loss at 100 packets, the target is the plateau itself.
    let window_after = |whole_packets: bool, span: Span| {
        let params = CubicParams { whole_packets, tcp_friendliness: false, ..rfc() };
        let (mut window, mut acks) = avoiding(&params, 100.0);
        lose(&mut window, &mut acks);
        run(&mut window, &mut acks, span);
        window.cwnd()
    };
    let (before, after) = (Span::from_millis(3200), Span::from_millis(5200));
    assert!(window_after(true, before) > 99.8 && window_after(false, before) < 99.7);
    assert!(window_after(true, after) < 100.1 && window_after(false, after) > 100.3);
}

#[test]
fn at_small_windows_it_grows_as_reno() {
    let (mut window, mut acks) = avoiding(&rfc(), 10.0);
    let rtt = Span::from_millis(10);
    acks.rtt = rtt;
    lose(&mut window, &mut acks);
    assert_eq!(window.cwnd(), 7.0);
    // alpha per round trip up to the former window, then one packet.
    let alpha = 3.0 * 0.3 / 1.7;
    run(&mut window, &mut acks, rtt * 5);
    assert!(close(window.cwnd(), 7.0 + 5.0 * alpha, 0.15), "{}", window.cwnd());
    run(&mut window, &mut acks, rtt * 5);
    let before = window.cwnd();
    run(&mut window, &mut acks, rtt * 10);
    assert!(close(window.cwnd(), before + 10.0, 0.6), "{before} {}", window.cwnd());
    // Without Reno's window, it hardly grows.
    let params = CubicParams { tcp_friendliness: false, ..rfc() };
    let (mut window, mut acks) = avoiding(&params, 10.0);
    lose(&mut window, &mut acks);
    run(&mut window, &mut acks, Span::from_millis(200));
    assert!(window.cwnd() < 9.0);
}

#[test]
fn growth_is_at_most_half_a_packet_per_packet() {
    let (mut window, mut acks) = avoiding(&rfc(), 100.0);
    lose(&mut window, &mut acks);
    window.on_feedback(&acks.ack(1));
    acks.now += Span::from_secs(60);
    let before = window.cwnd();
    window.on_feedback(&acks.ack(2));
    assert!(close(window.cwnd(), before + 1.0, 1e-9));
}

#[test]
fn without_a_known_plateau_it_probes() {
    let run_once = |probe: f64| {
        let params = CubicParams { probe, tcp_friendliness: false, ..rfc() };
        let (mut window, mut acks) = avoiding(&params, 100.0);
        run(&mut window, &mut acks, RTT);
        window.cwnd()
    };
    assert!(close(run_once(0.05), 105.0, 0.3));
    assert!(close(run_once(0.0), 100.0, 0.1));
}

#[test]
fn timeout_starts_over() {
    let (mut window, mut acks) = avoiding(&rfc(), 100.0);
    lose(&mut window, &mut acks);
    acks.in_recovery = true;
    window.base.set_cwnd(80.0);
    window.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert!(close(window.ssthresh(), 56.0, 1e-9) && window.cwnd() == 1.0);
    assert_eq!(inspected(&window, "w_max"), 0.0);
    window.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert!(close(window.ssthresh(), 56.0, 1e-9));
    window.on_feedback(&acks.ack(10));
    assert_eq!(window.cwnd(), 11.0);
    // The plateau is where congestion avoidance begins.
    window.on_feedback(&acks.ack(46));
    acks.in_recovery = false;
    window.on_feedback(&acks.ack(1));
    assert_eq!(inspected(&window, "k"), 0.0);
}

#[test]
fn repair_does_not_grow() {
    let (mut window, mut acks) = avoiding(&rfc(), 100.0);
    acks.in_recovery = true;
    lose(&mut window, &mut acks);
    run(&mut window, &mut acks, Span::from_secs(2));
    assert!(close(window.cwnd(), 70.0, 1e-9));
    // The epoch begins with the first growth.
    acks.in_recovery = false;
    run(&mut window, &mut acks, RTT);
    assert!(window.cwnd() < 73.0);
}

#[test]
fn undo_restores_window_and_curve() {
    let (mut window, mut acks) = avoiding(&rfc(), 100.0);
    lose(&mut window, &mut acks);
    run(&mut window, &mut acks, Span::from_secs(2));
    let (cwnd, ssthresh) = (window.cwnd(), window.ssthresh());
    let (w_max, k) = (inspected(&window, "w_max"), inspected(&window, "k"));
    for mistake in [Congestion::Loss, Congestion::Timeout] {
        acks.in_recovery = true;
        window.on_feedback(&acks.event(0, Some(mistake)));
        assert!(window.cwnd() < cwnd);
        window.on_feedback(&acks.event(0, Some(Congestion::Undo)));
        // The threshold stays at three quarters of the window or more.
        assert_eq!((window.cwnd(), window.ssthresh()), (cwnd, ssthresh.max(0.75 * cwnd)));
        assert_eq!((inspected(&window, "w_max"), inspected(&window, "k")), (w_max, k));
        acks.in_recovery = false;
        window.on_feedback(&acks.event(0, None));
    }
}

#[test]
fn time_without_need_does_not_count() {
    let (mut window, mut acks) = avoiding(&rfc(), 100.0);
    lose(&mut window, &mut acks);
    run(&mut window, &mut acks, RTT);
    let before = window.cwnd();
    acks.cwnd_limited = false;
    run(&mut window, &mut acks, Span::from_secs(10));
    assert_eq!(window.cwnd(), before);
    acks.now += Span::from_secs(20);
    window.on_idle(acks.now, Span::from_secs(20), Span::from_secs(30));
    acks.cwnd_limited = true;
    run(&mut window, &mut acks, RTT);
    let x = 0.2 - libm::cbrt(30.0 / 0.4);
    assert!(close(window.cwnd(), 0.4 * x * x * x + 100.0, 1.0), "{}", window.cwnd());
}

/// Linux evaluates the curve at most once per tick: acknowledgements that arrive together open the
/// window at the pace of the first one, also beyond the curve.
#[test]
fn acknowledgements_within_a_tick_have_one_pace() {
    let params = CubicParams { tcp_friendliness: false, ..CubicParams::default() };
    let (mut window, mut acks) = avoiding(&params, 100.0);
    lose(&mut window, &mut acks);
    let opened_by_eight = |window: &mut CubicWindow, acks: &mut Acks| {
        let before = window.cwnd();
        for _ in 0..8 {
            window.on_feedback(&acks.ack(10));
        }
        window.cwnd() - before
    };
    // The curve is at 73 packets, so the window of 70 opens by one per 70/3 = 23 packets.
    assert_eq!(opened_by_eight(&mut window, &mut acks), 3.0);
    assert_eq!(opened_by_eight(&mut window, &mut acks), 3.0);
    // In the next tick the window is beyond the curve.
    acks.now += Span::from_millis(4);
    assert_eq!(opened_by_eight(&mut window, &mut acks), 0.0);
}

#[test]
fn long_idleness_restarts() {
    let (mut window, mut acks) = avoiding(&rfc(), 80.0);
    run(&mut window, &mut acks, RTT);
    window.on_idle(acks.now, Span::from_secs(10), Span::from_secs(1));
    assert_eq!(window.cwnd(), 10.0);
    assert!(window.in_slow_start());
    // Reno's window does not raise it at once.
    window.base.leave_slow_start();
    window.on_feedback(&acks.ack(1));
    assert!(window.cwnd() < 11.0);
}

#[test]
fn a_cap_holds() {
    let (mut window, mut acks) = avoiding(&rfc(), 80.0);
    run(&mut window, &mut acks, RTT);
    window.cap(45.0);
    assert_eq!(window.cwnd(), 45.0);
    window.on_feedback(&acks.ack(1));
    assert!(window.cwnd() <= 46.0);
    window.cap(0.0);
    assert_eq!(window.cwnd(), 1.0);
}

#[test]
fn back_off_leads_back_by_slow_start() {
    let (mut window, mut acks) = avoiding(&rfc(), 50.0);
    window.back_off(1.0);
    assert_eq!((window.cwnd(), window.ssthresh()), (1.0, 35.0));
    window.back_off(1.0);
    assert_eq!((window.cwnd(), window.ssthresh()), (1.0, 2.0));
    window.on_feedback(&acks.event(0, Some(Congestion::Undo)));
    assert_eq!(window.cwnd(), 1.0);
}

#[test]
fn parameters_are_checked() {
    let build = |text: &str| Spec::parse(text).is_ok_and(|spec| (SCHEME.build)(&spec).is_ok());
    assert!(build("cubic[hystart=rfc9406,ecn=true]"));
    assert!(!build("cubic[beta=1]"));
    assert!(!build("cubic[c=0]"));
    assert!(!build("cubic[initial_window=0.5]"));
    assert!(!build("cubic[hystart=on]"));
}

#[test]
fn survives_anything() {
    let kinds = [HyStartKind::Linux, HyStartKind::Rfc9406, HyStartKind::Off, HyStartKind::Ns3];
    for seed in 0..40 {
        let mut random = Stream::new(seed, "cubic");
        let params = CubicParams { hystart: kinds[seed as usize % 4], ..rfc() };
        let mut cubic = CubicSender::new(&params, MSS);
        let mut acks = Acks::new(RTT);
        for _ in 0..5_000 {
            cubic.on_feedback(&acks.any(&mut random));
            match random.below(200) {
                0 => cubic.window.cap(random.below(3000) as f64),
                1 => cubic.window.back_off(1.0),
                2 => {
                    let idle = Span::from_millis(random.below(9000));
                    cubic.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
                }
                _ => {}
            }
            assert!(cubic.window.cwnd().is_finite() && cubic.plan().cwnd >= MSS as u64);
        }
    }
}
