//! Whom a tunnel tells that a packet was too long for it, and how often. Without input or output.

use std::net::IpAddr;

use paceline_cc::{Span, Time};
use paceline_ip::icmp::too_big;
use paceline_ip::packet::ends;

use super::Prefix;

/// Flows are told apart by so many groups, each with a limit of its own.
const GROUPS: usize = 64;
/// The flows of a group get one answer in this time, ...
const EACH: Span = Span::from_millis(100);
/// ... and so many at once after a pause (a token bucket, as RFC 4443, section 2.4 f, wants it).
const BURST: u64 = 10;

/// Answers to packets that were refused, and the limit of their rate.
#[derive(Debug)]
pub(super) struct Refusals {
    /// When the bucket of each group is full again.
    full: [Time; GROUPS],
    /// Addresses inside that mean everybody on a network.
    broadcasts: Vec<IpAddr>,
    answers: Vec<Vec<u8>>,
}

impl Refusals {
    /// Refusals of a tunnel whose device has these addresses.
    pub(super) fn new(networks: &[Prefix]) -> Refusals {
        let broadcasts = networks.iter().filter_map(Prefix::broadcast).collect();
        Refusals { full: [Time::ZERO; GROUPS], broadcasts, answers: Vec::new() }
    }

    /// A packet of this flow was refused, because it has more than `mtu` bytes.
    pub(super) fn answer(&mut self, now: Time, flow: u32, packet: &[u8], mtu: usize) {
        let to_all = ends(packet).is_none_or(|(_, to)| self.broadcasts.contains(&to));
        if !to_all && self.take(now, flow) {
            self.answers.extend(too_big(packet, mtu));
        }
    }

    /// Takes a token from the bucket of a flow's group; false if there is none.
    fn take(&mut self, now: Time, flow: u32) -> bool {
        let Some(full) = self.full.get_mut(flow as usize % GROUPS) else { return false };
        let next = (*full).max(now) + EACH;
        let takes = next.since(now) <= EACH * BURST;
        if takes {
            *full = next;
        }
        takes
    }

    /// The answers that are to be given.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.answers.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of UDP, not to be fragmented, of so many bytes to 10.77.0.`last`.
    fn packet(length: u16, last: u8) -> Vec<u8> {
        let mut packet = vec![0; usize::from(length)];
        packet[..4].copy_from_slice(&[0x45, 0, (length >> 8) as u8, length as u8]);
        (packet[6], packet[8], packet[9]) = (0x40, 64, 17);
        packet[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, last]);
        packet
    }

    fn refusals() -> Refusals {
        let network = |text| Prefix::parse(text).expect("a network");
        Refusals::new(&[network("10.77.0.1/24"), network("fd77::1/64")])
    }

    #[test]
    fn each_flow_is_told_ten_times_at_once_and_ten_times_a_second_after_that() {
        let (mut refusals, start) = (refusals(), Time::from_secs(5));
        let packet = packet(1400, 2);
        let mut told = |at: Time, flow: u32| {
            refusals.answer(at, flow, &packet, 1321);
            refusals.drain().count()
        };
        let count = (0..1000).map(|_| told(start, 7)).sum::<usize>();
        assert_eq!(count, 10);
        // Another flow does not suffer from that.
        assert_eq!(told(start, 8), 1);
        // One packet each millisecond for 10 s: a hundred answers, with one for the first moment.
        let later = (1..=10_000).map(|ms| told(start + Span::from_millis(ms), 7)).sum::<usize>();
        assert_eq!(later, 100);
        // After a pause there may be ten at once again.
        let much_later = start + Span::from_secs(30);
        assert_eq!((0..1000).map(|_| told(much_later, 7)).sum::<usize>(), 10);
    }

    #[test]
    fn many_flows_together_have_a_limit_too() {
        let (mut refusals, packet) = (refusals(), packet(1400, 2));
        for flow in 0..100_000 {
            refusals.answer(Time::from_secs(1), flow, &packet, 1321);
        }
        assert_eq!(refusals.drain().count(), 640);
    }

    #[test]
    fn packets_to_everybody_are_not_answered() {
        let mut refusals = refusals();
        refusals.answer(Time::ZERO, 1, &packet(1400, 255), 1321);
        assert_eq!(refusals.drain().count(), 0);
        refusals.answer(Time::ZERO, 1, &packet(1400, 254), 1321);
        assert_eq!(refusals.drain().count(), 1);
    }
}
