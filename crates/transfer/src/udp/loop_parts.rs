//! Parts of the event loops of servers, clients and tunnels.

use std::collections::BTreeMap;
use std::net::IpAddr;

use paceline_cc::Span;
use paceline_wire::Sink;

/// Maximum number of packets that one connection sends before the next connection's turn and before
/// arrivals are looked at.
pub(super) const BURST: usize = 256;

/// How long a server that ends waits for its clients' answers.
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
