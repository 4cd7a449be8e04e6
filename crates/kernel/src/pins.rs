//! The files on which loaded programs hang.

use std::io;
#[cfg(feature = "bpf")]
use std::path::PathBuf;

use serde::Serialize;

use crate::own_folder::OwnFolder;
use crate::probe::{BPF_FS, available};
use crate::{PROGRAMS, Program};

/// The folder of these files, in the BPF file system.
pub const PINS: &str = "/sys/fs/bpf/paceline";
/// The last part of [`PINS`].
const PINS_NAME: &str = "paceline";
/// The file that keeps a congestion control registered.
const LINK: &str = "link";

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

/// The folder of all programs; `None` if there is none.
fn pins() -> io::Result<Option<OwnFolder>> {
    match OwnFolder::open(BPF_FS) {
        Ok(file_system) => file_system.find(PINS_NAME),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The folder of a program's files; `None` if there is none.
///
/// # Errors
/// There is one, or one of all programs, that another user made or can write to.
pub(crate) fn find(program: &Program) -> io::Result<Option<OwnFolder>> {
    pins()?.map_or(Ok(None), |pins| pins.find(program.name))
}

/// Makes the folder of a program's files.
///
/// # Errors
/// As for [`find`], or it cannot be made.
#[cfg(feature = "bpf")]
pub(crate) fn make(program: &Program) -> io::Result<OwnFolder> {
    OwnFolder::open(BPF_FS)?.make(PINS_NAME)?.make(program.name)
}

/// What was chosen when a program was loaded: see [`Options::words`](crate::Options::words).
pub fn options(program: &Program) -> Vec<String> {
    let names = find(program).ok().flatten().and_then(|folder| folder.names().ok());
    let names = names.into_iter().flatten().map(|name| name.to_string_lossy().into_owned());
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
#[cfg(feature = "bpf")]
pub(crate) fn link(program: &Program) -> PathBuf {
    folder(program).join(LINK)
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
///
/// # Errors
/// There are none, another user made the folder or can write to it, or a file cannot be removed.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub(crate) fn remove(program: &Program) -> io::Result<()> {
    let file_system = OwnFolder::open(BPF_FS)?;
    let Some(pins) = file_system.find(PINS_NAME)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    pins.remove(program.name)?;
    // The folder of all programs goes with the last one.
    let _ = file_system.remove_empty(PINS_NAME);
    Ok(())
}
