//! The size of a flight, and what became of it.

/// The flight of the newest acknowledged packet, or of a lost one.
#[derive(Copy, Clone, Debug)]
pub(super) struct Flight {
    /// Bytes in flight when the packet was sent, including itself.
    pub(super) sent: u64,
    /// Bytes lost since then.
    pub(super) lost: u64,
    /// True if marks since then show that the flight was too large.
    pub(super) marked: bool,
    pub(super) app_limited: bool,
}
