use paceline_cc::{Spec, Stream};

use super::*;
use crate::testing::{Acks, MSS};

const LONG: Span = Span::from_millis(300);

/// Returns a sender with a window of `packets` in congestion avoidance, whose repairs are over.
fn avoiding(params: &C2tcpParams, packets: f64) -> (C2tcpSender, Acks) {
    let mut c2tcp = C2tcpSender::new(params, MSS);
    let mut acks = Acks::new(LONG);
    match &mut c2tcp.window {
        Window::NewReno(window) => {
            window.set_cwnd(packets);
            window.leave_slow_start();
        }
        Window::Cubic(window) => {
            // A loss leaves seven tenths of the window; the plateau is far above.
            window.add(packets / 0.7 - window.cwnd());
            window.on_feedback(&acks.event(0, Some(Congestion::Loss)));
        }
    }
    (c2tcp, acks)
}

fn exact() -> C2tcpParams {
    C2tcpParams::variant("paper").expect("a variant")
}

/// Returns the times, in milliseconds since the first long RTT, of the back-offs, if an
/// acknowledgement arrives every tenth of a millisecond.
fn back_offs(rule: Rule) -> Vec<u64> {
    let mut condition = Condition::new(rule);
    let (start, interval) = (Time::from_secs(1), Span::from_millis(100));
    let at = |step: u64| start + Span::from_micros(100 * step);
    let bad = |step: &u64| condition.on_rtt(at(*step), LONG, interval, interval) == Verdict::Bad;
    (0..4000).filter(bad).collect()
}

#[test]
fn facts_of_back_off_times() {
    // In tenths of a millisecond, each at the first acknowledgement after the deadline.
    let times = back_offs(Rule::Paper);
    let exact = [1001, 2002, 2710, 3288, 3789];
    assert_eq!(times.len(), exact.len());
    for (time, fact) in times.iter().zip(exact) {
        assert!(time.abs_diff(fact) <= 1, "{times:?}");
    }
    // Newton's first steps are 1, 0.5, 0.5625, 0.4878; deadlines are whole milliseconds.
    let gaps: Vec<_> = back_offs(Rule::Kernel).windows(2).map(|w| w[1] - w[0]).collect();
    for (gap, share) in gaps.iter().zip([1.0, 0.5, 0.5625, 0.4878]) {
        assert!((*gap as f64 - 1000.0 * share).abs() <= 12.0, "{gaps:?}");
    }
}

#[test]
fn facts_of_back_off_windows() {
    for (base, threshold) in [(Base::Cubic, 35.0), (Base::NewReno, 25.0)] {
        let (mut c2tcp, mut acks) = avoiding(&C2tcpParams { base, ..exact() }, 50.0);
        let mut seen = Vec::new();
        for _ in 0..250 {
            acks.now += Span::from_millis(1);
            let before = c2tcp.window.ssthresh();
            c2tcp.on_feedback(&acks.ack(0));
            let mut feedback = acks.ack(0);
            feedback.rtt = Some(LONG);
            c2tcp.on_feedback(&feedback);
            if c2tcp.window.ssthresh() != before {
                seen.push((c2tcp.window.cwnd(), c2tcp.window.ssthresh()));
            }
        }
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert_eq!(seen[0].0, 1.0);
        assert!((seen[0].1 - threshold).abs() < 0.01, "{seen:?}");
        assert_eq!(seen[1], (1.0, 2.0));
    }
}

/// Linux sets the window to one packet in `pkts_acked`; then `cong_avoid` adds the packet that the
/// same acknowledgement covers.
#[test]
fn the_acknowledgement_of_a_back_off_opens_the_window_to_two_packets() {
    for (base, limited) in [(Base::Cubic, true), (Base::Cubic, false), (Base::NewReno, true)] {
        let (mut c2tcp, mut acks) = avoiding(&C2tcpParams { base, ..exact() }, 50.0);
        for _ in 0..102 {
            acks.now += Span::from_millis(1);
            let mut feedback = acks.ack(1);
            (feedback.rtt, feedback.cwnd_limited) = (Some(LONG), limited);
            c2tcp.on_feedback(&feedback);
            if c2tcp.window.cwnd() < 40.0 {
                break;
            }
        }
        assert_eq!(c2tcp.window.cwnd(), 2.0);
    }
}

#[test]
fn one_short_rtt_resets_all() {
    let (target, interval) = (Span::from_millis(100), Span::from_millis(100));
    let mut condition = Condition::new(Rule::Kernel);
    let mut at = |millis, rtt| {
        condition.on_rtt(Time::from_millis(millis), Span::from_micros(rtt), target, interval)
    };
    assert_eq!(at(1000, 150_000), Verdict::Waiting);
    assert_eq!(at(1101, 150_000), Verdict::Bad);
    // Microseconds are ignored.
    assert_eq!(at(1150, 100_999), Verdict::Good);
    assert_eq!(at(1201, 101_000), Verdict::Waiting);
    assert_eq!(at(1301, 150_000), Verdict::Waiting);
    assert_eq!(at(1302, 150_000), Verdict::Bad);
    assert_eq!(condition.backoffs(), 1);
    let mut paper = Condition::new(Rule::Paper);
    assert_eq!(paper.on_rtt(Time::ZERO, target, target, interval), Verdict::Waiting);
}

#[test]
fn the_kernel_adds_per_round_trip_and_the_paper_per_acknowledgement() {
    // RTT 40 ms, window 20: the kernel's counter gets 2 of the 20 that it needs.
    let add = |rule, packets: f64, rtt, acks: u32, avoiding| {
        let params = C2tcpParams { rule, ..exact() };
        let mut c2tcp = C2tcpSender::new(&params, MSS);
        c2tcp.window.add(packets - 10.0);
        for _ in 0..acks {
            let below = OwnGrowth { acked: 1.0, packets: 0.0, avoiding };
            let more = c2tcp.growth(Span::from_millis(100), Span::from_millis(rtt), &below);
            c2tcp.window.add(more);
        }
        c2tcp.window.cwnd() - packets
    };
    let kernel = add(Rule::Kernel, 20.0, 40, 10, false);
    assert!((0.95..=1.0).contains(&kernel), "{kernel}");
    // Cubic's own acknowledgements are in the same counter.
    let shared = add(Rule::Kernel, 20.0, 40, 7, true);
    assert!((0.95..=1.05).contains(&shared), "{shared}");
    let paper = add(Rule::Paper, 20.0, 50, 20, true);
    assert!((paper - 40.0).abs() < 1e-9);
}

#[test]
fn a_cubic_epoch_hides_its_first_second() {
    let params = C2tcpParams::variant("ifip2018").expect("a variant");
    let (mut c2tcp, mut acks) = avoiding(&params, 50.0);
    acks.in_flight = 50;
    let start = acks.now;
    c2tcp.on_feedback(&acks.ack(1));
    while c2tcp.window.cwnd() > 2.0 {
        acks.now += Span::from_millis(1);
        c2tcp.on_feedback(&acks.ack(1));
        assert!(acks.now.since(start) < Span::from_secs(2));
    }
    // The epoch begins after the first RTT has been judged, which starts the interval of 100 ms.
    let seen = millis(acks.now.since(start));
    assert!((1000..=1003).contains(&seen), "{seen}");
}

#[test]
fn multiples_of_the_smallest_rtt() {
    let params = C2tcpParams { interval: Limit::Rtts(1.5), ..Default::default() };
    let c2tcp = C2tcpSender::new(&params, MSS);
    let limits = c2tcp.limits(Span::from_millis(40));
    assert_eq!(limits, (Span::from_millis(80), Span::from_millis(60)));
    let build = |text: &str| Spec::parse(text).is_ok_and(|spec| (SCHEME.build)(&spec).is_ok());
    assert!(build("c2tcp[base=newreno,target=3rtt,interval=100ms]"));
    assert!(!build("c2tcp[target=0]") && !build("c2tcp[target=0.5rtt]"));
}

#[test]
fn survives_anything() {
    for seed in 0..40u64 {
        let mut random = Stream::new(seed, "c2tcp");
        let rule = if seed % 2 == 0 { Rule::Paper } else { Rule::Kernel };
        let base = if seed % 4 < 2 { Base::Cubic } else { Base::NewReno };
        let target = if seed % 3 == 0 { exact().target } else { Limit::Rtts((seed % 3) as f64) };
        let settle = Span::from_millis(seed % 5);
        let params = C2tcpParams { rule, base, target, settle, ..Default::default() };
        let mut c2tcp = C2tcpSender::new(&params, MSS);
        let mut acks = Acks::new(Span::from_millis(100));
        for _ in 0..5_000 {
            c2tcp.on_feedback(&acks.any(&mut random));
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                c2tcp.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            assert!(c2tcp.window.cwnd().is_finite() && c2tcp.plan().cwnd >= MSS as u64);
        }
    }
}
