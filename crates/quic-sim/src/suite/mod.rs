//! Scenarios with bounds, for those who maintain a QUIC stack.
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
//! A case is a list of stages, from which a scenario is made, and bounds with their reasons. The
//! bounds are wide: they are what a congestion control that works does, not what a certain one did
//! on the day on which they were written, and all were written before anything was run. Whoever
//! wants to know of every change compares [`CaseReport::digest`], which is equal for equal runs.
//!
//! A stack draws its random numbers from the seed that it is given, or digests differ: quinn's and
//! noq's own BBR take theirs from the system.

mod bounds;
mod cases;
mod policer;
mod report;
mod stages;

pub use bounds::{Aim, Bound, Measure};
pub use policer::policer;
pub use report::{CaseReport, Check, Report};
pub use stages::PathStage;

use paceline_sim::BuildError;
use paceline_sim::cc::Span;
use paceline_sim::scenario::{Scenario, SchemeChoice};
use thiserror::Error;

/// Why a case cannot be run.
#[derive(Debug, Error)]
#[error("case '{case}': {problem}")]
pub struct SuiteError {
    /// Its name.
    pub case: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// A scenario with bounds.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, by which reports and [`Suite::only`] know it.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// What the flow meets on its way; a later stage replaces an earlier one of its kind.
    pub stages: Vec<PathStage>,
    /// What happens before this time is not measured.
    pub warmup: Span,
    /// When it ends.
    pub end: Span,
    /// What must hold.
    pub bounds: Vec<Bound>,
}

impl Case {
    /// A case of stages and bounds that is measured from `from` to `to` seconds.
    pub fn new(
        (name, about): (&'static str, &'static str),
        (from, to): (u64, u64),
        stages: impl Into<Vec<PathStage>>,
        bounds: impl Into<Vec<Bound>>,
    ) -> Case {
        let (warmup, end) = (Span::from_secs(from), Span::from_secs(to));
        Case { name, about, stages: stages.into(), warmup, end, bounds: bounds.into() }
    }

    /// The scenario in which `scheme` is run.
    ///
    /// # Errors
    /// If a stage names a trace, a queue or a scheme that does not exist.
    pub fn scenario(&self, scheme: &SchemeChoice) -> Result<Scenario, SuiteError> {
        let made = stages::scenario(&self.stages, scheme);
        let mut scenario = made.map_err(|problem| SuiteError { case: self.name, problem })?;
        (scenario.name, scenario.duration, scenario.warmup) =
            (self.name.to_string(), self.end, self.warmup);
        Ok(scenario)
    }

    /// Runs it, and checks the bounds that hold for `aim`.
    ///
    /// # Errors
    /// If the scenario cannot be built, or the scheme refuses it.
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
    /// They run in this order.
    pub cases: Vec<Case>,
}

impl Suite {
    /// The cases of the laboratory.
    pub fn standard() -> Suite {
        Suite { cases: cases::standard() }
    }

    /// Those of these names only.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Suite {
        self.cases.retain(|case| names.contains(&case.name));
        self
    }

    /// Runs all of them with `scheme`: a [`CustomTransport`](paceline_sim::CustomTransport), such as
    /// [`Quinn`](crate::Quinn) makes, or a scheme under the simulator's own sender. `aim` is what
    /// the congestion control is meant for.
    ///
    /// # Errors
    /// Those of [`Case::run`].
    pub fn run(&self, scheme: &SchemeChoice, aim: Aim) -> Result<Report, SuiteError> {
        let cases: Result<_, _> = self.cases.iter().map(|case| case.run(scheme, aim)).collect();
        Ok(Report { scheme: scheme.name().to_string(), cases: cases? })
    }
}
