//! Standard output as the target of received files. Its reader may be slow or stop reading; even
//! then a signal ends this program.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use paceline_wire::records::{FileHash, Hash, Transfer};

use super::journal::hex;
use crate::udp::note::Resume;

/// Bytes that a writable pipe takes at once without blocking (PIPE_BUF).
const PIECE: usize = 4096;

const ANOTHER_SENDER: &str = "the receiver writes to standard output, which another sender has: try again when that \
    one has ended, or let the receiver keep files in a folder";
const BROKEN_OFF: &str = "the receiver's standard output ends within a file of another transfer, which broke off: start \
    the receiver anew, or let it keep files in a folder";

/// Text of a failed write in messages.
pub(super) const NOT_WRITTEN: &str = "standard output cannot be written";
const UNWRITABLE: &str =
    "the receiver's standard output cannot be written any more: start the receiver anew";

/// Progress of the transfer that writes to standard output.
#[derive(Clone)]
struct Position {
    id: Hash,
    /// The connection that may write; `None` after it broke off.
    connection: Option<u64>,
    is_resumable: bool,
    /// Number of the next entry.
    entry: u32,
    /// Hash of the bytes of that entry that were written.
    written: FileHash,
}

/// Standard output. It takes one transfer at a time, so that the bytes of two senders never mix.
pub(super) struct Output {
    /// Readable when this program is to end.
    end: OwnedFd,
    position: Mutex<Option<Position>>,
    /// Locked during a write, which lasts as long as the reader takes. It is separate from
    /// `position`, so that other connections are refused meanwhile without waiting.
    writing: Mutex<()>,
    /// Why no byte can be written any more: its reader has closed it, or its disk is full.
    failure: OnceLock<String>,
}

impl Output {
    pub(super) fn new(end: OwnedFd) -> Output {
        Output {
            end,
            position: Mutex::default(),
            writing: Mutex::default(),
            failure: OnceLock::new(),
        }
    }

    /// Returns why no byte can be written any more, once a write has failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    fn position(&self) -> MutexGuard<'_, Option<Position>> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives standard output to a connection. Returns where its transfer continues. A newer
    /// connection of the same resumable transfer takes over from the older one, even if that has
    /// not ended.
    ///
    /// # Errors
    /// Another transfer has standard output, or it cannot be written any more. The text is for the
    /// sender.
    pub(super) fn begin(
        &self,
        connection: u64,
        transfer: &Transfer,
    ) -> Result<Resume, &'static str> {
        if self.failure.get().is_some() {
            return Err(UNWRITABLE);
        }
        let mut position = self.position();
        match &mut *position {
            Some(known) if known.id == transfer.id && known.is_resumable => {
                known.connection = Some(connection);
                drop(position);
                return Ok(self.resume());
            }
            Some(Position { connection: Some(_), .. }) => return Err(ANOTHER_SENDER),
            Some(known) if known.written.length() > 0 => return Err(BROKEN_OFF),
            _ => {}
        }
        *position = Some(Position {
            id: transfer.id,
            connection: Some(connection),
            is_resumable: transfer.resumable,
            entry: 1,
            written: FileHash::default(),
        });
        Ok(Resume { entry: 1, ..Resume::default() })
    }

    /// Waits for the older connection's write, then returns where the transfer continues.
    fn resume(&self) -> Resume {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let position = self.position();
        let Some(Position { entry, written, .. }) = &*position else { return Resume::default() };
        let whole = written.whole();
        let beginning = (whole.length > 0).then(|| (whole.length, hex(&whole.hash)));
        let beginnings = beginning.into_iter().collect();
        Resume { entry: *entry, beginnings, ..Resume::default() }
    }

    /// Releases standard output at the end of a connection. After a part of a file was written,
    /// only the same transfer may continue.
    pub(super) fn end(&self, connection: u64) {
        let mut position = self.position();
        let Some(known) = position.as_mut().filter(|known| known.connection == Some(connection))
        else {
            return;
        };
        known.connection = None;
        let can_go_on = known.is_resumable && known.entry > 1;
        if known.written.length() == 0 && !can_go_on {
            *position = None;
        }
    }

    /// Releases standard output at the end of a transfer.
    pub(super) fn finish(&self, connection: u64) {
        let mut position = self.position();
        position.take_if(|known| known.connection == Some(connection));
    }

    /// Advances past an entry, whether or not it was complete. Its written bytes stay.
    pub(super) fn end_entry(&self, connection: u64, entry: u32) {
        let mut position = self.position();
        if let Some(known) = position.as_mut().filter(|known| known.connection == Some(connection))
        {
            (known.entry, known.written) = (known.entry.max(entry + 1), FileHash::default());
        }
    }

    /// Returns the hash of the written bytes of an entry, if there are exactly `offset` of them.
    pub(super) fn written(&self, entry: u32, offset: u64) -> Option<FileHash> {
        let position = self.position();
        let known = position.as_ref().filter(|known| known.entry <= entry)?;
        let is_here = known.written.length() == offset && (offset == 0 || known.entry == entry);
        is_here.then(|| known.written.clone())
    }

    /// Writes all bytes. Blocks while standard output has no room.
    ///
    /// # Errors
    /// The reader has closed standard output, or this program was asked to end. `None` if a newer
    /// connection has taken over.
    pub(super) fn write(&self, connection: u64, bytes: &[u8]) -> Result<(), Option<io::Error>> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let is_owner = |known: &&Position| known.connection == Some(connection);
            let id = self.position().as_ref().filter(is_owner).map(|known| known.id).ok_or(None)?;
            let count = self.write_some(rest).map_err(Some)?;
            let (written, later) = rest.split_at(count.min(rest.len()));
            if let Some(known) = self.position().as_mut().filter(|known| known.id == id) {
                known.written.update(written);
            }
            rest = later;
        }
        Ok(())
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let out = io::stdout();
        loop {
            let end = PollFd::new(self.end.as_fd(), PollFlags::POLLIN);
            let mut files = [end, PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut files, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if files[0].any() == Some(true) {
                return Err(io::Error::other(
                    "the receiver was asked to end before its standard output was read",
                ));
            }
            match write(&out, bytes.get(..PIECE).unwrap_or(bytes)) {
                Ok(count) => return Ok(count),
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Err(error) => {
                    let error = io::Error::from(error);
                    self.failure.get_or_init(|| format!("{NOT_WRITTEN}: {error}"));
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(id: u8, resumable: bool) -> Transfer {
        Transfer { id: [id; 32], resumable, entries: 3, bytes: None }
    }

    fn output() -> Output {
        Output::new(io::stdin().as_fd().try_clone_to_owned().expect("a descriptor"))
    }

    /// Updates the position as a write of `bytes` would.
    fn note(output: &Output, bytes: &[u8]) {
        output.position().as_mut().expect("a transfer").written.update(bytes);
    }

    #[test]
    fn one_transfer_has_standard_output_until_it_ends() {
        let output = output();
        assert_eq!(output.begin(0, &transfer(1, false)).map(|resume| resume.entry), Ok(1));
        assert_eq!(output.begin(1, &transfer(2, true)), Err(ANOTHER_SENDER));
        output.end(1);
        assert!(output.begin(1, &transfer(2, true)).is_err());
        output.finish(0);
        assert!(output.begin(1, &transfer(2, true)).is_ok());
        // The connection wrote nothing, so another transfer may begin.
        output.end(1);
        assert!(output.begin(3, &transfer(3, true)).is_ok());
    }

    #[test]
    fn a_transfer_goes_on_where_its_bytes_end() {
        let output = output();
        output.begin(0, &transfer(1, true)).expect("it is free");
        output.end_entry(0, 1);
        note(&output, b"abc");
        // The sender reconnects before the old connection has ended.
        let resume = output.begin(1, &transfer(1, true)).expect("it goes on");
        assert_eq!((resume.entry, resume.beginnings[0].0), (2, 3));
        output.end(0);
        assert!(matches!(output.write(0, b"x"), Err(None)));
        assert!(output.written(2, 3).is_some() && output.written(2, 0).is_none());
        output.end(1);
        assert_eq!(output.begin(2, &transfer(2, true)), Err(BROKEN_OFF));
        assert_eq!(output.begin(3, &transfer(1, true)).expect("it goes on").entry, 2);
        // Another transfer may begin between two files.
        output.end_entry(3, 2);
        output.end(3);
        assert!(output.begin(4, &transfer(2, true)).is_ok());
    }

    #[test]
    fn nothing_follows_a_part_of_a_file_that_cannot_go_on() {
        let output = output();
        output.begin(0, &transfer(1, false)).expect("it is free");
        note(&output, b"abc");
        output.end(0);
        assert_eq!(output.begin(1, &transfer(2, true)), Err(BROKEN_OFF));
    }
}
