//! Progress of a connection's transfer.

/// Progress of a connection's transfer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::udp) enum TransferStatus {
    /// No transfer has begun.
    None,
    /// The transfer is being received, or was broken off.
    Underway,
    /// All of its entries have arrived.
    Complete,
    /// The transfer was refused because another sender uses the target.
    TurnedAway,
    /// The transfer is being received, or was broken off, and its sender cannot repeat it.
    Unrepeatable,
}

impl TransferStatus {
    pub(super) fn of(number: u8) -> TransferStatus {
        use TransferStatus::{Complete, None, TurnedAway, Underway, Unrepeatable};
        let all = [None, Underway, Complete, TurnedAway, Unrepeatable];
        all.into_iter().find(|status| *status as u8 == number).unwrap_or(None)
    }
}
