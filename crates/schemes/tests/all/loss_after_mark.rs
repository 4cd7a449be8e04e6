//! The schemes' reaction to a loss in the round trip after a mark.

use paceline_cc::{Congestion, Feedback, Setup, Span, Spec, Time};
use paceline_schemes::registry;

/// Returns the window in bytes after a mark, and after a loss in the round trip that follows it.
fn windows(scheme: &str) -> (u64, u64) {
    let halves = registry::build(&Spec::parse(scheme).expect("a name")).expect("a scheme");
    let mut controller = (halves.controller)(&Setup::new(1, 0));
    let mut feedback = Feedback::new(Time::from_secs(1), 1500);
    (feedback.srtt, feedback.min_rtt) = (Span::from_millis(100), Span::from_millis(100));
    feedback.rtt = Some(Span::from_millis(100));
    (feedback.acked, feedback.acked_packets) = (1500, 1);
    (feedback.in_flight, feedback.prior_in_flight) = (60_000, 61_500);
    feedback.cwnd_limited = true;
    for _ in 0..30 {
        feedback.now += Span::from_millis(1);
        controller.on_feedback(&feedback);
    }
    feedback.in_recovery = true;
    feedback.marked_packets = 1;
    feedback.congestion = Some(Congestion::Ecn);
    controller.on_feedback(&feedback);
    let marked = controller.plan().cwnd;
    feedback.marked_packets = 0;
    feedback.now += Span::from_millis(1);
    feedback.congestion = Some(Congestion::LossAfterMark);
    controller.on_feedback(&feedback);
    (marked, controller.plan().cwnd)
}

/// RFC 3168 §6.1.2: one reduction for marks and losses of one window.
#[test]
fn schemes_that_answer_marks_as_losses_do_nothing_more() {
    for scheme in ["newreno", "cubic", "c2tcp", "vegas", "ledbat", "compound"] {
        let (marked, lost) = windows(scheme);
        assert_eq!(lost, marked, "{scheme}");
    }
}

/// RFC 8257 §3.5 and Linux' `dctcp_state`; schemes that do not react to marks react to the loss.
#[test]
fn schemes_that_answer_marks_less_answer_the_loss() {
    for scheme in ["dctcp", "prague", "vcp", "xcp"] {
        let (marked, lost) = windows(scheme);
        let share = lost as f64 / marked as f64;
        assert!((0.4..0.6).contains(&share), "{scheme}: {marked} {lost}");
    }
}
