//! The end of a tunnel that connects, again and again if need be.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_wire::key::Key;
use paceline_wire::{ConnectError, Connection, End, Limits, Offer, Service, Sink};

use super::carrier::Carrier;
use super::device::{Device, DeviceOptions};
use super::{Event, reason};
use crate::linux::udp::{Inbox, Socket};
use crate::udp::addresses::Name;
use crate::udp::client::mark;
use crate::udp::clock::{Clock, wait};
use crate::udp::outbox::Outbox;
use crate::udp::race::Race;
use crate::{Interrupts, LiveError};

/// How many packets leave before arrivals are looked at again.
const BURST: usize = 64;
/// How long a close may take.
const FAREWELL: Span = Span::from_millis(1000);
/// The pause before it is tried again to connect.
const PAUSE: Span = Span::from_millis(1000);
/// How long an attempt to connect waits for name servers; the first one, before there is a device, for less.
const LOOKUP: Span = Span::from_secs(5);
const FIRST_LOOKUP: Span = Span::from_secs(1);
/// Bytes of headers that are certainly enough, as long as there is no connection that says it.
const HEADERS: u16 = 120;

/// What a client shall do.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The server, as `host:port`; the name is looked up for each connection.
    pub to: String,
    /// Its key.
    pub key: Key,
    /// The scheme of both directions.
    pub scheme: String,
    /// Packets are not encrypted.
    pub plaintext: bool,
    /// The largest packet on the way, IP and UDP headers included.
    pub mtu: u16,
    /// The device.
    pub device: DeviceOptions,
    /// The interface by which the tunnel's own packets leave; `None` follows the routes.
    pub outer: Option<String>,
    /// The mark of the tunnel's own packets (`SO_MARK`), by which policy rules keep them out of the tunnel.
    pub mark: Option<u32>,
    /// What connections may use.
    pub limits: Limits,
    /// True if it ends with its first connection; else it connects again.
    pub once: bool,
}

/// How an attempt to connect has ended.
enum Attempt {
    Made(Box<Connection>),
    Interrupted,
    Failed(LiveError),
    Refused(LiveError),
}

struct Client<'a> {
    options: &'a ClientOptions,
    clock: Clock,
    inbox: Inbox,
    outbox: Outbox,
    interrupts: Interrupts,
    device: Device,
}

/// Hands what arrives to the device; this end sends packets of so many bytes at most.
struct ToDevice<'a>(&'a mut Device, usize);

impl Sink for ToDevice<'_> {
    fn on_datagram(&mut self, _connection: u32, bytes: &[u8]) {
        self.0.deliver(bytes, self.1);
    }
}

/// Carries packets between the device and the server until it is interrupted, or, with `once`, until
/// the connection is over. `tell` is told what happens. Returns false if the connection has ended
/// badly.
///
/// # Errors
/// The device cannot be made or has gone; the server refuses; with `once`, there is no connection.
pub fn client(options: &ClientOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, LiveError> {
    let mut clock = Clock::start();
    let interrupts = Interrupts::watch()?;
    // Before anything is changed: a route that would swallow the tunnel's own packets.
    let mut name = Name::new(&options.to);
    if look_up(&mut name, &mut clock, &interrupts, None)? {
        return Ok(true);
    }
    if let Ok(addresses) = name.addresses() {
        passable(addresses, options)?;
    }
    let device = Device::open(&options.device, u32::from(options.mtu.saturating_sub(HEADERS)))?;
    tell(Event::Device(options.device.name.clone()));
    let mut client = Client {
        options,
        clock,
        inbox: Inbox::default(),
        outbox: Outbox::new(),
        interrupts,
        device,
    };
    let mut connected = false;
    loop {
        // Each time: the name may have moved into a network that is routed through the tunnel.
        let attempt = match name.addresses() {
            Ok(addresses) => match passable(addresses, options) {
                Ok(addresses) => client.attempt(&addresses),
                Err(error) => Ok((None, Attempt::Refused(error))),
            },
            Err(error) => Ok((None, Attempt::Failed(LiveError::Message(error.to_string())))),
        };
        let (socket, attempt) = attempt.unwrap_or_else(|error| (None, Attempt::Failed(error)));
        match (attempt, socket) {
            (Attempt::Made(connection), Some(socket)) => {
                connected = true;
                let end = client.carry(*connection, socket, tell)?;
                match end {
                    End::Here { .. } => return Ok(true),
                    end if options.once => return Ok(reason(&end).is_empty()),
                    _ => {}
                }
            }
            (Attempt::Interrupted, _) => return Ok(true),
            (Attempt::Refused(error), _) if options.once || !connected => return Err(error),
            (Attempt::Failed(error), _) if options.once => return Err(error),
            (Attempt::Failed(error) | Attempt::Refused(error), _) => {
                tell(Event::Waiting(error.to_string()));
            }
            (Attempt::Made(_), None) => {}
        }
        if client.pause()? {
            return Ok(true);
        }
        // The server may have moved; where names cannot be looked up now, it has not.
        let Client { clock, interrupts, device, .. } = &mut client;
        if look_up(&mut name, clock, interrupts, Some(device))? {
            return Ok(true);
        }
    }
}

/// Looks the server's name up, for [`LOOKUP`] at most, or for [`FIRST_LOOKUP`] without a device; true if it was interrupted. Packets that the device has
/// meanwhile are dropped.
fn look_up(
    name: &mut Name,
    clock: &mut Clock,
    interrupts: &Interrupts,
    mut device: Option<&mut Device>,
) -> Result<bool, LiveError> {
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

/// Returns the addresses to which packets do not go through the device itself.
///
/// # Errors
/// There are none.
fn passable(
    addresses: &[SocketAddr],
    options: &ClientOptions,
) -> Result<Vec<SocketAddr>, LiveError> {
    let DeviceOptions { addresses: own, routes, .. } = &options.device;
    let swallows = |to: IpAddr| own.iter().chain(routes).find(|network| network.contains(to));
    let is_apart = options.outer.is_some() || options.mark.is_some();
    let passes = |to: &SocketAddr| is_apart || swallows(to.ip().to_canonical()).is_none();
    let passable: Vec<SocketAddr> = addresses.iter().copied().filter(passes).collect();
    let swallowed =
        addresses.first().and_then(|to| Some((to.ip(), swallows(to.ip().to_canonical())?)));
    match swallowed {
        Some((to, network)) if passable.is_empty() => Err(LiveError::Message(format!(
            "the route to {network} would lead the tunnel's own packets, which go to {to}, into the \
             tunnel: say by which interface they leave, as --outer eth0"
        ))),
        _ => Ok(passable),
    }
}

impl Client<'_> {
    /// Tries once to connect, with a socket of its own: an address that is gone is not used again.
    fn attempt(&mut self, to: &[SocketAddr]) -> Result<(Option<Socket>, Attempt), LiveError> {
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

    fn connect(&mut self, to: &[SocketAddr], socket: &mut Socket) -> Result<Attempt, LiveError> {
        let ClientOptions { scheme, plaintext, mtu, limits, key, .. } = self.options;
        let offer = Offer {
            plaintext: *plaintext,
            service: Service::Datagrams,
            scheme: scheme.clone(),
            back: scheme.clone(),
            mtu: *mtu,
            window: limits.window,
            ..Offer::default()
        };
        let failed = |error: ConnectError| {
            let text = error.to_string().replace("`paceline recv`", "`paceline tunnel server`");
            match error {
                ConnectError::Silence { .. } => Attempt::Failed(LiveError::Message(text)),
                _ => Attempt::Refused(LiveError::Message(text)),
            }
        };
        let mut race = Race::new(self.clock.now(), key, to, offer, limits.clone());
        loop {
            let now = self.clock.now();
            if let Err(error) = race.transmit(now, socket, &mut self.outbox) {
                return Ok(failed(error));
            }
            let input = Some(self.device.as_fd());
            let until = race.wake();
            let ready = wait(&mut self.clock, until, socket.as_fd(), input, &self.interrupts)?;
            if ready.interrupted {
                return Ok(Attempt::Interrupted);
            }
            // Packets that the device has meanwhile would be late: they are read and forgotten.
            self.device.read(|_| {})?;
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
                Some(Ok(winner)) => return Ok(Attempt::Made(Box::new(winner.connection))),
                Some(Err(error)) => return Ok(failed(error)),
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
    ) -> Result<End, LiveError> {
        let with = connection.remote().0;
        let longest = connection.longest_datagram();
        self.device.set_mtu(longest)?;
        let too_small = self.device.is_too_small(longest);
        tell(Event::Connected { with, mtu: longest, too_small });
        let mut carrier = Carrier::new(longest, &self.options.device.addresses);
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
                self.device.set_mtu(longest)?;
                tell(Event::PacketSize { with: connection.remote().0, mtu: longest });
            }
            let due = connection.wake().min(deadline);
            let until = if count == BURST { Time::ZERO } else { due };
            let input = Some(self.device.as_fd());
            let found = wait(&mut self.clock, until, socket.as_fd(), input, &self.interrupts)?;
            if found.interrupted {
                connection.close(0, "the client of the tunnel was stopped");
                deadline = deadline.min(self.clock.now() + FAREWELL);
            }
            if found.socket {
                self.receive(&mut connection, &socket, now)?;
            }
            if found.input {
                let limit = Carrier::limit(&connection);
                self.device.read(|packet| carrier.push(now, packet, limit))?;
            }
            carrier.answers().for_each(|answer| self.device.write(&answer));
        };
        tell(Event::Ended { with, reason: reason(&end), stats: carrier.stats() });
        Ok(end)
    }

    fn receive(
        &mut self,
        connection: &mut Connection,
        socket: &Socket,
        told: Time,
    ) -> Result<(), LiveError> {
        let ahead = self.clock.ahead();
        let now = self.clock.now();
        let Client { inbox, clock, device, .. } = self;
        let mut sink = ToDevice(device, connection.longest_datagram());
        let mut last = told;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, last, now);
            last = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                connection.on_datagram(at, group.from, mark(group.ecn), bytes, &mut sink);
            }
        })?;
        self.device.flush();
        Ok(())
    }

    /// Waits before the next attempt; true if it was interrupted.
    fn pause(&mut self) -> Result<bool, LiveError> {
        let end = self.clock.now() + PAUSE;
        loop {
            if self.clock.now() >= end {
                return Ok(false);
            }
            // Packets that the device has meanwhile would be late: they are read and forgotten.
            let device = self.device.as_fd();
            let found = wait(&mut self.clock, end, device, None, &self.interrupts)?;
            if found.interrupted {
                return Ok(true);
            }
            self.device.read(|_| {})?;
        }
    }
}
