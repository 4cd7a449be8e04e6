//! Code that the protocol machines of quinn and noq share, which is nearly all: noq is a fork of
//! quinn.

/// Declares a stack called `$name` as the type `$Stack`.
///
/// The calling module has the stack's crate under the name `proto`, and a module `fork` with the
/// functions in which the crates differ: `endpoint`, `handle`, `poll_transmit`, `rtt` and `stats`.
macro_rules! stack {
    ($Stack:ident, $name:literal) => {
        use std::net::SocketAddr;
        use std::sync::Arc;
        use std::time::{Duration, Instant};

        use bytes::BytesMut;
        use paceline_cc::{Ecn, Spec};
        use paceline_sim::{CustomTransport, TransportEnds, TransportSetup};
        use proto::congestion::ControllerFactory;
        use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
        use proto::{
            ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir,
            EcnCodepoint, Endpoint, EndpointConfig, Event, MtuDiscoveryConfig, ReadError, ServerConfig,
            StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
        };

        use crate::addresses::{CLIENT, NAME, SERVER, seed};
        use crate::end::{ends, largest_datagram};
        use crate::machine::{Machine, MachineStats, Transmission};
        use crate::{WINDOW, tls};

        type Congestion = Arc<dyn ControllerFactory + Send + Sync>;

        #[doc = concat!($name, ", whole, with a congestion control.")]
        #[derive(Clone)]
        pub struct $Stack {
            label: String,
            congestion: Congestion,
            change: Arc<dyn Fn(&mut TransportConfig) + Send + Sync>,
            reads_in_order: bool,
            queue: Option<Spec>,
        }

        impl $Stack {
            #[doc = concat!($name, " with this congestion control: one of its own, or one of `paceline-", $name, "`'s.")]
            /// `label` is its name in outcomes.
            pub fn new(label: impl Into<String>, congestion: Congestion) -> $Stack {
                let (change, queue) = (Arc::new(|_: &mut TransportConfig| {}), None);
                $Stack { label: label.into(), congestion, change, reads_in_order: false, queue }
            }

            /// Applies `change` to the transport configuration of both ends.
            #[must_use]
            pub fn with(self, change: impl Fn(&mut TransportConfig) + Send + Sync + 'static) -> $Stack {
                $Stack { change: Arc::new(change), ..self }
            }

            /// Lets the receiving application read its stream in order, as most applications do.
            /// Without this it reads data as it arrives, and the run's goodput counts arrivals.
            ///
            #[doc = concat!("In order, ", $name, " closes a connection with INTERNAL_ERROR if a stream has more than 1024 gaps,")]
            /// which needs a flight of thousands of packets, and so a stream window far above the
            /// stack's default, as it is here.
            #[must_use]
            pub fn reads_in_order(self) -> $Stack {
                $Stack { reads_in_order: true, ..self }
            }

            /// Sets the queue for links that leave their queue to their flows.
            #[must_use]
            pub fn with_queue(self, queue: Option<Spec>) -> $Stack {
                $Stack { queue, ..self }
            }

            /// Returns the scheme of a flow: the flow's sender is a client that opens one stream.
            pub fn transport(&self) -> CustomTransport {
                let stack = self.clone();
                CustomTransport::new(self.label.clone(), move |setup| stack.ends(setup))
                    .with_queue(self.queue.clone())
                    .with_bytes()
                    .with_log()
            }

            fn ends(&self, setup: &TransportSetup) -> Result<TransportEnds, String> {
                let (client, server) = self.machines(setup)?;
                ends(setup, client, server)
            }

            /// Returns the machines of a client and of a server for a flow, for callers that wrap
            /// them.
            ///
            /// # Errors
            /// The flow's packets are too small for QUIC.
            pub fn machines(
                &self,
                setup: &TransportSetup,
            ) -> Result<(impl Machine + Send + use<>, impl Machine + Send + use<>), String> {
                let datagram = largest_datagram(setup)?;
                let config = Arc::new(self.config(datagram));
                let failed = |error: &dyn std::fmt::Display| error.to_string();

                let server = tls::server().map_err(|error| failed(&error))?;
                let server = QuicServerConfig::try_from(server).map_err(|error| failed(&error))?;
                let mut server = ServerConfig::with_crypto(Arc::new(server));
                server.transport_config(Arc::clone(&config));
                let client = tls::client().map_err(|error| failed(&error))?;
                let client = QuicClientConfig::try_from(client).map_err(|error| failed(&error))?;
                let mut client = ClientConfig::new(Arc::new(client));
                client.transport_config(config);

                let mut endpoints = EndpointConfig::default();
                endpoints.max_udp_payload_size(datagram).map_err(|error| failed(&error))?.grease_quic_bit(false);
                let endpoint = |server: Option<Arc<ServerConfig>>, end: &str| {
                    let key = seed(setup, &format!("{} {end}", $name));
                    fork::endpoint(endpoints.clone(), server, key)
                };
                let sender = StackMachine::new(endpoint(None, "client"), Some(client));
                let mut receiver = StackMachine::new(endpoint(Some(Arc::new(server)), "server"), None);
                receiver.reads_in_order = self.reads_in_order;
                Ok((sender, receiver))
            }

            /// Returns the transport configuration of both ends: the stack's defaults, with windows
            /// that do not limit sending.
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

        /// A factory that the connections of several runs share.
        struct SharedFactory(Congestion);

        impl ControllerFactory for SharedFactory {
            fn build(
                self: Arc<Self>,
                now: Instant,
                current_mtu: u16,
            ) -> Box<dyn proto::congestion::Controller> {
                Arc::clone(&self.0).build(now, current_mtu)
            }
        }

        /// An endpoint of the stack with one connection.
        struct StackMachine {
            endpoint: Endpoint,
            connection: Option<(ConnectionHandle, Connection)>,
            /// Configuration with which a client connects; `None` at a server.
            client: Option<ClientConfig>,
            /// Own address, and address of the other end.
            addresses: [SocketAddr; 2],
            writes: Option<StreamId>,
            reads: Vec<StreamId>,
            reads_in_order: bool,
            /// True once all data of the stream is acknowledged, or the stream is reset.
            is_delivered: bool,
            failure: Option<String>,
        }

        impl StackMachine {
            fn new(endpoint: Endpoint, client: Option<ClientConfig>) -> StackMachine {
                let addresses = if client.is_some() { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
                StackMachine {
                    endpoint,
                    connection: None,
                    client,
                    addresses,
                    writes: None,
                    reads: Vec::new(),
                    reads_in_order: false,
                    is_delivered: false,
                    failure: None,
                }
            }

            /// Notes that the stack has ended the connection.
            fn on_lost(&mut self, reason: &ConnectionError) {
                let is_client = self.addresses[0] == CLIENT;
                // A server does not know whether the client has more to send; the client does.
                if matches!(reason, ConnectionError::TimedOut) && (!is_client || self.is_delivered) {
                    return;
                }
                let end = if is_client { "client" } else { "server" };
                self.failure = Some(format!(concat!("the connection of ", $name, "'s {} ended: {}"), end, reason));
            }
        }

        impl Machine for StackMachine {
            fn connect(&mut self, now: Instant) {
                let Some(config) = self.client.take() else { return };
                match self.endpoint.connect(now, config, SERVER, NAME) {
                    Ok(connected) => self.connection = Some(connected),
                    Err(error) => {
                        self.failure = Some(format!(concat!($name, "'s client cannot connect: {}"), error));
                    }
                }
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
                match fork::handle(&mut self.endpoint, now, (remote, local.ip()), ecn, bytes, answer)? {
                    DatagramEvent::NewConnection(incoming) => {
                        match self.endpoint.accept(incoming, now, answer, None) {
                            Ok(accepted) => self.connection = Some(accepted),
                            Err(refused) => {
                                if self.connection.is_none() {
                                    self.on_lost(&refused.cause);
                                }
                                return refused.response.map(|sent| transmission(&sent));
                            }
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
                while let Some(event) = self.connection.as_mut().and_then(|(_, connection)| connection.poll()) {
                    match event {
                        Event::ConnectionLost { reason } => self.on_lost(&reason),
                        Event::Stream(StreamEvent::Finished { .. }) => self.is_delivered = true,
                        _ => {}
                    }
                }
                let (handle, connection) = self.connection.as_mut()?;
                while let Some(event) = connection.poll_endpoint_events() {
                    if let Some(event) = self.endpoint.handle_event(*handle, event) {
                        connection.handle_event(event);
                    }
                }
                fork::poll_transmit(connection, now, buffer).map(|sent| transmission(&sent))
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
                    // Fails for a stream that the other end has stopped, which needs no end.
                    let _ = connection.send_stream(id).finish();
                }
            }

            fn reset(&mut self) {
                self.is_delivered = true;
                if let (Some((_, connection)), Some(id)) = (&mut self.connection, self.writes) {
                    // Fails for a stream whose data has all arrived, which needs no reset.
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
                    let Ok(mut chunks) = stream.read(self.reads_in_order) else { return false };
                    let open = loop {
                        match chunks.next(usize::MAX) {
                            Ok(Some(chunk)) => received += chunk.bytes.len() as u64,
                            Err(ReadError::Blocked) => break true,
                            Ok(None) | Err(_) => break false,
                        }
                    };
                    // Frames that this requests leave with the next packets anyway.
                    let _ = chunks.finalize();
                    open
                });
                received
            }

            fn rtt(&self) -> Duration {
                self.connection.as_ref().map_or(Duration::ZERO, |(_, connection)| fork::rtt(connection))
            }

            fn stats(&mut self) -> MachineStats {
                self.connection.as_mut().map_or_else(MachineStats::default, |(_, connection)| fork::stats(connection))
            }

            fn failure(&self) -> Option<String> {
                self.failure.clone()
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
    };
}

pub(crate) use stack;
