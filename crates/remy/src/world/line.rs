//! The packets that are under way: through the buffer, over the link, along the delay behind it; their
//! acknowledgements take no time.

use paceline_cc::Time;

/// The least capacity of a line.
const CAPACITY: usize = 1 << 10;

/// A packet on its way to the receiver.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Packet {
    /// When it arrives, and is acknowledged.
    pub(super) due: Time,
    /// When it was sent.
    pub(super) sent: Time,
    /// Its number among those of its sender.
    pub(super) number: u64,
    /// The number of its sender.
    pub(super) sender: u32,
    /// True if it gets lost behind the link: then nothing happens when it is due.
    pub(super) lost: bool,
}

/// A line of packets in the order of their arrival, in a ring whose size is a power of two.
#[derive(Clone)]
pub(super) struct Line {
    ring: Vec<Packet>,
    /// How many packets have left, and how many have entered.
    head: usize,
    tail: usize,
    /// When the first packet is due; [`Time::NEVER`] if there is none.
    due: Time,
}

impl Line {
    /// An empty line.
    pub(super) fn new() -> Line {
        Line { ring: vec![Packet::default(); CAPACITY], head: 0, tail: 0, due: Time::NEVER }
    }

    /// When the first packet is due; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// A packet enters, which is not due before those that are there.
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

    /// The first packet leaves. The line must not be empty.
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

    /// The packets, the last that entered first.
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
