//! One claim, measured task by task, for callers that show progress.

use crate::claim::Claim;
use crate::experiments::{Experiment, experiment};
use crate::findings::Findings;
use crate::judged::{ClaimResult, LIVE, judge};
use crate::setting::Setting;
use crate::verdict::Limits;
use paceline_tasks::Results;
use paceline_tasks::Task;

/// The tasks behind a claim, which run one after the other. Their results are not kept.
pub struct Trial {
    claim: Claim,
    experiment: &'static Experiment,
    setting: Setting,
    tasks: Vec<Task>,
    done: usize,
    results: Results,
}

impl Trial {
    /// Plans the tasks of a claim.
    ///
    /// # Errors
    /// The claim is not measured, or its experiment cannot be planned.
    pub fn new(claim: &Claim, setting: &Setting) -> Result<Trial, String> {
        if !claim.unmeasured.is_empty() {
            return Err(format!("{} is not measured: {}", claim.id, claim.unmeasured.trim()));
        }
        if claim.live && setting.live.is_none() {
            return Err(format!("{} is not measured: {LIVE}", claim.id));
        }
        let experiment = experiment(&claim.experiment).ok_or_else(|| {
            format!("{}: there is no experiment `{}`", claim.id, claim.experiment)
        })?;
        let tasks = (experiment.plan)(setting)
            .map_err(|problem| format!("experiment {}: {problem}", experiment.name))?;
        Ok(Trial {
            claim: claim.clone(),
            experiment,
            setting: setting.clone(),
            tasks,
            done: 0,
            results: Results::default(),
        })
    }

    /// Returns the number of all tasks, and of finished ones.
    pub fn progress(&self) -> (usize, usize) {
        (self.tasks.len(), self.done)
    }

    /// Returns the cost of all tasks, in seconds of simulated traffic or an equal amount of work.
    pub fn cost(&self) -> f64 {
        self.tasks.iter().map(|task| task.cost).sum()
    }

    /// Returns the cost of the finished tasks.
    pub fn cost_done(&self) -> f64 {
        self.tasks[..self.done].iter().map(|task| task.cost).sum()
    }

    /// Runs the next task; returns its name, or `None` if all are finished.
    ///
    /// # Errors
    /// The task has failed; the error says why.
    pub fn step(&mut self) -> Result<Option<&str>, String> {
        let Some(task) = self.tasks.get(self.done) else { return Ok(None) };
        let record = task.run().map_err(|problem| format!("{}: {problem}", task.name))?;
        self.results.insert(&task.name, record);
        self.done += 1;
        Ok(Some(&task.name))
    }

    /// Evaluates the finished tasks, and judges the claim by them.
    ///
    /// # Errors
    /// The results cannot be evaluated.
    pub fn judge(&self) -> Result<(ClaimResult, Findings), String> {
        let findings = (self.experiment.find)(&self.setting, &self.results)
            .map_err(|problem| format!("experiment {}: {problem}", self.experiment.name))?;
        let synthetic = self.setting.traces.is_none();
        let (quick, live) = (self.setting.quick, self.setting.live.is_some());
        let limits = Limits { synthetic, quick, live, ..Limits::default() };
        Ok((judge(&self.claim, &findings, &[], limits), findings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::reproduce;
    use crate::run::tests::SilentProgress;
    use paceline_tasks::Store;

    /// A trial measures the figures that `reproduce` measures.
    #[test]
    fn a_trial_is_a_reproduction_of_one_claim() {
        let setting = Setting { quick: true, ..Setting::default() };
        let claims = crate::claims().expect("built in");
        let claim = claims.iter().find(|claim| claim.id == "X01").expect("a claim").clone();
        let mut trial = Trial::new(&claim, &setting).expect("planned");
        while trial.step().expect("done").is_some() {}
        assert_eq!(trial.progress().0, trial.progress().1);
        let (judged, _) = trial.judge().expect("judged");
        let all = reproduce(&[claim], &setting, 1, &Store::disabled(), &SilentProgress)
            .expect("measured");
        assert_eq!(judged.measured, all.claims[0].measured);
        assert_eq!(judged.checks.len(), all.claims[0].checks.len());
    }
}
