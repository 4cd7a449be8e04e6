//! Schemes side by side over one or more links: `paceline compare`, `paceline.compare` and the page's Compare.
//!
//! A [`CompareRequest`] has the arguments; its limits and errors are equal for all callers.
//! [`CompareRuns`] has the runs that answer it, to be made in any order and on any number of
//! threads, and their rows. A [`Comparison`] is one scheme on one link.

mod comparison;
mod request;
mod runs;
mod setting;

pub use crate::columns::rows::CompareRow;
pub use comparison::{Comparison, OMNISCIENT, OmniscientError, WELL_USED};
pub use request::{CompareLimits, CompareRequest};
pub(crate) use request::{check_warmup, twice};
pub use runs::{CompareError, CompareJob, CompareRuns, MOST_RUNS, StillWide};
pub use setting::link_name;
