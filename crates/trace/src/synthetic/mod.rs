//! Synthetic cellular traces, built in by name.
//!
//! # The model
//!
//! The rate changes every 10 ms. A standard normal z = √w·slow + √(1 - w)·fast is the sum of two
//! first-order autoregressive processes: slow stands for shadowing and load over seconds, fast for
//! fading and scheduling over tens or hundreds of milliseconds. A piecewise linear curve through
//! given quantiles maps z to a rate of at least zero, so the marginal distribution is free (a
//! Gaussian copula). In addition, outages start at exponential intervals and last for a Pareto time
//! that is limited to a longest outage. Grants come partly at even intervals (as from a scheduler),
//! partly as a Poisson process, each in a random millisecond of the 10 with a geometric number of
//! packets. On uplinks, one outage in four ends with a grant for the backlog.
//!
//! # The fit
//!
//! Each name has a target: the [`Stats`] of one recorded trace, or for 5G (`nr-`), of which there
//! is no recording, values of our own choice. The parameters were fitted by random descent on
//! averages over many seeds, each trace as long as the recording. Over other seeds, the averages
//! differ from the targets at most by (a test checks this):
//!
//! | statistic | within |
//! | --- | --- |
//! | mean | 10 % |
//! | cv100; std100 | 20 %; 25 % |
//! | p5, p50, p95 | 15 % of themselves or of the mean, whichever is more |
//! | both autocorrelations | 0.12 |
//! | frac_zero | a factor of 2 |
//! | longest outage (geometric mean over seeds), most opportunities in 1 ms | a factor of 3 |
//! | p99 gap | a factor of 2 |
//!
//! For the default seed and length, the mean is within 15 % and cv100 within 20 %.
//!
//! | name | target |
//! | --- | --- |
//! | `lte-driving`, `lte-driving.up` | Verizon-LTE-short, down and up |
//! | `lte-walking` | trace-3202253-timessquare |
//! | `lte-stationary` | trace-3093662-home3 |
//! | `umts-driving`, `umts-driving.up` | TMobile-UMTS-driving, down and up |
//! | `evdo-driving`, `evdo-driving.up` | Verizon-EVDO-driving, down and up |
//! | `nr-walking`, `nr-driving` | our own choice |
//! | `leo` | starlink.mahi and starlink.delay of LeoCC |
//!
//! # Satellites
//!
//! `leo` has a separate model: every 15 s the link is silent for 50 to 130 ms, its rate then grows
//! for 200 ms to that of another satellite, and stays there; see `moves`. Its propagation delay,
//! under this name, too, changes at these times. It was fitted by hand to one recording of 120 s,
//! whose eight moves show little about how satellites differ. The delay lies within 10 % of the
//! recording's mean, 15 % of its p5, p50 and p95, 25 % of its standard deviation and of its mean
//! step, and a factor of 2 of its maximum (a test checks this).
//!
//! # Where it is off
//!
//! - Means of `evdo-driving`, `evdo-driving.up` and `umts-driving` are about 5 % low; medians of
//!   `evdo-driving` are 20 % low, those of `evdo-driving.up`, `umts-driving` and `umts-driving.up`
//!   10 %.
//! - The longest outage of `lte-walking` and `lte-driving.up` is about half the recorded one, and
//!   so are their largest bursts within a millisecond; `nr-` bursts exceed their target by half.
//! - In `umts-driving`, most outages come from the rate's own visits to zero, in runs with moments
//!   of service in between; the recording's outages are not interrupted. Its p99 gap is half as
//!   long again as the recording's.
//! - Two time constants cannot match a recording's autocorrelation at every lag: beyond ten seconds
//!   the synthetic one falls towards zero, while recordings keep trends over minutes (a walk
//!   through a neighbourhood). Only lags up to 2 s were fitted.
//! - One recording is one drive: its statistics have an error of their own, about 10 % for the mean
//!   of 140 s, which the fit ignores.
//! - Rate and outages are independent here. In recordings, outages follow low rates, and after a
//!   handover the rate is that of another cell.
//! - Bursts within a millisecond do not grow with the rate; the frame structure (the 10 ms of UMTS
//!   and 1.67 ms slots of EVDO, the uplink pattern of 5G) is absent.
//! - Uplink and downlink of one name are independent of each other.
//! - The rate has no upper limit: its upper tail is Gaussian times a slope, while a cell has a
//!   highest rate.

mod cellular;
mod model;
mod moves;
mod near;
mod opportunities;
mod processes;
#[cfg(test)]
mod refit;
mod table;

use crate::generate::whole_ms;
use crate::{DelayStats, Delays, Stats, Trace, TraceError};
use paceline_cc::Span;
use processes::Randomness;
use table::{ENTRIES, Entry};

/// Seed of a synthetic trace, unless the caller chooses another.
pub const DEFAULT_SEED: u64 = 1;

/// The statistics that a synthetic trace should have.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Target {
    /// The recorded trace whose statistics these are, or a note that there is none.
    pub source: &'static str,
    /// True if the statistics are those of a recorded trace.
    pub recorded: bool,
    /// The target statistics.
    pub stats: Stats,
}

/// Returns the built-in names. `name.down` means `name`, too.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// Returns the target of the trace `name`; `None` for an unknown name.
pub fn target(name: &str) -> Option<Target> {
    find(name).map(|entry| entry.target)
}

/// Returns the default length of the trace `name`; `None` for an unknown name.
pub fn default_length(name: &str) -> Option<Span> {
    find(name).map(|entry| Span::from_secs(entry.default_s))
}

/// Returns the built-in name nearest to `name`, if one is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    near::nearest(name, names())
}

/// Returns a synthetic cellular trace, determined by name, seed and length (rounded up to a
/// millisecond).
///
/// The last millisecond always contains an opportunity, since the last entry of a trace is its
/// period.
///
/// # Errors
/// An unknown name: the error lists the names and suggests the nearest. A length of zero, of more
/// than 2³² - 1 ms, or with more than [`crate::MAX_OPPORTUNITIES`].
pub fn synthetic(name: &str, seed: u64, length: Span) -> Result<Trace, TraceError> {
    let entry = find(name).ok_or_else(|| unknown(name))?;
    let length = whole_ms(name, length)?;
    let random = Randomness::new(entry.name, seed, entry.take);
    Trace::new(entry.name, entry.model.generate(entry.name, random, length)?)
}

/// Returns the one-way delay of the built-in link `name` over time, for the seed of its capacity:
/// both have their moves at equal times. Only `leo` has one.
///
/// # Errors
/// Another name, or a length that [`synthetic`] refuses.
pub fn synthetic_delays(name: &str, seed: u64, length: Span) -> Result<Delays, TraceError> {
    let Some((entry, moves)) = find(name).and_then(|entry| Some((entry, entry.model.moves?)))
    else {
        let remedy = "name a recording of delays, or the built-in leo";
        return Err(TraceError::new(
            &near::shortened(name),
            "no built-in delays of this name",
            remedy,
        ));
    };
    let length = whole_ms(name, length)?;
    moves.delays((entry.name, seed, entry.take), length)
}

/// Returns the target statistics of the delays of the built-in link `name`.
pub fn delay_target(name: &str) -> Option<DelayStats> {
    find(name).filter(|entry| entry.model.moves.is_some()).map(|_| table::LEO_DELAYS)
}

fn find(name: &str) -> Option<&'static Entry> {
    let short = name.strip_suffix(".down").unwrap_or(name);
    ENTRIES.iter().find(|entry| entry.name == short)
}

fn unknown(name: &str) -> TraceError {
    let list = names().collect::<Vec<_>>().join(", ");
    let remedy = match nearest(name) {
        Some(near) => format!("did you mean {near}? The names are: {list}"),
        None => format!("the names are: {list}"),
    };
    TraceError::new(&near::shortened(name), "no built-in trace of this name", remedy)
}

#[cfg(test)]
mod tests;
