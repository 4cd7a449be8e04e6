//! What a server counts.

/// Counters of a server.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Datagrams that nothing was done about: forged, replayed, cut, or somebody else's.
    pub ignored: u64,
    /// Requests for a cookie that were sent.
    pub retries: u64,
    /// Handshakes that were answered.
    pub accepted: u64,
    /// Handshakes that were refused in words.
    pub refused: u64,
    /// Good handshakes without an answer, for want of room.
    pub crowded: u64,
}

impl core::iter::Sum for ServerStats {
    fn sum<I: Iterator<Item = ServerStats>>(all: I) -> ServerStats {
        all.fold(ServerStats::default(), |sum, stats| ServerStats {
            ignored: sum.ignored + stats.ignored,
            retries: sum.retries + stats.retries,
            accepted: sum.accepted + stats.accepted,
            refused: sum.refused + stats.refused,
            crowded: sum.crowded + stats.crowded,
        })
    }
}
