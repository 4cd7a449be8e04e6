//! Linux hosts as ends of simulated flows: schemes such as `linux:cubic`, and the folder of their
//! guest.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;
use paceline_guest::FAMILY;
use paceline_guest::build::BuiltGuest;
use paceline_sim::scenario::SchemeChoice;

use crate::output::Error;

/// Folder that `--linux` names. A static, since schemes are read while arguments are parsed, before
/// this option is known; guests are looked for when a run begins.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Option for the guest's folder.
#[derive(Args)]
#[command(next_help_heading = "Linux guests")]
pub(crate) struct LinuxArgs {
    /// Folder of the Linux guest for schemes such as linux:cubic; otherwise $PACELINE_LINUX or
    /// ~/.cache/paceline/linux
    #[arg(long = "linux", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl LinuxArgs {
    /// Lets this run look for the guest in the folder that the option names. Returns the guest if one of
    /// `schemes` needs it.
    ///
    /// # Errors
    /// A scheme needs a guest, and there is none.
    pub(crate) fn find<'a>(
        &self,
        schemes: impl IntoIterator<Item = &'a SchemeChoice>,
    ) -> Result<Option<BuiltGuest>, Error> {
        if let Some(folder) = &self.folder {
            look_in(folder);
        }
        if !schemes.into_iter().any(is_linux) {
            return Ok(None);
        }
        guest().map(Some).map_err(|error| Error::Usage(error.to_string()))
    }
}

/// Lets this run look for the guest in `folder`.
pub(crate) fn look_in(folder: &Path) {
    // Cannot be set already, since a process runs one command.
    FOLDER.get_or_init(|| folder.to_path_buf());
}

/// Returns the guest for this run.
pub(crate) fn guest() -> Result<BuiltGuest, paceline_guest::Error> {
    paceline_guest::find(FOLDER.get().map(PathBuf::as_path))
}

/// Returns a description for results of those of `schemes` whose ends are Linux hosts: the guest, and the
/// modules that they load.
///
/// # Errors
/// The guest does not have a congestion control, or its module cannot be compiled.
pub(crate) fn describe<'a>(
    guest: &BuiltGuest,
    schemes: impl IntoIterator<Item = &'a SchemeChoice>,
) -> Result<String, Error> {
    let labels = schemes.into_iter().filter_map(label);
    paceline_guest::describe(guest, labels).map_err(|error| Error::Usage(error.to_string()))
}

/// Returns true if the ends of a flow are Linux hosts.
pub(crate) fn is_linux(scheme: &SchemeChoice) -> bool {
    label(scheme).is_some()
}

/// Returns the name of the hosts of a flow; `None` if its ends are others.
fn label(scheme: &SchemeChoice) -> Option<&str> {
    let SchemeChoice::Transport(made) = scheme else { return None };
    let (family, _) = made.label().split_once(':')?;
    (family == FAMILY).then(|| made.label())
}
