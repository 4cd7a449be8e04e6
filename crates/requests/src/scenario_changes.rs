//! Settings of a scenario that a caller may replace: options of `paceline run`, arguments of
//! `Scenario.replace`.

use paceline_cc::{ArgumentError, Span};
use paceline_sim::runs::{MAX_RUNS, Spread};
use paceline_sim::scenario::{Record, Scenario, check_size};

use crate::bins::check_bins;
use crate::compare::check_warmup;

/// Changes of a scenario; `None` keeps the scenario's value.
#[derive(Copy, Clone, Debug, Default)]
pub struct ScenarioChanges {
    /// Length of the run.
    pub duration: Option<Span>,
    /// Time at its beginning that is not measured.
    pub warmup: Option<Span>,
    /// Seed of the first run.
    pub seed: Option<u64>,
    /// Number of runs.
    pub runs: Option<u32>,
    /// Spread of the runs' starts.
    pub spread: Option<Spread>,
    /// Records links and flows over time in bins of this length.
    pub bin: Option<Span>,
}

impl ScenarioChanges {
    /// Applies the changes.
    ///
    /// # Errors
    /// An argument makes the scenario invalid.
    pub fn make(&self, scenario: &mut Scenario) -> Result<(), ArgumentError> {
        let before = (scenario.record, scenario.duration, scenario.runs.count);
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        scenario.warmup = self.warmup.unwrap_or(scenario.warmup);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.runs.spread = self.spread.unwrap_or(scenario.runs.spread);
        scenario.runs.count = self.runs.unwrap_or(scenario.runs.count);
        if !(1..=MAX_RUNS).contains(&scenario.runs.count) {
            let problem = format!("expected 1 to {MAX_RUNS}, not {}", scenario.runs.count);
            return Err(ArgumentError::new("runs", problem));
        }
        scenario.record = self.bin.map_or(scenario.record, Record::Series);
        if let Record::Series(bin) = scenario.record
            && (scenario.record, scenario.duration, scenario.runs.count) != before
        {
            check_bins(bin, scenario.duration, scenario.runs.count)?;
        }
        let (warmup, duration) = (scenario.warmup, scenario.duration);
        if self.warmup.is_none() && self.duration.is_some() && warmup >= duration {
            let problem = format!(
                "{duration} is not longer than the warm-up of {warmup}, and leaves nothing to measure; make it longer"
            );
            return Err(ArgumentError::new("duration", problem));
        }
        check_warmup(warmup, duration)?;
        let (argument, remedy) = match (self.duration, self.bin) {
            (Some(_), _) => ("duration", "make it shorter"),
            (None, Some(_)) => ("bin", "make it longer"),
            (None, None) => return Ok(()),
        };
        check_size(scenario)
            .map_err(|error| ArgumentError::new(argument, format!("{}; {remedy}", error.message)))
    }
}
