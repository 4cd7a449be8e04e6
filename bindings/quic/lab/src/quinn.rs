//! quinn's protocol machine at both ends of a flow.

mod application;
mod end;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use paceline_sim::cc::Time;
use paceline_sim::flow::Workload;
use paceline_sim::{MadeTransport, TransportEnds, TransportSetup};
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig,
    VarInt,
};

use self::application::{Sink, Source};
use self::end::QuinnEnd;
use crate::clock::Clock;
use crate::datagrams::Datagrams;
use crate::tls;

/// IPv4's and UDP's headers, in bytes.
const HEADERS: u32 = 28;
/// Receive windows beyond what any of the laboratory's paths holds, so that congestion control, not
/// flow control, limits sending.
const WINDOW: u32 = 256 << 20;

/// quinn, whole, with a congestion control.
#[derive(Clone)]
pub struct Quinn {
    label: String,
    congestion: Arc<dyn ControllerFactory + Send + Sync>,
    change: Arc<dyn Fn(&mut TransportConfig) + Send + Sync>,
}

impl Quinn {
    /// quinn with this congestion control: one of its own, or one of `paceline-quinn`'s. `label` is
    /// what outcomes call it.
    pub fn new(
        label: impl Into<String>,
        congestion: Arc<dyn ControllerFactory + Send + Sync>,
    ) -> Quinn {
        Quinn { label: label.into(), congestion, change: Arc::new(|_| {}) }
    }

    /// The same with changes of both ends' transport configuration.
    #[must_use]
    pub fn with(self, change: impl Fn(&mut TransportConfig) + Send + Sync + 'static) -> Quinn {
        Quinn { change: Arc::new(change), ..self }
    }

    /// The scheme of a flow: the flow's sender is a client that opens one stream.
    pub fn transport(&self) -> MadeTransport {
        let quinn = self.clone();
        MadeTransport::new(self.label.clone(), move |setup| quinn.ends(setup))
    }

    fn ends(&self, setup: &TransportSetup) -> Result<TransportEnds, String> {
        let bytes = match &setup.workload {
            Workload::Bulk => u64::MAX,
            Workload::Bytes(bytes) => *bytes,
            other => {
                return Err(format!(
                    "quinn sends `bulk` or so many bytes here, not the workload {other:?}"
                ));
            }
        };
        let config = Arc::new(self.config(setup.mss)?);
        let datagram = u16::try_from(setup.mss - HEADERS).unwrap_or(u16::MAX);
        let mut endpoints = EndpointConfig::default();
        endpoints
            .max_udp_payload_size(datagram.max(1200))
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
        let (there, back) = (Datagrams::default(), Datagrams::default());
        let clock = Clock::new();
        let source = Source::new(client, bytes, setup.start, setup.stop);
        let sender = QuinnEnd::new(
            endpoint(None, "quinn client"),
            Box::new(source),
            clock,
            (there.clone(), back.clone()),
            [address(1), address(2)],
        );
        let receiver = QuinnEnd::new(
            endpoint(Some(Arc::new(server)), "quinn server"),
            Box::new(Sink::default()),
            clock,
            (back, there),
            [address(2), address(1)],
        );
        Ok((Box::new(sender), Box::new(receiver)))
    }

    /// Both ends' transport configuration: quinn's defaults, but windows that do not limit.
    fn config(&self, mss: u32) -> Result<TransportConfig, String> {
        let room = mss
            .checked_sub(HEADERS)
            .filter(|room| *room >= 1200)
            .ok_or_else(|| format!("QUIC needs packets of 1228 bytes or more, and mss is {mss}"))?;
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(u16::try_from(room).unwrap_or(u16::MAX));
        let mut config = TransportConfig::default();
        config
            .stream_receive_window(VarInt::from_u32(WINDOW))
            .receive_window(VarInt::from_u32(WINDOW))
            .send_window(u64::from(WINDOW))
            .mtu_discovery_config(Some(discovery))
            .congestion_controller_factory(Arc::new(Shared(Arc::clone(&self.congestion))));
        (self.change)(&mut config);
        Ok(config)
    }
}

/// A factory that is shared by the connections of several runs.
struct Shared(Arc<dyn ControllerFactory + Send + Sync>);

impl ControllerFactory for Shared {
    fn build(
        self: Arc<Self>,
        now: std::time::Instant,
        current_mtu: u16,
    ) -> Box<dyn quinn_proto::congestion::Controller> {
        Arc::clone(&self.0).build(now, current_mtu)
    }
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), 4433)
}

/// The seed of an endpoint's random numbers.
fn seed(setup: &TransportSetup, name: &str) -> [u8; 32] {
    let mut random = setup.random(name);
    let mut seed = [0; 32];
    for word in seed.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    seed
}

/// When an application next has something to do, and what it does.
trait Application: Send {
    /// When it begins.
    fn start(&self) -> Time {
        Time::NEVER
    }
    /// Opens its connection at `start`, if it is the one that opens.
    fn connect(&mut self) -> Option<ClientConfig> {
        None
    }
    /// Reads and writes what it can.
    fn drive(&mut self, now: Time, connection: &mut quinn_proto::Connection);
    /// Bytes that it has read.
    fn received(&self) -> u64 {
        0
    }
}
