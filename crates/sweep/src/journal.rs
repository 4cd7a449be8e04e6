//! The journal of a shard: the rows of each finished run, so that a shard that was stopped continues where it was.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sweep::Owner;
use crate::table::Cell;

/// Rows of a run.
pub(crate) type Rows = Vec<Vec<Cell>>;

/// First line of a journal: what its rows depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Digest of the sweep, in hexadecimal digits.
    pub(crate) sweep: String,
    /// Version of the program.
    pub(crate) version: String,
    /// The shard.
    pub(crate) shard: String,
}

impl Head {
    /// The first bytes of every journal.
    const BEGIN: &[u8] = b"{\"sweep\":\"";
}

#[derive(Serialize, Deserialize)]
struct Line {
    job: u64,
    rows: Rows,
}

/// A journal that is written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Journal {
    /// Opens the journal at `path`, and locks it until it is dropped. Returns the runs that it has if it begins with
    /// `head`; else it begins anew. A last line that was cut off or is damaged counts as not written, and so do the lines
    /// after it.
    ///
    /// # Errors
    /// Another process or call has it open, or it cannot be read or written.
    pub(crate) fn open(path: &Path, head: &Head) -> io::Result<(Journal, BTreeMap<u64, Rows>)> {
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).read(true).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = "another `paceline sweep` makes this part; wait for its end";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, problem));
            }
            // Some shared file systems have no locks.
            Err(TryLockError::Error(error)) if is_without_locks(&error) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut done = BTreeMap::new();
        let mut keep = 0;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        let mut is_head = true;
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if is_head {
                match serde_json::from_slice::<Head>(&line) {
                    Ok(found) if found == *head => is_head = false,
                    _ => break,
                }
            } else {
                let Ok(Line { job, rows }) = serde_json::from_slice(&line) else { break };
                done.insert(job, rows);
            }
            keep += line.len() as u64;
            line.clear();
        }
        file.set_len(keep)?;
        let mut file = BufWriter::new(file);
        io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        let mut journal = Journal { path: path.to_path_buf(), file };
        if keep == 0 {
            journal.line(head)?;
        }
        Ok((journal, done))
    }

    /// Returns who has written the journal at `path`, by its first line. A journal that has only this line counts as
    /// written by nobody, since no run is lost when it is overwritten.
    pub(crate) fn owner_of(path: &Path) -> Owner {
        let mut line = Vec::new();
        // More than a first line has.
        let most = 1 << 16;
        let Ok(file) = File::open(path) else { return Owner::Nobody };
        let mut reader = BufReader::new(file.take(most));
        if reader.read_until(b'\n', &mut line).is_err() {
            return Owner::Nobody;
        }
        if let Ok(head) = serde_json::from_slice::<Head>(&line) {
            return match reader.fill_buf() {
                Ok([]) => Owner::Nobody,
                _ => Owner::Sweep(head.sweep),
            };
        }
        // A power cut may leave bytes of zero.
        if line.iter().all(|&byte| byte == 0) {
            return Owner::Nobody;
        }
        // A first line that was cut off.
        let same = line.iter().zip(Head::BEGIN).take_while(|(a, b)| a == b).count();
        if same == line.len() || (same == Head::BEGIN.len() && !line.ends_with(b"\n")) {
            return Owner::Nobody;
        }
        Owner::Foreign
    }

    /// Adds a run's rows.
    pub(crate) fn add(&mut self, job: u64, rows: Rows) -> io::Result<()> {
        self.line(&Line { job, rows })
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, line)?;
        self.file.write_all(b"\n")?;
        self.file.flush()
    }

    /// Removes the journal; it is no error if another program has removed it.
    pub(crate) fn remove(self) -> io::Result<()> {
        drop(self.file);
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Returns true if an error means that the file system has no locks, as NFS without its lock service: ENOLCK has no kind
/// of its own.
fn is_without_locks(error: &io::Error) -> bool {
    const ENOLCK: i32 = 37;
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(ENOLCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_without_locks_are_known() {
        // ENOLCK, ENOSYS, EOPNOTSUPP; EACCES.
        let known =
            [37, 38, 95, 13].map(|code| is_without_locks(&io::Error::from_raw_os_error(code)));
        assert_eq!(known, [true, true, true, false]);
    }

    fn head(sweep: &str) -> Head {
        Head { sweep: sweep.into(), version: "1".into(), shard: "1/2".into() }
    }

    #[test]
    fn a_journal_continues_after_a_cut_off_line_and_begins_anew_for_another_sweep() {
        let path = std::env::temp_dir().join(format!("paceline-journal-{}", std::process::id()));
        let rows = vec![vec![
            Cell::Whole(1),
            Cell::Number(0.1),
            Cell::Text("a\nb".into()),
            Cell::Missing,
            Cell::Number(2.0),
        ]];
        let (mut journal, done) = Journal::open(&path, &head("a")).expect("a journal");
        assert!(done.is_empty());
        journal.add(0, rows.clone()).expect("written");
        journal.add(2, rows.clone()).expect("written");
        drop(journal);
        let text = std::fs::read_to_string(&path).expect("read");
        std::fs::write(&path, &text[..text.len() - 3]).expect("cut");
        let (mut journal, done) = Journal::open(&path, &head("a")).expect("a journal");
        assert_eq!(done.into_iter().collect::<Vec<_>>(), [(0, rows.clone())]);
        journal.add(2, rows.clone()).expect("written");
        drop(journal);
        let (journal, done) = Journal::open(&path, &head("a")).expect("a journal");
        assert_eq!(done.keys().copied().collect::<Vec<_>>(), [0, 2]);
        drop(journal);
        // A damaged line ends the part that is kept.
        let mut bytes = std::fs::read(&path).expect("read");
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines");
        bytes[last + 5] = 0xff;
        std::fs::write(&path, &bytes).expect("damaged");
        let (journal, done) = Journal::open(&path, &head("a")).expect("a journal");
        assert_eq!(done.into_keys().collect::<Vec<_>>(), [0]);
        assert_eq!(std::fs::read(&path).expect("read"), bytes[..=last]);
        drop(journal);
        let (journal, done) = Journal::open(&path, &head("b")).expect("a journal");
        assert!(done.is_empty());
        journal.remove().expect("removed");
        assert!(!path.exists());
    }
}
