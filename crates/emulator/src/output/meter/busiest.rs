//! The meter's figures of single flows: rates and delays of the busiest ones.

use std::cmp::Reverse;

use paceline_cc::{Span, Time};
use paceline_path::{EventKind, LinkEvent};

use super::gauge::short;
use crate::flows::{FlowNames, MAX_FLOWS};

/// Number of flows of an element that are shown.
pub(super) const SHOWN: usize = 3;

/// A flow since the last look.
#[derive(Clone, Debug)]
struct Flow {
    hash: u32,
    bytes: u64,
    packets: u64,
    delay: Span,
    drops: u64,
}

/// The flows of an element since the last look, in memory of fixed size.
#[derive(Clone, Debug, Default)]
pub(super) struct Busiest {
    flows: Vec<Flow>,
    /// Place of the flow of the last event.
    last: usize,
}

impl Busiest {
    /// Counts an event of a packet that counts for `bytes`. Flows beyond the first [`MAX_FLOWS`] are left out.
    #[inline]
    pub(super) fn event(&mut self, event: &LinkEvent, bytes: u64) {
        if self.flows.get(self.last).is_none_or(|flow| flow.hash != event.flow) {
            self.last = self.place(event.flow);
        }
        let Some(flow) = self.flows.get_mut(self.last) else { return };
        match event.kind {
            EventKind::Departure { sojourn } => {
                flow.bytes += bytes;
                flow.packets += 1;
                flow.delay += sojourn;
            }
            EventKind::Drop { .. } => flow.drops += 1,
            EventKind::Arrival => {}
        }
    }

    /// Returns the place of a flow, which is made if there is room; one beyond the last if there is none.
    fn place(&mut self, hash: u32) -> usize {
        let found = self.flows.iter().position(|flow| flow.hash == hash);
        found.unwrap_or_else(|| {
            if self.flows.len() < MAX_FLOWS {
                let (bytes, packets, delay, drops) = (0, 0, Span::ZERO, 0);
                self.flows.push(Flow { hash, bytes, packets, delay, drops });
                self.flows.len() - 1
            } else {
                MAX_FLOWS
            }
        })
    }

    /// Returns a line for each of the busiest flows from `from` to `now`, and begins anew: none unless two flows have
    /// sent packets. Flows are forgotten after a look without packets, so that new ones have room.
    pub(super) fn lines(&mut self, names: &FlowNames, from: Time, now: Time) -> Vec<String> {
        self.flows.retain(|flow| flow.packets + flow.drops > 0);
        self.last = 0;
        let seconds = now.since(from).as_secs_f64();
        let mut named: Vec<(String, &Flow)> = self
            .flows
            .iter()
            .filter_map(|flow| Some((names.get(flow.hash)?.to_string(), flow)))
            .collect();
        // Equal rates keep the order of names, so that lines do not change places.
        named.sort_by(|(one, a), (other, b)| {
            (Reverse(a.bytes), one).cmp(&(Reverse(b.bytes), other))
        });
        let line = |(name, flow): &(String, &Flow)| {
            let mbps = if seconds > 0.0 { flow.bytes as f64 * 8e-6 / seconds } else { 0.0 };
            let delay = match flow.packets {
                0 => "-".to_string(),
                packets => short((flow.delay / packets).as_millis_f64()) + " ms",
            };
            let drops =
                if flow.drops > 0 { format!("  {} dropped", flow.drops) } else { String::new() };
            format!("      {:>5} Mbit/s  delay {delay:<8}  {name}{drops}", short(mbps))
        };
        let lines = match named.len() {
            0 | 1 => Vec::new(),
            _ => named.iter().take(SHOWN).map(line).collect(),
        };
        for flow in &mut self.flows {
            (flow.bytes, flow.packets, flow.delay, flow.drops) = (0, 0, Span::ZERO, 0);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Packet;
    use paceline_ip::packet::parse;
    use paceline_path::DropReason;
    use paceline_testing::packets::PacketSpec;

    use super::*;

    #[test]
    fn the_busiest_of_several_flows_have_lines() {
        let (mut busiest, mut names) = (Busiest::default(), FlowNames::default());
        let hashes: Vec<u32> = (1..=5)
            .map(|port| {
                let bytes = PacketSpec { port, ..PacketSpec::UDP4 }.build(&[0; 8], false);
                let parsed = parse(&bytes).expect("a packet");
                names.note(&bytes, &parsed);
                parsed.flow
            })
            .collect();
        let send = |busiest: &mut Busiest, flow: u32, kind: EventKind, packets: usize| {
            let packet = Packet { flow, ..Packet::opaque(1000) };
            let event = LinkEvent::new(Time::ZERO, kind, &packet, 0);
            (0..packets).for_each(|_| busiest.event(&event, 1000));
        };
        let sent = EventKind::Departure { sojourn: Span::from_millis(20) };
        let now = Time::from_millis(500);
        send(&mut busiest, hashes[0], sent, 100);
        assert!(busiest.lines(&names, Time::ZERO, now).is_empty(), "one flow needs no line");
        for (at, hash) in hashes.iter().enumerate() {
            send(&mut busiest, *hash, sent, 100 * (at + 1));
        }
        send(&mut busiest, hashes[3], EventKind::Drop { reason: DropReason::Full }, 2);
        let lines = busiest.lines(&names, now, now + Span::from_millis(500));
        assert_eq!(lines.len(), SHOWN);
        assert!(lines[0].starts_with("       8.00 Mbit/s  delay 20.0 ms   udp "), "{}", lines[0]);
        assert!(lines[0].contains(":5 > ") && lines[1].ends_with("  2 dropped"), "{lines:?}");
        assert!(busiest.lines(&names, now, now).is_empty(), "each look begins anew");
        assert!(busiest.lines(&names, now, now).is_empty() && busiest.flows.is_empty());
        for flow in 0..2 * MAX_FLOWS as u32 {
            send(&mut busiest, flow, sent, 1);
        }
        assert_eq!(busiest.flows.len(), MAX_FLOWS);
    }
}
