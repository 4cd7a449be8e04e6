//! Tuning: finds numbers of a hand-made scheme for a specification, with the optimiser of tables.
//!
//! A step improves one number: other values of it race against the present one, on the same networks
//! with the same seeds, and the winner must also gain on newly drawn networks. A generation improves
//! each number once. So tables can be compared with schemes that had the same networks, the same aim
//! and the same search.

mod numbers;
mod state;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use paceline_cc::{SchemeSpec, Stream};
use paceline_sim::Names;
use paceline_sim::scenario::{CustomScheme, SchemeChoice};
use rayon::prelude::*;

pub use state::{TuningEntry, TuningState};

use crate::clock::CpuClock;
use crate::evaluate::{EvaluatorError, Trial};
use crate::score;
use crate::spec::{Objective, Specification, SpecificationError, Specimen};
use crate::train::files;
use crate::train::folder::Search;
use crate::train::memo::Memo;
use crate::train::race::{Baseline, Candidate, Race, Scorer, best};
use crate::train::sets::{Set, networks_of};
use crate::train::{EvaluatorWork, Folder, Settings, TrainError};
use numbers::{Number, numbers};

/// Number of generations without a change after which tuning ends.
const IDLE_GENERATIONS: u64 = 2;

/// What to tune.
#[derive(Copy, Clone, Debug)]
pub struct TuningPlan<'a> {
    /// The text of the specification.
    pub text: &'a str,
    /// Folder of its trace files.
    pub folder: Option<&'a Path>,
    /// The scheme, with its numbers at the beginning.
    pub scheme: &'a str,
    /// The numbers that may change; all if empty.
    pub vary: &'a [String],
    /// The seed.
    pub seed: u64,
    /// Known schemes and queues.
    pub names: &'a Names,
}

/// Runs a scheme on networks.
struct SchemeScorer<'a>(&'a EvaluatorWork);

impl Scorer for SchemeScorer<'_> {
    type Entrant = SchemeChoice;

    fn scores(
        &self,
        scheme: &SchemeChoice,
        specimens: &[Specimen],
        objective: &Objective,
    ) -> Result<Vec<f64>, EvaluatorError> {
        let score = |specimen: &Specimen| {
            let Specimen { network, duration, seed, .. } = specimen;
            let clock = CpuClock::start();
            let run = score::run_within_reason(network, scheme, *duration, *seed)?;
            self.0.add(run.simulated.as_secs_f64(), clock.seconds());
            let senders = run.senders.unwrap_or_else(|| score::flooded(network));
            Ok(Trial { senders, uses: Vec::new() }.score(objective))
        };
        specimens.par_iter().map(score).collect()
    }
}

/// A tuning in progress.
pub struct Tuner {
    names: Names,
    work: Arc<EvaluatorWork>,
    specification: Specification,
    settings: Settings,
    folder: Option<Folder>,
    state: TuningState,
    scheme: SchemeSpec,
    /// Results of the scheme on the networks drawn last, if it has run there.
    baseline: Option<Baseline>,
}

impl Tuner {
    /// Begins a tuning that is not saved. Adds its cost to `work`.
    ///
    /// # Errors
    /// The specification or the scheme is invalid, or the scheme has no such numbers.
    pub fn new(plan: &TuningPlan<'_>, work: Arc<EvaluatorWork>) -> Result<Tuner, TrainError> {
        let TuningPlan { text, folder, scheme, vary, seed, names } = *plan;
        let specification = Specification::parse_in(text, folder)?;
        let settings = Settings::parse(text)?;
        if specification.trains_two() {
            let problem = "tuning has one kind of sender: write others = { scheme = \"NAME\" }";
            let error = SpecificationError::value("networks.others.trained", problem);
            return Err(error.in_text(text).into());
        }
        let written =
            names.check_scheme(scheme).map_err(|error| EvaluatorError::Other(error.to_string()))?;
        let mut state = TuningState::first(text, seed, &written, vary);
        state.files = Some(files::digests(text, folder));
        let tuner = Tuner {
            names: names.clone(),
            work,
            specification,
            settings,
            folder: None,
            state,
            scheme: written,
            baseline: None,
        };
        tuner.check_numbers()?;
        Ok(tuner)
    }

    /// Begins a tuning in a folder, or continues the one there. Also returns the log so far.
    ///
    /// # Errors
    /// Those of [`Tuner::new`]; the specification, scheme, numbers or seed differ from the folder's,
    /// or the folder cannot be used.
    pub fn open(
        plan: &TuningPlan<'_>,
        work: Arc<EvaluatorWork>,
        folder: Folder,
    ) -> Result<(Tuner, Vec<TuningEntry>), TrainError> {
        let mut tuner = Tuner::new(plan, work)?;
        match folder.state_text(Search::Tuning)? {
            None => folder.write("specification.toml", plan.text)?,
            Some(text) => {
                let path = folder.file("state.json");
                let broken = |problem: String| {
                    EvaluatorError::Other(format!(
                        "{}: {problem}; the tuning cannot go on from here: tune into another folder",
                        path.display()
                    ))
                };
                let mut state = TuningState::read(&text).map_err(broken)?;
                let scheme = tuner.names.check_scheme(&state.scheme);
                let scheme = scheme.map_err(|error| broken(error.to_string()))?;
                let now = &tuner.state;
                for (what, is_equal) in [
                    ("specification", state.specification == now.specification),
                    ("scheme", state.start == now.start),
                    ("choice of numbers", state.vary == now.vary),
                    ("seed", state.seed == now.seed),
                ] {
                    if !is_equal {
                        return Err(TrainError::Other { path, what: what.into() });
                    }
                }
                if let Some(file) = files::changed(&state.files, &now.files) {
                    let what = format!("content of {file}");
                    return Err(TrainError::Other { path, what });
                }
                state.files.clone_from(&now.files);
                (tuner.state, tuner.scheme) = (state, scheme);
            }
        }
        let step = tuner.state.step;
        let log = folder.log_while(|entry: &TuningEntry| entry.step <= step)?;
        folder.save(&tuner.state, &tuner.files())?;
        tuner.folder = Some(folder);
        Ok((tuner, log))
    }

    /// Returns an error if a number to change is unknown, or if there is none.
    fn check_numbers(&self) -> Result<(), TrainError> {
        let all = numbers(&self.names, &self.scheme);
        let labels: Vec<String> = all.iter().map(|number| number.label(&self.scheme)).collect();
        let scheme = &self.state.start;
        let problem = match self.state.vary.iter().find(|name| !labels.contains(name)) {
            Some(name) => format!("{scheme} has no number `{name}`; it has: {}", labels.join(", ")),
            None if labels.is_empty() => format!("{scheme} has no number that could be tuned"),
            None => return Ok(()),
        };
        Err(EvaluatorError::Other(problem).into())
    }

    /// Returns the numbers that may change.
    fn numbers(&self) -> Vec<Number> {
        let vary = &self.state.vary;
        let mut all = numbers(&self.names, &self.scheme);
        all.retain(|number| vary.is_empty() || vary.contains(&number.label(&self.scheme)));
        all
    }

    /// Returns the scheme with its present numbers, without those that have their defaults.
    pub fn scheme(&self) -> SchemeSpec {
        self.names.without_defaults(&self.scheme)
    }

    /// Returns the state.
    pub fn state(&self) -> &TuningState {
        &self.state
    }

    /// Returns true if no number has changed for two generations: newly drawn networks would
    /// hardly change one.
    pub fn is_settled(&self) -> bool {
        self.state.idle >= IDLE_GENERATIONS
    }

    /// Returns the score per network on the validation set, of the scheme with its present numbers.
    ///
    /// # Errors
    /// The scheme cannot be run.
    pub fn validate(&self) -> Result<f64, TrainError> {
        self.score_on(Set::Validation, &self.scheme)
    }

    /// Returns the scores per network on the test set, by which nothing is selected: of the scheme
    /// at the beginning, and with its present numbers.
    ///
    /// # Errors
    /// The scheme cannot be run.
    pub fn judge(&self) -> Result<(f64, f64), TrainError> {
        let start = self.names.check_scheme(&self.state.start);
        let start = start.map_err(|error| EvaluatorError::Other(error.to_string()))?;
        Ok((self.score_on(Set::Test, &start)?, self.score_on(Set::Test, &self.scheme)?))
    }

    fn score_on(&self, set: Set, scheme: &SchemeSpec) -> Result<f64, TrainError> {
        let specimens = networks_of(&self.specification, set);
        let objective = &self.specification.objective;
        let scores = self.scorer().scores(&choice(&self.names, scheme)?, &specimens, objective)?;
        Ok(objective.total(&scores) / scores.len().max(1) as f64)
    }

    fn scorer(&self) -> SchemeScorer<'_> {
        SchemeScorer(&self.work)
    }

    fn files(&self) -> [(&'static str, String); 1] {
        [("scheme.txt", format!("{}\n", self.scheme()))]
    }

    /// Returns the scheme's results on the networks of a seed.
    fn measure(&self, seed: u64) -> Result<Baseline, TrainError> {
        let objective = &self.specification.objective;
        let specimens = self.specification.specimens(seed);
        let scores =
            self.scorer().scores(&choice(&self.names, &self.scheme)?, &specimens, objective)?;
        Ok(Baseline::of_scores(objective, specimens, scores, seed))
    }

    fn seed(&self, name: &str) -> u64 {
        Stream::new(self.state.seed, name).next_u64()
    }

    /// Does one step and saves its result. Calls `stop` before each run; true means that there is
    /// no more time.
    ///
    /// # Errors
    /// [`TrainError::Stopped`] if there was no more time: the next call repeats the step and reuses
    /// its known scores. Other errors if the scheme cannot be run or a file cannot be written.
    pub fn step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<TuningEntry, TrainError> {
        let folder = self.folder.clone();
        let saving_stop = || {
            // An error shows when the step is committed.
            let _ = folder.as_ref().map(Folder::save_if_due);
            stop()
        };
        self.make_step(&saving_stop).or_else(|error| {
            folder.as_ref().map_or(Ok(()), Folder::save_kept)?;
            Err(error)
        })
    }

    fn make_step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<TuningEntry, TrainError> {
        if stop() {
            return Err(TrainError::Stopped);
        }
        let (wall, before) = (Instant::now(), (self.work.simulated_s(), self.work.cpu_s()));
        let mut state = self.state.clone();
        state.step += 1;
        let memo = match &self.folder {
            Some(folder) => folder.memo(state.step)?,
            None => Memo::new(state.step, None),
        };
        let all = self.numbers();
        let index = state.number.min(all.len().saturating_sub(1));
        let Some(number) = all.get(index) else { return Err(TrainError::Stopped) };
        if state.change.is_none() {
            // Another number: other networks.
            state.draws += 1;
            self.baseline = None;
        }
        if self.baseline.is_none() {
            self.baseline = Some(self.measure(self.seed(&format!("draw {}", state.draws)))?);
        }
        let Some(baseline) = &self.baseline else { return Err(TrainError::Stopped) };
        let others = match state.change {
            Some(change) => number.further(&self.names, &self.scheme, change),
            None => number.neighbours(&self.names, &self.scheme),
        };
        let candidate = |(scheme, _): &(SchemeSpec, _)| {
            Ok(Candidate { entrant: choice(&self.names, scheme)?, rule: 0 })
        };
        let candidates: Result<Vec<_>, EvaluatorError> = others.iter().map(candidate).collect();
        let candidates: Vec<Candidate<SchemeChoice>> = candidates?;
        let race = Race {
            scorer: self.scorer(),
            objective: self.specification.objective,
            memo: &memo,
            racing: self.settings.racing,
            incremental: false,
            stop,
        };
        let gains = race.run(baseline, &candidates)?;
        let least = self.settings.least_gain * baseline.scores.len() as f64;
        let winners = race.confirmed(
            self.settings.confirm,
            best(&gains, least, |_| true),
            &candidates,
            || self.measure(self.seed(&format!("confirm {}", state.step))),
        )?;
        let label = number.label(&self.scheme);
        let total = baseline.total();
        let (gain, note, now) = match winners.first() {
            None => {
                let note = format!("none of {} values gains", candidates.len());
                (state.number, state.change) = (index + 1, None);
                state.score = total;
                (0.0, note, None)
            }
            Some(&(gain, at)) => {
                let (scheme, change) = &others[at];
                let note = format!(
                    "{label}: {} -> {}",
                    number.value_in(&self.scheme),
                    number.value_in(scheme)
                );
                state.change = *change;
                state.number = if change.is_some() { index } else { index + 1 };
                state.has_gained = true;
                state.score = total + gain;
                (gain, note, Some(scheme.clone()))
            }
        };
        state.spent.candidates += candidates.len() as u64;
        let is_generation = state.number >= all.len();
        if is_generation {
            state.idle = if state.has_gained { 0 } else { state.idle + 1 };
            state.generation += 1;
            (state.number, state.has_gained) = (0, false);
        }
        if let Some(scheme) = now {
            (self.scheme, self.baseline) = (scheme, None);
        }
        let mut validation = None;
        if self.settings.validate && (is_generation || state.step == 1) {
            validation = Some(self.validate()?);
        }
        state.validation = validation.or(state.validation);
        state.scheme = self.scheme.to_string();
        state.spent.simulated_s += self.work.simulated_s() - before.0;
        state.spent.cpu_s += self.work.cpu_s() - before.1;
        state.spent.wall_s += wall.elapsed().as_secs_f64();
        let entry = TuningEntry {
            step: state.step,
            generation: state.generation,
            number: label,
            scheme: self.scheme().to_string(),
            score: state.score,
            gain,
            validation,
            note,
            spent: state.spent,
        };
        self.state = state;
        if let Some(folder) = &self.folder {
            folder.commit(&self.state, &self.files(), &entry, is_generation)?;
        }
        Ok(entry)
    }
}

/// Returns a scheme as a value. Its label has no numbers, since random streams are named by it.
fn choice(names: &Names, scheme: &SchemeSpec) -> Result<SchemeChoice, EvaluatorError> {
    let halves = names
        .build_scheme(&scheme.sender)
        .map_err(|error| EvaluatorError::Other(error.to_string()))?;
    let made = CustomScheme::new(&scheme.sender.name, halves);
    Ok(made.with_queue(scheme.queue.clone()).into())
}
