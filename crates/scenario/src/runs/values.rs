//! Number of runs of a scenario, and the range of their starts.

use paceline_cc::{ParamValue, Span};

/// Largest number of runs of a scenario.
pub const MAX_RUNS: u32 = 1000;

/// Largest seed that a user may choose: whole numbers of TOML and of the tables of sweeps have 64 bits with a sign.
pub const MAX_SEED: u64 = i64::MAX as u64;

/// Number of runs of a scenario, and the range of their starts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Number of runs, 1 to [`MAX_RUNS`].
    pub count: u32,
    /// Range of the runs' starts.
    pub spread: Spread,
}

/// Range of the runs' starts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Within this time from the beginning of the recordings.
    Within(Span),
    /// Anywhere in the recordings: within the longest period.
    Trace,
}

impl Default for Spread {
    /// Returns one second.
    fn default() -> Spread {
        Spread::Within(Span::from_secs(1))
    }
}

/// Reads and writes a time, or `trace`.
impl ParamValue for Spread {
    const KIND: &'static str = "time|trace";

    fn read(text: &str) -> Result<Spread, String> {
        match text.trim() {
            "trace" => Ok(Spread::Trace),
            time => Span::read(time).map(Spread::Within).map_err(|problem| {
                format!("{problem}, or trace for starts anywhere in the recording")
            }),
        }
    }

    fn show(&self) -> String {
        match self {
            Spread::Within(span) => span.show(),
            Spread::Trace => "trace".into(),
        }
    }
}

impl Default for Runs {
    /// Returns one run. Further ones would start within a second.
    fn default() -> Runs {
        Runs::new(1)
    }
}

impl Runs {
    /// Returns `count` runs that start within a second.
    pub fn new(count: u32) -> Runs {
        Runs { count, spread: Spread::default() }
    }
}
