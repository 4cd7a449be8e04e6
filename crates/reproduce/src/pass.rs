//! The runs of claims in one setting, and what they find.

use std::collections::BTreeSet;

use paceline_sim::runs::seed_of_run;
use paceline_tasks::{Results, Task};

use crate::claim::Claim;
use crate::experiments::{Experiment, experiment};
use crate::findings::{Findings, Measures};
use crate::setting::Setting;

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

/// Returns the setting of run `number`: the first one unchanged, each other one with its own seed.
fn setting_of_run(setting: &Setting, number: u32) -> Setting {
    Setting { seed: seed_of_run(setting.seed, number), ..setting.clone() }
}

/// The runs of claims in one setting.
pub(crate) struct Pass {
    chosen: Vec<&'static Experiment>,
    /// The setting of each run.
    settings: Vec<Setting>,
    /// For each experiment, whether a run after the first one has tasks that the first one lacks. Without
    /// them, it has one result: all its tasks run once or compute equal results in each run.
    repeated: Vec<bool>,
}

/// What a pass has found, by experiment.
pub(crate) struct Found {
    /// Findings of the first run.
    pub(crate) experiments: Vec<(&'static Experiment, Findings)>,
    /// Measures of the further runs.
    further: Vec<Vec<Measures>>,
}

impl Pass {
    /// Plans `runs` runs, and returns the tasks of each experiment in each run. Further runs are without the
    /// tasks that run once.
    pub(crate) fn new(
        claims: &[Claim],
        setting: &Setting,
        runs: u32,
    ) -> Result<(Pass, Vec<Vec<Task>>), String> {
        let settings: Vec<Setting> =
            (1..=runs.max(1)).map(|number| setting_of_run(setting, number)).collect();
        let (mut plans, mut chosen) = (Vec::new(), Vec::new());
        for (number, setting) in (1..).zip(&settings) {
            let plan = plan(claims, setting)?;
            chosen = plan.iter().map(|(experiment, _)| *experiment).collect();
            plans.extend(plan.into_iter().map(|(_, tasks)| -> Vec<Task> {
                let tasks = tasks.into_iter().filter(|task| number == 1 || !task.runs_once());
                tasks.map(|task| task.of_run(number, setting.seed)).collect()
            }));
        }
        let has_further = |at: usize| {
            let known: BTreeSet<&str> = plans[at].iter().map(Task::key).collect();
            let second = plans.get(chosen.len() + at);
            second.is_some_and(|tasks| tasks.iter().any(|task| !known.contains(task.key())))
        };
        let repeated = (0..chosen.len()).map(has_further).collect();
        Ok((Pass { chosen, settings, repeated }, plans))
    }

    /// Returns the experiment of each plan, in the order of the plans that [`Pass::new`] has returned.
    pub(crate) fn by_plan(&self) -> impl Iterator<Item = &'static Experiment> {
        self.settings.iter().flat_map(|_| self.chosen.iter().copied())
    }

    /// Evaluates the results of the tasks that [`Pass::new`] has planned.
    pub(crate) fn find(&self, results: &[Results]) -> Result<Found, String> {
        let mut found = Found { experiments: Vec::new(), further: Vec::new() };
        for (at, experiment) in self.chosen.iter().enumerate() {
            let own = results.iter().skip(at).step_by(self.chosen.len()).zip(&self.settings);
            let evaluated = if self.repeated[at] { self.settings.len() } else { 1 };
            let findings = own.take(evaluated).map(|(results, setting)| {
                (experiment.find)(setting, results)
                    .map_err(|problem| format!("experiment {}: {problem}", experiment.name))
            });
            let mut findings = findings.collect::<Result<Vec<Findings>, String>>()?.into_iter();
            found.experiments.push((experiment, findings.next().unwrap_or_default()));
            found.further.push(findings.map(|findings| findings.measures).collect());
        }
        Ok(found)
    }
}

impl Found {
    /// Returns the findings about a claim in the first run, and its measures in further ones.
    pub(crate) fn of(&self, claim: &Claim) -> Option<(&Findings, &[Measures])> {
        let at = self.experiments.iter().position(|(one, _)| one.name == claim.experiment)?;
        Some((&self.experiments[at].1, &self.further[at]))
    }
}
