//! Files that have no name until they are complete (open(2), `O_TMPFILE`): if their process is killed
//! before, nothing is left of them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

/// The entry of /proc by which a file without a name is reached.
fn entry(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// An empty file without a name, for writing, on the file system of this folder.
///
/// # Errors
/// The folder cannot be written to, its file system has no such files, or there is no /proc, by which
/// [`name`] finds them.
pub fn create(folder: &Path) -> io::Result<File> {
    // A relative name without folders has an empty one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(folder)?;
    entry(&file).metadata()?;
    Ok(file)
}

/// Gives a file of [`create`] a name, in the same file system. It never replaces a file.
///
/// # Errors
/// There is something of this name, or the folder cannot be written to.
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    linkat(AT_FDCWD, &entry(file), AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW)?;
    Ok(())
}
