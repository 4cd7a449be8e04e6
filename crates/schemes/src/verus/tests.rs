use paceline_cc::{Congestion, Controller, Fate, Outgoing, Time};

use super::estimate::{Estimate, quota};
use super::*;
use crate::testing::{Acks, MSS};

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

fn estimate(desired: f64, last_max: f64) -> Estimate {
    Estimate { desired, min: 10.0, last_max: Some(last_max) }
}

#[test]
fn an_epochs_quota_keeps_the_window_in_flight() {
    // 50 + 50 * (-18) / 19, truncated.
    assert_eq!(quota(50.0, 50, 20), 3);
    assert_eq!(quota(50.0, 0, 20), 50);
    assert_eq!(quota(50.0, 60, 20), 0);
    assert_eq!(quota(50.0, 500, 20), 0);
    assert_eq!(quota(50.0, 20, 1), 30);
    assert_eq!(quota(50.0, 20, 2), 50);
    assert_eq!(quota(1.0, u64::MAX >> 2, 7), 0);
}

#[test]
fn the_desired_delay_follows_the_largest() {
    let params = VerusParams::default();
    let desired = |last: f64, max: f64| {
        let mut estimate = estimate(40.0, last);
        assert!(estimate.on_epoch(max, 10, false, &params));
        estimate.desired
    };
    assert_eq!(desired(61.0, 5.0), 38.0, "6.1 times the smallest");
    assert_eq!(desired(30.0, 30.0), 42.0, "equal");
    assert_eq!(desired(30.0, 30.0001), 42.0, "less than 0.1 microseconds more");
    assert_eq!(desired(30.0, 31.0), 39.0, "rising");
    assert_eq!(desired(30.0, 20.0), 42.0, "falling");
}

#[test]
fn the_largest_delay_is_smoothed_after_the_comparison() {
    let params = VerusParams::default();
    let mut estimate = Estimate { last_max: None, ..estimate(40.0, 0.0) };
    estimate.on_epoch(50.0, 10, false, &params);
    assert_eq!((estimate.desired, estimate.last_max), (42.0, Some(50.0)));
    estimate.on_epoch(100.0, 10, false, &params);
    assert_eq!(estimate.last_max, Some(90.0));
}

#[test]
fn the_smallest_delay_stops_an_epoch_or_gives_way() {
    let params = VerusParams::default();
    let mut low = estimate(11.0, 100.0);
    assert!(!low.on_epoch(100.0, 2, false, &params), "sends nothing");
    assert_eq!((low.desired, low.min), (10.0, 10.0));
    assert!(low.on_epoch(100.0, 1, false, &params));
    assert_eq!((low.desired, low.min), (10.0, 20.0));
    // Just after slow start, the ratio has no effect.
    let mut leaving = estimate(40.0, 100.0);
    assert!(leaving.on_epoch(100.0, 50, true, &params));
    assert_eq!(leaving.desired, 40.0);
}

/// A sender, and a path that acknowledges packets when the test asks for it.
struct Path {
    verus: VerusSender,
    acks: Acks,
    next: u64,
    in_flight: u64,
    sent: Vec<Fate>,
}

impl Path {
    fn new() -> Path {
        let verus = VerusSender::new(&VerusParams::default(), MSS);
        let (acks, sent) = (Acks::new(ms(100)), Vec::new());
        Path { verus, acks, next: 0, in_flight: 0, sent }
    }

    fn see(&self, what: &str) -> f64 {
        let mut found = f64::NAN;
        self.verus.inspect(&mut |name, value| {
            if name == what {
                found = value;
            }
        });
        found
    }

    /// Sends as many packets as the plan allows; returns their number.
    fn send(&mut self) -> usize {
        let before = self.sent.len();
        let cwnd = self.verus.plan().cwnd;
        while self.in_flight == 0 || self.in_flight + MSS as u64 <= cwnd {
            let now = self.acks.now;
            let mut packet = Outgoing::new(self.next, MSS, self.in_flight);
            let tag = self.verus.on_send(now, &mut packet);
            let fate = Fate::new(self.next, MSS, now, tag, false);
            self.sent.push(fate.with(|fate| fate.received = now));
            self.next += 1;
            self.in_flight += MSS as u64;
        }
        self.sent.len() - before
    }

    /// Reports the fates of the oldest packets.
    fn fates(&mut self, count: usize, lost: bool, congestion: Option<Congestion>) {
        let mut fates: Vec<Fate> = self.sent.drain(..count).collect();
        fates.iter_mut().for_each(|fate| fate.lost = lost);
        self.in_flight -= fates.len() as u64 * MSS as u64;
        let plain = self.acks.event(if lost { 0 } else { count as u64 }, congestion);
        let in_flight = self.in_flight;
        self.verus.on_feedback(&plain.with(|feedback| {
            feedback.in_flight = in_flight;
            feedback.fates = &fates;
        }));
    }

    fn ack(&mut self) {
        self.fates(1, false, None);
    }

    /// Advances time, with an epoch every 5 ms.
    fn pass(&mut self, time: Span) {
        let end = self.acks.now + time;
        while self.verus.plan().timer <= end {
            self.acks.now = self.verus.plan().timer.max(self.acks.now);
            self.verus.on_timer(self.acks.now);
        }
        self.acks.now = end;
    }

    /// Runs slow start over `rounds` round trips, the first of 100 ms and each further one 10 ms
    /// longer; 2^rounds packets are then in flight.
    fn slow_start(rounds: u32) -> Path {
        let mut path = Path::new();
        path.send();
        for round in 0..rounds as u64 {
            path.pass(ms(100 + 10 * round));
            for _ in 0..path.sent.len() {
                path.ack();
            }
            path.send();
        }
        path
    }
}

#[test]
fn slow_start_doubles_per_round_trip() {
    let path = Path::slow_start(7);
    assert_eq!((path.see("cwnd"), path.sent.len()), (128.0, 128));
}

#[test]
fn a_packet_missing_for_150_ms_starts_the_loss_phase() {
    let mut path = Path::slow_start(7);
    // All packets in flight were sent with a window of 128: 0.7 of it is 89.6.
    path.pass(ms(100));
    path.fates(1, true, Some(Congestion::Loss));
    path.ack();
    path.pass(ms(149));
    assert_eq!(path.see("loss_phase"), 0.0);
    path.pass(ms(5));
    assert_eq!(path.see("loss_phase"), 1.0);
    // The epoch has consulted the profile since.
    assert!(path.see("cwnd") < 90.0, "{}", path.see("cwnd"));
    // Packets sent before do not end it, and another loss does not reduce the window once more.
    path.ack();
    assert_eq!(path.see("loss_phase"), 1.0);
    // Packets sent with the smaller window do.
    path.send();
    while path.see("loss_phase") > 0.0 {
        assert!(path.sent.len() > 1, "no packet ended the loss phase");
        path.ack();
        path.send();
    }
}

#[test]
fn a_loss_leaves_seven_tenths_of_the_packets_window() {
    let mut path = Path::slow_start(0);
    let tagged = |window: u64, number: u64| Fate::new(number, MSS, Time::ZERO, window, true);
    for _ in 0..200 {
        path.ack();
        path.send();
    }
    assert_eq!(path.see("cwnd"), 201.0);
    let plain = path.acks.event(0, Some(Congestion::Loss));
    let fates = [tagged(100, path.next + 7)];
    path.verus.on_feedback(&plain.with(|feedback| feedback.fates = &fates));
    path.verus.hole_is_lost(path.acks.now, 100);
    assert_eq!((path.see("cwnd"), path.see("loss_phase")), (70.0, 1.0));
    path.verus.hole_is_lost(path.acks.now, 50);
    assert_eq!(path.see("cwnd"), 70.0, "once per phase");
}

#[test]
fn a_packet_that_was_only_late_is_no_loss() {
    let mut path = Path::slow_start(6);
    path.pass(ms(100));
    let late = path.sent[0];
    path.fates(1, true, Some(Congestion::Loss));
    path.pass(ms(100));
    path.sent.insert(0, late);
    path.in_flight += MSS as u64;
    path.ack();
    path.pass(ms(100));
    assert_eq!(path.see("loss_phase"), 0.0);
}

#[test]
fn half_a_second_of_delay_ends_slow_start() {
    let mut path = Path::slow_start(6);
    path.pass(ms(499));
    path.ack();
    assert_eq!(path.see("loss_phase"), 0.0);
    path.pass(ms(2));
    path.ack();
    assert_eq!(path.see("loss_phase"), 1.0);
    assert!((path.see("cwnd") - 0.7 * 64.0).abs() < 0.1, "{}", path.see("cwnd"));
}

#[test]
fn too_small_a_profile_starts_over_and_forgets_old_packets() {
    let mut path = Path::slow_start(1);
    // No acknowledgement arrives for a second: slow start ends, there is no curve, and it starts
    // again.
    path.pass(ms(1010));
    assert_eq!((path.see("slow_starts"), path.see("cwnd")), (2.0, 1.0));
    path.ack();
    assert_eq!(path.see("cwnd"), 1.0, "an acknowledgement from before");
    path.ack();
    path.send();
    path.ack();
    assert_eq!(path.see("cwnd"), 2.0);
}

#[test]
fn a_timeout_makes_the_desired_delay_the_smallest() {
    let mut path = Path::slow_start(7);
    path.pass(ms(505));
    path.ack();
    assert_eq!(path.see("loss_phase"), 1.0, "slow start is over");
    path.send();
    // Five delays are more than the longest timeout, a second.
    path.pass(ms(950));
    let before = path.see("desired_delay");
    assert!(before > path.see("smallest_delay"), "{before}");
    path.pass(ms(60));
    let after = path.see("desired_delay");
    assert!(after <= path.see("smallest_delay") + 30.0, "{after}");
    // No packet counts as in flight: an epoch may send again although no acknowledgement has
    // arrived.
    assert!(path.send() > 0);
}

#[test]
fn an_idle_sender_has_no_epochs() {
    let mut path = Path::slow_start(5);
    path.pass(ms(100));
    while !path.sent.is_empty() {
        path.ack();
    }
    path.pass(ms(1100));
    assert_eq!(path.verus.plan().timer, Time::NEVER);
    path.verus.on_idle(path.acks.now, ms(1100), ms(300));
    assert_eq!(path.verus.plan().timer, path.acks.now + ms(5));
}

#[test]
fn an_epoch_sends_no_more_than_the_socket_takes() {
    let bursts = |socket: u32| {
        let params = VerusParams { socket, ..VerusParams::default() };
        let mut path = Path { verus: VerusSender::new(&params, MSS), ..Path::new() };
        path.send();
        for round in 0..7_u64 {
            path.pass(ms(100 + 10 * round));
            for _ in 0..path.sent.len() {
                path.ack();
            }
            path.send();
        }
        // A long delay ends slow start; then all packets in flight arrive at once.
        path.pass(ms(505));
        for _ in 0..path.sent.len() {
            path.ack();
        }
        let mut largest = 0;
        for _ in 0..400 {
            path.pass(ms(5));
            largest = largest.max(path.send());
        }
        largest
    };
    assert!(bursts(0) > 3);
    assert_eq!(bursts(3), 3);
}

#[test]
fn a_packet_that_was_given_up_is_no_sample() {
    let mut path = Path::slow_start(7);
    path.pass(ms(505));
    path.ack();
    path.send();
    path.pass(ms(1010));
    let before = path.see("cwnd");
    path.ack();
    assert_eq!((path.see("loss_phase"), path.see("cwnd")), (1.0, before));
}
