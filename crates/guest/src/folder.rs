//! Private folders of guests, and those that killed processes have left behind.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Beginnings of the folders' names: of running guests, and of `paceline linux build` and `test`.
const KINDS: [&str; 2] = [Folder::OF_RUN, Folder::OF_BOOT];
/// File in each folder that its process has locked.
const LOCK: &str = "lock";
/// Age from which a folder without a lock counts as left behind: its process may be about to lock
/// it.
const UNLOCKED_FOR: Duration = Duration::from_secs(60);

/// A folder that only this user can read; dropping it removes it with its content.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    #[expect(dead_code, reason = "unlocked when it is closed")]
    lock: File,
}

impl Folder {
    /// Beginning of the names of running guests' folders.
    pub(crate) const OF_RUN: &str = "paceline-linux-";
    /// Beginning of the names of folders in which a guest is started once, as a check.
    pub(crate) const OF_BOOT: &str = "paceline-boot-";

    /// Creates a folder for temporary files. The first one of a process removes what killed
    /// processes have left.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn new(kind: &str) -> io::Result<Folder> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        static SWEEP: Once = Once::new();
        // What cannot be removed stays for `paceline cleanup`, which reports it.
        SWEEP.call_once(|| drop(remove_leftovers()));
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("{kind}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let mut lock = File::create_new(path.join(LOCK))?;
                    lock.lock()?;
                    // An empty file is not locked yet: see `is_left_behind`.
                    lock.write_all(b"locked")?;
                    return Ok(Folder { path, lock });
                }
                // Of another process with this number, in another container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder may be gone already; no remedy is left in a drop.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes this user's folders for temporary files that guests of killed processes have left.
/// Returns their paths.
///
/// # Errors
/// The folder for temporary files cannot be read, or a folder cannot be removed.
pub fn remove_leftovers() -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(std::env::temp_dir())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if KINDS.iter().any(|kind| name.starts_with(kind)) && is_left_behind(&path) {
            match fs::remove_dir_all(&path) {
                Ok(()) => removed.push(path),
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    removed.sort();
    Ok(removed)
}

/// True if no process has locked the folder. Other users' folders cannot be read, and count as
/// locked.
fn is_left_behind(folder: &Path) -> bool {
    let is_old = || {
        let changed = fs::metadata(folder).and_then(|metadata| metadata.modified());
        changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > UNLOCKED_FOR))
    };
    match File::open(folder.join(LOCK)) {
        Ok(lock) => {
            let was_locked = lock.metadata().is_ok_and(|metadata| metadata.len() > 0);
            lock.try_lock().is_ok() && (was_locked || is_old())
        }
        Err(error) => error.kind() == io::ErrorKind::NotFound && folder.is_dir() && is_old(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_processes_are_removed_and_others_stay() {
        let used = Folder::new(Folder::OF_RUN).expect("a folder");
        let left = |name: &str, lock: Option<&str>| {
            let path = std::env::temp_dir().join(format!("{name}{}-left", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            if let Some(text) = lock {
                fs::write(path.join(LOCK), text).expect("a file");
            }
            path
        };
        let killed = [left(Folder::OF_RUN, Some("locked")), left(Folder::OF_BOOT, Some("locked"))];
        // Its process may be about to lock it.
        let new = left("paceline-linux-new-", Some(""));
        let foreign = left("paceline-other-", Some("locked"));
        // Tests of other processes may remove them, too.
        remove_leftovers().expect("a folder for temporary files");
        assert!(killed.iter().all(|path| !path.exists()), "{killed:?}");
        for path in [used.path(), &new, &foreign] {
            assert!(path.exists(), "{}", path.display());
        }
        let path = used.path().to_path_buf();
        drop(used);
        assert!(!path.exists());
        [new, foreign].iter().for_each(|path| fs::remove_dir_all(path).expect("the folder"));
    }
}
