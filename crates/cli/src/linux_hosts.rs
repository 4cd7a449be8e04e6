//! Linux hosts as ends of simulated flows: schemes such as `linux:cubic`, and the folder of their
//! guest.

use std::path::PathBuf;
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
            // Cannot be set already, since a process runs one command.
            FOLDER.get_or_init(|| folder.clone());
        }
        if !schemes.into_iter().any(is_linux) {
            return Ok(None);
        }
        guest().map(Some).map_err(|error| Error::Usage(error.to_string()))
    }
}

/// Returns the guest for this run.
pub(crate) fn guest() -> Result<BuiltGuest, paceline_guest::Error> {
    paceline_guest::find(FOLDER.get().map(PathBuf::as_path))
}

/// Returns true if the ends of a flow are Linux hosts.
pub(crate) fn is_linux(scheme: &SchemeChoice) -> bool {
    match scheme {
        SchemeChoice::Transport(made) => {
            made.label().split_once(':').is_some_and(|(family, _)| family == FAMILY)
        }
        _ => false,
    }
}
