//! Hosts keep flows out of step.
//!
//! Flows with equal RTTs that begin together and answer each acknowledgement at once meet the queue in
//! the same order for ever, and a full queue drops the packets of always the same ones: phase effects
//! (S. Floyd, V. Jacobson: On Traffic Phase Effects in Packet-Switched Gateways, 1992). They found that a
//! random processing time at the hosts, from zero to the time of a packet at the bottleneck, ends them;
//! ns-2 has it as `overhead_`.
//!
//! Here the time is added to acknowledgements on their way back, once per acknowledgement. Packets of a
//! flow keep their order, and so do those of flows that share a delay. Flows that would begin together
//! begin within an RTT of each other.

use paceline_cc::{Rate, Span, Stream};

use crate::scenario::{FlowSpec, LinkSpec, Scenario};

/// What hosts add to the times of a scenario's flows.
pub(crate) struct Hosts {
    /// The longest processing time; `None` for the time of a packet at a flow's slowest link.
    longest: Option<Span>,
    /// True if the flows begin at different times.
    spreads_starts: bool,
    seed: u64,
    mss: u32,
}

impl Hosts {
    pub(crate) fn new(scenario: &Scenario) -> Hosts {
        let flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.count)).sum();
        let several = flows > 1 || !scenario.arrivals.is_empty();
        let longest = match scenario.host_jitter {
            None if !several => Some(Span::ZERO),
            longest => longest,
        };
        let spreads_starts = several && longest != Some(Span::ZERO);
        Hosts { longest, spreads_starts, seed: scenario.seed, mss: scenario.mss }
    }

    /// The longest processing time of a flow's host. `rates` are the mean rates of the scenario's
    /// links: the time of a packet at the slowest link that the flow's data passes, and at most a tenth
    /// of the RTT. A flow over a medium without links has none: contention keeps it out of step.
    pub(crate) fn longest(&self, scenario: &Scenario, spec: &FlowSpec, rates: &[Rate]) -> Span {
        if let Some(longest) = self.longest {
            return longest;
        }
        let links = scenario.links.iter().zip(rates);
        let passed = links.filter(|(link, _)| spec.path.contains(&link.name));
        match passed.map(|(_, rate)| *rate).min() {
            Some(rate) if rate > Rate::ZERO => {
                rate.time_for(u64::from(self.mss)).min(base_rtt(scenario, spec) / 10)
            }
            _ => Span::ZERO,
        }
    }

    /// The random stream of processing times called `name`.
    pub(crate) fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, &format!("hosts of {name}"))
    }

    /// How much later each flow of a specification begins than it says, in order: nothing unless
    /// another flow begins at the same time.
    pub(crate) fn starts(
        &self,
        scenario: &Scenario,
        spec: &FlowSpec,
    ) -> impl FnMut() -> Span + use<> {
        let spread = match self.spreads_starts && begin_together(scenario, spec) {
            true => base_rtt(scenario, spec).as_nanos(),
            false => 0,
        };
        let mut stream =
            (spread > 0).then(|| Stream::new(self.seed, &format!("starts of {}", spec.name)));
        move || Span::from_nanos(stream.as_mut().map_or(0, |stream| stream.below(spread)))
    }
}

/// True if flows of this specification begin when another flow does.
fn begin_together(scenario: &Scenario, spec: &FlowSpec) -> bool {
    let mut others = scenario.flows.iter().filter(|other| !std::ptr::eq(*other, spec));
    let alike = spec.count > 1 && spec.stagger.is_zero();
    alike || others.any(|other| other.start == spec.start)
}

/// The RTT of a flow on an empty path, transmission excluded.
fn base_rtt(scenario: &Scenario, spec: &FlowSpec) -> Span {
    let passed =
        |link: &&LinkSpec| spec.path.contains(&link.name) || spec.back.contains(&link.name);
    let links = scenario.links.iter().filter(passed).map(|link| link.after.delay);
    links.fold(spec.rtt + spec.data.delay + spec.acks.delay, |all, delay| all + delay)
}
