//! A reproduction: plans the experiments, runs their tasks in parallel, judges the claims.

use std::path::PathBuf;

use paceline_tasks::{Progress, Store, Work, WorkResults};

use crate::claim::Claim;
use crate::costs::Costs;
use crate::experiments::Experiment;
use crate::findings::{Findings, Sweep};
use crate::judged::{ClaimResult, judge};
use crate::pass::Pass;
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
            let stood_in = [Verdict::StandInAll, Verdict::StandInSome, Verdict::StandInNone];
            let words = match stood_in.map(count).iter().sum::<usize>() {
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
            let is_measured = |judged: &&ClaimResult| judged.verdict != Verdict::NotMeasured;
            let measured = self.claims.iter().filter(is_measured);
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
            self.claims.iter().filter(|judged| judged.is_reproduced()).count()
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

/// Number of runs behind each claim unless a caller names another one.
pub const RUNS: u32 = 8;

/// Measures claims in `runs` runs, of which the first is the one that `runs` = 1 makes. With
/// folders of published tables and of trained ones, claims about tables are measured with both.
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
    let (pass, mut plans) = Pass::new(claims, setting, runs)?;
    let of_pass = plans.len();
    let tables = setting.tables.trained_first();
    let is_trained = |claim: &&Claim| tables.is_some() && !claim.tables.is_empty();
    let about_tables: Vec<Claim> = claims.iter().filter(is_trained).cloned().collect();
    let trained_first = Setting { tables: tables.unwrap_or_default(), ..setting.clone() };
    let (trained_pass, trained_plans) = Pass::new(&about_tables, &trained_first, runs)?;
    plans.extend(trained_plans);
    let work = Work::new(plans, store);
    let WorkResults { plans: results, failures, unkept, spent } = work.results(store, progress)?;
    let by_plan: Vec<&Experiment> = pass.by_plan().chain(trained_pass.by_plan()).collect();
    let costs = Costs::of(&spent, &by_plan);
    let (results, trained_results) = results.split_at(of_pass);
    let found = pass.find(results)?;
    let trained = trained_pass.find(trained_results)?;
    let limits = Limits {
        synthetic: setting.traces.is_none(),
        quick: setting.quick,
        live: setting.live.is_some(),
        ..Limits::default()
    };
    let nothing = Findings::default();
    let judged = claims.iter().map(|claim| {
        let (findings, further) = found.of(claim).unwrap_or((&nothing, &[]));
        let mut judged = judge(claim, findings, further, limits);
        if !setting.causes {
            judged.leave_out_unmeasured(findings);
        }
        if let Some((findings, further)) = trained.of(claim) {
            judged.add_trained(claim, findings, further);
        }
        judged
    });
    Ok(Reproduction {
        claims: judged.collect(),
        experiments: found.experiments,
        failures,
        unkept,
        tasks: work.len(),
        runs: runs.max(1),
        synthetic: limits.synthetic && claims.iter().any(|claim| claim.recording),
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
    fn each_claim_counts_once_in_the_summary() {
        let claims = crate::claims().expect("built in");
        // Without `live`, S09 and S12 are not measured, and S12 has a stand-in.
        let judged =
            claims.iter().map(|claim| judge(claim, &Findings::default(), &[], Limits::default()));
        let judged: Vec<ClaimResult> = judged.collect();
        for claims in [
            judged.clone(),
            judged.into_iter().filter(|one| ["S09", "S12"].contains(&&*one.id)).collect(),
        ] {
            let all = claims.len();
            let is_unmeasured = |one: &ClaimResult| one.verdict == Verdict::NotMeasured;
            let are_unmeasured = claims.iter().all(is_unmeasured);
            let done = Reproduction {
                claims,
                experiments: Vec::new(),
                failures: Vec::new(),
                unkept: Vec::new(),
                tasks: 0,
                runs: 1,
                synthetic: false,
                quick: false,
                causes: false,
                costs: Costs::default(),
            };
            let summary = done.summary();
            for sentence in summary.split(". ").skip(1).take(2) {
                let counts = sentence.split_once(": ").expect("counts").1.split(" (").next();
                let counts = counts.expect("counts").split(", ");
                let numbers = counts.map(|count| count.split(' ').next().expect("a number"));
                let sum: usize =
                    numbers.map(|number| number.parse::<usize>().expect("a number")).sum();
                assert_eq!(sum, all, "{summary}");
            }
            assert_eq!(are_unmeasured, summary.contains("(0 of 0 checks"), "{summary}");
        }
    }

    #[test]
    fn results_that_cannot_be_kept_are_shown_all_the_same() {
        let setting = Setting { quick: true, ..Setting::default() };
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
