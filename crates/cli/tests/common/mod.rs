//! Runs the program and returns its output.

use std::process::{Command, Output};

/// Exit status and output of a run of the program.
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the program with the given arguments.
pub(crate) fn paceline(arguments: &[&str]) -> Seen {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts");
    Seen {
        code: output.status.code().expect("not killed by a signal"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}
