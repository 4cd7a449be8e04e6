//! Units of work: independent of each other, and kept by a digest of their inputs.

use std::fmt::Write as _;
use std::sync::Arc;

use paceline_sim::Names;
use paceline_sim::scenario::Scenario;

use crate::record::Record;

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
    scenario: Option<Arc<Scenario>>,
    work: TaskFunction,
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

    fn simulation(
        name: String,
        scenario: Scenario,
        names: Option<Arc<Names>>,
        self_inflicted: bool,
    ) -> Task {
        let mut key = String::from(if self_inflicted { "self-inflicted;" } else { "" });
        let mut plain = scenario.clone();
        for link in &mut plain.links {
            if let paceline_sim::scenario::Capacity::Trace { trace, .. } = &link.capacity {
                // The trace's content goes into the key as a hash.
                let _ = write!(key, "{}:{:016x};", link.name, hash_entries(trace.opportunities()));
                link.capacity = paceline_sim::scenario::Capacity::Constant(paceline_cc::Rate::ZERO);
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
        let scenario = Arc::new(scenario);
        let kept = Some(Arc::clone(&scenario));
        let work = move || {
            let builtin;
            let names = match &names {
                Some(names) => &**names,
                None => {
                    builtin = paceline_remy::names();
                    &builtin
                }
            };
            let run = match self_inflicted {
                true => paceline_requests::run(&scenario, names),
                false => paceline_sim::run_with(&scenario, names),
            };
            match run {
                Ok(outcome) => Ok(Record::from(&outcome)),
                Err(error) => Err(error.to_string()),
            }
        };
        Task { name, key, cost, alone: false, scenario: kept, work: Box::new(work) }
    }

    /// Returns a task with other work. `key` must have all inputs of the result, except for the
    /// program.
    pub fn other(
        name: impl Into<String>,
        key: impl Into<String>,
        cost: f64,
        work: impl Fn() -> Result<Record, String> + Send + Sync + 'static,
    ) -> Task {
        let (name, key) = (name.into(), key.into());
        Task { name, key, cost, alone: false, scenario: None, work: Box::new(work) }
    }

    /// Returns a task in real time, which runs alone and after all others.
    pub fn live(
        name: String,
        key: String,
        cost: f64,
        work: impl Fn() -> Result<Record, String> + Send + Sync + 'static,
    ) -> Task {
        Task { alone: true, ..Task::other(name, key, cost, work) }
    }

    /// Returns the task with a record that has only those series for which `is_kept` is true of their
    /// names. Records of equal keys must keep the same series.
    #[must_use]
    pub fn keeping_series(self, is_kept: fn(&str) -> bool) -> Task {
        let Task { name, key, cost, alone, scenario, work } = self;
        let work = move || {
            let mut record = work()?;
            record.series.retain(|name, _| is_kept(name));
            Ok(record)
        };
        let key = format!("fewer series;{key}");
        Task { name, key, cost, alone, scenario, work: Box::new(work) }
    }

    /// Returns the scenario, if the task simulates one.
    pub fn simulates(&self) -> Option<&Scenario> {
        self.scenario.as_deref()
    }

    /// Runs the task.
    ///
    /// # Errors
    /// The work has failed; the error says why.
    pub fn run(&self) -> Result<Record, String> {
        (self.work)()
    }
}

/// Returns the FNV-1a hash of bytes.
pub(crate) fn hash(bytes: &[u8], start: u64) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Start value of [`hash`].
pub(crate) const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

fn hash_entries(entries: &[u32]) -> u64 {
    entries.iter().fold(HASH_START, |state, entry| hash(&entry.to_le_bytes(), state))
}
