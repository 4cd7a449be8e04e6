//! Stages of a flow's path, and the scenario built from them.

use paceline_cc::{Rate, Span, Spec, Time};
use paceline_flow::Workload;
use paceline_path::{BufferSize, Loss, Reorder};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, QueueChoice, Scenario, SchemeChoice};

use super::blackout::blackout;
use super::policer::policer;

/// A stage of a flow's path. The defaults of a case are a link of 12 Mbit/s with a droptail buffer
/// of 100 packets, an RTT of 100 ms, and a backlogged flow.
#[derive(Clone, Debug)]
pub enum PathStage {
    /// Constant rate of the link in Mbit/s.
    Rate(f64),
    /// Changes of the link's rate: seconds and Mbit/s, the first at 0; a rate of 0 is an outage.
    Steps(Vec<(f64, f64)>),
    /// Trace that the link follows: the name of a built-in one, or a file.
    Trace(String),
    /// Buffer of the link.
    Buffer(BufferSize),
    /// Queue of the link, such as `codel[ecn=true]`.
    Queue(String),
    /// A policer before the link: rate in Mbit/s, and burst in bytes.
    Policer(f64, u64),
    /// A time in which all data packets are lost: from and to, in seconds. It replaces the queue.
    Blackout(f64, f64),
    /// Round-trip propagation delay in ms.
    RttMs(u64),
    /// Share of acknowledgements that are lost.
    AckLoss(f64),
    /// Share of data packets that are lost.
    DataLoss(f64),
    /// Share of data packets that arrive late, behind others, and their delay in ms.
    Reordering(f64, u64),
    /// A flow with this scheme, under the simulator's own sender, beside the flow under test.
    Competitor(String),
    /// A second flow with the scheme under test, that starts after this number of seconds.
    Twin(f64),
    /// A second flow with the scheme under test in the opposite direction, over a second link of
    /// the same kind. Each link carries data of one flow and acknowledgements of the other one.
    BothWays,
    /// Rate of the application's messages in Mbit/s, and size of a message in bytes.
    Messages(f64, u32),
}

/// Returns the scenario of these stages with `scheme` under test.
///
/// # Errors
/// A stage names a trace, a queue or a scheme that does not exist.
pub(super) fn scenario(stages: &[PathStage], scheme: &SchemeChoice) -> Result<Scenario, String> {
    let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0)));
    link.buffer = BufferSize::Packets(100);
    link.queue = QueueChoice::droptail();
    let mut flow = FlowSpec::bulk(scheme.clone(), &["link"]);
    flow.rtt = Span::from_millis(100);
    let mut others = Vec::new();
    let mut both_ways = false;
    let time = |secs: f64| Time::ZERO + Span::from_secs_f64(secs);
    for stage in stages {
        match stage {
            PathStage::Rate(mbps) => link.capacity = Capacity::Constant(Rate::from_mbps(*mbps)),
            PathStage::Steps(steps) => {
                let at = |&(at, mbps)| (Span::from_secs_f64(at), Rate::from_mbps(mbps));
                let steps = steps.iter().map(at).collect();
                link.capacity = Capacity::Schedule { steps, period: None };
            }
            PathStage::Trace(name) => {
                let trace = paceline_trace::load(name).map_err(|error| error.to_string())?;
                link.capacity = Capacity::trace(trace);
            }
            PathStage::Buffer(size) => link.buffer = *size,
            PathStage::Queue(text) => {
                let spec = Spec::parse(text).map_err(|error| error.to_string())?;
                link.queue = QueueChoice::Named(spec);
            }
            PathStage::Policer(mbps, burst) => {
                link.queue = policer(Rate::from_mbps(*mbps), *burst).into();
            }
            PathStage::Blackout(from, to) => {
                link.queue = blackout(time(*from), time(*to)).into();
            }
            PathStage::RttMs(millis) => flow.rtt = Span::from_millis(*millis),
            PathStage::AckLoss(share) => flow.acks.impairments.loss = Loss::Bernoulli(*share),
            PathStage::DataLoss(share) => flow.data.impairments.loss = Loss::Bernoulli(*share),
            PathStage::Reordering(probability, extra) => {
                let extra = Some(Span::from_millis(*extra));
                flow.data.impairments.reorder = Some(Reorder { probability: *probability, extra });
            }
            PathStage::Competitor(name) => {
                let other: SchemeChoice =
                    name.parse().map_err(|error| format!("scheme '{name}': {error}"))?;
                others.push(FlowSpec::bulk(other, &["link"]));
            }
            PathStage::Twin(start) => {
                let mut twin = FlowSpec::bulk(scheme.clone(), &["link"]);
                twin.start = Span::from_secs_f64(*start);
                others.push(twin);
            }
            PathStage::BothWays => {
                both_ways = true;
                let mut opposite = FlowSpec::bulk(scheme.clone(), &["back"]);
                opposite.back = vec!["link".into()];
                others.push(opposite);
                flow.back = vec!["back".into()];
            }
            PathStage::Messages(mbps, message) => {
                let rate = Rate::from_mbps(*mbps);
                flow.workload = Workload::Limited { rate, message: *message };
            }
        }
    }
    for other in &mut others {
        other.rtt = flow.rtt;
    }
    let mut scenario = Scenario::new("stages");
    if both_ways {
        let mut back = link.clone();
        back.name = "back".into();
        scenario.links.push(link);
        scenario.links.push(back);
    } else {
        scenario.links.push(link);
    }
    scenario.flows.push(flow);
    scenario.flows.append(&mut others);
    Ok(scenario)
}
