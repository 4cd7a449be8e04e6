//! The state of a training between two steps, and its file.

use paceline_schemes::remy::RuleTable;
use serde::{Deserialize, Serialize};

use super::files::Digests;
use super::neighbours::Change;
use crate::readable::Readable;

/// Value of the file's first entry.
const FORMAT: &str = "paceline-remy-training 1";

/// Maximum number of generations accepted in a file.
const MOST: u32 = 1 << 24;

/// What the next step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Phase {
    /// Draws new networks, and selects the most used rule of this generation.
    Choose,
    /// Improves rules.
    Improve {
        /// Their numbers.
        rules: Vec<usize>,
        /// How often all neighbours were tried.
        rounds: u32,
        /// The last change, if it is to be repeated.
        change: Option<Change>,
    },
    /// Compares the table with that of the last check, on newly drawn networks.
    Check,
    /// Selects rules that may be divided.
    Aim,
    /// Divides rules.
    Split {
        /// Their numbers, in falling order; the last of the list is divided next.
        rules: Vec<usize>,
    },
}

/// Cost since training began.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingCost {
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Processor seconds, of all threads together.
    pub cpu_s: f64,
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Candidates tried, including those given up.
    pub candidates: u64,
}

/// Of two tables that are trained in turn, the one that is not being trained now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartnerTable {
    /// True if it is the table of the senders for which the first table is trained.
    pub(super) first: bool,
    /// How often all its rules were improved.
    pub(super) generation: u32,
    /// Generation of each rule.
    pub(super) generations: Vec<u32>,
    /// Its table at the last check.
    pub(super) kept: Option<Readable>,
    /// Its table.
    pub(super) table: Readable,
}

/// The state of a training between two steps. The next step follows from it alone, except for the
/// cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingState {
    format: String,
    /// The text of the specification.
    pub specification: String,
    /// Digests of the files that the specification names; `None` in states of versions that did not write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Digests>,
    /// The seed.
    pub seed: u64,
    /// Number of steps so far.
    pub step: u64,
    /// How often all rules were improved.
    pub generation: u32,
    /// How often networks were drawn.
    pub draws: u64,
    /// What the next step does.
    pub(super) phase: Phase,
    /// Generation of each rule.
    pub generations: Vec<u32>,
    /// Score of the table on the networks drawn last.
    pub score: f64,
    /// Cost so far.
    pub spent: TrainingCost,
    /// The table at the last check.
    pub kept: Option<Readable>,
    /// The table.
    pub table: Readable,
    /// The table from which training started, if it was not one rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Readable>,
    /// Score per network on the validation set, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// The second table, if two are trained in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) partner: Option<PartnerTable>,
}

/// Converts a readable table.
fn table(readable: &Readable) -> Result<RuleTable, String> {
    let tree = readable.tree().map_err(|error| error.to_string())?;
    let table = RuleTable::new(tree).map_err(|error| error.to_string())?;
    Ok(table.with_timer(readable.timer))
}

impl TrainingState {
    /// Returns the state before the first step; with `two`, for two tables that are trained in
    /// turn.
    pub(super) fn first(
        specification: &str,
        seed: u64,
        table: &RuleTable,
        two: bool,
    ) -> TrainingState {
        let partner = PartnerTable {
            first: false,
            generation: 0,
            generations: vec![0; table.rules().len()],
            kept: None,
            table: Readable::of_table(table, ""),
        };
        TrainingState {
            format: FORMAT.to_string(),
            specification: specification.to_string(),
            files: None,
            seed,
            step: 0,
            generation: 0,
            draws: 0,
            phase: Phase::Choose,
            generations: vec![0; table.rules().len()],
            score: 0.0,
            spent: TrainingCost::default(),
            kept: None,
            table: Readable::of_table(table, ""),
            start: None,
            validation: None,
            partner: two.then_some(partner),
        }
    }

    /// Returns the number of completed generations; with two tables, of both.
    pub(crate) fn generations_done(&self) -> u32 {
        let partner = self.partner.as_ref().map_or(u32::MAX, |partner| partner.generation);
        self.generation.min(partner)
    }

    /// Switches to training the other table, if there are two.
    pub(super) fn take_turns(&mut self) {
        if let Some(partner) = &mut self.partner {
            partner.first = !partner.first;
            std::mem::swap(&mut partner.generation, &mut self.generation);
            std::mem::swap(&mut partner.generations, &mut self.generations);
            std::mem::swap(&mut partner.kept, &mut self.kept);
            std::mem::swap(&mut partner.table, &mut self.table);
        }
    }

    /// Returns the second table, if there are two.
    ///
    /// # Errors
    /// The error in it.
    pub(super) fn other_table(&self) -> Result<Option<RuleTable>, String> {
        self.partner.as_ref().map(|partner| table(&partner.table)).transpose()
    }

    /// Reads a state and its table.
    ///
    /// # Errors
    /// The error in the text.
    pub(crate) fn read(text: &str) -> Result<(TrainingState, RuleTable), String> {
        let state: TrainingState = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if state.format != FORMAT {
            return Err(format!("its format is `{}`; this version reads `{FORMAT}`", state.format));
        }
        let now = table(&state.table).map_err(|error| format!("table: {error}"))?;
        if let Some(kept) = &state.kept {
            table(kept).map_err(|error| format!("kept: {error}"))?;
        }
        if let Some(partner) = &state.partner {
            let other = table(&partner.table).map_err(|error| format!("partner: {error}"))?;
            if let Some(kept) = &partner.kept {
                table(kept).map_err(|error| format!("partner.kept: {error}"))?;
            }
            let (entries, rules) = (partner.generations.len(), other.rules().len());
            if entries != rules || partner.generation > MOST {
                return Err(format!("partner.generations has {entries} entries for {rules} rules"));
            }
        }
        if state.generation > MOST || state.step.max(state.draws) > u64::from(MOST) << 20 {
            let TrainingState { generation, step, draws, .. } = state;
            return Err(format!(
                "generation {generation}, step {step}, draws {draws} are too many"
            ));
        }
        let rules = now.rules().len();
        if state.generations.len() != rules {
            let entries = state.generations.len();
            return Err(format!("generations has {entries} entries for {rules} rules"));
        }
        let (Phase::Improve { rules: named, .. } | Phase::Split { rules: named }) = &state.phase
        else {
            return Ok((state, now));
        };
        match named.iter().find(|&&rule| rule >= rules) {
            Some(rule) => Err(format!("phase names rule {rule} of {rules}")),
            None => Ok((state, now)),
        }
    }
}

/// A line of the log: the result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Number of the step, from 1.
    pub step: u64,
    /// Kind of step: `choose`, `improve`, `check`, `aim`, `split`.
    pub what: String,
    /// The generation.
    pub generation: u32,
    /// Number of rules of the table after the step.
    pub rules: usize,
    /// The rule that was improved or divided, if it was one.
    pub rule: Option<usize>,
    /// Sum of the scores after the step, on its networks.
    pub score: f64,
    /// Gain of the step on these networks.
    pub gain: f64,
    /// Score per network on the validation set, after the first step and after each check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Description of the result, in words.
    pub note: String,
    /// Cost since training began.
    pub spent: TrainingCost,
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;

    use super::*;
    use crate::train::{Procedure, Settings};

    #[test]
    fn states_survive_a_file_and_broken_ones_are_errors() {
        let settings = Settings::of(Procedure::Racing);
        let first = RuleTable::new(settings.first()).expect("a table");
        let mut state = TrainingState::first("[networks]", 7, &first, true);
        state.take_turns();
        state.phase = Phase::Improve { rules: vec![0], rounds: 1, change: None };
        state.score = 0.1 + 0.2;
        let text = serde_json::to_string(&state).expect("JSON");
        let (again, table) = TrainingState::read(&text).expect("its own form");
        assert_eq!((again, table.rules().len()), (state, 1));
        let mut random = Stream::new(1, "hostile");
        let mut errors = 0;
        for _ in 0..2000 {
            let mut bytes = text.clone().into_bytes();
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"0123456789.,[]{}"[random.below(16) as usize]),
            }
            errors += u32::from(TrainingState::read(&String::from_utf8_lossy(&bytes)).is_err());
        }
        assert!(errors > 500, "{errors}");
    }
}
