//! Units of work: independent of each other, and kept by a digest of their inputs.

use std::fmt::Write as _;
use std::sync::Arc;

use paceline_sim::Names;
use paceline_sim::scenario::{Capacity, Scenario};

use crate::record::Record;
use crate::repeat::scenario_of_run;

/// Function that does a task's work.
type TaskFunction = Box<dyn Fn() -> Result<Record, String> + Send + Sync>;

/// One unit of work.
pub struct Task {
    /// Name within its plan: `abc on Verizon-LTE-short.down`.
    pub name: String,
    /// Text with all inputs of the result, except for the program.
    pub(crate) key: String,
    /// Cost in seconds of simulated traffic or an equal amount of work, for estimates of the time
    /// left.
    pub cost: f64,
    /// Whether it measures in real time, so that no other task may run at the same time.
    pub(crate) alone: bool,
    /// Whether it runs once, also where other tasks of its plan run several times.
    once: bool,
    /// Selects the series of the record by their names; `None` keeps all.
    is_series_kept: Option<fn(&str) -> bool>,
    work: Work,
}

/// Rate of a link in Mbit/s up to which a second of traffic takes about as long to simulate as on any
/// other link; beyond, its packets decide.
const ORDINARY_MBPS: f64 = 100.0;

/// Returns the rate of the fastest link of constant rate, in Mbit/s.
fn fastest_link_mbps(scenario: &Scenario) -> f64 {
    let constant = |capacity: &Capacity| match capacity {
        Capacity::Constant(rate) => rate.as_mbps(),
        _ => 0.0,
    };
    scenario.links.iter().map(|link| constant(&link.capacity)).fold(0.0, f64::max)
}

/// The work of a task.
enum Work {
    Simulation(Simulation),
    Other(TaskFunction),
}

/// A scenario, and how it runs.
struct Simulation {
    scenario: Arc<Scenario>,
    /// Schemes and queues; `None` for the built-in ones.
    names: Option<Arc<Names>>,
    /// Whether to compute the flows' self-inflicted delays.
    self_inflicted: bool,
    /// Number of the run, and the seed with which its plan was made.
    run: (u32, u64),
}

impl Simulation {
    fn run(&self) -> Result<Record, String> {
        let builtin;
        let names = match &self.names {
            Some(names) => &**names,
            None => {
                builtin = paceline_remy::names();
                &builtin
            }
        };
        let (number, seed) = self.run;
        let mut scenario = scenario_of_run(&self.scenario, number, seed).into_owned();
        // A record has no digest.
        scenario.digest = false;
        let run = match self.self_inflicted {
            true => paceline_requests::run(&scenario, names),
            false => paceline_sim::run_with(&scenario, names),
        };
        run.map(|outcome| Record::from(&outcome)).map_err(|error| error.to_string())
    }
}

impl Task {
    /// Returns a task that simulates a scenario.
    pub fn scenario(name: impl Into<String>, scenario: Scenario) -> Task {
        Task::simulation(name.into(), scenario, None, false)
    }

    /// Simulates a scenario with the schemes and queues of `names`.
    pub fn scenario_with(name: impl Into<String>, scenario: Scenario, names: Arc<Names>) -> Task {
        Task::simulation(name.into(), scenario, Some(names), false)
    }

    /// Returns a task that simulates a scenario and computes the flows' self-inflicted delays
    /// (thesis §2.4.1), which needs a second run of the link with the omniscient protocol.
    pub fn with_self_inflicted(name: impl Into<String>, scenario: Scenario) -> Task {
        Task::simulation(name.into(), scenario, None, true)
    }

    fn new(name: String, key: String, cost: f64, work: Work) -> Task {
        Task { name, key, cost, alone: false, once: false, is_series_kept: None, work }
    }

    fn simulation(
        name: String,
        scenario: Scenario,
        names: Option<Arc<Names>>,
        self_inflicted: bool,
    ) -> Task {
        let mut key = String::from(if self_inflicted { "self-inflicted;" } else { "" });
        let mut plain = scenario.clone();
        // The name labels a run and changes nothing in it: equal runs of two experiments are one. With
        // a caller's schemes it stays, since two callers may have different ones of one name.
        if names.is_none() {
            plain.name.clear();
        }
        for link in &mut plain.links {
            if let Capacity::Trace { trace, .. } = &link.capacity {
                // The trace's content goes into the key as a hash.
                let _ = write!(key, "{}:{:016x};", link.name, hash_entries(trace.opportunities()));
                link.capacity = Capacity::Constant(paceline_cc::Rate::ZERO);
            }
        }
        let _ = write!(key, "{plain:?}");
        // So does a table's content.
        for flow in &scenario.flows {
            let args = flow.scheme.named().map(|spec| &spec.sender.args);
            for (_, file) in args.into_iter().flatten().filter(|(name, _)| name == "file") {
                let bytes = std::fs::read(file).unwrap_or_default();
                let _ = write!(key, ";{:016x}", hash(&bytes, HASH_START));
            }
        }
        let flows: u32 = scenario.flows.iter().map(|flow| flow.count).sum();
        let cost = scenario.duration.as_secs_f64() * (1.0 + f64::from(flows) / 8.0);
        let cost = cost * (fastest_link_mbps(&scenario) / ORDINARY_MBPS).max(1.0);
        let scenario = Arc::new(scenario);
        let simulation = Simulation { scenario, names, self_inflicted, run: (1, 0) };
        Task::new(name, key, cost, Work::Simulation(simulation))
    }

    /// Returns a task with other work. `key` must have all inputs of the result, except for the
    /// program.
    pub fn other(
        name: impl Into<String>,
        key: impl Into<String>,
        cost: f64,
        work: impl Fn() -> Result<Record, String> + Send + Sync + 'static,
    ) -> Task {
        Task::new(name.into(), key.into(), cost, Work::Other(Box::new(work)))
    }

    /// Returns a task in real time, which runs alone and after all others.
    pub fn live(
        name: String,
        key: String,
        cost: f64,
        work: impl Fn() -> Result<Record, String> + Send + Sync + 'static,
    ) -> Task {
        Task { alone: true, once: true, ..Task::other(name, key, cost, work) }
    }

    /// Returns the task with a record that has only those series for which `is_kept` is true of their
    /// names. Records of equal keys must keep the same series.
    #[must_use]
    pub fn keeping_series(self, is_kept: fn(&str) -> bool) -> Task {
        let key = format!("fewer series;{}", self.key);
        Task { key, is_series_kept: Some(is_kept), ..self }
    }

    /// Returns the task as one that runs once, also where other tasks of its plan run several times:
    /// for results that are shown, but by which nothing is judged.
    pub fn once(self) -> Task {
        Task { once: true, ..self }
    }

    /// Returns whether it runs once: it was made so by [`once`](Self::once), or runs in real time.
    pub fn runs_once(&self) -> bool {
        self.once
    }

    /// Returns the task in run `number` of its plan, which was made with the seed `seed`. Run 1 is
    /// the task itself. Scenarios of other runs have other seeds, starts and processing times at
    /// hosts (`repeat.rs`); a task that is no simulation differs only by what its plan made of the
    /// seed.
    pub fn of_run(mut self, number: u32, seed: u64) -> Task {
        if let (Work::Simulation(simulation), true) = (&mut self.work, number > 1) {
            simulation.run = (number, seed);
            let _ = write!(self.key, ";run {number} of {seed}");
        }
        self
    }

    /// Returns the text with all inputs of the result, except for the program: tasks with equal keys
    /// have equal results.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the scenario of the first run, if the task simulates one.
    pub fn simulates(&self) -> Option<&Scenario> {
        match &self.work {
            Work::Simulation(simulation) => Some(&simulation.scenario),
            Work::Other(_) => None,
        }
    }

    /// Runs the task.
    ///
    /// # Errors
    /// The work has failed; the error says why.
    pub fn run(&self) -> Result<Record, String> {
        let mut record = match &self.work {
            Work::Simulation(simulation) => simulation.run(),
            Work::Other(work) => work(),
        }?;
        if let Some(is_kept) = self.is_series_kept {
            record.series.retain(|name, _| is_kept(name));
        }
        Ok(record)
    }
}

/// Returns the FNV-1a hash of bytes.
pub(crate) fn hash(bytes: &[u8], start: u64) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Start value of [`hash`].
pub(crate) const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

fn hash_entries(entries: &[u32]) -> u64 {
    let mix = |state: u64, entry: &u32| (state ^ u64::from(*entry)).wrapping_mul(0x100_0000_01b3);
    entries.iter().fold(HASH_START, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_that_differ_by_name_are_one_task_unless_schemes_are_a_callers() {
        let tasks = ["a", "b"].map(|name| Task::scenario(name, Scenario::new(name)));
        assert_eq!(tasks[0].key(), tasks[1].key());
        let names = Arc::new(paceline_remy::names());
        let with = |name: &str| Task::scenario_with(name, Scenario::new(name), names.clone());
        assert_ne!(with("a").key(), with("b").key());
    }
}
