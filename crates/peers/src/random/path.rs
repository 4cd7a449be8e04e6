//! The path of a trial: decides whether a transmission arrives, and when.

use std::collections::{BTreeMap, VecDeque};

use paceline_cc::Span;

use super::trial::{Fate, MSS, Trial};

/// Arrival of a transmission.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Time since the SYN.
    pub(super) time: Span,
    /// Whether a router has marked it with CE.
    pub(super) marked: bool,
}

/// The state of a trial's path.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// Number of transmissions of each segment.
    transmissions: BTreeMap<u64, u32>,
    /// Times at which the packets in the bottleneck leave it.
    leaving: VecDeque<Span>,
}

impl Path {
    /// Returns the arrival of the data from sequence number `first` (from 1), sent at `now` since
    /// the SYN; `None` if it is lost. The whole RTT lies before the receiver: acknowledgements
    /// arrive without delay.
    pub(super) fn carry(&mut self, trial: &Trial, now: Span, first: u64) -> Option<Arrival> {
        let segment = first.saturating_sub(1) / MSS;
        let number = self.transmissions.entry(segment).or_default();
        let fate = trial.fates.get(&(segment, *number));
        *number += 1;
        if fate == Some(&Fate::Lost) {
            return None;
        }
        let mut time = self.leave(trial, now)? + trial.rtt;
        if let Some(Fate::Late(by)) = fate {
            time += *by;
        }
        for (start, length) in &trial.outages {
            if (*start..*start + *length).contains(&time) {
                time = *start + *length;
            }
        }
        Some(Arrival { time, marked: fate == Some(&Fate::Marked) })
    }

    /// Returns the time at which a packet that comes at `now` leaves the bottleneck; `None` if the
    /// buffer is full.
    fn leave(&mut self, trial: &Trial, now: Span) -> Option<Span> {
        let Some((per_packet, buffer)) = trial.bottleneck else { return Some(now) };
        while self.leaving.pop_front_if(|leaves| *leaves <= now).is_some() {}
        if self.leaving.len() > buffer {
            return None;
        }
        let leaves = self.leaving.back().copied().unwrap_or(now).max(now) + per_packet;
        self.leaving.push_back(leaves);
        Some(leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    fn trial() -> Trial {
        let mut trial = Trial::draw(1);
        (trial.rtt, trial.bottleneck) = (millis(20), None);
        trial.fates.clear();
        trial.outages.clear();
        trial
    }

    #[test]
    fn each_transmission_has_its_fate() {
        let mut trial = trial();
        trial.fates.insert((1, 0), Fate::Lost);
        trial.fates.insert((1, 1), Fate::Late(millis(7)));
        trial.fates.insert((2, 0), Fate::Marked);
        trial.outages.push((millis(100), millis(50)));
        let mut path = Path::default();
        let mut arrival = |now, first| path.carry(&trial, millis(now), first);
        assert_eq!(arrival(0, 1), Some(Arrival { time: millis(20), marked: false }));
        assert_eq!(arrival(0, 1001), None);
        assert_eq!(arrival(30, 1001), Some(Arrival { time: millis(57), marked: false }));
        assert_eq!(arrival(31, 2001), Some(Arrival { time: millis(51), marked: true }));
        assert_eq!(arrival(90, 3001), Some(Arrival { time: millis(150), marked: false }));
    }

    #[test]
    fn a_bottleneck_spaces_packets_and_drops_what_does_not_fit() {
        let mut trial = trial();
        trial.bottleneck = Some((millis(10), 1));
        let mut path = Path::default();
        let mut arrives = |now| path.carry(&trial, millis(now), 1).map(|arrival| arrival.time);
        assert_eq!(
            (arrives(0), arrives(0), arrives(0)),
            (Some(millis(30)), Some(millis(40)), None)
        );
        assert_eq!(arrives(10), Some(millis(50)));
    }
}
