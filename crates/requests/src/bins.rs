//! Limit of the number of recorded bins.

use paceline_cc::{ArgumentError, Span};

/// Most bins in all runs of a scheme or scenario together: more would fill the memory, and no plot
/// could show them.
pub const MOST_BINS_OF_RUNS: u64 = 1_000_000;

/// Checks that bins of this length do not fill the memory in `runs` runs.
///
/// # Errors
/// There are more than [`MOST_BINS_OF_RUNS`].
pub(crate) fn check_bins(bin: Span, duration: Span, runs: u32) -> Result<(), ArgumentError> {
    let bins = duration.as_nanos().div_ceil(bin.as_nanos().max(1));
    if bins.saturating_mul(runs.into()) <= MOST_BINS_OF_RUNS {
        return Ok(());
    }
    let each = if runs > 1 { format!(" in each of {runs} runs") } else { String::new() };
    let problem = format!(
        "{bin} makes {bins} bins of the duration of {duration}{each}; {MOST_BINS_OF_RUNS} are the most in all runs, \
         make them longer"
    );
    Err(ArgumentError::new("bin", problem))
}
