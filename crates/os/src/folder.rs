//! Folders by descriptor. Every name is a single component that is looked up in an open folder, and no symbolic link is
//! followed: whatever lies in the folder, nothing outside of it is read or written.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{
    FileStat, Mode, SFlag, UtimensatFlags, fchmod, fstat, fstatat, futimens, mkdirat, utimensat,
};
use nix::sys::statvfs::fstatvfs;
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, fsync, linkat, symlinkat, syncfs, unlinkat};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno as RawErrno;

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// The kind of an entry.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Symlink,
    /// A device, a pipe or a socket.
    Other,
}

/// What the file system knows of a file, a folder or a link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What it is.
    pub kind: EntryKind,
    /// Length in bytes.
    pub length: u64,
    /// Time of the last modification: seconds since 1970, nanoseconds.
    pub mtime: (i64, u32),
    /// Permission bits, setuid, setgid and the sticky bit included.
    pub mode: u32,
    /// User who owns it.
    pub owner: u32,
    /// Number of names.
    pub links: u64,
    /// Device and inode.
    pub identity: (u64, u64),
}

impl From<FileStat> for Status {
    fn from(stat: FileStat) -> Status {
        let kind = match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => EntryKind::File,
            SFlag::S_IFDIR => EntryKind::Folder,
            SFlag::S_IFLNK => EntryKind::Symlink,
            _ => EntryKind::Other,
        };
        #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
        Status {
            kind,
            length: stat.st_size as u64,
            mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            links: stat.st_nlink as u64,
            identity: (stat.st_dev as u64, stat.st_ino as u64),
        }
    }
}

/// Returns the name if it is a single component.
fn component(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    match bytes {
        b"" | b"." | b".." => {}
        _ if bytes.contains(&b'/') || bytes.contains(&0) => {}
        _ => return Ok(name),
    }
    let text = format!("{name:?} is not the name of a single entry");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// Sets the time of the last modification of an open file or folder.
///
/// # Errors
/// The file system refuses.
pub fn set_mtime(file: impl std::os::fd::AsFd, mtime: (i64, u32)) -> io::Result<()> {
    let mtime = TimeSpec::new(mtime.0, i64::from(mtime.1));
    Ok(futimens(file, &TimeSpec::UTIME_OMIT, &mtime)?)
}

/// Sets the permission bits of an open file or folder: 0o777 at most.
///
/// # Errors
/// The file system refuses.
pub fn set_mode(file: impl std::os::fd::AsFd, mode: u32) -> io::Result<()> {
    Ok(fchmod(file, Mode::from_bits_truncate(mode & 0o777))?)
}

impl Folder {
    /// Opens a folder by its path. Links in the path are followed.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be read.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = libc::O_DIRECTORY;
        Ok(Folder(OpenOptions::new().read(true).custom_flags(flags).open(path)?.into()))
    }

    /// Opens this folder once more.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn own(&self) -> io::Result<Folder> {
        Ok(Folder(self.0.try_clone()?))
    }

    fn open_at(&self, name: &OsStr, flags: OFlag, mode: Mode) -> io::Result<OwnedFd> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(openat(&self.0, component(name)?, flags, mode)?)
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// It is no folder, or cannot be read.
    pub fn folder(&self, name: &OsStr) -> io::Result<Folder> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        Ok(Folder(self.open_at(name, flags, Mode::empty())?))
    }

    /// Opens a folder in this one, and gives this user all rights to it, whatever mode it has.
    ///
    /// # Errors
    /// It is no folder, or another user's.
    pub fn own_folder(&self, name: &OsStr) -> io::Result<Folder> {
        let folder = self.folder(name).or_else(|error| {
            let fd = self.open_at(name, OFlag::O_PATH | OFlag::O_DIRECTORY, Mode::empty())?;
            // A descriptor of this kind changes modes only by its name in /proc.
            let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
            std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(|_| error)?;
            self.folder(name)
        })?;
        let mode = folder.own_status()?.mode;
        if mode & 0o700 != 0o700 {
            folder.set_mode(mode | 0o700)?;
        }
        Ok(folder)
    }

    /// Makes a folder with this mode, of which the process's umask takes bits away.
    ///
    /// # Errors
    /// There is something of this name, or the file system refuses.
    pub fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(mkdirat(&self.0, component(name)?, Mode::from_bits_truncate(mode))?)
    }

    /// Makes an empty file, for reading and writing.
    ///
    /// # Errors
    /// There is something of this name, or the file system refuses.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL;
        Ok(self.open_at(name, flags, Mode::from_bits_truncate(0o666))?.into())
    }

    /// Opens a file for reading, or also for writing.
    ///
    /// # Errors
    /// It is no regular file, or cannot be opened.
    pub fn file(&self, name: &OsStr, writes: bool) -> io::Result<File> {
        let access = if writes { OFlag::O_RDWR } else { OFlag::O_RDONLY };
        // O_NONBLOCK: a pipe in its place must not hold this thread.
        let file: File = self.open_at(name, access | OFlag::O_NONBLOCK, Mode::empty())?.into();
        match Status::from(fstat(&file)?).kind {
            EntryKind::File => Ok(file),
            _ => Err(io::Error::other(format!("{} is not a file", name.display()))),
        }
    }

    /// Returns what the file system knows of an entry. A symbolic link is not followed.
    ///
    /// # Errors
    /// There is no such entry, or the file system refuses.
    pub fn status(&self, name: &OsStr) -> io::Result<Status> {
        Ok(fstatat(&self.0, component(name)?, AtFlags::AT_SYMLINK_NOFOLLOW)?.into())
    }

    /// Returns what the file system knows of this folder.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn own_status(&self) -> io::Result<Status> {
        Ok(fstat(&self.0)?.into())
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// There is something of this name, or the file system refuses.
    pub fn symlink(&self, name: &OsStr, target: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, component(name)?)?)
    }

    /// Returns where a symbolic link leads.
    ///
    /// # Errors
    /// It is no symbolic link.
    pub fn target(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(readlinkat(&self.0, component(name)?)?)
    }

    /// Gives an entry of this folder a further name in `into`.
    ///
    /// # Errors
    /// There is something of this name, or the file system refuses.
    pub fn hard_link(&self, name: &OsStr, into: &Folder, new: &OsStr) -> io::Result<()> {
        let (name, new) = (component(name)?, component(new)?);
        Ok(linkat(&self.0, name, &into.0, new, AtFlags::empty())?)
    }

    /// Sets the time of the last modification of an entry; of a symbolic link that of the link.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn set_entry_mtime(&self, name: &OsStr, mtime: (i64, u32)) -> io::Result<()> {
        let mtime = TimeSpec::new(mtime.0, i64::from(mtime.1));
        let flag = UtimensatFlags::NoFollowSymlink;
        Ok(utimensat(&self.0, component(name)?, &TimeSpec::UTIME_OMIT, &mtime, flag)?)
    }

    /// Moves an entry; what has the new name is replaced.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn rename(&self, name: &OsStr, into: &Folder, new: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, component(name)?, &into.0, component(new)?)?)
    }

    /// Moves an entry. Never replaces anything.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is something of the new name; or the file system refuses.
    pub fn rename_new(&self, name: &OsStr, into: &Folder, new: &OsStr) -> io::Result<()> {
        let (from, to) = (component(name)?, component(new)?);
        match renameat_with(&self.0, from, &into.0, to, RenameFlags::NOREPLACE) {
            // A file system without this flag, such as NFS.
            Err(RawErrno::INVAL | RawErrno::NOSYS | RawErrno::OPNOTSUPP) => {}
            result => return Ok(result?),
        }
        if self.status(name)?.kind == EntryKind::Folder {
            // A folder may take the place of an empty folder only.
            into.make_folder(new, 0o700)?;
            return self.rename(name, into, new);
        }
        match self.hard_link(name, into, new) {
            Ok(()) => self.remove(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Without further names, an empty file keeps the place.
            Err(_) => into.create(new).and_then(|_| self.rename(name, into, new)),
        }
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// There is none, or the file system refuses.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, component(name)?, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// It is none, it is not empty, or the file system refuses.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, component(name)?, UnlinkatFlags::RemoveDir)?)
    }

    /// Removes an entry, a folder with all that is in it. Links are removed and not followed.
    ///
    /// # Errors
    /// The file system refuses; what could be removed is gone.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<()> {
        if self.status(name)?.kind != EntryKind::Folder {
            return self.remove(name);
        }
        let folder = self.own_folder(name)?;
        for entry in folder.names()? {
            folder.remove_all(&entry)?;
        }
        drop(folder);
        self.remove_folder(name)
    }

    /// Returns the names of all entries, without `.` and `..`, in no order.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        // Opened anew, so that its position is its own.
        let mut folder = Dir::from_fd(openat(&self.0, ".", flags, Mode::empty())?)?;
        let mut names = Vec::new();
        for entry in folder.iter() {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Sets the permission bits of this folder: 0o777 at most.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        set_mode(&self.0, mode)
    }

    /// Sets the time of the last modification of this folder.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn set_mtime(&self, mtime: (i64, u32)) -> io::Result<()> {
        set_mtime(&self.0, mtime)
    }

    /// Writes the names in this folder to the disk. A file system that cannot do this is left as it is.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync(&self) -> io::Result<()> {
        match fsync(self.0.as_fd()) {
            Err(Errno::EINVAL | Errno::EOPNOTSUPP) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes everything of the file system that this folder is on to the disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(syncfs(self.0.as_fd())?)
    }

    /// Returns how many bytes of its file system this user may still fill.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let status = fstatvfs(&self.0)?;
        #[allow(clippy::useless_conversion, reason = "the types differ between architectures")]
        let (blocks, size) =
            (u64::from(status.blocks_available()), u64::from(status.fragment_size()));
        Ok(blocks.saturating_mul(size))
    }

    /// Takes the lock of this folder for as long as the returned file is open. `None` if another open file has it.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn lock(&self) -> io::Result<Option<File>> {
        // A lock belongs to the open file, which a descriptor made by dup(2) would share.
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let file = File::from(openat(&self.0, ".", flags, Mode::empty())?);
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    fn fresh(test: &str) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("paceline-folder-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    #[test]
    fn no_name_and_no_link_leads_out_of_a_folder() {
        let path = fresh("out");
        std::fs::create_dir_all(path.join("in")).expect("a folder");
        std::fs::write(path.join("secret"), "x").expect("a file");
        std::fs::create_dir(path.join("outside")).expect("a folder");
        symlink("../secret", path.join("in/file")).expect("a link");
        symlink("../outside", path.join("in/folder")).expect("a link");
        let folder = Folder::open(&path.join("in")).expect("a folder");
        for bad in ["", ".", "..", "../secret", "a/b", "/etc"] {
            assert!(folder.file(name(bad), false).is_err(), "{bad}");
            assert!(folder.create(name(bad)).is_err() && folder.folder(name(bad)).is_err());
            assert!(folder.remove(name(bad)).is_err() && folder.remove_all(name(bad)).is_err());
            assert!(folder.rename(name("file"), &folder, name(bad)).is_err(), "{bad}");
        }
        assert!(folder.file(name("file"), true).is_err());
        assert!(folder.create(name("file")).is_err());
        assert!(folder.folder(name("folder")).is_err());
        assert_eq!(folder.status(name("file")).expect("a link").kind, EntryKind::Symlink);
        folder.set_entry_mtime(name("file"), (5, 0)).expect("set");
        assert_eq!(folder.status(name("file")).expect("a link").mtime, (5, 0));
        assert_ne!(path.join("secret").metadata().expect("a file").mtime(), 5);
        // Removing a tree removes links, not what they lead to.
        let above = Folder::open(&path).expect("a folder");
        above.remove_all(name("in")).expect("removed");
        assert!(path.join("secret").exists() && path.join("outside").exists());
        std::fs::remove_dir_all(&path).expect("removed");
    }

    #[test]
    fn entries_are_moved_without_replacing_any() {
        let path = fresh("move");
        let folder = Folder::open(&path).expect("a folder");
        folder.create(name("a")).expect("a file").write_all(b"a").expect("room");
        folder.create(name("b")).expect("a file").write_all(b"b").expect("room");
        folder.make_folder(name("f"), 0o777).expect("a folder");
        for taken in ["b", "f"] {
            let error =
                folder.rename_new(name("a"), &folder, name(taken)).expect_err("it is taken");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        let error = folder.rename_new(name("f"), &folder, name("b")).expect_err("it is taken");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        folder.rename_new(name("a"), &folder, name("c")).expect("moved");
        folder.rename(name("c"), &folder, name("b")).expect("replaced");
        let mut text = String::new();
        folder.file(name("b"), false).expect("b").read_to_string(&mut text).expect("text");
        assert_eq!(text, "a");
        let mut names = folder.names().expect("names");
        names.sort();
        assert_eq!(names, ["b", "f"]);
        std::fs::remove_dir_all(&path).expect("removed");
    }

    #[test]
    fn folders_that_may_not_be_read_are_removed_and_locks_exclude_each_other() {
        let path = fresh("lock");
        let folder = Folder::open(&path).expect("a folder");
        folder.make_folder(name("f"), 0o700).expect("a folder");
        let inner = folder.folder(name("f")).expect("a folder");
        inner.make_folder(name("g"), 0o700).expect("a folder");
        inner.set_mode(0).expect("set");
        folder.remove_all(name("f")).expect("removed");
        let lock = folder.lock().expect("locks");
        assert!(lock.is_some() && folder.lock().expect("locks").is_none());
        drop(lock);
        assert!(folder.lock().expect("locks").is_some());
        std::fs::remove_dir_all(&path).expect("removed");
    }
}
