//! quinn's protocol machine at both ends of a flow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use paceline_sim::cc::Ecn;
use paceline_sim::{CustomTransport, TransportEnds, TransportSetup};
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, MtuDiscoveryConfig, ReadError, ServerConfig, StreamId, Transmit,
    TransportConfig, VarInt,
};

use crate::addresses::{CLIENT, NAME, SERVER, seed};
use crate::end::{ends, largest_datagram};
use crate::machine::{Machine, MachineStats, Transmission};
use crate::{SEGMENTS, WINDOW, tls};

type Congestion = Arc<dyn ControllerFactory + Send + Sync>;

/// quinn, whole, with a congestion control.
#[derive(Clone)]
pub struct Quinn {
    label: String,
    congestion: Congestion,
    change: Arc<dyn Fn(&mut TransportConfig) + Send + Sync>,
}

impl Quinn {
    /// quinn with this congestion control: one of its own, or one of `paceline-quinn`'s. `label` is
    /// what outcomes call it.
    pub fn new(label: impl Into<String>, congestion: Congestion) -> Quinn {
        Quinn { label: label.into(), congestion, change: Arc::new(|_| {}) }
    }

    /// The same with changes of both ends' transport configuration.
    #[must_use]
    pub fn with(self, change: impl Fn(&mut TransportConfig) + Send + Sync + 'static) -> Quinn {
        Quinn { change: Arc::new(change), ..self }
    }

    /// The scheme of a flow: the flow's sender is a client that opens one stream.
    pub fn transport(&self) -> CustomTransport {
        let quinn = self.clone();
        CustomTransport::new(self.label.clone(), move |setup| quinn.ends(setup))
    }

    fn ends(&self, setup: &TransportSetup) -> Result<TransportEnds, String> {
        let datagram = largest_datagram(setup)?;
        let config = Arc::new(self.config(datagram));
        let mut endpoints = EndpointConfig::default();
        endpoints
            .max_udp_payload_size(datagram)
            .map_err(|error| error.to_string())?
            .grease_quic_bit(false);
        let endpoints = Arc::new(endpoints);
        let failed = |error: &dyn std::fmt::Display| error.to_string();

        let server = tls::server().map_err(|error| failed(&error))?;
        let server = QuicServerConfig::try_from(server).map_err(|error| failed(&error))?;
        let mut server = ServerConfig::with_crypto(Arc::new(server));
        server.transport_config(Arc::clone(&config));
        let client = tls::client().map_err(|error| failed(&error))?;
        let client = QuicClientConfig::try_from(client).map_err(|error| failed(&error))?;
        let mut client = ClientConfig::new(Arc::new(client));
        client.transport_config(config);

        let endpoint = |server: Option<Arc<ServerConfig>>, name: &str| {
            Endpoint::new(Arc::clone(&endpoints), server, true, Some(seed(setup, name)))
        };
        let sender = QuinnMachine::new(endpoint(None, "quinn client"), Some(client));
        let receiver = QuinnMachine::new(endpoint(Some(Arc::new(server)), "quinn server"), None);
        ends(setup, sender, receiver)
    }

    /// Both ends' transport configuration: quinn's defaults, but windows that do not limit.
    fn config(&self, datagram: u16) -> TransportConfig {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(datagram);
        let mut config = TransportConfig::default();
        config
            .stream_receive_window(VarInt::from_u32(WINDOW))
            .receive_window(VarInt::from_u32(WINDOW))
            .send_window(u64::from(WINDOW))
            .mtu_discovery_config(Some(discovery))
            .congestion_controller_factory(Arc::new(SharedFactory(Arc::clone(&self.congestion))));
        (self.change)(&mut config);
        config
    }
}

/// A factory that is shared by the connections of several runs.
struct SharedFactory(Congestion);

impl ControllerFactory for SharedFactory {
    fn build(
        self: Arc<Self>,
        now: Instant,
        current_mtu: u16,
    ) -> Box<dyn quinn_proto::congestion::Controller> {
        Arc::clone(&self.0).build(now, current_mtu)
    }
}

/// An endpoint of quinn's with one connection.
struct QuinnMachine {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// What a client connects with; `None` at a server.
    client: Option<ClientConfig>,
    /// Its own address, and the other end's.
    addresses: [SocketAddr; 2],
    writes: Option<StreamId>,
    reads: Vec<StreamId>,
}

impl QuinnMachine {
    fn new(endpoint: Endpoint, client: Option<ClientConfig>) -> QuinnMachine {
        let addresses = if client.is_some() { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        let (connection, writes, reads) = (None, None, Vec::new());
        QuinnMachine { endpoint, connection, client, addresses, writes, reads }
    }
}

impl Machine for QuinnMachine {
    fn connect(&mut self, now: Instant) {
        let Some(config) = self.client.take() else { return };
        self.connection = self.endpoint.connect(now, config, SERVER, NAME).ok();
    }

    fn is_established(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| !connection.is_handshaking())
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout())
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn on_datagram(
        &mut self,
        now: Instant,
        ecn: Ecn,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Option<Transmission> {
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let [local, remote] = self.addresses;
        let bytes = BytesMut::from(datagram);
        match self.endpoint.handle(now, remote, Some(local.ip()), ecn, bytes, answer)? {
            DatagramEvent::NewConnection(incoming) => {
                match self.endpoint.accept(incoming, now, answer, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(refused) => return refused.response.map(|sent| transmission(&sent)),
                }
            }
            DatagramEvent::ConnectionEvent(handle, event) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            DatagramEvent::Response(sent) => return Some(transmission(&sent)),
        }
        None
    }

    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmission> {
        let (handle, connection) = self.connection.as_mut()?;
        while connection.poll().is_some() {}
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        connection.poll_transmit(now, SEGMENTS.get(), buffer).map(|sent| transmission(&sent))
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        if self.writes.is_none() {
            self.writes = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.writes else { return 0 };
        connection.send_stream(id).write(bytes).unwrap_or(0)
    }

    fn finish(&mut self) {
        if let (Some((_, connection)), Some(id)) = (&mut self.connection, self.writes) {
            // A stream that the other end has stopped cannot be finished either.
            let _ = connection.send_stream(id).finish();
        }
    }

    fn reset(&mut self) {
        if let (Some((_, connection)), Some(id)) = (&mut self.connection, self.writes) {
            // Of a stream whose data have all arrived there is nothing left to give up.
            let _ = connection.send_stream(id).reset(VarInt::from_u32(0));
        }
    }

    fn read(&mut self) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.reads.push(id);
        }
        let mut received = 0;
        self.reads.retain(|&id| {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return false };
            let open = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => received += chunk.bytes.len() as u64,
                    Err(ReadError::Blocked) => break true,
                    Ok(None) | Err(_) => break false,
                }
            };
            // What it asks to be sent leaves with the next packets anyway.
            let _ = chunks.finalize();
            open
        });
        received
    }

    fn rtt(&self) -> Duration {
        self.connection.as_ref().map_or(Duration::ZERO, |(_, connection)| connection.rtt())
    }

    fn stats(&mut self) -> MachineStats {
        let Some((_, connection)) = &self.connection else { return MachineStats::default() };
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

fn transmission(sent: &Transmit) -> Transmission {
    let ecn = match sent.ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    };
    Transmission { size: sent.size, segment: sent.segment_size, ecn }
}
