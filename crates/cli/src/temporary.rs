//! Folders for files that this program and those that it starts hand to each other.

use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use crate::output::Error;

/// A folder for the files of one run, which goes with this value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new folder for this command, to which nobody else can write: the temporary one is everybody's.
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

    /// The path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left over, it does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
