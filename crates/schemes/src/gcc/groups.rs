//! Groups of packets, and how the time between them changes on the way (draft §5.1, §5.2).

use paceline_cc::{Span, Time};

/// How two groups differ, in milliseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Variation {
    /// The time between their last packets' departures.
    pub(super) sent: f64,
    /// The time between their last packets' arrivals.
    pub(super) received: f64,
    /// When the later one arrived, on the receiver's clock.
    pub(super) at: Time,
}

impl Variation {
    /// d(i): by how much the later group took longer.
    pub(super) fn delay(&self) -> f64 {
        self.received - self.sent
    }
}

#[derive(Copy, Clone, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    received: Time,
}

/// Puts packets into groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    burst: Span,
    previous: Option<Group>,
    current: Option<Group>,
}

/// `to - from` in milliseconds, of whatever sign.
fn apart(from: Time, to: Time) -> f64 {
    to.since(from).as_millis_f64() - from.since(to).as_millis_f64()
}

impl Groups {
    pub(super) fn new(burst: Span) -> Groups {
        Groups { burst, previous: None, current: None }
    }

    /// Takes a packet in. If it begins a group, and two are complete, tells how those differ.
    pub(super) fn on_packet(&mut self, sent: Time, received: Time) -> Option<Variation> {
        let new = Group { first_sent: sent, last_sent: sent, received };
        let Some(group) = &mut self.current else {
            self.current = Some(new);
            return None;
        };
        if sent < group.first_sent {
            // Late: belongs to a group whose turn is over.
            return None;
        }
        let gap = apart(group.received, received);
        let burst = sent.since(group.first_sent) <= self.burst;
        // What an outage has held up arrives in one go.
        let held_up =
            gap < self.burst.as_millis_f64() && gap < apart(group.last_sent, sent) && gap >= 0.0;
        if burst || held_up {
            group.last_sent = group.last_sent.max(sent);
            group.received = group.received.max(received);
            return None;
        }
        let done = *group;
        let variation = self.previous.map(|previous| Variation {
            sent: apart(previous.last_sent, done.last_sent),
            received: apart(previous.received, done.received),
            at: done.received,
        });
        self.previous = Some(done);
        self.current = Some(new);
        variation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(packets: &[(u64, u64)]) -> Vec<f64> {
        let mut groups = Groups::new(Span::from_millis(5));
        let at = |ms: &u64| Time::from_millis(*ms);
        let found = packets.iter().filter_map(|(sent, got)| groups.on_packet(at(sent), at(got)));
        found.map(|variation| variation.delay()).collect()
    }

    #[test]
    fn groups_are_bursts() {
        // 0 and 4 are a group, 10 and 13, 20; the last packet of each counts.
        let packets = [(0, 50), (4, 56), (10, 61), (13, 68), (20, 75), (30, 85)];
        assert_eq!(run(&packets), [3.0, 0.0]);
    }

    #[test]
    fn what_was_held_up_is_one_group() {
        // From 10 on the link was out until 100, then all came within milliseconds.
        let packets =
            [(0, 50), (10, 60), (20, 100), (30, 101), (40, 102), (50, 103), (60, 110), (70, 120)];
        // Groups: 0; 10; 20 to 50; 60. Up to the last of the third: sent 40 after, received 43.
        assert_eq!(run(&packets), [0.0, 3.0, -3.0]);
    }

    #[test]
    fn late_packets_and_clocks_that_run_back_do_no_harm() {
        let packets = [(0, 50), (10, 60), (3, 61), (20, 40), (30, 80), (40, 90)];
        assert!(run(&packets).iter().all(|delay| delay.is_finite()));
    }
}
