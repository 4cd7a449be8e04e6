//! Tables of rules for the scheme `remy`: files, scores, training, and descriptions in words.

mod assess;
mod clock;
mod dna;
mod eval;
pub mod evaluate;
mod file;
mod readable;
pub mod remote;
pub mod spec;
pub mod studies;
pub mod train;
pub mod tune;
pub mod words;

pub use assess::{Assessment, Estimate, SpecimenRow, StarvedSender, WorstNetwork, assess};
pub use clock::CpuClock;
pub use dna::{Dna, DnaError};
pub use eval::{EvalRow, OverRuns, eval};
pub use file::{FileError, Problem, TableFile, load, names, parse, tables};
pub use paceline_remy_runs::{Measures, Network, Others, PACKET, score, usage};
pub use readable::{Readable, ReadableError};
