//! Limits of scenario files. Larger values are mistakes that would fill memory or never end.

use std::ops::RangeInclusive;

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, Audio, On, Video, Workload};
use paceline_wifi::LONGEST_PACKET;

use super::error::ScenarioError;
use crate::scenario::spec::{Arrivals, Capacity, FlowSpec, LinkSpec, McsSpec, Record, Scenario};

/// Maximum duration of a run.
const LONGEST: Span = Span::from_secs(30 * 24 * 3600);
/// Maximum rate of a link.
pub const FASTEST: Rate = Rate::from_bps(1_000_000_000_000);
/// Maximum bytes of an opportunity.
pub(super) const OPPORTUNITY: u32 = 1_000_000;
/// Maximum number of flows, including those of random arrivals.
const FLOWS: f64 = 100_000.0;
/// Maximum number of steps of a walk.
const STEPS: u64 = 1_000_000;
/// Maximum number of bins of all time series of a run.
const BINS: u64 = 20_000_000;
/// Maximum messages per second of an application. Its inverse is the minimum mean cycle of on and
/// off.
const MESSAGES: f64 = 1e6;
const CYCLE: Span = Span::from_millis(1);

/// Lowest and highest rate of audio; the highest is that of Opus.
pub(super) const AUDIO_RATES: RangeInclusive<Rate> =
    Rate::from_bps(1_000)..=Rate::from_bps(510_000);
/// Maximum size of a packet of audio in bytes, headers included.
const AUDIO_PACKET: u32 = 1200;

/// The mistake, and the remedy.
pub(super) type Excess = (String, &'static str);

fn require(ok: bool, message: impl FnOnce() -> String, help: &'static str) -> Result<(), Excess> {
    if ok { Ok(()) } else { Err((message(), help)) }
}

/// Checks the duration.
pub(super) fn duration(duration: Span) -> Result<(), Excess> {
    require(!duration.is_zero(), || "the duration is zero".into(), "write duration = \"60s\"")?;
    let long = || "the duration is longer than 30 days".into();
    require(duration <= LONGEST, long, "write duration = \"60s\"")
}

/// Checks that packets fit into frames of 802.11.
pub(super) fn packets(scenario: &Scenario) -> Result<(), Excess> {
    let is_wifi = |link: &LinkSpec| matches!(link.capacity, Capacity::Wifi(_));
    let has_frames = !scenario.media.is_empty() || scenario.links.iter().any(is_wifi);
    let long = || {
        let mss = scenario.mss;
        format!("packets of {mss} bytes do not fit into frames of 802.11: {LONGEST_PACKET} at most")
    };
    require(!has_frames || scenario.mss <= LONGEST_PACKET, long, "write mss = 1500")
}

/// Checks a rate.
pub(super) fn rate(rate: Rate) -> Result<(), Excess> {
    let fast = || format!("{rate} is faster than {FASTEST}");
    require(rate <= FASTEST, fast, "write rate = \"12Mbps\"")
}

/// Checks the workload of a flow.
pub(super) fn workload(flow: &FlowSpec) -> Result<(), Excess> {
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        let help = "stop is a time since the beginning of the run, as start is";
        return require(false, || "the flow stops before it starts".into(), help);
    }
    let others = u64::from(flow.count.max(1) - 1);
    let last_start = flow.start + flow.stagger * others;
    if flow.stop.is_some_and(|stop| stop <= last_start + flow.stagger_stop * others) {
        let help = "with count, each flow starts `stagger` later than the one before, and stops `stagger_stop` earlier";
        return require(false, || "the last of these flows stops before it starts".into(), help);
    }
    match &flow.workload {
        Workload::Bytes(0) => {
            require(false, || "bytes is zero".into(), "leave bytes out for a flow without end")
        }
        Workload::Limited { rate, message } => {
            let messages = rate.bytes_per_sec() / f64::from(*message);
            let many = || format!("the application would write {messages:.0} messages a second");
            require(messages <= MESSAGES, many, "make the messages longer: message = 1500")
        }
        Workload::Supplied => require(
            false,
            || "no driver supplies the flow's data in a simulation".into(),
            "take another workload: bulk, bytes, rate, on_off, video or audio",
        ),
        Workload::OnOff { .. }
        | Workload::Video(_)
        | Workload::Audio(_)
        | Workload::Bulk
        | Workload::Bytes(_) => Ok(()),
    }
}

/// Checks the rates of a video's encoder.
pub(super) fn video(video: &Video) -> Result<(), Excess> {
    let sane = video.max.as_bps() > 0 && video.min <= video.max && video.max <= FASTEST;
    let say = || "the video's min and max are not in order".into();
    require(sane, say, "write min = \"100kbps\", max = \"2500kbps\"")
}

/// Checks that a packet of audio fits into the smallest segment.
pub(super) fn audio(audio: &Audio) -> Result<(), Excess> {
    let bytes = audio.packet_bytes();
    let long =
        || format!("a packet of this audio would have {bytes} bytes: {AUDIO_PACKET} at most");
    let usual = Audio { packets_per_s: 50.0, ..*audio };
    let help = match usual.packet_bytes() <= AUDIO_PACKET {
        true => "write packets_per_s = 50",
        // At the highest rate a packet has 688 bytes then.
        false => "write packets_per_s = 100",
    };
    require(bytes <= AUDIO_PACKET, long, help)
}

/// Checks on- and off-periods. Periods of a number of bytes take as long as the bytes do. For a
/// Pareto distribution the minimum counts: with a shape near 1, the mean comes from a few very long
/// periods, and almost all periods are about as short as the minimum.
pub(super) fn cycle(on: &On, mean_off: Span) -> Result<(), Excess> {
    let short = || "an on-period and an off-period take less than 1 ms together".into();
    let seconds = match *on {
        On::Bytes(_) => return Ok(()),
        On::Time(Amount::Fixed(time) | Amount::Exponential(time)) => time,
        On::Time(Amount::Pareto { scale, .. }) => scale,
        On::Time(Amount::Icsi { plus }) => plus,
    };
    let ok = Span::from_secs_f64(seconds) + mean_off >= CYCLE;
    require(ok, short, "write on = \"5s\", off = \"5s\"")
}

/// Checks the number of flows so far.
pub(super) fn flows(scenario: &Scenario) -> Result<(), Excess> {
    let alike: u64 = scenario.flows.iter().map(|flow| u64::from(flow.count)).sum();
    let random: f64 = scenario.arrivals.iter().map(|few| expected(few, scenario.duration)).sum();
    let flows = alike as f64 + random;
    let many = || format!("{flows:.0} flows are more than {FLOWS}");
    require(flows <= FLOWS, many, "use fewer flows, fewer arrivals or a shorter run")
}

/// Returns the expected number of flows of random arrivals.
fn expected(arrivals: &Arrivals, duration: Span) -> f64 {
    let stop = arrivals.flow.stop.unwrap_or(duration).min(duration);
    (stop - arrivals.flow.start).as_secs_f64() * arrivals.per_second
}

/// Checks the number of steps of a random walk.
pub(super) fn walk(mcs: &McsSpec, duration: Span) -> Result<(), Excess> {
    let McsSpec::Walk { every, .. } = mcs else { return Ok(()) };
    let steps = duration.as_nanos() / every.as_nanos().max(1);
    let many = || "the walk has more than a million steps".into();
    let help = "write a longer `every`, for example \"2s\", or a shorter duration";
    require(steps <= STEPS, many, help)
}

/// Checks the limits of scenario files that depend on the duration of the run and on the length of a
/// bin: for scenarios that were changed after they were read.
///
/// # Errors
/// The duration, or the number of flows, of steps of a random walk, or of bins is above that of files.
pub fn check_size(scenario: &Scenario) -> Result<(), ScenarioError> {
    let walks = || {
        scenario.links.iter().try_for_each(|link| match &link.capacity {
            Capacity::Wifi(wifi) => walk(&wifi.mcs, scenario.duration),
            Capacity::Constant(_) | Capacity::Schedule { .. } | Capacity::Trace { .. } => Ok(()),
        })
    };
    let checked = duration(scenario.duration)
        .and_then(|()| flows(scenario))
        .and_then(|()| walks())
        .and_then(|()| bins(scenario));
    checked.map_err(|(message, help)| ScenarioError::new(message).help(help))
}

/// Checks the size of the time series.
pub(super) fn bins(scenario: &Scenario) -> Result<(), Excess> {
    let Record::Series(bin) = scenario.record else { return Ok(()) };
    let flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.count)).sum();
    let ports: usize = scenario.media.iter().map(|medium| medium.stations.len() + 1).sum();
    let each = scenario.duration.as_nanos() / bin.as_nanos().max(1);
    let bins = each.saturating_mul(flows + (scenario.links.len() + ports) as u64);
    let many = || format!("{bins} bins of time series are more than {BINS}");
    require(bins <= BINS, many, "write a longer bin, for example bin = \"10s\"")
}
