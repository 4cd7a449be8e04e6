//! Races candidates against the present table, or the present numbers of a scheme, on the same networks
//! with the same seeds.
//!
//! All candidates run on a first part of the networks. A candidate continues while the differences
//! per network do not show that it is worse than the present table or than the best candidate for
//! the same rule. The final decision uses sums over all networks. So a good candidate may be given
//! up early, but no candidate wins by a part of the networks.

use std::sync::Arc;

use paceline_cc::Stream;
use paceline_schemes::remy::{Memory, RuleTable};
use paceline_sim::metrics::{mean, sample_variance};
use rayon::prelude::*;

use super::TrainError;
use super::memo::Memo;
use super::settings::Confirm;
use crate::evaluate::{Evaluator, EvaluatorError};
use crate::spec::{Objective, Specimen};
use crate::usage::{self, RuleUse};

/// Parts of the networks after which poor candidates are given up.
const STAGES: [f64; 5] = [1.0 / 9.0, 2.0 / 9.0, 4.0 / 9.0, 2.0 / 3.0, 1.0];
/// Number of standard errors by which a candidate must be behind to be given up.
const BEHIND: f64 = 1.0;
/// A difference this low occurs only if some sender's packets never arrive.
const RUIN: f64 = -1e6;

/// Maximum number of best candidates per rule that are confirmed on newly drawn networks.
const CONFIRMED: usize = 2;

/// Scores what takes part in a race.
pub(crate) trait Scorer: Sync {
    /// What takes part: a table, or a scheme.
    type Entrant: Sync;

    /// Returns the score of an entrant on each of these networks.
    fn scores(
        &self,
        entrant: &Self::Entrant,
        specimens: &[Specimen],
        objective: &Objective,
    ) -> Result<Vec<f64>, EvaluatorError>;
}

/// Scores tables.
pub(super) struct TableScorer<'a, E>(pub(super) &'a E);

impl<E: Evaluator> Scorer for TableScorer<'_, E> {
    type Entrant = Arc<RuleTable>;

    fn scores(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        objective: &Objective,
    ) -> Result<Vec<f64>, EvaluatorError> {
        let trials = self.0.trials(table, specimens, false)?;
        Ok(trials.iter().map(|trial| trial.score(objective)).collect())
    }
}

/// The present table's results on the networks of a step.
pub(crate) struct Baseline {
    /// The networks.
    pub(crate) specimens: Vec<Specimen>,
    /// Score of each network.
    pub(crate) scores: Vec<f64>,
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
        // Each connection starts with the rule for the empty memory, whose use is not reported.
        let first = table.rule_for(&Memory::default());
        let used = |uses: &[RuleUse]| -> Vec<bool> {
            let is_used = |(rule, one): (usize, &RuleUse)| one.count > 0 || first == Some(rule);
            uses.iter().enumerate().map(is_used).collect()
        };
        let used = trials.iter().map(|trial| used(&trial.uses)).collect();
        let uses = usage::join(trials.into_iter().map(|trial| trial.uses));
        let baseline = Baseline::of_scores(objective, specimens, scores, seed);
        Ok(Baseline { uses, used, ..baseline })
    }

    /// Returns the results of an entrant without rules: every change of it matters on all networks.
    pub(crate) fn of_scores(
        objective: &Objective,
        specimens: Vec<Specimen>,
        scores: Vec<f64>,
        seed: u64,
    ) -> Baseline {
        let threshold = objective.threshold(&scores);
        let mut order: Vec<usize> = (0..specimens.len()).collect();
        let mut random = Stream::new(seed, "order of networks");
        for at in (1..order.len()).rev() {
            order.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
        // Where the worst networks count, candidates run on these first.
        if let Some(threshold) = threshold {
            order.sort_by_key(|&network| scores[network] > threshold);
        }
        let (objective, used) = (*objective, vec![Vec::new(); specimens.len()]);
        Baseline { specimens, scores, objective, threshold, uses: Vec::new(), used, order }
    }

    /// Returns how much more another entrant's score on a network contributes, with this table's
    /// threshold.
    fn difference(&self, network: usize, score: f64) -> f64 {
        let counted = |score: f64| self.objective.counted(score, self.threshold);
        counted(score) - counted(self.scores[network])
    }

    /// Returns the gain of an entrant with these scores on these networks, and with this one's on
    /// all others.
    fn gain(&self, networks: &[usize], scores: &[f64]) -> Gain {
        let pairs = || networks.iter().zip(scores);
        if self.objective.worst.is_none() {
            let differences = pairs().map(|(&network, &score)| self.difference(network, score));
            return Gain::of(&differences.collect::<Vec<_>>());
        }
        // Other networks may be the worst ones: each entrant has a threshold of its own.
        let mut all = self.scores.clone();
        pairs().for_each(|(&network, &score)| all[network] = score);
        let threshold = self.objective.threshold(&all);
        let difference = |(&own, &before): (&f64, &f64)| {
            self.objective.counted(own, threshold) - self.objective.counted(before, self.threshold)
        };
        let differences: Vec<f64> = all.iter().zip(&self.scores).map(difference).collect();
        Gain { total: self.objective.total(&all) - self.total(), ..Gain::of(&differences) }
    }

    /// Returns the total of the scores.
    pub(crate) fn total(&self) -> f64 {
        self.objective.total(&self.scores)
    }

    /// Returns the networks on which rule `rule` is used, in the order in which candidates run on
    /// them.
    fn affected(&self, rule: usize) -> Vec<usize> {
        let is_used = |&network: &usize| self.used[network].get(rule).is_none_or(|&used| used);
        self.order.iter().copied().filter(is_used).collect()
    }
}

/// What may replace the present table or scheme.
#[derive(Clone)]
pub(crate) struct Candidate<T> {
    /// The table or scheme.
    pub(crate) entrant: T,
    /// Number of the rule or of the scheme's number that differs.
    pub(crate) rule: usize,
}

/// Gain of a candidate over all networks.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Gain {
    /// Sum of the differences.
    pub(crate) total: f64,
    /// Its standard error, from the differences per network.
    pub(super) error: f64,
}

impl Gain {
    fn of(differences: &[f64]) -> Gain {
        let count = differences.len() as f64;
        let error = error_of_mean(differences).map_or(f64::INFINITY, |error| count * error);
        Gain { total: differences.iter().sum(), error }
    }

    /// Returns true if the gain exceeds zero by this many standard errors.
    pub(crate) fn is_sure(&self, errors: f64) -> bool {
        self.total > errors * self.error
    }
}

/// Everything needed to run candidates.
pub(crate) struct Race<'a, S> {
    /// Scores the candidates.
    pub(crate) scorer: S,
    /// How senders are scored.
    pub(crate) objective: Objective,
    /// Known scores of this step.
    pub(crate) memo: &'a Memo,
    /// True if poor candidates are given up early.
    pub(crate) racing: bool,
    /// True if candidates run only on networks on which their rule is used.
    pub(crate) incremental: bool,
    /// Returns true when there is no more time.
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
}

/// A candidate in the race.
struct Runner {
    networks: Vec<usize>,
    /// Scores so far.
    scores: Vec<f64>,
    /// Differences to the present table so far, as they count.
    gains: Vec<f64>,
    /// True if all scores so far are the present table's.
    idle: bool,
    alive: bool,
}

impl<S: Scorer> Race<'_, S> {
    /// Returns the scores of an entrant on these networks, by their numbers.
    pub(super) fn scores(
        &self,
        candidate: usize,
        entrant: &S::Entrant,
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
            fresh = self.scorer.scores(entrant, &these, &self.objective)?;
            self.memo.keep(candidate, missing.into_iter().zip(fresh.iter().copied()).collect())?;
        }
        let mut fresh = fresh.into_iter();
        Ok(known.into_iter().filter_map(|score| score.or_else(|| fresh.next())).collect())
    }

    /// Returns those of the `best` candidates that gain on newly drawn networks, too, where `confirm`
    /// asks for it: see [`Confirm`]. `fresh` runs the present table or scheme on such networks.
    pub(crate) fn confirmed(
        &self,
        confirm: Confirm,
        best: Vec<(Gain, usize)>,
        candidates: &[Candidate<S::Entrant>],
        fresh: impl FnOnce() -> Result<Baseline, TrainError>,
    ) -> Result<Vec<(f64, usize)>, TrainError> {
        let totals = best.iter().map(|&(gain, at)| (gain.total, at));
        let sure = |(gain, _): &&(Gain, usize)| match confirm {
            Confirm::Never => true,
            Confirm::Doubtful => gain.is_sure(Confirm::SURE),
            Confirm::Always => false,
        };
        let sure: Vec<(f64, usize)> =
            best.iter().filter(sure).map(|&(gain, at)| (gain.total, at)).collect();
        if best.is_empty() || !sure.is_empty() {
            return Ok(sure);
        }
        let fresh = fresh()?;
        let mut confirmed = Vec::new();
        for (gain, at) in totals {
            // Number their scores after those of all candidates and combinations.
            let number = 2 * candidates.len() + at;
            if self.confirm(number, &fresh, &candidates[at])? > 0.0 {
                confirmed.push((gain, at));
            }
        }
        Ok(confirmed)
    }

    /// Returns the gain of a candidate on networks other than those on which it was chosen.
    fn confirm(
        &self,
        number: usize,
        fresh: &Baseline,
        candidate: &Candidate<S::Entrant>,
    ) -> Result<f64, TrainError> {
        let networks = match self.incremental {
            true => fresh.affected(candidate.rule),
            false => fresh.order.clone(),
        };
        let scores = self.scores(number, &candidate.entrant, &fresh.specimens, &networks)?;
        Ok(fresh.gain(&networks, &scores).total)
    }

    /// Runs candidates. Returns the gain of each over all networks; `None` for those given up.
    pub(crate) fn run(
        &self,
        baseline: &Baseline,
        candidates: &[Candidate<S::Entrant>],
    ) -> Result<Vec<Option<Gain>>, TrainError> {
        let runner = |candidate: &Candidate<S::Entrant>| Runner {
            networks: match self.incremental {
                true => baseline.affected(candidate.rule),
                false => baseline.order.clone(),
            },
            scores: Vec::new(),
            gains: Vec::new(),
            idle: true,
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
                        self.scores(number, &candidate.entrant, &baseline.specimens, networks)?;
                    for (&network, &score) in networks.iter().zip(&scores) {
                        runner.idle &= score == baseline.scores[network];
                        runner.gains.push(baseline.difference(network, score));
                    }
                    runner.scores.extend(scores);
                    Ok::<(), TrainError>(())
                },
            )?;
            if *part < 1.0 {
                give_up(&mut runners, |at| candidates[at].rule);
            }
        }
        let gain = |runner: &Runner| baseline.gain(&runner.networks, &runner.scores);
        Ok(runners.iter().map(|runner| runner.alive.then(|| gain(runner))).collect())
    }
}

/// Gives up candidates that make no difference, that are behind the present table, or that are
/// behind the best candidate for the same rule.
fn give_up(runners: &mut [Runner], rule_of: impl Fn(usize) -> usize) {
    let sum = |runner: &Runner| runner.gains.iter().sum::<f64>();
    let best_of = |rule: usize| {
        let mine = |at: &usize| runners[*at].alive && rule_of(*at) == rule;
        let all = (0..runners.len()).filter(mine);
        // Of equal candidates, keep the first.
        all.reduce(|best, at| if sum(&runners[at]) > sum(&runners[best]) { at } else { best })
    };
    let stays = |at: usize| {
        let gains = &runners[at].gains;
        let best = best_of(rule_of(at)).map_or(&[][..], |best| &runners[best].gains[..]);
        let behind_best: Vec<f64> = gains.iter().zip(best).map(|(own, best)| own - best).collect();
        !runners[at].idle && !is_behind(gains) && !is_behind(&behind_best)
    };
    let stay: Vec<bool> = (0..runners.len()).map(|at| runners[at].alive && stays(at)).collect();
    runners.iter_mut().zip(stay).for_each(|(runner, stay)| runner.alive = stay);
}

/// Returns a few of the largest gains above `least` among the candidates selected by `of`, best
/// first.
pub(crate) fn best(
    gains: &[Option<Gain>],
    least: f64,
    of: impl Fn(usize) -> bool,
) -> Vec<(Gain, usize)> {
    let known = gains.iter().enumerate().filter(|&(at, _)| of(at));
    let known = known.filter_map(|(at, gain)| gain.map(|gain| (gain, at)));
    let mut known: Vec<(Gain, usize)> = known.filter(|(gain, _)| gain.total > least).collect();
    known.sort_by(|one, other| other.0.total.total_cmp(&one.0.total).then(one.1.cmp(&other.1)));
    known.truncate(CONFIRMED);
    known
}

/// Returns true if the mean difference is below zero by more than its standard error.
fn is_behind(gains: &[f64]) -> bool {
    if gains.iter().any(|&gain| gain < RUIN) {
        return true;
    }
    let estimate = mean(gains.iter().copied()).zip(error_of_mean(gains));
    estimate.is_some_and(|(mean, error)| mean + BEHIND * error < 0.0)
}

/// Returns the standard error of the mean; `None` for fewer than two values, which give no estimate.
fn error_of_mean(gains: &[f64]) -> Option<f64> {
    sample_variance(gains).map(|variance| (variance / gains.len() as f64).sqrt())
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
    fn the_worst_networks_come_first_and_other_differences_are_not_idle() {
        let specimens = crate::spec::Specification::general_purpose().specimens(1);
        let specimens = specimens[..8].to_vec();
        let scores = vec![0.0, -4.0, 1.0, 2.0, 3.0, 4.0, -5.0, 5.0];
        let objective = Objective { worst: Some(0.25), ..Objective::default() };
        let baseline = Baseline::of_scores(&objective, specimens, scores, 1);
        // The two worst, and the one up to which their gains count.
        let mut first = baseline.order[..3].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 6]);
        // A candidate that differs on a better network only may still gain on the others.
        assert_eq!(baseline.difference(2, 1.5), 0.0);
        let runner = |idle| Runner {
            networks: vec![2, 1],
            scores: vec![1.5],
            gains: vec![0.0],
            idle,
            alive: true,
        };
        let mut runners = [runner(false), runner(true)];
        give_up(&mut runners, |at| at);
        assert_eq!(runners.map(|runner| runner.alive), [true, false]);
        assert_eq!(baseline.gain(&[6], &[-4.5]).total, 8.0 * 0.25);
        assert_eq!(baseline.gain(&[2, 6], &[-6.0, 9.0]).total, 8.0 * -0.5);
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
