//! The files on which loaded programs hang.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::probe::available;
use crate::{PROGRAMS, Program};

/// The folder of these files, in the BPF file system.
pub const PINS: &str = "/sys/fs/bpf/paceline";

/// How a program stands.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// It is registered, and hangs on a file: sockets can choose it until it is unloaded.
    pub loaded: bool,
    /// The kernel knows a congestion control of this name, whoever brought it.
    pub available: bool,
    /// What was chosen when it was loaded.
    pub options: Vec<String>,
    /// There are files of a loader that did not come to its end; unloading takes them away.
    pub leftover: bool,
}

/// How each program stands, as far as this mount namespace shows.
pub fn list() -> Vec<State> {
    let known = available();
    let state = |program: &Program| {
        let loaded = loaded(program);
        State {
            name: program.name,
            summary: program.summary,
            loaded,
            options: options(program),
            available: known.iter().any(|name| name == program.name),
            leftover: !loaded && folder(program).exists(),
        }
    };
    PROGRAMS.iter().map(state).collect()
}

/// True if the program is loaded, as far as this mount namespace shows.
pub fn loaded(program: &Program) -> bool {
    link(program).exists()
}

pub(crate) fn folder(program: &Program) -> PathBuf {
    PathBuf::from(PINS).join(program.name)
}

/// What was chosen when a program was loaded: see [`Options::words`](crate::Options::words).
pub fn options(program: &Program) -> Vec<String> {
    let entries = fs::read_dir(folder(program)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut words: Vec<String> =
        names.filter_map(|name| name.strip_prefix(OPTION).map(String::from)).collect();
    words.sort();
    words
}

/// Begins the names of the folders that tell what was chosen.
const OPTION: &str = "option-";

/// The folder that tells of an option.
#[cfg(feature = "bpf")]
pub(crate) fn option(program: &Program, word: &str) -> PathBuf {
    folder(program).join(format!("{OPTION}{word}"))
}

/// What keeps the congestion control registered.
pub(crate) fn link(program: &Program) -> PathBuf {
    folder(program).join("link")
}

/// The map of counters.
#[cfg(feature = "bpf")]
pub(crate) fn counters(program: &Program) -> PathBuf {
    folder(program).join("counters")
}

/// The map of what single sockets keep.
#[cfg(feature = "bpf")]
pub(crate) fn sockets(program: &Program) -> PathBuf {
    folder(program).join("sockets")
}

/// The filter of devices.
#[cfg(feature = "bpf")]
pub(crate) fn filter(program: &Program) -> PathBuf {
    folder(program).join("accelerate")
}

/// Removes a program's files. The kernel frees what hung on them once no socket uses it.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub(crate) fn remove(program: &Program) -> std::io::Result<()> {
    let folder = folder(program);
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir(path)? } else { fs::remove_file(path)? }
    }
    fs::remove_dir(&folder)?;
    // The folder of all programs goes with the last one.
    let _ = fs::remove_dir(PINS);
    Ok(())
}
