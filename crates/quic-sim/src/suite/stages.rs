//! What a flow meets on its way, and the scenario that is made of it.

use paceline_sim::cc::{Rate, Span, Spec};
use paceline_sim::flow::Workload;
use paceline_sim::path::{BufferSize, Loss, Reorder};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, QueueChoice, Scenario, SchemeChoice};

use super::policer::policer;

/// What a flow meets on its way. Without a word about it, a case has a link of 12 Mbit/s with a
/// droptail buffer of 100 packets, an RTT of 100 ms, and a flow that always has something to send.
#[derive(Clone, Debug)]
pub enum PathStage {
    /// A link of so many Mbit/s.
    Rate(f64),
    /// A link whose rate changes: seconds and Mbit/s, the first at 0; a rate of 0 is an outage.
    Steps(Vec<(f64, f64)>),
    /// A link that follows a trace: the name of a built-in one, or a file.
    Trace(String),
    /// The link's buffer.
    Buffer(BufferSize),
    /// The link's queue, such as `codel[ecn=true]`.
    Queue(String),
    /// A policer before the link: Mbit/s, and its burst in bytes.
    Policer(f64, u64),
    /// The round-trip propagation delay in ms.
    RttMs(u64),
    /// The share of acknowledgements that get lost.
    AckLoss(f64),
    /// The share of data packets that get lost.
    DataLoss(f64),
    /// The share of data packets that arrive so many ms late, behind others.
    Reordering(f64, u64),
    /// A flow of this scheme, under the simulator's own sender, beside the one under test.
    Competitor(String),
    /// The application makes so many Mbit/s in messages of so many bytes.
    Messages(f64, u32),
}

/// The scenario of these stages with `scheme` under test.
///
/// # Errors
/// If a stage names a trace, a queue or a scheme that does not exist.
pub(super) fn scenario(stages: &[PathStage], scheme: &SchemeChoice) -> Result<Scenario, String> {
    let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0)));
    link.buffer = BufferSize::Packets(100);
    link.queue = QueueChoice::droptail();
    let mut flow = FlowSpec::bulk(scheme.clone(), &["link"]);
    flow.rtt = Span::from_millis(100);
    let mut others = Vec::new();
    for stage in stages {
        match stage {
            PathStage::Rate(mbps) => link.capacity = Capacity::Constant(Rate::from_mbps(*mbps)),
            PathStage::Steps(steps) => {
                let at = |&(at, mbps)| (Span::from_secs_f64(at), Rate::from_mbps(mbps));
                let steps = steps.iter().map(at).collect();
                link.capacity = Capacity::Schedule { steps, period: None };
            }
            PathStage::Trace(name) => {
                let trace = paceline_sim::trace::load(name).map_err(|error| error.to_string())?;
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
    scenario.links.push(link);
    scenario.flows.push(flow);
    scenario.flows.append(&mut others);
    Ok(scenario)
}
