//! One scheme on one link: the scenario, and the row of a run.

use paceline_cc::{Rate, Span, Time};
use paceline_path::{BufferSize, Jitter, JitterShape};
use paceline_trace::Delays;
use thiserror::Error;

use paceline_schemes::{BulkPath, SCHEMES};
use paceline_sim::metrics::{mbps, power};
use paceline_sim::runs::{Run, Runs};
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, QueueChoice, Record, RouterChoice, Scenario, SchemeChoice,
    Workload,
};
use paceline_sim::{BuildError, FlowOutcome, LinkOutcome, Outcome, transmitter};

use super::CompareRow;
use crate::columns::rows::RowSource;
use crate::omniscient::Omniscient;

/// Text that stands in place of a scheme in the row of the omniscient protocol.
pub const OMNISCIENT: &str = "omniscient";

/// Utilization from which on a link counts as used: a bare scheme below it gets its note.
pub const WELL_USED: f64 = 0.8;

/// Median queueing delay from which on a queue counts as long, if it is also several RTTs.
const LONG_QUEUE: Span = Span::from_millis(500);
const LONG_QUEUE_RTTS: u64 = 5;

/// Note of a run with a retransmission for two packets that arrived, or more.
const FLOODED: &str = "the link dropped a third or more of its packets: it sent at least one again for two that arrived";

/// Reason why the omniscient protocol has no row.
#[derive(Debug, Error)]
pub enum OmniscientError {
    /// The link cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The link's future depends on other traffic.
    #[error("this link's future depends on other stations; take a trace, a rate or a schedule")]
    Unknown,
    /// The link carries no packet in the measured time.
    #[error("the link carries no packet between {from} and {end}; measure longer")]
    Idle {
        /// End of the warm-up.
        from: Span,
        /// End of the run.
        end: Span,
    },
    /// The simulation would take too long.
    #[error("more than 10 million packets; make the duration shorter")]
    TooLong,
}

/// A scheme on a link, in one run or several.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the link's trace.
    pub trace: String,
    /// Capacity of the link.
    pub capacity: Capacity,
    /// Capacity of the link that acknowledgements take; `None` for an unlimited one.
    pub reverse: Option<Capacity>,
    /// Scheme: a named one, a custom one, or a whole transport.
    pub scheme: SchemeChoice,
    /// Number of flows of the scheme; all start at time 0.
    pub flows: u32,
    /// Data that each flow sends.
    pub workload: Workload,
    /// Round-trip propagation delay.
    pub rtt: Span,
    /// Recorded one-way delay of both directions, in addition to the RTT.
    pub delays: Option<Delays>,
    /// Mean of a random delay of each acknowledgement in addition to the fixed one, distributed
    /// exponentially; acknowledgements do not overtake each other. Zero for none. Real paths have a
    /// small one. Without it, schemes that use the minimum RTT would find the queue emptier than on
    /// real paths.
    pub jitter: Span,
    /// Limit of the link's queue.
    pub buffer: BufferSize,
    /// Length of a run.
    pub duration: Span,
    /// Time at which the measurement begins.
    pub warmup: Span,
    /// Seed of the first run, from which the seeds of the others are drawn.
    pub seed: u64,
    /// Number of runs, and spread of their starts.
    pub runs: Runs,
    /// Length of the time series' bins; `None` for no time series.
    pub bin: Option<Span>,
}

impl Comparison {
    /// Default round-trip propagation delay.
    pub const RTT: Span = FlowSpec::RTT;
    /// Default limit of the link's queue.
    pub const BUFFER: BufferSize = BufferSize::Packets(250);
    /// Default length of a run.
    pub const DURATION: Span = Span::from_secs(60);

    /// Returns a comparison with all defaults: one flow, one run, RTT 100 ms, 250 packets, 60 s.
    pub fn new(trace: &str, capacity: Capacity, scheme: impl Into<SchemeChoice>) -> Comparison {
        Comparison {
            trace: trace.to_string(),
            capacity,
            reverse: None,
            scheme: scheme.into(),
            flows: 1,
            workload: Workload::Bulk,
            rtt: Comparison::RTT,
            delays: None,
            jitter: Span::ZERO,
            buffer: Comparison::BUFFER,
            duration: Comparison::DURATION,
            warmup: Span::ZERO,
            seed: 1,
            runs: Runs::default(),
            bin: None,
        }
    }

    /// Returns the note about a run of bulk data: that the flows flooded the link, or the registry's note
    /// about a bare scheme that keeps a long queue, or that used less than [`WELL_USED`] of the link.
    /// `None` otherwise, if the registry's note is about other paths, and for schemes with parameters or
    /// a queue, because the user chose these.
    fn note(&self, outcome: &Outcome, link: &LinkOutcome) -> Option<&'static str> {
        if self.workload != Workload::Bulk {
            return None;
        }
        let again = outcome.flows.iter().filter_map(|flow| flow.since_start.counted_retransmits());
        if outcome.packets > 0 && again.sum::<u64>() >= outcome.packets.div_ceil(2) {
            return Some(FLOODED);
        }
        let SchemeChoice::Named(spec) = &self.scheme else { return None };
        if !spec.sender.args.is_empty() || spec.queue.is_some() {
            return None;
        }
        let note = SCHEMES.iter().find(|scheme| scheme.name == spec.sender.name)?.note?;
        let long = LONG_QUEUE.max(self.rtt * LONG_QUEUE_RTTS).as_millis_f64();
        if let Some(reason) = note.long_queue
            && link.queue_delay_ms.p50 >= long
        {
            return Some(reason);
        }
        let is_unused = link.utilization < WELL_USED;
        (is_unused && (note.applies_to)(&self.path(link.capacity_mbps))).then_some(note.text)
    }

    /// Returns the path over a link of this mean rate.
    fn path(&self, mbps: f64) -> BulkPath {
        let rate = Rate::from_mbps(mbps);
        let mss = f64::from(self.scenario().mss);
        let bdp = (rate.bytes_in(self.rtt) as f64).max(1.0);
        let limit = self.buffer.resolve(rate, self.rtt);
        let by_packets = limit.packets.map(|packets| packets as f64 * mss);
        let by_bytes = limit.bytes.map(|bytes| bytes as f64);
        let by_sojourn = limit.sojourn.map(|sojourn| rate.bytes_in(sojourn) as f64);
        let limits = [by_packets, by_bytes, by_sojourn].into_iter().flatten();
        BulkPath {
            rtt: self.rtt,
            bdp_packets: bdp / mss / f64::from(self.flows.max(1)),
            buffer_bdp: limits.fold(f64::INFINITY, f64::min) / bdp,
            duration: self.duration,
        }
    }

    /// Returns the scenario of the first run.
    pub fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::new(&format!("{} on {}", self.scheme, self.trace));
        scenario.duration = self.duration;
        scenario.warmup = self.warmup;
        scenario.seed = self.seed;
        scenario.runs = self.runs;
        scenario.record = self.bin.map_or(Record::Metrics, Record::Series);
        let mut link = LinkSpec::new("link", self.capacity.clone());
        link.buffer = self.buffer;
        scenario.links.push(link);
        let mut flow = FlowSpec::bulk(self.scheme.clone(), &["link"]);
        if let Some(reverse) = &self.reverse {
            let mut back = LinkSpec::new("reverse", reverse.clone());
            back.router = RouterChoice::None;
            back.queue = QueueChoice::droptail();
            scenario.links.push(back);
            flow.back.push("reverse".into());
        }
        flow.count = self.flows;
        flow.workload = self.workload.clone();
        flow.rtt = self.rtt;
        flow.data.impairments.delays.clone_from(&self.delays);
        flow.acks.impairments.delays.clone_from(&self.delays);
        if !self.jitter.is_zero() {
            let shape = JitterShape::Exponential;
            flow.acks.impairments.jitter =
                Some(Jitter { shape, mean: self.jitter, sd: self.jitter });
        }
        scenario.flows.push(flow);
        scenario
    }

    /// Makes the first run, and adds the self-inflicted delays to its outcome.
    ///
    /// # Errors
    /// The scenario cannot be built: see [`BuildError`].
    pub fn run(&self) -> Result<Outcome, BuildError> {
        crate::run(&self.scenario(), &paceline_remy::names())
    }

    /// Returns run `number` of this comparison, from 1 on, and its scenario.
    pub fn run_number(&self, number: u32) -> (Run, Scenario) {
        let scenario = self.scenario();
        let run = Run::of(&scenario, number);
        (run, run.scenario(&scenario))
    }

    /// Returns the row of the first run in the table. It has a self-inflicted delay if the outcome
    /// has one: see [`crate::run`].
    pub fn row(&self, outcome: &Outcome) -> CompareRow {
        self.row_of(self.run_number(1).0, outcome)
    }

    /// Returns the row of any run.
    pub fn row_of(&self, run: Run, outcome: &Outcome) -> CompareRow {
        let missing = LinkOutcome::default();
        let link = outcome.links.first().unwrap_or(&missing);
        CompareRow::of(&RowSource {
            trace: &self.trace,
            scheme: self.scheme.to_string(),
            flows: self.flows,
            run,
            outcome,
            link,
            note: self.note(outcome, link).map(str::to_string),
        })
    }

    /// Returns the row of the omniscient protocol in run `number`, whatever the scheme: one flow
    /// that sends each packet just in time for its transmission. Self-inflicted delays of other
    /// schemes are relative to its 95 % end-to-end delay. Its acknowledgements meet no queue.
    ///
    /// # Errors
    /// The link cannot be built, its future is unknown, or it carries no packet or too many: see
    /// [`OmniscientError`].
    pub fn omniscient(&self, number: u32) -> Result<CompareRow, OmniscientError> {
        let (run, scenario) = self.run_number(number);
        let outcome = self.omniscient_outcome(&scenario)?;
        Ok(CompareRow::of(&RowSource {
            trace: &self.trace,
            scheme: OMNISCIENT.into(),
            flows: 1,
            run,
            outcome: &outcome,
            link: &outcome.links[0],
            note: None,
        }))
    }

    /// Returns what a run of the omniscient protocol would show: one link and one flow. It has no digest, since no
    /// packets were handed over.
    fn omniscient_outcome(&self, scenario: &Scenario) -> Result<Outcome, OmniscientError> {
        let spec = scenario.links.first().ok_or(OmniscientError::Unknown)?;
        let (from, end) = (Time::ZERO + self.warmup, Time::ZERO + self.duration);
        let idle = OmniscientError::Idle { from: self.warmup, end: self.duration };
        let best = Omniscient::new(spec, scenario.mss, from, end, self.bin)?
            .ok_or(OmniscientError::Unknown)?;
        if !best.complete {
            return Err(OmniscientError::TooLong);
        }
        let Some(age) = best.age_p95().filter(|_| best.delivered > 0 && best.offered > 0) else {
            return Err(idle);
        };
        let measured = end.since(from);
        let transmitter = transmitter(scenario, spec)?;
        let service = transmitter.capacity();
        let forward = self.rtt / 2;
        let end_to_end = (age + forward).as_millis_f64();
        let mut link = LinkOutcome::default();
        link.capacity_mbps = mbps(service.offered_in(from..end), measured);
        link.utilization = best.delivered as f64 / best.offered as f64;
        link.throughput_mbps = link.capacity_mbps * link.utilization;
        link.queue_delay_ms = best.transmission.quantiles();
        link.series = best.series;
        let (mss, header) = (f64::from(scenario.mss), f64::from(service.overhead()));
        let mut flow = FlowOutcome::default();
        flow.goodput_mbps = link.throughput_mbps * mss / (mss + header);
        let mut outcome = Outcome::default();
        outcome.duration_s = measured.as_secs_f64();
        outcome.pooled.one_way_delay_ms = link.queue_delay_ms.later(forward.as_millis_f64());
        outcome.pooled.rtt_ms = link.queue_delay_ms.later(self.rtt.as_millis_f64());
        outcome.pooled.end_to_end_p95_ms = Some(end_to_end);
        outcome.pooled.self_inflicted_p95_ms = Some(0.0);
        outcome.pooled.power = power(flow.goodput_mbps, end_to_end);
        outcome.packets = service.offered_in(Time::ZERO..end - forward)
            / u64::from(scenario.mss + service.overhead()).max(1);
        outcome.links.push(link);
        outcome.flows.push(flow);
        Ok(outcome)
    }
}
