//! The steps of a training.

use std::sync::Arc;

use paceline_cc::Stream;
use paceline_schemes::remy::{Action, ActionBasis, RuleTable, RuleTree, Signal};

use super::divide::{cut, divided, prune};
use super::memo::Memo;
use super::neighbours::{Change, few_neighbours, further, neighbours};
use super::race::{Baseline, Candidate, Gain, Race, TableScorer, best};
use super::settings::Procedure;
use super::state::{Phase, TrainingState};
use super::{TrainError, Trainer};
use crate::evaluate::{Evaluator, EvaluatorError};
use crate::readable::Readable;
use crate::spec::Specimen;

/// Maximum number of times that all neighbours of a rule are tried in a generation.
const ROUNDS: u32 = 4;
/// Maximum number of these rounds in the thesis' procedure, which continues until no neighbour has a
/// better score: a limit against endless training.
const ROUNDS_THESIS: u32 = 1000;
/// Number of networks in a check, in multiples of those of other steps.
const CHECKS: u64 = 3;

/// A race of tables.
type TableRace<'a, E> = Race<'a, TableScorer<'a, E>>;
type TableCandidate = Candidate<Arc<RuleTable>>;

/// The result of a step.
pub(super) struct StepOutcome {
    pub state: TrainingState,
    /// The new table, if it differs.
    pub table: Option<Arc<RuleTable>>,
    pub what: &'static str,
    pub rule: Option<usize>,
    pub gain: f64,
    pub candidates: usize,
    pub note: String,
}

impl StepOutcome {
    fn new(state: TrainingState, what: &'static str) -> StepOutcome {
        StepOutcome {
            state,
            table: None,
            what,
            rule: None,
            gain: 0.0,
            candidates: 0,
            note: String::new(),
        }
    }
}

impl<E: Evaluator> Trainer<E> {
    /// Returns the result of the next step. Changes only the baseline.
    pub(super) fn next(
        &mut self,
        memo: &Memo,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<StepOutcome, TrainError> {
        if stop() {
            return Err(TrainError::Stopped);
        }
        match self.state.phase.clone() {
            Phase::Choose => self.choose(),
            Phase::Improve { rules, rounds, change } => {
                self.improve(&rules, rounds, change, memo, stop)
            }
            Phase::Check => self.check(memo, stop),
            Phase::Aim => self.aim(),
            Phase::Split { rules } => self.split(rules, memo, stop),
        }
    }

    /// Returns the table of a tree, with the timer of this training.
    fn table_of(&self, tree: RuleTree) -> Result<RuleTable, TrainError> {
        Ok(RuleTable::new(tree)?.with_timer(self.settings.timer))
    }

    fn networks(&self, draws: u64) -> (Vec<Specimen>, u64) {
        let seed = Stream::new(self.state.seed, &format!("draw {draws}")).next_u64();
        (self.specimens(seed), seed)
    }

    /// Runs the table on the networks of draw `draws`.
    fn measure(&mut self, draws: u64) -> Result<&Baseline, TrainError> {
        let (specimens, seed) = self.networks(draws);
        let baseline = self.baseline_on(specimens, seed)?;
        Ok(self.baseline.insert(baseline))
    }

    /// Returns the table's results on these networks.
    fn baseline_on(&self, specimens: Vec<Specimen>, seed: u64) -> Result<Baseline, TrainError> {
        let objective = self.objective();
        Baseline::measure(&self.evaluator, &objective, &self.table, specimens, seed)
    }

    /// Runs the table on the networks drawn last, unless it has run there.
    pub(super) fn baseline(&mut self) -> Result<(), TrainError> {
        if self.baseline.is_none() {
            self.measure(self.state.draws)?;
        }
        Ok(())
    }

    fn race<'a>(&'a self, memo: &'a Memo, stop: &'a (dyn Fn() -> bool + Sync)) -> TableRace<'a, E> {
        Race {
            scorer: TableScorer(&self.evaluator),
            objective: self.objective(),
            memo,
            racing: self.settings.racing,
            incremental: self.settings.incremental,
            stop,
        }
    }

    /// Returns the minimum gain for this number of networks.
    fn least_gain(&self, networks: usize) -> f64 {
        self.settings.least_gain * networks as f64
    }

    /// Returns those of the best candidates that also gain on newly drawn networks, if the settings
    /// ask for it.
    fn confirmed(
        &self,
        race: &TableRace<'_, E>,
        best: Vec<(Gain, usize)>,
        candidates: &[TableCandidate],
    ) -> Result<Vec<(f64, usize)>, TrainError> {
        race.confirmed(self.settings.confirm, best, candidates, || {
            let name = format!("confirm {}", self.state.step);
            let seed = Stream::new(self.state.seed, &name).next_u64();
            self.baseline_on(self.specimens(seed), seed)
        })
    }

    fn choose(&mut self) -> Result<StepOutcome, TrainError> {
        let mut state = self.state.clone();
        state.draws += 1;
        let rules_at_once = self.settings.rules_at_once;
        let baseline = self.measure(state.draws)?;
        state.score = baseline.total();
        let mut rules: Vec<usize> = (0..baseline.uses.len())
            .filter(|&rule| state.generations[rule] <= state.generation)
            .filter(|&rule| baseline.uses[rule].count > 0)
            .collect();
        rules.sort_by_key(|&rule| std::cmp::Reverse(baseline.uses[rule].count));
        rules.truncate(rules_at_once);
        let mut note = format!("improves rules {rules:?}");
        state.phase = if !rules.is_empty() {
            Phase::Improve { rules, rounds: 0, change: None }
        } else if (state.generation + 1).is_multiple_of(self.settings.generations_per_split) {
            note = "no rule is left in this generation".into();
            Phase::Check
        } else {
            note = "no rule is left in this generation".into();
            state.generation += 1;
            state.generations.fill(state.generation);
            Phase::Choose
        };
        Ok(StepOutcome { note, ..StepOutcome::new(state, "choose") })
    }

    /// Returns the neighbours of the actions of `rules`; after a change that has gained, the
    /// actions further in its direction.
    fn candidates(
        &self,
        rules: &[usize],
        change: Option<&Change>,
    ) -> Result<Vec<(TableCandidate, Action)>, TrainError> {
        let mut candidates = Vec::new();
        for &rule in rules {
            let action = self.table.rules()[rule].action;
            let others = match change {
                Some(change) => further(&self.settings, &action, change),
                None => neighbours(&self.settings, &action),
            };
            for other in others {
                let table = Arc::new(self.table.with_action(rule, other)?);
                candidates.push((Candidate { entrant: table, rule }, other));
            }
        }
        Ok(candidates)
    }

    /// Notes that `rules` are done in this generation. Returns the next phase.
    fn done(state: &mut TrainingState, rules: &[usize]) -> Phase {
        rules.iter().for_each(|&rule| state.generations[rule] = state.generation + 1);
        Phase::Choose
    }

    fn improve(
        &mut self,
        rules: &[usize],
        rounds: u32,
        change: Option<Change>,
        memo: &Memo,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<StepOutcome, TrainError> {
        self.baseline()?;
        let mut state = self.state.clone();
        let (candidates, actions): (Vec<TableCandidate>, Vec<Action>) =
            self.candidates(rules, change.as_ref())?.into_iter().unzip();
        let Some(baseline) = &self.baseline else { return Err(TrainError::Stopped) };
        let race = self.race(memo, stop);
        let gains = race.run(baseline, &candidates)?;
        let least = self.least_gain(baseline.scores.len());
        let best_of = |&rule: &usize| best(&gains, least, |at| candidates[at].rule == rule);
        let best: Vec<(Gain, usize)> = rules.iter().flat_map(best_of).collect();
        let winners = one_per_rule(self.confirmed(&race, best, &candidates)?, &candidates);
        let tried = candidates.len();
        let rounds = if change.is_some() { rounds } else { rounds + 1 };
        let most = match self.settings.procedure {
            Procedure::Thesis => ROUNDS_THESIS,
            Procedure::Racing => ROUNDS,
        };
        let rule = (rules.len() == 1).then(|| rules[0]);
        let Some(&(first_gain, first)) = winners.first() else {
            state.phase = match change.is_none() || rounds >= most {
                true => Self::done(&mut state, rules),
                false => Phase::Improve { rules: rules.to_vec(), rounds, change: None },
            };
            let note = format!("none of {tried} candidates gains");
            return Ok(StepOutcome {
                rule,
                candidates: tried,
                note,
                ..StepOutcome::new(state, "improve")
            });
        };
        let (mut table, mut gain) = (Arc::clone(&candidates[first].entrant), first_gain);
        let mut changed = vec![first];
        // Combine changes that gain alone, as long as the combination gains more.
        for (extra, &(_, winner)) in winners.iter().enumerate().skip(1) {
            let both = table.with_action(candidates[winner].rule, actions[winner])?;
            let both = Arc::new(both);
            let all: Vec<usize> = (0..baseline.specimens.len()).collect();
            let scores = race.scores(tried + extra, &both, &baseline.specimens, &all)?;
            let together = self.objective().total(&scores) - baseline.total();
            if together > gain {
                (table, gain) = (both, together);
                changed.push(winner);
            }
        }
        let before = |at: usize| self.table.rules()[candidates[at].rule].action;
        let change = rule.map(|_| Change::between(&before(first), &actions[first]));
        let racing = self.settings.procedure == Procedure::Racing;
        state.phase = match rounds >= most && change.is_none() {
            true => Self::done(&mut state, rules),
            false => {
                Phase::Improve { rules: rules.to_vec(), rounds, change: change.filter(|_| racing) }
            }
        };
        state.score = baseline.total() + gain;
        let words = |&at: &usize| {
            let rule = candidates[at].rule;
            format!("rule {rule}: {} -> {}", short(&before(at)), short(&actions[at]))
        };
        let note = changed.iter().map(words).collect::<Vec<_>>().join("; ");
        Ok(StepOutcome {
            table: Some(table),
            rule,
            gain,
            candidates: tried,
            note,
            ..StepOutcome::new(state, "improve")
        })
    }

    fn check(
        &mut self,
        memo: &Memo,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<StepOutcome, TrainError> {
        let mut state = self.state.clone();
        let mut specimens = Vec::new();
        for _ in 0..CHECKS {
            state.draws += 1;
            specimens.extend(self.networks(state.draws).0);
        }
        let now = self.baseline_on(specimens, 0)?;
        let all: Vec<usize> = (0..now.specimens.len()).collect();
        let per_draw = 1.0 / CHECKS as f64;
        let mut table = Arc::clone(&self.table);
        let mut note = format!("{:.3} per draw", now.total() * per_draw);
        state.score = now.total() * per_draw;
        let mut gain = 0.0;
        if let Some(kept) = &state.kept {
            let kept = kept.tree().map_err(|error| EvaluatorError::Other(error.to_string()))?;
            let kept = Arc::new(self.table_of(kept)?);
            let before = self.race(memo, stop).scores(0, &kept, &now.specimens, &all)?;
            let before = self.objective().total(&before);
            gain = (now.total() - before) * per_draw;
            note += &format!(", before {:.3}", before * per_draw);
            if gain < 0.0 {
                note += ": taken back";
                (table, state.score) = (kept, before * per_draw);
            }
        }
        if gain >= 0.0 && self.settings.prune {
            let mut used: Vec<bool> = now.uses.iter().map(|one| one.count > 0).collect();
            let first = table.rule_for(&Default::default());
            used.resize(table.rules().len(), false);
            first.into_iter().for_each(|rule| used[rule] = true);
            let mut tree = table.tree();
            let mut nothing = vec![(); used.len()];
            let went = prune(&mut tree, &mut used, &mut nothing);
            if went > 0 {
                note += &format!("; {went} rules were never used and go");
                table = Arc::new(self.table_of(tree)?);
            }
        }
        state.kept = Some(Readable::of_table(&table, ""));
        state.generation += 1;
        state.generations = vec![state.generation; table.rules().len()];
        let room = table.rules().len() < self.settings.max_rules;
        state.phase = if room { Phase::Aim } else { Phase::Choose };
        Ok(StepOutcome { table: Some(table), gain, note, ..StepOutcome::new(state, "check") })
    }

    /// Selects the rules to divide: the one used most; in the racing procedure half of them.
    fn aim(&mut self) -> Result<StepOutcome, TrainError> {
        let mut state = self.state.clone();
        state.draws += 1;
        let baseline = self.measure(state.draws)?;
        state.score = baseline.total();
        let mut rules: Vec<usize> =
            (0..baseline.uses.len()).filter(|&rule| baseline.uses[rule].count > 0).collect();
        rules.sort_by_key(|&rule| std::cmp::Reverse(baseline.uses[rule].count));
        let all = self.table.rules().len();
        rules.truncate(match self.settings.procedure {
            Procedure::Thesis => 1,
            Procedure::Racing => all.div_ceil(2).min(self.settings.max_rules.saturating_sub(all)),
        });
        // The largest number is divided first, so that the other numbers stay valid.
        rules.sort_unstable();
        let note = format!("may divide rules {rules:?}");
        state.phase = if rules.is_empty() { Phase::Choose } else { Phase::Split { rules } };
        Ok(StepOutcome { note, ..StepOutcome::new(state, "aim") })
    }

    fn split(
        &mut self,
        mut rules: Vec<usize>,
        memo: &Memo,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<StepOutcome, TrainError> {
        self.baseline()?;
        let mut state = self.state.clone();
        let Some(number) = rules.pop() else {
            state.phase = Phase::Choose;
            return Ok(StepOutcome::new(state, "split"));
        };
        let Some(baseline) = &self.baseline else { return Err(TrainError::Stopped) };
        let rule = self.table.rules()[number];
        let samples = baseline.uses.get(number).map_or(&[][..], |uses| uses.samples());
        let cuts = Signal::ALL
            .into_iter()
            .filter_map(|signal| cut(&rule.domain, samples, signal).map(|end| (signal, end)));
        let cuts: Vec<(Signal, f64)> = cuts.collect();
        let with = |cuts: &[(Signal, f64)]| -> Result<RuleTable, TrainError> {
            let mut tree = self.table.tree();
            if let Some(leaf) = tree.leaf_mut(number) {
                *leaf = divided(&rule, cuts);
            }
            self.table_of(tree)
        };
        state.phase = if rules.is_empty() { Phase::Choose } else { Phase::Split { rules } };
        if self.settings.procedure == Procedure::Thesis {
            let table = Arc::new(with(&cuts)?);
            let added = table.rules().len() - self.table.rules().len();
            insert(&mut state, number, added);
            let note = format!("rule {number} is divided: {}", places(&cuts));
            let done = StepOutcome::new(state, "split");
            return Ok(StepOutcome { table: Some(table), rule: Some(number), note, ..done });
        }
        // Each axis alone, with a different action for one half.
        let mut candidates = Vec::new();
        let mut about = Vec::new();
        for place in &cuts {
            let table = with(std::slice::from_ref(place))?;
            for half in [0, 1] {
                for action in few_neighbours(&self.settings, &rule.action) {
                    let table = Arc::new(table.with_action(number + half, action)?);
                    candidates.push(Candidate { entrant: table, rule: number });
                    about.push((*place, half, action));
                }
            }
        }
        let race = self.race(memo, stop);
        let gains = race.run(baseline, &candidates)?;
        let best = best(&gains, self.least_gain(baseline.scores.len()), |_| true);
        let tried = candidates.len();
        let Some(&(gain, at)) = self.confirmed(&race, best, &candidates)?.first() else {
            let note = format!("none of {tried} divisions of rule {number} gains");
            let done = StepOutcome::new(state, "split");
            return Ok(StepOutcome { rule: Some(number), candidates: tried, note, ..done });
        };
        insert(&mut state, number, 1);
        state.score = baseline.total() + gain;
        let (place, half, action) = about[at];
        let note = format!(
            "rule {number} is divided: {}; {} half: {} -> {}",
            places(&[place]),
            if half == 0 { "lower" } else { "upper" },
            short(&rule.action),
            short(&action)
        );
        Ok(StepOutcome {
            table: Some(Arc::clone(&candidates[at].entrant)),
            rule: Some(number),
            gain,
            candidates: tried,
            note,
            ..StepOutcome::new(state, "split")
        })
    }
}

/// Inserts entries for the rules that replace a divided one.
fn insert(state: &mut TrainingState, number: usize, added: usize) {
    let generation = state.generation;
    state.generations.splice(number..number, std::iter::repeat_n(generation, added));
}

/// Returns one winner per rule, best first. `winners` has those of a rule from the best on.
fn one_per_rule(
    mut winners: Vec<(f64, usize)>,
    candidates: &[TableCandidate],
) -> Vec<(f64, usize)> {
    let mut taken = Vec::new();
    winners.retain(|&(_, at)| {
        let is_new = !taken.contains(&candidates[at].rule);
        taken.push(candidates[at].rule);
        is_new
    });
    winners.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    winners
}

/// Writes an action in a few characters.
fn short(action: &Action) -> String {
    let Action { basis, multiple, increment, intersend_ms, queue_ms } = action;
    let window = format!("m {multiple} b {increment} r {intersend_ms}");
    match basis {
        ActionBasis::Window => window,
        ActionBasis::Rate => format!("{window} t {queue_ms}"),
    }
}

fn places(cuts: &[(Signal, f64)]) -> String {
    let words = cuts.iter().map(|(signal, end)| format!("{} at {end:.6}", signal.name()));
    words.collect::<Vec<_>>().join(", ")
}
