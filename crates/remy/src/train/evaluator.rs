//! An evaluator that gives up on tables that flood their network, and measures its cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_schemes::remy::RuleTable;
use rayon::prelude::*;

use crate::clock::CpuClock;
use crate::evaluate::{self, Evaluator, EvaluatorError, TableRun, Trial};
use crate::score;
use crate::spec::Specimen;

/// Cost of an evaluator so far.
#[derive(Debug, Default)]
pub struct EvaluatorWork {
    simulated_ns: AtomicU64,
    cpu_ns: AtomicU64,
}

impl EvaluatorWork {
    /// Returns the simulated seconds.
    pub fn simulated_s(&self) -> f64 {
        self.simulated_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Returns the processor seconds of all threads together.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Adds the cost of a run.
    pub fn add(&self, simulated_s: f64, cpu_s: f64) {
        self.simulated_ns.fetch_add((simulated_s * 1e9) as u64, Ordering::Relaxed);
        self.cpu_ns.fetch_add((cpu_s * 1e9) as u64, Ordering::Relaxed);
    }
}

/// Runs tables on all cores of this machine, like [`Local`](crate::evaluate::Local), but gives up
/// on tables that flood a network: none of their packets counts as arrived.
#[derive(Clone, Debug, Default)]
pub struct TrainingEvaluator {
    /// Cost so far.
    pub work: Arc<EvaluatorWork>,
}

impl Evaluator for TrainingEvaluator {
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError> {
        let trial = |specimen: &Specimen| self.trial(table, specimen, uses);
        specimens.par_iter().map(trial).collect()
    }
}

impl TrainingEvaluator {
    fn trial(
        &self,
        table: &Arc<RuleTable>,
        specimen: &Specimen,
        uses: bool,
    ) -> Result<Trial, EvaluatorError> {
        let clock = CpuClock::start();
        let TableRun { run, uses } = evaluate::run_table(table, specimen, uses, true)?;
        self.work.add(run.simulated.as_secs_f64(), clock.seconds());
        let senders = run.senders.unwrap_or_else(|| score::flooded(&specimen.network));
        Ok(Trial { senders, uses })
    }
}
