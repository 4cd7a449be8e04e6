//! One claim, measured task by task by somebody who watches.

use crate::claim::Claim;
use crate::experiments::{Experiment, experiment};
use crate::findings::Findings;
use crate::results::Results;
use crate::setting::Setting;
use crate::task::Task;
use crate::verdict::{ClaimResult, LIVE, Limits, judge};

/// The tasks behind a claim, which are done one after the other and kept nowhere.
pub struct Trial {
    claim: Claim,
    experiment: &'static Experiment,
    setting: Setting,
    tasks: Vec<Task>,
    done: usize,
    results: Results,
}

impl Trial {
    /// Plans what is behind a claim.
    ///
    /// # Errors
    /// If the claim is not measured, or its experiment cannot be planned.
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

    /// Tasks in all, and those that are done.
    pub fn progress(&self) -> (usize, usize) {
        (self.tasks.len(), self.done)
    }

    /// The work of all tasks, in seconds of simulated traffic or as much work.
    pub fn cost(&self) -> f64 {
        self.tasks.iter().map(|task| task.cost).sum()
    }

    /// Does the next task; its name, or `None` if all are done.
    ///
    /// # Errors
    /// Why it could not be done.
    pub fn step(&mut self) -> Result<Option<&str>, String> {
        let Some(task) = self.tasks.get(self.done) else { return Ok(None) };
        let record = task.run().map_err(|problem| format!("{}: {problem}", task.name))?;
        self.results.0.insert(task.name.clone(), record);
        self.done += 1;
        Ok(Some(&task.name))
    }

    /// What the tasks that are done have shown, and what this says of the claim.
    ///
    /// # Errors
    /// If nothing can be made of it.
    pub fn judge(&self) -> Result<(ClaimResult, Findings), String> {
        let findings = (self.experiment.find)(&self.setting, &self.results)
            .map_err(|problem| format!("experiment {}: {problem}", self.experiment.name))?;
        let synthetic = self.setting.traces.is_none();
        let (quick, live) = (self.setting.quick, self.setting.live.is_some());
        let limits = Limits { synthetic, quick, live, ..Limits::default() };
        Ok((judge(&self.claim, &findings, limits), findings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::reproduce;
    use crate::run::tests::SilentProgress;
    use crate::store::Store;

    /// What is measured step by step is what `reproduce` measures.
    #[test]
    fn a_trial_is_a_reproduction_of_one_claim() {
        let setting = Setting { quick: true, traces: None, tables: None, seed: 1, live: None };
        let claims = crate::claims().expect("built in");
        let claim = claims.iter().find(|claim| claim.id == "X01").expect("a claim").clone();
        let mut trial = Trial::new(&claim, &setting).expect("planned");
        while trial.step().expect("done").is_some() {}
        assert_eq!(trial.progress().0, trial.progress().1);
        let (judged, _) = trial.judge().expect("judged");
        let all =
            reproduce(&[claim], &setting, &Store::disabled(), &SilentProgress).expect("measured");
        assert_eq!(judged.measured, all.claims[0].measured);
        assert_eq!(judged.checks.len(), all.claims[0].checks.len());
    }
}
