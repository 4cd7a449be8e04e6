//! Folders for the files of a test.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new, empty folder of a test, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates the folder. Its path contains `name`, and differs from those of all other folders.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses it.
    pub fn new(name: &str) -> Folder {
        // Tests of one process may ask for folders of the same name.
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        loop {
            let own = FOLDERS.fetch_add(1, Ordering::Relaxed);
            let name = format!("paceline-{name}-{}-{own}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Folder(path),
                // Of a killed process with this number, or of a running one in another namespace.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// Returns the folder's own path.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in the folder.
    ///
    /// # Panics
    ///
    /// Panics if the path is not UTF-8.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path in UTF-8").to_string()
    }

    /// Writes a file and returns its path.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_name_are_apart_and_go_away() {
        let (one, other) = (Folder::new("same"), Folder::new("same"));
        let file = one.write("file", b"text");
        assert!(Path::new(&file).exists() && !Path::new(&other.path("file")).exists());
        let root = one.root().to_path_buf();
        drop(one);
        assert!(!root.exists() && other.root().exists());
    }
}
