use paceline_cc::{Feedback, Rate, Span};

use super::policer::{Event, Policer};
use crate::testing::Acks;

const RTT: Span = Span::from_millis(100);

/// Round trips of 50 packets, `share` of them lost.
struct Course {
    policer: Policer,
    acks: Acks,
}

impl Course {
    fn new() -> Course {
        Course { policer: Policer::default(), acks: Acks::new(RTT) }
    }

    fn round(&mut self, packets: u64, lost: u64, app_limited: bool) -> bool {
        self.acks.now += RTT;
        let feedback: Feedback<'_> = self.acks.ack(packets);
        self.policer.note_lost(lost * 1500);
        let losses = lost > 0;
        let event = Event { losses, round_start: true, app_limited, probing_bandwidth: true };
        self.policer.on_event(&feedback, event)
    }
}

#[test]
fn two_lossy_intervals_at_one_rate_are_a_policer() {
    let mut course = Course::new();
    // The first loss starts the first interval; its round trip is the first of four.
    (0..4).for_each(|_| _ = course.round(50, 20, false));
    assert_eq!(course.policer.rate(), None);
    (0..4).for_each(|_| _ = course.round(52, 20, false));
    let rate = course.policer.rate().expect("policed");
    assert!((rate.as_mbps() - 51.0 * 0.12).abs() < 0.2, "{rate}");
    // The rate applies for 48 round trips.
    for _ in 0..47 {
        assert!(!course.round(50, 0, false));
    }
    assert!(course.round(50, 0, false));
    assert_eq!(course.policer.rate(), None);
}

#[test]
fn other_losses_are_no_policer() {
    // A tenth of the packets is lost: too few.
    let mut course = Course::new();
    (0..100).for_each(|_| _ = course.round(50, 5, false));
    assert_eq!(course.policer.rate(), None);
    // The two rates differ by more than an eighth.
    let mut course = Course::new();
    for interval in 0..20 {
        (0..4).for_each(|_| _ = course.round(if interval % 2 == 0 { 50 } else { 70 }, 30, false));
    }
    assert_eq!(course.policer.rate(), None);
    // The application has too little to send.
    let mut course = Course::new();
    (0..100).for_each(|round| _ = course.round(50, 20, round % 3 == 0));
    assert_eq!(course.policer.rate(), None);
}

#[test]
fn small_rates_may_differ_by_four_kilobits() {
    let mut course = Course::new();
    course.acks.rtt = Span::from_secs(10);
    let mut round = |packets| {
        course.acks.now += Span::from_secs(10);
        course.round(packets, 1, false);
    };
    (0..4).for_each(|_| round(1));
    (0..4).for_each(|_| round(3));
    assert!(course.policer.rate().is_some_and(|rate| rate < Rate::from_bps(4_000)));
}
