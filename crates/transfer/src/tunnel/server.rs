//! The end of a tunnel that is connected to, by one client or by many.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::Arc;

use paceline_cc::Time;
use paceline_ip::packet::ends;
use paceline_os::udp::{Inbox, Socket};
use paceline_os::{Interrupts, LiveError};
use paceline_wire::key::Identity;
use paceline_wire::{ClientPublic, End, Server, ServerLimits};

use super::Prefix;
use super::arrivals::{Arrivals, RefusedSource, Sender};
use super::carrier::{Carrier, CarrierStats};
use super::client_list::{ClientList, ClientListOptions};
use super::control::{Control, Request, network};
use super::device::{Device, DeviceOptions};
use super::neighbours::Neighbours;
use super::owners::{ListedOwners, Owners};
use super::status::{Known, PeerStatus, TunnelStatus};
use super::{Event, Peer, reason};
use crate::clients_file::ListedClient;
use crate::udp::client::mark;
use crate::udp::clock::{Clock, wait};
use crate::udp::outbox::Outbox;
use crate::udp::server_loop::{Deaf, FAREWELL, note_local};

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
    /// The clients that it admits; `None` admits all who have its key.
    pub clients: Option<ClientListOptions>,
    /// True if it ends with its first connection.
    pub once: bool,
    /// True if SIGHUP does not end it where it has no list of clients to read again: a service, which systemd may ask to
    /// reload so.
    pub outlives_hangup: bool,
}

/// What the server knows of a client.
struct Client {
    carrier: Carrier,
    peer: Peer,
    key: Option<ClientPublic>,
    /// Something has come from it since the handshake, which alone may be a repetition.
    confirmed: bool,
    /// The identifier of its connection.
    local: u32,
    connected_at: Time,
    /// When its last packet came.
    heard_at: Time,
}

struct Tunnel {
    server: Server,
    socket: Socket,
    outbox: Outbox,
    arrivals: Arrivals,
    networks: Vec<Prefix>,
    list: Option<ClientList>,
    clients: BTreeMap<usize, Client>,
    /// The address of this machine that each connection's newest packet came to.
    locals: BTreeMap<usize, IpAddr>,
    control: Option<Control>,
    /// Packets from the device whose destination no connected client owns.
    without_owner: u64,
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
    let interrupts = Interrupts::watch_for(options.clients.is_some() || options.outlives_hangup)?;
    let networks = options.device.addresses.clone();
    let list =
        options.clients.as_ref().map(|list| ClientList::read(list, &networks)).transpose()?;
    let limits = ServerLimits { datagrams: true, one_per_client: true, ..options.limits.clone() };
    let mut server = Server::new(options.identity.clone(), limits)
        .map_err(|error| LiveError::Message(error.to_string()))?;
    server.admit_only(list.as_ref().map(|list| Arc::clone(&list.admission)));
    let owners = match &list {
        Some(list) => Owners::Listed(ListedOwners::new(&list.file)),
        None => Owners::Learnt(Neighbours::default()),
    };
    let device = Device::open(&options.device, MTU)?;
    tell(Event::Device(options.device.name.clone()));
    tell(Event::Listening(socket.local()?));
    let control = Control::open(&options.device.name, interrupts.waker());
    let (control, no_control) = match control {
        Ok(control) => (Some(control), None),
        Err(error) => (None, Some(Event::NoControl(error.to_string()))),
    };
    no_control.into_iter().for_each(&mut *tell);
    let mut tunnel = Tunnel {
        server,
        socket,
        outbox: Outbox::new(),
        arrivals: Arrivals::new(device, owners),
        networks,
        list,
        clients: BTreeMap::new(),
        locals: BTreeMap::new(),
        control,
        without_owner: 0,
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
        if interrupts.take_reload() {
            match options.clients {
                // What is wrong is told as an event.
                Some(_) => drop(tunnel.read_list(options)),
                None => tunnel.events.push(Event::NoList),
            }
        }
        tunnel.answer_control(told, options);
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
        seen.into_iter().try_for_each(|slot| self.meet(now, slot))
    }

    fn tell_refused(&mut self) {
        let Tunnel { arrivals, clients, events, .. } = self;
        let peer = |slot| clients.get(&slot).map(|client: &Client| client.peer.clone());
        events.extend(arrivals.refused.drain(..).filter_map(|refused| {
            let RefusedSource { slot, source, owner } = refused;
            Some(Event::SourceRefused { with: peer(slot)?, source, owner: owner.and_then(peer) })
        }));
    }

    /// Something has come from this client: notes one that is new, is there for certain now, or has moved.
    fn meet(&mut self, now: Time, slot: usize) -> Result<(), LiveError> {
        let Some(connection) = self.server.connection(slot) else { return Ok(()) };
        let (at, longest) = (connection.remote().0, connection.longest_datagram());
        let (key, local) = (connection.client(), connection.local());
        let is_half_open = self.server.is_half_open(slot);
        let name = self.list.as_ref().zip(key).and_then(|(list, key)| list.name(&key));
        let Tunnel { clients, arrivals, events, networks, .. } = self;
        let client = clients.entry(slot).or_insert_with(|| {
            arrivals.senders.insert(local, Sender::new(now, slot, longest));
            arrivals.owners.add(slot, key);
            Client {
                carrier: Carrier::new(now, longest, networks),
                peer: Peer { remote: at, name },
                key,
                confirmed: false,
                local,
                connected_at: now,
                heard_at: now,
            }
        });
        client.heard_at = now;
        if is_half_open {
            return Ok(());
        }
        if client.peer.remote != at {
            client.peer.remote = at;
            events.push(Event::Moved(at));
        }
        let has_changed = client.carrier.set_longest(longest);
        if has_changed && let Some(sender) = arrivals.senders.get_mut(&local) {
            sender.longest = longest;
        }
        let with = client.peer.clone();
        if !client.confirmed {
            client.confirmed = true;
            let too_small = arrivals.device.is_too_small(longest);
            events.push(Event::Connected { with, mtu: longest, too_small });
            // Connections of this client that are being replaced have no addresses any more.
            let is_former = |(other, former): (&usize, &Client)| {
                (*other != slot && key.is_some() && former.key == key).then_some(*other)
            };
            clients.iter().filter_map(is_former).for_each(|former| arrivals.owners.remove(former));
            arrivals.owners.confirm(slot);
        } else if has_changed {
            events.push(Event::PacketSize { with, mtu: longest });
        } else {
            return Ok(());
        }
        self.set_mtu()
    }

    /// Reads the list of clients again: clients that are not listed any more are turned out, new ones admitted, and
    /// others not disturbed. A list that is wrong changes nothing.
    ///
    /// # Errors
    /// What is wrong with the list, which is also told as an event.
    fn read_list(&mut self, options: &ServerOptions) -> Result<(), String> {
        let Some(place) = &options.clients else {
            return Err("this server has no list of clients (--clients FILE)".into());
        };
        let list = match ClientList::read(place, &self.networks) {
            Ok(list) => list,
            Err(error) => {
                self.events.push(Event::ListProblem(error.to_string()));
                return Err(error.to_string());
            }
        };
        self.server.admit_only(Some(Arc::clone(&list.admission)));
        if let Owners::Listed(owners) = &mut self.arrivals.owners {
            owners.set_list(&list.file);
        }
        for client in self.clients.values_mut() {
            let name = client.key.and_then(|key| list.name(&key));
            client.peer.name = name.or(client.peer.name.take());
        }
        self.events.push(Event::ListRead(list.file.clients.len()));
        self.list = Some(list);
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
        let Tunnel { server, arrivals, clients, without_owner, .. } = self;
        let Arrivals { device, owners, .. } = arrivals;
        let mut touched = Vec::new();
        device.read(|packet| {
            let slot = ends(packet).and_then(|(_, to)| owners.find(to));
            let Some(slot) = slot else {
                *without_owner += 1;
                return;
            };
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
        self.arrivals.owners.remove(slot);
        if let Some(client) = self.clients.remove(&slot) {
            let sender = self.arrivals.senders.remove(&client.local);
            let not_allowed = sender.map_or(0, |sender| sender.not_allowed);
            let stats = CarrierStats { not_allowed, ..client.carrier.stats() };
            let reason = reason(end);
            if stood && client.confirmed {
                self.good &= reason.is_empty();
                self.events.push(Event::Ended { with: client.peer, reason, stats });
            }
        }
        self.set_mtu()
    }

    /// Answers the next request of the control socket.
    fn answer_control(&mut self, now: Time, options: &ServerOptions) {
        // Whoever has asked may have gone away meanwhile.
        match self.control.as_ref().and_then(Control::take) {
            None => {}
            Some(Request::Status(answer)) => {
                let _ = answer.try_send(self.status(now, options));
            }
            Some(Request::Reload(answer)) => {
                let _ = answer.try_send(self.read_list(options));
            }
        }
    }

    fn status(&mut self, now: Time, options: &ServerOptions) -> TunnelStatus {
        let Tunnel { server, arrivals, clients, socket, without_owner, networks, list, .. } = self;
        let stats = server.stats();
        let texts = |networks: &[Prefix]| networks.iter().map(Prefix::to_string).collect();
        let listed = list.as_ref().map_or(&[][..], |list| &list.file.clients);
        let mut absent: BTreeMap<ClientPublic, &ListedClient> =
            listed.iter().map(|client| (client.key, client)).collect();
        let mut peers = Vec::new();
        for (slot, client) in clients.iter().filter(|(_, client)| client.confirmed) {
            let (Some(connection), Some(sender)) =
                (server.connection(*slot), arrivals.senders.get(&client.local))
            else {
                continue;
            };
            let listed = client.key.and_then(|key| absent.remove(&key));
            let used = arrivals.owners.learnt_of(*slot);
            let known = Known {
                carrier: &client.carrier,
                peer: &client.peer,
                key: client.key,
                connected_at: client.connected_at,
                heard_at: client.heard_at,
                received: &sender.received,
                not_allowed: sender.not_allowed,
                addresses: listed.map_or_else(
                    || used.iter().map(IpAddr::to_string).collect(),
                    |listed| texts(&listed.networks),
                ),
            };
            peers.push(PeerStatus::of(now, connection, known));
        }
        peers.extend(absent.values().map(|client| PeerStatus {
            name: Some(client.name.clone()),
            key: Some(client.key.to_string()),
            addresses: texts(&client.networks),
            ..PeerStatus::default()
        }));
        let at = socket.local().unwrap_or(options.listen);
        TunnelStatus {
            role: "server".into(),
            device: options.device.name.clone(),
            pid: std::process::id(),
            network: network(),
            at: at.to_string(),
            addresses: texts(networks),
            clients_file: options.clients.as_ref().map(ClientListOptions::full_path),
            mtu_bytes: u64::from(arrivals.device.mtu()),
            uptime_s: now.as_secs_f64(),
            accepted: stats.accepted,
            turned_away: stats.refused,
            ignored: stats.ignored,
            without_owner: *without_owner,
            waiting: None,
            peers,
        }
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
