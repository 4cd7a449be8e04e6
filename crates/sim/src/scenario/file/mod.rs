//! Scenario files (TOML).

mod error;
mod hosts;
mod limits;
mod link;
mod medium;
mod medium_rates;
pub(super) mod read;
mod reader;
mod video;
mod write;

pub use error::ScenarioError;
pub use read::{check_router, check_scheme};
pub use write::{to_toml, to_toml_with};

use std::collections::BTreeMap;
use std::path::Path;

use paceline_cc::{AckPolicy, EcnFeedback, Span};
use paceline_flow::{Amount, LossRecovery, On, RttSamples, Workload};
use serde::Deserialize;
use toml::Spanned;

use crate::names::Names;
use crate::runs::{MAX_RUNS, Spread};
use crate::scenario::spec::{Arrivals, FlowSpec, Record, Scenario, SchemeChoice};
use hosts::{FlowEnds, Value};
use link::FileLink;
use medium::{FileDirection, FileMedium};
use read::{Period, Speed, Text};
use reader::{FileStretch, Reader};
use video::FileVideo;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileScenario {
    name: Option<String>,
    /// For readers; not used.
    #[serde(rename = "description")]
    _description: Option<String>,
    duration: Spanned<Period>,
    warmup: Option<Spanned<Period>>,
    seed: Option<u64>,
    runs: Option<Spanned<u32>>,
    spread: Option<Spanned<Text<Spread>>>,
    mss: Option<Spanned<u32>>,
    host_jitter: Option<Spanned<Period>>,
    /// The length of a bin of the time series.
    bin: Option<Spanned<Period>>,
    #[serde(rename = "link", default)]
    links: Vec<Spanned<FileLink>>,
    #[serde(rename = "medium", default)]
    media: Vec<FileMedium>,
    #[serde(rename = "flow", default)]
    flows: Vec<Spanned<FileFlow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFlow {
    name: Option<String>,
    scheme: Option<Spanned<String>>,
    host: Option<Spanned<String>>,
    cc: Option<Spanned<String>>,
    qdisc: Option<Spanned<String>>,
    mtu: Option<Spanned<u16>>,
    sysctls: Option<Spanned<BTreeMap<String, Value>>>,
    count: Option<Spanned<u32>>,
    path: Option<Vec<Spanned<String>>>,
    back: Option<Vec<Spanned<String>>>,
    station: Option<Spanned<String>>,
    direction: Option<Spanned<FileDirection>>,
    rtt: Option<Period>,
    data: Option<Spanned<FileStretch>>,
    acks: Option<Spanned<FileStretch>>,
    start: Option<Period>,
    stop: Option<Period>,
    stagger: Option<Period>,
    stagger_stop: Option<Period>,
    handshake: Option<bool>,
    ack_every: Option<Spanned<u32>>,
    receive_window: Option<Spanned<u64>>,
    ecn: Option<FileEcn>,
    recovery: Option<FileRecovery>,
    timestamps: Option<Spanned<bool>>,
    bytes: Option<u64>,
    limited: Option<FileLimited>,
    on_off: Option<Spanned<FileOnOff>>,
    video: Option<FileVideo>,
    arrivals: Option<Spanned<FileArrivals>>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum FileRecovery {
    Sack,
    Rfc9002,
    NewReno,
    Reno,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum FileEcn {
    Off,
    Classic,
    Accurate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLimited {
    rate: Speed,
    message: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOnOff {
    on: Option<Period>,
    on_bytes: Option<f64>,
    /// The flow lengths of ICSI, and so many bytes more.
    on_icsi: Option<f64>,
    off: Period,
    /// The shape of a Pareto distribution instead of the exponential one.
    pareto: Option<f64>,
    starts_off: Option<bool>,
    fresh: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArrivals {
    per_second: f64,
    bytes: f64,
    /// `fixed`, `exponential`, or `pareto` with shape `shape`.
    sizes: Option<Sizes>,
    shape: Option<f64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Sizes {
    Fixed,
    Exponential,
    Pareto,
}

/// Reads a scenario file; traces are looked for beside it, schemes and queues among those that are built in.
///
/// # Errors
/// The first mistake, with its place and a remedy.
pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    load_with(path, &Names::default())
}

/// The same with the schemes and queues of `names`, which the run must be given too.
///
/// # Errors
/// As of [`load`].
pub fn load_with(path: &Path, names: &Names) -> Result<Scenario, ScenarioError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ScenarioError {
        file: name.clone(),
        ..ScenarioError::new(format!("cannot be read: {error}"))
    })?;
    parse_with(&name, &text, path.parent(), names)
}

/// Reads a scenario from text; `file` names it in errors, traces are looked for in `folder`,
/// schemes and queues among those that are built in.
///
/// # Errors
/// The first mistake, with its place and a remedy.
pub fn parse(file: &str, text: &str, folder: Option<&Path>) -> Result<Scenario, ScenarioError> {
    parse_with(file, text, folder, &Names::default())
}

/// The same with the schemes and queues of `names`, which the run must be given too.
///
/// # Errors
/// As of [`parse`].
pub fn parse_with(
    file: &str,
    text: &str,
    folder: Option<&Path>,
    names: &Names,
) -> Result<Scenario, ScenarioError> {
    let read: FileScenario =
        toml::from_str(text).map_err(|error| ScenarioError::from_toml(file, text, &error))?;
    let reader = Reader { file, text, folder, names };
    reader.scenario(read)
}

impl Reader<'_> {
    fn scenario(&self, read: FileScenario) -> Result<Scenario, ScenarioError> {
        let stem = Path::new(self.file).file_stem().and_then(|stem| stem.to_str());
        let mut scenario = Scenario::new(read.name.as_deref().or(stem).unwrap_or("scenario"));
        scenario.duration = read.duration.get_ref().0;
        self.within(&read.duration, limits::duration(scenario.duration))?;
        if let Some(warmup) = &read.warmup {
            scenario.warmup = warmup.get_ref().0;
            if scenario.warmup >= scenario.duration {
                return self.fail(
                    warmup,
                    "the warm-up leaves nothing to measure",
                    "make it shorter than the duration",
                );
            }
        }
        scenario.seed = read.seed.unwrap_or(1);
        if let Some(runs) = &read.runs {
            scenario.runs.count = *runs.get_ref();
            if !(1..=MAX_RUNS).contains(&scenario.runs.count) {
                return self.fail(
                    runs,
                    format!("runs is outside 1..{MAX_RUNS}"),
                    "write runs = 10",
                );
            }
        }
        if let Some(spread) = &read.spread {
            scenario.runs.spread = spread.get_ref().0;
        }
        if let Some(mss) = &read.mss {
            scenario.mss = *mss.get_ref();
            if !(64..=65_535).contains(&scenario.mss) {
                return self.fail(mss, "mss is outside 64..65535 bytes", "write mss = 1500");
            }
        }
        if let Some(jitter) = &read.host_jitter {
            if jitter.get_ref().0 > Span::from_secs(1) {
                let message = "hosts take more than a second for a packet";
                return self.fail(jitter, message, "write host_jitter = \"1ms\"");
            }
            scenario.host_jitter = Some(jitter.get_ref().0);
        }
        scenario.record = match &read.bin {
            None => Record::Series(Record::BIN),
            Some(bin) if bin.get_ref().0 < Span::from_millis(1) => {
                return self.fail(bin, "bins are at least 1 ms", "write bin = \"100ms\"");
            }
            Some(bin) => Record::Series(bin.get_ref().0),
        };
        let mut named = Vec::new();
        for link in read.links {
            let stations = link.get_ref().wifi.iter().flat_map(|wifi| &wifi.get_ref().stations);
            named.extend(stations.flat_map(|station| station.flows.iter().cloned()));
            let link = self.link(link, &scenario)?;
            scenario.links.push(link);
        }
        for medium in read.media {
            let medium = self.medium(medium, &scenario)?;
            scenario.media.push(medium);
        }
        if scenario.links.is_empty() && scenario.media.is_empty() {
            return Err(ScenarioError::new("the scenario has no link")
                .help("add [[link]] with name and rate or trace")
                .at(self.file, self.text, None));
        }
        for flow in read.flows {
            let place = Spanned::new(flow.span(), ());
            self.flow(flow, &mut scenario)?;
            self.within(&place, limits::flows(&scenario))?;
        }
        for name in &named {
            if !scenario.flows.iter().any(|flow| flow.name == *name.get_ref()) {
                let known: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
                let message = format!("there is no flow `{}` for this station", name.get_ref());
                return self.fail(name, message, &format!("the flows are {}", known.join(", ")));
            }
        }
        self.within(read.bin.as_ref().unwrap_or(&read.duration), limits::bins(&scenario))?;
        if scenario.flows.is_empty() && scenario.arrivals.is_empty() {
            return Err(ScenarioError::new("the scenario has no flow")
                .help("add [[flow]] with a scheme")
                .at(self.file, self.text, None));
        }
        Ok(scenario)
    }

    fn route(
        &self,
        names: Option<Vec<Spanned<String>>>,
        scenario: &Scenario,
    ) -> Result<Option<Vec<String>>, ScenarioError> {
        let Some(names) = names else { return Ok(None) };
        for name in &names {
            if !scenario.links.iter().any(|link| link.name == *name.get_ref()) {
                let known: Vec<_> = scenario.links.iter().map(|link| link.name.as_str()).collect();
                let help = format!("the links are {}", known.join(", "));
                return self.fail(name, format!("there is no link `{}`", name.get_ref()), &help);
            }
        }
        let repeated = names.iter().enumerate().find(|(at, name)| {
            names[..*at].iter().any(|before| before.get_ref() == name.get_ref())
        });
        if let Some((_, name)) = repeated {
            let message = format!("the path passes link `{}` twice", name.get_ref());
            return self.fail(name, message, "give each passage a link of its own");
        }
        Ok(Some(names.into_iter().map(Spanned::into_inner).collect()))
    }

    fn flow(
        &self,
        spanned: Spanned<FileFlow>,
        scenario: &mut Scenario,
    ) -> Result<(), ScenarioError> {
        let place = Spanned::new(spanned.span(), ());
        let read = spanned.into_inner();
        let station = self.station_use(&read.station, &read.direction, scenario)?;
        let path = match self.route(read.path, scenario)? {
            Some(path) => path,
            None if scenario.links.is_empty() && station.is_some() => Vec::new(),
            None if scenario.links.len() == 1 => vec![scenario.links[0].name.clone()],
            None => {
                let (message, help) = match scenario.links.is_empty() {
                    false => (
                        "with several links a flow needs a path",
                        "write path = [\"first\", \"second\"]",
                    ),
                    true => ("the flow passes nothing", "write station = \"laptop\""),
                };
                return self.fail(&place, message, help);
            }
        };
        let FileFlow { scheme, host, cc, qdisc, mtu, sysctls, .. } = read;
        let scheme = self.ends(&place, &FlowEnds { scheme, host, cc, qdisc, mtu, sysctls })?;
        let own = [
            ("handshake", read.handshake.is_some()),
            ("ack_every", read.ack_every.is_some()),
            ("receive_window", read.receive_window.is_some()),
            ("ecn", read.ecn.is_some()),
            ("recovery", read.recovery.is_some()),
            ("timestamps", read.timestamps.is_some()),
        ];
        if let (SchemeChoice::Transport(made), Some((key, _))) =
            (&scheme, own.iter().find(|(_, is_given)| *is_given))
        {
            let message =
                format!("{key} is a setting of Paceline's own ends, not of {}", made.label());
            return self.fail(&place, message, "leave it out; hosts have sysctls");
        }
        let mut flow = FlowSpec::bulk(scheme, &[]);
        (flow.path, flow.station) = (path, station);
        flow.back = self.route(read.back, scenario)?.unwrap_or_default();
        if let Some(name) = read.name {
            flow.name = name;
        }
        if let Some(count) = &read.count {
            flow.count = *count.get_ref();
            if !(1..=100_000).contains(&flow.count) {
                return self.fail(count, "count is outside 1..100000", "write count = 5");
            }
        }
        flow.rtt = read.rtt.map_or(FlowSpec::RTT, |rtt| rtt.0);
        flow.data = self.stretch(read.data)?;
        flow.acks = self.stretch(read.acks)?;
        flow.start = read.start.map_or(Span::ZERO, |start| start.0);
        flow.stop = read.stop.map(|stop| stop.0);
        flow.stagger = read.stagger.map_or(Span::ZERO, |stagger| stagger.0);
        flow.stagger_stop = read.stagger_stop.map_or(Span::ZERO, |stagger| stagger.0);
        flow.handshake = read.handshake.unwrap_or(true);
        flow.ack = match &read.ack_every {
            None => None,
            Some(every) if *every.get_ref() == 0 => {
                return self.fail(
                    every,
                    "an acknowledgement covers at least one packet",
                    "write ack_every = 2",
                );
            }
            Some(every) => Some(AckPolicy { every: *every.get_ref(), ..AckPolicy::DELAYED }),
        };
        if let Some(bytes) = &read.receive_window {
            if *bytes.get_ref() < u64::from(scenario.mss) {
                let message = "the receive window is smaller than a packet";
                return self.fail(bytes, message, "write bytes: receive_window = 3_000_000");
            }
            flow.receive_window = Some(*bytes.get_ref());
        }
        flow.ecn = match read.ecn {
            Some(FileEcn::Off) => EcnFeedback::Off,
            Some(FileEcn::Classic) => EcnFeedback::Classic,
            Some(FileEcn::Accurate) | None => EcnFeedback::Accurate,
        };
        let samples = match &read.timestamps {
            Some(timestamps) if !timestamps.get_ref() => RttSamples::One,
            _ => RttSamples::Each,
        };
        flow.recovery = match (read.recovery, &read.timestamps) {
            (Some(FileRecovery::NewReno), _) => LossRecovery::NewReno(samples),
            (Some(FileRecovery::Reno), _) => LossRecovery::Reno(samples),
            (Some(FileRecovery::Sack) | None, None) => LossRecovery::Sack,
            (Some(FileRecovery::Rfc9002), None) => LossRecovery::Rfc9002,
            (Some(FileRecovery::Sack | FileRecovery::Rfc9002) | None, Some(timestamps)) => {
                let message = "timestamps are chosen for a flow without selective acknowledgements";
                let help = "write recovery = \"newreno\" or \"reno\" beside it, or leave it out";
                return self.fail(timestamps, message, help);
            }
        };
        let kinds = [
            read.bytes.is_some(),
            read.limited.is_some(),
            read.on_off.is_some(),
            read.video.is_some(),
            read.arrivals.is_some(),
        ];
        if kinds.iter().filter(|kind| **kind).count() > 1 {
            return self.fail(
                &place,
                "a flow has at most one of bytes, limited, on_off, video and arrivals",
                "keep one of them",
            );
        }
        if let Some(bytes) = read.bytes {
            flow.workload = Workload::Bytes(bytes);
        }
        if let Some(limited) = read.limited {
            let message = limited.message.unwrap_or(scenario.mss).max(1);
            flow.workload = Workload::Limited { rate: limited.rate.0, message };
        }
        if let Some(on_off) = &read.on_off {
            flow.workload = self.on_off(on_off)?;
        }
        if let Some(video) = &read.video {
            flow.workload = video.workload();
        }
        self.within(&place, limits::workload(&flow))?;
        match &read.arrivals {
            None => scenario.flows.push(flow),
            Some(arrivals) => scenario.arrivals.push(self.arrivals(arrivals, flow)?),
        }
        Ok(())
    }

    fn on_off(&self, read: &Spanned<FileOnOff>) -> Result<Workload, ScenarioError> {
        let on_off = read.get_ref();
        let amount = |mean: f64| match on_off.pareto {
            None => Amount::Exponential(mean),
            // The mean of a Pareto distribution is scale * shape / (shape - 1).
            Some(shape) if shape > 1.0 => {
                Amount::Pareto { shape, scale: mean * (shape - 1.0) / shape }
            }
            Some(shape) => Amount::Pareto { shape, scale: mean },
        };
        let on = match (on_off.on, on_off.on_bytes, on_off.on_icsi) {
            (Some(time), None, None) => On::Time(amount(time.0.as_secs_f64())),
            (None, Some(bytes), None) if bytes >= 1.0 => On::Bytes(amount(bytes)),
            (None, None, Some(plus))
                if !(0.0..=1e12).contains(&plus) || on_off.pareto.is_some() =>
            {
                return self.fail(
                    read,
                    "on_icsi is a number of bytes, and has no shape of its own (pareto)",
                    "write on_icsi = 16000",
                );
            }
            (None, None, Some(plus)) => On::Bytes(Amount::Icsi { plus }),
            _ => {
                return self.fail(
                    read,
                    "on_off needs one of on (time), on_bytes and on_icsi",
                    "write on = \"5s\"",
                );
            }
        };
        if on_off.pareto.is_some_and(|shape| !(shape.is_finite() && shape > 0.0)) {
            return self.fail(
                read,
                "the shape of a Pareto distribution is positive and finite",
                "write pareto = 1.5",
            );
        }
        self.within(read, limits::cycle(&on, on_off.off.0))?;
        Ok(Workload::OnOff {
            on,
            off: Amount::Exponential(on_off.off.0.as_secs_f64()),
            starts_off: on_off.starts_off.unwrap_or(true),
            fresh: on_off.fresh.unwrap_or(true),
        })
    }

    fn arrivals(
        &self,
        read: &Spanned<FileArrivals>,
        flow: FlowSpec,
    ) -> Result<Arrivals, ScenarioError> {
        let arrivals = read.get_ref();
        let FileArrivals { per_second, bytes, .. } = *arrivals;
        if !(per_second > 0.0 && per_second <= 1e5 && (1.0..=1e12).contains(&bytes)) {
            return self.fail(
                read,
                "arrivals need per_second up to 100000 and bytes of at least 1",
                "write arrivals = { per_second = 20, bytes = 10000 }",
            );
        }
        let bytes = match (arrivals.sizes.unwrap_or(Sizes::Fixed), arrivals.shape) {
            (Sizes::Fixed, _) => Amount::Fixed(bytes),
            (Sizes::Exponential, _) => Amount::Exponential(bytes),
            (Sizes::Pareto, Some(shape)) if shape > 1.0 && shape.is_finite() => {
                Amount::Pareto { shape, scale: bytes * (shape - 1.0) / shape }
            }
            (Sizes::Pareto, _) => {
                return self.fail(
                    read,
                    "sizes = \"pareto\" needs a finite shape above 1",
                    "write shape = 1.2",
                );
            }
        };
        Ok(Arrivals { flow, per_second, bytes })
    }
}
