//! Links that follow traces: built-in ones, files, or traces drawn from the synthetic model.

use std::path::Path;

use paceline_cc::Span;
use paceline_trace::{self as trace, Trace};
use toml::{Table, Value};

use super::quantity::names;
use super::{Range, RunLength, SpecificationError};

const KEY: &str = "networks.traces";
/// Maximum number of drawn traces.
const MAX_DRAWS: i64 = 10_000;
/// Maximum duration of a drawn trace, which repeats after that.
const LONGEST: Span = Span::from_secs(600);

/// Maximum total duration of all drawn traces. At this limit, 5G traces take 3 GB.
const LONGEST_TOGETHER: Span = Span::from_secs(50_000);

/// The traces that are links of networks.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Traces {
    /// Traces, each of which is the link of some networks.
    pub listed: Vec<Trace>,
    /// Names of the synthetic model. Networks use them in turn, each with a newly drawn trace.
    pub models: Vec<&'static str>,
}

impl Traces {
    /// Returns true if the links have rates instead.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.models.is_empty()
    }

    /// Checks that the traces drawn for this many networks fit into memory.
    pub(super) fn check(
        &self,
        networks: usize,
        length: RunLength,
    ) -> Result<(), SpecificationError> {
        let RunLength::Fixed(length) = length else { return Ok(()) };
        let each = length.min(LONGEST);
        let together = each.as_secs_f64() * networks as f64;
        if self.models.is_empty() || together <= LONGEST_TOGETHER.as_secs_f64() {
            return Ok(());
        }
        let problem = format!(
            "{networks} networks have drawn traces of {each} each, {together} s together, and {} s fit: \
             write fewer draws or a shorter duration",
            LONGEST_TOGETHER.as_secs_f64()
        );
        Err(SpecificationError::value(KEY, problem))
    }

    /// Returns the trace at an index of the range, for a run of this duration; `None` if there is
    /// none. Calls `seed` if the trace is drawn.
    pub(super) fn at(
        &self,
        place: usize,
        length: Span,
        seed: impl FnOnce() -> u64,
    ) -> Option<Trace> {
        if self.models.is_empty() {
            return self.listed.get(place).cloned();
        }
        let (name, seed) = (self.models[place % self.models.len()], seed());
        let drawn = trace::synthetic(name, seed, length.min(LONGEST)).ok()?;
        Some(drawn.renamed(&format!("{name}[seed={seed}]")))
    }

    /// Reads a name, a list of names, or `{ model = "lte-*", draws = 50 }`, and the range of
    /// indices. Files are relative to `folder`.
    pub(super) fn read(
        written: &Value,
        folder: Option<&Path>,
    ) -> Result<(Traces, Range), SpecificationError> {
        if let Value::Table(table) = written
            && table.contains_key("model")
        {
            return Traces::drawn(table);
        }
        let (names, places) = names(KEY, written)?;
        let listed = names.iter().map(|name| load(name, folder)).collect::<Result<_, _>>()?;
        Ok((Traces { listed, models: Vec::new() }, places))
    }

    fn drawn(table: &Table) -> Result<(Traces, Range), SpecificationError> {
        let fail = |problem: String| SpecificationError::value(KEY, problem);
        let usage = "write { model = \"lte-*\", draws = 50 }";
        if let Some(name) = table.keys().find(|name| !["model", "draws"].contains(&name.as_str())) {
            return Err(fail(format!("there is no key `{name}`: {usage}")));
        }
        let draws = match table.get("draws") {
            Some(Value::Integer(draws @ 1..=MAX_DRAWS)) => *draws as usize,
            Some(other) => {
                return Err(fail(format!("draws = {other} is no number from 1 to {MAX_DRAWS}")));
            }
            None => return Err(fail(format!("draws is missing: {usage}"))),
        };
        let written =
            table.get("model").map_or_else(|| Ok(Vec::new()), |one| Ok(names(KEY, one)?.0))?;
        let mut models: Vec<&'static str> = Vec::new();
        for pattern in &written {
            let known = trace::names().filter(|name| pattern.len() <= 64 && matches(pattern, name));
            let before = models.len();
            models.extend(known);
            if models.len() == before {
                let known: Vec<&str> = trace::names().collect();
                let known = known.join(", ");
                return Err(fail(format!("the model has no `{pattern}`; there are: {known}")));
            }
        }
        models.sort_unstable();
        models.dedup();
        Ok((Traces { listed: Vec::new(), models }, Range::places(draws, false)))
    }
}

/// Returns true if a name matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).any(|skipped| name.get(skipped..).is_some_and(|name| matches(rest, name)))
}

/// Loads a built-in trace, or one in a file, relative to `folder`.
fn load(name: &str, folder: Option<&Path>) -> Result<Trace, SpecificationError> {
    let beside = folder.map(|folder| folder.join(name)).filter(|path| path.exists());
    let place = beside.as_deref().and_then(Path::to_str).unwrap_or(name);
    trace::load(place).map_err(|error| SpecificationError::value(KEY, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(matches("lte-*", "lte-driving.up") && matches("*", "leo") && matches("leo", "leo"));
        assert!(matches("*-driving", "nr-driving") && matches("l*e*o*", "leo"));
        assert!(!matches("lte-*", "umts-driving") && !matches("*-driving", "lte-driving.up"));
        assert!(!matches("leo", "leo2") && !matches("", "leo"));
    }
}
