//! Random processing times of hosts, which keep flows out of step.
//!
//! Flows with equal RTTs that begin together and answer each acknowledgement at once always reach
//! the queue in the same order, and a full queue then always drops the packets of the same flows:
//! phase effects (S. Floyd, V. Jacobson: On Traffic Phase Effects in Packet-Switched Gateways,
//! 1992). A random processing time at the hosts, between zero and a packet's transmission time at
//! the bottleneck, prevents them according to that paper; ns-2 calls it `overhead_`.
//!
//! Here the processing time is added to each acknowledgement on its way back. Packets of a flow
//! keep their order, and so do those of flows that share a delay. Flows that would begin together
//! begin within an RTT of each other.

use paceline_cc::{Rate, Span, Stream};

use crate::scenario::{FlowSpec, LinkSpec, Scenario};

/// Processing times and start offsets of a scenario's flows.
pub(crate) struct Hosts {
    /// Maximum processing time; `None` for a packet's transmission time at the flow's slowest link.
    longest: Option<Span>,
    /// True if flows that would begin together begin at different times.
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

    /// Returns the maximum processing time of a flow's host: a packet's transmission time at the
    /// slowest link that the flow's data passes, and at most a tenth of the RTT. `rates` are the
    /// mean rates of the scenario's links. Zero for a flow over a medium without links, which
    /// contention keeps out of step.
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

    /// Returns the random stream of the processing times called `name`.
    pub(crate) fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, &format!("hosts of {name}"))
    }

    /// Returns, for each flow of a specification in order, how much later than specified it begins;
    /// zero unless another flow begins at the same time. `stream` names their random stream.
    pub(crate) fn starts(
        &self,
        scenario: &Scenario,
        spec: &FlowSpec,
        stream: &str,
    ) -> impl FnMut() -> Span + use<> {
        let spread = match self.spreads_starts && begin_together(scenario, spec) {
            true => base_rtt(scenario, spec).as_nanos(),
            false => 0,
        };
        let mut stream = (spread > 0).then(|| Stream::new(self.seed, stream));
        move || Span::from_nanos(stream.as_mut().map_or(0, |stream| stream.below(spread)))
    }
}

/// Returns true if flows of this specification begin when another flow does.
fn begin_together(scenario: &Scenario, spec: &FlowSpec) -> bool {
    let mut others = scenario.flows.iter().filter(|other| !std::ptr::eq(*other, spec));
    let alike = spec.count > 1 && spec.stagger.is_zero();
    alike || others.any(|other| other.start == spec.start)
}

/// Returns the RTT of a flow on an empty path, without transmission times.
fn base_rtt(scenario: &Scenario, spec: &FlowSpec) -> Span {
    let passed =
        |link: &&LinkSpec| spec.path.contains(&link.name) || spec.back.contains(&link.name);
    let links = scenario.links.iter().filter(passed).map(|link| link.after.delay);
    links.fold(spec.rtt + spec.data.delay + spec.acks.delay, |all, delay| all + delay)
}
