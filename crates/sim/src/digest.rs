//! A digest of all arrivals of a run, for comparing runs.

use paceline_cc::{Packet, Time};

/// Folds each arrival of a packet at a sender or receiver (time, flow, number, size, ECN) into 64
/// bits. Queues, drops and marks on the way affect what arrives and when.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Digest {
        Digest(0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    pub(crate) fn arrival(&mut self, now: Time, packet: &Packet) {
        // Only the last two steps depend on the previous arrival's hash, so that the others can
        // overlap.
        let place = packet.number() ^ (packet.flow as u64) << 40;
        let kind = (packet.size as u64) << 2 | packet.ecn as u64;
        let what =
            now.as_nanos().wrapping_mul(0xff51_afd7_ed55_8ccd) ^ place.rotate_left(17) ^ kind;
        self.0 = (self.0.rotate_left(29) ^ what).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    }

    /// Returns the digest as 16 hexadecimal digits.
    pub(crate) fn hex(self) -> String {
        let x = self.0 ^ (self.0 >> 32);
        format!("{:016x}", x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29))
    }
}
