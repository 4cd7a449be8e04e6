//! A digest of everything that happened, to compare runs by.

use paceline_cc::{Packet, Time};

/// Folds each arrival of a packet at a sender or receiver (time, flow, number, size, ECN) into 64
/// bits. What happens on the way (queues, drops, marks) shows in what arrives and when.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Digest {
        Digest(0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    pub(crate) fn arrival(&mut self, now: Time, packet: &Packet) {
        // Only the last two steps wait for the arrival before.
        let place = packet.number() ^ (packet.flow as u64) << 40;
        let kind = (packet.size as u64) << 2 | packet.ecn as u64;
        let what =
            now.as_nanos().wrapping_mul(0xff51_afd7_ed55_8ccd) ^ place.rotate_left(17) ^ kind;
        self.0 = (self.0.rotate_left(29) ^ what).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    }

    /// The digest as 16 hexadecimal digits.
    pub(crate) fn hex(self) -> String {
        let x = self.0 ^ (self.0 >> 32);
        format!("{:016x}", x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29))
    }
}
