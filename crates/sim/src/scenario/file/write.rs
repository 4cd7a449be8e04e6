//! Writes scenarios as files.
//!
//! What is written reads back as the same scenario, which is checked before anything is handed
//! out. What the parser fills in by itself is left out. Some scenarios cannot be written, and the
//! error names what is in the way: the format always records time series, acknowledgements wait
//! 40 ms at most, off-periods are exponential, on-periods are not fixed, times are whole
//! nanoseconds, and of Gilbert's and Elliott's models there are those of loss in bursts only.

use paceline_cc::Rate;
use paceline_trace::Trace;

use super::error::ScenarioError;
use super::read::parse_with;
use super::{flow, link, medium, run};
use crate::names::Names;
use crate::scenario::spec::{Capacity, Scenario};

/// A scenario as a file. `about` becomes a comment at its top. `trace_file` says what is to be
/// written for a trace: a file as seen from the scenario's folder, or a built-in name; that this
/// holds the same trace is up to the caller.
///
/// Schemes and queues have the names that they have; one that is not built in reads back only with
/// its table, which [`to_toml_with`] takes.
///
/// # Errors
/// What a file cannot express, or the parser would refuse, by name.
pub fn to_toml(
    scenario: &Scenario,
    about: &str,
    trace_file: &mut dyn FnMut(&Trace) -> String,
) -> Result<String, ScenarioError> {
    to_toml_with(scenario, about, trace_file, &Names::default())
}

/// The same with the schemes and queues of `names`.
///
/// # Errors
/// As of [`to_toml`].
pub fn to_toml_with(
    scenario: &Scenario,
    about: &str,
    trace_file: &mut dyn FnMut(&Trace) -> String,
    names: &Names,
) -> Result<String, ScenarioError> {
    let text = write(scenario, about, trace_file)?;
    check(scenario, names)?;
    Ok(text)
}

fn write(
    scenario: &Scenario,
    about: &str,
    trace_file: &mut dyn FnMut(&Trace) -> String,
) -> Result<String, ScenarioError> {
    let mut text = comment(about) + &run::written(scenario)?;
    for spec in &scenario.links {
        let written =
            link::written(spec, trace_file).map_err(|error| of("link", &spec.name, error));
        text += &format!("\n{}", written?);
    }
    for spec in &scenario.media {
        let written = medium::written(spec).map_err(|error| of("medium", &spec.name, error));
        text += &format!("\n{}", written?);
    }
    for spec in &scenario.flows {
        let written = flow::written(spec, scenario).map_err(|error| of("flow", &spec.name, error));
        text += &format!("\n{}", written?);
    }
    for spec in &scenario.arrivals {
        let written = flow::written_arrivals(spec, scenario);
        text += &format!("\n{}", written.map_err(|error| of("flow", &spec.flow.name, error))?);
    }
    Ok(text)
}

/// Text in comment lines; what TOML does not allow there becomes blanks.
fn comment(about: &str) -> String {
    let mut text = String::new();
    for line in about.lines() {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        text += format!("# {line}").trim_end();
        text.push('\n');
    }
    text
}

/// The same mistake with its place.
fn of(what: &str, name: &str, error: ScenarioError) -> ScenarioError {
    ScenarioError { message: format!("{what} `{name}`: {}", error.message), ..error }
}

/// Reads back what is written for a scenario. Constant rates take the place of its traces, whose
/// files may not be there yet.
fn check(scenario: &Scenario, names: &Names) -> Result<(), ScenarioError> {
    let mut plain = scenario.clone();
    for link in &mut plain.links {
        if let Capacity::Trace { .. } = link.capacity {
            link.capacity = Capacity::Constant(Rate::from_mbps(12.0));
        }
    }
    let text = write(&plain, "", &mut |_| String::new())?;
    let read = parse_with("", &text, None, names).map_err(|error| ScenarioError {
        message: format!("files cannot say this: {}", error.message),
        span: None,
        line: None,
        column: None,
        ..error
    })?;
    let (want, have) = (format!("{plain:?}"), format!("{read:?}"));
    if want == have {
        return Ok(());
    }
    let same = want.chars().zip(have.chars()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| text.chars().skip(same.saturating_sub(40)).take(80).collect::<String>();
    let message = format!("`{}` would be read as `{}`", part(&want), part(&have));
    Err(ScenarioError::new(message).help("files cannot say this"))
}
