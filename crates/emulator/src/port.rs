//! Devices that packets come from and go to.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::uio::writev;
use paceline_os::Tun;

/// A device that hands over and takes one piece at a time, without blocking.
pub trait Port: AsFd {
    /// Returns true if pieces are preceded by the header of [`paceline_ip::offload`].
    fn has_header(&self) -> bool;
    /// Reads a piece, and returns its length.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none; `EBADFD` or an end of file (0 bytes) when
    /// the device has gone.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes a piece given in parts.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`], `ENOBUFS` or `ENOMEM` if it may be taken later.
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;
}

impl<P: Port> Port for &mut P {
    fn has_header(&self) -> bool {
        (**self).has_header()
    }
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read(buffer)
    }
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        (**self).write(parts)
    }
}

impl Port for Tun {
    fn has_header(&self) -> bool {
        Tun::has_header(self)
    }
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Tun::read(self, buffer)
    }
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Tun::write(self, parts)
    }
}

/// One end of a pair of sockets in place of a device, for tests and for programs that make packets
/// themselves. A message is a piece.
#[derive(Debug)]
pub struct SocketPort {
    socket: OwnedFd,
    header: bool,
}

impl SocketPort {
    /// Makes both ends of a pair; neither blocks. `header` as [`Port::has_header`].
    ///
    /// # Errors
    /// What the system refused.
    pub fn pair(header: bool) -> io::Result<(SocketPort, SocketPort)> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let (one, other) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        Ok((SocketPort { socket: one, header }, SocketPort { socket: other, header }))
    }
}

impl AsFd for SocketPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port for SocketPort {
    fn has_header(&self) -> bool {
        self.header
    }
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(nix::unistd::read(&self.socket, buffer)?)
    }
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(writev(&self.socket, parts)?)
    }
}
