//! Units of work: independent of each other, kept by what they are.

use std::fmt::Write as _;
use std::sync::Arc;

use paceline_sim::scenario::Scenario;

use crate::record::Record;

/// What a task does.
type TaskFunction = Box<dyn Fn() -> Result<Record, String> + Send + Sync>;

/// One unit of work of an experiment.
pub struct Task {
    /// Its name within the experiment: `abc on Verizon-LTE-short.down`.
    pub name: String,
    /// Everything that its result depends on beside the program.
    pub(crate) key: String,
    /// Seconds of simulated traffic, or as much work: for estimates of the time left.
    pub cost: f64,
    /// True if it measures in real time, so that nothing else may run beside it.
    pub(crate) alone: bool,
    scenario: Option<Arc<Scenario>>,
    work: TaskFunction,
}

impl Task {
    /// The simulation of a scenario.
    pub fn scenario(name: impl Into<String>, scenario: Scenario) -> Task {
        Task::simulation(name.into(), scenario, false)
    }

    /// The same, with the flows' self-inflicted delays (thesis §2.4.1), which take another run of
    /// the link by the omniscient protocol.
    pub fn with_self_inflicted(name: impl Into<String>, scenario: Scenario) -> Task {
        Task::simulation(name.into(), scenario, true)
    }

    fn simulation(name: String, scenario: Scenario, self_inflicted: bool) -> Task {
        let mut key = String::from(if self_inflicted { "self-inflicted;" } else { "" });
        let mut plain = scenario.clone();
        for link in &mut plain.links {
            if let paceline_sim::scenario::Capacity::Trace { trace, .. } = &link.capacity {
                // A trace by its content, not written out.
                let _ = write!(key, "{}:{:016x};", link.name, hash_entries(trace.opportunities()));
                link.capacity = paceline_sim::scenario::Capacity::Constant(paceline_cc::Rate::ZERO);
            }
        }
        let _ = write!(key, "{plain:?}");
        // A table by its content, too.
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
            let run = match self_inflicted {
                true => paceline_requests::run(&scenario),
                false => paceline_sim::run_with(&scenario, &paceline_remy::names()),
            };
            match run {
                Ok(outcome) => Ok(Record::from(&outcome)),
                Err(error) => Err(error.to_string()),
            }
        };
        Task { name, key, cost, alone: false, scenario: kept, work: Box::new(work) }
    }

    /// Other work; `key` names all that its result depends on beside the program.
    pub fn other(
        name: impl Into<String>,
        key: impl Into<String>,
        cost: f64,
        work: impl Fn() -> Result<Record, String> + Send + Sync + 'static,
    ) -> Task {
        let (name, key) = (name.into(), key.into());
        Task { name, key, cost, alone: false, scenario: None, work: Box::new(work) }
    }

    /// Work in real time, which is done after all other, and alone.
    pub(crate) fn live(
        name: String,
        key: String,
        cost: f64,
        work: impl Fn() -> Result<Record, String> + Send + Sync + 'static,
    ) -> Task {
        Task { alone: true, ..Task::other(name, key, cost, work) }
    }

    /// The scenario that is simulated, if the work is that.
    pub fn simulates(&self) -> Option<&Scenario> {
        self.scenario.as_deref()
    }

    /// Does the work.
    ///
    /// # Errors
    /// Why it could not be done.
    pub fn run(&self) -> Result<Record, String> {
        (self.work)()
    }
}

/// FNV-1a over bytes.
pub(crate) fn hash(bytes: &[u8], start: u64) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The start of [`hash`].
pub(crate) const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

fn hash_entries(entries: &[u32]) -> u64 {
    entries.iter().fold(HASH_START, |state, entry| hash(&entry.to_le_bytes(), state))
}
