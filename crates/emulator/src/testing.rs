//! A clock and a device for tests.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use paceline_cc::Time;

use super::clock::Clock;
use super::port::Port;

/// A clock that stands where it was put.
pub(super) struct FixedClock(pub(super) Cell<Time>);

impl Clock for FixedClock {
    fn now(&self) -> Time {
        self.0.get()
    }
}

/// A device with lists of packets.
pub(super) struct ListDevice {
    pub(super) header: bool,
    pub(super) incoming: VecDeque<Vec<u8>>,
    pub(super) written: Vec<Vec<u8>>,
    /// Errors to be returned by the next writes.
    pub(super) errors: VecDeque<i32>,
    file: File,
}

impl ListDevice {
    pub(super) fn new(header: bool) -> ListDevice {
        ListDevice {
            header,
            incoming: VecDeque::new(),
            written: Vec::new(),
            errors: VecDeque::new(),
            file: File::open("/dev/null").expect("a file"),
        }
    }
}

impl AsFd for ListDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Port for ListDevice {
    fn has_header(&self) -> bool {
        self.header
    }
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.incoming.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(error) = self.errors.pop_front() {
            return Err(io::Error::from_raw_os_error(error));
        }
        self.written.push(parts.iter().flat_map(|part| part.iter().copied()).collect());
        Ok(1)
    }
}
