//! Schemes side by side on one link: the scenario of `paceline compare`, and a row of its table.

use paceline_cc::{SchemeSpec, Span};
use paceline_path::BufferSize;
use serde::Serialize;

use crate::metrics::Quantiles;
use crate::outcome::{LinkSeries, Outcome};
use crate::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario};

/// One run of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The name of the link's trace.
    pub trace: String,
    /// The link's capacity.
    pub capacity: Capacity,
    /// The capacity of the link that acknowledgements take; `None` for as fast as needed.
    pub reverse: Option<Capacity>,
    /// The scheme.
    pub scheme: SchemeSpec,
    /// Flows of the scheme, all from the start on.
    pub flows: u32,
    /// Round-trip propagation delay.
    pub rtt: Span,
    /// The limit of the link's queue.
    pub buffer: BufferSize,
    /// How long to run.
    pub duration: Span,
    /// Measurements begin after this time.
    pub warmup: Span,
    /// The seed.
    pub seed: u64,
    /// The bins of the time series; `None` for none.
    pub bin: Option<Span>,
}

impl Comparison {
    /// The defaults of `paceline compare`: one flow, RTT 100 ms, 250 packets, 60 s.
    pub fn new(trace: &str, capacity: Capacity, scheme: SchemeSpec) -> Comparison {
        Comparison {
            trace: trace.to_string(),
            capacity,
            reverse: None,
            scheme,
            flows: 1,
            rtt: Span::from_millis(100),
            buffer: BufferSize::Packets(250),
            duration: Span::from_secs(60),
            warmup: Span::ZERO,
            seed: 1,
            bin: None,
        }
    }

    /// The scenario of this run.
    pub fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::new(&format!("{} on {}", self.scheme, self.trace));
        scenario.duration = self.duration;
        scenario.warmup = self.warmup;
        scenario.seed = self.seed;
        scenario.record = self.bin.map_or(Record::Metrics, Record::Series);
        let mut link = LinkSpec::new("link", self.capacity.clone());
        link.buffer = self.buffer;
        scenario.links.push(link);
        let mut flow = FlowSpec::bulk(self.scheme.clone(), &["link"]);
        if let Some(reverse) = &self.reverse {
            let mut back = LinkSpec::new("reverse", reverse.clone());
            back.router = crate::scenario::RouterChoice::None;
            back.queue = Some(paceline_cc::Spec { name: "droptail".into(), args: Vec::new() });
            scenario.links.push(back);
            flow.back.push("reverse".into());
        }
        flow.count = self.flows;
        flow.rtt = self.rtt;
        scenario.flows.push(flow);
        scenario
    }

    /// The row of this run in the table.
    pub fn row(&self, outcome: &Outcome) -> CompareRow {
        let link = outcome.links.first().cloned().unwrap_or_default();
        let sum =
            |part: fn(&crate::outcome::FlowOutcome) -> u64| outcome.flows.iter().map(part).sum();
        CompareRow {
            trace: self.trace.clone(),
            scheme: self.scheme.to_string(),
            flows: self.flows,
            duration_s: outcome.duration_s,
            capacity_mbps: link.capacity_mbps,
            throughput_mbps: link.throughput_mbps,
            utilization: link.utilization,
            goodput_mbps: outcome.goodput_mbps(),
            queue_delay_ms: link.queue_delay_ms,
            one_way_delay_ms: outcome.pooled.one_way_delay_ms,
            rtt_ms: outcome.pooled.rtt_ms,
            self_inflicted_delay_ms: P95 { p95: outcome.pooled.self_inflicted_p95_ms },
            drops: link.drops,
            marks: link.marks,
            retransmits: sum(|flow| flow.sender.retransmits),
            timeouts: sum(|flow| flow.sender.timeouts),
            jain: outcome.jain(),
            packets: outcome.packets,
            digest: outcome.digest.clone(),
            series: link.series,
        }
    }
}

/// A row of the table of `paceline compare`, and of its JSON. The first link is the one measured;
/// delays of several flows are pooled.
#[derive(Clone, Debug, Serialize)]
pub struct CompareRow {
    /// The name of the trace.
    pub trace: String,
    /// The scheme as written.
    pub scheme: String,
    /// Flows.
    pub flows: u32,
    /// The measured time in seconds.
    pub duration_s: f64,
    /// The bytes that the link offered, as a rate.
    pub capacity_mbps: f64,
    /// The bytes that the link delivered, as a rate.
    pub throughput_mbps: f64,
    /// Delivered bytes over offered bytes.
    pub utilization: f64,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Per packet, from its arrival at the queue until it has left the link.
    pub queue_delay_ms: Quantiles,
    /// Per packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// Per acknowledgement.
    pub rtt_ms: Quantiles,
    /// The thesis' delay: of the newest delivered packet, less the omniscient protocol's.
    pub self_inflicted_delay_ms: P95,
    /// Packets dropped by the link's queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake, at the link.
    pub marks: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Jain's index of the flows' goodputs.
    pub jain: f64,
    /// Data packets delivered, warm-up included.
    pub packets: u64,
    /// The digest of the run.
    pub digest: String,
    /// The link over time, if recorded; not part of the JSON.
    #[serde(skip)]
    pub series: Option<LinkSeries>,
}

/// A 95th percentile.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct P95 {
    /// Milliseconds.
    pub p95: f64,
}
