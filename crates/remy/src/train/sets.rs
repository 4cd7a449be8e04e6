//! Networks that training does not see: those by which progress is shown, and those on which what came
//! out is judged. They depend on the specification alone, so that trainings with other seeds, settings
//! and starts can be compared.

use std::sync::Arc;

use paceline_cc::Stream;
use paceline_schemes::remy::RuleTable;

use super::{TrainError, Trainer};
use crate::evaluate::Evaluator;
use crate::spec::Specimen;

/// A set has at least this many networks: a specification with fewer is drawn several times.
const LEAST_NETWORKS: usize = 32;

/// Which networks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// By which progress is shown, and the best of several trainings chosen.
    Validation,
    /// On which the chosen table is judged.
    Test,
}

impl<E: Evaluator> Trainer<E> {
    /// The score per network of the present table on the validation set, which training does not see.
    /// Equal specifications have equal sets, whatever their seeds.
    ///
    /// # Errors
    /// If the table cannot be tried.
    pub fn validate(&self) -> Result<f64, TrainError> {
        self.score_on(Set::Validation, &self.table)
    }

    /// The same on the test set, which nothing is chosen by.
    ///
    /// # Errors
    /// If the table cannot be tried.
    pub fn judge(&self) -> Result<f64, TrainError> {
        self.score_on(Set::Test, &self.table)
    }

    /// The score per network with `now` as the table whose turn it is. It is that of the senders for
    /// which the first table is trained, if there are two.
    pub(super) fn score_on(&self, set: Set, now: &Arc<RuleTable>) -> Result<f64, TrainError> {
        let (table, others) = match &self.other {
            Some(other) if self.is_others_turn() => (other, Some(now)),
            Some(other) => (now, Some(other)),
            None => (now, None),
        };
        let name = match set {
            Set::Validation => "validation",
            Set::Test => "test",
        };
        let networks = self.specification.networks().max(1);
        let mut specimens: Vec<Specimen> = Vec::new();
        for draw in 0..LEAST_NETWORKS.div_ceil(networks) {
            let seed = Stream::new(0, &format!("{name} {draw}")).next_u64();
            specimens.extend(self.specification.specimens(seed));
        }
        if let Some(others) = others {
            specimens = specimens.into_iter().map(|one| one.beside(others, false)).collect();
        }
        let trials = self.evaluator.trials(table, &specimens, false)?;
        let objective = &self.specification.objective;
        let scores: Vec<f64> = trials.iter().map(|trial| trial.score(objective)).collect();
        Ok(objective.total(&scores) / scores.len().max(1) as f64)
    }
}
