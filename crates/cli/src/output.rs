//! Writes results to standard output and messages to standard error.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use paceline_cc::ArgumentError;
use paceline_report::Document;
use serde::Serialize;

use crate::bar;
use crate::made::{Made, SavedResult};

/// Exit status if something failed after the command began, and with `--strict` after a warning.
const FAILURE: u8 = 1;
/// Exit status if the arguments, or files that they name, are wrong: nothing has run.
pub(crate) const WRONG_USAGE: u8 = 2;
/// Time between two redraws of a progress bar.
const TICK: Duration = Duration::from_millis(200);

/// Why a command has failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// Standard output or a file could not be written.
    Io {
        /// The file; `None` for standard output.
        path: Option<PathBuf>,
        /// The system's error.
        source: io::Error,
    },
    /// The request cannot be fulfilled: it names something that does not exist, a file that cannot
    /// be read, or one that cannot be written. Nothing has run.
    Usage(String),
    /// Any other failure, with a remedy in its text.
    Message(String),
    /// A mistake in a file, with the lines that have it, laid out for a terminal.
    Diagnostic(String),
}

impl Error {
    /// Returns the program's exit status.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::Diagnostic(_) => WRONG_USAGE,
            Error::Io { .. } | Error::Message(_) => FAILURE,
        }
    }

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
            Error::Usage(message) | Error::Message(message) | Error::Diagnostic(message) => {
                f.write_str(message)
            }
        }
    }
}

impl From<ArgumentError> for Error {
    fn from(error: ArgumentError) -> Error {
        Error::Usage(format!("{}: {}", error.option(), error.problem))
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

/// Prints a value as one line of JSON, as one of several documents.
pub(crate) fn print_line(value: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_string(&Document::new(value))
        .map_err(|error| Error::Message(format!("the result is no JSON: {error}")))?;
    text.push('\n');
    print(&text)
}

/// Returns the document of a value's fields as indented JSON with a newline at the end.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(&Document::new(value))
        .map_err(|error| Error::Message(format!("the result is no JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Returns the document of a result that is saved: with the present command, its version and the seed, if the command has
/// one, before the fields.
pub(crate) fn to_saved_json(result: &impl Serialize, seed: Option<u64>) -> Result<String, Error> {
    to_json(&SavedResult { made: Made::now(seed), result })
}

/// Writes a message to standard error.
pub(crate) fn note(text: &str) {
    // Ignores errors: if standard error fails, nothing can report it.
    bar::beside(|| {
        let _ = writeln!(anstream::stderr(), "{text}");
    });
}

/// Writes warnings to standard error. With `strict`, returns an error if there are any.
pub(crate) fn warn(warnings: &[String], strict: bool) -> Result<(), Error> {
    warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    match (strict, warnings.len()) {
        (false, _) | (true, 0) => Ok(()),
        (true, 1) => Err(Error::Message("--strict: there was a warning".into())),
        (true, count) => Err(Error::Message(format!("--strict: there were {count} warnings"))),
    }
}

/// Writes an error to standard error.
pub(crate) fn error(error: &Error) {
    use owo_colors::OwoColorize;
    match error {
        // This text already begins with `error`.
        Error::Diagnostic(text) => note(text),
        Error::Io { .. } | Error::Usage(_) | Error::Message(_) => {
            note(&format!("{} {error}", "error:".red().bold()));
        }
    }
}

/// Reads a file of at most `most` bytes. The limit is needed since a device may never end.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let name = path.display();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| Error::Usage(format!("{name}: cannot be read: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(Error::Usage(format!(
            "{name}: larger than {} MB; is it the right file?",
            most / 1_000_000
        )));
    }
    Ok(bytes)
}

/// Writes a file into a folder, and creates the folder if it is missing.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    content: &(impl AsRef<[u8]> + ?Sized),
) -> Result<PathBuf, Error> {
    create_folder(folder).map_err(|source| Error::Io { path: Some(folder.into()), source })?;
    let path = folder.join(name);
    write_file(&path, content.as_ref())?;
    Ok(path)
}

/// Writes files of results into a folder: all that can be written. Names the written files on
/// standard error, unless `quiet`. Returns an error text for each file that could not be written.
pub(crate) fn write_each<'a, T: AsRef<[u8]>>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, Result<T, Error>)>,
    quiet: bool,
) -> Vec<String> {
    let (mut written, mut problems) = (Vec::new(), Vec::new());
    for (name, content) in files {
        match content.and_then(|content| write(folder, name, &content)) {
            Ok(path) => written.push(path.display().to_string()),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if !quiet && !written.is_empty() {
        note(&format!("wrote {}", written.join(", ")));
    }
    problems
}

/// Returns a warning about finished runs whose results could not be kept: it names the first of
/// `problems` and the number of further ones. `None` without problems.
pub(crate) fn unkept(problems: &[String]) -> Option<String> {
    let problem = problems.first()?;
    let more = match problems.len() - 1 {
        0 => String::new(),
        more => format!(", nor can {more} more"),
    };
    Some(format!("the result of a run cannot be kept: {problem}{more}; it will be run again"))
}

/// Returns one error with all these problems, each on its own line, if there are any.
pub(crate) fn all_of(problems: &[String]) -> Result<(), Error> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Error::Message(problems.join("\n"))),
    }
}

/// Extensions that users give to files, never to folders.
const OF_FILES: [&str; 18] = [
    "svg", "pdf", "png", "jpg", "jpeg", "eps", "csv", "tsv", "parquet", "xlsx", "json", "html",
    "xml", "txt", "md", "toml", "yaml", "zip",
];

/// Checks that the name of a folder for results is not `-`, which is standard output elsewhere, or that of a file, such as
/// fig.pdf, unless the folder exists.
pub(crate) fn is_folder_name(folder: &Path) -> Result<(), Error> {
    if folder == Path::new("-") {
        return Err(Error::Usage(
            "-: this names a folder here, not standard output; write ./- for a folder of this name"
                .into(),
        ));
    }
    let extension = folder.extension().and_then(|extension| extension.to_str());
    let is_of_file = extension.is_some_and(|it| OF_FILES.contains(&&*it.to_ascii_lowercase()));
    if is_of_file && !folder.is_dir() && !folder.to_string_lossy().ends_with('/') {
        let stem = folder.with_extension("");
        return Err(Error::Usage(format!(
            "{}: this names a folder, and has the ending of a file; name it {}",
            folder.display(),
            stem.display()
        )));
    }
    Ok(())
}

/// Returns the error of a file or folder that the user named and that cannot be written, found out before anything
/// has run.
pub(crate) fn wrong_place(path: &Path, source: io::Error) -> Error {
    Error::Usage(Error::Io { path: Some(path.to_path_buf()), source }.to_string())
}

/// Creates a folder for results before anything runs, and its parents. It may already exist.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    is_folder_name(folder)?;
    create_folder(folder).map_err(|source| wrong_place(folder, source))
}

fn create_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| match source.kind() {
        kind @ io::ErrorKind::AlreadyExists => io::Error::new(kind, "a file has this name"),
        _ => source,
    })
}

/// Checks, before anything runs, that the folder of a results file exists.
pub(crate) fn has_folder(file: &Path) -> Result<(), Error> {
    match file.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            let problem = format!("there is no folder {}", folder.display());
            Err(wrong_place(file, io::Error::new(io::ErrorKind::NotFound, problem)))
        }
        _ => Ok(()),
    }
}

/// Returns a progress bar over a number of runs; hidden if `quiet`, or if standard error is no
/// terminal.
pub(crate) fn progress(quiet: bool, runs: usize) -> ProgressBar {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(runs as u64) };
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} runs, {eta} left  {msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Writes a file. On failure removes it: half a trace could be taken for a whole one.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes).inspect_err(|_| {
            if file.metadata().is_ok_and(|about| about.is_file()) {
                // Resolves a link to the file itself. Ignores errors, since nothing more can be
                // done.
                let _ = path.canonicalize().and_then(std::fs::remove_file);
            }
        })
    });
    written.map_err(|source| Error::Io { path: Some(path.to_path_buf()), source })
}

/// Writes a file that the user named, and reports it on standard error. Reports no devices, such as
/// /dev/stdout.
pub(crate) fn write_named(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_file(path, bytes)?;
    if path.is_file() {
        note(&format!("wrote {}", path.display()));
    }
    Ok(())
}
