//! What a run has shown.

use paceline_cc::Time;
use paceline_flow::{Frame, SenderStats, Transfer, VideoStats};
use serde::{Serialize, Serializer};

use crate::metrics::{P95, Quantiles, Samples, jain};

/// The results of a run, measured from the warm-up's end to the end of the run.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The scenario's name.
    pub name: String,
    /// The measured time in seconds.
    pub duration_s: f64,
    /// Each link, in the scenario's order.
    pub links: Vec<LinkOutcome>,
    /// Each shared medium, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediumOutcome>,
    /// Each flow, in the scenario's order; short flows of random arrivals are left out.
    pub flows: Vec<FlowOutcome>,
    /// The delays of all flows together, those of random arrivals left out.
    pub pooled: PooledDelays,
    /// Jain's index of the flows' goodputs over windows of one second, which begin at the end of
    /// the warm-up: the mean over the windows in which at least two flows are meant to be active
    /// all the time, by their starts and stops, and something arrives. `None` without such
    /// windows. It does not depend on how the run is recorded.
    pub jain_1s: Option<f64>,
    /// Flows of random arrivals, taken together.
    pub arrivals: Option<ArrivalsOutcome>,
    /// Data packets that reached their receivers, warm-up included.
    pub packets: u64,
    /// True if something was drawn at random so far: else all seeds give this run.
    pub seed_used: bool,
    /// The digest of every hand-over of a packet: equal for equal runs.
    pub digest: String,
}

/// Delays of all flows together.
#[derive(Copy, Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PooledDelays {
    /// Per packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// Per acknowledgement, the RTT of its newest packet.
    pub rtt_ms: Quantiles,
    /// The mean of the 95 % end-to-end delays of those flows that have one; `None` without any.
    #[serde(rename = "end_to_end_delay_ms", serialize_with = "maybe_p95")]
    pub end_to_end_p95_ms: Option<f64>,
    /// The mean of the self-inflicted delays of the same flows; `None` without any, or if they have not
    /// been added.
    #[serde(
        rename = "self_inflicted_delay_ms",
        serialize_with = "maybe_p95",
        skip_serializing_if = "Option::is_none"
    )]
    pub self_inflicted_p95_ms: Option<f64>,
    /// The sum of the flows' goodputs in Mbit/s over the mean of their 95 % end-to-end delays in
    /// seconds; `None` without such a delay, or if it is zero.
    pub power: Option<f64>,
}

/// What a link has done.
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
    /// Delivered bytes over offered bytes.
    pub utilization: f64,
    /// Per packet, from its arrival at the queue until it has left the link; propagation
    /// excluded. This is what Mahimahi's log holds.
    pub queue_delay_ms: Quantiles,
    /// Packets dropped by its queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake.
    pub marks: u64,
    /// Time series, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<LinkSeries>,
}

/// What a shared medium has done.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct MediumOutcome {
    /// Its name.
    pub name: String,
    /// The bytes of packets that it delivered, as a rate, acknowledgements included.
    pub throughput_mbps: f64,
    /// Frames that collided over frames transmitted, retransmissions and the warm-up included.
    pub collision_probability: f64,
    /// The access point and the stations, in the scenario's order.
    pub stations: Vec<StationOutcome>,
}

/// What a station of a medium, or its access point, has done as a sender.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct StationOutcome {
    /// Its queue and what it delivered. Its capacity is what the station carried in the end while
    /// it had something to send.
    #[serde(flatten)]
    pub link: LinkOutcome,
    /// Packets at the station in the mean, the one in transmission included: the rate of delivered
    /// packets times their mean delay (Little's law).
    pub waiting_packets: f64,
    /// Frames transmitted, retransmissions and the warm-up included.
    pub transmissions: u64,
    /// Of these, frames that collided.
    pub collisions: u64,
    /// The share of time since the start in which the medium was busy with its frames and their
    /// answers.
    pub airtime: f64,
}

/// A link over time. Each bin includes its start and excludes its end; the last one ends with the run,
/// even if it is shorter than the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LinkSeries {
    /// The length of a bin in seconds. The first bin begins at time zero, before the warm-up.
    pub bin_s: f64,
    /// Offered bytes per bin, as a rate.
    pub capacity_mbps: Vec<f64>,
    /// Delivered bytes per bin, as a rate.
    pub throughput_mbps: Vec<f64>,
    /// The longest queueing delay of the packets that left in the bin; NaN (null) if none did.
    pub queue_delay_ms: Vec<f64>,
}

/// What a flow has done.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Its scheme, as written.
    pub scheme: String,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Per packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// Per acknowledgement, the RTT of its newest packet.
    pub rtt_ms: Quantiles,
    /// The 95th percentile over time of the age of the newest delivered packet: the 95 %
    /// end-to-end delay of Winstein's thesis, §2.4.1. An age counts while the flow's application is on
    /// ([`Sender::on_time`](paceline_flow::Sender::on_time)), in each on-period from the first arrival
    /// of a packet that was sent in it; `None` if there was none in the measured time.
    #[serde(rename = "end_to_end_delay_ms", serialize_with = "maybe_p95")]
    pub end_to_end_p95_ms: Option<f64>,
    /// The same, less that of the omniscient protocol, which keeps the first link busy without
    /// ever making a packet wait: the thesis' self-inflicted delay. The simulator leaves it out;
    /// `paceline_requests::omniscient::add_self_inflicted` works it out.
    #[serde(
        rename = "self_inflicted_delay_ms",
        serialize_with = "maybe_p95",
        skip_serializing_if = "Option::is_none"
    )]
    pub self_inflicted_p95_ms: Option<f64>,
    /// Goodput in Mbit/s over the 95 % end-to-end delay in seconds (the thesis' §2.5: throughput
    /// divided by the delay); `None` without such a delay, or if it is zero.
    pub power: Option<f64>,
    /// Counters of the sender, warm-up included.
    #[serde(flatten)]
    pub sender: SenderCounters,
    /// The times that these transfers took, from the application's request to the last acknowledgement,
    /// the handshake of a new connection included; `None` without any.
    pub completion_ms: Option<Quantiles>,
    /// Transfers of a given size that began after the warm-up and have finished.
    pub transfers: u64,
    /// The frames of a video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<FramesOutcome>,
    /// Sums, if only they are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sums: Option<FlowSums>,
    /// Time series, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<FlowSeries>,
}

/// What a flow adds up to from the end of the warm-up on: all that
/// [`Record::Sums`](crate::scenario::Record::Sums) keeps of it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowSums {
    /// Bytes of packets that arrived for the first time.
    pub bytes: u64,
    /// Data packets that arrived, repetitions included.
    pub packets: u64,
    /// The sum over these packets of the time from sending to arrival, in seconds: queueing,
    /// transmission and propagation.
    pub delay_s: f64,
    /// Acknowledgements that gave a sample of the RTT.
    pub rtt_samples: u64,
    /// The sum of these samples in seconds.
    pub rtt_s: f64,
    /// The time in seconds during which the application had something to send or waited for its
    /// last acknowledgement: of an on-off flow, its on-periods.
    pub on_s: f64,
    /// Packets declared lost.
    pub lost: u64,
}

/// What has become of the frames of a video that were made after the warm-up.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FramesOutcome {
    /// Frames made.
    pub made: u64,
    /// Frames that the encoder left out because too much waited.
    pub skipped: u64,
    /// Frames that arrived completely.
    pub delivered: u64,
    /// Of those, from the frame's making to the arrival of its last packet.
    #[serde(rename = "frame_delay_ms")]
    pub delay_ms: Quantiles,
}

/// Counters of a sender since the start of the run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SenderCounters {
    /// Packets sent.
    pub sent: u64,
    /// Of these, repetitions of lost data.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of these, packets whose acknowledgement came after all.
    #[serde(rename = "spurious")]
    pub late: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

impl From<SenderStats> for SenderCounters {
    fn from(stats: SenderStats) -> SenderCounters {
        let SenderStats { sent, retransmits, lost, late, timeouts, .. } = stats;
        SenderCounters { sent, retransmits, lost, late, timeouts }
    }
}

/// A flow over time, in the same bins as links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowSeries {
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// Bytes that arrived for the first time per bin, as a rate.
    pub goodput_mbps: Vec<f64>,
    /// Inner values of the controller at the end of each bin, by name.
    pub state: Vec<(&'static str, Vec<f64>)>,
}

/// What flows of random arrivals have done together.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ArrivalsOutcome {
    /// Flows that arrived after the warm-up.
    pub arrived: u64,
    /// Of these, flows that finished.
    pub finished: u64,
    /// Bytes of packets that arrived for the first time, as a rate; those of flows that arrived during
    /// the warm-up count, too.
    pub goodput_mbps: f64,
    /// The times of the finished flows from the application's request to the last acknowledgement;
    /// `None` without any.
    pub completion_ms: Option<Quantiles>,
}

/// A 95th percentile as JSON has it everywhere: an object with `p95`; null if there is none.
fn maybe_p95<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    value.map(|p95| P95 { p95 }).serialize(to)
}

impl Outcome {
    /// Jain's index of the flows' goodputs.
    pub fn jain(&self) -> f64 {
        let shares: Vec<f64> = self.flows.iter().map(|flow| flow.goodput_mbps).collect();
        jain(&shares)
    }

    /// The sum of the flows' goodputs, those of random arrivals included.
    pub fn goodput_mbps(&self) -> f64 {
        let flows: f64 = self.flows.iter().map(|flow| flow.goodput_mbps).sum();
        flows + self.arrivals.as_ref().map_or(0.0, |arrivals| arrivals.goodput_mbps)
    }
}

/// What became of those of `frames` that were made at `from` or later, given the segments that arrived.
/// `stats` counts frames from then on.
pub(crate) fn frames(
    frames: &[Frame],
    segments: &[(u64, Time)],
    from: Time,
    stats: VideoStats,
) -> FramesOutcome {
    let count = frames.iter().filter_map(|frame| frame.last).max().map_or(0, |last| last + 1);
    let mut arrived = vec![Time::NEVER; count as usize];
    for &(segment, at) in segments {
        if let Some(first) = arrived.get_mut(segment as usize) {
            *first = at.min(*first);
        }
    }
    let mut delays = Samples::default();
    for frame in frames.iter().filter(|frame| frame.made >= from) {
        let Some(last) = frame.last else { continue };
        let parts = arrived.get(frame.first as usize..=last as usize).unwrap_or_default();
        match parts.iter().max() {
            Some(&at) if at != Time::NEVER => delays.push(at.since(frame.made)),
            _ => {}
        }
    }
    FramesOutcome {
        made: stats.made,
        skipped: stats.skipped,
        delivered: delays.len(),
        delay_ms: delays.quantiles(),
    }
}

/// The times that those transfers took that began at `from` or later.
pub(crate) fn completion_times(transfers: &[Transfer], from: Time) -> Samples {
    let mut times = Samples::default();
    for transfer in transfers.iter().filter(|transfer| transfer.start >= from) {
        times.push(transfer.end.since(transfer.start));
    }
    times
}
