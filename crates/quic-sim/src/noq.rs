//! noq's protocol machine at both ends of a flow.

use noq_proto as proto;

crate::stack::stack!(Noq, "noq");

/// The functions in which noq differs from quinn.
mod fork {
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use bytes::BytesMut;
    use noq_proto::{
        Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId,
        ServerConfig, Transmit,
    };

    use crate::SEGMENTS;
    use crate::machine::MachineStats;

    /// Returns an endpoint; a server's if there is a server configuration.
    pub(super) fn endpoint(
        mut config: EndpointConfig,
        server: Option<Arc<ServerConfig>>,
        seed: [u8; 32],
    ) -> Endpoint {
        config.rng_seed(Some(seed));
        Endpoint::new(Arc::new(config), server, true)
    }

    /// Passes a datagram from `remote` to the endpoint, whose address is `local`.
    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        (remote, local): (SocketAddr, IpAddr),
        ecn: Option<EcnCodepoint>,
        bytes: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, FourTuple::new(remote, Some(local)), ecn, bytes, answer)
    }

    /// Writes the datagrams that leave next into `buffer`.
    pub(super) fn poll_transmit(
        connection: &mut Connection,
        now: Instant,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, SEGMENTS, buffer)
    }

    /// Returns the smoothed RTT.
    pub(super) fn rtt(connection: &Connection) -> Duration {
        connection.rtt(PathId::ZERO).unwrap_or_default()
    }

    /// Returns the connection's counters and its congestion control's state.
    pub(super) fn stats(connection: &mut Connection) -> MachineStats {
        let Some(path) = connection.path_stats(PathId::ZERO) else {
            return MachineStats::default();
        };
        let congestion = connection.congestion_state(PathId::ZERO);
        let rate = congestion.and_then(|congestion| congestion.metrics().pacing_rate);
        MachineStats {
            cwnd: path.cwnd,
            mtu: path.current_mtu,
            // noq counts bytes per second.
            pacing_bps: rate.map(|rate| rate.saturating_mul(8)),
            sent: path.sent_packets,
            lost: path.lost_packets,
        }
    }
}
