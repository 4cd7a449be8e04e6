//! Locks of tunnels: files in a folder that only root can write to. A lock is released when the
//! last process that has it open ends: the tunnel's own, or its guard.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use paceline_os::RealTimeError;
use paceline_os::host::run_folders::is_own;
use paceline_os::namespace::NetworkId;
use paceline_os::process_identity::ProcessIdentity;
use serde::{Deserialize, Serialize};

/// Folder of locks and records. `/run` is emptied at each boot.
const FOLDER: [&str; 2] = ["/run/paceline", "/run/paceline/tunnels"];
/// Lock of the tunnel that has the default route. A tunnel's name never begins with a dot.
pub(super) const DEFAULT_ROUTE: &str = ".default-route";
/// Lock of the tunnel that has set the name servers.
pub(super) const NAMES: &str = ".names";

/// The holder of a lock.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Holder {
    /// The tunnel's process.
    pub(super) process: ProcessIdentity,
    /// Its network namespace.
    pub(super) network: NetworkId,
}

/// A lock that this process holds.
#[derive(Debug)]
pub(super) struct Hold {
    file: File,
    path: PathBuf,
}

/// Returns the path of a file in the folder, and creates the folder if it is missing.
///
/// # Errors
/// The folder cannot be created, or other users may write to it.
pub(super) fn place(file: &str) -> Result<PathBuf, RealTimeError> {
    for folder in FOLDER {
        let made = DirBuilder::new().mode(0o700).create(folder);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                let what = format!("{folder}: `paceline tunnel up` and `down` are for root");
                return Err(RealTimeError::system(what)(error));
            }
            _ => {}
        }
        if !is_own(Path::new(folder)) {
            return Err(RealTimeError::Message(format!(
                "{folder}: not a folder that only this user can change; run it as root, and remove the folder if it is \
                 another user's"
            )));
        }
    }
    Ok(Path::new(FOLDER[1]).join(file))
}

/// Returns the path of a file in the folder; `None` if there is no such folder that only this user
/// can write to.
pub(super) fn existing(file: &str) -> Option<PathBuf> {
    let is_own = FOLDER.iter().all(|folder| is_own(Path::new(folder)));
    is_own.then(|| Path::new(FOLDER[1]).join(file))
}

impl Hold {
    /// Takes a lock. Returns `None` if another process holds it.
    ///
    /// # Errors
    /// The folder cannot be used, or locks do not work there.
    pub(super) fn take(name: &str) -> Result<Option<Hold>, RealTimeError> {
        let path = place(&format!("{name}.lock"))?;
        let fail = |error| RealTimeError::system(path.display().to_string())(error);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Hold { file, path })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(fail(error)),
        }
    }

    /// Takes a lock that only one tunnel per network namespace can hold.
    ///
    /// # Errors
    /// Another tunnel holds it, and does what `what` says; or those of [`Hold::take`].
    pub(super) fn take_for_all(lock: &str, what: &str) -> Result<Hold, RealTimeError> {
        let network = NetworkId::current().map_err(RealTimeError::system("network namespace"))?;
        // Name servers stand in a file that several network namespaces may share.
        let lock = if lock == NAMES { lock.into() } else { format!("{lock}-{}", network.inode) };
        Hold::take(&lock)?.ok_or_else(|| {
            RealTimeError::Message(format!(
                "another tunnel {what}: end it first (paceline tunnel down NAME)"
            ))
        })
    }

    /// Writes into the lock file that this process holds the lock.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn note_holder(&self, network: NetworkId) -> Result<(), RealTimeError> {
        let process = ProcessIdentity::of(std::process::id().cast_signed())
            .ok_or_else(|| RealTimeError::Message("/proc does not show this process".into()))?;
        let text = serde_json::to_vec(&Holder { process, network }).map_err(io::Error::other);
        let mut file = &self.file;
        text.and_then(|text| {
            file.rewind()?;
            file.set_len(0)?;
            file.write_all(&text)
        })
        .map_err(RealTimeError::system(self.path.display().to_string()))
    }
}

/// Returns the recorded holder of the lock with this name; `None` if there is none.
pub(super) fn holder(name: &str) -> Option<Holder> {
    let mut text = Vec::new();
    let file = fs::File::open(place(&format!("{name}.lock")).ok()?).ok()?;
    file.take(4096).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
