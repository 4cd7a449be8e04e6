//! The papers' claims, and the runs behind one of them.

use paceline_reproduce::{Claim, Exhibit, Setting, Trial, find_claims};
use serde_json::{Value, json};

/// Cost in seconds of simulated traffic above which a claim does not run in the page, because a
/// reader would not wait for it: with shortened runs, and with those of the papers' length, for
/// which a reader sees an estimate of the time.
const MOST_WORK: f64 = 12_000.0;
const MOST_FULL_WORK: f64 = 120_000.0;

/// Returns a setting with synthetic traces, since a page has no recordings; shortened unless `full`.
fn setting(full: bool) -> Setting {
    Setting { quick: !full, traces: None, tables: None, seed: 1, live: None }
}

/// Returns the claims, each with its statement and its experiment.
pub(crate) fn list() -> Result<Value, String> {
    let entry = |claim: &Claim| {
        json!({
            "id": claim.id,
            "paper": claim.paper,
            "place": claim.place,
            "title": claim.title,
            "experiment": claim.experiment,
            "unmeasured": !claim.unmeasured.is_empty(),
            "tables": !claim.tables.is_empty(),
        })
    };
    let all = find_claims(&[]).map_err(|error| error.to_string())?;
    Ok(json!({ "claims": all.iter().map(entry).collect::<Vec<_>>() }))
}

/// A claim whose tasks run in the page.
pub(crate) struct ClaimTrial {
    trial: Trial,
    full: bool,
}

impl ClaimTrial {
    pub(crate) fn new(id: &str, full: bool) -> Result<ClaimTrial, String> {
        let found = find_claims(&[id.to_string()]).map_err(|error| error.to_string())?;
        let [claim] = &found[..] else { return Err(format!("there is no claim `{id}`")) };
        if !claim.tables.is_empty() {
            return Err("this claim is about published tables of rules, which are no part of the \
                        page: run `paceline reproduce --tables DIR`"
                .into());
        }
        Ok(ClaimTrial { trial: Trial::new(claim, &setting(full))?, full })
    }

    /// Returns the number of tasks, the number of finished ones, the cost of both in seconds of
    /// simulated traffic, and whether the claim's cost allows it to run in the page.
    pub(crate) fn progress(&self) -> Value {
        let ((tasks, done), cost) = (self.trial.progress(), self.trial.cost());
        let most = if self.full { MOST_FULL_WORK } else { MOST_WORK };
        let paid = self.trial.cost_done();
        json!({ "tasks": tasks, "done": done, "cost": cost, "paid": paid, "small": cost <= most })
    }

    /// Runs the next task.
    pub(crate) fn step(&mut self) -> Result<Value, String> {
        let name = self.trial.step()?.map(str::to_string);
        let mut progress = self.progress();
        progress["name"] = json!(name);
        Ok(progress)
    }

    /// Returns the verdict with each check, and the experiment's figures.
    pub(crate) fn end(&self) -> Result<Value, String> {
        let (judged, findings) = self.trial.judge()?;
        let exhibit = |(name, exhibit): &(String, Exhibit)| match exhibit {
            Exhibit::Figure(figure, caption) => {
                json!({ "name": name, "caption": caption, "svg": figure.to_svg() })
            }
            Exhibit::Table(table, caption) => {
                json!({ "name": name, "caption": caption, "table": table.to_html() })
            }
        };
        Ok(json!({
            "verdict": judged.verdict.words(),
            "judged": judged,
            "exhibits": findings.exhibits.iter().map(exhibit).collect::<Vec<_>>(),
        }))
    }
}
