//! Networks that training does not use: a validation set that shows progress, and a test set on
//! which the final table is scored. Both depend only on the specification, so that trainings with
//! other seeds, settings and starts can be compared.

use std::sync::Arc;

use paceline_cc::Stream;
use paceline_schemes::remy::RuleTable;

use super::{TrainError, Trainer};
use crate::evaluate::Evaluator;
use crate::spec::{Specification, Specimen};

/// Minimum number of networks in a set. A specification with fewer networks is drawn several times.
const LEAST_NETWORKS: usize = 32;

/// Which set.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Shows progress, and selects the best of several trainings.
    Validation,
    /// Scores the selected table.
    Test,
}

/// Returns the networks of a set.
pub(crate) fn networks_of(specification: &Specification, set: Set) -> Vec<Specimen> {
    let name = match set {
        Set::Validation => "validation",
        Set::Test => "test",
    };
    let networks = specification.networks().max(1);
    let mut specimens: Vec<Specimen> = Vec::new();
    for draw in 0..LEAST_NETWORKS.div_ceil(networks) {
        let seed = Stream::new(0, &format!("{name} {draw}")).next_u64();
        specimens.extend(specification.specimens(seed));
    }
    specimens
}

impl<E: Evaluator> Trainer<E> {
    /// Returns the score per network of the present table on the validation set, which training
    /// does not use. Equal specifications have equal sets, for all seeds of trainings.
    ///
    /// # Errors
    /// The table cannot be run.
    pub fn validate(&self) -> Result<f64, TrainError> {
        self.score_on(Set::Validation, &self.table)
    }

    /// Returns the score per network on the test set, by which no table is selected.
    ///
    /// # Errors
    /// The table cannot be run.
    pub fn judge(&self) -> Result<f64, TrainError> {
        self.score_on(Set::Test, &self.table)
    }

    /// Returns the score per network with `now` as the table being trained. With two tables, it is
    /// the score of the senders for which the first table is trained.
    pub(super) fn score_on(&self, set: Set, now: &Arc<RuleTable>) -> Result<f64, TrainError> {
        let (table, others) = match &self.other {
            Some(other) if self.is_others_turn() => (other, Some(now)),
            Some(other) => (now, Some(other)),
            None => (now, None),
        };
        let mut specimens = networks_of(&self.specification, set);
        if let Some(others) = others {
            specimens = specimens.into_iter().map(|one| one.beside(others, false)).collect();
        }
        let trials = self.evaluator.trials(table, &specimens, false)?;
        let objective = &self.specification.objective;
        let scores: Vec<f64> = trials.iter().map(|trial| trial.score(objective)).collect();
        Ok(objective.total(&scores) / scores.len().max(1) as f64)
    }
}
