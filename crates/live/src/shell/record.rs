//! A file for each shell that says what must be undone, written before anything is changed, so that
//! `paceline cleanup` finds it even if all processes of the shell were killed.
//!
//! It lies in a folder that nobody else can write: what it says is done with this user's rights.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use super::outside::Undo;
use super::shell_id::{ProcessIdentity, ShellId};
use crate::linux::namespace::NetworkId;

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

/// The running kernel's identifier, which no other start of the system has.
pub(crate) fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_string()
}

/// The folders for what does not outlive this system's run, the preferred one first: what systemd has made for a unit,
/// root's, or this user's own.
pub(crate) fn run_folders() -> Vec<PathBuf> {
    let of_unit = std::env::var_os("RUNTIME_DIRECTORY").filter(|path| !path.is_empty());
    let of_unit = of_unit.and_then(|paths| std::env::split_paths(&paths).next());
    of_unit.into_iter().chain(folders()).collect()
}

/// The folders in which records may lie, the preferred one first: root's does not outlive the
/// running system, users' is their own.
fn folders() -> Vec<PathBuf> {
    let user = geteuid();
    let mut found = Vec::new();
    if user.is_root() {
        found.push(PathBuf::from("/run/paceline"));
    } else if let Some(own) = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        found.push(PathBuf::from(own).join("paceline"));
    }
    found.push(std::env::temp_dir().join(format!("paceline-{user}")));
    found
}

/// Whether a folder is this user's and nobody else can write it. A link to one is none.
pub(crate) fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

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
