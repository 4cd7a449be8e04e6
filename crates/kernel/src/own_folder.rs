//! Folders of root that no other user can change. Everything below them is opened by descriptor and
//! without following links, so that no other user can redirect root to another folder.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::probe::BPF_FS;

/// An open folder, checked to be root's.
pub(crate) struct OwnFolder {
    file: OwnedFd,
    path: PathBuf,
}

/// Users other than root who may write to a folder.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Writers {
    /// No other user.
    Root,
    /// Any user, if the folder is sticky: there they cannot rename or remove what is root's.
    Sticky,
}

const FLAGS: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT
}

fn denied(path: &Path, why: &str) -> io::Error {
    let text = format!(
        "{}: {why}: another user may have made it. Look at it, remove it, and keep other users out: `chmod 700 {BPF_FS}`",
        path.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

impl OwnFolder {
    /// Opens a folder that may contain other users' files: it belongs to root, and other users
    /// either cannot write to it or it is sticky.
    ///
    /// # Errors
    /// The folder does not exist or is not safe; the error names it.
    pub(crate) fn open(path: &str) -> io::Result<OwnFolder> {
        OwnFolder::check(AT_FDCWD, path, PathBuf::from(path), Writers::Sticky)
    }

    /// Opens the folder of this name in this folder; `None` if there is nothing of this name.
    ///
    /// # Errors
    /// The entry of this name is not root's own folder; the error names it.
    pub(crate) fn find(&self, name: &str) -> io::Result<Option<OwnFolder>> {
        match OwnFolder::check(&self.file, name, self.path.join(name), Writers::Root) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the folder of this name in this folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// The entry of this name is not root's own folder, or the folder cannot be created; the error
    /// names it.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code))]
    pub(crate) fn make(&self, name: &str) -> io::Result<OwnFolder> {
        let path = self.path.join(name);
        match mkdirat(&self.file, name, Mode::from_bits_truncate(0o755)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(io::Error::other(format!("{}: {error}", path.display()))),
        }
        OwnFolder::check(&self.file, name, path, Writers::Root)
    }

    fn check(
        parent: impl std::os::fd::AsFd,
        name: &str,
        path: PathBuf,
        writers: Writers,
    ) -> io::Result<OwnFolder> {
        let file = match openat(parent, name, FLAGS, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::ENOTDIR | Errno::ELOOP) => return Err(denied(&path, "no folder")),
            Err(error) => {
                let kind = io::Error::from(error).kind();
                return Err(io::Error::new(kind, format!("{}: {error}", path.display())));
            }
        };
        let found = fstat(&file)?;
        let sticky = found.st_mode & Mode::S_ISVTX.bits() != 0;
        let safe = found.st_mode & 0o022 == 0 || writers == Writers::Sticky && sticky;
        match found.st_uid {
            0 if safe => Ok(OwnFolder { file, path }),
            0 => Err(denied(&path, "a folder that other users can write to")),
            uid => Err(denied(&path, &format!("a folder of user {uid}, not of root"))),
        }
    }

    /// True if this folder has a regular file of this name that belongs to root (no link, no
    /// folder).
    pub(crate) fn has_file(&self, name: &str) -> bool {
        fstatat(&self.file, name, AtFlags::AT_SYMLINK_NOFOLLOW)
            .is_ok_and(|found| kind(&found) == SFlag::S_IFREG && found.st_uid == 0)
    }

    /// Returns the names in this folder.
    pub(crate) fn names(&self) -> io::Result<Vec<CString>> {
        let mut names = Vec::new();
        for entry in Dir::from_fd(self.file.try_clone()?)? {
            let name = entry?.file_name().to_owned();
            if ![c".", c".."].contains(&name.as_c_str()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Removes the subfolder of this name, with its files, links and empty folders.
    ///
    /// # Errors
    /// It is not root's own, or an entry in it cannot be removed.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let Some(folder) = self.find(name)? else { return Err(io::ErrorKind::NotFound.into()) };
        for entry in folder.names()? {
            let found = fstatat(&folder.file, entry.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?;
            let how = match kind(&found) {
                SFlag::S_IFDIR => UnlinkatFlags::RemoveDir,
                _ => UnlinkatFlags::NoRemoveDir,
            };
            unlinkat(&folder.file, entry.as_c_str(), how)?;
        }
        self.remove_empty(name)
    }

    /// Removes the empty subfolder of this name.
    pub(crate) fn remove_empty(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.file, name, UnlinkatFlags::RemoveDir)?)
    }
}
