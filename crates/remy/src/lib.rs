//! Tables of rules for the scheme `remy`: files, scores, and what they do in words.

mod dna;
mod file;
mod readable;

pub use dna::{Dna, DnaError};
pub use file::{FileError, Loaded, Problem, load, parse, registry, tables};
pub use readable::{Readable, ReadableError};
