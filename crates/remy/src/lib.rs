//! Tables of rules for the scheme `remy`: files, scores, training, and descriptions in words.

mod assess;
mod clock;
mod dna;
mod eval;
pub mod evaluate;
mod file;
mod network;
mod readable;
pub mod remote;
pub mod score;
pub mod spec;
pub mod studies;
pub mod train;
pub mod tune;
pub mod usage;
pub mod words;
mod world;

pub use assess::{Assessment, Estimate, SpecimenRow, StarvedSender, WorstNetwork, assess};
pub use clock::CpuClock;
pub use dna::{Dna, DnaError};
pub use eval::{EvalRow, OverRuns, eval};
pub use file::{FileError, Problem, TableFile, load, names, parse, tables};
pub use network::{Measures, Network, Others, PACKET};
pub use readable::{Readable, ReadableError};
