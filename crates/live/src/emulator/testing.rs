//! Packets, a clock and a device for tests.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use paceline_cc::{Ecn, Time};

use super::clock::Clock;
use super::packet::{TCP, UDP, fold, sum};
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

/// What a packet shall be like.
#[derive(Copy, Clone)]
pub(super) struct PacketSpec {
    pub(super) ipv4: bool,
    pub(super) protocol: u8,
    pub(super) ecn: Ecn,
    pub(super) id: u16,
    pub(super) port: u16,
    pub(super) sequence: u32,
    pub(super) flags: u8,
}

impl PacketSpec {
    pub(super) const UDP4: PacketSpec = PacketSpec {
        ipv4: true,
        protocol: UDP,
        ecn: Ecn::NotEct,
        id: 7,
        port: 1000,
        sequence: 0,
        flags: 0,
    };

    fn transport(&self) -> usize {
        if self.ipv4 { 20 } else { 40 }
    }

    /// Bytes of all headers.
    pub(super) fn headers(&self) -> usize {
        // TCP with an option of 12 bytes.
        self.transport() + if self.protocol == TCP { 32 } else { 8 }
    }

    fn place(&self) -> usize {
        self.transport() + if self.protocol == TCP { 16 } else { 6 }
    }

    /// The packet with this payload; its transport checksum covers pseudo header alone if
    /// `partial`.
    pub(super) fn build(&self, payload: &[u8], partial: bool) -> Vec<u8> {
        let transport = self.transport();
        let mut p = vec![0; self.headers()];
        p.extend_from_slice(payload);
        let size = p.len();
        let addresses = if self.ipv4 {
            p[0] = 0x45;
            p[1] = 0xb8 | self.ecn as u8;
            p[2..4].copy_from_slice(&(size as u16).to_be_bytes());
            p[4..6].copy_from_slice(&self.id.to_be_bytes());
            p[8] = 64;
            p[9] = self.protocol;
            p[12..20].copy_from_slice(&[10, 0, 0, 1, 192, 168, 7, 9]);
            let checksum = !fold(sum(&p[..20]));
            p[10..12].copy_from_slice(&checksum.to_be_bytes());
            12..20
        } else {
            p[0] = 0x6b;
            p[1] = 0x85 | (self.ecn as u8) << 4;
            p[4..6].copy_from_slice(&((size - 40) as u16).to_be_bytes());
            p[6] = self.protocol;
            p[7] = 64;
            (8..40).for_each(|i| p[i] = (i * 7) as u8);
            8..40
        };
        let t = &mut p[transport..];
        t[..2].copy_from_slice(&self.port.to_be_bytes());
        t[2..4].copy_from_slice(&5201_u16.to_be_bytes());
        let length = (size - transport) as u16;
        if self.protocol == TCP {
            t[4..8].copy_from_slice(&self.sequence.to_be_bytes());
            t[12] = 8 << 4;
            t[13] = self.flags;
        } else {
            t[4..6].copy_from_slice(&length.to_be_bytes());
        }
        let pseudo = sum(&p[addresses]) + u64::from(self.protocol) + u64::from(length);
        let checksum = match partial {
            true => fold(pseudo),
            false => !fold(pseudo + sum(&p[transport..])),
        };
        let place = self.place();
        p[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
        p
    }

    /// The device's header and a piece that stands for segments of `step` payload bytes.
    pub(super) fn piece(&self, payload: &[u8], step: u16) -> Vec<u8> {
        let kind = match (self.protocol, self.ipv4) {
            _ if step == 0 => 0,
            (UDP, _) => 5,
            (_, true) => 1,
            (_, false) => 4,
        };
        let kind = kind | if self.flags & 0x80 != 0 && kind != 0 { 0x80 } else { 0 };
        let start = self.transport() as u16;
        let offset = self.place() as u16 - start;
        let mut piece = vec![1, kind];
        for word in [self.headers() as u16, step, start, offset] {
            piece.extend_from_slice(&word.to_ne_bytes());
        }
        piece.extend_from_slice(&self.build(payload, true));
        piece
    }
}

/// True if the IPv4 header's checksum is right.
pub(super) fn header_is_right(packet: &[u8]) -> bool {
    fold(sum(&packet[..20])) == 0xffff
}
