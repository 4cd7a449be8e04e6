//! Where results and messages go: results to standard output, messages to standard error.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Why a command has failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// Standard output or a file could not be written.
    Io {
        /// The file; `None` for standard output.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
    /// Everything else, in words that name the remedy.
    Message(String),
    /// The same with the lines that are meant, laid out for a terminal.
    Diagnostic(String),
}

impl Error {
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Error::Io { path: None, source } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path: Some(path), source } => {
                write!(f, "{}: cannot be written: {source}", path.display())
            }
            Error::Io { path: None, source } => write!(f, "standard output: {source}"),
            Error::Message(message) | Error::Diagnostic(message) => f.write_str(message),
        }
    }
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::Message(message)
    }
}

/// Prints text to standard output; colours only on a terminal.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| Error::Io { path: None, source })
}

/// Prints a value as JSON, and nothing else.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    print(&to_json(value)?)
}

/// A value as indented JSON with a newline at its end.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::Message(format!("the result is no JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Says something on standard error.
pub(crate) fn note(text: &str) {
    // Nothing can be done if even that fails.
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Reports a failure.
pub(crate) fn error(error: &Error) {
    use owo_colors::OwoColorize;
    match error {
        // It begins with `error` itself.
        Error::Diagnostic(text) => note(text),
        Error::Io { .. } | Error::Message(_) => {
            note(&format!("{} {error}", "error:".red().bold()));
        }
    }
}

/// The bytes of a file, at most so many: a device may never end.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let name = path.display();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| Error::Message(format!("{name}: cannot be read: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(Error::Message(format!(
            "{name}: larger than {} MB; is it the right file?",
            most / 1_000_000
        )));
    }
    Ok(bytes)
}

/// Writes a file in a folder, which is made if need be.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    let fail = |source| Error::Io { path: Some(path.clone()), source };
    std::fs::create_dir_all(folder).map_err(fail)?;
    std::fs::write(&path, text).map_err(fail)?;
    Ok(path)
}
