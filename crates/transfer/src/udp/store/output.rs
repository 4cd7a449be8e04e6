//! Standard output as the place of what arrives. Who reads it may be slow or stand still; signals that ask this
//! program to end do so all the same.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use paceline_wire::records::{FileHash, Hash, Transfer};

use super::journal::hex;
use crate::udp::note::Resume;

/// A pipe that can be written to takes so many bytes at once (PIPE_BUF).
const PIECE: usize = 4096;

const ANOTHER_SENDER: &str = "the receiver writes to standard output, which another sender has: try again when that \
    one has ended, or let the receiver keep files in a folder";
const BROKEN_OFF: &str = "the receiver's standard output ends within a file of another transfer, which broke off: start \
    the receiver anew, or let it keep files in a folder";

/// How far the transfer is that goes to standard output.
#[derive(Clone)]
struct Position {
    id: Hash,
    /// The connection that may write; `None` if it has broken off.
    connection: Option<u64>,
    is_resumable: bool,
    /// The next entry.
    entry: u32,
    /// What of that entry was written.
    written: FileHash,
}

/// Standard output: one transfer at a time, so that two senders' bytes are never mixed.
pub(super) struct Output {
    /// Readable once this program is to end.
    end: OwnedFd,
    position: Mutex<Option<Position>>,
    /// Held while a piece is written, which takes as long as the reader takes: not together with `position`, so that
    /// others are refused meanwhile.
    writing: Mutex<()>,
}

impl Output {
    pub(super) fn new(end: OwnedFd) -> Output {
        Output { end, position: Mutex::default(), writing: Mutex::default() }
    }

    fn position(&self) -> MutexGuard<'_, Option<Position>> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives standard output to a connection. Returns from where its transfer is to go on. A transfer that comes over a
    /// newer connection goes on there, also while the older one is not over.
    ///
    /// # Errors
    /// Another transfer has it. The text is for the sender.
    pub(super) fn begin(
        &self,
        connection: u64,
        transfer: &Transfer,
    ) -> Result<Resume, &'static str> {
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

    /// From where the transfer goes on, when what the older connection writes has been written.
    fn resume(&self) -> Resume {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let position = self.position();
        let Some(Position { entry, written, .. }) = &*position else { return Resume::default() };
        let whole = written.whole();
        let beginning = (whole.length > 0).then(|| (whole.length, hex(&whole.hash)));
        let beginnings = beginning.into_iter().collect();
        Resume { entry: *entry, beginnings, ..Resume::default() }
    }

    /// A connection is over. What was written of a file stays: only its own transfer can go on then.
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

    /// The transfer is over: the next one may have standard output.
    pub(super) fn finish(&self, connection: u64) {
        let mut position = self.position();
        position.take_if(|known| known.connection == Some(connection));
    }

    /// The entry has ended, whole or not; bytes of it that were written stay.
    pub(super) fn end_entry(&self, connection: u64, entry: u32) {
        let mut position = self.position();
        if let Some(known) = position.as_mut().filter(|known| known.connection == Some(connection))
        {
            (known.entry, known.written) = (known.entry.max(entry + 1), FileHash::default());
        }
    }

    /// Returns the hash of what was written of an entry, if that ends at `offset`.
    pub(super) fn written(&self, entry: u32, offset: u64) -> Option<FileHash> {
        let position = self.position();
        let known = position.as_ref().filter(|known| known.entry <= entry)?;
        let is_here = known.written.length() == offset && (offset == 0 || known.entry == entry);
        is_here.then(|| known.written.clone())
    }

    /// Writes all bytes, as soon as there is room for them.
    ///
    /// # Errors
    /// Nobody reads any more, this program was asked to end meanwhile, or a newer connection has taken over (`None`).
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
                return Err(io::Error::other("the receiver was asked to end before it was read"));
            }
            match write(&out, bytes.get(..PIECE).unwrap_or(bytes)) {
                Ok(count) => return Ok(count),
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Err(error) => return Err(error.into()),
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

    /// Notes bytes as if they had been written.
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
        // Nothing was written: another one may follow.
        output.end(1);
        assert!(output.begin(3, &transfer(3, true)).is_ok());
    }

    #[test]
    fn a_transfer_goes_on_where_its_bytes_end() {
        let output = output();
        output.begin(0, &transfer(1, true)).expect("it is free");
        output.end_entry(0, 1);
        note(&output, b"abc");
        // The sender is back before the old connection is over.
        let resume = output.begin(1, &transfer(1, true)).expect("it goes on");
        assert_eq!((resume.entry, resume.beginnings[0].0), (2, 3));
        output.end(0);
        assert!(matches!(output.write(0, b"x"), Err(None)));
        assert!(output.written(2, 3).is_some() && output.written(2, 0).is_none());
        output.end(1);
        assert_eq!(output.begin(2, &transfer(2, true)), Err(BROKEN_OFF));
        assert_eq!(output.begin(3, &transfer(1, true)).expect("it goes on").entry, 2);
        // Between two files another transfer may follow.
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
