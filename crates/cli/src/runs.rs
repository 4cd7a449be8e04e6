//! `--runs` and `--spread`: several runs of a scenario, in all commands that simulate.

use clap::Args;
use paceline_requests::written;
use paceline_sim::runs::{MAX_RUNS, Runs, Spread};

/// Options for several runs.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Runs")]
pub(crate) struct RunsArgs {
    /// Number of runs, each with its own seed and start; results are medians and ranges of 90 % of
    /// the runs. Run 1 has the seed as given and starts at 0 [default: 10 in compare; else what the
    /// scenario says, or 1]
    #[arg(long, alias = "starts", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)))]
    pub(crate) runs: Option<u32>,
    /// Where in the recordings the runs start: within a time, or `trace` for anywhere; the recording
    /// then wraps. On constant links starts lie within an RTT [default: 1s]
    #[arg(long, value_name = "TIME|trace", value_parser = written::spread,
        allow_hyphen_values = true)]
    pub(crate) spread: Option<Spread>,
}

impl RunsArgs {
    /// Returns the runs that the options set, with `usual` for options that are missing.
    pub(crate) fn or(self, usual: Runs) -> Runs {
        Runs {
            count: self.runs.unwrap_or(usual.count),
            spread: self.spread.unwrap_or(usual.spread),
        }
    }
}
