//! Live runs: one link, and up to eight flows that can be switched on and off.

use paceline_cc::{Rate, Span, Spec, Time};
use paceline_path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, QueueChoice, Scenario, SchemeChoice};
use paceline_sim::{Interactive, Names};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rules::Rules;
use crate::traces::{NamedTrace, allowed};

/// Most flows of a live run.
const MOST_FLOWS: usize = 8;
/// Most rows of numbers from one call.
const MOST_ROWS: f64 = 20_000.0;
/// Columns of a row: first those of the link, then those of each flow.
const LINK_COLUMNS: [&str; 4] = ["time_s", "backlog", "ideal", "capacity_mbps"];
const FLOW_COLUMNS: [&str; 5] = ["in_flight", "cwnd", "accelerated", "braked", "marked"];
/// Time over which the capacity of a varying link is averaged.
const CAPACITY_OVER: Span = Span::from_millis(100);

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
    flows: Vec<FlowRequest>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
struct FlowRequest {
    scheme: String,
    on: bool,
}

/// A change of the link; `None` keeps a value.
#[derive(Deserialize)]
pub(crate) struct LinkChange {
    rate_mbps: Option<f64>,
    rtt_ms: Option<f64>,
    /// Buffer in packets of 1500 bytes; zero for no limit.
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
    rows: Vec<f64>,
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

fn size(packets: Option<u64>) -> BufferSize {
    packets.filter(|&packets| packets > 0).map_or(BufferSize::Unlimited, BufferSize::Packets)
}

/// Returns the scheme of a flow, and its rules if it follows a table.
fn scheme(names: &Names, text: &str) -> Result<(SchemeChoice, Option<Rules>), String> {
    let spec = names.check_scheme(text.trim()).map_err(|error| error.to_string())?;
    if let Some(queue) = &spec.queue {
        return Err(format!("choose the queue {queue} at the link: all flows share it"));
    }
    match Rules::watch(&spec).map_err(|error| error.to_string())? {
        Some((made, rules)) => Ok((made.into(), Some(rules))),
        None => Ok((spec.into(), None)),
    }
}

impl LiveRun {
    pub(crate) fn new(request: PlayRequest) -> Result<LiveRun, String> {
        if request.flows.len() > MOST_FLOWS {
            return Err(format!("a live run has at most {MOST_FLOWS} flows"));
        }
        let names = paceline_remy::names();
        let mut scenario = Scenario::new("live");
        scenario.seed = request.seed;
        let capacity = match &request.trace {
            Some(trace) => trace.capacity()?,
            None => Capacity::Constant(rate(request.rate_mbps)?),
        };
        let queue = Spec::parse(&request.queue).map_err(|error| error.to_string())?;
        let mut link = LinkSpec::new("link", capacity);
        link.queue = QueueChoice::Named(queue);
        link.buffer = size(request.buffer);
        scenario.links.push(link);
        let (rtt, mut rules) = (millis(request.rtt_ms)?, Vec::new());
        for (number, flow) in request.flows.iter().enumerate() {
            let (scheme, watched) = scheme(&names, &flow.scheme)?;
            rules.push(watched);
            scenario.flows.push(FlowSpec::bulk(scheme, &["link"]).with(|spec| {
                spec.name = format!("flow {}", number + 1);
                spec.rtt = rtt;
                spec.start = if flow.on { Span::ZERO } else { Span::MAX };
            }));
        }
        let run = Interactive::with_names(scenario, &names).map_err(|error| error.to_string())?;
        Ok(LiveRun { run, names, rules, rows: Vec::new(), next_row: Time::ZERO })
    }

    /// Returns the names of the columns.
    pub(crate) fn layout(&self) -> Value {
        json!({ "link": LINK_COLUMNS, "flow": FLOW_COLUMNS, "flows": self.run.flows() })
    }

    pub(crate) fn change(&mut self, change: &LinkChange) -> Result<Value, String> {
        let text = |error: paceline_sim::ChangeError| error.to_string();
        if let Some(mbps) = change.rate_mbps {
            self.run.set_link_rate(0, rate(mbps)?).map_err(text)?;
        }
        if let Some(ms) = change.rtt_ms {
            self.run.set_rtt(millis(ms)?).map_err(text)?;
        }
        if change.buffer.is_some() {
            self.run.set_link_buffer(0, size(change.buffer)).map_err(text)?;
        }
        Ok(json!({}))
    }

    pub(crate) fn flow(&mut self, change: &FlowChange) -> Result<Value, String> {
        let text = |error: paceline_sim::ChangeError| error.to_string();
        let (scheme, rules) = scheme(&self.names, &change.scheme)?;
        if !change.on {
            self.run.stop_flow(change.flow).map_err(text)?;
            return Ok(json!({}));
        }
        self.run.start_flow(change.flow, scheme).map_err(text)?;
        self.rules[change.flow] = rules;
        Ok(json!({}))
    }

    pub(crate) fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// Advances the run to `seconds`, with a row every `every` seconds.
    pub(crate) fn advance(&mut self, seconds: f64, every: f64) -> &[f64] {
        self.rows.clear();
        let now = self.run.now().as_secs_f64();
        if !(seconds > now && seconds.is_finite() && every.is_finite()) {
            return &self.rows;
        }
        let every = Span::from_secs_f64(every.max((seconds - now) / MOST_ROWS).max(1e-4));
        let end = Time::ZERO + Span::from_secs_f64(seconds);
        // A shorter distance between rows takes effect at once.
        self.next_row = self.next_row.min(self.run.now() + every);
        while self.next_row <= end {
            self.run.advance(self.next_row);
            self.row();
            self.next_row += every;
        }
        self.run.advance(end);
        &self.rows
    }

    /// Returns the bandwidth-delay product in packets, and the link's capacity.
    fn ideal(&self) -> (f64, f64) {
        let scenario = self.run.scenario();
        let rate = match &scenario.links[0].capacity {
            Capacity::Constant(rate) => *rate,
            _ => {
                let now = self.run.now();
                let from = now - CAPACITY_OVER;
                Rate::from_bytes_in(self.run.offered(0, from, now), now.since(from))
            }
        };
        let rtt = scenario.flows.first().map_or(Span::ZERO, |flow| flow.rtt);
        let bits = rate.as_bps() as f64;
        (bits * rtt.as_secs_f64() / 8.0 / f64::from(scenario.mss), bits / 1e6)
    }

    fn row(&mut self) {
        let mss = f64::from(self.run.scenario().mss);
        let (ideal, capacity) = self.ideal();
        let backlog = self.run.link(0).map_or(0.0, |link| link.backlog_packets as f64);
        self.rows.extend([self.run.now().as_secs_f64(), backlog, ideal, capacity]);
        for flow in (0..self.run.flows()).map(|index| self.run.flow(index).unwrap_or_default()) {
            let cwnd = if flow.cwnd_bytes < 1 << 40 { flow.cwnd_bytes as f64 } else { f64::NAN };
            let marks = flow.at_links;
            self.rows.extend([
                flow.in_flight_bytes as f64 / mss,
                cwnd / mss,
                marks.accelerated as f64,
                marks.braked as f64,
                marks.marked as f64,
            ]);
        }
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
                "departed": marks.departed,
                "sojourn_ms": marks.sojourn.as_millis_f64(),
                "rules": self.rules[index].as_ref().map(Rules::take),
            })
        });
        let flows: Vec<Value> = flows.collect();
        json!({
            "time_s": self.run.now().as_secs_f64(),
            "hand_overs": self.run.hand_overs(),
            "digest": self.run.digest(),
            "backlog_packets": link.backlog_packets,
            "delivered_bytes": link.delivered_bytes,
            "drops": link.dropped,
            "marks": link.marks,
            "flows": flows,
        })
    }

    /// Returns the table of rules of a flow; `null` if it follows none.
    pub(crate) fn rules(&self, flow: usize) -> Result<Value, String> {
        let rules = self.rules.get(flow).ok_or_else(|| format!("there is no flow {flow}"))?;
        Ok(json!({ "rules": rules.as_ref().map(Rules::table) }))
    }
}
