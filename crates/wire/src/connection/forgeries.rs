//! Limits the number of inauthentic packets of a connection.

/// Largest number of inauthentic packets. RFC 9001 §6.6 has 2^36 for ChaCha20-Poly1305 and 2^52 for
/// AES-GCM: beyond that, a forged packet might pass by chance. A change of keys does not reset the
/// count.
const MOST: u64 = 1 << 36;

/// Number of packets addressed to a connection that were not authentic.
#[derive(Debug, Default)]
pub(super) struct Forgeries(u64);

impl Forgeries {
    /// Counts one more; returns true once there are too many.
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
