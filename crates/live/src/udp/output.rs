//! Standard output as the place of what arrives. Who reads it may be slow or stand still; signals that ask this
//! program to end do so all the same.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// A pipe that can be written to takes so many bytes at once (PIPE_BUF).
const PIECE: usize = 4096;

/// Standard output, and what ends the wait for those who read it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Output<'a> {
    /// Files that are readable once this program is to end.
    pub(super) ends: [BorrowedFd<'a>; 2],
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
