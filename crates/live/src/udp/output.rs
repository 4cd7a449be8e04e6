//! Standard output as the place of what arrives. Who reads it may be slow or stand still; signals that ask this
//! program to end do so all the same.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// A pipe that can be written to takes so many bytes at once (PIPE_BUF).
const PIECE: usize = 4096;

/// The connection whose files go to standard output: one at a time, so that two senders' bytes are never mixed. All
/// loops of a server share it.
#[derive(Debug, Default)]
pub(super) struct OutputOwner(AtomicU64);

impl OutputOwner {
    /// A connection's number here; 0 is free.
    fn number(connection: u32) -> u64 {
        u64::from(connection) + 1
    }

    /// Gives standard output to this connection, if no other has it. True if it has it now.
    pub(super) fn take(&self, connection: u32) -> bool {
        let number = OutputOwner::number(connection);
        match self.0.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(owner) => owner == number,
        }
    }

    /// The connection is over: the next one may have standard output.
    pub(super) fn release(&self, connection: u32) {
        let number = OutputOwner::number(connection);
        let _ = self.0.compare_exchange(number, 0, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Standard output, and what ends the wait for those who read it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Output<'a> {
    /// Files that are readable once this program is to end.
    pub(super) ends: [BorrowedFd<'a>; 2],
    /// Who may write.
    pub(super) owner: &'a OutputOwner,
}

impl Output<'_> {
    /// Writes all bytes, as soon as there is room for them.
    ///
    /// # Errors
    /// Nobody reads any more, or this program was asked to end meanwhile.
    pub(super) fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let out = io::stdout();
        while !bytes.is_empty() {
            let end = |file| PollFd::new(file, PollFlags::POLLIN);
            let [one, other] = self.ends.map(end);
            let mut files = [one, other, PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut files, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [one, other, _] = files.each_ref().map(|file| file.any() == Some(true));
            if one || other {
                return Err(io::Error::other("the receiver was asked to end before it was read"));
            }
            match write(&out, bytes.get(..PIECE).unwrap_or(bytes)) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or(&[]),
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_has_standard_output_until_it_ends() {
        let owner = OutputOwner::default();
        assert!(owner.take(0) && owner.take(0) && !owner.take(u32::MAX));
        owner.release(u32::MAX);
        assert!(!owner.take(7));
        owner.release(0);
        assert!(owner.take(u32::MAX) && !owner.take(0));
    }
}
