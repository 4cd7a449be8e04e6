//! quinn's protocol machine at both ends of a flow.

use quinn_proto as proto;

crate::stack::stack!(Quinn, "quinn");

/// The functions in which quinn differs from noq.
mod fork {
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use bytes::BytesMut;
    use quinn_proto::{
        Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, ServerConfig, Transmit,
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
        Endpoint::new(Arc::new(config), server, true, None)
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
        endpoint.handle(now, remote, Some(local), ecn, bytes, answer)
    }

    /// Writes the datagrams that leave next into `buffer`.
    pub(super) fn poll_transmit(
        connection: &mut Connection,
        now: Instant,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, SEGMENTS.get(), buffer)
    }

    /// Returns the smoothed RTT.
    pub(super) fn rtt(connection: &Connection) -> Duration {
        connection.rtt()
    }

    /// Returns the connection's counters and its congestion control's state.
    pub(super) fn stats(connection: &mut Connection) -> MachineStats {
        let path = connection.stats().path;
        MachineStats {
            cwnd: path.cwnd,
            mtu: path.current_mtu,
            pacing_bps: connection.congestion_state().metrics().pacing_rate,
            sent: path.sent_packets,
            lost: path.lost_packets,
        }
    }
}
