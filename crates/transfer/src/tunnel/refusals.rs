//! Rate-limited ICMP replies to packets that are too long for a tunnel. Without input or output.

use std::net::IpAddr;

use paceline_cc::{Span, Time};
use paceline_ip::icmp::too_big;
use paceline_ip::packet::ends;

use super::Prefix;

/// Number of groups of flows, each of which has its own rate limit.
const GROUPS: usize = 64;
/// Interval between two replies to a group of flows, on average.
const EACH: Span = Span::from_millis(100);
/// Replies that a group may get at once after a pause (a token bucket, as RFC 4443, section 2.4 f,
/// recommends).
const BURST: u64 = 10;

/// Pending ICMP replies to refused packets, and their rate limits.
#[derive(Debug)]
pub(super) struct Refusals {
    /// When the token bucket of each group will be full.
    full: [Time; GROUPS],
    /// Inside addresses that are broadcast addresses of a network.
    broadcasts: Vec<IpAddr>,
    answers: Vec<Vec<u8>>,
}

impl Refusals {
    /// Creates the refusals of a tunnel whose device has these addresses.
    pub(super) fn new(networks: &[Prefix]) -> Refusals {
        let broadcasts = networks.iter().filter_map(Prefix::broadcast).collect();
        Refusals { full: [Time::ZERO; GROUPS], broadcasts, answers: Vec::new() }
    }

    /// Queues a reply to a refused packet of this flow, which has more than `mtu` bytes, if the
    /// rate limit allows it.
    pub(super) fn answer(&mut self, now: Time, flow: u32, packet: &[u8], mtu: usize) {
        let to_all = ends(packet).is_none_or(|(_, to)| self.broadcasts.contains(&to));
        if !to_all && self.take(now, flow) {
            self.answers.extend(too_big(packet, mtu));
        }
    }

    /// Takes a token from the bucket of a flow's group. Returns false if the bucket is empty.
    fn take(&mut self, now: Time, flow: u32) -> bool {
        let Some(full) = self.full.get_mut(flow as usize % GROUPS) else { return false };
        let next = (*full).max(now) + EACH;
        let takes = next.since(now) <= EACH * BURST;
        if takes {
            *full = next;
        }
        takes
    }

    /// Removes and returns the queued replies.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.answers.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP packet of `length` bytes to 10.77.0.`last`, with "don't fragment".
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
        // Another flow still gets a reply.
        assert_eq!(told(start, 8), 1);
        // One packet per millisecond for 10 s: a hundred replies, of which one is for the first
        // moment.
        let later = (1..=10_000).map(|ms| told(start + Span::from_millis(ms), 7)).sum::<usize>();
        assert_eq!(later, 100);
        // After a pause the group may get ten replies at once again.
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
