//! A reproduction: plans the experiments, runs their tasks in parallel, judges the claims.

use std::collections::BTreeSet;
use std::path::PathBuf;

use paceline_sim::runs::seed_of_run;
use paceline_tasks::{Progress, Results, Store, Task, Work, WorkResults};

use crate::claim::Claim;
use crate::costs::Costs;
use crate::experiments::{Experiment, experiment};
use crate::findings::{Findings, Measures, Sweep};
use crate::judged::{ClaimResult, judge};
use crate::setting::Setting;
use crate::verdict::{Limits, Verdict};

/// Results of a reproduction.
#[derive(Debug)]
pub struct Reproduction {
    /// Claims with their verdicts, in the order of the request.
    pub claims: Vec<ClaimResult>,
    /// Findings of each experiment, in the order of [`crate::EXPERIMENTS`].
    pub experiments: Vec<(&'static Experiment, Findings)>,
    /// Tasks that failed: name and reason.
    pub failures: Vec<(String, String)>,
    /// Finished tasks whose results the store could not keep: name and reason, with the file.
    pub unkept: Vec<(String, String)>,
    /// Number of tasks, of all runs.
    pub tasks: usize,
    /// Number of runs behind each claim. Claims that are measured in real time have one.
    pub runs: u32,
    /// Whether synthetic traces replaced recorded ones.
    pub synthetic: bool,
    /// Whether runs were shorter and fewer than the papers'.
    pub quick: bool,
    /// Whether runs were made that only show causes.
    pub causes: bool,
    /// Processor time, by experiment.
    pub costs: Costs,
}

impl Reproduction {
    /// Returns the numbers of claims that hold as stated in advance and with later changes, by the
    /// medians over the runs, in one line.
    pub fn summary(&self) -> String {
        let all = self.claims.len();
        if self.synthetic || self.quick {
            let count = |verdict: fn(&ClaimResult) -> bool| {
                self.claims.iter().filter(|judged| verdict(judged)).count()
            };
            let how = match (self.synthetic, self.quick) {
                (true, false) => {
                    "on synthetic traces where the papers have recorded ones, which reproduces \
                     none of those"
                }
                (true, true) => {
                    "in shortened runs (--quick), on synthetic traces where the papers have \
                     recorded ones, which reproduces none of them"
                }
                _ => "in shortened runs (--quick), which reproduces none of them",
            };
            return format!(
                "Claims: {all}, {how}. Those whose checks all hold: {} by the bounds stated before the \
                 first run, {} by the present bounds, and {} by both",
                count(|judged| judged.stated_verdict.holds()),
                count(|judged| judged.verdict.holds()),
                count(ClaimResult::holds),
            );
        }
        let line = |verdict: fn(&ClaimResult) -> Verdict| {
            let count =
                |wanted| self.claims.iter().filter(|judged| verdict(judged) == wanted).count();
            let words = format!(
                "{} reproduced, {} in part, {} not",
                count(Verdict::Reproduced),
                count(Verdict::Partly),
                count(Verdict::Not)
            );
            let is_replaced = |judged: &&ClaimResult| {
                judged.missing.is_empty()
                    && !(judged.stand_ins.is_empty() && judged.replaced.is_empty())
            };
            let stood_in = self.claims.iter().filter(is_replaced).count();
            let words = match stood_in {
                0 => words,
                few => {
                    format!("{words}, {few} with a stand-in for what the paper had")
                }
            };
            match count(Verdict::NotMeasured) {
                0 => words,
                few => format!("{words}, {few} not measured"),
            }
        };
        let sum = |held: fn(&ClaimResult) -> (usize, usize)| {
            let add = |sum: (usize, usize), one: (usize, usize)| (sum.0 + one.0, sum.1 + one.1);
            let measured = self.claims.iter().filter(|judged| judged.missing.is_empty());
            measured.map(held).fold((0, 0), add)
        };
        let runs = match self.runs {
            1 => String::new(),
            runs => format!(", judged by the medians of {runs} runs"),
        };
        let ((stated, all_stated), (now, all_now)) =
            (sum(ClaimResult::stated_checks_held), sum(ClaimResult::checks_held));
        format!(
            "{all} claims{runs}. By what was stated in advance: {} ({stated} of {all_stated} checks \
             hold). With later changes: {} ({now} of {all_now} checks hold). Reproduced both \
             ways: {}",
            line(|judged| judged.stated_verdict),
            line(|judged| judged.verdict),
            self.claims.iter().filter(|judged| judged.holds()).count()
        )
    }

    /// Returns all sweeps, in the order of [`crate::EXPERIMENTS`].
    pub fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.experiments.iter().flat_map(|(_, findings)| &findings.sweeps)
    }

    /// Returns a sweep by its name.
    pub fn sweep(&self, name: &str) -> Option<&Sweep> {
        self.sweeps().find(|sweep| sweep.name == name)
    }
}

/// Returns the experiments of claims with their tasks, in the order of [`crate::EXPERIMENTS`].
pub(crate) fn plan(
    claims: &[Claim],
    setting: &Setting,
) -> Result<Vec<(&'static Experiment, Vec<Task>)>, String> {
    for claim in claims {
        if experiment(&claim.experiment).is_none() {
            return Err(format!("{}: there is no experiment `{}`", claim.id, claim.experiment));
        }
    }
    let wanted = |name: &str| claims.iter().any(|claim| claim.experiment == name);
    let chosen = crate::EXPERIMENTS.iter().filter(|experiment| wanted(experiment.name));
    let plan = |experiment: &'static Experiment| match (experiment.plan)(setting) {
        Ok(tasks) => Ok((experiment, tasks)),
        Err(problem) => Err(format!("experiment {}: {problem}", experiment.name)),
    };
    chosen.map(plan).collect()
}

/// Number of runs behind each claim unless a caller names another one.
pub const RUNS: u32 = 8;

/// Returns the setting of run `number`: the first one unchanged, each other one with its own seed.
fn setting_of_run(setting: &Setting, number: u32) -> Setting {
    Setting { seed: seed_of_run(setting.seed, number), ..setting.clone() }
}

/// The tasks of one run, by experiment. Further runs are without the tasks that run once.
struct RunPlan {
    setting: Setting,
    plans: Vec<Vec<Task>>,
}

impl RunPlan {
    fn new(claims: &[Claim], setting: &Setting, number: u32) -> Result<RunPlan, String> {
        let setting = setting_of_run(setting, number);
        let plans = plan(claims, &setting)?.into_iter().map(|(_, tasks)| {
            let tasks = tasks.into_iter().filter(|task| number == 1 || !task.runs_once());
            tasks.map(|task| task.of_run(number, setting.seed)).collect()
        });
        Ok(RunPlan { plans: plans.collect(), setting })
    }
}

/// Evaluates one run of an experiment.
fn find(experiment: &Experiment, setting: &Setting, results: &Results) -> Result<Findings, String> {
    (experiment.find)(setting, results)
        .map_err(|problem| format!("experiment {}: {problem}", experiment.name))
}

/// Returns whether the second run of the experiment number `at` has a task whose result the first
/// run does not have. If not, all its tasks run once or compute equal results in each run.
fn has_further_runs(plans: &[RunPlan], at: usize) -> bool {
    let known: BTreeSet<&str> = plans[0].plans[at].iter().map(Task::key).collect();
    let is_new = |task: &Task| !known.contains(task.key());
    plans.get(1).is_some_and(|plan| plan.plans[at].iter().any(is_new))
}

/// Measures claims in `runs` runs, of which the first is the one that `runs` = 1 makes.
///
/// # Errors
/// An experiment cannot be planned (a trace cannot be read), or its results cannot be evaluated.
pub fn reproduce(
    claims: &[Claim],
    setting: &Setting,
    runs: u32,
    store: &Store,
    progress: &dyn Progress,
) -> Result<Reproduction, String> {
    let plans = (1..=runs.max(1)).map(|number| RunPlan::new(claims, setting, number));
    let plans: Vec<RunPlan> = plans.collect::<Result<_, _>>()?;
    let chosen: Vec<&'static Experiment> =
        plan(claims, setting)?.into_iter().map(|(experiment, _)| experiment).collect();
    let repeated: Vec<bool> = (0..chosen.len()).map(|at| has_further_runs(&plans, at)).collect();
    let (settings, plans): (Vec<Setting>, Vec<Vec<Vec<Task>>>) =
        plans.into_iter().map(|plan| (plan.setting, plan.plans)).unzip();
    let work = Work::new(plans.into_iter().flatten().collect(), store);
    let WorkResults { plans: results, failures, unkept, spent } = work.results(store, progress)?;
    let costs = Costs::of(&spent, &chosen);
    let (first, others) = results.split_at(chosen.len());
    let mut experiments = Vec::new();
    let mut further: Vec<Vec<Measures>> = Vec::new();
    for (at, experiment) in chosen.into_iter().enumerate() {
        experiments.push((experiment, find(experiment, setting, &first[at])?));
        let own = others.iter().skip(at).step_by(repeated.len()).zip(&settings[1..]);
        let measures = own
            .filter(|_| repeated[at])
            .map(|(results, setting)| Ok(find(experiment, setting, results)?.measures));
        further.push(measures.collect::<Result<_, String>>()?);
    }
    let limits = Limits {
        synthetic: setting.traces.is_none(),
        quick: setting.quick,
        live: setting.live.is_some(),
        ..Limits::default()
    };
    let nothing = Findings::default();
    let judged = claims.iter().map(|claim| {
        let at = experiments.iter().position(|(one, _)| one.name == claim.experiment);
        let found = at.map_or(&nothing, |at| &experiments[at].1);
        let mut judged = judge(claim, found, at.map_or(&[], |at| further[at].as_slice()), limits);
        if !setting.causes {
            judged.leave_out_unmeasured(found);
        }
        judged
    });
    Ok(Reproduction {
        claims: judged.collect(),
        experiments,
        failures,
        unkept,
        tasks: work.len(),
        runs: runs.max(1),
        synthetic: limits.synthetic,
        quick: limits.quick,
        causes: setting.causes,
        costs,
    })
}

/// The folder of results inside an output folder.
impl Setting {
    /// Returns the folder of finished tasks below `output`.
    pub fn runs(output: &std::path::Path) -> PathBuf {
        output.join("runs")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) struct SilentProgress;
    impl Progress for SilentProgress {
        fn begin(&self, _: f64, _: f64) {}
        fn done(&self, _: &str, _: f64) {}
    }

    #[test]
    fn results_that_cannot_be_kept_are_shown_all_the_same() {
        let setting =
            Setting { quick: true, traces: None, tables: None, seed: 1, live: None, causes: true };
        let mut claims = crate::claims().expect("built in");
        claims.retain(|claim| claim.id == "X01");
        let folder = std::env::temp_dir().join(format!("paceline-unkept-{}", std::process::id()));
        let store = Store::open(&folder).expect("a folder");
        // The folder disappears while tasks run, as if its disk were removed.
        std::fs::remove_dir_all(&folder).expect("removed");
        let done = reproduce(&claims, &setting, 1, &store, &SilentProgress).expect("measured");
        let kept =
            reproduce(&claims, &setting, 1, &Store::disabled(), &SilentProgress).expect("measured");
        assert_eq!(done.claims[0].measured, kept.claims[0].measured);
        assert!(done.failures.is_empty() && kept.unkept.is_empty());
        assert!(!done.unkept.is_empty());
        let name = folder.display().to_string();
        assert!(done.unkept.iter().all(|(_, why)| why.starts_with(&name)), "{:?}", done.unkept);
    }
}
