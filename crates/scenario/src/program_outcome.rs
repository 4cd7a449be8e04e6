//! Results of programs at hosts.

use serde::{Serialize, Serializer};

/// Results of a program that ran at a host of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProgramOutcome {
    /// `sender` or `receiver`: the host at which it ran.
    pub host: &'static str,
    /// Its name and arguments.
    pub arguments: Vec<String>,
    /// First 12 digits of the SHA-256 of the files that its host had.
    pub files_sha256: String,
    /// Exit status, or 128 plus the number of the signal that ended it; `None` if it still ran, or had not
    /// started, at the end of the run.
    pub status: Option<i32>,
    /// Simulated time at which it ended, in seconds; negative if that was before the run began.
    pub ended_s: Option<f64>,
    /// Beginning of its standard output; bytes that are not UTF-8 are replaced.
    #[serde(serialize_with = "as_text")]
    pub stdout: Vec<u8>,
    /// Bytes of its standard output, including those that were not kept.
    pub stdout_bytes: u64,
    /// Beginning of its standard error.
    #[serde(serialize_with = "as_text")]
    pub stderr: Vec<u8>,
    /// Bytes of its standard error, including those that were not kept.
    pub stderr_bytes: u64,
}

impl ProgramOutcome {
    /// Creates the results of a program that has not started.
    pub fn new(host: &'static str, arguments: Vec<String>) -> ProgramOutcome {
        ProgramOutcome { host, arguments, ..ProgramOutcome::default() }
    }
}

/// Writes bytes in JSON as text.
fn as_text<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&String::from_utf8_lossy(bytes))
}
