//! Writes scenarios as files.
//!
//! A written scenario reads back as the same scenario, which is checked before the text is
//! returned. Defaults are left out. Some scenarios cannot be written, and the error names the
//! reason: a file always records time series, acknowledgements wait at most 40 ms, off-periods are
//! exponential, on-periods are not fixed, times are whole nanoseconds, and of Gilbert and Elliott's
//! models only those with losses in bursts exist.

use paceline_cc::Rate;
use paceline_trace::Trace;

use super::error::ScenarioError;
use super::read::parse_with;
use super::{flow, link, medium, run};
use crate::names::Names;
use crate::scenario::spec::{Capacity, Scenario};

/// Writes a scenario as a file. `about` becomes a comment at its top. `trace_file` returns what to
/// write for a trace: a file relative to the scenario's folder, or a built-in name. The caller must
/// make sure that it contains the same trace.
///
/// Schemes and queues keep their names; if one is not built in, the file can only be read back with
/// its table, which [`to_toml_with`] takes.
///
/// # Errors
/// Names the part that a file cannot express, or that the parser would refuse.
pub fn to_toml(
    scenario: &Scenario,
    about: &str,
    trace_file: &mut dyn FnMut(&Trace) -> String,
) -> Result<String, ScenarioError> {
    to_toml_with(scenario, about, trace_file, &Names::default())
}

/// Writes a scenario with the schemes and queues of `names`.
///
/// # Errors
/// Those of [`to_toml`].
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

/// Returns text as comment lines; replaces characters that TOML does not allow there by blanks.
fn comment(about: &str) -> String {
    let mut text = String::new();
    for line in about.lines() {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        text += format!("# {line}").trim_end();
        text.push('\n');
    }
    text
}

/// Adds the place to a mistake.
fn of(what: &str, name: &str, error: ScenarioError) -> ScenarioError {
    ScenarioError { message: format!("{what} `{name}`: {}", error.message), ..error }
}

/// Reads back the text written for a scenario. Replaces its traces by constant rates, because their
/// files may not exist yet.
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
