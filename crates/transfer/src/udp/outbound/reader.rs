//! Reads and hashes the files to send on a separate thread, so that a slow disk delays neither
//! packets nor signals.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::fcntl::OFlag;
use paceline_os::{RealTimeError, Waker};
use paceline_wire::records::{Content, Entry, FileHash, HEAD, Hash, Record, Whole, piece_head};

use super::manifest::{Manifest, Version};

/// Bytes per read.
pub(super) const PIECE: usize = 256 << 10;
/// Maximum number of chunks that wait for the loop, of about [`PIECE`] bytes each.
const MOST_CHUNKS: usize = 8;

/// The source to read.
pub(super) enum Input {
    /// Standard input, as a file of unknown size.
    Standard,
    /// The entries of a manifest, from a position on.
    Manifest(Arc<Manifest>, Start),
}

/// Position at which reading starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// Number of the first entry.
    pub(super) entry: u32,
    /// Lengths and hashes of beginnings of that entry that the receiver has.
    pub(super) beginnings: Vec<(u64, Hash)>,
}

/// A message of the thread to the loop.
pub(super) enum Chunk {
    /// Records for the stream.
    Records {
        /// The records.
        bytes: Vec<u8>,
        /// Of these, bytes of a file of unknown size.
        unlisted: u64,
        /// Number of the entry in which the records end.
        entry: u32,
    },
    /// The first entry continues after this many bytes, which the receiver already has.
    GoesOn(u64),
    /// An entry is not sent, or only a part of it.
    Problem { entry: u32, text: String },
    /// Everything was read.
    End,
    /// The thread has panicked.
    Failed,
}

/// The loop's handle of the thread, which ends when this is dropped.
pub(super) struct Reader {
    chunks: Receiver<Chunk>,
    given_up: Arc<Mutex<BTreeSet<u32>>>,
}

impl Reader {
    /// Starts the thread. `waker` wakes the loop whenever a chunk is ready.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub(super) fn start(input: Input, waker: Waker) -> Result<Reader, RealTimeError> {
        let (give, chunks) = sync_channel(MOST_CHUNKS);
        let given_up = Arc::new(Mutex::default());
        let mut work = Work {
            out: Out { give, waker, bytes: Vec::new(), unlisted: 0, entry: 1 },
            given_up: Arc::clone(&given_up),
        };
        let read = move || {
            // An error means that the loop has dropped its handle.
            let _ = match input {
                Input::Standard => work.standard(),
                Input::Manifest(manifest, start) => work.entries(&manifest, &start),
            };
        };
        let thread = thread::Builder::new().name("reader".into()).spawn(read);
        thread.map_err(RealTimeError::system("starting a thread"))?;
        Ok(Reader { chunks, given_up })
    }

    /// Takes the next chunk; `None` if none is ready.
    pub(super) fn take(&self) -> Option<Chunk> {
        match self.chunks.try_recv() {
            Ok(chunk) => Some(chunk),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Chunk::Failed),
        }
    }

    /// Stops sending this entry and, for a folder, its contents, because the receiver does not keep
    /// it.
    pub(super) fn give_up(&self, entry: u32) {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner).insert(entry);
    }
}

/// The loop has dropped its handle.
struct Gone;

/// The sending half of the queue to the loop.
struct Out {
    give: SyncSender<Chunk>,
    waker: Waker,
    /// Records gathered for the next chunk.
    bytes: Vec<u8>,
    unlisted: u64,
    entry: u32,
}

impl Out {
    fn give(&self, chunk: Chunk) -> Result<(), Gone> {
        let given = self.give.send(chunk).map_err(|_| Gone);
        self.waker.wake();
        given
    }

    /// Sends the gathered records to the loop.
    fn flush(&mut self) -> Result<(), Gone> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        let unlisted = std::mem::take(&mut self.unlisted);
        self.give(Chunk::Records { bytes, unlisted, entry: self.entry })
    }

    /// Sends the gathered records to the loop if they have reached the size of a chunk.
    fn flush_if_full(&mut self) -> Result<(), Gone> {
        if self.bytes.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), Gone> {
        record.write(&mut self.bytes);
        self.flush_if_full()
    }

    fn problem(&mut self, entry: u32, text: String) -> Result<(), Gone> {
        self.flush()?;
        self.give(Chunk::Problem { entry, text })
    }
}

struct Work {
    out: Out,
    given_up: Arc<Mutex<BTreeSet<u32>>>,
}

/// How reading a file has ended.
enum FileEnd {
    Whole(Whole),
    /// The receiver refuses the rest.
    GivenUp,
    Failed(String),
}

impl Work {
    fn is_given_up(&self, entry: u32) -> bool {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.contains(&entry)
    }

    fn standard(&mut self) -> Result<(), Gone> {
        let entry = Entry {
            number: 1,
            is_top_level: true,
            mode: None,
            mtime: None,
            path: b"input",
            content: Content::File { size: None, offset: 0 },
        };
        self.out.record(&Record::Entry(entry))?;
        let mut input = io::stdin().lock();
        let mut hash = FileHash::default();
        let end = self.pieces(1, &mut input, &mut hash, None)?;
        let whole = self.on_file_end(1, end)?;
        self.close(1, whole)?;
        self.end()
    }

    fn entries(&mut self, manifest: &Manifest, start: &Start) -> Result<(), Gone> {
        let mut place = Vec::new();
        // The folders that are open at the start position.
        let mut folders: Vec<u32> = Vec::new();
        let mut at = manifest.parent(start.entry);
        while let Some(folder) = at {
            folders.push(folder);
            at = manifest.parent(folder);
        }
        folders.reverse();
        for &folder in &folders {
            if let Some(entry) = manifest.entry(folder, 0, &mut place) {
                self.out.record(&Record::Entry(entry))?;
            }
        }
        for number in start.entry..=manifest.len() {
            while folders.last().copied() != manifest.parent(number)
                && let Some(folder) = folders.pop()
            {
                self.close(folder, Some(Whole::of_nothing()))?;
            }
            self.out.entry = number;
            if folders.iter().any(|&folder| self.is_given_up(folder)) {
                continue;
            }
            let none = Vec::new();
            let beginnings = if number == start.entry { &start.beginnings } else { &none };
            if manifest.is_file(number) {
                self.file(manifest, number, beginnings, &mut place)?;
                continue;
            }
            if let Some(entry) = manifest.entry(number, 0, &mut place) {
                self.out.record(&Record::Entry(entry))?;
            }
            match manifest.is_folder(number) {
                true => folders.push(number),
                false => self.close(number, Some(Whole::of_nothing()))?,
            }
        }
        while let Some(folder) = folders.pop() {
            self.close(folder, Some(Whole::of_nothing()))?;
        }
        self.end()
    }

    fn end(&mut self) -> Result<(), Gone> {
        self.out.record(&Record::End)?;
        self.out.flush()?;
        self.out.give(Chunk::End)
    }

    fn close(&mut self, number: u32, whole: Option<Whole>) -> Result<(), Gone> {
        self.out.record(&Record::Close { number, whole })
    }

    /// Reports an error of a file. Returns how its entry is closed.
    fn on_file_end(&mut self, number: u32, end: FileEnd) -> Result<Option<Whole>, Gone> {
        Ok(match end {
            FileEnd::Whole(whole) => Some(whole),
            FileEnd::GivenUp => None,
            FileEnd::Failed(text) => {
                self.out.problem(number, text)?;
                None
            }
        })
    }

    fn file(
        &mut self,
        manifest: &Manifest,
        number: u32,
        beginnings: &[(u64, Hash)],
        place: &mut Vec<u8>,
    ) -> Result<(), Gone> {
        let version = manifest.version(number);
        let is_argument = manifest.parent(number).is_none();
        let opened = open(&manifest.path(number), version, is_argument);
        let mut hash = FileHash::default();
        let opened = opened.and_then(|mut file| {
            if !beginnings.is_empty() {
                hash = common_beginning(&mut file, beginnings).map_err(unreadable)?;
            }
            Ok(file)
        });
        if !beginnings.is_empty() {
            self.out.give(Chunk::GoesOn(hash.length()))?;
        }
        if let Some(entry) = manifest.entry(number, hash.length(), place) {
            self.out.record(&Record::Entry(entry))?;
        }
        let end = match opened {
            Err(text) => FileEnd::Failed(text),
            Ok(mut file) => {
                let end = self.pieces(number, &mut file, &mut hash, version)?;
                match (end, version) {
                    (FileEnd::Whole(whole), Some(version)) => match file.metadata() {
                        Ok(about) if Version::of(&about) == version => FileEnd::Whole(whole),
                        Ok(_) => FileEnd::Failed(CHANGED.into()),
                        Err(error) => FileEnd::Failed(unreadable(error)),
                    },
                    (end, _) => end,
                }
            }
        };
        let whole = self.on_file_end(number, end)?;
        self.close(number, whole)
    }

    /// Reads the rest of a file, after the part covered by `hash`.
    fn pieces(
        &mut self,
        number: u32,
        file: &mut impl Read,
        hash: &mut FileHash,
        version: Option<Version>,
    ) -> Result<FileEnd, Gone> {
        let size = version.map(|version| version.size).filter(|&size| size > 0);
        loop {
            if self.is_given_up(number) {
                return Ok(FileEnd::GivenUp);
            }
            let head = self.out.bytes.len();
            let start = head + HEAD;
            // Read one byte more than the listed size, to notice that the file has grown.
            let left = size.map_or(u64::MAX, |size| size - hash.length() + 1);
            self.out.bytes.resize(start + left.min(PIECE as u64) as usize, 0);
            let read = file.read(self.out.bytes.get_mut(start..).unwrap_or(&mut []));
            let count = *read.as_ref().unwrap_or(&0);
            self.out.bytes.truncate(if count == 0 { head } else { start + count });
            match read {
                Ok(0) if size.is_some_and(|size| hash.length() < size) => {
                    return Ok(FileEnd::Failed(CHANGED.into()));
                }
                Ok(0) => return Ok(FileEnd::Whole(hash.whole())),
                Ok(_) => {
                    let (heads, bytes) = self.out.bytes.split_at_mut(start);
                    hash.update(bytes);
                    if size.is_some_and(|size| hash.length() > size) {
                        self.out.bytes.truncate(head);
                        return Ok(FileEnd::Failed(CHANGED.into()));
                    }
                    if let Some(place) = heads.get_mut(head..) {
                        place.copy_from_slice(&piece_head(number, count));
                    }
                    match size {
                        Some(_) => self.out.flush_if_full()?,
                        // A pipe: send each read at once.
                        None => {
                            self.out.unlisted += count as u64;
                            self.out.flush()?;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(FileEnd::Failed(unreadable(error))),
            }
        }
    }
}

const CHANGED: &str = "it has changed since the transfer began: send it again";

fn unreadable(error: io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Opens a file and checks that it is still the listed version.
fn open(path: &Path, version: Option<Version>, is_argument: bool) -> Result<File, String> {
    let mut options = File::options();
    options.read(true);
    if version.is_some() {
        // Open without blocking, so that a pipe in the file's place does not stop this thread.
        let no_link = if is_argument { OFlag::empty() } else { OFlag::O_NOFOLLOW };
        options.custom_flags((OFlag::O_NONBLOCK | no_link).bits());
    }
    let file = options.open(path).map_err(unreadable)?;
    if let Some(version) = version {
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() || Version::of(&about) != version {
            return Err(CHANGED.into());
        }
    }
    Ok(file)
}

/// Finds the longest of these beginnings that the file also has, and positions the file after it.
/// Returns its hash.
fn common_beginning(file: &mut File, beginnings: &[(u64, Hash)]) -> io::Result<FileHash> {
    let mut sorted = beginnings.to_vec();
    sorted.sort_unstable_by_key(|(length, _)| *length);
    let (mut hash, mut best) = (FileHash::default(), FileHash::default());
    let mut place = vec![0; PIECE];
    for (length, expected) in sorted {
        while hash.length() < length {
            let most = (length - hash.length()).min(PIECE as u64) as usize;
            let read = match file.read(place.get_mut(..most).unwrap_or(&mut [])) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                break;
            }
            hash.update(place.get(..read).unwrap_or(&[]));
        }
        if hash.whole() == (Whole { length, hash: expected }) {
            best = hash.clone();
        }
    }
    file.seek(SeekFrom::Start(best.length()))?;
    Ok(best)
}
