//! What a client sends.

use std::fs::File;
use std::io::{self, Read, Stdin};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;

use paceline_wire::Connection;
use paceline_wire::records::Packer;

use crate::LiveError;

/// How much is read at once.
const PIECE: usize = 256 << 10;

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Input,
    /// Nothing but packets, as the workload makes them.
    Packets,
}

enum OpenSource {
    File(File),
    Input(Stdin),
}

/// A source that is being read.
pub(super) struct SourceReader {
    open: OpenSource,
    packer: Option<Packer>,
    place: Vec<u8>,
    /// Records that the connection has no room for yet, from `at` on.
    waiting: Vec<u8>,
    at: usize,
    /// Bytes of the source so far.
    pub(super) bytes: u64,
}

impl SourceReader {
    /// Opens a source; `None` if there is nothing to read.
    pub(super) fn open(source: &Source) -> Result<Option<SourceReader>, LiveError> {
        let mut waiting = Vec::new();
        let (open, packer) = match source {
            Source::Packets => return Ok(None),
            Source::Input => {
                (OpenSource::Input(io::stdin()), Packer::new(1, "input", None, &mut waiting))
            }
            Source::File(path) => {
                let text = path.display().to_string();
                let file = File::open(path).map_err(LiveError::system(text.clone()))?;
                let about = file.metadata().map_err(LiveError::system(text.clone()))?;
                if about.is_dir() {
                    return Err(LiveError::Message(format!("{text} is a folder; name a file")));
                }
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let size = about.is_file().then_some(about.len());
                (OpenSource::File(file), Packer::new(1, &name, size, &mut waiting))
            }
        };
        let place = vec![0; PIECE];
        Ok(Some(SourceReader { open, packer: Some(packer), place, waiting, at: 0, bytes: 0 }))
    }

    /// True once all of it has been handed to the connection.
    pub(super) fn is_done(&self) -> bool {
        self.packer.is_none() && self.at == self.waiting.len()
    }

    /// The file to wait for before the next [`SourceReader::pump`], if it is one that one waits for.
    pub(super) fn awaited(&self) -> Option<BorrowedFd<'_>> {
        let hungry = self.packer.is_some() && self.at == self.waiting.len();
        match &self.open {
            OpenSource::Input(input) if hungry => Some(input.as_fd()),
            _ => None,
        }
    }

    /// Moves bytes from the source to the connection, as many as it takes. `ready` says that
    /// standard input can be read without waiting.
    pub(super) fn pump(&mut self, to: &mut Connection, ready: bool) -> Result<(), LiveError> {
        let mut ready = ready || matches!(self.open, OpenSource::File(_));
        loop {
            let left = self.waiting.get(self.at..).unwrap_or(&[]);
            self.at += to.write(left);
            if self.at < self.waiting.len() || self.packer.is_none() {
                return Ok(());
            }
            if !ready || to.room() < PIECE {
                return Ok(());
            }
            self.waiting.clear();
            self.at = 0;
            let read = match &mut self.open {
                OpenSource::File(file) => file.read(&mut self.place),
                OpenSource::Input(input) => input.lock().read(&mut self.place),
            };
            match read {
                Ok(0) => {
                    if let Some(packer) = self.packer.take() {
                        packer.finish(&mut self.waiting);
                    }
                }
                Ok(count) => {
                    self.bytes += count as u64;
                    let bytes = self.place.get(..count).unwrap_or(&[]);
                    if let Some(packer) = &mut self.packer {
                        packer.piece(bytes, &mut self.waiting);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(LiveError::system("reading what is to be sent")(error)),
            }
            ready = matches!(self.open, OpenSource::File(_));
        }
    }
}
