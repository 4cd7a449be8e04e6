//! The results of a run.

use std::collections::BTreeMap;

use paceline_cc::Time;
use paceline_flow::{SenderStats, Transfer};
use paceline_scenario::ProgramOutcome;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::call::{AudioOutcome, FramesOutcome};
use crate::metrics::{P95, Quantiles, Samples, jain};

/// The results of a run, measured from the warm-up's end to the end of the run.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The scenario's name.
    pub name: String,
    /// The measured time in seconds.
    pub duration_s: f64,
    /// Results of each link, in the scenario's order.
    pub links: Vec<LinkOutcome>,
    /// Results of each shared medium, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediumOutcome>,
    /// Results of each flow, in the scenario's order, without short flows of random arrivals.
    pub flows: Vec<FlowOutcome>,
    /// Delays of all flows together, without those of random arrivals.
    pub pooled: PooledDelays,
    /// Mean of Jain's index of the flows' goodputs over windows of one second, which begin at the
    /// end of the warm-up. Only windows count in which at least two flows are meant to be active
    /// all the time, by their starts and stops, and in which data arrives. `None` without such
    /// windows. Does not depend on how the run is recorded.
    pub jain_1s: Option<f64>,
    /// Results of all flows of random arrivals together.
    pub arrivals: Option<ArrivalsOutcome>,
    /// Data packets that reached their receivers, including the warm-up.
    pub packets: u64,
    /// True if a random number was drawn so far; otherwise all seeds give the same run.
    pub seed_used: bool,
    /// True if a flow's transport draws random numbers from the system: then equal scenarios and
    /// seeds give different runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub system_random: bool,
    /// Digest of every arrival of a packet at a sender or receiver: equal for equal runs. Runs with
    /// equal digests can differ in packets that never arrived.
    pub digest: String,
}

/// Delays of all flows together.
#[derive(Copy, Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PooledDelays {
    /// Delay of each packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// RTT of the newest packet of each acknowledgement.
    pub rtt_ms: Quantiles,
    /// Mean of the 95 % end-to-end delays of those flows that have one; `None` if none has.
    #[serde(rename = "end_to_end_delay_ms", serialize_with = "maybe_p95")]
    pub end_to_end_p95_ms: Option<f64>,
    /// Mean of the self-inflicted delays of the same flows; `None` if there are none, or they were
    /// not added.
    #[serde(
        rename = "self_inflicted_delay_ms",
        serialize_with = "maybe_p95",
        skip_serializing_if = "Option::is_none"
    )]
    pub self_inflicted_p95_ms: Option<f64>,
    /// Sum of the flows' goodputs in Mbit/s divided by the mean of their 95 % end-to-end delays in
    /// seconds; `None` without such a delay, or if it is zero.
    pub power: Option<f64>,
}

/// Results of a link.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct LinkOutcome {
    /// Its name.
    pub name: String,
    /// The bytes that it offered, as a rate.
    pub capacity_mbps: f64,
    /// The bytes that it delivered, as a rate. On traces a packet counts with the 4 bytes of the
    /// TUN header, as in Mahimahi's log.
    pub throughput_mbps: f64,
    /// Delivered bytes divided by offered bytes; NaN if nothing was offered in the measured time.
    pub utilization: f64,
    /// Queueing and transmission delay of each packet, from its arrival at the queue until it has
    /// left the link, without propagation, as in Mahimahi's log.
    pub queue_delay_ms: Quantiles,
    /// Packets dropped by its queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake.
    pub marks: u64,
    /// Time series, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<LinkSeries>,
}

/// Results of a shared medium.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct MediumOutcome {
    /// Its name.
    pub name: String,
    /// The bytes of packets that it delivered, with acknowledgements, as a rate.
    pub throughput_mbps: f64,
    /// Collided frames divided by transmitted frames, including retransmissions and the warm-up.
    pub collision_probability: f64,
    /// Results of the access point and the stations, in the scenario's order.
    pub stations: Vec<StationOutcome>,
}

/// Results of a station of a medium, or of its access point, as a sender.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct StationOutcome {
    /// Results of its queue, and its deliveries. The capacity is the rate that the station carried
    /// while it had packets to send, and the utilization the share of the time in which it had some.
    #[serde(flatten)]
    pub link: LinkOutcome,
    /// Mean number of packets at the station, including the one in transmission: the rate of
    /// delivered packets times their mean delay (Little's law).
    pub waiting_packets: f64,
    /// Frames transmitted, including retransmissions and the warm-up.
    pub transmissions: u64,
    /// Of these, frames that collided.
    pub collisions: u64,
    /// Share of the time since the start in which the medium was busy with its frames and the
    /// answers to them.
    pub airtime: f64,
}

/// Time series of a link. Each bin includes its start and excludes its end; the last one ends with
/// the run, even if it is shorter than the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LinkSeries {
    /// The length of a bin in seconds. The first bin begins at time zero, before the warm-up.
    pub bin_s: f64,
    /// Offered bytes per bin, as a rate. For stations of media, the rate that they carried while they
    /// had packets to send; NaN (null in JSON) if they had none.
    pub capacity_mbps: Vec<f64>,
    /// Delivered bytes per bin, as a rate.
    pub throughput_mbps: Vec<f64>,
    /// Maximum queueing delay of the packets that left in the bin; NaN (null in JSON) if none did.
    pub queue_delay_ms: Vec<f64>,
}

/// Results of a flow.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Its scheme, as written.
    pub scheme: String,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Delay of each packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// RTT of the newest packet of each acknowledgement.
    pub rtt_ms: Quantiles,
    /// The 95th percentile over time of the age of the newest delivered packet: the 95 % end-to-end
    /// delay of Winstein's thesis, §2.4.1. An age counts while the flow's application is on
    /// ([`Sender::on_time`](paceline_flow::Sender::on_time)), in each on-period from the first
    /// arrival of a packet that was sent in it; `None` if there was none in the measured time.
    #[serde(rename = "end_to_end_delay_ms", serialize_with = "maybe_p95")]
    pub end_to_end_p95_ms: Option<f64>,
    /// `end_to_end_p95_ms` minus that of the omniscient protocol, which keeps the first link busy
    /// without any packet waiting: the thesis' self-inflicted delay. The simulator leaves it out;
    /// `paceline_requests::omniscient::add_self_inflicted` computes it.
    #[serde(
        rename = "self_inflicted_delay_ms",
        serialize_with = "maybe_p95",
        skip_serializing_if = "Option::is_none"
    )]
    pub self_inflicted_p95_ms: Option<f64>,
    /// Goodput in Mbit/s divided by the 95 % end-to-end delay in seconds (the thesis' §2.5:
    /// throughput divided by delay); `None` without such a delay, or if it is zero.
    pub power: Option<f64>,
    /// Counters of the sender since the end of the warm-up; zeros during the warm-up.
    #[serde(flatten, serialize_with = "counters")]
    pub sender: SenderStats,
    /// The same counters since the start of the run; not part of the JSON.
    #[serde(skip)]
    pub since_start: SenderStats,
    /// Completion times of these transfers, from the application's request to the last
    /// acknowledgement, including the handshake of a new connection; `None` if there are none.
    #[serde(serialize_with = "maybe_quantiles")]
    pub completion_ms: Option<Quantiles>,
    /// Transfers of a given size that began after the warm-up and have finished.
    pub transfers: u64,
    /// Results of a video's frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<FramesOutcome>,
    /// Results of the packets of audio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioOutcome>,
    /// Results of the programs that ran at its hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramOutcome>,
    /// Sums, if the run records only sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sums: Option<FlowSums>,
    /// Time series, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<FlowSeries>,
}

/// Sums of a flow since the end of the warm-up: all that
/// [`Record::Sums`](crate::scenario::Record::Sums) keeps of it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowSums {
    /// Bytes of packets that arrived for the first time.
    pub bytes: u64,
    /// Data packets that arrived, including repetitions.
    pub packets: u64,
    /// Sum over these packets of the time from sending to arrival, in seconds: queueing,
    /// transmission and propagation.
    pub delay_s: f64,
    /// Acknowledgements that gave a sample of the RTT.
    pub rtt_samples: u64,
    /// Sum of these samples in seconds.
    pub rtt_s: f64,
    /// Seconds during which the application had data to send or waited for its last
    /// acknowledgement; for an on-off flow, its on-periods.
    pub on_s: f64,
    /// Packets declared lost.
    pub lost: u64,
}

/// Time series of a flow, in the same bins as those of links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// Bytes that arrived for the first time in a bin, as a rate.
    pub goodput_mbps: Vec<f64>,
    /// Internal values of the controller at the end of each bin, by name.
    pub state: Vec<(&'static str, Vec<f64>)>,
}

/// Results of all flows of random arrivals together.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ArrivalsOutcome {
    /// Flows that arrived after the warm-up.
    pub arrived: u64,
    /// Of these, flows that finished.
    pub finished: u64,
    /// Bytes of packets that arrived for the first time, as a rate, including those of flows that
    /// arrived during the warm-up.
    pub goodput_mbps: f64,
    /// Completion times of the finished flows, from the application's request to the last
    /// acknowledgement; `None` if there are none.
    #[serde(serialize_with = "maybe_quantiles")]
    pub completion_ms: Option<Quantiles>,
}

/// Writes a 95th percentile in JSON: an object with `p95`, which is null if there is none.
fn maybe_p95<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    P95 { p95: value.unwrap_or(f64::NAN) }.serialize(to)
}

/// Writes quantiles in JSON: an object whose fields are null if there are none.
fn maybe_quantiles<S: Serializer>(value: &Option<Quantiles>, to: S) -> Result<S::Ok, S::Error> {
    value.unwrap_or_default().serialize(to)
}

/// Writes the counters in JSON, with null for those that the transport does not have.
fn counters<S: Serializer>(stats: &SenderStats, to: S) -> Result<S::Ok, S::Error> {
    let mut counters = to.serialize_struct("SenderStats", 5)?;
    counters.serialize_field("sent", &stats.sent)?;
    counters.serialize_field("retransmits", &stats.counted_retransmits())?;
    counters.serialize_field("lost", &stats.lost)?;
    counters.serialize_field("spurious", &stats.counted_late())?;
    counters.serialize_field("timeouts", &stats.counted_timeouts())?;
    counters.end()
}

impl Outcome {
    /// Returns Jain's index of the flows' goodputs.
    pub fn jain(&self) -> f64 {
        let shares: Vec<f64> = self.flows.iter().map(|flow| flow.goodput_mbps).collect();
        jain(&shares)
    }

    /// Returns the sum of the flows' goodputs, including those of random arrivals.
    pub fn goodput_mbps(&self) -> f64 {
        let flows: f64 = self.flows.iter().map(|flow| flow.goodput_mbps).sum();
        flows + self.arrivals.as_ref().map_or(0.0, |arrivals| arrivals.goodput_mbps)
    }
}

/// Returns the completion times of those transfers that began at `from` or later.
pub(crate) fn completion_times(transfers: &[Transfer], from: Time) -> Samples {
    let mut times = Samples::default();
    for transfer in transfers.iter().filter(|transfer| transfer.start >= from) {
        times.push(transfer.end.since(transfer.start));
    }
    times
}

/// Appends `-1`, `-2` and so on to names that several flows have. Names that are unique stay, and are not given to another
/// flow.
pub(crate) fn number_equal_names(flows: &mut [FlowOutcome]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for flow in &*flows {
        *counts.entry(flow.name.clone()).or_default() += 1;
    }
    if counts.len() == flows.len() {
        return;
    }
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for flow in flows.iter_mut().filter(|flow| counts[&flow.name] > 1) {
        let number = numbers.entry(flow.name.clone()).or_default();
        flow.name = loop {
            *number += 1;
            let name = format!("{}-{number}", flow.name);
            if !counts.contains_key(&name) {
                break name;
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers() {
        let names = ["cubic", "abc", "cubic", "cubic-2", "cubic"];
        let named = |name: &&str| FlowOutcome { name: name.to_string(), ..FlowOutcome::default() };
        let mut flows: Vec<FlowOutcome> = names.iter().map(named).collect();
        number_equal_names(&mut flows);
        let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["cubic-1", "abc", "cubic-3", "cubic-2", "cubic-4"]);
    }
}
