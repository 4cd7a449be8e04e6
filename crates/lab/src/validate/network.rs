//! The networks that Paceline's runs use.

use paceline_cc::{AckPolicy, Rate, Span};
use paceline_path::BufferSize;

use paceline_requests::compare::{CompareRow, Comparison};
use paceline_requests::written;
use paceline_sim::scenario::{
    Capacity, LinkSpec, LossRecovery, QueueChoice, RouterChoice, RttSamples, Scenario,
};

/// A scheme with further settings, as in scenario files: `xcp[initial_window=2], recovery=reno`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings<'a> {
    /// The scheme and its queue.
    pub(super) scheme: &'a str,
    recovery: LossRecovery,
    eifs_after_own_collision: bool,
    /// Whether the peer's connections begin with data, without a handshake.
    pub(super) no_handshake: bool,
    /// Time of which runs begin at all fractions, because a peer's flows begin at a random phase of
    /// it: of a clock's tick or a timer. Zero if the phase does not matter.
    pub(super) phases: Span,
    /// Delay of the start of this run's flows.
    pub(super) start: Span,
}

impl Settings<'_> {
    /// # Errors
    /// A setting is unknown or invalid.
    pub(super) fn of(label: &str) -> Result<Settings<'_>, String> {
        let mut words = label.split(", ");
        let scheme = words.next().unwrap_or_default();
        let mut settings = Settings { scheme, ..Settings::default() };
        let mut samples = RttSamples::Each;
        for word in words {
            match word.split_once('=') {
                Some(("recovery", "newreno")) => settings.recovery = LossRecovery::NewReno(samples),
                Some(("recovery", "rfc9002")) => settings.recovery = LossRecovery::Rfc9002,
                Some(("recovery", "reno")) => settings.recovery = LossRecovery::Reno(samples),
                Some(("timestamps", "false")) => samples = RttSamples::One,
                Some(("after_own_collision", "eifs")) => settings.eifs_after_own_collision = true,
                Some(("phases", time)) => {
                    settings.phases = written::length(time)
                        .map_err(|error| format!("{label}: {word}: {error}"))?;
                }
                _ => return Err(format!("{label}: {word} is no setting")),
            }
        }
        settings.recovery = match settings.recovery {
            selective @ (LossRecovery::Sack | LossRecovery::Rfc9002) => selective,
            LossRecovery::NewReno(_) => LossRecovery::NewReno(samples),
            LossRecovery::Reno(_) => LossRecovery::Reno(samples),
        };
        Ok(settings)
    }

    /// Applies the settings to all flows and media of a scenario.
    pub(super) fn apply(&self, scenario: &mut Scenario) {
        for flow in &mut scenario.flows {
            flow.recovery = self.recovery;
            flow.start += self.start;
            flow.handshake = !self.no_handshake;
        }
        for medium in &mut scenario.media {
            medium.eifs_after_own_collision = self.eifs_after_own_collision;
        }
    }
}

/// Runs a comparison; `ack` is the receivers' acknowledgement policy.
pub(super) fn plain(comparison: &Comparison, ack: Option<AckPolicy>) -> Result<CompareRow, String> {
    finish(comparison, comparison.scenario(), ack)
}

/// Runs a comparison with an access link of 100 Mbit/s for each flow, as the peers' dumbbells have.
/// Without such links the packets of a window arrive at the bottleneck at one instant.
pub(super) fn behind_access_links(
    comparison: &Comparison,
    ack: Option<AckPolicy>,
    settings: &Settings<'_>,
) -> Result<CompareRow, String> {
    let mut scenario = comparison.scenario();
    settings.apply(&mut scenario);
    give_access_links(&mut scenario);
    finish(comparison, scenario, ack)
}

/// Runs one flow in each direction: the measured flow, and a flow of an equal scheme whose data
/// shares the other direction with the first flow's acknowledgements and reports.
pub(super) fn two_ways(comparison: &Comparison) -> Result<CompareRow, String> {
    let mut scenario = comparison.scenario();
    let [flow] = scenario.flows.as_slice() else { return Err("one flow is needed".into()) };
    let mut other = flow.clone();
    other.name = format!("{}-back", flow.name);
    std::mem::swap(&mut other.path, &mut other.back);
    scenario.flows.push(other);
    finish(comparison, scenario, None)
}

fn finish(
    comparison: &Comparison,
    mut scenario: Scenario,
    ack: Option<AckPolicy>,
) -> Result<CompareRow, String> {
    for flow in &mut scenario.flows {
        flow.ack = ack;
    }
    let outcome = paceline_sim::run_with(&scenario, &paceline_remy::names())
        .map_err(|error| error.to_string())?;
    Ok(comparison.row(&outcome))
}

fn give_access_links(scenario: &mut Scenario) {
    let flow = scenario.flows.remove(0);
    for number in 1..=flow.count {
        let name = format!("access-{number}");
        let mut access = LinkSpec::new(&name, Capacity::Constant(Rate::from_mbps(100.0)));
        access.buffer = BufferSize::Unlimited;
        access.router = RouterChoice::None;
        access.queue = QueueChoice::droptail();
        scenario.links.push(access);
        let mut own = flow.clone();
        own.count = 1;
        own.name = format!("{}-{number}", flow.name);
        own.path.insert(0, name);
        scenario.flows.push(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_in_scenario_files() {
        let settings = Settings::of("xcp[initial_window=2]+xcp, recovery=reno").expect("legal");
        assert_eq!(settings.scheme, "xcp[initial_window=2]+xcp");
        assert_eq!(settings.recovery, LossRecovery::Reno(RttSamples::Each));
        let settings = Settings::of("a, recovery=newreno, timestamps=false").expect("legal");
        assert_eq!(settings.recovery, LossRecovery::NewReno(RttSamples::One));
        assert!(!settings.eifs_after_own_collision);
        assert!(
            Settings::of("a, after_own_collision=eifs").expect("legal").eifs_after_own_collision
        );
        assert_eq!(Settings::of("a, phases=1ms").expect("legal").phases, Span::from_millis(1));
        assert!(Settings::of("a, phases=long").is_err());
        assert!(Settings::of("a, recovery=tahoe").expect_err("none").contains("recovery=tahoe"));
    }
}
