//! Parts of the event loops of servers, clients and tunnels.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use paceline_cc::Span;
use paceline_cc::wire::TRANSPORT;
use paceline_os::RealTimeError;
use paceline_os::udp::{MOST_SOCKETS, Steering};
use paceline_wire::packet::{QUESTION, SERVER_NUMBER_AT};
use paceline_wire::{ServerStats, Sink};

/// Maximum number of event loops of a server, each with a socket of its own.
pub const MOST_LOOPS: usize = MOST_SOCKETS;

/// How the kernel divides datagrams among these sockets: as [`paceline_wire::packet::server_number`] does.
pub(crate) const STEERING: Steering =
    Steering { kinds: [TRANSPORT, QUESTION], number_at: SERVER_NUMBER_AT };

/// Maximum number of packets that one connection sends before the next connection's turn and before
/// arrivals are looked at.
pub(super) const BURST: usize = 256;

/// How long an end that closes its connections waits for the answers of the other ends.
pub(crate) const FAREWELL: Span = Span::from_millis(1000);

/// Notes the local address at which a connection's packet arrived.
#[inline]
pub(crate) fn note_local(locals: &mut BTreeMap<usize, IpAddr>, slot: usize, local: Option<IpAddr>) {
    if let Some(local) = local
        && locals.get(&slot) != Some(&local)
    {
        locals.insert(slot, local);
    }
}

/// A sink that discards what arrives while the server closes its connections.
pub(crate) struct Deaf;

impl Sink for Deaf {}

/// The result of a server's event loop.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LoopResult {
    /// False if a connection has ended with an error.
    pub(crate) good: bool,
    /// True if the loops ended because of an interrupt.
    pub(crate) is_interrupted: bool,
    pub(crate) stats: ServerStats,
}

impl LoopResult {
    /// Returns the counters of all loops together if they ended because of an interrupt.
    pub(crate) fn interrupted_stats(all: &[LoopResult]) -> Option<ServerStats> {
        let is_interrupted = all.iter().any(|ended| ended.is_interrupted);
        is_interrupted.then(|| all.iter().map(|ended| ended.stats).sum())
    }
}

/// Returns the number of loops.
///
/// # Errors
/// It is larger than [`MOST_LOOPS`].
pub(crate) fn checked_count(loops: NonZeroUsize) -> Result<usize, RealTimeError> {
    match loops.get() {
        count @ ..=MOST_LOOPS => Ok(count),
        count => {
            Err(RealTimeError::Message(format!("{count} loops: there can be {MOST_LOOPS} at most")))
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_wire::packet::server_number;

    use super::*;

    #[test]
    fn the_kernel_finds_the_number_that_servers_read() {
        for kind in 0..=u8::MAX {
            let datagram = [kind, 10, 11, 12, 13];
            let steered = STEERING.kinds.contains(&kind).then(|| datagram[STEERING.number_at]);
            assert_eq!(steered, server_number(&datagram), "{kind:#x}");
        }
    }
}
