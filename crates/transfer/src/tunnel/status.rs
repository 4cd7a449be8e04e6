//! The status of a running end of a tunnel: `paceline tunnel status`. Without input or output.

use std::collections::BTreeSet;

use paceline_cc::{Span, Time};
use paceline_wire::{ClientPublic, Connection};
use serde::{Deserialize, Serialize};

use super::Peer;
use super::byte_counter::ByteCounter;
use super::carrier::Carrier;

/// The status of an end of a tunnel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TunnelStatus {
    /// `server` or `client`.
    pub role: String,
    /// The device's name.
    pub device: String,
    /// The process id.
    pub pid: u32,
    /// The network namespace of the process, by the kernel's name (`net:[4026531840]`).
    pub network: String,
    /// The address at which the server listens, or the server to which the client connects.
    pub at: String,
    /// The device's inside addresses, each with the prefix length of its network.
    pub addresses: Vec<String>,
    /// Path of the server's list of clients.
    pub clients_file: Option<String>,
    /// The device's MTU.
    pub mtu_bytes: u64,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Number of handshakes that the server has answered; for a client, its number of connections.
    pub accepted: u64,
    /// Handshakes that the server has refused with a message.
    pub turned_away: u64,
    /// Datagrams that the server has ignored: forged, replayed, truncated, or from unknown senders.
    pub ignored: u64,
    /// Packets from the device whose destination belongs to no connected client.
    pub without_owner: u64,
    /// Number of the server's event loops; 0 for a client.
    #[serde(default)]
    pub loops: u64,
    /// Packets or pieces that a loop of the server has read from the device for another
    /// loop's client.
    #[serde(default)]
    pub handed_over: u64,
    /// Of these, those dropped because the other loop's mailbox was full.
    #[serde(default)]
    pub handover_dropped: u64,
    /// Why a client is not connected.
    pub waiting: Option<String>,
    /// The other ends that are connected; for a server, also listed clients that are not.
    pub peers: Vec<PeerStatus>,
}

/// The other end of a connection, or a listed client that is not connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its name in the list of clients.
    pub name: Option<String>,
    /// Its public key.
    pub key: Option<String>,
    /// True if it is connected.
    pub connected: bool,
    /// Number of the server's event loop that has its connection, from 0.
    #[serde(default)]
    pub event_loop: Option<u64>,
    /// Its outside address.
    pub remote: Option<String>,
    /// Inside networks that it may use or, without a list, inside addresses that it uses.
    pub addresses: Vec<String>,
    /// The scheme of both directions.
    pub scheme: Option<String>,
    /// Seconds since the connection began.
    pub connected_s: Option<f64>,
    /// Seconds since its last packet arrived.
    pub heard_s: Option<f64>,
    /// Smoothed round-trip time (srtt).
    pub srtt_ms: Option<f64>,
    /// Minimum round-trip time.
    pub min_rtt_ms: Option<f64>,
    /// Bytes of inside packets sent to it.
    pub sent_bytes: u64,
    /// Bytes of inside packets received from it.
    pub received_bytes: u64,
    /// Rate of `sent_bytes` over the last second or two.
    pub sent_mbps: f64,
    /// Rate of `received_bytes`.
    pub received_mbps: f64,
    /// Data packets sent on the path.
    pub sent: u64,
    /// Of these, packets declared lost.
    pub lost: u64,
    /// Limit of the queues: what the scheme's forecast delivers, or its cwnd if it makes no
    /// forecast.
    pub deliverable_bytes: Option<u64>,
    /// The scheme's cwnd.
    pub cwnd_bytes: Option<u64>,
    /// Bytes sent and neither acknowledged nor lost.
    pub in_flight_bytes: Option<u64>,
    /// Bytes in the queues.
    pub queue_bytes: u64,
    /// Packets in the queues.
    pub queue_packets: u64,
    /// Smoothed sojourn time in the queues.
    pub sojourn_ms: f64,
    /// Sojourn time so far of the oldest packet in the queues.
    pub oldest_ms: f64,
    /// Packets dropped because the queues were over their limit.
    pub dropped: u64,
    /// Packets refused because they were too long for the path.
    pub refused: u64,
    /// Packets carried in parts.
    pub in_parts: u64,
    /// Packets from it dropped because their source address is not its own.
    pub not_allowed: u64,
    /// Maximum length, in bytes, of an inside packet that one packet of the path carries.
    pub mtu_bytes: Option<u64>,
}

/// What an end knows about a connection beside the connection itself.
pub(super) struct Known<'a> {
    pub(super) carrier: &'a Carrier,
    pub(super) peer: &'a Peer,
    pub(super) key: Option<ClientPublic>,
    /// Number of its event loop; `None` at a client.
    pub(super) event_loop: Option<u64>,
    pub(super) connected_at: Time,
    pub(super) heard_at: Time,
    pub(super) received: &'a ByteCounter,
    pub(super) not_allowed: u64,
    pub(super) addresses: Vec<String>,
}

impl TunnelStatus {
    /// Combines the status of a server's loops, in the order of their numbers. Adds the counters. A
    /// client that is connected to one loop is not listed as absent because of the others.
    pub(super) fn of_loops(parts: Vec<TunnelStatus>) -> TunnelStatus {
        let mut parts = parts.into_iter();
        let Some(mut all) = parts.next() else { return TunnelStatus::default() };
        let mut absent = Vec::new();
        let mut connected = Vec::new();
        let mut divide = |peers: Vec<PeerStatus>, lists: bool| {
            let (there, missing): (Vec<_>, Vec<_>) = peers.into_iter().partition(|it| it.connected);
            connected.extend(there);
            if lists {
                absent = missing;
            }
        };
        divide(std::mem::take(&mut all.peers), true);
        for part in parts {
            all.accepted += part.accepted;
            all.turned_away += part.turned_away;
            all.ignored += part.ignored;
            all.without_owner += part.without_owner;
            all.handed_over += part.handed_over;
            all.handover_dropped += part.handover_dropped;
            divide(part.peers, false);
        }
        let keys: BTreeSet<Option<String>> = connected.iter().map(|it| it.key.clone()).collect();
        absent.retain(|peer| !keys.contains(&peer.key));
        connected.append(&mut absent);
        all.peers = connected;
        all
    }
}

impl PeerStatus {
    /// Returns the status of a connection.
    pub(super) fn of(now: Time, connection: &Connection, known: Known<'_>) -> PeerStatus {
        let Known { carrier, received, .. } = known;
        let (stats, sent_counter) = (carrier.stats(), carrier.sent());
        let sender = connection.sender();
        let counts = connection.sent().unwrap_or_default();
        let rtt = sender.map(paceline_flow::Sender::rtt);
        let millis =
            |span: Span| (!span.is_zero() && span < Span::MAX).then(|| span.as_millis_f64());
        PeerStatus {
            name: known.peer.name.clone(),
            key: known.key.map(|key| key.to_string()),
            connected: true,
            event_loop: known.event_loop,
            remote: Some(known.peer.remote.to_string()),
            addresses: known.addresses,
            scheme: Some(connection.peer_scheme().to_string()),
            connected_s: Some(now.since(known.connected_at).as_secs_f64()),
            heard_s: Some(now.since(known.heard_at).as_secs_f64()),
            srtt_ms: rtt.and_then(|rtt| millis(rtt.smoothed())),
            min_rtt_ms: rtt.and_then(|rtt| millis(rtt.min())),
            sent_bytes: sent_counter.bytes(),
            received_bytes: received.bytes(),
            sent_mbps: sent_counter.mbps(now),
            received_mbps: received.mbps(now),
            sent: counts.sent,
            lost: counts.lost,
            deliverable_bytes: sender.map(paceline_flow::Sender::deliverable),
            cwnd_bytes: sender.map(paceline_flow::Sender::window),
            in_flight_bytes: sender.map(paceline_flow::Sender::in_flight),
            queue_bytes: carrier.queues().bytes(),
            queue_packets: carrier.queues().len() as u64,
            sojourn_ms: carrier.queues().sojourn().as_millis_f64(),
            oldest_ms: carrier.queues().oldest(now).as_millis_f64(),
            dropped: stats.queues.dropped,
            refused: stats.too_long,
            in_parts: stats.in_parts,
            not_allowed: known.not_allowed,
            mtu_bytes: Some(connection.longest_datagram() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loops_of_a_server_tell_of_each_client_once() {
        let peer = |key: &str, connected: bool, sent: u64| PeerStatus {
            key: Some(key.into()),
            connected,
            sent,
            ..PeerStatus::default()
        };
        let part = |accepted, peers| TunnelStatus {
            role: "server".into(),
            loops: 2,
            accepted,
            handed_over: 10,
            peers,
            ..TunnelStatus::default()
        };
        // Loop 0 has ada, loop 1 bob; neither has carla.
        let first =
            part(3, vec![peer("ada", true, 1), peer("bob", false, 0), peer("carla", false, 0)]);
        let second =
            part(4, vec![peer("bob", true, 2), peer("ada", false, 0), peer("carla", false, 0)]);
        let all = TunnelStatus::of_loops(vec![first.clone(), second]);
        assert_eq!((all.accepted, all.handed_over, all.loops), (7, 20, 2));
        let expected = [peer("ada", true, 1), peer("bob", true, 2), peer("carla", false, 0)];
        assert_eq!(all.peers, expected);
        assert_eq!(TunnelStatus::of_loops(vec![first.clone()]), first);
        // Connections without a key of their own are not merged.
        let without = |sent| PeerStatus { connected: true, sent, ..PeerStatus::default() };
        let parts = vec![part(1, vec![without(1)]), part(1, vec![without(2)])];
        assert_eq!(TunnelStatus::of_loops(parts).peers.len(), 2);
    }

    #[test]
    fn a_status_comes_back_from_its_json() {
        let peers = vec![PeerStatus { name: Some("a".into()), ..PeerStatus::default() }];
        let status =
            TunnelStatus { role: "server".into(), pid: 7, peers, ..TunnelStatus::default() };
        let text = serde_json::to_string(&status).expect("JSON");
        assert_eq!(serde_json::from_str::<TunnelStatus>(&text).expect("a status"), status);
        // The status of an older server has no fields for loops.
        let earlier = text.replace("\"loops\":0,\"handed_over\":0,\"handover_dropped\":0,", "");
        assert_ne!(earlier, text);
        assert_eq!(serde_json::from_str::<TunnelStatus>(&earlier).expect("a status"), status);
    }
}
