//! Packets that have come through a server's tunnel: whether their source address is their sender's, and on to the device.

use std::collections::BTreeMap;
use std::net::IpAddr;

use paceline_cc::{Span, Time};
use paceline_ip::packet::ends;
use paceline_wire::Sink;

use super::device::Device;
use super::directory::Directory;
use super::owners::SourceVerdict;
use super::status::Traffic;

/// How often it is told at most that a client sends from addresses that are not its own.
const REFUSAL_INTERVAL: Span = Span::from_secs(60);

/// What is checked and counted of a client's packets.
pub(super) struct Sender {
    /// The place of its connection among those of all loops.
    place: usize,
    /// The most bytes of a packet to this client.
    pub(super) longest: usize,
    /// Packets that were dropped because their source is not this client's.
    pub(super) not_allowed: u64,
    /// When that was told last.
    refusal_told_at: Option<Time>,
    /// Packets inside that came from it and were delivered.
    pub(super) received: Traffic,
}

impl Sender {
    /// The client whose connection is at this place, to which packets have `longest` bytes at most.
    pub(super) fn new(now: Time, place: usize, longest: usize) -> Sender {
        let received = Traffic::new(now);
        Sender { place, longest, not_allowed: 0, refusal_told_at: None, received }
    }
}

/// A packet's source that is not its sender's.
pub(super) struct RefusedSource {
    /// The place of the sender's connection.
    pub(super) place: usize,
    pub(super) source: IpAddr,
    /// The place of the connection that owns the address, if there is no list of clients.
    pub(super) owner: Option<usize>,
}

/// Hands what arrives to the device, if its source address inside is its sender's.
pub(super) struct Arrivals {
    pub(super) device: Device,
    pub(super) directory: Directory,
    /// When the datagram that is taken in arrived.
    pub(super) now: Time,
    /// By the connection's identifier.
    pub(super) senders: BTreeMap<u32, Sender>,
    /// Sources that are to be told about: one a minute for each client at most.
    pub(super) refused: Vec<RefusedSource>,
}

impl Arrivals {
    pub(super) fn new(device: Device, directory: Directory) -> Arrivals {
        let (senders, refused) = (BTreeMap::new(), Vec::new());
        Arrivals { device, directory, now: Time::ZERO, senders, refused }
    }

    /// Hands over to the device what is still held to be joined: after each batch of arrivals.
    pub(super) fn flush(&mut self) {
        let Arrivals { device, directory, .. } = self;
        device.flush_by(|packet| directory.queue_for(packet));
    }
}

impl Sink for Arrivals {
    fn on_datagram(&mut self, connection: u32, bytes: &[u8]) {
        let Arrivals { device, directory, now, senders, refused } = self;
        let Some(sender) = senders.get_mut(&connection) else { return };
        // What is no IP packet the kernel drops.
        let verdict = ends(bytes)
            .map_or(SourceVerdict::Own, |(source, _)| directory.judge(*now, source, sender.place));
        let owner = match verdict {
            SourceVerdict::Own => {
                sender.received.count(*now, bytes.len());
                device.deliver_by(bytes, sender.longest, |packet| directory.queue_for(packet));
                return;
            }
            SourceVerdict::OfLinkAlone => return,
            SourceVerdict::NotListed => None,
            SourceVerdict::OwnedBy(owner) => Some(owner),
        };
        sender.not_allowed += 1;
        if let Some((source, _)) = ends(bytes)
            && sender.refusal_told_at.is_none_or(|at| now.since(at) >= REFUSAL_INTERVAL)
        {
            sender.refusal_told_at = Some(*now);
            refused.push(RefusedSource { place: sender.place, source, owner });
        }
    }
}
