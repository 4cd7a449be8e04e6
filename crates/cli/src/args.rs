//! How values are written on the command line.

use std::time::Duration;

use paceline_cc::{Halves, ParamValue, Span, Spec, SpecError};
pub(crate) use paceline_lab::written::{
    Compared, Schemes, bin, buffer, capacity, compared, length, rate, rtt, schemes,
};
use paceline_trace::Delays;

/// A time such as `100ms`.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Span::read(text.trim())
}

/// A scheme for sending over UDP: what it is built from here, and its text for the other end, which
/// reads no files and needs none for its half.
pub(crate) fn sender(text: &str) -> Result<(Halves, String), String> {
    let build = || {
        let mut spec = Spec::parse(text)?;
        let halves = paceline_remy::names().schemes.build(&spec)?;
        if spec.name == "remy" {
            spec.args.retain(|(name, _)| name != "file");
        }
        Ok((halves, spec.to_string()))
    };
    build().map_err(|error: SpecError| error.to_string())
}

/// A recording of delays.
pub(crate) fn delays(text: &str) -> Result<Delays, String> {
    paceline_trace::load_delays(text).map_err(|error| error.to_string())
}

/// A span as a wall-clock duration.
pub(crate) fn wall(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
