//! A file that a thread of its own writes, so that a slow disk does not delay packets.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;

/// Bytes that the thread gets at once.
const CHUNK: usize = 256 << 10;
/// The most chunks that wait for the disk: 16 MB. Beyond, the emulator waits, and the run is late.
const WAITING: usize = 64;

/// A file that is being written. After the first error, later writes are discarded.
#[derive(Debug)]
pub(super) struct Sink {
    path: PathBuf,
    chunk: Vec<u8>,
    state: SinkState,
}

#[derive(Debug)]
enum SinkState {
    /// No thread yet: one that is started before the program is forked would not exist in it.
    New(File),
    Writing {
        full: SyncSender<Vec<u8>>,
        empty: Receiver<Vec<u8>>,
        thread: JoinHandle<io::Result<()>>,
    },
    Closed,
}

impl Sink {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn create(path: &Path) -> io::Result<Sink> {
        let state = SinkState::New(File::create(path)?);
        Ok(Sink { path: path.into(), chunk: Vec::with_capacity(CHUNK + CHUNK / 4), state })
    }

    /// Returns the file's name.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the buffer to which a record is appended. [`Sink::end_record`] follows.
    #[inline]
    pub(super) fn record(&mut self) -> &mut Vec<u8> {
        &mut self.chunk
    }

    /// Ends a record, and gives a full chunk to the thread.
    ///
    /// # Errors
    /// An earlier write has failed; the error is returned once.
    #[inline]
    pub(super) fn end_record(&mut self) -> io::Result<()> {
        if self.chunk.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    /// Gives the chunk that there is to the thread.
    ///
    /// # Errors
    /// An earlier write has failed; the error is returned once.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        if let SinkState::New(_) = self.state {
            self.start()?;
        }
        let SinkState::Writing { full, empty, .. } = &self.state else {
            self.chunk.clear();
            return Ok(());
        };
        let next = match empty.try_recv() {
            Ok(chunk) => chunk,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                Vec::with_capacity(CHUNK + CHUNK / 4)
            }
        };
        let chunk = std::mem::replace(&mut self.chunk, next);
        if full.send(chunk).is_err() { self.close() } else { Ok(()) }
    }

    fn start(&mut self) -> io::Result<()> {
        let SinkState::New(file) = std::mem::replace(&mut self.state, SinkState::Closed) else {
            return Ok(());
        };
        let (full, chunks) = sync_channel(WAITING);
        let (done, empty) = channel();
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || write_all(file, &chunks, &done))?;
        self.state = SinkState::Writing { full, empty, thread };
        Ok(())
    }

    /// Writes the rest and waits until it is written.
    ///
    /// # Errors
    /// A write has failed, and its error was not returned before.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, SinkState::Closed) {
            SinkState::Writing { full, empty, thread } => {
                drop((full, empty));
                thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer has died")))
            }
            SinkState::New(_) | SinkState::Closed => Ok(()),
        }
    }
}

fn write_all(
    mut file: File,
    chunks: &Receiver<Vec<u8>>,
    done: &std::sync::mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    for mut chunk in chunks {
        file.write_all(&chunk)?;
        chunk.clear();
        // At the end the receiver may have gone.
        let _ = done.send(chunk);
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_one_error() {
        let mut sink = Sink::create(Path::new("/dev/full")).expect("can be opened");
        let mut errors = Vec::new();
        for _ in 0..40_000 {
            sink.record().extend_from_slice(&[b'x'; 100]);
            errors.extend(sink.end_record().err());
        }
        errors.extend(sink.finish().err());
        errors.extend(sink.finish().err());
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn everything_arrives_in_order() {
        let path = std::env::temp_dir().join(format!("paceline-sink-{}", std::process::id()));
        let mut sink = Sink::create(&path).expect("can be made");
        let mut wanted = Vec::new();
        for i in 0..100_000u32 {
            sink.record().extend_from_slice(&i.to_le_bytes());
            wanted.extend_from_slice(&i.to_le_bytes());
            sink.end_record().expect("room");
        }
        sink.finish().expect("room");
        let found = std::fs::read(&path).expect("readable");
        std::fs::remove_file(&path).expect("removable");
        assert!(found == wanted);
    }
}
