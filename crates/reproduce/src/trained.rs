//! Claims about published tables, measured with tables trained here as well.

use crate::claim::Claim;
use crate::findings::{Findings, Measures};
use crate::judged::{BoundResult, ClaimResult};

impl ClaimResult {
    /// Adds the results with tables trained here: `findings` of the first run, and the measures of `further` ones.
    /// Adds nothing if the verdict is by these tables, or if one is missing.
    pub(crate) fn add_trained(&mut self, claim: &Claim, findings: &Findings, further: &[Measures]) {
        let own = findings.stand_ins.iter().filter(|(file, _)| claim.tables.contains(file));
        let tables: Vec<(String, String)> = own.cloned().collect();
        let is_missing = claim.tables.iter().any(|file| findings.missing.contains(file));
        if tables.is_empty() || tables == self.stand_ins || is_missing {
            return;
        }
        self.trained_tables = tables;
        for (check, judged) in claim.checks.iter().zip(&mut self.checks) {
            let bound = check.now.as_ref().unwrap_or(&check.stated);
            judged.trained = Some(BoundResult::of(bound, findings, further));
        }
    }

    /// Returns a sentence about the tables trained here that were measured, too, with the number of checks that
    /// hold with them; empty if there were none.
    pub fn trained_in_words(&self) -> String {
        if self.trained_tables.is_empty() {
            return String::new();
        }
        let now = || self.checks.iter().filter(|check| check.now.is_some());
        let trained = || now().filter_map(|check| check.trained.as_ref());
        let held = trained().filter(|result| result.holds).count();
        let pairs = self.trained_tables.iter().map(|(file, name)| format!("`{name}` for {file}"));
        format!(
            "With tables trained here {held} of {} checks hold, by the bounds of the published tables: {}. \
             They count in no verdict.",
            trained().count(),
            pairs.collect::<Vec<_>>().join(", ")
        )
    }
}
