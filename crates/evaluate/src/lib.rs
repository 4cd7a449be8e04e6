//! Evaluations of congestion control by the IETF's guidelines and test cases.
//!
//! A [`Case`] is a scenario file with places for the evaluated scheme. A [`Criterion`] is a question of a
//! [`Document`]: the case that it runs, the figure that it takes from the case's records, and, where the
//! document gives a criterion, the bounds of good and poor. All of them are tables, which stand before any
//! run. [`evaluate`] runs the cases of the asked criteria several times, for each scheme and for Cubic, and
//! answers each criterion by a [`Row`].

mod answer;
mod bbr_draft;
mod case;
mod criterion;
mod document;
mod evaluation;
mod fields;
mod figures;
mod markdown;
mod page;
mod parts;
mod rfc8867;
mod rfc8869;
mod rfc9743;
mod row;

pub use case::Case;
pub use criterion::{Bounds, Criterion, Kind, Measured};
pub use document::{DOCUMENTS, Document, documents};
pub use evaluation::{EvaluateError, Evaluation, Request, evaluate};
pub use fields::{EvaluateFields, ListedCriterion};
pub use markdown::markdown;
pub use page::{page, paper};
pub use row::{Beside, Row, Verdict};
