//! One scheme on one path: its simulated runs.

use paceline_cc::Span;
use paceline_sim::runs::Run;
use paceline_sim::scenario::{LossRecovery, Scenario};
use paceline_sim::{BuildError, Names};

use super::{GapRow, Inside, RealRun};
use crate::compare::Comparison;
use crate::summary::summary_row;

/// One scheme on one path.
#[derive(Clone, Debug)]
pub struct GapRun {
    /// The scheme and the measured link.
    pub comparison: Comparison,
    /// The scenario that is run for real; it has the number of simulated runs.
    pub scenario: Scenario,
}

/// When a real run's data began, and over what.
#[derive(Copy, Clone, Debug)]
pub struct Start {
    /// Time at which the simulated flows start.
    pub at: Span,
    /// Whether the real flows ran over UDP, whose senders recover from losses by RFC 9002.
    pub over_udp: bool,
}

impl Start {
    /// Returns the start of the simulated flows for a real run.
    ///
    /// The programs of real flows take a moment to start, and on a trace with outages a tenth of a
    /// second decides the result. So the simulated flows start when the real ones' SYN arrived at
    /// the link. A handshake over UDP takes two round trips from its first packet on, which is as
    /// large as data; the simulated handshake takes the place of the second round trip.
    pub fn of(real: &RealRun, over_udp: bool) -> Start {
        let link = &real.link;
        let first = match over_udp {
            true => link.first_data_s.map(|first| first + real.handshake_s / 2.0),
            false => link.first_syn_s.or(link.first_data_s),
        };
        Start { at: Span::from_secs_f64(first.unwrap_or(0.0)), over_udp }
    }
}

impl GapRun {
    /// Simulates the runs and returns them beside the real run.
    ///
    /// # Errors
    /// The scenario cannot be built.
    pub fn beside(&self, real: RealRun, start: Start, names: &Names) -> Result<GapRow, BuildError> {
        let mut scenario = self.scenario.clone();
        for flow in &mut scenario.flows {
            flow.start = start.at;
            if start.over_udp {
                flow.recovery = LossRecovery::Rfc9002;
            }
        }
        let mut rows = Vec::new();
        for run in Run::all(&scenario) {
            let outcome = crate::run(&run.scenario(&scenario), names)?;
            rows.push(self.comparison.row_of(run, &outcome));
        }
        let simulated_runs = summary_row(&rows.iter().collect::<Vec<_>>());
        let simulated = rows.swap_remove(0);
        Ok(GapRow {
            trace: simulated.trace.clone(),
            scheme: simulated.scheme.clone(),
            inside: Inside::of(&real, &simulated_runs),
            simulated,
            simulated_runs,
            emulated: real,
        })
    }
}
