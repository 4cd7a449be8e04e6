//! Training: finds a table for a specification, step by step.
//!
//! A step is a function of the state before it: it draws networks, improves a rule, divides one, or
//! checks the table. The state is saved at most once a second, at each end of a generation and at the
//! end, with the scores of candidates within the step in progress, so that a stopped or killed
//! training continues as if it had not been interrupted. Equal specifications and seeds give equal tables on any number of threads.

mod divide;
mod evaluator;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod memo;
mod neighbours;
pub(crate) mod race;
pub(crate) mod sets;
mod settings;
mod start;
mod state;
mod steps;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use paceline_schemes::remy::RuleTable;
use thiserror::Error;

pub use evaluator::{EvaluatorWork, TrainingEvaluator};
pub use folder::{Folder, FolderError};
pub use settings::{Bounds, Confirm, Procedure, Settings, Vary};
pub use state::{Entry, TrainingCost, TrainingState};

use crate::evaluate::{Evaluator, EvaluatorError};
use crate::readable::Readable;
use crate::spec::{Objective, Specification, SpecificationError, Specimen};
use memo::Memo;
use race::Baseline;
use sets::Set;
use state::Phase;

/// Why training cannot continue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The specification is invalid.
    #[error("{0}")]
    Specification(#[from] SpecificationError),
    /// The folder cannot be used.
    #[error("{0}")]
    Folder(#[from] FolderError),
    /// The folder contains another training.
    #[error(
        "{}: a training with another {what} has begun here: write the same, or train into another \
         folder", .path.display()
    )]
    Other {
        /// File of its state.
        path: std::path::PathBuf,
        /// The part that differs.
        what: String,
    },
    /// A table cannot be run.
    #[error("{0}")]
    Evaluator(#[from] EvaluatorError),
    /// A step produced an invalid table.
    #[error("{0}")]
    Table(#[from] paceline_schemes::remy::TableError),
    /// A score cannot be written.
    #[error("the scores of the step in progress cannot be written: {0}")]
    Io(#[from] std::io::Error),
    /// The caller asked it to stop.
    #[error("stopped")]
    Stopped,
}

/// What to train.
#[derive(Copy, Clone, Debug)]
pub struct Plan<'a> {
    /// The text of the specification.
    pub text: &'a str,
    /// Folder of its trace files.
    pub folder: Option<&'a Path>,
    /// The seed.
    pub seed: u64,
    /// The table to start from; `None` for the single rule of the settings.
    pub start: Option<&'a RuleTable>,
}

impl<'a> Plan<'a> {
    /// Plans training for a specification, from a single rule.
    pub fn new(text: &'a str, folder: Option<&'a Path>, seed: u64) -> Plan<'a> {
        Plan { text, folder, seed, start: None }
    }

    /// Returns true if another text is equivalent: comments, spaces, the order of keys and the
    /// notation of values may differ.
    pub(crate) fn says(&self, other: &str) -> bool {
        if self.text == other {
            return true;
        }
        let tables = |text: &str| toml::from_str::<toml::Table>(text).ok();
        if let (Some(one), Some(other)) = (tables(self.text), tables(other))
            && one == other
        {
            return true;
        }
        let read = |text: &str| {
            let specification = Specification::parse_in(text, self.folder).ok()?;
            Some((specification, Settings::parse(text).ok()?))
        };
        read(self.text).is_some_and(|own| Some(own) == read(other))
    }
}

/// A training in progress.
pub struct Trainer<E> {
    evaluator: E,
    work: Arc<EvaluatorWork>,
    specification: Specification,
    settings: Settings,
    folder: Option<Folder>,
    state: TrainingState,
    table: Arc<RuleTable>,
    /// The second table, if two are trained in turn.
    other: Option<Arc<RuleTable>>,
    /// Results of the table on the networks drawn last, if it has run there.
    baseline: Option<Baseline>,
}

impl<E: Evaluator> Trainer<E> {
    /// Begins a training that is not saved. `evaluator` must add its cost to `work`.
    ///
    /// # Errors
    /// The specification is invalid.
    pub fn new(
        plan: &Plan<'_>,
        evaluator: E,
        work: Arc<EvaluatorWork>,
    ) -> Result<Trainer<E>, TrainError> {
        let Plan { text, folder, seed, start } = *plan;
        let specification = Specification::parse_in(text, folder)?;
        let settings = Settings::parse(text)?;
        settings.check(&specification).map_err(|error| error.in_text(text))?;
        let tree = match start {
            None => settings.first(),
            Some(table) => settings.start_with(table).map_err(|error| error.in_text(text))?,
        };
        let two = specification.trains_two();
        let table = RuleTable::new(tree)?.with_timer(settings.timer);
        let mut state = TrainingState::first(text, seed, &table, two);
        state.files = Some(files::digests(text, folder));
        state.start = start.map(|_| Readable::of_table(&table, ""));
        let table = Arc::new(table);
        let other = two.then(|| Arc::clone(&table));
        Ok(Trainer {
            evaluator,
            work,
            specification,
            settings,
            folder: None,
            state,
            table,
            other,
            baseline: None,
        })
    }

    /// Begins a training in a folder, or continues the one there. Also returns the log so far.
    ///
    /// # Errors
    /// The specification is invalid, the specification or the seed differs from the folder's, or
    /// the folder cannot be used.
    pub fn open(
        plan: &Plan<'_>,
        evaluator: E,
        work: Arc<EvaluatorWork>,
        folder: Folder,
    ) -> Result<(Trainer<E>, Vec<Entry>), TrainError> {
        let mut trainer = Trainer::new(plan, evaluator, work)?;
        let Plan { text, seed, start, .. } = *plan;
        match folder.state()? {
            None => folder.write("specification.toml", text)?,
            Some((mut state, table)) => {
                let other = |what: &str| TrainError::Other {
                    path: folder.file("state.json"),
                    what: what.into(),
                };
                if !plan.says(&state.specification) {
                    return Err(other("specification"));
                }
                if state.specification != text {
                    folder.write("specification.toml", text)?;
                    state.specification = text.to_string();
                }
                if let Some(file) = files::changed(&state.files, &trainer.state.files) {
                    return Err(other(&format!("content of {file}")));
                }
                state.files.clone_from(&trainer.state.files);
                if start.is_some() && state.start != trainer.state.start {
                    return Err(other("table to start from"));
                }
                if state.seed != seed {
                    return Err(other("seed"));
                }
                if state.partner.is_some() != trainer.other.is_some() {
                    return Err(other("number of tables"));
                }
                // A state that was read has valid tables.
                trainer.other = state.other_table().ok().flatten().map(Arc::new);
                (trainer.state, trainer.table) = (state, Arc::new(table));
            }
        }
        let step = trainer.state.step;
        let log = folder.log_while(|entry: &Entry| entry.step <= step)?;
        folder.save(&trainer.state, &trainer.files())?;
        trainer.folder = Some(folder);
        Ok((trainer, log))
    }

    /// Returns the present table of the senders for which the first table is trained.
    pub fn table(&self) -> &Arc<RuleTable> {
        match &self.other {
            Some(other) if self.is_others_turn() => other,
            _ => &self.table,
        }
    }

    /// Returns the second table, if two are trained in turn.
    pub fn others_table(&self) -> Option<&Arc<RuleTable>> {
        let other = self.other.as_ref()?;
        Some(if self.is_others_turn() { &self.table } else { other })
    }

    /// Returns true while the second table is being trained.
    fn is_others_turn(&self) -> bool {
        self.state.partner.as_ref().is_some_and(|partner| partner.first)
    }

    /// Returns the state.
    pub fn state(&self) -> &TrainingState {
        &self.state
    }

    /// Returns the specification.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// Returns the present table in its readable form, with a description of its training.
    pub fn readable(&self) -> Readable {
        self.described(self.table(), "Trained")
    }

    /// Returns the readable form of the second table, if two are trained in turn.
    pub fn others_readable(&self) -> Option<Readable> {
        let trained = "The table of the other senders, trained";
        self.others_table().map(|table| self.described(table, trained))
    }

    fn described(&self, table: &RuleTable, trained: &str) -> Readable {
        let about = format!(
            "{trained} with seed {}: {} generations, {} candidates. The specification:\n{}",
            self.state.seed,
            self.generations(),
            self.state.spent.candidates,
            self.state.specification
        );
        let mut readable = Readable::of_table(table, about);
        readable.resolution = self.specification.resolution();
        readable
    }

    /// Returns the table files of a folder, by name: `table.toml`, and `others.toml` if two tables
    /// are trained.
    fn files(&self) -> Vec<(&'static str, String)> {
        let mut files = vec![("table.toml", self.readable().to_toml())];
        if let Some(readable) = self.others_readable() {
            files.push(("others.toml", readable.to_toml()));
        }
        files
    }

    /// Returns the number of completed generations; with two tables, of both.
    pub fn generations(&self) -> u32 {
        self.state.generations_done()
    }

    /// Returns true once this many generations are complete; with two tables, of both.
    pub fn is_done(&self, generations: u32) -> bool {
        self.generations() >= generations
    }

    /// Returns the networks of a seed, as seen by the senders whose table is being trained.
    fn specimens(&self, seed: u64) -> Vec<Specimen> {
        let all = self.specification.specimens(seed);
        let Some(other) = &self.other else { return all };
        let swapped = self.is_others_turn();
        all.into_iter().map(|specimen| specimen.beside(other, swapped)).collect()
    }

    /// Returns the objective, as seen by the senders whose table is being trained.
    fn objective(&self) -> Objective {
        let objective = self.specification.objective;
        if self.is_others_turn() { objective.of_others() } else { objective }
    }

    /// Returns the uses of each rule of [`Trainer::table`] on the networks drawn last. Runs the
    /// table there if it has not run yet.
    ///
    /// # Errors
    /// The table cannot be run.
    pub fn uses(&mut self) -> Result<Vec<crate::usage::RuleUse>, TrainError> {
        let others = self.is_others_turn();
        if others {
            self.take_turns();
        }
        let measured = self.baseline();
        let uses = self.baseline.as_ref().map_or_else(Vec::new, |baseline| baseline.uses.clone());
        if others {
            self.take_turns();
        }
        measured.map(|()| uses)
    }

    /// Switches to training the other table, if there are two.
    fn take_turns(&mut self) {
        if let Some(other) = &mut self.other {
            self.state.take_turns();
            std::mem::swap(other, &mut self.table);
            self.baseline = None;
        }
    }

    /// Does one step and saves its result. Calls `stop` before each run; true means that there is
    /// no more time.
    ///
    /// # Errors
    /// [`TrainError::Stopped`] if there was no more time: the next call repeats the step and reuses
    /// its known scores. Other errors if a table cannot be run or a file cannot be written.
    pub fn step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Entry, TrainError> {
        let (wall, before) = (Instant::now(), (self.work.simulated_s(), self.work.cpu_s()));
        let generations = self.generations();
        let number = self.state.step + 1;
        let memo = match &self.folder {
            Some(folder) => folder.memo(number)?,
            None => Memo::new(number, None),
        };
        let folder = self.folder.clone();
        let saving_stop = || {
            // An error shows when the step is committed.
            let _ = folder.as_ref().map(Folder::save_if_due);
            stop()
        };
        let done = match self.next(&memo, &saving_stop) {
            Ok(done) => done,
            Err(error) => {
                folder.as_ref().map_or(Ok(()), Folder::save_kept)?;
                return Err(error);
            }
        };
        let mut state = done.state;
        let shows_progress = self.settings.validate && (number == 1 || done.what == "check");
        let validation = match shows_progress {
            true => {
                Some(self.score_on(Set::Validation, done.table.as_ref().unwrap_or(&self.table))?)
            }
            false => None,
        };
        state.validation = validation.or(state.validation);
        state.step = number;
        state.spent.simulated_s += self.work.simulated_s() - before.0;
        state.spent.cpu_s += self.work.cpu_s() - before.1;
        state.spent.wall_s += wall.elapsed().as_secs_f64();
        state.spent.candidates += done.candidates as u64;
        if let Some(table) = done.table {
            state.table = Readable::of_table(&table, "");
            self.table = table;
            self.baseline = None;
        }
        let of = if self.is_others_turn() { "the others' table: " } else { "" };
        let entry = Entry {
            step: number,
            what: done.what.to_string(),
            generation: state.generation,
            rules: self.table.rules().len(),
            rule: done.rule,
            score: state.score,
            gain: done.gain,
            validation,
            note: format!("{of}{}", done.note),
            spent: state.spent,
        };
        // After a check and its divisions, the other table is trained, if there are two.
        let before = std::mem::replace(&mut self.state, state).phase;
        let over = matches!(before, Phase::Check | Phase::Aim | Phase::Split { .. });
        if over && self.state.phase == Phase::Choose {
            self.take_turns();
        }
        if let Some(folder) = &self.folder {
            let is_generation = self.generations() > generations;
            folder.commit(&self.state, &self.files(), &entry, is_generation)?;
        }
        Ok(entry)
    }
}
