//! Races candidates against the present table, on the same networks with the same seeds.
//!
//! All candidates run on a first part of the networks. A candidate continues while the differences
//! per network do not show that it is worse than the present table or than the best candidate for
//! the same rule. The final decision uses sums over all networks. So a good candidate may be given
//! up early, but no candidate wins by a part of the networks.

use std::sync::Arc;

use paceline_cc::Stream;
use paceline_schemes::remy::{Memory, RuleTable};
use rayon::prelude::*;

use super::TrainError;
use super::memo::Memo;
use crate::evaluate::Evaluator;
use crate::spec::{Objective, Specimen};
use crate::usage::{self, RuleUse};

/// Parts of the networks after which poor candidates are given up.
const STAGES: [f64; 5] = [1.0 / 9.0, 2.0 / 9.0, 4.0 / 9.0, 2.0 / 3.0, 1.0];
/// Number of standard errors by which a candidate must be behind to be given up.
const BEHIND: f64 = 1.0;
/// A difference this low occurs only if some sender's packets never arrive.
const RUIN: f64 = -1e6;

/// The present table's results on the networks of a step.
pub(super) struct Baseline {
    /// The networks.
    pub(super) specimens: Vec<Specimen>,
    /// Contribution of each network's score: [`Objective::counted`] with the table's own threshold.
    pub(super) scores: Vec<f64>,
    objective: Objective,
    threshold: Option<f64>,
    /// Uses of each rule on all networks.
    pub(super) uses: Vec<RuleUse>,
    /// True if a rule is used on a network, by network and rule.
    used: Vec<Vec<bool>>,
    /// The networks in the order in which candidates run on them.
    order: Vec<usize>,
}

impl Baseline {
    /// Runs a table on networks. `seed` determines their order.
    pub(super) fn measure(
        evaluator: &impl Evaluator,
        objective: &Objective,
        table: &Arc<RuleTable>,
        specimens: Vec<Specimen>,
        seed: u64,
    ) -> Result<Baseline, TrainError> {
        let trials = evaluator.trials(table, &specimens, true)?;
        let scores: Vec<f64> = trials.iter().map(|trial| trial.score(objective)).collect();
        let threshold = objective.threshold(&scores);
        let scores = scores.into_iter().map(|score| objective.counted(score, threshold)).collect();
        // Each connection starts with the rule for the empty memory, whose use is not reported.
        let first = table.rule_for(&Memory::default());
        let used = |uses: &[RuleUse]| -> Vec<bool> {
            let is_used = |(rule, one): (usize, &RuleUse)| one.count > 0 || first == Some(rule);
            uses.iter().enumerate().map(is_used).collect()
        };
        let used = trials.iter().map(|trial| used(&trial.uses)).collect();
        let uses = usage::join(trials.into_iter().map(|trial| trial.uses));
        let mut order: Vec<usize> = (0..specimens.len()).collect();
        let mut random = Stream::new(seed, "order of networks");
        for at in (1..order.len()).rev() {
            order.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
        let objective = *objective;
        Ok(Baseline { specimens, scores, objective, threshold, uses, used, order })
    }

    /// Returns the contribution of another table's score on a network, with this table's threshold.
    pub(super) fn counted(&self, score: f64) -> f64 {
        self.objective.counted(score, self.threshold)
    }

    /// Returns the sum of the scores' contributions.
    pub(super) fn total(&self) -> f64 {
        self.scores.iter().sum()
    }

    /// Returns the networks on which rule `rule` is used, in the order in which candidates run on
    /// them.
    fn affected(&self, rule: usize) -> Vec<usize> {
        let is_used = |&network: &usize| self.used[network].get(rule).is_none_or(|&used| used);
        self.order.iter().copied().filter(is_used).collect()
    }
}

/// A table that may replace the present one.
#[derive(Clone)]
pub(super) struct Candidate {
    /// The table.
    pub(super) table: Arc<RuleTable>,
    /// Number of the rule that differs from the present table.
    pub(super) rule: usize,
}

/// Gain of a candidate over all networks.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Gain {
    /// Sum of the differences.
    pub(super) total: f64,
    /// Its standard error, from the differences per network.
    pub(super) error: f64,
}

impl Gain {
    fn of(differences: &[f64]) -> Gain {
        let count = differences.len() as f64;
        // One network gives no estimate of the error.
        let error = if count < 2.0 { f64::INFINITY } else { count * mean_and_error(differences).1 };
        Gain { total: differences.iter().sum(), error }
    }

    /// Returns true if the gain exceeds zero by this many standard errors.
    pub(super) fn is_sure(&self, errors: f64) -> bool {
        self.total > errors * self.error
    }
}

/// Everything needed to run candidates.
pub(super) struct Race<'a, E> {
    /// Runs the candidates.
    pub(super) evaluator: &'a E,
    /// How senders are scored.
    pub(super) objective: Objective,
    /// Known scores of this step.
    pub(super) memo: &'a Memo,
    /// True if poor candidates are given up early.
    pub(super) racing: bool,
    /// True if candidates run only on networks on which their rule is used.
    pub(super) incremental: bool,
    /// Returns true when there is no more time.
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// A candidate in the race.
struct Runner {
    networks: Vec<usize>,
    /// Differences to the present table so far.
    gains: Vec<f64>,
    alive: bool,
}

impl<E: Evaluator> Race<'_, E> {
    /// Returns the scores of a table on these networks, by their numbers.
    pub(super) fn scores(
        &self,
        candidate: usize,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        networks: &[usize],
    ) -> Result<Vec<f64>, TrainError> {
        let known: Vec<Option<f64>> =
            networks.iter().map(|&network| self.memo.find(candidate, network)).collect();
        let missing: Vec<usize> = networks
            .iter()
            .zip(&known)
            .filter(|(_, score)| score.is_none())
            .map(|(&n, _)| n)
            .collect();
        let mut fresh = Vec::new();
        if !missing.is_empty() {
            if (self.stop)() {
                return Err(TrainError::Stopped);
            }
            let these: Vec<Specimen> =
                missing.iter().map(|&network| specimens[network].clone()).collect();
            let trials = self.evaluator.trials(table, &these, false)?;
            fresh = trials.iter().map(|trial| trial.score(&self.objective)).collect();
            self.memo.keep(candidate, missing.into_iter().zip(fresh.iter().copied()).collect())?;
        }
        let mut fresh = fresh.into_iter();
        Ok(known.into_iter().filter_map(|score| score.or_else(|| fresh.next())).collect())
    }

    /// Returns the gain of a candidate on networks other than those on which it was chosen.
    pub(super) fn confirm(
        &self,
        number: usize,
        fresh: &Baseline,
        candidate: &Candidate,
    ) -> Result<f64, TrainError> {
        let networks = match self.incremental {
            true => fresh.affected(candidate.rule),
            false => fresh.order.clone(),
        };
        let scores = self.scores(number, &candidate.table, &fresh.specimens, &networks)?;
        let gain = |(network, score): (usize, f64)| fresh.counted(score) - fresh.scores[network];
        Ok(networks.into_iter().zip(scores).map(gain).sum())
    }

    /// Runs candidates. Returns the gain of each over all networks; `None` for those given up.
    pub(super) fn run(
        &self,
        baseline: &Baseline,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<Gain>>, TrainError> {
        let runner = |candidate: &Candidate| Runner {
            networks: match self.incremental {
                true => baseline.affected(candidate.rule),
                false => baseline.order.clone(),
            },
            gains: Vec::new(),
            alive: true,
        };
        let mut runners: Vec<Runner> = candidates.iter().map(runner).collect();
        for part in if self.racing { &STAGES[..] } else { &[1.0] } {
            let all = runners.par_iter_mut().zip(candidates).enumerate();
            all.filter(|(_, (runner, _))| runner.alive).try_for_each(
                |(number, (runner, candidate))| {
                    let upto = (runner.networks.len() as f64 * part).ceil() as usize;
                    let upto = upto.clamp(runner.gains.len(), runner.networks.len());
                    let networks = &runner.networks[runner.gains.len()..upto];
                    let scores =
                        self.scores(number, &candidate.table, &baseline.specimens, networks)?;
                    let gain = |(&network, score): (&usize, f64)| {
                        baseline.counted(score) - baseline.scores[network]
                    };
                    let gains: Vec<f64> = networks.iter().zip(scores).map(gain).collect();
                    runner.gains.extend(gains);
                    Ok::<(), TrainError>(())
                },
            )?;
            if *part < 1.0 {
                give_up(&mut runners, candidates);
            }
        }
        Ok(runners.iter().map(|runner| runner.alive.then(|| Gain::of(&runner.gains))).collect())
    }
}

/// Gives up candidates that make no difference, that are behind the present table, or that are
/// behind the best candidate for the same rule.
fn give_up(runners: &mut [Runner], candidates: &[Candidate]) {
    let sum = |runner: &Runner| runner.gains.iter().sum::<f64>();
    let best_of = |rule: usize| {
        let mine = |at: &usize| runners[*at].alive && candidates[*at].rule == rule;
        let all = (0..runners.len()).filter(mine);
        // Of equal candidates, keep the first.
        all.reduce(|best, at| if sum(&runners[at]) > sum(&runners[best]) { at } else { best })
    };
    let stays = |at: usize| {
        let gains = &runners[at].gains;
        let best = best_of(candidates[at].rule).map_or(&[][..], |best| &runners[best].gains[..]);
        let behind_best: Vec<f64> = gains.iter().zip(best).map(|(own, best)| own - best).collect();
        let idle = gains.iter().all(|&gain| gain == 0.0);
        !idle && !is_behind(gains) && !is_behind(&behind_best)
    };
    let stay: Vec<bool> = (0..runners.len()).map(|at| runners[at].alive && stays(at)).collect();
    runners.iter_mut().zip(stay).for_each(|(runner, stay)| runner.alive = stay);
}

/// Returns true if the mean difference is below zero by more than its standard error.
fn is_behind(gains: &[f64]) -> bool {
    if gains.iter().any(|&gain| gain < RUIN) {
        return true;
    }
    if gains.len() < 2 {
        return false;
    }
    let (mean, error) = mean_and_error(gains);
    mean + BEHIND * error < 0.0
}

/// Returns the mean and its standard error, which is NaN for fewer than two values.
fn mean_and_error(gains: &[f64]) -> (f64, f64) {
    let count = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / count;
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_sure_by_their_spread() {
        let gain = Gain::of(&[1.0, 2.0, 3.0]);
        // The deviation is 1: that of the mean of three is 1 / √3, that of the sum √3.
        assert_eq!(gain.total, 6.0);
        assert!((gain.error - 3f64.sqrt()).abs() < 1e-12);
        assert!(gain.is_sure(3.4) && !gain.is_sure(3.5));
        assert!(!Gain::of(&[5.0]).is_sure(4.0) && !Gain::of(&[]).is_sure(4.0));
        assert!(!Gain::of(&[-1.0, -1.1]).is_sure(4.0));
    }

    #[test]
    fn only_those_clearly_behind_go() {
        assert!(is_behind(&[-1.0, -1.1, -0.9]));
        assert!(!is_behind(&[-1.0, 2.0, -1.5]));
        assert!(!is_behind(&[0.1, 0.2]));
        assert!(!is_behind(&[-5.0]) && is_behind(&[-5e8]));
        assert!(!is_behind(&[]) && !is_behind(&[0.0, 0.0]));
    }
}
