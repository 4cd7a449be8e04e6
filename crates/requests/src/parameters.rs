//! Parameters of schemes and queues as `paceline schemes --json` and Python list them.

use paceline_cc::ParamInfo;
use serde::Serialize;

/// A parameter of a scheme or a queue.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterFields {
    /// Name, as in the paper.
    pub name: &'static str,
    /// Kind of value: `number`, `time`, `true|false`.
    pub kind: &'static str,
    /// Unit; `none` for plain numbers, switches and words.
    pub unit: &'static str,
    /// Default value.
    pub default: String,
    /// Allowed values.
    pub range: String,
    /// Source of the default: paper, RFC or program.
    pub source: &'static str,
    /// Meaning.
    pub doc: String,
}

impl From<ParamInfo> for ParameterFields {
    fn from(info: ParamInfo) -> ParameterFields {
        let range = info.allowed();
        let ParamInfo { name, kind, unit, default, source, doc, .. } = info;
        ParameterFields { name, kind, unit, default, range, source, doc }
    }
}
