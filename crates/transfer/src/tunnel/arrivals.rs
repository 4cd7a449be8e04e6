//! Packets that arrive through a server's tunnel: checks their source addresses and delivers them
//! to the device.

use std::collections::BTreeMap;
use std::net::IpAddr;

use paceline_cc::{Span, Time};
use paceline_ip::packet::ends;
use paceline_wire::Sink;

use super::byte_counter::ByteCounter;
use super::device::Device;
use super::directory::Directory;
use super::owners::SourceVerdict;

/// Minimum interval between two reports that a client sends from addresses that are not its own.
const REFUSAL_INTERVAL: Span = Span::from_secs(60);

/// Checks and counters of one client's packets.
pub(super) struct Sender {
    /// Place of its connection among those of all loops.
    place: usize,
    /// Maximum length of a packet to this client in bytes.
    pub(super) longest: usize,
    /// Packets dropped because their source address does not belong to this client.
    pub(super) not_allowed: u64,
    /// Time of the last report of such packets.
    refusal_told_at: Option<Time>,
    /// Inside packets from this client that were delivered.
    pub(super) received: ByteCounter,
}

impl Sender {
    /// Creates counters for the client whose connection has this place and sends packets of at most
    /// `longest` bytes.
    pub(super) fn new(now: Time, place: usize, longest: usize) -> Sender {
        let received = ByteCounter::new(now);
        Sender { place, longest, not_allowed: 0, refusal_told_at: None, received }
    }
}

/// A source address that does not belong to the packet's sender.
pub(super) struct RefusedSource {
    /// Place of the sender's connection.
    pub(super) place: usize,
    pub(super) source: IpAddr,
    /// Place of the connection that owns the address, if there is no list of clients.
    pub(super) owner: Option<usize>,
}

/// Delivers arriving packets to the device, if their inside source address belongs to their sender.
pub(super) struct Arrivals {
    pub(super) device: Device,
    pub(super) directory: Directory,
    /// Arrival time of the current datagram.
    pub(super) now: Time,
    /// The senders, by the connection's identifier.
    pub(super) senders: BTreeMap<u32, Sender>,
    /// Refused sources to report: at most one per minute and client.
    pub(super) refused: Vec<RefusedSource>,
}

impl Arrivals {
    pub(super) fn new(device: Device, directory: Directory) -> Arrivals {
        let (senders, refused) = (BTreeMap::new(), Vec::new());
        Arrivals { device, directory, now: Time::ZERO, senders, refused }
    }

    /// Delivers packets that are held back to be joined with others. Call it after each batch of
    /// arrivals.
    pub(super) fn flush(&mut self) {
        let Arrivals { device, directory, .. } = self;
        device.flush_by(|packet| directory.queue_for(packet));
    }
}

impl Sink for Arrivals {
    fn on_datagram(&mut self, connection: u32, bytes: &[u8]) {
        let Arrivals { device, directory, now, senders, refused } = self;
        let Some(sender) = senders.get_mut(&connection) else { return };
        // Packets that are not IP go to the kernel, which drops them.
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
