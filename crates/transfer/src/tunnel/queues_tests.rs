//! Tests of the queues, and a simple model that they are compared with.

use paceline_cc::Stream;

use super::*;

/// A UDP packet over IPv4 of `length` bytes, of the flow with this source port, with a mark that
/// identifies it.
fn packet(port: u16, length: usize, mark: u32) -> Vec<u8> {
    let mut bytes = vec![0; length];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[9] = packet::UDP;
    bytes[12..16].copy_from_slice(&[10, 0, 0, 1]);
    bytes[16..20].copy_from_slice(&[10, 0, 0, 2]);
    bytes[20..22].copy_from_slice(&port.to_be_bytes());
    bytes[24..28].copy_from_slice(&mark.to_be_bytes());
    bytes
}

fn seen(packet: &[u8]) -> (u16, u32) {
    let port = u16::from_be_bytes([packet[20], packet[21]]);
    (port, u32::from_be_bytes([packet[24], packet[25], packet[26], packet[27]]))
}

#[test]
fn a_small_flow_does_not_wait_for_a_large_one() {
    let mut queues = FlowQueues::new(1400);
    for mark in 0..10 {
        assert!(queues.push(Time::ZERO, &packet(1, 1400, mark), u64::MAX));
    }
    assert_eq!(queues.pop(Time::ZERO).map(|packet| seen(&packet)), Some((1, 0)));
    assert!(queues.push(Time::ZERO, &packet(2, 100, 0), u64::MAX));
    // At most one packet of the large flow is sent before it.
    let next: Vec<_> =
        (0..2).filter_map(|_| queues.pop(Time::ZERO)).map(|packet| seen(&packet).0).collect();
    assert!(next.contains(&2), "{next:?}");
}

#[test]
fn flows_share_bytes_and_not_packets() {
    let mut queues = FlowQueues::new(1400);
    for mark in 0..3000 {
        queues.push(Time::ZERO, &packet(1, 1400, mark), u64::MAX);
        queues.push(Time::ZERO, &packet(2, 140, mark), u64::MAX);
    }
    let mut bytes = [0; 3];
    for _ in 0..1500 {
        let packet = queues.pop(Time::ZERO).expect("more wait");
        bytes[usize::from(seen(&packet).0)] += packet.len();
        queues.recycle(packet);
    }
    let ratio = bytes[1] as f64 / bytes[2] as f64;
    assert!((0.97..1.03).contains(&ratio), "{bytes:?}");
}

#[test]
fn a_flow_whose_packets_are_dropped_keeps_its_turns() {
    let mut queues = FlowQueues::new(1400);
    let mut sent = [0; 3];
    for mark in 0..2000 {
        // For each packet that is sent, flow 1 hands in two and flow 2 one.
        for _ in 0..2 {
            queues.push(Time::ZERO, &packet(1, 1400, mark), 14_000);
        }
        queues.push(Time::ZERO, &packet(2, 1400, mark), 14_000);
        let packet = queues.pop(Time::ZERO).expect("more wait");
        sent[usize::from(seen(&packet).0)] += 1;
        queues.recycle(packet);
    }
    assert!(sent[1] > 900 && sent[2] > 900, "{sent:?}");
}

#[test]
fn what_is_too_much_is_dropped_from_the_head_of_the_longest() {
    let mut queues = FlowQueues::new(1400);
    queues.push(Time::ZERO, &packet(2, 100, 0), 10_000);
    for mark in 0..20 {
        queues.push(Time::ZERO, &packet(1, 1400, mark), 10_000);
    }
    assert!(queues.bytes() <= 10_000 && queues.bytes() > 8_600, "{}", queues.bytes());
    assert_eq!(queues.stats().dropped, 20 - 7);
    let left: Vec<_> =
        std::iter::from_fn(|| queues.pop(Time::ZERO)).map(|packet| seen(&packet)).collect();
    // The short queue loses no packet; the long one keeps its newest packets.
    assert_eq!(left[0], (2, 0));
    assert_eq!(left[1..], (13..20).map(|mark| (1, mark)).collect::<Vec<_>>());
    // A packet that is larger than the limit is still sent.
    assert!(queues.push(Time::ZERO, &packet(1, 1400, 77), 0) && queues.len() == 1);
}

#[test]
fn what_is_no_packet_is_not_taken() {
    let mut queues = FlowQueues::new(1400);
    for bytes in [&[][..], &[0x45], &[0; 100], &packet(1, 100, 0)[..50]] {
        assert!(!queues.push(Time::ZERO, bytes, u64::MAX));
    }
    assert_eq!(queues.stats().malformed, 4);
    assert!(queues.is_empty() && queues.pop(Time::ZERO).is_none());
    // Bytes after the IP packet's own length are not carried.
    let mut long = packet(1, 100, 0);
    long.extend([1; 40]);
    assert!(queues.push(Time::ZERO, &long, u64::MAX) && queues.bytes() == 100);
}

/// The rules of the queues in their simplest form: all packets in one list.
#[derive(Default)]
struct Model {
    /// Flow, mark and length, in order of arrival.
    packets: Vec<(u16, u32, u64)>,
    /// The flows with packets, in the order of their turns, and what each may send.
    turns: Vec<(u16, u64)>,
}

impl Model {
    fn bytes(&self, of: Option<u16>) -> u64 {
        let all = self.packets.iter().filter(|(flow, ..)| of.is_none_or(|of| of == *flow));
        all.map(|(_, _, length)| length).sum()
    }

    fn remove(&mut self, of: u16) -> (u16, u32, u64) {
        let at = self.packets.iter().position(|(flow, ..)| *flow == of).expect("it waits");
        let packet = self.packets.remove(at);
        if self.bytes(Some(of)) == 0 {
            self.turns.retain(|(flow, _)| *flow != of);
        }
        packet
    }

    fn push(&mut self, flow: u16, mark: u32, length: u64, limit: u64) {
        if self.bytes(Some(flow)) == 0 {
            self.turns.push((flow, 1400));
        }
        self.packets.push((flow, mark, length));
        while self.bytes(None) > limit && self.packets.len() > 1 {
            let most = self.turns.iter().map(|(flow, _)| self.bytes(Some(*flow))).max();
            // Which of several equally long queues loses a packet is not tested: see `has_tie`.
            let longest = self.turns.iter().find(|(flow, _)| Some(self.bytes(Some(*flow))) == most);
            let longest = longest.expect("something waits").0;
            self.remove(longest);
        }
    }

    fn pop(&mut self) -> Option<(u16, u32, u64)> {
        loop {
            let (flow, credit) = *self.turns.first()?;
            let head = self.packets.iter().find(|(of, ..)| *of == flow)?.2;
            if head <= credit {
                self.turns[0].1 -= head;
                return Some(self.remove(flow));
            }
            let turn = self.turns.remove(0);
            self.turns.push((turn.0, turn.1 + 1400));
        }
    }
}

#[test]
fn fuzz_queues_do_as_the_model() {
    let rounds = std::env::var("PACELINE_FUZZ").ok().and_then(|text| text.parse().ok());
    for seed in 0..40 * rounds.unwrap_or(1u64) {
        let mut random = Stream::new(seed, "queues");
        let (mut queues, mut model) = (FlowQueues::new(1400), Model::default());
        let flows = 1 + random.below(8);
        let limit = 2000 + random.below(40_000);
        for mark in 0..800u32 {
            if random.chance(0.6) {
                let flow = random.below(flows) as u16;
                let length = 28 + random.below(1373);
                let limit = if random.chance(0.05) { limit / 4 } else { limit };
                if has_tie(&model, flow, length) {
                    continue;
                }
                assert!(queues.push(Time::ZERO, &packet(flow, length as usize, mark), limit));
                model.push(flow, mark, length, limit);
            } else {
                let found = queues.pop(Time::ZERO);
                let expected = model.pop();
                let found_as = found.as_ref().map(|p| (seen(p).0, seen(p).1, p.len() as u64));
                assert_eq!(found_as, expected, "seed {seed}, packet {mark}");
                found.into_iter().for_each(|packet| queues.recycle(packet));
            }
            assert_eq!(queues.bytes(), model.bytes(None), "seed {seed}, packet {mark}");
            assert_eq!(queues.len(), model.packets.len());
        }
    }
}

/// Returns true if two queues could be equally long while packets are dropped after this arrival.
fn has_tie(model: &Model, flow: u16, length: u64) -> bool {
    let mut sizes = Vec::new();
    for (of, _) in &model.turns {
        let mut sum = 0;
        let own: Vec<u64> = model.packets.iter().filter(|p| p.0 == *of).map(|p| p.2).collect();
        let extra = if *of == flow { length } else { 0 };
        // All lengths of this queue while it is emptied packet by packet.
        for bytes in own.iter().rev() {
            sum += bytes;
            sizes.push((*of, sum + extra));
        }
    }
    let tie = |a: &(u16, u64), b: &(u16, u64)| a.0 != b.0 && a.1 == b.1;
    sizes.iter().any(|a| sizes.iter().any(|b| tie(a, b)))
}

#[test]
fn flows_that_are_made_to_look_alike_have_queues_of_their_own() {
    // Two flows with equal hashes if there were no key, which any sender could find.
    let mut known = std::collections::HashMap::new();
    let (one, other) = (0..=u16::MAX)
        .flat_map(|port| (0..16u8).map(move |host| (port, host)))
        .find_map(|(port, host)| {
            let mut bytes = packet(port, 100, 0);
            bytes[15] = host;
            let flow = packet::parse(&bytes).expect("a packet").flow;
            known.insert(flow, bytes.clone()).map(|before| (before, bytes))
        })
        .expect("32 bits are not many");
    let mut queues = FlowQueues::new(100);
    (0..10).for_each(|_| assert!(queues.push(Time::ZERO, &one, u64::MAX)));
    assert!(queues.push(Time::ZERO, &other, u64::MAX));
    let next: Vec<_> = (0..2).filter_map(|_| queues.pop(Time::ZERO)).collect();
    assert!(next.contains(&other), "it does not wait behind the first one's");
}

#[test]
fn thousands_of_flows_are_dropped_and_served_in_turn() {
    let mut queues = FlowQueues::new(1400);
    for mark in 0..40_000u32 {
        queues.push(
            Time::ZERO,
            &packet((mark % 20_000) as u16, 100 + (mark % 7) as usize, mark),
            u64::MAX,
        );
    }
    assert_eq!(
        (queues.len(), queues.stats().dropped),
        (MOST_PACKETS, 40_000 - MOST_PACKETS as u64)
    );
    let left: Vec<_> =
        std::iter::from_fn(|| queues.pop(Time::ZERO)).map(|packet| seen(&packet).1).collect();
    assert_eq!((left.len(), queues.bytes(), queues.is_empty()), (MOST_PACKETS, 0, true));
    assert!(queues.flows.is_empty() && queues.turns.is_empty() && queues.lengths.is_empty());
}
