//! A reproduction: plans the experiments, runs their tasks in parallel, judges the claims.

use std::path::PathBuf;

use paceline_tasks::{Progress, Store, Task, Work, WorkResults};

use crate::claim::Claim;
use crate::experiments::{Experiment, experiment};
use crate::findings::{Findings, Sweep};
use crate::setting::Setting;
use crate::verdict::{ClaimResult, Limits, Verdict, judge};

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
    /// Number of tasks.
    pub tasks: usize,
    /// Whether synthetic traces replaced recorded ones.
    pub synthetic: bool,
    /// Whether runs were shorter and fewer than the papers'.
    pub quick: bool,
}

impl Reproduction {
    /// Returns the numbers of claims that hold as stated in advance and with later changes, in one
    /// line.
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
            let stood_in = self.claims.iter().filter(|judged| !judged.stand_ins.is_empty()).count();
            let words = match stood_in {
                0 => words,
                few => {
                    format!("{words}, {few} with tables trained here in place of published ones")
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
        let ((stated, all_stated), (now, all_now)) =
            (sum(ClaimResult::stated_checks_held), sum(ClaimResult::checks_held));
        format!(
            "{all} claims. By what was stated in advance: {} ({stated} of {all_stated} checks \
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

/// Measures claims.
///
/// # Errors
/// An experiment cannot be planned (a trace cannot be read), or its results cannot be evaluated.
pub fn reproduce(
    claims: &[Claim],
    setting: &Setting,
    store: &Store,
    progress: &dyn Progress,
) -> Result<Reproduction, String> {
    let (chosen, plans): (Vec<_>, Vec<_>) = plan(claims, setting)?.into_iter().unzip();
    let work = Work::new(plans, store);
    let WorkResults { plans: results, failures, unkept } = work.results(store, progress)?;
    let mut experiments = Vec::new();
    for (experiment, results) in chosen.into_iter().zip(&results) {
        let findings = (experiment.find)(setting, results)
            .map_err(|problem| format!("experiment {}: {problem}", experiment.name))?;
        experiments.push((experiment, findings));
    }
    let nothing = Findings::default();
    let limits = Limits {
        synthetic: setting.traces.is_none(),
        quick: setting.quick,
        live: setting.live.is_some(),
        ..Limits::default()
    };
    let judged = claims
        .iter()
        .map(|claim| {
            let of =
                |(experiment, _): &&(&Experiment, Findings)| experiment.name == claim.experiment;
            let found = experiments.iter().find(of).map_or(&nothing, |(_, findings)| findings);
            judge(claim, found, limits)
        })
        .collect();
    Ok(Reproduction {
        claims: judged,
        experiments,
        failures,
        unkept,
        tasks: work.len(),
        synthetic: limits.synthetic,
        quick: limits.quick,
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
        let setting = Setting { quick: true, traces: None, tables: None, seed: 1, live: None };
        let mut claims = crate::claims().expect("built in");
        claims.retain(|claim| claim.id == "X01");
        let folder = std::env::temp_dir().join(format!("paceline-unkept-{}", std::process::id()));
        let store = Store::open(&folder).expect("a folder");
        // The folder disappears while tasks run, as if its disk were removed.
        std::fs::remove_dir_all(&folder).expect("removed");
        let done = reproduce(&claims, &setting, &store, &SilentProgress).expect("measured");
        let kept =
            reproduce(&claims, &setting, &Store::disabled(), &SilentProgress).expect("measured");
        assert_eq!(done.claims[0].measured, kept.claims[0].measured);
        assert!(done.failures.is_empty() && kept.unkept.is_empty());
        assert!(!done.unkept.is_empty());
        let name = folder.display().to_string();
        assert!(done.unkept.iter().all(|(_, why)| why.starts_with(&name)), "{:?}", done.unkept);
    }
}
