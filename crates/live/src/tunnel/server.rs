//! The end of a tunnel that is connected to, by one client or by many.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_wire::key::Identity;
use paceline_wire::{End, Server, ServerLimits, Sink};

use super::Prefix;
use super::carrier::{Carrier, CarrierStats};
use super::device::{Device, DeviceOptions};
use super::neighbours::Neighbours;
use super::{Event, reason};
use crate::emulator::packet::ends;
use crate::linux::udp::{Inbox, Socket};
use crate::udp::client::mark;
use crate::udp::clock::{Clock, wait};
use crate::udp::outbox::Outbox;
use crate::udp::server_loop::{Deaf, FAREWELL, note_local};
use crate::{Interrupts, LiveError};

/// How many packets of a connection leave before arrivals are looked at again.
const BURST: usize = 64;
/// The MTU of the device before anybody has connected: what connections over 1500 bytes leave.
const MTU: u32 = 1380;

/// What a server shall do.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its keys.
    pub identity: Identity,
    /// What it allows.
    pub limits: ServerLimits,
    /// The device.
    pub device: DeviceOptions,
    /// True if it ends with its first connection.
    pub once: bool,
}

/// What the server knows of a client.
struct Client {
    carrier: Carrier,
    at: SocketAddr,
    /// The identifier of its connection.
    local: u32,
}

/// How often it is told at most that a client sends from addresses that are not its own.
const REFUSAL_INTERVAL: Span = Span::from_secs(60);

/// What is checked of a client's packets.
struct Sender {
    slot: usize,
    /// The most bytes of a packet to this client.
    longest: usize,
    /// Packets that were dropped because their source is not this client's.
    not_allowed: u64,
    /// When that was told last.
    refusal_told_at: Option<Time>,
}

/// A packet's source that is not its sender's.
struct RefusedSource {
    slot: usize,
    source: IpAddr,
    owner: usize,
}

/// Hands what arrives to the device, if its source address inside is its sender's.
struct Arrivals {
    device: Device,
    neighbours: Neighbours,
    /// When the datagram that is taken in arrived.
    now: Time,
    /// By the connection's identifier.
    senders: BTreeMap<u32, Sender>,
    refused: Vec<RefusedSource>,
}

impl Arrivals {
    /// Returns false, and counts it, if the packet's source is not its sender's.
    fn is_allowed(&mut self, connection: u32, bytes: &[u8]) -> bool {
        let Some(sender) = self.senders.get_mut(&connection) else { return false };
        // What is no IP packet the kernel drops.
        let Some((source, _)) = ends(bytes) else { return true };
        let Err(owner) = self.neighbours.learn(self.now, source, sender.slot) else { return true };
        sender.not_allowed += 1;
        let now = self.now;
        if sender.refusal_told_at.is_none_or(|at| now.since(at) >= REFUSAL_INTERVAL) {
            sender.refusal_told_at = Some(now);
            self.refused.push(RefusedSource { slot: sender.slot, source, owner });
        }
        false
    }
}

impl Sink for Arrivals {
    fn on_datagram(&mut self, connection: u32, bytes: &[u8]) {
        if self.is_allowed(connection, bytes) {
            let longest = self.senders.get(&connection).map(|sender| sender.longest);
            self.device.deliver(bytes, longest.unwrap_or(MTU as usize));
        }
    }
}

struct Tunnel {
    server: Server,
    socket: Socket,
    outbox: Outbox,
    arrivals: Arrivals,
    networks: Vec<Prefix>,
    clients: BTreeMap<usize, Client>,
    /// The address of this machine that each connection's newest packet came to.
    locals: BTreeMap<usize, IpAddr>,
    events: Vec<Event>,
    good: bool,
}

/// Serves until it is interrupted, or, with `once`, until its first connection is over. `tell` is told
/// what happens. Returns false if a connection has ended badly.
///
/// # Errors
/// The address is taken, the device cannot be made or has gone.
pub fn server(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, LiveError> {
    let mut clock = Clock::start();
    let socket = Socket::bind(options.listen)?;
    let interrupts = Interrupts::watch()?;
    let limits = ServerLimits { datagrams: true, ..options.limits.clone() };
    let server = Server::new(options.identity.clone(), limits)
        .map_err(|error| LiveError::Message(error.to_string()))?;
    let device = Device::open(&options.device, MTU)?;
    tell(Event::Device(options.device.name.clone()));
    tell(Event::Listening(socket.local()?));
    let mut tunnel = Tunnel {
        server,
        socket,
        outbox: Outbox::new(),
        arrivals: Arrivals {
            device,
            neighbours: Neighbours::default(),
            now: Time::ZERO,
            senders: BTreeMap::new(),
            refused: Vec::new(),
        },
        networks: options.device.addresses.clone(),
        clients: BTreeMap::new(),
        locals: BTreeMap::new(),
        events: Vec::new(),
        good: true,
    };
    let mut inbox = Inbox::default();
    let mut told = clock.now();
    loop {
        let (wake, input) = (tunnel.server.wake(), Some(tunnel.arrivals.device.as_fd()));
        let ready = wait(&mut clock, wake, tunnel.socket.as_fd(), input, &interrupts)?;
        if ready.interrupted {
            tunnel.close_all(&mut clock, &mut inbox, &interrupts)?;
            tunnel.events.drain(..).for_each(&mut *tell);
            tell(Event::Stopping(tunnel.server.stats()));
            return Ok(tunnel.good);
        }
        if ready.socket {
            tunnel.receive(&mut clock, &mut inbox, &mut told)?;
        }
        told = clock.now();
        if ready.input {
            tunnel.take_from_device(told)?;
        }
        let ended = tunnel.transmit(told)?;
        tunnel.events.drain(..).for_each(&mut *tell);
        if ended && options.once {
            return Ok(tunnel.good);
        }
    }
}

impl Tunnel {
    fn receive(
        &mut self,
        clock: &mut Clock,
        inbox: &mut Inbox,
        told: &mut Time,
    ) -> Result<(), LiveError> {
        let (ahead, now) = (clock.ahead(), clock.now());
        let mut answers = Vec::new();
        let mut seen = Vec::new();
        let Tunnel { server, socket, arrivals, locals, .. } = self;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, *told, now);
            *told = at;
            arrivals.now = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                let slot = server.on_datagram(at, group.from, mark(group.ecn), bytes, arrivals);
                answers.extend(server.take_answer().map(|answer| (group.local, answer)));
                let Some(slot) = slot else { continue };
                if seen.last() != Some(&slot) {
                    note_local(locals, slot, group.local);
                    seen.push(slot);
                }
            }
        })?;
        arrivals.device.flush();
        for (local, (to, answer)) in answers {
            self.outbox.leave_from(local);
            self.outbox.send_one(&mut self.socket, to, &answer);
        }
        self.tell_refused();
        seen.into_iter().try_for_each(|slot| self.meet(slot))
    }

    fn tell_refused(&mut self) {
        let Tunnel { arrivals, clients, events, .. } = self;
        let address = |slot| clients.get(&slot).map(|client: &Client| client.at);
        events.extend(arrivals.refused.drain(..).filter_map(|refused| {
            let RefusedSource { slot, source, owner } = refused;
            Some(Event::SourceRefused { with: address(slot)?, source, owner: address(owner)? })
        }));
    }

    /// Something has come from this client: notes one that is new or has moved.
    fn meet(&mut self, slot: usize) -> Result<(), LiveError> {
        let Some(connection) = self.server.connection(slot) else { return Ok(()) };
        let (at, longest) = (connection.remote().0, connection.longest_datagram());
        if let Some(client) = self.clients.get_mut(&slot) {
            if client.at != at {
                client.at = at;
                self.events.push(Event::Moved(at));
            }
            if client.carrier.set_longest(longest) {
                self.events.push(Event::PacketSize { with: at, mtu: longest });
                if let Some(sender) = self.arrivals.senders.get_mut(&client.local) {
                    sender.longest = longest;
                }
                return self.set_mtu();
            }
            return Ok(());
        }
        let (carrier, local) = (Carrier::new(longest, &self.networks), connection.local());
        self.clients.insert(slot, Client { carrier, at, local });
        let sender = Sender { slot, longest, not_allowed: 0, refusal_told_at: None };
        self.arrivals.senders.insert(local, sender);
        self.arrivals.neighbours.add(slot);
        self.set_mtu()?;
        let too_small = self.arrivals.device.is_too_small(longest);
        self.events.push(Event::Connected { with: at, mtu: longest, too_small });
        Ok(())
    }

    /// The device has the MTU of the client whose path carries most; whoever sends packets that are too
    /// long to another one is told so.
    fn set_mtu(&mut self) -> Result<(), LiveError> {
        let Arrivals { device, senders, .. } = &mut self.arrivals;
        let most = senders.values().map(|sender| sender.longest).max();
        most.map_or(Ok(()), |most| device.set_mtu(most))
    }

    /// Puts the packets of the device into the queues of those who get them.
    fn take_from_device(&mut self, now: Time) -> Result<(), LiveError> {
        let Tunnel { server, arrivals, clients, .. } = self;
        let Arrivals { device, neighbours, .. } = arrivals;
        let mut touched = Vec::new();
        device.read(|packet| {
            let slot = ends(packet).and_then(|(_, to)| neighbours.find(to));
            let Some(slot) = slot else { return };
            let (Some(client), Some(connection)) =
                (clients.get_mut(&slot), server.connection(slot))
            else {
                return;
            };
            client.carrier.push(now, packet, Carrier::limit(connection));
            if touched.last() != Some(&slot) {
                touched.push(slot);
            }
        })?;
        for slot in touched {
            if let (Some(client), Some(connection)) =
                (clients.get_mut(&slot), server.connection(slot))
            {
                client.carrier.refill(now, connection);
                server.reschedule(slot);
                client.carrier.answers().for_each(|answer| device.write(&answer));
            }
        }
        Ok(())
    }

    /// Sends what is due; true if a connection has ended.
    fn transmit(&mut self, now: Time) -> Result<bool, LiveError> {
        let mut any = false;
        // Some rounds, so that arrivals are looked at even if there is always something to send.
        for _ in 0..BURST {
            let Some(slot) = self.server.due(now) else { break };
            let Tunnel { server, socket, outbox, clients, arrivals, locals, .. } = self;
            outbox.leave_from(locals.get(&slot).copied());
            let count = outbox.send(socket, BURST, |place| {
                if let Some(client) = clients.get_mut(&slot)
                    && let Some(connection) = server.connection(slot)
                {
                    client.carrier.refill(now, connection);
                }
                server.transmit(now, slot, place)
            });
            if count == BURST {
                server.postpone(now, slot);
            }
            if let Some(client) = clients.get_mut(&slot) {
                client.carrier.answers().for_each(|answer| arrivals.device.write(&answer));
            }
            if outbox.was_too_large()
                && let Some(connection) = server.connection(slot)
            {
                connection.on_too_large(now);
                server.reschedule(slot);
            }
            if let Some(end) = self.server.connection(slot).and_then(|c| c.ended().cloned()) {
                // A handshake after which nothing came was no connection.
                let stood = !self.server.is_half_open(slot);
                self.end(slot, &end, stood)?;
                any |= stood;
            }
        }
        Ok(any)
    }

    fn end(&mut self, slot: usize, end: &End, stood: bool) -> Result<(), LiveError> {
        self.server.remove(slot);
        self.locals.remove(&slot);
        self.arrivals.neighbours.remove(slot);
        if let Some(client) = self.clients.remove(&slot) {
            let sender = self.arrivals.senders.remove(&client.local);
            let not_allowed = sender.map_or(0, |sender| sender.not_allowed);
            let stats = CarrierStats { not_allowed, ..client.carrier.stats() };
            let reason = reason(end);
            self.good &= reason.is_empty() || !stood;
            self.events.push(Event::Ended { with: client.at, reason, stats });
        }
        self.set_mtu()
    }

    /// Tells everybody that this end is going, until all have answered or [`FAREWELL`] is over.
    fn close_all(
        &mut self,
        clock: &mut Clock,
        inbox: &mut Inbox,
        interrupts: &Interrupts,
    ) -> Result<(), LiveError> {
        let slots: Vec<usize> = self.server.slots().collect();
        for slot in slots {
            if let Some(connection) = self.server.connection(slot) {
                connection.close(1, "the server of the tunnel was stopped");
            }
            self.server.reschedule(slot);
        }
        let end = clock.now() + FAREWELL;
        loop {
            let now = clock.now();
            let Tunnel { server, socket, outbox, locals, .. } = self;
            while let Some(slot) = server.due(now) {
                outbox.leave_from(locals.get(&slot).copied());
                outbox.send(socket, BURST, |place| server.transmit(now, slot, place));
                if server.connection(slot).is_none_or(|one| one.ended().is_some()) {
                    server.remove(slot);
                }
            }
            if server.slots().next().is_none() || now >= end {
                return Ok(());
            }
            let ready = wait(clock, server.wake().min(end), socket.as_fd(), None, interrupts)?;
            if ready.interrupted {
                return Ok(());
            }
            if ready.socket {
                let now = clock.now();
                socket.receive(inbox, |group| {
                    for bytes in group.bytes.chunks_mut(group.size) {
                        server.on_datagram(now, group.from, mark(group.ecn), bytes, &mut Deaf);
                        server.take_answer();
                    }
                })?;
            }
        }
    }
}
