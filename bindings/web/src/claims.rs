//! The papers' claims, and the runs behind one of them.

use std::collections::BTreeMap;

use paceline_reproduce::{Claim, Exhibit, Recordings, Setting, Tables, Trial, find_claims};
use paceline_trace::Trace;
use serde::Deserialize;
use serde_json::{Value, json};

/// Cost in seconds of simulated traffic above which a claim does not run in the page, because a
/// reader would not wait for it: with shortened runs, and with those of the papers' length, for
/// which a reader sees an estimate of the time.
const MOST_WORK: f64 = 12_000.0;
const MOST_FULL_WORK: f64 = 120_000.0;

/// Recorded traces that the user dropped on the page, by their names.
#[derive(Default)]
pub(crate) struct DroppedTraces(BTreeMap<String, Trace>);

/// A file that the user dropped on the page.
#[derive(Deserialize)]
pub(crate) struct DroppedFile {
    /// Its name, without folders.
    name: String,
    text: String,
}

impl DroppedTraces {
    /// Adds those of the files that are recordings of the papers; an empty list removes all, unless
    /// `keep`.
    /// Returns the names of the recordings that are there, that are missing, and of the files that
    /// are none.
    ///
    /// # Errors
    /// A recording that cannot be read: then none of the files is added.
    pub(crate) fn add(&mut self, files: &[DroppedFile], keep: bool) -> Result<Value, String> {
        if files.is_empty() && !keep {
            self.0.clear();
        }
        let names = Recordings::names();
        let (known, other): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| names.contains(file.name.as_str()));
        let read = |file: &&DroppedFile| {
            let trace = paceline_trace::file::parse(&file.name, file.text.as_bytes());
            Ok((file.name.clone(), trace.map_err(|error| error.to_string())?))
        };
        self.0.extend(known.iter().map(read).collect::<Result<Vec<_>, String>>()?);
        let missing: Vec<_> = names.iter().filter(|name| !self.0.contains_key(**name)).collect();
        let other: Vec<_> = other.iter().map(|file| &file.name).collect();
        let here: Vec<_> = self.0.keys().collect();
        Ok(json!({ "recordings": here, "missing": missing, "other": other }))
    }

    /// Returns a setting with these recordings, or with synthetic traces if there are none;
    /// shortened unless `full`.
    fn setting(&self, full: bool) -> Setting {
        let traces = (!self.0.is_empty()).then(|| Recordings::Loaded(self.0.clone()));
        Setting {
            quick: !full,
            traces,
            tables: Tables::default(),
            seed: 1,
            live: None,
            causes: true,
        }
    }
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
            "recording": claim.recording,
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
    pub(crate) fn new(id: &str, full: bool, dropped: &DroppedTraces) -> Result<ClaimTrial, String> {
        let found = find_claims(&[id.to_string()]).map_err(|error| error.to_string())?;
        let [claim] = &found[..] else { return Err(format!("there is no claim `{id}`")) };
        if !claim.tables.is_empty() {
            return Err("this claim is about published tables of rules, which are no part of the \
                        page: run `paceline reproduce --tables DIR`"
                .into());
        }
        Ok(ClaimTrial { trial: Trial::new(claim, &dropped.setting(full))?, full })
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
