//! Results of finished tasks on disk, by digest, so that a run that was stopped continues where it
//! was.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::record::Record;
use crate::task::{HASH_START, Task, hash};

/// Store of results. The digest covers the program, so that results of another version are never
/// used.
#[derive(Debug)]
pub struct Store {
    folder: Option<PathBuf>,
    program: u64,
}

impl Store {
    /// Opens a store in `folder`, which it creates.
    ///
    /// # Errors
    /// The folder cannot be created, or the program's file cannot be read.
    pub fn open(folder: &Path) -> io::Result<Store> {
        fs::create_dir_all(folder)?;
        let program = fs::read(std::env::current_exe()?)?;
        Ok(Store { folder: Some(folder.to_path_buf()), program: hash(&program, HASH_START) })
    }

    /// Opens a store as [`Store::open`] does, for results that also depend on `salt`: the content of
    /// files that are no part of the program's.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open_with(folder: &Path, salt: &str) -> io::Result<Store> {
        let Store { folder, program } = Store::open(folder)?;
        Ok(Store { folder, program: hash(salt.as_bytes(), program) })
    }

    /// Returns a store that keeps nothing.
    pub fn disabled() -> Store {
        Store { folder: None, program: 0 }
    }

    fn path(&self, task: &Task) -> Option<PathBuf> {
        let digest = hash(task.key.as_bytes(), self.program);
        let other = hash(task.name.as_bytes(), digest.rotate_left(17));
        self.folder.as_ref().map(|folder| folder.join(format!("{digest:016x}{other:016x}.json")))
    }

    /// Returns the result of a task that was done before.
    pub fn find(&self, task: &Task) -> Option<Record> {
        let text = fs::read_to_string(self.path(task)?).ok()?;
        // A task whose result cannot be read runs again.
        serde_json::from_str(&text).ok()
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// The result cannot be written.
    pub fn keep(&self, task: &Task, record: &Record) -> io::Result<()> {
        let Some(path) = self.path(task) else { return Ok(()) };
        // Write to another name and rename, so that a kill leaves no partial result.
        let aside = path.with_extension("part");
        let write = || -> io::Result<()> {
            let mut file = fs::File::create(&aside)?;
            file.write_all(serde_json::to_string(record)?.as_bytes())?;
            fs::rename(&aside, &path)
        };
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        write().map_err(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(key: &'static str) -> Task {
        Task::other("t", key, 1.0, || Ok(Record::default()))
    }

    #[test]
    fn what_is_kept_is_found_and_what_is_broken_is_not() {
        let folder = std::env::temp_dir().join(format!("paceline-store-{}", std::process::id()));
        let store = Store::open(&folder).expect("a folder");
        let mut record = Record::default();
        record.set("x", 0.1 + 0.2);
        record.set_series("y", &[1.0, f64::NAN]);
        store.keep(&task("a"), &record).expect("kept");
        assert_eq!(store.find(&task("a")), Some(record));
        assert_eq!(store.find(&task("b")), None);
        let path = store.path(&task("a")).expect("a path");
        fs::write(&path, "{\"numbers\":").expect("written");
        assert_eq!(store.find(&task("a")), None);
        fs::remove_dir_all(&folder).expect("removed");
        let problem = store.keep(&task("a"), &Record::default()).expect_err("there is no folder");
        assert!(problem.to_string().starts_with(&path.display().to_string()), "{problem}");
    }
}
