//! The core of a trainer: what a table is worth on the networks of a specification.

use std::sync::Arc;

use paceline_cc::Span;
use paceline_schemes::remy::{RemyParams, RuleObserver, RuleTable, halves};
use paceline_sim::BuildError;
use paceline_sim::scenario::{CustomScheme, SchemeChoice};
use rayon::prelude::*;

use crate::network::Network;
use crate::score::{self, BoundedRun, SenderFigures};
use crate::spec::{Objective, Specification, Specimen};
use crate::usage::{self, RuleUse, Usage, UsageCounts};
use crate::world::{FastRun, TableSenders};

/// What a table did on one network.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// What each sender got.
    pub senders: Vec<SenderFigures>,
    /// The uses of each rule, if they were counted.
    pub uses: Vec<RuleUse>,
}

impl Trial {
    /// The mean over the senders that count of what they are worth: [`Objective::score`].
    pub fn score(&self, objective: &Objective) -> f64 {
        let scores = self.senders.iter().filter_map(|sender| objective.score(sender));
        let (sum, count) = scores.fold((0.0, 0u32), |(sum, count), score| (sum + score, count + 1));
        sum / f64::from(count.max(1))
    }

    /// The mean of a figure over the senders, without those of another scheme.
    pub fn mean(&self, figure: impl Fn(&SenderFigures) -> f64) -> f64 {
        let own = || self.senders.iter().filter(|sender| !sender.other);
        own().map(figure).sum::<f64>() / own().count().max(1) as f64
    }
}

/// What a table is worth.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Score {
    /// [`Objective::total`] of the mean utilities of the networks' senders.
    pub total: f64,
    /// That of each network.
    pub specimens: Vec<f64>,
    /// The uses of each rule on all networks, if they were counted.
    pub uses: Vec<RuleUse>,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Packets that arrived.
    pub packets: f64,
}

/// Somebody who tries tables on networks: this machine, or others.
pub trait Evaluator: Sync {
    /// Tries a table on each of the networks, and gives the results in their order. Rules' uses are
    /// counted if `uses`.
    ///
    /// # Errors
    /// If a network cannot be built, or somebody else cannot be reached.
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError>;
}

/// Why a table could not be tried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluatorError {
    /// A network cannot be built.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// Somebody else failed.
    #[error("{0}")]
    Other(String),
}

/// All cores of this machine. The results do not depend on how many there are.
#[derive(Copy, Clone, Debug, Default)]
pub struct Local;

impl Evaluator for Local {
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError> {
        let trial = |specimen: &Specimen| Ok(trial(table, specimen, uses)?);
        specimens.par_iter().map(trial).collect()
    }
}

/// Senders of a table as the published program has them; with `repairs` they send again what was lost,
/// and a timeout counts.
pub fn scheme(
    table: &Arc<RuleTable>,
    repairs: bool,
    observer: Option<Arc<dyn RuleObserver>>,
) -> SchemeChoice {
    let params = RemyParams { as_published: !repairs, ..RemyParams::default() };
    CustomScheme::new("remy", halves(params, Arc::clone(table), observer)).into()
}

/// What is tried on networks.
#[derive(Clone, Debug)]
pub enum Contender {
    /// A scheme, by name or as a value.
    Scheme(SchemeChoice),
    /// Senders that follow a table.
    Table {
        /// The table.
        table: Arc<RuleTable>,
        /// Their parameters; which table they name does not matter.
        params: RemyParams,
    },
}

impl From<SchemeChoice> for Contender {
    fn from(scheme: SchemeChoice) -> Contender {
        Contender::Scheme(scheme)
    }
}

impl Contender {
    /// What each sender of a network gets.
    ///
    /// # Errors
    /// If the network cannot be built.
    pub fn run(
        &self,
        network: &Network,
        duration: Span,
        seed: u64,
    ) -> Result<Vec<SenderFigures>, BuildError> {
        self.run_from(network, duration, seed, Span::ZERO)
    }

    /// The same, where the recordings of the network begin `start` later: see
    /// [`paceline_sim::runs::Run::scenario`].
    pub(crate) fn run_from(
        &self,
        network: &Network,
        duration: Span,
        seed: u64,
        start: Span,
    ) -> Result<Vec<SenderFigures>, BuildError> {
        if let Contender::Table { table, params } = self
            && start.is_zero()
        {
            let senders = TableSenders { table, others: None, params };
            if let Some(run) = FastRun::new(network, senders, duration, seed) {
                return Ok(run.run(None));
            }
        }
        score::run_from(network, &self.scheme(), duration, seed, start)
    }

    /// Its senders' scheme.
    pub(crate) fn scheme(&self) -> SchemeChoice {
        match self {
            Contender::Scheme(scheme) => scheme.clone(),
            Contender::Table { table, params } => {
                CustomScheme::new("remy", halves(params.clone(), Arc::clone(table), None)).into()
            }
        }
    }
}

/// A table on one network, in the specialised world if that can run it, else in the general one.
pub(crate) struct TableRun {
    /// The figures; none if the run was given up.
    pub(crate) run: BoundedRun,
    /// The uses of each rule, if they were counted.
    pub(crate) uses: Vec<RuleUse>,
}

/// Tries a table on one network. Gives the run up if `bounded` and its senders flood the network: see
/// [`score::run_within_reason`].
pub(crate) fn run_table(
    table: &Arc<RuleTable>,
    specimen: &Specimen,
    uses: bool,
    bounded: bool,
) -> Result<TableRun, BuildError> {
    let Specimen { network, duration, seed, origin, .. } = specimen;
    let (duration, seed) = (*duration, *seed);
    let others = origin.beside.as_ref().map(|(table, _)| table);
    let senders = TableSenders { table, others, params: &specimen.params() };
    if let Some(run) = FastRun::new(network, senders, duration, seed) {
        let mut usage = uses.then(|| UsageCounts::new(table.rules().len()));
        let run = match bounded {
            true => run.run_within_reason(network.packets_per_ms(duration)?, usage.as_mut()),
            false => BoundedRun::whole(run.run(usage.as_mut()), duration),
        };
        return Ok(TableRun { run, uses: usage.map_or_else(Vec::new, UsageCounts::into_rules) });
    }
    let usage = uses.then(|| Arc::new(Usage::new(table.rules().len())));
    let observer = usage.clone().map(|usage| usage as Arc<dyn RuleObserver>);
    let scheme = specimen.scheme(table, observer);
    let run = match bounded {
        true => score::run_within_reason(network, &scheme, duration, seed)?,
        false => BoundedRun::whole(score::run(network, &scheme, duration, seed)?, duration),
    };
    Ok(TableRun { run, uses: usage.map_or_else(Vec::new, |usage| usage.rules()) })
}

/// Tries a table on one network, to the end.
fn trial(table: &Arc<RuleTable>, specimen: &Specimen, uses: bool) -> Result<Trial, BuildError> {
    let TableRun { run, uses } = run_table(table, specimen, uses, false)?;
    Ok(Trial { senders: run.senders.unwrap_or_default(), uses })
}

/// What a table is worth on the networks of a specification, tried by `evaluator`.
///
/// # Errors
/// As of [`Evaluator::trials`].
pub fn evaluate_by(
    evaluator: &impl Evaluator,
    table: &Arc<RuleTable>,
    specification: &Specification,
    seed: u64,
    uses: bool,
) -> Result<Score, EvaluatorError> {
    let specimens = specification.specimens(seed);
    let trials = evaluator.trials(table, &specimens, uses)?;
    let scores: Vec<f64> =
        trials.iter().map(|trial| trial.score(&specification.objective)).collect();
    let packets = trials.iter().flat_map(|trial| &trial.senders).map(|sender| sender.packets).sum();
    let simulated_s = specimens.iter().map(|specimen| specimen.duration.as_secs_f64()).sum();
    let uses = usage::join(trials.into_iter().map(|trial| trial.uses));
    let total = specification.objective.total(&scores);
    Ok(Score { total, specimens: scores, uses, simulated_s, packets })
}

/// What a table is worth on the networks of a specification, tried on all cores, with the uses of
/// its rules.
///
/// # Errors
/// If a network cannot be built.
pub fn evaluate(
    table: &Arc<RuleTable>,
    specification: &Specification,
    seed: u64,
) -> Result<Score, EvaluatorError> {
    evaluate_by(&Local, table, specification, seed, true)
}
