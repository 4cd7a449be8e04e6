//! How many packets may fail to be authentic before a connection ends.

/// The most packets that may fail under one key. RFC 9001 §6.6 has 2^36 for ChaCha20-Poly1305 and 2^52 for
/// AES-GCM: beyond that, chance alone might let a forged one pass. Those under keys that were replaced count on.
const MOST: u64 = 1 << 36;

/// The packets of a connection that were addressed to it and not authentic.
#[derive(Debug, Default)]
pub(super) struct Forgeries(u64);

impl Forgeries {
    /// Counts one more; true once there are too many.
    #[cold]
    pub(super) fn count(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 > MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_quic() {
        let mut forgeries = Forgeries((1 << 36) - 2);
        assert_eq!([(); 4].map(|()| forgeries.count()), [false, false, true, true]);
    }
}
