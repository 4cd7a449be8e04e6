//! Simulated runs beside real ones over the same path: `paceline gap`.
//!
//! A [`GapRequest`] has the arguments and their defaults. Its plan is a list of [`GapRun`]s: each is
//! one scheme on one path, which the caller runs for real and then simulates. A [`GapRow`] has both
//! results, and [`Inside`] says which real figures lie in the range of the simulated ones.

mod inside;
mod request;
mod row;
mod run;

pub use inside::Inside;
pub use request::{GapPaths, GapRequest};
pub use row::{GapRow, GapRows, RealLink, RealRun};
pub use run::{GapRun, Start};
