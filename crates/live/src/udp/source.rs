//! What a client sends.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Stdin};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use paceline_wire::Connection;
use paceline_wire::records::{Content, Entry, FileHash, Record, Transfer};

use crate::LiveError;

/// How much is read at once.
const PIECE: usize = 256 << 10;

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Files, one after the other.
    Files(Vec<PathBuf>),
    /// Standard input.
    Input,
    /// Nothing but packets, as the workload makes them.
    Packets,
}

/// What has become of a file that was to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentFile {
    /// The file; `None` for standard input.
    pub path: Option<PathBuf>,
    /// Bytes of it that were read.
    pub bytes: u64,
    /// Where the receiver keeps it, once all of it is there.
    pub kept: Option<String>,
    /// Why it is not kept.
    pub problem: Option<String>,
}

impl SentFile {
    /// True once it is known what has become of it.
    pub(super) fn is_settled(&self) -> bool {
        self.kept.is_some() || self.problem.is_some()
    }
}

enum OpenSource {
    File(File),
    Input(Stdin),
}

/// The source that is being read, its place among all of them, and what packs it.
struct Current {
    index: usize,
    open: OpenSource,
    hash: FileHash,
}

impl Current {
    /// Number of the file on the wire.
    fn number(&self) -> u32 {
        1 + self.index as u32
    }
}

/// Sources that are read one after the other. The number of a file on the wire is its place among them, from 1 on.
pub(super) struct SourceReader {
    current: Option<Current>,
    /// Those that have not begun.
    next: VecDeque<usize>,
    place: Vec<u8>,
    /// Records that the connection has no room for yet, from `at` on.
    waiting: Vec<u8>,
    at: usize,
    /// What has become of each file.
    pub(super) files: Vec<SentFile>,
}

/// Opens a file: itself, its name and its size, if it has one.
fn open(path: &Path) -> Result<(File, String, Option<u64>), LiveError> {
    let text = path.display().to_string();
    let file = File::open(path).map_err(LiveError::system(text.clone()))?;
    let about = file.metadata().map_err(LiveError::system(text.clone()))?;
    if about.is_dir() {
        return Err(LiveError::Message(format!("{text} is a folder; name a file")));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Files of /proc say that they have no bytes.
    let size = (about.is_file() && about.len() > 0).then_some(about.len());
    Ok((file, name, size))
}

impl SourceReader {
    /// Opens the first source; `None` if there is nothing to read.
    pub(super) fn open(source: &Source) -> Result<Option<SourceReader>, LiveError> {
        let files: Vec<SentFile> = match source {
            Source::Packets => return Ok(None),
            Source::Input => vec![SentFile::default()],
            Source::Files(paths) => {
                let file =
                    |path: &PathBuf| SentFile { path: Some(path.clone()), ..SentFile::default() };
                paths.iter().map(file).collect()
            }
        };
        let mut waiting = Vec::new();
        let entries = files.len().max(1) as u32;
        let transfer = Transfer { id: [0; 32], resumable: false, entries, bytes: None };
        Record::Transfer(transfer).write(&mut waiting);
        let mut reader = SourceReader {
            current: None,
            next: (0..files.len()).collect(),
            place: vec![0; PIECE],
            waiting,
            at: 0,
            files,
        };
        // Before anything is sent: the first file must be there.
        if let Some(index) = reader.next.pop_front() {
            reader.begin(index)?;
        }
        Ok(Some(reader))
    }

    /// Begins a source.
    fn begin(&mut self, index: usize) -> Result<(), LiveError> {
        let Some(file) = self.files.get(index) else { return Ok(()) };
        let (open, name, size) = match &file.path {
            None => (OpenSource::Input(io::stdin()), "input".into(), None),
            Some(path) => {
                let (file, name, size) = open(path)?;
                (OpenSource::File(file), name, size)
            }
        };
        let current = Current { index, open, hash: FileHash::default() };
        let entry = Entry {
            number: current.number(),
            is_top_level: true,
            mode: None,
            mtime: None,
            path: name.as_bytes(),
            content: Content::File { size, offset: 0 },
        };
        Record::Entry(entry).write(&mut self.waiting);
        self.current = Some(current);
        Ok(())
    }

    /// True once all of it has been handed to the connection.
    pub(super) fn is_done(&self) -> bool {
        self.current.is_none() && self.next.is_empty() && self.at == self.waiting.len()
    }

    /// True once it is known of each file what has become of it.
    pub(super) fn is_settled(&self) -> bool {
        self.files.iter().all(SentFile::is_settled)
    }

    /// True if no file is kept and none can be any more.
    pub(super) fn has_failed(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(|file| file.problem.is_some())
    }

    /// Notes what the receiver says of the file with this number, or of all that are not settled if the number is 0.
    /// The rest of a file that is not kept is not sent.
    pub(super) fn on_note(&mut self, number: u32, kept: Result<String, String>) {
        let index = (number as usize).checked_sub(1);
        for (i, file) in self.files.iter_mut().enumerate() {
            if index.is_none_or(|index| index == i) && !file.is_settled() {
                match &kept {
                    Ok(place) => file.kept = Some(place.clone()),
                    Err(why) => file.problem = Some(why.clone()),
                }
            }
        }
        if kept.is_err() {
            self.next.retain(|&next| self.files.get(next).is_some_and(|file| !file.is_settled()));
            let given_up =
                self.current.take_if(|current| index.is_none_or(|index| index == current.index));
            if let Some(current) = given_up {
                Record::Close { number: current.number(), whole: None }.write(&mut self.waiting);
            }
        }
    }

    /// The file to wait for before the next [`SourceReader::pump`], if it is one that one waits for.
    pub(super) fn awaited(&self) -> Option<BorrowedFd<'_>> {
        let hungry = self.at == self.waiting.len();
        match &self.current {
            Some(Current { open: OpenSource::Input(input), .. }) if hungry => Some(input.as_fd()),
            _ => None,
        }
    }

    /// Moves bytes from the sources to the connection, as many as it takes. `ready` says that
    /// standard input can be read without waiting.
    pub(super) fn pump(&mut self, to: &mut Connection, ready: bool) -> Result<(), LiveError> {
        let mut ready = ready;
        loop {
            let left = self.waiting.get(self.at..).unwrap_or(&[]);
            self.at += to.write(left);
            if self.at < self.waiting.len() || to.room() < PIECE {
                return Ok(());
            }
            self.waiting.clear();
            self.at = 0;
            let Some(current) = &mut self.current else {
                let Some(index) = self.next.pop_front() else { return Ok(()) };
                if let Err(error) = self.begin(index)
                    && let Some(file) = self.files.get_mut(index)
                {
                    file.problem = Some(error.to_string());
                }
                continue;
            };
            let number = current.number();
            let Current { index, open, hash } = current;
            let read = match open {
                OpenSource::File(file) => file.read(&mut self.place),
                OpenSource::Input(_) if !std::mem::take(&mut ready) => return Ok(()),
                OpenSource::Input(input) => input.lock().read(&mut self.place),
            };
            match read {
                Ok(0) => {
                    let whole = Some(hash.whole());
                    Record::Close { number, whole }.write(&mut self.waiting);
                    self.current = None;
                }
                Ok(count) => {
                    if let Some(file) = self.files.get_mut(*index) {
                        file.bytes += count as u64;
                    }
                    let bytes = self.place.get(..count).unwrap_or(&[]);
                    hash.update(bytes);
                    Record::Piece { number, bytes }.write(&mut self.waiting);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(LiveError::system("reading what is to be sent")(error)),
            }
        }
    }
}
