//! The packets under way: through the buffer, over the link, along the delay after it. Their
//! acknowledgements take no time.

use paceline_cc::Time;

/// Initial capacity of a line.
const CAPACITY: usize = 1 << 10;

/// A packet on its way to the receiver.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Packet {
    /// When it arrives and is acknowledged.
    pub(super) due: Time,
    /// When it was sent.
    pub(super) sent: Time,
    /// Its sequence number at its sender.
    pub(super) number: u64,
    /// The number of its sender.
    pub(super) sender: u32,
    /// True if it is lost after the link: then nothing happens at `due`.
    pub(super) lost: bool,
}

/// A queue of packets in the order of their arrival, in a ring whose size is a power of two.
#[derive(Clone)]
pub(super) struct Line {
    ring: Vec<Packet>,
    /// Number of packets that have left, and number that have entered.
    head: usize,
    tail: usize,
    /// When the first packet arrives; [`Time::NEVER`] if there is none.
    due: Time,
}

impl Line {
    /// Creates an empty line.
    pub(super) fn new() -> Line {
        Line { ring: vec![Packet::default(); CAPACITY], head: 0, tail: 0, due: Time::NEVER }
    }

    /// Returns when the first packet arrives; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Appends a packet. It must not arrive before those in the line.
    #[inline(always)]
    pub(super) fn push(&mut self, packet: Packet) {
        if self.tail - self.head == self.ring.len() {
            self.grow();
        }
        if self.head == self.tail {
            self.due = packet.due;
        }
        let mask = self.ring.len() - 1;
        self.ring[self.tail & mask] = packet;
        self.tail += 1;
    }

    /// Removes the first packet. The line must not be empty.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Packet {
        let mask = self.ring.len() - 1;
        let packet = self.ring[self.head & mask];
        self.head += 1;
        self.due = match self.head == self.tail {
            true => Time::NEVER,
            false => self.ring[self.head & mask].due,
        };
        packet
    }

    /// Iterates over the packets, the one that entered last first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &Packet> {
        let mask = self.ring.len() - 1;
        (self.head..self.tail).rev().map(move |at| &self.ring[at & mask])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mask = self.ring.len() - 1;
        let mut ring = vec![Packet::default(); 2 * self.ring.len()];
        let length = self.tail - self.head;
        for (to, from) in ring.iter_mut().zip(self.head..self.tail) {
            *to = self.ring[from & mask];
        }
        (self.ring, self.head, self.tail) = (ring, 0, length);
    }
}
