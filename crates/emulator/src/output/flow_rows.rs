//! The figures of single flows at a link, in memory of fixed size.

use paceline_cc::Span;
use paceline_measure::Quantiles;
use paceline_path::{EventKind, LinkEvent};
use serde::Serialize;

use crate::Lateness;
use crate::flows::{FlowNames, MAX_FLOWS};

/// The figures of a flow, or of several flows together, at a link.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowFigures {
    /// The bytes that the link delivered, as a rate; on traces with 4 bytes per packet more.
    pub throughput_mbps: f64,
    /// Per packet, from its arrival at the queue until it has left the link; quantiles are exact to 3 %.
    pub queue_delay_ms: Quantiles,
    /// Packets dropped by the link's queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake, at the link.
    pub marks: u64,
    /// Packets delivered.
    pub packets: u64,
}

impl FlowFigures {
    /// Returns the share of the packets that the link's queue dropped; 0 without packets.
    pub fn loss(&self) -> f64 {
        self.drops as f64 / (self.packets + self.drops).max(1) as f64
    }
}

/// A flow at a link.
#[derive(Clone, Debug, Serialize)]
pub struct FlowRow {
    /// The protocol's name in lower case, or its number.
    pub protocol: String,
    /// The sender's address and port, as the packets have them inside the emulator.
    pub from: String,
    /// The receiver's address and port.
    pub to: String,
    /// What the link did with its packets.
    #[serde(flatten)]
    pub figures: FlowFigures,
}

/// The counters of a flow.
#[derive(Debug, Default)]
struct FlowTotals {
    delays: Lateness,
    delay_sum: Span,
    packets: u64,
    bytes: u64,
    drops: u64,
    marks: u64,
}

impl FlowTotals {
    #[inline]
    fn event(&mut self, event: &LinkEvent, bytes: u64) {
        match event.kind {
            EventKind::Departure { sojourn } => {
                self.delays.record(sojourn, 1);
                self.delay_sum += sojourn;
                self.packets += 1;
                self.bytes += bytes;
            }
            EventKind::Drop { .. } => self.drops += 1,
            EventKind::Arrival => {}
        }
        self.marks += u64::from(event.marked);
    }

    fn add(&mut self, other: &FlowTotals) {
        self.delays.add(&other.delays);
        self.delay_sum += other.delay_sum;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.drops += other.drops;
        self.marks += other.marks;
    }

    fn is_empty(&self) -> bool {
        self.packets == 0 && self.drops == 0
    }

    fn figures(&self, seconds: f64) -> FlowFigures {
        let quantile = |share| self.delays.quantile(share).as_millis_f64();
        let queue_delay_ms = match self.packets {
            0 => Quantiles::default(),
            packets => Quantiles {
                mean: self.delay_sum.as_millis_f64() / packets as f64,
                p50: quantile(0.5),
                p95: quantile(0.95),
                p99: quantile(0.99),
                max: quantile(1.0),
            },
        };
        FlowFigures {
            throughput_mbps: if seconds > 0.0 { self.bytes as f64 * 8e-6 / seconds } else { 0.0 },
            queue_delay_ms,
            drops: self.drops,
            marks: self.marks,
            packets: self.packets,
        }
    }
}

/// The counters of a link's flows: of the first [`MAX_FLOWS`] each, of the rest together.
#[derive(Debug, Default)]
pub(super) struct FlowTable {
    hashes: Vec<u32>,
    totals: Vec<FlowTotals>,
    rest: FlowTotals,
    /// The place of the flow of the last event.
    last: usize,
}

impl FlowTable {
    /// Counts an event at the link, of a packet that counts for `bytes` there.
    #[inline]
    pub(super) fn event(&mut self, event: &LinkEvent, bytes: u64) {
        if self.hashes.get(self.last) != Some(&event.flow) {
            self.last = self.place(event.flow);
        }
        self.totals.get_mut(self.last).unwrap_or(&mut self.rest).event(event, bytes);
    }

    /// Returns the place of a flow, which is made if there is room; one beyond the last if there is none.
    fn place(&mut self, flow: u32) -> usize {
        if let Some(place) = self.hashes.iter().position(|hash| *hash == flow) {
            return place;
        }
        let place = self.hashes.len();
        if place < MAX_FLOWS {
            self.hashes.push(flow);
            self.totals.push(FlowTotals::default());
        }
        place
    }

    /// Returns the flows that have `names`, the one with the most bytes first, and all others together if there are
    /// any. Rates are over `seconds`.
    pub(super) fn rows(
        &self,
        names: &FlowNames,
        seconds: f64,
    ) -> (Vec<FlowRow>, Option<FlowFigures>) {
        let mut rest = FlowTotals::default();
        rest.add(&self.rest);
        let mut named = Vec::new();
        for (hash, totals) in self.hashes.iter().zip(&self.totals) {
            match names.get(*hash) {
                Some(id) => named.push((id, totals)),
                None => rest.add(totals),
            }
        }
        named.retain(|(_, totals)| !totals.is_empty());
        named.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.bytes));
        let rows = named.into_iter().map(|(id, totals)| FlowRow {
            protocol: id.protocol_name(),
            from: id.source_name(),
            to: id.destination_name(),
            figures: totals.figures(seconds),
        });
        (rows.collect(), (!rest.is_empty()).then(|| rest.figures(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Packet, Time};
    use paceline_ip::packet::parse;
    use paceline_path::DropReason;
    use paceline_testing::packets::PacketSpec;

    use super::*;

    fn event(flow: u32, kind: EventKind) -> LinkEvent {
        let packet = Packet { flow, ..Packet::opaque(1000) };
        LinkEvent::new(Time::from_millis(5), kind, &packet, 0)
    }

    #[test]
    fn flows_beyond_the_bound_are_counted_together() {
        let (mut table, mut names) = (FlowTable::default(), FlowNames::default());
        for port in 0..2 * MAX_FLOWS as u16 {
            let bytes = PacketSpec { port, ..PacketSpec::UDP4 }.build(&[0; 8], false);
            let parsed = parse(&bytes).expect("a packet");
            names.note(&bytes, &parsed);
            let packets = if port == 7 { 3 } else { 1 };
            for _ in 0..packets {
                let sojourn = Span::from_millis(10 * u64::from(port));
                table.event(&event(parsed.flow, EventKind::Departure { sojourn }), 1004);
            }
            let lost = EventKind::Drop { reason: DropReason::Full };
            table.event(&event(parsed.flow, lost), 1004);
        }
        let (rows, rest) = table.rows(&names, 2.0);
        assert_eq!(rows.len(), MAX_FLOWS);
        let first = &rows[0];
        assert_eq!((first.figures.packets, first.figures.drops), (3, 1));
        assert!(first.from.ends_with(":7") && first.protocol == "udp", "{first:?}");
        assert!((first.figures.throughput_mbps - 3.0 * 1004.0 * 4e-6).abs() < 1e-12);
        let delays = first.figures.queue_delay_ms;
        assert!((delays.mean - 70.0).abs() < 1e-9 && (70.0..72.2).contains(&delays.p95));
        let rest = rest.expect("further flows");
        assert_eq!((rest.packets, rest.drops), (MAX_FLOWS as u64, MAX_FLOWS as u64));
    }

    #[test]
    fn flows_without_names_are_no_rows() {
        let mut table = FlowTable::default();
        assert!(table.rows(&FlowNames::default(), 1.0).1.is_none());
        table.event(&event(1, EventKind::Departure { sojourn: Span::ZERO }), 1000);
        let (rows, rest) = table.rows(&FlowNames::default(), 0.0);
        assert!(rows.is_empty());
        assert_eq!(rest.map(|rest| (rest.packets, rest.throughput_mbps)), Some((1, 0.0)));
    }
}
