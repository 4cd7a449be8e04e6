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
//! bounds are wide: any working congestion control meets them, whatever its exact figures. All were
//! written before the first run. To notice every change, compare [`CaseReport::digest`], which is
//! equal for equal runs.
//!
//! Digests are equal only if a stack draws its random numbers from the seed that it gets. quinn's
//! and noq's own BBR draw theirs from the system.

mod blackout;
mod bounds;
mod cases;
mod policer;
mod report;
mod stages;

pub use blackout::blackout;
pub use bounds::{Aim, Bound, BoundCheck, Measure};
pub use policer::policer;
pub use report::{CaseReport, SuiteReport};
pub use stages::PathStage;

use paceline_sim::BuildError;
use paceline_sim::cc::Span;
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

    /// Runs the case, and checks the bounds for the purpose `aim`.
    ///
    /// # Errors
    /// The scenario cannot be built, or the scheme refuses it.
    pub fn run(&self, scheme: &SchemeChoice, aim: Aim) -> Result<CaseReport, SuiteError> {
        let failed = |error: BuildError| SuiteError { case: self.name, problem: error.to_string() };
        let outcome = paceline_sim::run(&self.scenario(scheme)?).map_err(failed)?;
        let bounds = self.bounds.iter().filter(|bound| bound.applies_to(aim));
        Ok(CaseReport {
            name: self.name,
            about: self.about,
            checks: bounds.map(|bound| bound.check(&outcome)).collect(),
            digest: outcome.digest,
        })
    }
}

/// A list of cases.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// The cases, in the order in which they run.
    pub cases: Vec<Case>,
}

impl Suite {
    /// Returns the standard cases.
    pub fn standard() -> Suite {
        Suite { cases: cases::standard() }
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
        let cases: Result<_, _> = self.cases.iter().map(|case| case.run(scheme, aim)).collect();
        Ok(SuiteReport { scheme: scheme.name().to_string(), cases: cases? })
    }
}
