//! Training: finds a table for a specification, step by step.
//!
//! A step is a function of the state before it: it draws networks, improves a rule, divides one,
//! or checks the table. The state is kept in a file after each step, so that training that was stopped
//! or killed goes on as if it had not been; what candidates were worth within the step in progress
//! is kept too. Equal specifications and seeds give equal tables on any number of threads.

mod divide;
mod folder;
mod frugal;
mod memo;
mod neighbours;
mod race;
mod settings;
mod state;
mod steps;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use paceline_cc::schemes::remy::RuleTable;
use thiserror::Error;

pub use folder::{Folder, FolderError};
pub use frugal::{Frugal, Work};
pub use settings::{Bounds, Procedure, Settings, Vary};
pub use state::{Entry, Spent, State};

use crate::evaluate::{Evaluator, EvaluatorError};
use crate::readable::Readable;
use crate::spec::{Specification, SpecificationError};
use memo::Memo;
use race::Baseline;

/// Why training cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The specification makes no sense.
    #[error("{0}")]
    Specification(#[from] SpecificationError),
    /// The folder is of no use.
    #[error("{0}")]
    Folder(#[from] FolderError),
    /// The folder is that of another training.
    #[error(
        "{}: a training with another {what} has begun here: write the same, or train into another \
         folder", .path.display()
    )]
    Other {
        /// The file of its state.
        path: std::path::PathBuf,
        /// What is different.
        what: &'static str,
    },
    /// A table cannot be tried.
    #[error("{0}")]
    Evaluator(#[from] EvaluatorError),
    /// A step made no table.
    #[error("{0}")]
    Table(#[from] paceline_cc::schemes::remy::TableError),
    /// A score cannot be written.
    #[error("the scores of the step in progress cannot be written: {0}")]
    Io(#[from] std::io::Error),
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What is trained.
#[derive(Copy, Clone, Debug)]
pub struct Plan<'a> {
    /// The text of the specification.
    pub text: &'a str,
    /// Where its traces are looked for.
    pub folder: Option<&'a Path>,
    /// The seed.
    pub seed: u64,
}

/// Training on the way.
pub struct Trainer<E> {
    evaluator: E,
    work: Arc<Work>,
    specification: Specification,
    settings: Settings,
    folder: Option<Folder>,
    state: State,
    table: Arc<RuleTable>,
    /// The table on the networks that were drawn last, if it has run there.
    baseline: Option<Baseline>,
}

impl<E: Evaluator> Trainer<E> {
    /// Begins a training that is kept nowhere. `evaluator` adds what it does to `work`.
    ///
    /// # Errors
    /// If the specification makes no sense.
    pub fn new(plan: &Plan<'_>, evaluator: E, work: Arc<Work>) -> Result<Trainer<E>, TrainError> {
        let Plan { text, folder, seed } = *plan;
        let specification = Specification::parse_in(text, folder)?;
        let settings = Settings::parse(text)?;
        settings.check(&specification)?;
        let tree = settings.first();
        let state = State::first(text, seed, &tree);
        let table = Arc::new(RuleTable::new(tree)?);
        Ok(Trainer {
            evaluator,
            work,
            specification,
            settings,
            folder: None,
            state,
            table,
            baseline: None,
        })
    }

    /// Begins a training in a folder, or goes on with the one there. Gives the log so far, too.
    ///
    /// # Errors
    /// If the specification makes no sense, is another one or has another seed than that in the
    /// folder, or the folder is of no use.
    pub fn open(
        plan: &Plan<'_>,
        evaluator: E,
        work: Arc<Work>,
        folder: Folder,
    ) -> Result<(Trainer<E>, Vec<Entry>), TrainError> {
        let mut trainer = Trainer::new(plan, evaluator, work)?;
        let Plan { text, seed, .. } = *plan;
        match folder.state()? {
            None => folder.write("specification.toml", text)?,
            Some((state, table)) => {
                let other = |what| TrainError::Other { path: folder.file("state.json"), what };
                if state.specification != text {
                    return Err(other("specification"));
                }
                if state.seed != seed {
                    return Err(other("seed"));
                }
                (trainer.state, trainer.table) = (state, Arc::new(table));
            }
        }
        let log = folder.log_up_to(trainer.state.step)?;
        folder.save(&trainer.state, &trainer.readable().to_toml())?;
        trainer.folder = Some(folder);
        Ok((trainer, log))
    }

    /// The present table.
    pub fn table(&self) -> &Arc<RuleTable> {
        &self.table
    }

    /// What training knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The specification.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The present table in its readable form, with what it was trained for.
    pub fn readable(&self) -> Readable {
        let about = format!(
            "Trained with seed {}: {} generations, {} candidates. The specification:\n{}",
            self.state.seed,
            self.state.generation,
            self.state.spent.candidates,
            self.state.specification
        );
        Readable::of(&self.table.tree(), about)
    }

    /// True once so many generations are over.
    pub fn is_done(&self, generations: u32) -> bool {
        self.state.generation >= generations
    }

    /// The uses of each rule on the networks drawn last, where the table runs if it has not yet.
    ///
    /// # Errors
    /// If the table cannot be tried.
    pub fn uses(&mut self) -> Result<Vec<crate::usage::RuleUse>, TrainError> {
        self.baseline()?;
        Ok(self.baseline.as_ref().map_or_else(Vec::new, |baseline| baseline.uses.clone()))
    }

    /// Does one step, and keeps what it led to. `stop` is asked before each run whether there is
    /// time for it.
    ///
    /// # Errors
    /// [`TrainError::Stopped`] if there was no more time: the step is done again from what is
    /// known of it by the next call. Else if a table cannot be tried or a file not written.
    pub fn step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Entry, TrainError> {
        let (wall, before) = (Instant::now(), (self.work.simulated_s(), self.work.cpu_s()));
        let number = self.state.step + 1;
        let memo = match &self.folder {
            Some(folder) => folder.memo(number)?,
            None => Memo::new(number, None),
        };
        let done = self.next(&memo, stop)?;
        let mut state = done.state;
        state.step = number;
        state.spent.simulated_s += self.work.simulated_s() - before.0;
        state.spent.cpu_s += self.work.cpu_s() - before.1;
        state.spent.wall_s += wall.elapsed().as_secs_f64();
        state.spent.candidates += done.candidates as u64;
        if let Some(table) = done.table {
            state.table = Readable::of(&table.tree(), "");
            self.table = table;
            self.baseline = None;
        }
        let entry = Entry {
            step: number,
            what: done.what.to_string(),
            generation: state.generation,
            rules: self.table.rules().len(),
            rule: done.rule,
            score: state.score,
            gain: done.gain,
            note: done.note,
            spent: state.spent,
        };
        self.state = state;
        if let Some(folder) = &self.folder {
            folder.commit(&self.state, &self.readable().to_toml(), &entry)?;
        }
        Ok(entry)
    }
}
