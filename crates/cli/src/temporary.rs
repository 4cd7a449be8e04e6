//! Folders for files that this program and programs that it starts pass to each other.

use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use crate::output::Error;

/// A folder for the files of one run, which is removed when this value is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a new folder for this command that no other user can write to: all users share the
    /// temporary folder.
    pub(crate) fn make(command: &str) -> Result<Folder, Error> {
        let name = |n| format!("paceline-{command}-{}-{n}", std::process::id());
        let mut paths = (0..100).map(|n| std::env::temp_dir().join(name(n)));
        loop {
            let path = paths.next().unwrap_or_default();
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Io { path: Some(path), source }),
            }
        }
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Ignores errors: a folder that stays does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
