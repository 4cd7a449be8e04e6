//! Netlink: messages to the kernel and its answers.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    socket,
};

/// `struct nlmsghdr`: length, type, flags, number, port.
const HEADER: usize = 16;

/// A request in the making: a header and attributes, which may nest.
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Creates a message of a type, with `NLM_F_REQUEST` and the given flags, and its fixed part.
    pub(crate) fn new(kind: u16, flags: i32, fixed: &[u8]) -> Message {
        let mut bytes = vec![0; HEADER];
        let flags = (flags | libc::NLM_F_REQUEST) as u16;
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        let mut message = Message { bytes };
        message.pad();
        message
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Adds an attribute.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Message {
        self.bytes.extend_from_slice(&((value.len() + 4) as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad();
        self
    }

    /// Adds a string with its final zero.
    pub(crate) fn text(&mut self, kind: u16, value: &str) -> &mut Message {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds a number in the machine's byte order.
    pub(crate) fn number(&mut self, kind: u16, value: u32) -> &mut Message {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds a number in network byte order.
    pub(crate) fn network_number(&mut self, kind: u16, value: u32) -> &mut Message {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// Adds an attribute that holds others.
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Message)) -> &mut Message {
        let start = self.bytes.len();
        self.attribute(kind | libc::NLA_F_NESTED as u16, &[]);
        fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    fn finish(mut self, number: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        self.bytes
    }
}

/// One answer: its type, and the bytes after its header.
pub(crate) struct Answer<'a> {
    pub(crate) kind: u16,
    pub(crate) number: u32,
    pub(crate) body: &'a [u8],
}

/// A netlink socket in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    number: u32,
}

impl Netlink {
    /// Opens a socket of a protocol.
    pub(crate) fn open(protocol: SockProtocol) -> io::Result<Netlink> {
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Netlink { socket, number: 0 })
    }

    /// Sends a request and waits until the kernel has done it.
    pub(crate) fn request(&mut self, message: Message) -> io::Result<()> {
        self.batch(vec![message], 1)
    }

    /// Sends several messages at once, and waits until the kernel has acknowledged `acknowledged` of them.
    pub(crate) fn batch(&mut self, messages: Vec<Message>, acknowledged: usize) -> io::Result<()> {
        self.send(messages)?;
        let mut left = acknowledged;
        while left > 0 {
            self.receive(|answer| {
                if i32::from(answer.kind) == libc::NLMSG_ERROR {
                    failure(answer.body)?;
                    left = left.saturating_sub(1);
                }
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// Asks for a list; `each` sees every entry.
    pub(crate) fn dump(
        &mut self,
        message: Message,
        mut each: impl FnMut(&Answer<'_>),
    ) -> io::Result<()> {
        self.send(vec![message])?;
        let number = self.number;
        let mut more = true;
        while more {
            more = self.receive(|answer| {
                match i32::from(answer.kind) {
                    _ if answer.number != number => {}
                    libc::NLMSG_DONE => return Ok(false),
                    libc::NLMSG_ERROR => failure(answer.body)?,
                    _ => each(answer),
                }
                Ok(true)
            })?;
        }
        Ok(())
    }

    fn send(&mut self, messages: Vec<Message>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for message in messages {
            self.number = self.number.wrapping_add(1);
            bytes.extend(message.finish(self.number));
        }
        sendto(self.socket.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(())
    }

    /// Reads one datagram of answers until `each` returns false. Returns the last value of `each`.
    fn receive(&self, mut each: impl FnMut(&Answer<'_>) -> io::Result<bool>) -> io::Result<bool> {
        let mut buffer = vec![0; 1 << 16];
        let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = buffer.get(..length).unwrap_or(&[]);
        while let Some(header) = rest.get(..HEADER) {
            let size = u32_at(header, 0) as usize;
            let Some(body) = rest.get(HEADER..size) else { break };
            let answer = Answer { kind: u16_at(header, 4), number: u32_at(header, 8), body };
            if !each(&answer)? {
                return Ok(false);
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
        }
        Ok(true)
    }
}

/// Returns the error in the body of an NLMSG_ERROR message; the error 0 is an acknowledgement.
fn failure(body: &[u8]) -> io::Result<()> {
    match u32_at(body, 0) as i32 {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(-number)),
    }
}

/// Returns the attributes after the fixed part of a message.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header = rest.get(..4)?;
        let size = usize::from(u16_at(header, 0));
        let value = rest.get(4..size)?;
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
        Some((u16_at(header, 2) & libc::NLA_TYPE_MASK as u16, value))
    })
}

/// Returns the 32 bits at `at` in the machine's byte order; 0 behind the end.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// Returns the 16 bits at `at` in the machine's byte order; 0 behind the end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_nest_and_are_padded() {
        let mut message = Message::new(5, 0, &[1, 2]);
        message.text(1, "ab").nest(2, |inner| {
            inner.network_number(3, 7);
        });
        let bytes = message.finish(9);
        assert_eq!(u32_at(&bytes, 0) as usize, bytes.len());
        assert_eq!((u16_at(&bytes, 4), u32_at(&bytes, 8)), (5, 9));
        let found: Vec<_> = attributes(&bytes[20..]).collect();
        assert_eq!(found[0], (1, &b"ab\0"[..]));
        assert_eq!(found[1].0, 2);
        assert_eq!(attributes(found[1].1).collect::<Vec<_>>(), [(3, &[0, 0, 0, 7][..])]);
    }

    #[test]
    fn answers_that_contradict_themselves_end_the_list() {
        for bytes in [&[][..], &[9], &[0, 0, 1, 0], &[200, 0, 1, 0, 5], &[3, 0, 1, 0, 5, 5]] {
            assert_eq!(attributes(bytes).count(), 0, "{bytes:?}");
        }
        assert_eq!(attributes(&[5, 0, 1, 0, 77]).collect::<Vec<_>>(), [(1, &[77][..])]);
    }
}
