//! How values are written on the command line.

use std::path::Path;
use std::time::Duration;

use paceline_cc::{Halves, ParamValue, Span, Spec, SpecError};
pub(crate) use paceline_requests::written::{
    ComparedSchemes, Schemes, bin, buffer, capacity, length, rate, rtt, schemes,
};
use paceline_trace::Delays;
use paceline_wire::LONGEST_IDLE;

use crate::output::Error;

/// A time such as `100ms`.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Span::read(text.trim())
}

/// How often a tunnel that carries nothing gives a sign of life: 1 s to 10 minutes, or 0.
pub(crate) fn keepalive(text: &str) -> Result<Span, String> {
    let span = span(text)?;
    let allowed = span.is_zero() || (Span::from_secs(1)..=LONGEST_IDLE).contains(&span);
    if allowed { Ok(span) } else { Err("expected 1s to 600s, or 0s".into()) }
}

/// A scheme for sending over UDP: what it is built from here, and its text for the other end, which
/// reads no files and needs none for its half.
pub(crate) fn sender(text: &str) -> Result<(Halves, String), String> {
    let build = || {
        let mut spec = Spec::parse(text)?;
        let halves = paceline_remy::names().build_scheme(&spec)?;
        if spec.name == "remy" {
            let with_file = spec.args.len();
            spec.args.retain(|(name, _)| name != "file");
            if spec.args.len() < with_file && halves.reporter.is_some() {
                // Receivers of all tables that hear marks are alike: the other end builds its half
                // from a built-in one.
                spec.args.retain(|(name, _)| name != "table");
                spec.args.push(("table".into(), "cellular-marks".into()));
            }
        }
        Ok((halves, spec.to_string()))
    };
    build().map_err(|error: SpecError| error.to_string())
}

/// A recording of delays.
pub(crate) fn delays(text: &str) -> Result<Delays, String> {
    paceline_trace::load_delays(text).map_err(|error| error.to_string())
}

/// Makes sure that what an option names is a folder; `what` says what is looked for in it.
pub(crate) fn folder(option: &str, path: Option<&Path>, what: &str) -> Result<(), Error> {
    match path {
        Some(path) if !path.is_dir() => Err(Error::Usage(format!(
            "{}: not a folder; {option} wants one {what}",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// A span as a wall-clock duration.
pub(crate) fn wall(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of one rule that looks at these signals, in a file; then what is told to the other end.
    fn offered(signals: &str) -> (bool, String) {
        let name = format!("paceline-args-{}-{}.toml", std::process::id(), signals.len());
        let file = std::env::temp_dir().join(name);
        let ends = |end: &str| signals.replace('"', "").replace(',', &format!(" = {end},"));
        let table = format!(
            "format = \"paceline-remy 1\"\n[[box]]\nat = \"\"\naxes = [{signals}]\n\
             lower = {{ {} = 0.0 }}\nupper = {{ {} = 1e5 }}\nrule = {{ m = 1.0, b = 1, r = 1.0 }}\n",
            ends("0.0"),
            ends("1e5"),
        );
        std::fs::write(&file, table).expect("a temporary file");
        let told = sender(&format!("remy[file={},per=packet]", file.display()));
        std::fs::remove_file(&file).expect("the file");
        let (halves, told) = told.expect("a scheme");
        (halves.reporter.is_some(), told)
    }

    #[test]
    fn the_other_end_of_a_table_in_a_file_needs_no_file() {
        assert_eq!(offered("\"rtt_ratio\""), (false, "remy[per=packet]".into()));
        let marks = offered("\"rtt_ratio\",\"accel_share\"");
        assert_eq!(marks, (true, "remy[per=packet,table=cellular-marks]".into()));
        // Its half there can be had, and echoes marks.
        assert!(sender(&marks.1).is_ok_and(|(halves, _)| halves.reporter.is_some()));
    }
}
