//! Reads values with units, and ranges and lists of them.

use paceline_cc::{ParamValue, Rate, Span};
use paceline_path::BufferSize;
use toml::{Table, Value};

use super::{Range, Scale, SpecificationError};

/// Maximum number of values of a range or list.
const MAX_STEPS: u32 = 10_000;

/// The keys of a range.
const RANGE_KEYS: [&str; 6] = ["from", "to", "steps", "step", "scale", "values"];

/// How a value is read: its minimum and maximum, and its unit.
pub(super) struct Kind {
    pub(super) key: &'static str,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) unit: Unit,
}

/// A unit of values: how they are read from text, and written as files have them.
#[derive(Copy, Clone)]
pub(super) struct Unit {
    pub(super) read: fn(&str) -> Result<f64, String>,
    pub(super) show: fn(f64) -> String,
}

pub(super) const NUMBER: Unit =
    Unit { read: <f64 as ParamValue>::read, show: |number| number.to_string() };
pub(super) const MBPS: Unit = Unit {
    read: |text| Rate::read(text).map(Rate::as_mbps),
    show: |mbps| format!("\"{}\"", Rate::from_mbps(mbps)),
};
pub(super) const BYTES: Unit = Unit {
    read: |text| match BufferSize::parse(text)? {
        BufferSize::Bytes(bytes) => Ok(bytes as f64),
        _ => Err("expected bytes, such as \"100kB\"".into()),
    },
    show: |bytes| format!("\"{bytes}B\""),
};
pub(super) const SECONDS: Unit = Unit {
    read: |text| Span::read(text).map(Span::as_secs_f64),
    show: |seconds| format!("\"{}\"", Span::from_secs_f64(seconds)),
};
pub(super) const MILLIS: Unit = Unit {
    read: |text| Span::read(text).map(Span::as_millis_f64),
    show: |millis| format!("\"{}\"", Span::from_secs_f64(millis / 1e3)),
};

/// Returns a value in the form that [`Unit::read`] takes: numbers without their type, texts without
/// quotes.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Kind {
    fn fail(&self, problem: impl Into<String>) -> SpecificationError {
        SpecificationError::value(self.key, problem)
    }

    /// Reads a value without checking its bounds.
    fn number(&self, value: &Value) -> Result<f64, SpecificationError> {
        // A number without a unit is accepted only for kinds without units.
        let text = plain(value).ok_or_else(|| {
            let kind = value.type_str();
            self.fail(format!("{kind} `{value}`: expected one value, a list of values or a range"))
        })?;
        let number = (self.unit.read)(&text).map_err(|problem| self.fail(problem))?;
        if number.is_finite() { Ok(number) } else { Err(self.fail(format!("{text} is no number"))) }
    }

    fn quantity(&self, value: &Value) -> Result<f64, SpecificationError> {
        let number = self.number(value)?;
        let shown = |number: f64| (self.unit.show)(number);
        if number < self.least {
            let least = shown(self.least);
            return Err(self.fail(format!("{value} is too little: write {least} or more")));
        }
        if number > self.most {
            let most = shown(self.most);
            return Err(self.fail(format!("{value} is too much: write {most} or less")));
        }
        Ok(number)
    }

    /// Reads a single value, a list of values, or a range.
    pub(super) fn range(&self, written: &Value) -> Result<Range, SpecificationError> {
        match written {
            Value::Array(list) => self.list(list, false),
            Value::Table(table) => self.table(table),
            one => Ok(Range::one(self.quantity(one)?)),
        }
    }

    fn list(&self, list: &[Value], is_random: bool) -> Result<Range, SpecificationError> {
        if list.is_empty() || list.len() > MAX_STEPS as usize {
            let count = list.len();
            return Err(self.fail(format!("a list has 1 to {MAX_STEPS} values, not {count}")));
        }
        let values = list.iter().enumerate().map(|(place, value)| {
            self.quantity(value).map_err(|error| {
                let SpecificationError::Value { problem, .. } = &error else { return error };
                self.fail(format!("value {} of the list, {value}: {problem}", place + 1))
            })
        });
        Ok(Range::list(values.collect::<Result<_, _>>()?, is_random))
    }

    fn table(&self, table: &Table) -> Result<Range, SpecificationError> {
        check_keys(self.key, table)?;
        let scale = scale(self.key, table)?;
        if let Some(values) = table.get("values") {
            let Value::Array(list) = values else {
                return Err(self.fail("values is a list, such as values = [VALUE, VALUE]"));
            };
            return self.list(list, listed_scale(self.key, table)?);
        }
        let end = |key: &str| {
            let missing = || self.fail(format!("a range needs {key}: write from = ..., to = ..."));
            table.get(key).ok_or_else(missing).and_then(|value| Ok((value, self.quantity(value)?)))
        };
        let ((written_from, from), (written_to, to)) = (end("from")?, end("to")?);
        if from > to {
            return Err(self.fail(format!(
                "from = {written_from} is above to = {written_to}: write from = {written_to}, to = \
                 {written_from}"
            )));
        }
        let (steps, to) = match (scale.is_random(), table.get("steps"), table.get("step")) {
            (true, None, None) => (1, to),
            (true, _, _) => {
                return Err(self.fail("a random range has no steps: write draws instead"));
            }
            (false, Some(_), Some(_)) => {
                return Err(self.fail("write one of steps, a count, and step, a distance"));
            }
            (false, None, None) => {
                return Err(
                    self.fail("a range needs steps, such as steps = 3, or step, a distance")
                );
            }
            (false, Some(Value::Integer(steps)), None) => {
                let count = u32::try_from(*steps).ok().filter(|n| (1..=MAX_STEPS).contains(n));
                let problem = || self.fail(format!("{steps} steps are not 1 to {MAX_STEPS}"));
                (count.ok_or_else(problem)?, to)
            }
            (false, Some(steps), None) => {
                return Err(
                    self.fail(format!("steps = {steps} is no whole number: write steps = 3"))
                );
            }
            (false, None, Some(step)) => self.stepped(from, to, step, scale)?,
        };
        if scale.is_logarithmic() && from <= 0.0 {
            return Err(self.fail("a logarithmic range begins above zero"));
        }
        Ok(Range { scale, ..Range::steps(from, to, steps) })
    }

    /// Returns the number of values at distance `step`, and the last one, which is at most `to`.
    fn stepped(
        &self,
        from: f64,
        to: f64,
        written: &Value,
        scale: Scale,
    ) -> Result<(u32, f64), SpecificationError> {
        if scale.is_logarithmic() {
            return Err(self.fail("a logarithmic range has steps, a count: write steps = 3"));
        }
        let step = self.number(written)?;
        // Tolerate rounding of decimal fractions: a last value that is almost `to` counts.
        let count = ((to - from) / step + 1e-9).floor() + 1.0;
        if step > 0.0 && count <= f64::from(MAX_STEPS) {
            return Ok((count as u32, from + (count - 1.0) * step));
        }
        Err(self
            .fail(format!("step = {written} is not above zero, or has over {MAX_STEPS} values")))
    }
}

/// Returns an error if a range has an unknown key.
fn check_keys(key: &'static str, table: &Table) -> Result<(), SpecificationError> {
    match table.keys().find(|name| !RANGE_KEYS.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let known = RANGE_KEYS.join(", ");
            let problem = format!("a range has no key `{name}`; there are: {known}");
            Err(SpecificationError::value(key, problem))
        }
    }
}

/// Reads the scale of a range.
fn scale(key: &'static str, table: &Table) -> Result<Scale, SpecificationError> {
    let Some(written) = table.get("scale") else { return Ok(Scale::Linear) };
    let known = written.as_str().and_then(Scale::of_name);
    known.ok_or_else(|| {
        let problem = format!(
            "there is no scale {written}; there are \"linear\", \"log\" or \"logarithmic\", \
             \"random\", and \"random-log\" or \"random-logarithmic\""
        );
        SpecificationError::value(key, problem)
    })
}

/// Returns true if one of the listed `values` of a table is drawn for each network.
fn listed_scale(key: &'static str, table: &Table) -> Result<bool, SpecificationError> {
    let fail = |problem: &str| Err(SpecificationError::value(key, problem));
    if table.keys().any(|name| name != "values" && name != "scale") {
        return fail("beside values there is scale = \"random\" only");
    }
    match (table.get("scale"), scale(key, table)?) {
        (None, _) => Ok(false),
        (Some(_), Scale::Random) => Ok(true),
        _ => fail("listed values have scale = \"random\", or none"),
    }
}

/// Reads a name, a list of names, or `{ values = [...], scale = "random" }`, of which one is drawn
/// for each network. Returns the names and the range of their indices.
pub(super) fn names(
    key: &'static str,
    written: &Value,
) -> Result<(Vec<String>, Range), SpecificationError> {
    let fail = |problem: String| SpecificationError::value(key, problem);
    let (list, is_random) = match written {
        Value::Array(list) => (list.as_slice(), false),
        Value::Table(table) => match table.get("values") {
            Some(Value::Array(list)) => (list.as_slice(), listed_scale(key, table)?),
            _ => {
                let problem = "write a name, a list, or { values = [...], scale = \"random\" }";
                return Err(fail(problem.into()));
            }
        },
        one => (std::slice::from_ref(one), false),
    };
    if list.is_empty() || list.len() > MAX_STEPS as usize {
        return Err(fail(format!("a list has 1 to {MAX_STEPS} names, not {}", list.len())));
    }
    let name = |value: &Value| {
        plain(value).ok_or_else(|| fail(format!("`{value}` is no name: write it in quotes")))
    };
    let names: Vec<String> = list.iter().map(name).collect::<Result<_, _>>()?;
    let range = Range::places(names.len(), is_random);
    Ok((names, range))
}
