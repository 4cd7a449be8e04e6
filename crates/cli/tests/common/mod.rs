//! Runs the program and returns its output.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Exit status and output of a run of the program.
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the program with the given arguments.
pub(crate) fn paceline(arguments: &[&str]) -> Seen {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts");
    Seen {
        code: output.status.code().expect("not killed by a signal"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// A folder of a test, which is removed when this value is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        // Tests of one process may ask for folders of the same name.
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let own = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("paceline-{name}-{}-{own}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path in UTF-8").to_string()
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
