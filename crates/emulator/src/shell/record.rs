//! A file for each shell that says what must be undone, written before anything is changed, so that
//! `paceline cleanup` finds it even if all processes of the shell were killed.
//!
//! It lies in a folder that nobody else can write: what it says is done with this user's rights.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use paceline_os::host::run_folders::{boot, folders, is_own};
use paceline_os::namespace::NetworkId;
use paceline_os::process_identity::ProcessIdentity;
use serde::{Deserialize, Serialize};

use super::outside::Undo;
use super::shell_id::ShellId;

/// Its contents. A field that is missing is one of an older version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The running kernel: numbers of namespaces and processes mean nothing after the next start.
    boot: String,
    pub(crate) shell: ShellId,
    /// The process inside, and the one that watches over the program of `--outside`.
    pub(crate) watchers: Vec<ProcessIdentity>,
    /// The network outside, in which things were changed.
    pub(crate) outside: NetworkId,
    /// The network inside, once it stands.
    pub(crate) inside: Option<NetworkId>,
    pub(crate) undo: Undo,
}

/// The file of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordFile(PathBuf);

impl Record {
    pub(crate) fn new(
        shell: ShellId,
        watchers: Vec<ProcessIdentity>,
        outside: NetworkId,
        undo: Undo,
    ) -> Record {
        Record { boot: boot(), shell, watchers, outside, inside: None, undo }
    }

    /// Writes the file anew, or for the first time.
    ///
    /// # Errors
    /// There is no folder that is safe, or no room.
    pub(crate) fn write(&self, place: Option<&RecordFile>) -> io::Result<RecordFile> {
        if let Some(place) = place {
            self.write_to(&place.0)?;
            return Ok(place.clone());
        }
        let name = format!("{}.json", self.shell);
        let mut error = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            // Another shell may remove the folder, empty as it is, in between.
            for _ in 0..10 {
                let made = DirBuilder::new().mode(0o700).create(&folder);
                if let Err(refused) = made
                    && refused.kind() != io::ErrorKind::AlreadyExists
                {
                    error = refused;
                    break;
                }
                if !is_own(&folder) {
                    let text = format!("{} is not this user's own folder", folder.display());
                    error = io::Error::new(io::ErrorKind::PermissionDenied, text);
                    break;
                }
                let path = folder.join(&name);
                match self.write_to(&path) {
                    Ok(()) => return Ok(RecordFile(path)),
                    Err(refused) => error = refused,
                }
                if error.kind() != io::ErrorKind::NotFound {
                    break;
                }
            }
        }
        Err(error)
    }

    /// Never leaves half a file.
    fn write_to(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let new = path.with_extension("new");
        let written = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Every record of this user and this start of the system, with its place. Files that are none
    /// and those of earlier starts are removed.
    pub(crate) fn all() -> Vec<(RecordFile, Record)> {
        let boot = boot();
        let mut found = Vec::new();
        for folder in folders().into_iter().filter(|folder| is_own(folder)) {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.extension().is_none_or(|extension| extension != "json") {
                    continue;
                }
                let Ok(text) = fs::read(&path) else { continue };
                match serde_json::from_slice::<Record>(&text) {
                    Ok(record) if record.boot == boot => found.push((RecordFile(path), record)),
                    _ => RecordFile(path).remove(),
                }
            }
        }
        found
    }

    /// Whether a process of the shell still runs, which will undo everything itself.
    pub(crate) fn is_alive(&self) -> bool {
        !self.shell.is_over() || self.watchers.iter().any(|watcher| watcher.lives())
    }
}

impl RecordFile {
    /// Takes the file away, and its folder with the last one.
    pub(crate) fn remove(&self) {
        // Errors could only be told to somebody who can do nothing about them.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("new"));
        if let Some(folder) = self.0.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}
