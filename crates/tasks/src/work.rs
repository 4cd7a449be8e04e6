//! Runs the tasks of one or several plans in parallel.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use paceline_remy::CpuClock;
use rayon::prelude::*;

use crate::record::Record;
use crate::results::Results;
use crate::store::Store;
use crate::task::Task;

/// Receiver of the progress of work.
pub trait Progress: Sync {
    /// Reports the planned work `total`, in units of cost, of which `done` was done in an earlier
    /// run.
    fn begin(&self, total: f64, done: f64);
    /// Reports a finished task.
    fn done(&self, task: &str, cost: f64);
    /// Returns whether to begin further tasks. If false, [`Work::results`] returns an error, and
    /// finished tasks are kept.
    fn go_on(&self) -> bool {
        true
    }
}

/// Tasks of one or several plans. Equal tasks run once.
pub struct Work {
    /// Number of plans.
    plans: usize,
    /// Each task with the number of its plan.
    tasks: Vec<(usize, Task)>,
    /// For each task, the number of the first task equal to it.
    first: Vec<usize>,
    /// For each task, its record in the store.
    kept: Vec<Option<Record>>,
}

/// Results of [`Work`].
#[derive(Debug)]
pub struct WorkResults {
    /// Results of each plan's tasks, without those that failed.
    pub plans: Vec<Results>,
    /// Tasks that failed: name and reason, sorted. Of equal tasks, the first one stands here.
    pub failures: Vec<(String, String)>,
    /// Finished tasks whose records the store could not keep: name and reason, with the file.
    pub unkept: Vec<(String, String)>,
    /// Processor time of the tasks that ran, without those whose records were kept.
    pub spent: Spent,
}

/// Processor time of work.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// Tasks that ran, in the order of their plans.
    pub tasks: Vec<TaskTime>,
    /// Wall-clock seconds of the tasks that ran side by side, and of those that run alone.
    pub wall: [f64; 2],
    /// Number of threads.
    pub threads: usize,
}

/// Processor time of a task that ran.
#[derive(Clone, Debug)]
pub struct TaskTime {
    /// Number of its plan; of equal tasks, the first one's.
    pub plan: usize,
    /// Its name.
    pub name: String,
    /// Its processor time in seconds.
    pub seconds: f64,
    /// Wall-clock seconds in which a thread was busy with it.
    pub wall: f64,
    /// Whether it runs alone, after all others.
    pub alone: bool,
    /// Whether it runs once, also where other tasks of its plan run several times.
    pub once: bool,
}

/// Names of tasks with problems, each with the reason.
#[derive(Default)]
struct Problems {
    failures: Mutex<Vec<(String, String)>>,
    /// Tasks whose records could not be kept.
    unkept: Mutex<Vec<(String, String)>>,
    /// Processor and wall-clock seconds of tasks that ran, by their numbers.
    seconds: Mutex<BTreeMap<usize, (f64, f64)>>,
}

impl Work {
    /// Plans the tasks of each plan, and looks for their records in the store.
    pub fn new(plans: Vec<Vec<Task>>, store: &Store) -> Work {
        let count = plans.len();
        let plans = plans.into_iter().enumerate();
        let tasks: Vec<(usize, Task)> =
            plans.flat_map(|(at, tasks)| tasks.into_iter().map(move |task| (at, task))).collect();
        let kept = tasks.iter().map(|(_, task)| store.find(task)).collect();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let keys = tasks.iter().map(|(_, task)| task.key.as_str()).enumerate();
        let first = keys.map(|(at, key)| *numbers.entry(key).or_insert(at)).collect();
        Work { plans: count, tasks, first, kept }
    }

    /// Returns the number of tasks, equal ones included.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns the numbers of the tasks that run.
    fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tasks.len()).filter(|&at| self.first[at] == at)
    }

    /// Returns the cost of all tasks, and of those with records in the store.
    fn costs(&self) -> (f64, f64) {
        let cost = |at: usize| self.tasks[at].1.cost;
        let kept = self.numbers().filter(|&at| self.kept[at].is_some());
        (self.numbers().map(cost).sum(), kept.map(cost).sum())
    }

    /// Returns the record of a task, from the store or by running it; `None` if it failed or
    /// `progress` has stopped the work.
    fn record(
        &self,
        at: usize,
        store: &Store,
        progress: &dyn Progress,
        problems: &Problems,
    ) -> Option<Record> {
        if let Some(record) = &self.kept[at] {
            return Some(record.clone());
        }
        if !progress.go_on() {
            return None;
        }
        let task = &self.tasks[at].1;
        let (clock, began) = (CpuClock::start(), Instant::now());
        let done = task.run();
        if let Ok(mut seconds) = problems.seconds.lock() {
            seconds.insert(at, (clock.seconds(), began.elapsed().as_secs_f64()));
        }
        let record = match done {
            Ok(record) => {
                if let Err(error) = store.keep(task, &record) {
                    note(&problems.unkept, task, error.to_string());
                }
                Some(record)
            }
            Err(problem) => {
                note(&problems.failures, task, problem);
                None
            }
        };
        progress.done(&task.name, task.cost);
        record
    }

    /// Runs all tasks on the threads of rayon's present pool, and returns their results.
    ///
    /// # Errors
    /// `progress` has stopped the work.
    pub fn results(&self, store: &Store, progress: &dyn Progress) -> Result<WorkResults, String> {
        let (cost, kept_cost) = self.costs();
        progress.begin(cost, kept_cost);
        let problems = Problems::default();
        // Long tasks run first, so that no core is idle during the last one.
        let mut order: Vec<usize> = self.numbers().collect();
        order.sort_by(|a, b| self.tasks[*b].1.cost.total_cmp(&self.tasks[*a].1.cost));
        let (alone, together): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|&at| self.tasks[at].1.alone);
        let record = |&at: &usize| (at, self.record(at, store, progress, &problems));
        // A thread takes the longest task that none has begun: rayon's own order would give the
        // longest quarter of all tasks to one of two threads.
        let next = AtomicUsize::new(0);
        let take = |_: &usize| record(&together[next.fetch_add(1, Ordering::Relaxed)]);
        let began = Instant::now();
        let mut records: BTreeMap<usize, Option<Record>> =
            together.par_iter().with_max_len(1).map(take).collect();
        let side_by_side = began.elapsed().as_secs_f64();
        records.extend(alone.iter().map(record));
        let wall = [side_by_side, began.elapsed().as_secs_f64() - side_by_side];
        if !progress.go_on() {
            return Err("stopped before the end".into());
        }
        let mut plans: Vec<Results> = (0..self.plans).map(|_| Results::default()).collect();
        for ((plan, task), at) in self.tasks.iter().zip(&self.first) {
            if let Some(Some(record)) = records.get(at) {
                plans[*plan].insert(&task.name, record.clone());
            }
        }
        let seconds = problems.seconds.into_inner().unwrap_or_default();
        let time = |(at, (seconds, wall)): (usize, (f64, f64))| {
            let (plan, task) = &self.tasks[at];
            let (name, alone, once) = (task.name.clone(), task.alone, task.runs_once());
            TaskTime { plan: *plan, name, seconds, wall, alone, once }
        };
        let spent = Spent {
            tasks: seconds.into_iter().map(time).collect(),
            wall,
            threads: rayon::current_num_threads(),
        };
        let [failures, unkept] = [problems.failures, problems.unkept].map(|noted| {
            let mut noted = noted.into_inner().unwrap_or_default();
            noted.sort();
            noted
        });
        Ok(WorkResults { plans, failures, unkept, spent })
    }
}

fn note(problems: &Mutex<Vec<(String, String)>>, task: &Task, problem: String) {
    if let Ok(mut problems) = problems.lock() {
        problems.push((task.name.clone(), problem));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar};
    use std::time::Duration;

    use super::*;

    struct Silent;

    impl Progress for Silent {
        fn begin(&self, _total: f64, _done: f64) {}
        fn done(&self, _task: &str, _cost: f64) {}
    }

    /// Each of the two longest of 16 tasks waits until the other one has begun.
    #[test]
    fn the_longest_tasks_run_side_by_side() {
        let begun = Arc::new((Mutex::new(0), Condvar::new()));
        let task = |number: usize| {
            let (name, begun) = (format!("task {number}"), Arc::clone(&begun));
            let cost = number as f64;
            Task::other(name.clone(), name, cost, move || {
                if number < 15 {
                    return Ok(Record::default());
                }
                let (count, changed) = &*begun;
                let mut count = count.lock().map_err(|error| error.to_string())?;
                *count += 1;
                changed.notify_all();
                let wait = changed.wait_timeout_while(count, Duration::from_secs(60), |n| *n < 2);
                let (count, _) = wait.map_err(|error| error.to_string())?;
                if *count < 2 { Err("no other one began".into()) } else { Ok(Record::default()) }
            })
        };
        let store = Store::disabled();
        let work = Work::new(vec![(1..=16).map(task).collect()], &store);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        let results = pool.install(|| work.results(&store, &Silent)).expect("not stopped");
        assert_eq!(results.failures, []);
        let names: Vec<&str> = results.spent.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!((names.len(), names[0], results.spent.threads), (16, "task 1", 2));
        assert!(results.spent.tasks.iter().all(|task| task.seconds >= 0.0 && !task.alone));
    }
}
