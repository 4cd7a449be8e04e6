//! Live runs: one link or two in a row, and up to eight flows that can be switched on and off.

use paceline_cc::{Rate, Span, Spec, Time};
use paceline_path::{BufferSize, EventKind, Loss};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, QueueChoice, Scenario, SchemeChoice};
use paceline_sim::{Interactive, Names, PacketEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::live_rows::{LiveRows, columns};
use crate::messages::{of_change, of_spec};
use crate::rules::Rules;
use crate::traces::{NamedTrace, allowed};

/// Most flows of a live run.
const MOST_FLOWS: usize = 8;
/// Most rows of numbers from one call.
const MOST_ROWS: f64 = 20_000.0;
/// Names of the links.
const LINKS: [&str; 2] = ["link", "second link"];
/// Largest additional RTT of a flow in milliseconds.
const MOST_EXTRA_MS: f64 = 10_000.0;
/// Largest probability of random loss.
const MOST_LOSS: f64 = 0.5;
/// Most events of packets in one answer; the oldest ones are left out.
const MOST_EVENTS: usize = 20_000;
/// The numbers of an event: 0 for an arrival, 1 for a departure, 2 for a drop as its `kind`; -1 as
/// the `flow` of a flow that was started anew since.
const EVENT_COLUMNS: [&str; 6] = ["link", "kind", "time_s", "flow", "number", "sojourn_s"];

/// Start values of a live run.
#[derive(Deserialize)]
pub(crate) struct PlayRequest {
    /// Trace of the link; `None` for a constant rate of `rate_mbps`.
    #[serde(default)]
    trace: Option<NamedTrace>,
    rate_mbps: f64,
    rtt_ms: f64,
    /// Buffer in packets of 1500 bytes; `None` for no limit.
    buffer: Option<u64>,
    queue: String,
    #[serde(default = "one")]
    seed: u64,
    /// Probability that a data packet is lost at random after the first link.
    #[serde(default)]
    loss: f64,
    /// Rate of a second link after the first one, with an equal queue and buffer; `None` for one
    /// link.
    #[serde(default)]
    second_mbps: Option<f64>,
    flows: Vec<FlowRequest>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
struct FlowRequest {
    scheme: String,
    on: bool,
    /// RTT of this flow in addition to that of all flows.
    #[serde(default)]
    extra_ms: f64,
    /// Which of the two links its data passes.
    #[serde(default)]
    via: Via,
}

/// Links that a flow passes, if there are two.
#[derive(Copy, Clone, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Via {
    #[default]
    Both,
    First,
    Second,
}

impl Via {
    /// Returns the names of the links, of which there are `links`.
    ///
    /// # Errors
    /// The second link is missing.
    fn path(self, links: usize) -> Result<&'static [&'static str], String> {
        match self {
            Via::Both => Ok(&LINKS[..links]),
            Via::First => Ok(&LINKS[..1]),
            Via::Second if links > 1 => Ok(&LINKS[1..]),
            Via::Second => {
                Err("a flow passes the second link only, and there is one link: switch the \
                                second link on"
                    .into())
            }
        }
    }
}

/// A change of the link; `None` keeps a value.
#[derive(Deserialize)]
pub(crate) struct LinkChange {
    rate_mbps: Option<f64>,
    second_mbps: Option<f64>,
    rtt_ms: Option<f64>,
    /// Buffer of each link in packets of 1500 bytes; zero for no limit.
    buffer: Option<u64>,
}

/// A change of a flow, which restarts if it is on afterwards.
#[derive(Deserialize)]
pub(crate) struct FlowChange {
    flow: usize,
    on: bool,
    scheme: String,
}

/// A live run.
pub(crate) struct LiveRun {
    run: Interactive,
    names: Names,
    /// Rules of each flow whose scheme has some.
    rules: Vec<Option<Rules>>,
    rows: LiveRows,
    next_row: Time,
}

fn millis(ms: f64) -> Result<Span, String> {
    match ms {
        ms if (0.001..=60_000.0).contains(&ms) => Ok(Span::from_secs_f64(ms / 1e3)),
        _ => Err("expected a round-trip time from 0.001 to 60000 ms".into()),
    }
}

fn rate(mbps: f64) -> Result<Rate, String> {
    match mbps {
        mbps if mbps.is_finite() && mbps > 0.0 => allowed(Rate::from_mbps(mbps)),
        _ => Err("expected a rate above zero".into()),
    }
}

/// Returns a value within `0..=most`.
fn within(what: &str, value: f64, most: f64) -> Result<f64, String> {
    match value {
        value if (0.0..=most).contains(&value) => Ok(value),
        _ => Err(format!("{what}: expected 0 to {most}, not {value}")),
    }
}

fn size(packets: Option<u64>) -> BufferSize {
    packets.filter(|&packets| packets > 0).map_or(BufferSize::Unlimited, BufferSize::Packets)
}

/// Returns the scheme of a flow, and its rules if it follows a table.
fn scheme(names: &Names, text: &str) -> Result<(SchemeChoice, Option<Rules>), String> {
    let spec = names.check_scheme(text.trim()).map_err(|error| of_spec(&error))?;
    if let Some(queue) = &spec.queue {
        return Err(format!("choose the queue {queue} at the link: all flows share it"));
    }
    match Rules::watch(&spec).map_err(|error| error.to_string())? {
        Some((made, rules)) => Ok((made.into(), Some(rules))),
        None => Ok((spec.into(), None)),
    }
}

impl LiveRun {
    pub(crate) fn new(request: PlayRequest, names: Names) -> Result<LiveRun, String> {
        if request.flows.len() > MOST_FLOWS {
            return Err(format!("a live run has at most {MOST_FLOWS} flows"));
        }
        let mut scenario = Scenario::new("live");
        scenario.seed = request.seed;
        let capacity = match &request.trace {
            Some(trace) => trace.capacity()?,
            None => Capacity::Constant(rate(request.rate_mbps)?),
        };
        let queue = Spec::parse(&request.queue).map_err(|error| error.to_string())?;
        let second = request.second_mbps.map(|mbps| rate(mbps).map(Capacity::Constant));
        for (name, capacity) in LINKS.into_iter().zip([Some(Ok(capacity)), second]) {
            let Some(capacity) = capacity else { break };
            let mut link = LinkSpec::new(name, capacity?);
            link.queue = QueueChoice::Named(queue.clone());
            link.buffer = size(request.buffer);
            scenario.links.push(link);
        }
        let loss = within("random loss", request.loss, MOST_LOSS)?;
        if loss > 0.0 {
            scenario.links[0].after.impairments.loss = Loss::Bernoulli(loss);
        }
        let (rtt, mut rules) = (millis(request.rtt_ms)?, Vec::new());
        for (number, flow) in request.flows.iter().enumerate() {
            let (scheme, watched) = scheme(&names, &flow.scheme)?;
            rules.push(watched);
            let extra = within("additional RTT in ms", flow.extra_ms, MOST_EXTRA_MS)?;
            let path = flow.via.path(scenario.links.len())?;
            scenario.flows.push(FlowSpec::bulk(scheme, path).with(|spec| {
                spec.name = format!("flow {}", number + 1);
                spec.rtt = rtt;
                spec.data.delay = Span::from_secs_f64(extra / 1e3);
                spec.start = if flow.on { Span::ZERO } else { Span::MAX };
            }));
        }
        let run = Interactive::with_names(scenario, &names).map_err(|error| of_change(&error))?;
        Ok(LiveRun { run, names, rules, rows: LiveRows::default(), next_row: Time::ZERO })
    }

    /// Returns the names of the columns.
    pub(crate) fn layout(&self) -> Value {
        let (link, flow) = columns();
        json!({ "link": link, "flow": flow, "flows": self.run.flows() })
    }

    /// Returns the answer to a change: the simulated time at which it was applied.
    fn changed(&self) -> Value {
        json!({ "time_ns": self.run.now().as_nanos() })
    }

    pub(crate) fn change(&mut self, change: &LinkChange) -> Result<Value, String> {
        let text = |error: paceline_sim::ChangeError| of_change(&error);
        if let Some(mbps) = change.rate_mbps {
            self.run.set_link_rate(0, rate(mbps)?).map_err(text)?;
        }
        if let Some(mbps) = change.second_mbps {
            self.run.set_link_rate(1, rate(mbps)?).map_err(text)?;
        }
        if let Some(ms) = change.rtt_ms {
            self.run.set_rtt(millis(ms)?).map_err(text)?;
        }
        if change.buffer.is_some() {
            for link in 0..self.run.scenario().links.len() {
                self.run.set_link_buffer(link, size(change.buffer)).map_err(text)?;
            }
        }
        Ok(self.changed())
    }

    pub(crate) fn flow(&mut self, change: &FlowChange) -> Result<Value, String> {
        let text = |error: paceline_sim::ChangeError| of_change(&error);
        let (scheme, rules) = scheme(&self.names, &change.scheme)?;
        if !change.on {
            self.run.stop_flow(change.flow).map_err(text)?;
            return Ok(self.changed());
        }
        self.run.start_flow(change.flow, scheme).map_err(text)?;
        self.rules[change.flow] = rules;
        Ok(self.changed())
    }

    pub(crate) fn rows(&self) -> &[f64] {
        self.rows.numbers()
    }

    /// Advances the run to `seconds`, with a row every `every` seconds.
    pub(crate) fn advance(&mut self, seconds: f64, every: f64) -> &[f64] {
        self.rows.clear();
        let now = self.run.now().as_secs_f64();
        if !(seconds > now && seconds.is_finite() && every.is_finite()) {
            return self.rows.numbers();
        }
        let every = Span::from_secs_f64(every.max((seconds - now) / MOST_ROWS).max(1e-4));
        let end = Time::ZERO + Span::from_secs_f64(seconds);
        // A shorter distance between rows takes effect at once.
        self.next_row = self.next_row.min(self.run.now() + every);
        while self.next_row <= end {
            self.run.advance(self.next_row);
            self.rows.push(&self.run);
            self.next_row += every;
        }
        self.run.advance(end);
        self.rows.numbers()
    }

    /// Advances the run to exactly `time_ns`, without rows. Does nothing if that time is over.
    pub(crate) fn advance_to(&mut self, time_ns: u64) -> Value {
        self.run.advance(Time::ZERO + Span::from_nanos(time_ns));
        self.changed()
    }

    /// Returns the events of packets at the links since the last call, and watches further ones if
    /// `on`: six numbers for each, as [`EVENT_COLUMNS`] names them.
    pub(crate) fn packets(&mut self, on: bool) -> Value {
        let events = self.run.take_packet_events();
        self.run.watch_packets(on);
        let latest = events.len().saturating_sub(MOST_EVENTS);
        let numbers = events[latest..].iter().flat_map(|PacketEvent { link, flow, event }| {
            let (kind, sojourn) = match event.kind {
                EventKind::Arrival => (0.0, Span::ZERO),
                EventKind::Departure { sojourn } => (1.0, sojourn),
                EventKind::Drop { .. } => (2.0, Span::ZERO),
            };
            let flow = flow.map_or(-1.0, |flow| flow as f64);
            let (time, number) = (event.time.as_secs_f64(), event.number as f64);
            [*link as f64, kind, time, flow, number, sojourn.as_secs_f64()]
        });
        json!({ "columns": EVENT_COLUMNS, "events": numbers.collect::<Vec<f64>>() })
    }

    /// Returns the counters of the link and of the flows, and the rules used since the last call.
    pub(crate) fn status(&mut self) -> Value {
        let link = self.run.link(0).unwrap_or_default();
        let flows = (0..self.run.flows()).map(|index| {
            let flow = self.run.flow(index).unwrap_or_default();
            let marks = flow.at_links;
            json!({
                "scheme": self.run.scenario().flows[index].scheme.to_string(),
                "on": flow.on,
                "starts": flow.starts,
                "goodput_bytes": flow.goodput_bytes,
                "in_flight_bytes": flow.in_flight_bytes,
                "srtt_ms": flow.srtt.as_millis_f64(),
                "lost": flow.lost,
                "retransmits": flow.retransmits,
                "dropped": marks.dropped,
                "marked": marks.marked,
                "accelerated": marks.accelerated,
                "braked": marks.braked,
                "entered": marks.entered,
                "departed": marks.departed,
                "sojourn_ms": marks.sojourn.as_millis_f64(),
                "rules": self.rules[index].as_ref().map(Rules::take),
            })
        });
        let flows: Vec<Value> = flows.collect();
        let second = self.run.link(1).unwrap_or_default();
        json!({
            "time_s": self.run.now().as_secs_f64(),
            "time_ns": self.run.now().as_nanos(),
            "hand_overs": self.run.hand_overs(),
            "digest": self.run.digest(),
            "backlog_packets": link.backlog_packets + second.backlog_packets,
            "delivered_bytes": link.delivered_bytes,
            "drops": link.dropped + second.dropped,
            "marks": link.marks + second.marks,
            "flows": flows,
        })
    }

    /// Returns the table of rules of a flow; `null` if it follows none.
    pub(crate) fn rules(&self, flow: usize) -> Result<Value, String> {
        let rules = self.rules.get(flow).ok_or_else(|| format!("there is no flow {flow}"))?;
        Ok(json!({ "rules": rules.as_ref().map(Rules::table) }))
    }
}
