//! Progress of a connection's transfer.

/// Progress of a connection's transfer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::udp) enum TransferStatus {
    /// No transfer has begun.
    None,
    /// The transfer is being received, or was broken off.
    Underway,
    /// All of its entries have arrived and are kept.
    Complete,
    /// The transfer was refused because another sender uses the target.
    TurnedAway,
    /// The transfer is being received, or was broken off, and cannot be repeated: its sender cannot read it again, or
    /// the receiver's standard output has failed.
    Unrepeatable,
    /// The rest of the transfer was refused. It can continue once the cause is removed.
    Halted,
    /// The transfer is over, and some of its entries are not kept.
    PartlyKept,
}

impl TransferStatus {
    pub(super) fn of(number: u8) -> TransferStatus {
        use TransferStatus::{
            Complete, Halted, None, PartlyKept, TurnedAway, Underway, Unrepeatable,
        };
        let all = [None, Underway, Complete, TurnedAway, Unrepeatable, Halted, PartlyKept];
        all.into_iter().find(|status| *status as u8 == number).unwrap_or(None)
    }
}
