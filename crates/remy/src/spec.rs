//! What a table is to be good at: networks and an objective, written in a file.
//!
//! ```toml
//! duration = "100s"
//!
//! [networks]
//! link = { from = "10Mbps", to = "20Mbps", steps = 3 }
//! rtt = { from = "100ms", to = "200ms", steps = 3, scale = "logarithmic" }
//! senders = { from = 1, to = 16, scale = "random" }
//! on = "5s"
//! off = "5s"
//! buffer = "inf"
//! loss = 0.0
//! draws = 4
//!
//! [objective]
//! alpha = 1.0
//! delta = 1.0
//! ```
//!
//! The networks are all combinations of the steps; each combination is taken `draws` times, with
//! its random values drawn anew. Instead of `link` there may be traces, and more:
//!
//! ```toml
//! [networks]
//! traces = ["lte-driving", "recorded.down"]  # instead of link; files are looked for beside this one
//! second_link = "20Mbps"                     # behind the first: a parking lot of three groups
//! on_bytes = "100kB"                         # instead of on: so many bytes in the mean
//! on_icsi = "16kB"                           # instead of on: ICSI's flow lengths, and so much more
//! others = { scheme = "newreno", senders = { from = 0, to = 1, steps = 2 } }  # some of the senders
//! ```

use std::path::Path;

use paceline_cc::{ParamValue, Rate, SchemeSpec, Span, Stream};
use paceline_sim::flow::{Amount, On};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::{Capacity, check_scheme};
use paceline_sim::trace::{self, Trace};
use serde::Deserialize;
use thiserror::Error;

use crate::network::{Network, Others};

/// The most networks of a specification.
const MAX_NETWORKS: usize = 100_000;
/// The most bytes of a specification in a file.
const LARGEST: u64 = 1 << 20;
/// The most senders of a network.
const MAX_SENDERS: f64 = 10_000.0;

/// Why a specification makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SpecificationError {
    /// It is not TOML, lacks a key or has one that there is not.
    #[error("{0}")]
    Syntax(String),
    /// A value does not fit.
    #[error("{key}: {problem}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// Its file cannot be read.
    #[error("cannot be read: {0}")]
    File(String),
}

/// How the values of a range lie.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equally far apart.
    #[default]
    Linear,
    /// Equal factors apart.
    Logarithmic,
    /// Drawn with equal probability, anew for each network.
    Random,
}

/// A range of values.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Range {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many; one is `from`.
    pub steps: u32,
    /// How they lie.
    pub scale: Scale,
}

impl Range {
    /// One value.
    pub const fn one(value: f64) -> Range {
        Range { from: value, to: value, steps: 1, scale: Scale::Linear }
    }

    /// How many combinations it adds.
    fn count(&self) -> usize {
        if self.scale == Scale::Random { 1 } else { self.steps.max(1) as usize }
    }

    /// The value of step `step`, or one drawn from `random`.
    fn value(&self, step: usize, random: &mut Stream) -> f64 {
        let Range { from, to, .. } = *self;
        let part = match self.scale {
            Scale::Random => random.uniform(),
            _ if self.steps <= 1 => 0.0,
            _ => step as f64 / f64::from(self.steps - 1),
        };
        match self.scale {
            Scale::Logarithmic => from * (to / from).powf(part),
            _ => from + (to - from) * part,
        }
    }
}

/// What a network's senders are worth: throughput by `alpha`-fairness, less `delta` times delay.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// The exponent of throughput: 0 counts its sum, 1 the logarithms, more is fairer.
    pub alpha: f64,
    /// The exponent of delay; 1 for its logarithm.
    pub beta: f64,
    /// What delay counts against throughput.
    pub delta: f64,
}

impl Default for Objective {
    fn default() -> Objective {
        Objective { alpha: 1.0, beta: 1.0, delta: 1.0 }
    }
}

impl Objective {
    /// The utility of a throughput in packets per ms with a delay in units of 100 ms. With exponents
    /// of 1 these are logarithms to base 2, as in the published program.
    pub fn utility(&self, throughput: f64, delay: f64) -> f64 {
        let power = |value: f64, exponent: f64| match exponent {
            1.0 => value.log2(),
            _ => value.powf(1.0 - exponent) / (1.0 - exponent),
        };
        power(throughput, self.alpha) - self.delta * power(delay, self.beta)
    }
}

/// What a table is to be good at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Specification {
    /// The link's rate in Mbit/s, unless there are traces.
    pub link_mbps: Range,
    /// Traces, each of which is the link of some networks.
    pub traces: Vec<Trace>,
    /// The rate in Mbit/s of a second link behind the first, if there is one: see
    /// [`Network::second`].
    pub second_mbps: Option<Range>,
    /// The RTT in milliseconds.
    pub rtt_ms: Range,
    /// How many senders.
    pub senders: Range,
    /// Senders of another scheme, if there are any.
    pub others: Option<OthersRange>,
    /// How long senders are on in the mean: in seconds, unless `on_unit` says otherwise.
    pub on_s: Range,
    /// What `on_s` counts.
    pub on_unit: OnUnit,
    /// How long senders are off in the mean, in seconds.
    pub off_s: Range,
    /// The buffer.
    pub buffer: BufferSize,
    /// The share of packets that get lost behind the link.
    pub loss: Range,
    /// How often each combination is taken.
    pub draws: u32,
    /// How long each network is simulated.
    pub duration: Span,
    /// What counts.
    pub objective: Objective,
}

/// What the length of an on-period counts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum OnUnit {
    /// Seconds, exponentially distributed.
    #[default]
    Seconds,
    /// Bytes, exponentially distributed.
    Bytes,
    /// Bytes that are added to the flow lengths of ICSI: [`Amount::Icsi`].
    Icsi,
}

/// Senders of another scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct OthersRange {
    /// Their scheme.
    pub scheme: SchemeSpec,
    /// How many of the senders have it. Where that would be all senders, one is left that has not.
    pub senders: Range,
}

/// One network of a specification, with its seed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Specimen {
    /// The network.
    pub network: Network,
    /// How long it is simulated.
    pub duration: Span,
    /// The seed of the run.
    pub seed: u64,
}

impl Specification {
    /// The thesis' general-purpose networks: 36 of 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16
    /// senders, on and off for 5 s in the mean, with unlimited buffers, for 100 s.
    pub fn general_purpose() -> Specification {
        let range = |from, to, steps| Range { from, to, steps, scale: Scale::Linear };
        Specification {
            link_mbps: range(10.0, 20.0, 3),
            traces: Vec::new(),
            second_mbps: None,
            others: None,
            on_unit: OnUnit::Seconds,
            rtt_ms: range(100.0, 200.0, 3),
            senders: range(1.0, 16.0, 4),
            on_s: Range::one(5.0),
            off_s: Range::one(5.0),
            buffer: BufferSize::Unlimited,
            loss: Range::one(0.0),
            draws: 1,
            duration: Span::from_secs(100),
            objective: Objective::default(),
        }
    }

    /// Reads a specification.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Specification, SpecificationError> {
        Specification::parse_in(text, None)
    }

    /// The same; traces in files are looked for in `folder`.
    ///
    /// # Errors
    /// If it is none, or a trace cannot be read.
    pub fn parse_in(
        text: &str,
        folder: Option<&Path>,
    ) -> Result<Specification, SpecificationError> {
        let written: Written =
            toml::from_str(text).map_err(|error| SpecificationError::Syntax(error.to_string()))?;
        written.read(folder)
    }

    /// Reads a specification from a file, and its traces from beside it.
    ///
    /// # Errors
    /// If the file cannot be read or is no specification.
    pub fn load(file: &Path) -> Result<Specification, SpecificationError> {
        let fail = |problem: String| SpecificationError::File(problem);
        let length = std::fs::metadata(file).map_err(|error| fail(error.to_string()))?.len();
        if length > LARGEST {
            return Err(fail(format!(
                "it has {length} bytes; specifications have {LARGEST} at most"
            )));
        }
        let text = std::fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
        Specification::parse_in(&text, file.parent())
    }

    /// The ranges, in the order in which their values are combined and drawn.
    fn ranges(&self) -> [Range; 8] {
        let nothing = Range::one(0.0);
        let link = match self.traces.len() {
            0 => self.link_mbps,
            // The number of the trace.
            count => {
                let steps = count as u32;
                Range { from: 0.0, to: (count - 1) as f64, steps, scale: Scale::Linear }
            }
        };
        let others = self.others.as_ref().map_or(nothing, |others| others.senders);
        [
            link,
            self.rtt_ms,
            self.senders,
            self.on_s,
            self.off_s,
            self.loss,
            self.second_mbps.unwrap_or(nothing),
            others,
        ]
    }

    /// The network of values of [`Specification::ranges`].
    fn network(&self, values: [f64; 8]) -> Network {
        let [link, rtt, senders, on, off, loss, second, others] = values;
        Network::new(Rate::from_mbps(link), Span::from_secs_f64(rtt / 1e3)).with(|network| {
            if let Some(trace) = self.traces.get(link.round() as usize) {
                network.link = Capacity::trace(trace.clone());
            }
            network.second = self.second_mbps.map(|_| Capacity::Constant(Rate::from_mbps(second)));
            network.senders = senders.round() as u32;
            network.others = self.others.as_ref().map(|known| Others {
                scheme: known.scheme.clone(),
                senders: (others.round() as u32).min(network.senders.saturating_sub(1)),
            });
            network.on = match self.on_unit {
                OnUnit::Seconds => On::Time(Amount::Exponential(on)),
                OnUnit::Bytes => On::Bytes(Amount::Exponential(on)),
                OnUnit::Icsi => On::Bytes(Amount::Icsi { plus: on }),
            };
            network.off = Amount::Exponential(off);
            (network.buffer, network.loss) = (self.buffer, loss);
        })
    }

    /// The networks, with seeds that follow from `seed`. Equal seeds give equal networks, so that
    /// tables can be compared on the same ones.
    pub fn specimens(&self, seed: u64) -> Vec<Specimen> {
        let ranges = self.ranges();
        let counts = ranges.map(|range| range.count());
        let all = counts.iter().product::<usize>() * self.draws.max(1) as usize;
        let specimen = |index: usize| {
            let mut random = Stream::new(seed, &format!("specimen {index}"));
            let mut rest = index / self.draws.max(1) as usize;
            let mut values = [0.0; 8];
            for ((value, range), count) in values.iter_mut().zip(ranges).zip(counts) {
                *value = range.value(rest % count, &mut random);
                rest /= count;
            }
            let network = self.network(values);
            Specimen { network, duration: self.duration, seed: random.next_u64() }
        };
        (0..all).map(specimen).collect()
    }
}

/// A value with its unit, or a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Quantity {
    Number(f64),
    Text(String),
}

/// One value, or a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Values {
    One(Quantity),
    Range(WrittenRange),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRange {
    from: Quantity,
    to: Quantity,
    steps: Option<u32>,
    #[serde(default)]
    scale: Scale,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    duration: Option<String>,
    networks: Networks,
    #[serde(default)]
    objective: Objective,
    /// How a table is trained: read by [`crate::train::Settings`].
    #[serde(default, rename = "training")]
    _training: serde::de::IgnoredAny,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Networks {
    link: Option<Values>,
    traces: Option<Vec<String>>,
    second_link: Option<Values>,
    rtt: Values,
    senders: Values,
    others: Option<WrittenOthers>,
    on: Option<Values>,
    on_bytes: Option<Values>,
    on_icsi: Option<Values>,
    off: Values,
    buffer: Option<String>,
    loss: Option<Values>,
    draws: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOthers {
    scheme: String,
    senders: Values,
}

/// How a value is read: the least and the largest one, and how text becomes a number.
struct Kind {
    key: &'static str,
    least: f64,
    most: f64,
    read: fn(&str) -> Result<f64, String>,
}

fn mbps(text: &str) -> Result<f64, String> {
    Rate::read(text).map(Rate::as_mbps)
}
fn bytes(text: &str) -> Result<f64, String> {
    match BufferSize::parse(text)? {
        BufferSize::Bytes(bytes) => Ok(bytes as f64),
        _ => Err("expected bytes, such as \"100kB\"".into()),
    }
}
fn seconds(text: &str) -> Result<f64, String> {
    Span::read(text).map(Span::as_secs_f64)
}
fn millis(text: &str) -> Result<f64, String> {
    Span::read(text).map(Span::as_millis_f64)
}

impl Kind {
    fn fail(&self, problem: impl Into<String>) -> SpecificationError {
        SpecificationError::Value { key: self.key, problem: problem.into() }
    }

    fn quantity(&self, quantity: &Quantity) -> Result<f64, SpecificationError> {
        let value = match quantity {
            Quantity::Text(text) => (self.read)(text).map_err(|problem| self.fail(problem))?,
            // A number without a unit is one only where there are no units.
            Quantity::Number(number) => {
                (self.read)(&number.to_string()).map_err(|problem| self.fail(problem))?
            }
        };
        let Kind { least, most, .. } = self;
        if !(*least..=*most).contains(&value) {
            return Err(self.fail(format!("{value} is not from {least} to {most}")));
        }
        Ok(value)
    }

    fn range(&self, values: &Values) -> Result<Range, SpecificationError> {
        let written = match values {
            Values::One(quantity) => return Ok(Range::one(self.quantity(quantity)?)),
            Values::Range(written) => written,
        };
        let (from, to) = (self.quantity(&written.from)?, self.quantity(&written.to)?);
        let steps = match (written.scale, written.steps) {
            (Scale::Random, None) => 1,
            (Scale::Random, Some(_)) => {
                return Err(self.fail("a random range has no steps: write draws instead"));
            }
            (_, None) => return Err(self.fail("a range needs steps, such as steps = 3")),
            (_, Some(steps @ 1..=10_000)) => steps,
            (_, Some(steps)) => return Err(self.fail(format!("{steps} steps are not 1 to 10000"))),
        };
        if written.scale == Scale::Logarithmic && from <= 0.0 {
            return Err(self.fail("a logarithmic range begins above zero"));
        }
        Ok(Range { from, to, steps, scale: written.scale })
    }
}

impl Written {
    fn read(&self, folder: Option<&Path>) -> Result<Specification, SpecificationError> {
        let kind = |key, least, most, read| Kind { key, least, most, read };
        let value = |key, problem: String| SpecificationError::Value { key, problem };
        let networks = &self.networks;
        let duration = match &self.duration {
            None => Span::from_secs(100),
            Some(text) => Span::read(text).map_err(|problem| value("duration", problem))?,
        };
        if duration.is_zero() || duration > Span::from_secs(1_000_000) {
            return Err(value("duration", format!("{duration} is not above 0 and up to 1000000s")));
        }
        let loss = match &networks.loss {
            None => Range::one(0.0),
            Some(values) => {
                kind("networks.loss", 0.0, 0.999, <f64 as ParamValue>::read).range(values)?
            }
        };
        let buffer = match &networks.buffer {
            None => BufferSize::Unlimited,
            Some(text) => {
                BufferSize::parse(text).map_err(|problem| value("networks.buffer", problem))?
            }
        };
        let draws = networks.draws.unwrap_or(1);
        let count = |key| kind(key, 0.0, MAX_SENDERS, <f64 as ParamValue>::read);
        let (link_mbps, traces) = match (&networks.link, &networks.traces) {
            (Some(link), None) => (kind("networks.link", 1e-3, 1e6, mbps).range(link)?, Vec::new()),
            (None, Some(names)) if !names.is_empty() => {
                let traces = names.iter().map(|name| load_trace(name, folder));
                (Range::one(0.0), traces.collect::<Result<_, _>>()?)
            }
            _ => return Err(value("networks", "write one of link and traces".into())),
        };
        let (on_s, on_unit) = match (&networks.on, &networks.on_bytes, &networks.on_icsi) {
            (Some(on), None, None) => {
                (kind("networks.on", 1e-6, 1e6, seconds).range(on)?, OnUnit::Seconds)
            }
            (None, Some(on), None) => {
                (kind("networks.on_bytes", 1.0, 1e12, bytes).range(on)?, OnUnit::Bytes)
            }
            (None, None, Some(on)) => {
                (kind("networks.on_icsi", 0.0, 1e12, bytes).range(on)?, OnUnit::Icsi)
            }
            _ => return Err(value("networks", "write one of on, on_bytes and on_icsi".into())),
        };
        let second_mbps = match &networks.second_link {
            None => None,
            Some(second) => Some(kind("networks.second_link", 1e-3, 1e6, mbps).range(second)?),
        };
        let others = match &networks.others {
            None => None,
            Some(_) if second_mbps.is_some() => {
                let problem = "with a second link all senders have the same scheme";
                return Err(value("networks.others", problem.into()));
            }
            Some(others) => Some(OthersRange {
                scheme: check_scheme(&others.scheme)
                    .map_err(|error| value("networks.others.scheme", error.to_string()))?,
                senders: count("networks.others.senders").range(&others.senders)?,
            }),
        };
        let specification = Specification {
            link_mbps,
            traces,
            second_mbps,
            others,
            on_unit,
            on_s,
            rtt_ms: kind("networks.rtt", 1e-3, 3.6e6, millis).range(&networks.rtt)?,
            senders: kind("networks.senders", 1.0, MAX_SENDERS, <f64 as ParamValue>::read)
                .range(&networks.senders)?,
            off_s: kind("networks.off", 0.0, 1e6, seconds).range(&networks.off)?,
            buffer,
            loss,
            draws,
            duration,
            objective: self.objective,
        };
        let counts = specification.ranges().map(|range| range.count());
        let all = counts.iter().try_fold(draws as usize, |all, &count| all.checked_mul(count));
        if !all.is_some_and(|all| (1..=MAX_NETWORKS).contains(&all)) {
            let problem = format!("there are no networks, or more than {MAX_NETWORKS}");
            return Err(value("networks", problem));
        }
        let Objective { alpha, beta, delta } = self.objective;
        if ![alpha, beta, delta].iter().all(|number| number.is_finite() && *number >= 0.0) {
            return Err(value("objective", "its numbers are finite and not below 0".into()));
        }
        Ok(specification)
    }
}

/// A built-in trace, or one in a file, which is looked for in `folder`.
fn load_trace(name: &str, folder: Option<&Path>) -> Result<Trace, SpecificationError> {
    let beside = folder.map(|folder| folder.join(name)).filter(|path| path.exists());
    let place = beside.as_deref().and_then(Path::to_str).unwrap_or(name);
    trace::load(place).map_err(|error| SpecificationError::Value {
        key: "networks.traces",
        problem: error.to_string(),
    })
}
