//! Groups of packets, and how the time between them changes on the way (draft §5.1, §5.2;
//! libwebrtc `inter_arrival_delta.cc`).

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

/// Packets that arrive within this time belong to the group before them if they were sent further
/// apart: an outage has held them up (`kBurstDeltaThreshold`).
const HELD_UP_GAP_MS: f64 = 5.0;
/// Longest time over which the arrivals of held-up packets form one group (`kMaxBurstDuration`).
const LONGEST_BURST_MS: f64 = 100.0;
/// After this number of groups in sequence that arrived before their predecessor, all groups are
/// forgotten (`kReorderedResetThreshold`).
const MAX_REORDERED: u32 = 3;

#[derive(Copy, Clone, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_received: Time,
    received: Time,
}

/// Puts packets into groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    burst: Span,
    previous: Option<Group>,
    current: Option<Group>,
    reordered: u32,
}

/// `to - from` in milliseconds, of whatever sign.
fn apart(from: Time, to: Time) -> f64 {
    to.since(from).as_millis_f64() - from.since(to).as_millis_f64()
}

impl Groups {
    pub(super) fn new(burst: Span) -> Groups {
        Groups { burst, previous: None, current: None, reordered: 0 }
    }

    /// Takes a packet in. Returns how the last two complete groups differ if the packet begins a new
    /// group.
    pub(super) fn on_packet(&mut self, sent: Time, received: Time) -> Option<Variation> {
        let new = Group { first_sent: sent, last_sent: sent, first_received: received, received };
        let Some(group) = &mut self.current else {
            self.current = Some(new);
            return None;
        };
        if sent < group.first_sent {
            // Reordered: it belongs to a group that is complete.
            return None;
        }
        if group.holds_up(sent, received) || sent.since(group.first_sent) <= self.burst {
            group.last_sent = group.last_sent.max(sent);
            group.received = group.received.max(received);
            return None;
        }
        let done = *group;
        self.current = Some(new);
        let previous = self.previous.replace(done)?;
        let variation = Variation {
            sent: apart(previous.last_sent, done.last_sent),
            received: apart(previous.received, done.received),
            at: done.received,
        };
        if variation.received < 0.0 {
            self.reordered += 1;
            if self.reordered >= MAX_REORDERED {
                *self = Groups::new(self.burst);
            }
            return None;
        }
        self.reordered = 0;
        Some(variation)
    }
}

impl Group {
    /// Returns true if a packet arrives so soon after this group that something on the path has held
    /// up both.
    fn holds_up(&self, sent: Time, received: Time) -> bool {
        let gap = apart(self.received, received);
        let sent_gap = apart(self.last_sent, sent);
        sent_gap == 0.0
            || (gap < sent_gap
                && gap <= HELD_UP_GAP_MS
                && apart(self.first_received, received) < LONGEST_BURST_MS)
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
        let packets = [(0, 50), (4, 56), (10, 62), (13, 68), (20, 75), (30, 85)];
        assert_eq!(run(&packets), [3.0, 0.0]);
    }

    #[test]
    fn what_was_held_up_is_one_group() {
        // From 10 on the link was out until 100, then all came within milliseconds.
        let packets =
            [(0, 50), (10, 60), (20, 100), (30, 101), (40, 102), (50, 103), (60, 113), (70, 123)];
        // Groups: 0; 10; 20 to 50; 60. Up to the last of the third: sent 40 after, received 43.
        assert_eq!(run(&packets), [0.0, 3.0, 0.0]);
    }

    #[test]
    fn what_was_held_up_for_longer_makes_a_group_per_100_ms() {
        let mut groups = Groups::new(Span::from_millis(5));
        // Sent each 10 ms, arriving 4 ms apart after an outage.
        let variations = (0..200).filter_map(|index| {
            groups.on_packet(Time::from_millis(10 * index), Time::from_millis(3000 + 4 * index))
        });
        assert_eq!(variations.count(), 6);
    }

    #[test]
    fn late_packets_and_clocks_that_run_back_do_no_harm() {
        let packets = [(0, 50), (10, 60), (3, 61), (20, 40), (30, 80), (40, 90)];
        assert!(run(&packets).iter().all(|delay| delay.is_finite()));
        let packets: Vec<_> = (0..30).map(|index| (10 * index, 9000 - 10 * index)).collect();
        assert!(run(&packets).is_empty());
    }
}
