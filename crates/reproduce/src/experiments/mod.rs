//! The experiments: their runs and their evaluation.

mod abc_control;
mod abc_dynamics;
mod abc_fairness;
mod abc_fixed;
mod c2tcp_cellular;
mod c2tcp_sharing;
mod c2tcp_tuning;
mod cellular;
mod cellular_starts;
mod cellular_sweeps;
mod coexistence;
mod common;
mod lte_series;
mod lte_sweeps;
mod remy_common;
mod remy_frontier;
mod remy_learnability;
mod remy_link_rates;
mod remy_model;
mod remy_sharing;
mod remy_structure;
mod remy_tcp_aware;
mod sprout_cellular;
mod sprout_live;
mod sprout_sweeps;
mod two_links;
mod verus_starts;
mod wifi;
mod wifi_estimator;
mod wifi_sweeps;
mod xcpb_dynamics;
mod xcpb_law;
mod xcpb_tcp;

pub(crate) use common::view;

use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

/// A set of runs, from which measures and figures are derived.
pub struct Experiment {
    /// Name by which claims refer to it.
    pub name: &'static str,
    /// Heading on the page.
    pub title: &'static str,
    /// Description of the setup, for the page.
    pub about: &'static str,
    /// Plans the tasks.
    pub plan: fn(&Setting) -> Result<Vec<Task>, String>,
    /// Evaluates the results.
    pub find: fn(&Setting, &Results) -> Result<Findings, String>,
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Experiment").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All experiments, in the order of the page. An experiment is one file and one line.
pub static EXPERIMENTS: &[Experiment] = &[
    cellular::EXPERIMENT,
    two_links::EXPERIMENT,
    lte_series::EXPERIMENT,
    lte_sweeps::EXPERIMENT,
    abc_dynamics::EXPERIMENT,
    abc_control::EXPERIMENT,
    abc_fixed::EXPERIMENT,
    coexistence::EXPERIMENT,
    wifi::EXPERIMENT,
    wifi_estimator::EXPERIMENT,
    c2tcp_cellular::EXPERIMENT,
    c2tcp_sharing::EXPERIMENT,
    c2tcp_tuning::EXPERIMENT,
    xcpb_law::EXPERIMENT,
    xcpb_dynamics::EXPERIMENT,
    xcpb_tcp::EXPERIMENT,
    remy_frontier::DUMBBELL,
    remy_frontier::CELLULAR,
    remy_sharing::EXPERIMENT,
    remy_sharing::DATA_CENTRE,
    remy_model::EXPERIMENT,
    remy_link_rates::EXPERIMENT,
    remy_structure::EXPERIMENT,
    remy_tcp_aware::EXPERIMENT,
    remy_learnability::EXPERIMENT,
    sprout_cellular::EXPERIMENT,
    sprout_sweeps::EXPERIMENT,
    sprout_live::TUNNEL,
    sprout_live::LOSS,
    sprout_live::SATURATOR,
];

/// Returns the experiment of a name.
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures of traces and of models, which need no run.
    fn is_computed(measure: &str) -> bool {
        ["doubles", "halves", "fluid.", "model."].iter().any(|group| measure.starts_with(group))
    }

    #[test]
    fn no_check_holds_without_results() {
        let claims = crate::claims().expect("built in");
        let (mut judged, mut held) = (0, Vec::new());
        for experiment in EXPERIMENTS {
            let found = (experiment.find)(&Setting::default(), &Results::default());
            let Ok(findings) = found else { continue };
            for claim in claims.iter().filter(|claim| claim.experiment == experiment.name) {
                for check in &claim.checks {
                    for bound in std::iter::once(&check.stated).chain(&check.now) {
                        let names = bound.measures();
                        let values: Vec<f64> =
                            names.iter().map(|name| findings.get(name)).collect();
                        if bound.holds(&values) && !is_computed(names[0]) {
                            held.push(format!("{}: {names:?}: {values:?}", claim.id));
                        }
                        judged += 1;
                    }
                }
            }
        }
        assert_eq!(held, Vec::<String>::new());
        assert!(judged > 300, "{judged} bounds");
    }
}
