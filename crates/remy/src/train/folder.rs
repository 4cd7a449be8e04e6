//! The folder of a training, or of a tuning: its files, and the order in which they are written, so that a kill at any
//! moment loses no decision.
//!
//! | file | what | written |
//! | --- | --- | --- |
//! | `specification.toml` | the specification | at the beginning |
//! | `state.json` | all that the next step needs | at most once a second after a step, at the end of each generation and when the training ends: written aside, synced, renamed |
//! | `table.toml` | the table | as `state.json` |
//! | `scheme.txt` | instead, of a tuning: the scheme | as `state.json` |
//! | `others.toml` | the table of the other senders, if two are trained in turn | as `state.json` |
//! | `log.jsonl` | a line for each step | with each step, before the state; later lines are cut off on resuming |
//! | `step.jsonl` | scores of the step in progress | with each candidate |
//! | `lock` | nothing; locked while a training runs here | |
//!
//! Short steps would wait for the disk longer than they compute. A kill loses the steps of the last second, which are made
//! again: equal states give equal steps.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paceline_schemes::remy::RuleTable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::memo::Memo;
use super::state::TrainingState;

/// Maximum size of a state file in bytes: more than the largest table needs.
const LARGEST: u64 = 256 << 20;
/// What to do about a broken state.
const REMEDY: &str =
    "it cannot go on from here: use another folder, or remove this file to begin anew";

/// Least time between two saved states, except at ends of generations.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// A command that keeps its state in a folder, for which the other command's state is none.
#[derive(Copy, Clone)]
pub(crate) enum Search {
    /// `remy train`.
    Training,
    /// `remy tune`.
    Tuning,
}

impl Search {
    /// Returns the beginning of the other command's states, and what to do about one.
    fn other(self) -> (&'static str, &'static str) {
        match self {
            Search::Training => (
                "{\"format\":\"paceline-remy-tuning ",
                "a tuning (`remy tune`) has begun here; train into another folder",
            ),
            Search::Tuning => (
                "{\"format\":\"paceline-remy-training ",
                "a training (`remy train`) has begun here; tune into another folder",
            ),
        }
    }
}

/// Why a folder cannot be used.
#[derive(Debug, Error)]
#[error("{}: {problem}", .path.display())]
pub struct FolderError {
    /// The file or folder.
    pub path: PathBuf,
    /// The error and the remedy.
    pub problem: String,
}

/// The folder of a training.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    unsaved: Arc<Unsaved>,
}

/// The files of the last steps, until they are saved; at the latest when all copies of the folder are dropped.
#[derive(Debug)]
struct Unsaved {
    path: PathBuf,
    state: Mutex<UnsavedFiles>,
    /// Lock of the folder, held until all copies are dropped. The system releases it when the
    /// process ends for any reason.
    _lock: File,
}

/// Files by name, in the order in which they are written.
#[derive(Debug, Default)]
struct UnsavedFiles {
    files: Vec<(String, String)>,
    saved_at: Option<Instant>,
}

impl Unsaved {
    fn state(&self) -> MutexGuard<'_, UnsavedFiles> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, state: &mut UnsavedFiles) -> Result<(), FolderError> {
        if state.files.is_empty() {
            return Ok(());
        }
        state.files.iter().try_for_each(|(name, text)| write(&self.path, name, text))?;
        *state = UnsavedFiles { files: Vec::new(), saved_at: Some(Instant::now()) };
        Ok(())
    }
}

impl Drop for Unsaved {
    fn drop(&mut self) {
        // Nothing can report an error any more; the next call makes the steps again.
        let _ = self.save(&mut self.state());
    }
}

/// Replaces a file of a folder atomically: after a crash, either the old or the new file is there.
fn write(folder: &Path, name: &str, text: &str) -> Result<(), FolderError> {
    let path = folder.join(name);
    let aside = folder.join(format!("{name}.new"));
    let write = || -> io::Result<()> {
        let mut file = File::create(&aside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&aside, &path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| FolderError { path: path.clone(), problem: error.to_string() })
}

impl Folder {
    /// Opens a folder, and creates it if it is missing. Locks it against other processes and other
    /// calls in this process until it is dropped, because two trainings would overwrite each
    /// other's files.
    ///
    /// # Errors
    /// The folder cannot be created, or another training runs there.
    pub fn open(path: &Path) -> Result<Folder, FolderError> {
        let failed = |problem: String| FolderError { path: path.into(), problem };
        fs::create_dir_all(path).map_err(|error| failed(error.to_string()))?;
        let lock = File::create(path.join("lock")).map_err(|error| failed(error.to_string()))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                failed("a training runs in this folder; wait for its end, or choose another".into())
            }
            TryLockError::Error(error) => failed(format!("it cannot be locked: {error}")),
        })?;
        let path = path.to_path_buf();
        let unsaved = Unsaved { path: path.clone(), state: Mutex::default(), _lock: lock };
        Ok(Folder { path, unsaved: Arc::new(unsaved) })
    }

    /// Returns the path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the saved state and its table; `None` if no training has begun here.
    ///
    /// # Errors
    /// The state is invalid.
    pub(super) fn state(&self) -> Result<Option<(TrainingState, RuleTable)>, FolderError> {
        let Some(text) = self.state_text(Search::Training)? else { return Ok(None) };
        let path = self.file("state.json");
        let state = TrainingState::read(&text);
        state.map(Some).map_err(|problem| {
            let table = match self.file("table.toml").exists() {
                true => " (table.toml has the last table)",
                false => "",
            };
            FolderError { path, problem: format!("{problem}; {REMEDY}{table}") }
        })
    }

    /// Returns the text of the saved state; `None` if nothing has begun here.
    ///
    /// # Errors
    /// It cannot be read, is too long, or is one of the other command.
    pub(crate) fn state_text(&self, of: Search) -> Result<Option<String>, FolderError> {
        let path = self.file("state.json");
        let fail = |problem: String| FolderError { path: path.clone(), problem };
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(error.to_string())),
            Ok(about) if about.len() > LARGEST => {
                return Err(fail(format!("it has {} bytes; {REMEDY}", about.len())));
            }
            Ok(_) => {}
        }
        let text = fs::read(&path).map_err(|error| fail(error.to_string()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (begin, problem) = of.other();
        match text.starts_with(begin) {
            true => Err(fail(problem.into())),
            false => Ok(Some(text)),
        }
    }

    /// Replaces a file atomically: after a crash, either the old or the new file is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        write(&self.path, name, text)
    }

    /// Writes the results of a step: its line of the log now, the state and the files with [`Folder::save_if_due`], or now
    /// at the end of a generation.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn commit(
        &self,
        state: &impl Serialize,
        files: &[(&str, String)],
        entry: &impl Serialize,
        is_generation: bool,
    ) -> Result<(), FolderError> {
        let log = self.file("log.jsonl");
        let append = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).open(&log)?;
            file.write_all((serde_json::to_string(entry)? + "\n").as_bytes())
        };
        append().map_err(|error| FolderError { path: log.clone(), problem: error.to_string() })?;
        self.keep(state, files)?;
        if is_generation { self.save_kept() } else { self.save_if_due() }
    }

    /// Writes the state, and files under their names.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn save(
        &self,
        state: &impl Serialize,
        files: &[(&str, String)],
    ) -> Result<(), FolderError> {
        self.keep(state, files)?;
        self.save_kept()
    }

    /// Writes the state and the files of the last step, if they are not yet written.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn save_kept(&self) -> Result<(), FolderError> {
        self.unsaved.save(&mut self.unsaved.state())
    }

    /// As [`Folder::save_kept`], if the last time was [`SAVE_INTERVAL`] ago. Call it often during a step: a long one else
    /// follows an unsaved state, and a kill loses its scores.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn save_if_due(&self) -> Result<(), FolderError> {
        let mut state = self.unsaved.state();
        match state.saved_at.is_none_or(|saved_at| saved_at.elapsed() >= SAVE_INTERVAL) {
            true => self.unsaved.save(&mut state),
            false => Ok(()),
        }
    }

    /// Keeps the state, and files under their names, in place of those of earlier steps.
    fn keep(&self, state: &impl Serialize, files: &[(&str, String)]) -> Result<(), FolderError> {
        let text = serde_json::to_string(state).map_err(|error| FolderError {
            path: self.file("state.json"),
            problem: error.to_string(),
        })?;
        let files = files.iter().map(|(name, text)| (name.to_string(), text.clone()));
        self.unsaved.state().files =
            std::iter::once(("state.json".into(), text)).chain(files).collect();
        Ok(())
    }

    /// Returns the first lines of the log that are `kept`. Removes later lines, of an unfinished step,
    /// from the file.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) fn log_while<E: DeserializeOwned>(
        &self,
        kept: impl Fn(&E) -> bool,
    ) -> Result<Vec<E>, FolderError> {
        let text = fs::read(self.file("log.jsonl")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = || text.split_inclusive('\n');
        let entries = lines().map_while(|line| serde_json::from_str::<E>(line).ok());
        let entries: Vec<E> = entries.take_while(kept).collect();
        let mut whole: String = lines().take(entries.len()).collect();
        // The next line is appended.
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        if whole != text {
            self.write("log.jsonl", &whole)?;
        }
        Ok(entries)
    }

    /// Opens the memo of a step, with the scores known so far; new scores are appended to its file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn memo(&self, step: u64) -> Result<Memo, FolderError> {
        let path = self.file("step.jsonl");
        let fail =
            |error: io::Error| FolderError { path: path.clone(), problem: error.to_string() };
        let known = fs::read(&path).unwrap_or_default();
        let known = String::from_utf8_lossy(&known);
        // A kill may have truncated the last line.
        let whole = known.rfind('\n').map_or("", |end| &known[..=end]);
        let this = whole.lines().next().is_some_and(|line| Memo::is_of(step, line));
        let whole = if this { whole } else { "" };
        let mut file = File::create(&path).map_err(fail)?;
        file.write_all(whole.as_bytes()).map_err(fail)?;
        let memo = Memo::new(step, Some(Box::new(file)));
        memo.read(whole);
        Ok(memo)
    }
}
