//! The files to which loaded programs are pinned.

use std::io;
#[cfg(feature = "bpf")]
use std::path::PathBuf;

use serde::Serialize;

use crate::own_folder::OwnFolder;
use crate::probe::{BPF_FS, available};
use crate::{KernelError, PROGRAMS, Program};

/// The folder of these files, in the BPF file system.
pub const PINS: &str = "/sys/fs/bpf/paceline";
/// The last part of [`PINS`].
const PINS_NAME: &str = "paceline";
/// File that keeps a congestion control registered.
const LINK: &str = "link";

/// State of a program on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramState {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether it is registered and pinned to a file: sockets can choose it until it is unloaded.
    pub loaded: bool,
    /// Whether the kernel has a congestion control of this name, from Paceline or another source.
    pub available: bool,
    /// Options with which it was loaded.
    pub options: Vec<String>,
    /// Whether there are files of a loader that did not finish; unloading removes them.
    pub leftover: bool,
}

/// Returns the state of each program, as far as this mount namespace shows it.
pub fn list() -> Vec<ProgramState> {
    let known = available();
    let state = |program: &Program| {
        let loaded = loaded(program);
        ProgramState {
            name: program.name,
            summary: program.summary,
            loaded,
            options: options(program),
            available: known.iter().any(|name| name == program.name),
            leftover: !loaded && matches!(find(program), Ok(Some(_))),
        }
    };
    PROGRAMS.iter().map(state).collect()
}

/// True if the program is loaded, as far as this mount namespace and this user's rights show. Only root's file in
/// root's own folder counts.
pub fn loaded(program: &Program) -> bool {
    matches!(find(program), Ok(Some(folder)) if folder.has_file(LINK))
}

#[cfg(feature = "bpf")]
pub(crate) fn folder(program: &Program) -> PathBuf {
    PathBuf::from(PINS).join(program.name)
}

/// Opens the folder of all programs; `None` if there is none.
fn pins() -> io::Result<Option<OwnFolder>> {
    match OwnFolder::open(BPF_FS) {
        Ok(file_system) => file_system.find(PINS_NAME),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the folder of a program's files; `None` if there is none.
///
/// # Errors
/// The folder of the program, or the folder of all programs, was made by another user or is
/// writable for one.
pub(crate) fn find(program: &Program) -> Result<Option<OwnFolder>, KernelError> {
    let found = pins().and_then(|pins| pins.map_or(Ok(None), |pins| pins.find(program.name)));
    // The error names the file and the remedy.
    found.map_err(|error| KernelError::Message(error.to_string()))
}

/// Creates the folder of a program's files.
///
/// # Errors
/// As for [`find`], or the folder cannot be created.
#[cfg(feature = "bpf")]
pub(crate) fn make(program: &Program) -> Result<(), KernelError> {
    let make = || OwnFolder::open(BPF_FS)?.make(PINS_NAME)?.make(program.name);
    make().map(drop).map_err(|error| KernelError::Message(error.to_string()))
}

/// Returns the options with which a program was loaded: see
/// [`Options::words`](crate::Options::words).
pub fn options(program: &Program) -> Vec<String> {
    let names = find(program).ok().flatten().and_then(|folder| folder.names().ok());
    let names = names.into_iter().flatten().map(|name| name.to_string_lossy().into_owned());
    let mut words: Vec<String> =
        names.filter_map(|name| name.strip_prefix(OPTION).map(String::from)).collect();
    words.sort();
    words
}

/// Prefix of the names of folders that record options.
const OPTION: &str = "option-";

/// Path of the folder that records an option.
#[cfg(feature = "bpf")]
pub(crate) fn option(program: &Program, word: &str) -> PathBuf {
    folder(program).join(format!("{OPTION}{word}"))
}

/// Path of the link that keeps the congestion control registered.
#[cfg(feature = "bpf")]
pub(crate) fn link(program: &Program) -> PathBuf {
    folder(program).join(LINK)
}

/// Path of the map of counters.
#[cfg(feature = "bpf")]
pub(crate) fn counters(program: &Program) -> PathBuf {
    folder(program).join("counters")
}

/// Path of the map with the storage of each socket.
#[cfg(feature = "bpf")]
pub(crate) fn sockets(program: &Program) -> PathBuf {
    folder(program).join("sockets")
}

/// Path of the filter for devices.
#[cfg(feature = "bpf")]
pub(crate) fn filter(program: &Program) -> PathBuf {
    folder(program).join("accelerate")
}

/// Removes a program's files. The kernel frees the objects pinned to them when no socket uses them
/// any more.
///
/// # Errors
/// There are no files, another user made the folder or can write to it, or a file cannot be
/// removed.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub(crate) fn remove(program: &Program) -> io::Result<()> {
    let file_system = OwnFolder::open(BPF_FS)?;
    let Some(pins) = file_system.find(PINS_NAME)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    pins.remove(program.name)?;
    // Succeeds only if this was the last program: then the folder of all programs is empty.
    let _ = file_system.remove_empty(PINS_NAME);
    Ok(())
}
