//! Verdicts on claims in words, and the circumstances that limit them.

use serde::Serialize;

/// Verdict on a claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All checks hold.
    Reproduced,
    /// Some checks hold.
    Partly,
    /// No check holds.
    Not,
    /// The claim is about recorded traces and was measured on synthetic ones: all checks hold.
    #[serde(rename = "synthetic-all")]
    SyntheticAll,
    /// Synthetic traces: some checks hold.
    #[serde(rename = "synthetic-some")]
    SyntheticSome,
    /// Synthetic traces: no check holds.
    #[serde(rename = "synthetic-none")]
    SyntheticNone,
    /// Runs were shorter and fewer than the paper's: all checks hold.
    #[serde(rename = "quick-all")]
    QuickAll,
    /// Shorter runs: some checks hold.
    #[serde(rename = "quick-some")]
    QuickSome,
    /// Shorter runs: no check holds.
    #[serde(rename = "quick-none")]
    QuickNone,
    /// Something stands in for what the paper measured, such as a built-in table of rules for a
    /// published one: all checks hold.
    #[serde(rename = "stand-in-all")]
    StandInAll,
    /// A stand-in: some checks hold.
    #[serde(rename = "stand-in-some")]
    StandInSome,
    /// A stand-in: no check holds.
    #[serde(rename = "stand-in-none")]
    StandInNone,
    /// The claim was not measured: it says why, or its tables are missing.
    #[serde(rename = "not-measured")]
    NotMeasured,
}

/// Circumstances under which no claim counts as reproduced.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Whether something stands in for what the paper measured.
    pub stand_ins: bool,
    /// Whether synthetic traces replaced recorded ones.
    pub synthetic: bool,
    /// Whether runs were shorter and fewer than the papers'.
    pub quick: bool,
    /// Whether programs may run in real time.
    pub live: bool,
}

impl Verdict {
    /// Returns the verdict on a claim of which `held` of `all` checks hold.
    pub(crate) fn of(held: usize, all: usize, limits: Limits) -> Verdict {
        let [every, some, none] = match limits {
            Limits { stand_ins: true, .. } => {
                [Verdict::StandInAll, Verdict::StandInSome, Verdict::StandInNone]
            }
            Limits { synthetic: true, .. } => {
                [Verdict::SyntheticAll, Verdict::SyntheticSome, Verdict::SyntheticNone]
            }
            Limits { quick: true, .. } => {
                [Verdict::QuickAll, Verdict::QuickSome, Verdict::QuickNone]
            }
            _ => [Verdict::Reproduced, Verdict::Partly, Verdict::Not],
        };
        match held {
            held if held == all => every,
            0 => none,
            _ => some,
        }
    }

    /// True if all checks hold, whatever the traces, the tables and the lengths of runs.
    pub fn holds(self) -> bool {
        use Verdict::{QuickAll, Reproduced, StandInAll, SyntheticAll};
        matches!(self, Reproduced | StandInAll | SyntheticAll | QuickAll)
    }

    /// Returns the verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Partly => "in part",
            Verdict::Not => "not reproduced",
            Verdict::SyntheticAll => "not measured on the paper's traces; on synthetic ones: holds",
            Verdict::SyntheticSome => {
                "not measured on the paper's traces; on synthetic ones: in part"
            }
            Verdict::SyntheticNone => {
                "not measured on the paper's traces; on synthetic ones: does not hold"
            }
            Verdict::StandInAll => "not measured with what the paper had; with a stand-in: holds",
            Verdict::StandInSome => {
                "not measured with what the paper had; with a stand-in: in part"
            }
            Verdict::StandInNone => {
                "not measured with what the paper had; with a stand-in: does not hold"
            }
            Verdict::QuickAll => "not measured at full length; in shortened runs: holds",
            Verdict::QuickSome => "not measured at full length; in shortened runs: in part",
            Verdict::QuickNone => "not measured at full length; in shortened runs: does not hold",
            Verdict::NotMeasured => "not measured",
        }
    }
}
