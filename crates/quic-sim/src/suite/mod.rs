//! Scenarios with bounds, for maintainers of QUIC stacks.
//!
//! ```
//! use std::sync::Arc;
//!
//! use paceline_quic_sim::Quinn;
//! use paceline_quic_sim::suite::{Aim, Suite};
//! use quinn_proto::congestion::CubicConfig;
//!
//! let cubic = Quinn::new("quinn's Cubic", Arc::new(CubicConfig::default()));
//! let report = Suite::standard().only(&["startup"]).run(&cubic.transport().into(), Aim::FillsBuffers)?;
//! assert!(report.holds(), "{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A case is a list of stages, from which a scenario is built, and bounds with their reasons. The
//! bounds are wide: any working congestion control meets them, whatever its exact figures. Each
//! case runs several times, with other seeds and other starts within traces; a bound holds if it
//! holds in most of them. To notice every change, compare [`CaseReport::digests`], which are equal
//! for equal runs.
//!
//! A stack that misses bounds today can keep its figures as a [`Baseline`]; then
//! [`SuiteReport::holds_against`] fails only for what has become worse.
//!
//! Digests are equal only if a stack draws its random numbers from the seed that it gets. quinn's
//! and noq's own BBR draw theirs from the system.

mod baseline;
mod blackout;
mod bounds;
mod cases;
mod formats;
mod markdown;
mod policer;
mod report;
mod stages;

pub use baseline::{Baseline, BaselineError, BaselineFigure, Verdict};
pub use blackout::blackout;
pub use bounds::{Aim, Bound, BoundCheck, Measure};
pub use markdown::{figures, missed_bounds};
pub use policer::policer;
pub use report::{AgainstBaseline, CaseReport, SuiteReport};
pub use stages::PathStage;

use paceline_cc::{Span, Time};
use paceline_sim::Simulation;
use paceline_sim::runs::Run;
use paceline_sim::scenario::{Record, Scenario, SchemeChoice};
use thiserror::Error;

/// Reason why a case cannot be run.
#[derive(Debug, Error)]
#[error("case '{case}': {problem}")]
pub struct SuiteError {
    /// Name of the case.
    pub case: &'static str,
    /// Description of the problem.
    pub problem: String,
}

/// A scenario with bounds.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name in reports and in [`Suite::only`].
    pub name: &'static str,
    /// Description of the case.
    pub about: &'static str,
    /// Stages of the flow's path; a later stage replaces an earlier one of its kind.
    pub stages: Vec<PathStage>,
    /// End of the warm-up, before which nothing is measured.
    pub warmup: Span,
    /// End of the run.
    pub end: Span,
    /// Bounds that must hold.
    pub bounds: Vec<Bound>,
}

impl Case {
    /// Returns a case of stages and bounds that is measured from `from` to `to` seconds.
    pub fn new(
        (name, about): (&'static str, &'static str),
        (from, to): (u64, u64),
        stages: impl Into<Vec<PathStage>>,
        bounds: impl Into<Vec<Bound>>,
    ) -> Case {
        let (warmup, end) = (Span::from_secs(from), Span::from_secs(to));
        Case { name, about, stages: stages.into(), warmup, end, bounds: bounds.into() }
    }

    /// Returns the scenario with `scheme` as the scheme under test.
    ///
    /// # Errors
    /// A stage names a trace, a queue or a scheme that does not exist.
    pub fn scenario(&self, scheme: &SchemeChoice) -> Result<Scenario, SuiteError> {
        let made = stages::scenario(&self.stages, scheme);
        let mut scenario = made.map_err(|problem| SuiteError { case: self.name, problem })?;
        (scenario.name, scenario.duration, scenario.warmup) =
            (self.name.to_string(), self.end, self.warmup);
        if self.bounds.iter().any(|bound| bound.measure.needs_series()) {
            scenario.record = Record::Series(Measure::BIN);
        }
        Ok(scenario)
    }

    /// Makes `runs` runs of the case, and checks the bounds for the purpose `aim`. The first run is
    /// the case itself. Each further one has its own seed, and its own start within the trace, or
    /// relative to the other flows: see [`Run`]. In a run whose stack ends its connection no bound
    /// holds; [`CaseReport::failures`] has the reason.
    ///
    /// # Errors
    /// The scenario cannot be built, or the scheme refuses it.
    pub fn run(
        &self,
        scheme: &SchemeChoice,
        aim: Aim,
        runs: u32,
    ) -> Result<CaseReport, SuiteError> {
        let scenario = self.scenario(scheme)?;
        let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
        for number in 1..=runs.max(1) {
            let simulation = Simulation::new(Run::of(&scenario, number).scenario(&scenario));
            let mut simulation = simulation
                .map_err(|error| SuiteError { case: self.name, problem: error.to_string() })?;
            simulation.advance(Time::ZERO + scenario.duration);
            let outcome = simulation.outcome();
            failures.extend(outcome.as_ref().err().map(|error| format!("run {number}: {error}")));
            outcomes.push(outcome.ok());
        }
        let bounds = self.bounds.iter().filter(|bound| bound.applies_to(aim));
        Ok(CaseReport {
            name: self.name,
            about: self.about,
            checks: bounds.map(|bound| BoundCheck::new(bound, &outcomes)).collect(),
            digests: outcomes.into_iter().flatten().map(|outcome| outcome.digest).collect(),
            failures,
        })
    }
}

/// A list of cases.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The cases, in the order in which they run.
    pub cases: Vec<Case>,
    /// Number of runs of each case.
    pub runs: u32,
}

impl Suite {
    /// Number of runs of each case, unless [`Suite::runs`] sets another one.
    pub const RUNS: u32 = 5;

    /// Returns the standard cases, with [`Suite::RUNS`] runs each.
    pub fn standard() -> Suite {
        Suite { cases: cases::standard(), runs: Suite::RUNS }
    }

    /// Sets the number of runs of each case. A bound holds if its figure is within it in more than
    /// half of them. Take an odd number, so that the median decides.
    #[must_use]
    pub fn runs(self, runs: u32) -> Suite {
        Suite { runs, ..self }
    }

    /// Keeps only the cases with these names.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Suite {
        self.cases.retain(|case| names.contains(&case.name));
        self
    }

    /// Runs all cases with `scheme`: a [`CustomTransport`](paceline_sim::CustomTransport), such as
    /// [`Quinn`](crate::Quinn) makes, or a scheme under the simulator's own sender. `aim` is the
    /// purpose of the congestion control.
    ///
    /// # Errors
    /// Those of [`Case::run`].
    pub fn run(&self, scheme: &SchemeChoice, aim: Aim) -> Result<SuiteReport, SuiteError> {
        let cases: Result<_, _> =
            self.cases.iter().map(|case| case.run(scheme, aim, self.runs)).collect();
        Ok(SuiteReport { scheme: scheme.name().to_string(), cases: cases? })
    }
}
