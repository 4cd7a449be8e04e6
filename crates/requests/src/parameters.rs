//! Parameters of schemes and queues as `paceline schemes --json` and Python list them.

use paceline_cc::ParamInfo;
use serde::Serialize;

/// A parameter of a scheme or a queue.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterFields {
    /// Its name, as in the paper.
    pub name: &'static str,
    /// What may be written for it: `number`, `time`, `true|false`.
    pub kind: &'static str,
    /// Its unit; `none` for plain numbers, switches and words.
    pub unit: &'static str,
    /// Its default.
    pub default: String,
    /// The values that it may have.
    pub range: String,
    /// The paper, RFC or program that its default comes from.
    pub source: &'static str,
    /// What it means.
    pub doc: String,
}

impl From<ParamInfo> for ParameterFields {
    fn from(info: ParamInfo) -> ParameterFields {
        let ParamInfo { name, kind, unit, default, range, source, doc, .. } = info;
        ParameterFields { name, kind, unit, default, range, source, doc }
    }
}
