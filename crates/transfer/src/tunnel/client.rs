//! The end of a tunnel that connects, and reconnects.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use paceline_cc::{Ecn, Span, Time};
use paceline_os::udp::{Inbox, Socket};
use paceline_os::{Interrupts, RealTimeError};
use paceline_wire::key::Key;
use paceline_wire::{ConnectError, Connection, End, Limits, Offer, Service, Sink};

use super::Prefix;
use super::byte_counter::ByteCounter;
use super::carrier::Carrier;
use super::control::{Control, Request, network};
use super::device::{Device, DeviceOptions};
use super::settings::settings;
use super::status::{Known, PeerStatus, TunnelStatus};
use super::{Event, Peer, reason};
use crate::udp::addresses::Name;
use crate::udp::clock::{Clock, wait};
use crate::udp::loop_parts::FAREWELL;
use crate::udp::outbox::Outbox;
use crate::udp::race::Race;

/// Maximum number of packets sent before arrivals are looked at again.
const BURST: usize = 64;
/// Pause before the next attempt to connect.
const PAUSE: Span = Span::from_millis(1000);
/// Maximum wait of a connection attempt for name servers. The first attempt, before there is a
/// device, waits for less.
const LOOKUP: Span = Span::from_secs(5);
const FIRST_LOOKUP: Span = Span::from_secs(1);
/// Upper bound on the bytes of headers, used until a connection says the true number.
const HEADERS: u16 = 120;

/// Options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The server, as `host:port`. The client looks the name up before each connection.
    pub to: String,
    /// The server's key. If it includes this client's own key, the server recognizes the client
    /// when it reconnects.
    pub key: Key,
    /// The scheme of both directions.
    pub scheme: String,
    /// True if packets are not encrypted.
    pub plaintext: bool,
    /// Maximum packet size on the path in bytes, with IP and UDP headers.
    pub mtu: u16,
    /// Interval of keepalive packets while nothing is carried; zero if the connection is never
    /// idle.
    pub keepalive: Span,
    /// Options of the device.
    pub device: DeviceOptions,
    /// Interface for the tunnel's own packets; `None` follows the routes.
    pub outer: Option<String>,
    /// Mark of the tunnel's own packets (`SO_MARK`), by which policy rules keep them out of the
    /// tunnel.
    pub mark: Option<u32>,
    /// Limits of connections.
    pub limits: Limits,
    /// True if the client ends with its first connection; otherwise it reconnects.
    pub once: bool,
    /// True if SIGHUP does not end it. For services, which systemd may reload by SIGHUP.
    pub outlives_hangup: bool,
}

/// The result of an attempt to connect.
enum Attempt {
    Made(Box<Connection>),
    Interrupted,
    Failed(RealTimeError),
    Refused(RealTimeError),
}

struct Client<'a> {
    options: &'a ClientOptions,
    clock: Clock,
    inbox: Inbox,
    outbox: Outbox,
    interrupts: Interrupts,
    /// `None` until the server has handed out addresses, if the user names none.
    device: Option<Device>,
    /// Current settings of the device.
    settings: DeviceOptions,
    control: Option<Control>,
    /// Number of connections so far.
    connections: u64,
    /// Why there is currently no connection.
    waiting: Option<String>,
}

/// Counters of a connection.
struct Course {
    peer: Peer,
    connected_at: Time,
    heard_at: Time,
    received: ByteCounter,
}

/// A connection, its queues, its counters, and the device's MTU.
type Carried<'a> = (&'a Connection, &'a Carrier, &'a Course, u32);

/// A sink that writes arriving packets to the device.
struct ToDevice<'a> {
    device: &'a mut Device,
    /// Maximum length of a packet that this end sends, in bytes.
    longest: usize,
    now: Time,
    received: &'a mut ByteCounter,
}

impl Sink for ToDevice<'_> {
    fn on_datagram(&mut self, _connection: u32, bytes: &[u8]) {
        self.received.count(self.now, bytes.len());
        self.device.deliver(bytes, self.longest);
    }
}

/// Carries packets between the device and the server until an interrupt or, with `once`, until the
/// connection is over. Reports events to `tell`. Returns false if the connection ended with an
/// error.
///
/// # Errors
/// The device cannot be created or has been removed, the server refuses, or, with `once`, no
/// connection is established.
pub fn client(options: &ClientOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, RealTimeError> {
    let mut clock = Clock::start();
    let interrupts = Interrupts::watch_for(options.outlives_hangup)?;
    // Check before any change for a route that would carry the tunnel's own packets into the
    // tunnel.
    let mut name = Name::new(&options.to);
    if look_up(&mut name, &mut clock, &interrupts, None)? {
        return Ok(true);
    }
    if let Ok(addresses) = name.addresses() {
        passable(addresses, options, &options.device)?;
    }
    let device = if options.device.addresses.is_empty() {
        None
    } else {
        let device = Device::open(&options.device, options.first_mtu())?;
        tell(Event::Device(options.device.name.clone()));
        Some(device)
    };
    let control = match Control::open(&options.device.name, interrupts.waker()) {
        Ok(control) => Some(control),
        Err(error) => {
            tell(Event::NoControl(error.to_string()));
            None
        }
    };
    let mut client = Client {
        options,
        clock,
        inbox: Inbox::default(),
        outbox: Outbox::new(),
        interrupts,
        device,
        settings: options.device.clone(),
        control,
        connections: 0,
        waiting: None,
    };
    let mut connected = false;
    let mut last_reset = None;
    loop {
        // Check each time: the server may have moved into a network that is routed through the
        // tunnel.
        let attempt = match name.addresses() {
            Ok(addresses) => match passable(addresses, options, &client.settings) {
                Ok(addresses) => client.attempt(&addresses),
                Err(error) => Ok((None, Attempt::Refused(error))),
            },
            Err(error) => Ok((None, Attempt::Failed(RealTimeError::Message(error.to_string())))),
        };
        let (mut socket, mut attempt) =
            attempt.unwrap_or_else(|error| (None, Attempt::Failed(error)));
        if let (Attempt::Made(connection), Some(socket)) = (&mut attempt, &mut socket)
            && let Err(error) = client.use_handout(connection, tell)
        {
            client.turn_down(connection, socket);
            attempt = Attempt::Refused(error);
        }
        match (attempt, socket) {
            (Attempt::Made(connection), Some(socket)) => {
                connected = true;
                client.connections += 1;
                client.waiting = None;
                let end = client.carry(*connection, socket, tell)?;
                match end {
                    End::Here { .. } => return Ok(true),
                    // The server answers: reconnect at once, but at most once per second.
                    End::Reset
                        if !options.once
                            && last_reset.is_none_or(|last| client.clock.now() >= last + PAUSE) =>
                    {
                        last_reset = Some(client.clock.now());
                        continue;
                    }
                    end if options.once => return Ok(reason(&end).is_empty()),
                    _ => {}
                }
            }
            (Attempt::Interrupted, _) => return Ok(true),
            (Attempt::Refused(error), _) if options.once || !connected => return Err(error),
            (Attempt::Failed(error), _) if options.once => return Err(error),
            (Attempt::Failed(error) | Attempt::Refused(error), _) => {
                client.waiting = Some(error.to_string());
                tell(Event::Waiting(error.to_string()));
            }
            (Attempt::Made(_), None) => {}
        }
        if client.pause()? {
            return Ok(true);
        }
        // The server may have moved. If its name cannot be looked up now, keep the known addresses.
        let Client { clock, interrupts, device, .. } = &mut client;
        if look_up(&mut name, clock, interrupts, device.as_mut())? {
            return Ok(true);
        }
    }
}

/// Looks the server's name up, for at most [`LOOKUP`], or [`FIRST_LOOKUP`] without a device. Drops
/// packets that the device receives meanwhile. Returns true if it was interrupted.
fn look_up(
    name: &mut Name,
    clock: &mut Clock,
    interrupts: &Interrupts,
    mut device: Option<&mut Device>,
) -> Result<bool, RealTimeError> {
    name.look_up()?;
    let end = clock.now() + if device.is_some() { LOOKUP } else { FIRST_LOOKUP };
    while let Some(pending) = name.pending()
        && clock.now() < end
    {
        let input = device.as_ref().map(|device| device.as_fd());
        let found = wait(clock, end, pending, input, interrupts)?;
        if found.interrupted {
            return Ok(true);
        }
        if let (true, Some(device)) = (found.input, &mut device) {
            device.read(|_| {})?;
        }
        name.take();
    }
    Ok(false)
}

/// Returns the addresses that are not routed through the device itself.
///
/// # Errors
/// All addresses are routed through the device.
fn passable(
    addresses: &[SocketAddr],
    options: &ClientOptions,
    settings: &DeviceOptions,
) -> Result<Vec<SocketAddr>, RealTimeError> {
    let DeviceOptions { addresses: own, routes, .. } = settings;
    let swallows = |to: IpAddr| own.iter().chain(routes).find(|network| network.contains(to));
    let is_apart = options.outer.is_some() || options.mark.is_some();
    let passes = |to: &SocketAddr| is_apart || swallows(to.ip().to_canonical()).is_none();
    let passable: Vec<SocketAddr> = addresses.iter().copied().filter(passes).collect();
    let swallowed =
        addresses.first().and_then(|to| Some((to.ip(), swallows(to.ip().to_canonical())?)));
    match swallowed {
        Some((to, network)) if passable.is_empty() => Err(RealTimeError::Message(format!(
            "the route to {network} would lead the tunnel's own packets, which go to {to}, into the \
             tunnel: say by which interface they leave, as --outer eth0"
        ))),
        _ => Ok(passable),
    }
}

impl ClientOptions {
    /// Returns the device's MTU before the first connection.
    fn first_mtu(&self) -> u32 {
        u32::from(self.mtu.saturating_sub(HEADERS))
    }
}

impl Client<'_> {
    /// Applies what the server has handed out with this connection to the device, and creates the
    /// device if there is none.
    ///
    /// # Errors
    /// The server's settings are invalid, or the kernel refuses something.
    fn use_handout(
        &mut self,
        connection: &Connection,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), RealTimeError> {
        let wanted =
            settings(&self.options.device, connection.handout()).map_err(RealTimeError::Message)?;
        passable(&[connection.remote().0], self.options, &wanted)?;
        if self.device.is_some() && wanted == self.settings {
            return Ok(());
        }
        // Remove the former device first, with its addresses and routes: the new one has the same
        // name.
        self.device = None;
        self.device = Some(Device::open(&wanted, self.options.first_mtu())?);
        self.settings = wanted;
        tell(Event::Device(self.options.device.name.clone()));
        Ok(())
    }

    /// Closes a connection that cannot be used. Sends the close once.
    fn turn_down(&mut self, connection: &mut Connection, socket: &mut Socket) {
        connection.close(1, "the client cannot use what was handed out");
        let now = self.clock.now();
        self.outbox.send(socket, 1, |place| connection.transmit(now, place));
    }

    /// Reads and drops the device's packets while there is no connection, because they would be
    /// delivered too late.
    ///
    /// # Errors
    /// The device has been removed.
    fn drop_packets(&mut self) -> Result<(), RealTimeError> {
        self.device.as_mut().map_or(Ok(()), |device| device.read(|_| {}))
    }

    /// Tries once to connect. Uses a new socket, so that a local address that has disappeared is
    /// not used again.
    fn attempt(&mut self, to: &[SocketAddr]) -> Result<(Option<Socket>, Attempt), RealTimeError> {
        let mut socket = Socket::for_any_of(to)?;
        if let Some(outer) = &self.options.outer {
            socket.bind_to_device(outer)?;
        }
        if let Some(mark) = self.options.mark {
            socket.set_mark(mark)?;
        }
        let attempt = self.connect(to, &mut socket)?;
        Ok((Some(socket), attempt))
    }

    fn connect(
        &mut self,
        to: &[SocketAddr],
        socket: &mut Socket,
    ) -> Result<Attempt, RealTimeError> {
        let ClientOptions { scheme, plaintext, mtu, keepalive, limits, key, .. } = self.options;
        let offer = Offer {
            plaintext: *plaintext,
            service: Service::Datagrams,
            scheme: scheme.clone(),
            back: scheme.clone(),
            mtu: *mtu,
            window: limits.window,
            keepalive: *keepalive,
            ..Offer::default()
        };
        let failed = |error: &ConnectError, text: String| match error {
            ConnectError::Silence { .. } => Attempt::Failed(RealTimeError::Message(text)),
            _ => Attempt::Refused(RealTimeError::Message(text)),
        };
        let mut race = Race::new(self.clock.now(), key, to, offer, limits.clone());
        loop {
            let now = self.clock.now();
            if let Err(error) = race.transmit(now, socket, &mut self.outbox) {
                return Ok(failed(&error, race.error_text(&error)));
            }
            let input = self.device.as_ref().map(AsFd::as_fd);
            let until = race.wake();
            let ready = wait(&mut self.clock, until, socket.as_fd(), input, &self.interrupts)?;
            if ready.interrupted {
                return Ok(Attempt::Interrupted);
            }
            self.answer_control(None);
            self.drop_packets()?;
            let now = self.clock.now();
            let mut made = None;
            socket.receive(&mut self.inbox, |group| {
                for bytes in group.bytes.chunks(group.size) {
                    if made.is_none() {
                        made = race.on_datagram(now, bytes).transpose();
                    }
                }
            })?;
            match made {
                Some(Ok(connection)) => return Ok(Attempt::Made(Box::new(connection))),
                Some(Err(error)) => return Ok(failed(&error, error.to_string())),
                None => {}
            }
        }
    }

    /// Carries packets until the connection is over.
    fn carry(
        &mut self,
        mut connection: Connection,
        mut socket: Socket,
        tell: &mut dyn FnMut(Event),
    ) -> Result<End, RealTimeError> {
        let Some(mut device) = self.device.take() else {
            return Err(RealTimeError::Message("there is no device".into()));
        };
        let with = Peer::from(connection.remote().0);
        let longest = connection.longest_datagram();
        device.set_longest(Some(longest))?;
        let too_small = device.is_too_small(longest);
        tell(Event::Connected { with: with.clone(), mtu: longest, too_small });
        let now = self.clock.now();
        let mut carrier = Carrier::new(now, longest, &self.settings.addresses);
        let received = ByteCounter::new(now);
        let mut course = Course { peer: with.clone(), connected_at: now, heard_at: now, received };
        let mut deadline = Time::NEVER;
        let end = loop {
            let now = self.clock.now();
            let count = self.outbox.send(&mut socket, BURST, |place| {
                carrier.refill(now, &mut connection);
                connection.transmit(now, place)
            });
            if self.outbox.was_too_large() {
                connection.on_too_large(now);
            }
            if let Some(end) = connection.ended() {
                break end.clone();
            }
            if now >= deadline {
                break End::Here { code: 0, reason: String::new() };
            }
            let longest = connection.longest_datagram();
            if carrier.set_longest(longest) {
                device.set_longest(Some(longest))?;
                tell(Event::PacketSize { with: connection.remote().0.into(), mtu: longest });
            }
            let due = connection.wake().min(deadline);
            let until = if count == BURST { Time::ZERO } else { due };
            let input = Some(device.as_fd());
            let found = wait(&mut self.clock, until, socket.as_fd(), input, &self.interrupts)?;
            // Packets have come since the wait began.
            let now = self.clock.now();
            if found.interrupted {
                connection.close(0, "the client of the tunnel was stopped");
                deadline = deadline.min(self.clock.now() + FAREWELL);
            }
            if self.interrupts.take_reload() {
                tell(Event::NoList);
            }
            self.answer_control(Some((&connection, &carrier, &course, device.mtu())));
            if found.socket {
                self.receive((&mut connection, &mut device), &socket, now, &mut course)?;
            }
            if found.input {
                let limit = Carrier::limit(&connection);
                device.read(|packet| carrier.push(now, packet, limit))?;
            }
            carrier.answers().for_each(|answer| device.write(&answer));
        };
        self.device = Some(device);
        tell(Event::Ended { with, reason: reason(&end), stats: carrier.stats() });
        Ok(end)
    }

    fn receive(
        &mut self,
        (connection, device): (&mut Connection, &mut Device),
        socket: &Socket,
        told: Time,
        course: &mut Course,
    ) -> Result<(), RealTimeError> {
        let ahead = self.clock.ahead();
        let now = self.clock.now();
        let Client { inbox, clock, .. } = self;
        let Course { received, heard_at, .. } = course;
        let longest = connection.longest_datagram();
        let mut sink = ToDevice { device, longest, now, received };
        let mut last = told;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, last, now);
            last = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                if connection.on_datagram(at, group.from, Ecn::of_bits(group.ecn), bytes, &mut sink)
                {
                    *heard_at = at;
                }
            }
        })?;
        device.flush();
        Ok(())
    }

    /// Waits before the next attempt. Returns true if it was interrupted.
    fn pause(&mut self) -> Result<bool, RealTimeError> {
        let end = self.clock.now() + PAUSE;
        loop {
            if self.clock.now() >= end {
                return Ok(false);
            }
            // Without a device, wait for interrupts only.
            let input = self.device.as_ref().map(AsFd::as_fd);
            let file = input.unwrap_or(self.interrupts.as_fd());
            let found = wait(&mut self.clock, end, file, None, &self.interrupts)?;
            if found.interrupted {
                return Ok(true);
            }
            self.answer_control(None);
            self.drop_packets()?;
        }
    }

    /// Answers the next request of the control socket.
    fn answer_control(&mut self, carried: Option<Carried<'_>>) {
        // The process that asked may have closed its connection.
        match self.control.as_ref().and_then(Control::take) {
            None => {}
            Some(Request::Status(answer)) => {
                let _ = answer.try_send(self.status(carried));
            }
            Some(Request::Reload(answer)) => {
                let _ =
                    answer.try_send(Err("this is a client, which has no list of clients".into()));
            }
        }
    }

    fn status(&mut self, carried: Option<Carried<'_>>) -> TunnelStatus {
        let now = self.clock.now();
        let without = self.device.as_ref().map_or(0, Device::mtu);
        let mtu = carried.map_or(without, |(.., mtu)| mtu);
        let peer = carried.map(|(connection, carrier, course, _)| {
            let known = Known {
                carrier,
                peer: &course.peer,
                key: None,
                event_loop: None,
                connected_at: course.connected_at,
                heard_at: course.heard_at,
                received: &course.received,
                not_allowed: 0,
                addresses: self.settings.routes.iter().map(Prefix::to_string).collect(),
            };
            PeerStatus::of(now, connection, known)
        });
        TunnelStatus {
            role: "client".into(),
            device: self.options.device.name.clone(),
            pid: std::process::id(),
            network: network(),
            at: self.options.to.clone(),
            addresses: self.settings.addresses.iter().map(Prefix::to_string).collect(),
            mtu_bytes: u64::from(mtu),
            uptime_s: now.as_secs_f64(),
            accepted: self.connections,
            waiting: self.waiting.clone(),
            peers: peer.into_iter().collect(),
            ..TunnelStatus::default()
        }
    }
}
