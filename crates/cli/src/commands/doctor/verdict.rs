//! The result of a check.

use serde::Serialize;

/// Result of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// It is there.
    Ok,
    /// The commands work in part, or less well.
    Limited,
    /// The commands do not work.
    Missing,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Limited => "limited",
            Verdict::Missing => "missing",
        }
    }
}
