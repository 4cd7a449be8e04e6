//! Links by the names that the page uses.

use paceline_cc::{ParamValue as _, Rate};
use paceline_sim::scenario::Capacity;
use paceline_trace::Trace;
use serde::Deserialize;

/// A trace by its name, or a file that the user dropped on the page.
#[derive(Deserialize)]
pub(crate) struct NamedTrace {
    /// A built-in trace, a rate such as `12Mbps`, or the name of the file.
    pub(crate) name: String,
    /// Text of the file; `None` for built-in traces and rates.
    #[serde(default)]
    pub(crate) text: Option<String>,
}

impl NamedTrace {
    /// Returns its capacity.
    pub(crate) fn capacity(&self) -> Result<Capacity, String> {
        let NamedTrace { name, text } = self;
        if let Some(text) = text {
            let trace = paceline_trace::file::parse(name, text.as_bytes());
            return trace.map(Capacity::trace).map_err(|error| error.to_string());
        }
        if let Ok(rate) = Rate::read(name.trim()) {
            return Ok(Capacity::Constant(allowed(rate)?));
        }
        built_in(name).map(Capacity::trace)
    }
}

/// Returns a built-in trace, because the page reads no files.
fn built_in(name: &str) -> Result<Trace, String> {
    if paceline_trace::default_length(name).is_none() {
        let list = paceline_trace::names().collect::<Vec<_>>().join(", ");
        return Err(format!("there is no built-in trace `{name}`; there are: {list}"));
    }
    paceline_trace::load(name).map_err(|error| error.to_string())
}

/// Fastest link that a page simulates: a second of it has 80,000 packets.
const FASTEST: Rate = Rate::from_bps(1_000_000_000);

/// Returns the rate if a page may simulate it.
pub(crate) fn allowed(rate: Rate) -> Result<Rate, String> {
    match rate {
        Rate::ZERO => Err("expected a rate above zero".into()),
        rate if rate > FASTEST => Err(format!("expected a rate up to {FASTEST}")),
        rate => Ok(rate),
    }
}
