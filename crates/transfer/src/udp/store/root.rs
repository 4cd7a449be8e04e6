//! The folder `.paceline` of a destination, in which transfers are staged.

use std::ffi::{OsStr, OsString};
use std::io;

use nix::unistd::geteuid;
use paceline_os::folder::Folder;

use super::destination::Destination;
use super::journal::JournalPath;

/// Name of the folder. If another user owns it, `-` and this user's numeric id are appended.
pub(super) const ROOT: &str = ".paceline";
/// How often the folder is created again if the end of another transfer removes it meanwhile.
const TRIES: u32 = 10;

/// The staging folder, and its name in the destination.
pub(super) struct Root {
    pub(super) folder: Folder,
    pub(super) name: OsString,
}

impl Root {
    fn names() -> [OsString; 2] {
        [OsString::from(ROOT), OsString::from(format!("{ROOT}-{}", geteuid().as_raw()))]
    }

    /// Opens the folder with this name if only this user can write to it. The destination's owner
    /// can replace it in any case.
    fn open(destination: &Folder, name: OsString) -> io::Result<Option<Root>> {
        let Ok(folder) = destination.folder(&name) else { return Ok(None) };
        let (status, above) = (folder.own_status()?, destination.own_status()?);
        let is_own = status.owner == geteuid().as_raw() || status.owner == above.owner;
        let is_closed = status.mode & 0o022 == 0;
        Ok((is_own && is_closed).then_some(Root { folder, name }))
    }

    /// Opens all staging folders in a destination.
    pub(super) fn all(destination: &Folder) -> impl Iterator<Item = Root> + '_ {
        let open = |name| Root::open(destination, name).ok().flatten();
        Root::names().into_iter().filter_map(open)
    }

    /// Opens the staging folder and a transfer's folder in it; creates missing ones.
    ///
    /// # Errors
    /// The file system returns an error, or other users may write to the folder.
    pub(super) fn open_with(
        destination: &Destination,
        transfer: &OsStr,
    ) -> io::Result<(Root, Folder)> {
        for _ in 0..TRIES {
            let root = Root::make(destination)?;
            match root.folder.make_folder(transfer, 0o700) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            match root.folder.folder(transfer) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                folder => return Ok((root, folder?)),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn make(destination: &Destination) -> io::Result<Root> {
        for name in Root::names() {
            match destination.folder.make_folder(&name, 0o700) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if let Some(root) = Root::open(&destination.folder, name)? {
                return Ok(root);
            }
        }
        let [first, second] =
            Root::names().map(|name| destination.text(&JournalPath::from_name(&name)));
        let text = format!(
            "{first} and {second} belong to another user, or others may write to them: remove one"
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }
}
