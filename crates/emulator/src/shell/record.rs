//! A file for each shell that says what must be undone, written before anything is changed, so that
//! `paceline cleanup` finds it even if all processes of the shell were killed.
//!
//! Only this user can write to its folder, because `paceline cleanup` acts on it with this user's rights.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use paceline_os::host::firewall::remove_rule;
use paceline_os::host::forwarding::{self, Setting};
use paceline_os::host::lock::Lock;
use paceline_os::host::run_folders::{boot, folders, is_own};
use paceline_os::namespace::NetworkId;
use paceline_os::process_identity::ProcessIdentity;
use serde::{Deserialize, Serialize};

use super::shell_id::ShellId;

/// The contents of the file. Files of older versions lack fields.
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

/// What must be undone outside when the shell is over. All else goes with its processes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Undo {
    /// Name of the outer device.
    pub(super) device: String,
    /// Settings that were off.
    pub(super) settings: Vec<Setting>,
    /// Commands that take rules of iptables away.
    pub(super) commands: Vec<Vec<String>>,
    /// The file of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<RecordFile>,
}

/// What was undone.
#[derive(Debug)]
pub(crate) struct Undone {
    /// Settings and rules that were put back.
    pub(crate) done: Vec<String>,
    /// Why a rule stays.
    pub(crate) problem: Option<String>,
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

    /// Writes a file beside `path` and renames it, so that there is never half a file.
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

    /// Returns the records of this user since the system was started, with their files. Removes files that are no
    /// records, and those of earlier starts.
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

    /// Returns true if a process of the shell still runs, which will undo everything itself.
    pub(crate) fn is_alive(&self) -> bool {
        !self.shell.is_over() || self.watchers.iter().any(|watcher| watcher.lives())
    }
}

impl RecordFile {
    /// Leaves only these commands to be undone later.
    fn keep(&self, commands: &[Vec<String>]) {
        let Some(mut record) =
            fs::read(&self.0).ok().and_then(|text| serde_json::from_slice::<Record>(&text).ok())
        else {
            return;
        };
        record.undo.commands = commands.to_vec();
        record.undo.settings.clear();
        // If it cannot be written, it stays as it was.
        let _ = record.write_to(&self.0);
    }

    /// Takes the file away, and its folder with the last one.
    pub(crate) fn remove(&self) {
        // The shell has ended: there is no remedy for an error.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("new"));
        if let Some(folder) = self.0.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Undo {
    /// Returns this list with the file in which it stands.
    pub(crate) fn at(self, place: RecordFile) -> Undo {
        Undo { place: Some(place), ..self }
    }

    /// Puts settings and rules back. Call it in the network namespace in which they were changed.
    /// `device` is the outer device if it still exists: its alias tells other shells which settings
    /// this one has found off. If a rule of iptables stays because another program holds the lock,
    /// the file keeps the rules that are left for `paceline cleanup` and for the next emulator.
    pub(crate) fn run(&self, device: Option<OwnedFd>) -> Undone {
        let (mut done, mut problem) = (Vec::new(), None);
        let mut commands = self.commands.as_slice();
        // One lock guards all rules.
        while let Some((command, rest)) = commands.split_first() {
            match remove_rule(command) {
                Ok(true) => done.push(command.join(" ")),
                Ok(false) => {}
                Err(text) => {
                    problem = Some(text);
                    break;
                }
            }
            commands = rest;
        }
        let lock = Lock::take();
        let own = device.is_some().then_some(self.device.as_str());
        // The shell has ended: there is no remedy for an error.
        done.extend(forwarding::restore(&self.settings, own).unwrap_or_default());
        drop(lock);
        match &self.place {
            Some(place) if problem.is_some() => place.keep(commands),
            Some(place) => place.remove(),
            None => {}
        }
        Undone { done, problem }
    }
}

#[cfg(test)]
mod tests {
    use paceline_testing::Folder;

    use super::*;

    /// Another program holds iptables' lock: settings are put back once, and only the rules are left for later.
    #[test]
    fn rules_behind_the_lock_stay_in_the_record_without_the_settings() {
        let folder = Folder::new("record");
        let program = folder.path("iptables");
        let script = |text: &str| {
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("room");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&program, mode).expect("ours");
        };
        let commands: Vec<Vec<String>> =
            ["-i", "-o"].map(|side| vec![program.clone(), side.into()]).into();
        // Of no interface.
        let settings = vec![Setting::Four(u32::MAX)];
        let undo = Undo { device: "link-0".into(), settings, commands, place: None };
        let shell = ShellId::own().expect("this process");
        let here = NetworkId::current().expect("a network");
        let record = Record::new(shell, Vec::new(), here, undo.clone());
        let path = PathBuf::from(folder.path("record.json"));
        let place = record.write(Some(&RecordFile(path.clone()))).expect("room");
        let left = || -> Undo {
            let text = fs::read(&path).expect("the record");
            serde_json::from_slice::<Record>(&text).expect("a record").undo
        };
        assert_eq!((left().settings.len(), left().commands.len()), (1, 2));
        script("case $1 in -o) echo Another app holds the xtables lock. >&2; exit 4; esac");
        let undone = undo.at(place.clone()).run(None);
        assert_eq!(undone.done.len(), 1, "{undone:?}");
        assert!(undone.problem.is_some_and(|problem| problem.contains("a rule stays")));
        assert_eq!((left().settings.len(), left().commands.len()), (0, 1));
        script("exit 0");
        let undone = left().at(place).run(None);
        assert!(undone.done.len() == 1 && undone.problem.is_none(), "{undone:?}");
        assert!(!path.exists());
    }
}
