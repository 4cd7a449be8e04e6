//! The counters of a server.

/// Counters of a server.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Datagrams ignored: forged, replayed, truncated or foreign.
    pub ignored: u64,
    /// Retries sent, which ask for a cookie.
    pub retries: u64,
    /// Handshakes accepted.
    pub accepted: u64,
    /// Handshakes refused with a reason in words.
    pub refused: u64,
    /// Valid handshakes left without an answer for lack of room.
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
