//! The error type of this crate: place, problem, remedy.

/// A problem with a trace, or with a request for one.
///
/// Prints as `file:line: message (remedy)`; without a line as `file: message (remedy)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message} ({remedy})", line.map(|n| format!(":{n}")).unwrap_or_default())]
pub struct TraceError {
    /// The file or the name of the trace.
    pub file: String,
    /// The line, counted from 1, if the error belongs to one.
    pub line: Option<usize>,
    /// The problem.
    pub message: String,
    /// What the user can do.
    pub remedy: String,
}

impl TraceError {
    /// Returns an error about the whole of `file`.
    pub(crate) fn new(
        file: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> TraceError {
        TraceError { file: file.into(), line: None, message: message.into(), remedy: remedy.into() }
    }

    /// Returns this error at a line, counted from 1.
    pub(crate) fn at(mut self, line: usize) -> TraceError {
        self.line = Some(line);
        self
    }
}

/// Returns bytes from outside in a form that fits into a message: quoted, escaped and shortened.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 24;
    let text = String::from_utf8_lossy(bytes.get(..4 * SHOWN).unwrap_or(bytes));
    let mut out = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN {
            out.push('…');
            break;
        }
        out.extend(c.escape_debug());
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_place_problem_and_remedy() {
        let error = TraceError::new("a.trace", "bad", "mend it");
        assert_eq!(error.to_string(), "a.trace: bad (mend it)");
        assert_eq!(error.at(7).to_string(), "a.trace:7: bad (mend it)");
    }

    #[test]
    fn excerpts_are_short_and_harmless() {
        assert_eq!(excerpt(b"a\x1b[0m"), r#""a\u{1b}[0m""#);
        assert!(excerpt(&[0xff; 1000]).chars().count() < 40);
    }
}
