//! Errors of requests: the argument, the problem with its value, the remedy.

use std::fmt;

/// An argument that is invalid, or that does not go with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// Name of the argument, as Python and scenarios write it: `delay_trace`.
    pub argument: &'static str,
    /// The problem with its value, and the remedy.
    pub problem: String,
}

impl ArgumentError {
    /// Returns the error about `argument`.
    pub fn new(argument: &'static str, problem: impl fmt::Display) -> ArgumentError {
        ArgumentError { argument, problem: problem.to_string() }
    }

    /// Returns the argument as an option of the command line: `--delay-trace`.
    pub fn option(&self) -> String {
        format!("--{}", self.argument.replace('_', "-"))
    }
}

/// Writes `warmup: 60s leaves nothing of the duration of 60s to measure; make it shorter`.
impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.argument, self.problem)
    }
}

impl std::error::Error for ArgumentError {}
