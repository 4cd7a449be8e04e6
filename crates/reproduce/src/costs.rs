//! Processor time of a reproduction, by experiment.

use std::collections::BTreeSet;

use paceline_tasks::{Spent, TaskTime};
use serde::Serialize;

use crate::experiments::Experiment;

/// Number of tasks in [`Costs::longest`].
const LONGEST: usize = 10;

/// Processor time of a reproduction: the `costs` of the JSON of `paceline reproduce --costs`. Tasks
/// whose results were kept by an earlier run cost nothing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Costs {
    /// Number of threads.
    pub threads: usize,
    /// Wall-clock seconds of simulations.
    pub wall_s: f64,
    /// Wall-clock seconds of tasks in real time, which run alone after the simulations.
    pub live_s: f64,
    /// Processor seconds of all tasks.
    pub cpu_s: f64,
    /// Time in which threads ran simulations, as a share of all their time, 0 to 1. For the rest they had no
    /// task left.
    pub busy: f64,
    /// Experiments whose tasks ran, those with most processor time first.
    pub experiments: Vec<ExperimentCost>,
    /// The tasks with most processor time.
    pub longest: Vec<TaskCost>,
}

/// Processor time of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentCost {
    /// Its name.
    pub experiment: &'static str,
    /// Number of its tasks that ran.
    pub tasks: usize,
    /// Processor seconds.
    pub cpu_s: f64,
    /// Processor seconds of tasks that only explain failures; no check reads them.
    pub cause_cpu_s: f64,
}

/// Processor time of a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskCost {
    /// Name of its experiment.
    pub experiment: &'static str,
    /// Its name.
    pub name: String,
    /// Processor seconds.
    pub cpu_s: f64,
}

impl Costs {
    /// Sums what work has spent; `by_plan` has the experiment of each plan.
    pub(crate) fn of(spent: &Spent, by_plan: &[&'static Experiment]) -> Costs {
        let own = |name: &'static str| {
            spent.tasks.iter().filter(move |task| by_plan[task.plan].name == name)
        };
        let sum = |tasks: &mut dyn Iterator<Item = &TaskTime>| -> f64 {
            // A sum of nothing is -0, which JSON would show.
            tasks.map(|task| task.seconds).fold(0.0, |sum, seconds| sum + seconds)
        };
        let cost = |name: &'static str| ExperimentCost {
            experiment: name,
            tasks: own(name).count(),
            cpu_s: sum(&mut own(name)),
            cause_cpu_s: sum(&mut own(name).filter(|task| task.once && !task.alone)),
        };
        let names: BTreeSet<&'static str> = by_plan.iter().map(|one| one.name).collect();
        let mut costs: Vec<ExperimentCost> = names.into_iter().map(cost).collect();
        costs.retain(|cost| cost.tasks > 0);
        costs.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s));
        let mut longest: Vec<&TaskTime> = spent.tasks.iter().collect();
        longest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let task_cost = |task: &TaskTime| TaskCost {
            experiment: by_plan[task.plan].name,
            name: task.name.clone(),
            cpu_s: task.seconds,
        };
        let [wall_s, live_s] = spent.wall;
        let occupied: f64 =
            spent.tasks.iter().filter(|task| !task.alone).map(|task| task.wall).sum();
        let offered = wall_s * spent.threads as f64;
        Costs {
            threads: spent.threads,
            wall_s,
            live_s,
            cpu_s: sum(&mut spent.tasks.iter()),
            busy: if offered > 0.0 { (occupied / offered).min(1.0) } else { 0.0 },
            experiments: costs,
            longest: longest.into_iter().take(LONGEST).map(task_cost).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(plan: usize, name: &str, seconds: f64, once: bool) -> TaskTime {
        let (name, alone, wall) = (name.to_string(), false, seconds);
        TaskTime { plan, name, seconds, wall, alone, once }
    }

    #[test]
    fn runs_of_an_experiment_are_added() {
        let experiments: Vec<&'static Experiment> = crate::EXPERIMENTS[..2].iter().collect();
        let tasks = vec![
            task(0, "a", 1.0, false),
            task(1, "b", 4.0, true),
            task(1, "c", 2.0, false),
            task(2, "a", 2.0, false),
        ];
        let spent = Spent { tasks, wall: [6.0, 0.0], threads: 2 };
        let by_plan = [experiments[0], experiments[1], experiments[0]];
        let costs = Costs::of(&spent, &by_plan);
        let rows: Vec<(&str, usize, f64, f64)> = costs
            .experiments
            .iter()
            .map(|cost| (cost.experiment, cost.tasks, cost.cpu_s, cost.cause_cpu_s))
            .collect();
        let names = [experiments[0].name, experiments[1].name];
        assert_eq!(rows, [(names[1], 2, 6.0, 4.0), (names[0], 2, 3.0, 0.0)]);
        assert_eq!((costs.cpu_s, costs.busy, costs.longest[0].cpu_s), (9.0, 0.75, 4.0));
    }
}
