//! Outgoing packets, gathered into groups that the kernel takes in one call.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;

use paceline_cc::Ecn;
use paceline_os::udp::{MOST_BYTES, SendOutcome, Socket};
use paceline_wire::Transmit;

use super::clock::wait_for_room;

/// Maximum length of a packet in bytes.
const LONGEST: usize = 65_535;
/// How often a group is tried again while the socket's buffer is full.
const TRIES: u32 = 3;

/// A group of packets that is being gathered.
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    length: usize,
    /// Destination, ECN mark and packet size of the group.
    group: Option<(SocketAddr, Ecn, usize)>,
    /// Local source address of the packets; `None` leaves it to the routes.
    source: Option<IpAddr>,
    /// True if a packet was larger than the path's MTU.
    too_large: bool,
    /// Error number of the last packet that the system could not send.
    lost: Option<i32>,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        Outbox {
            bytes: vec![0; MOST_BYTES + LONGEST],
            length: 0,
            group: None,
            source: None,
            too_large: false,
            lost: None,
        }
    }

    /// Returns true if a packet was larger than the path's MTU since the last call.
    pub(crate) fn was_too_large(&mut self) -> bool {
        std::mem::take(&mut self.too_large)
    }

    /// Returns the error number if the system could not send a packet since the last call: there is
    /// no route, or a firewall dropped it.
    pub(crate) fn take_lost(&mut self) -> Option<i32> {
        self.lost.take()
    }

    /// Sets the local source address of the following packets.
    pub(crate) fn leave_from(&mut self, source: Option<IpAddr>) {
        self.source = source;
    }

    /// Sends the packets that `next` writes, until it returns `None` or `most` packets were sent.
    /// Returns their number.
    pub(crate) fn send(
        &mut self,
        socket: &mut Socket,
        most: usize,
        mut next: impl FnMut(&mut [u8]) -> Option<Transmit>,
    ) -> usize {
        let limit = socket.group();
        let (mut count, mut in_group) = (0, 0);
        while count < most {
            let Some(place) = self.bytes.get_mut(self.length..) else { break };
            let Some(Transmit { to, length, ecn, .. }) = next(place) else { break };
            count += 1;
            let fits = self.group.is_some_and(|(address, mark, size)| {
                let together = (address, mark) == (to, ecn) && length <= size;
                together && in_group < limit && self.length + length <= MOST_BYTES
            });
            if !fits {
                let at = self.length;
                self.flush(socket);
                self.bytes.copy_within(at..at + length, 0);
                (self.group, in_group) = (Some((to, ecn, length)), 0);
            }
            self.length += length;
            in_group += 1;
            // Only the last packet of a group may be shorter.
            if self.group.is_some_and(|(_, _, size)| length < size) {
                self.flush(socket);
            }
        }
        self.flush(socket);
        count
    }

    /// Sends one packet. Returns true if the system has sent it.
    pub(crate) fn send_one(&mut self, socket: &mut Socket, to: SocketAddr, bytes: &[u8]) -> bool {
        let Some(place) = self.bytes.get_mut(..bytes.len()) else { return false };
        place.copy_from_slice(bytes);
        (self.group, self.length) = (Some((to, Ecn::NotEct, bytes.len())), bytes.len());
        self.flush(socket)
    }

    /// Sends the group. Returns true if the system has sent all of it.
    fn flush(&mut self, socket: &mut Socket) -> bool {
        let Some((to, ecn, size)) = self.group.take() else { return true };
        let mut is_sent = false;
        let bytes = self.bytes.get(..self.length).unwrap_or(&[]);
        for _ in 0..TRIES {
            match socket.send_from(self.source, to, ecn as u8, bytes, size) {
                SendOutcome::Full => wait_for_room(socket.as_fd()),
                SendOutcome::TooLarge => {
                    self.too_large = true;
                    break;
                }
                SendOutcome::Lost(error) => {
                    self.lost = Some(error);
                    break;
                }
                SendOutcome::All => {
                    is_sent = true;
                    break;
                }
            }
        }
        self.length = 0;
        is_sent
    }
}
