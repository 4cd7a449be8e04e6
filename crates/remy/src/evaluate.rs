//! The core of a trainer: the score of a table on the networks of a specification.

use std::sync::Arc;

use paceline_cc::Span;
use paceline_schemes::remy::{RemyParams, RuleObserver, RuleTable, halves};
use paceline_sim::BuildError;
use paceline_sim::scenario::{CustomScheme, SchemeChoice};
use rayon::prelude::*;

use crate::Network;
use crate::score::{self, BoundedRun, SenderFigures};
use crate::spec::{Objective, Specification, Specimen};
use crate::usage::{self, RuleUse, Usage, UsageCounts};
use paceline_remy_runs::{FastRun, TableSenders};

/// Results of a table on one network.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// Results of each sender.
    pub senders: Vec<SenderFigures>,
    /// How often each rule was used, if that was counted.
    pub uses: Vec<RuleUse>,
}

impl Trial {
    /// Returns the mean of [`Objective::score`] over the senders that count.
    pub fn score(&self, objective: &Objective) -> f64 {
        let scores = self.senders.iter().filter_map(|sender| objective.score(sender));
        let (sum, count) = scores.fold((0.0, 0u32), |(sum, count), score| (sum + score, count + 1));
        sum / f64::from(count.max(1))
    }

    /// Returns the mean of `figure` over the senders, without those of another scheme.
    pub fn mean(&self, figure: impl Fn(&SenderFigures) -> f64) -> f64 {
        let own = || self.senders.iter().filter(|sender| !sender.other);
        own().map(figure).sum::<f64>() / own().count().max(1) as f64
    }
}

/// The score of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Score {
    /// [`Objective::total`] of the networks' scores.
    pub total: f64,
    /// The score of each network.
    pub specimens: Vec<f64>,
    /// How often each rule was used on all networks, if that was counted.
    pub uses: Vec<RuleUse>,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Packets that arrived.
    pub packets: f64,
}

/// Runs tables on networks: on this machine, or on others.
pub trait Evaluator: Sync {
    /// Runs a table on each of the networks, and returns the results in their order. Counts the use
    /// of rules if `uses`.
    ///
    /// # Errors
    /// A network cannot be built, or another machine cannot be reached.
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError>;
}

/// Why a table could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluatorError {
    /// A network cannot be built.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// Any other error, for example of another machine, in words.
    #[error("{0}")]
    Other(String),
}

/// Runs tables on all cores of this machine. The results do not depend on the number of cores.
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

/// Returns senders that follow a table. Without `repairs` they behave as in the published program;
/// with it they retransmit lost packets and react to timeouts.
pub fn scheme(
    table: &Arc<RuleTable>,
    repairs: bool,
    observer: Option<Arc<dyn RuleObserver>>,
) -> SchemeChoice {
    let params = RemyParams { as_published: !repairs, ..RemyParams::default() };
    CustomScheme::new("remy", halves(params, Arc::clone(table), observer)).into()
}

/// The senders that are run on networks.
#[derive(Clone, Debug)]
pub enum Contender {
    /// A scheme, by name or as a value.
    Scheme(SchemeChoice),
    /// Senders that follow a table.
    Table {
        /// The table.
        table: Arc<RuleTable>,
        /// Their parameters. The table named there is ignored.
        params: RemyParams,
    },
}

impl From<SchemeChoice> for Contender {
    fn from(scheme: SchemeChoice) -> Contender {
        Contender::Scheme(scheme)
    }
}

impl Contender {
    /// Runs the senders on a network and returns the results of each.
    ///
    /// # Errors
    /// The network cannot be built.
    pub fn run(
        &self,
        network: &Network,
        duration: Span,
        seed: u64,
    ) -> Result<Vec<SenderFigures>, BuildError> {
        self.run_from(network, duration, seed, Span::ZERO)
    }

    /// Runs like [`Contender::run`], with the network's recordings started `start` later: see
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

    /// Returns the scheme of the senders.
    pub(crate) fn scheme(&self) -> SchemeChoice {
        match self {
            Contender::Scheme(scheme) => scheme.clone(),
            Contender::Table { table, params } => {
                CustomScheme::new("remy", halves(params.clone(), Arc::clone(table), None)).into()
            }
        }
    }
}

/// The run of a table on one network, in the specialised world if that supports the network,
/// otherwise in the general one.
pub(crate) struct TableRun {
    /// The results; without senders if the run was given up.
    pub(crate) run: BoundedRun,
    /// How often each rule was used, if that was counted.
    pub(crate) uses: Vec<RuleUse>,
}

/// Runs a table on one network. If `bounded`, gives the run up when the senders flood the network:
/// see [`score::run_within_reason`].
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

/// Runs a table on one network, to the end.
fn trial(table: &Arc<RuleTable>, specimen: &Specimen, uses: bool) -> Result<Trial, BuildError> {
    let TableRun { run, uses } = run_table(table, specimen, uses, false)?;
    Ok(Trial { senders: run.senders.unwrap_or_default(), uses })
}

/// Returns the score of a table on the networks of a specification, run by `evaluator`.
///
/// # Errors
/// Those of [`Evaluator::trials`].
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

/// Returns the score of a table on the networks of a specification, run on all cores, with the use
/// of each rule.
///
/// # Errors
/// A network cannot be built.
pub fn evaluate(
    table: &Arc<RuleTable>,
    specification: &Specification,
    seed: u64,
) -> Result<Score, EvaluatorError> {
    evaluate_by(&Local, table, specification, seed, true)
}
