//! One event loop of a tunnel's server: its socket, its queue of the device, and its connections.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use paceline_cc::{Ecn, Time};
use paceline_ip::packet::ends;
use paceline_os::udp::{Inbox, Socket};
use paceline_os::{Interrupts, RealTimeError};
use paceline_wire::{ClientPublic, End, Server};

use super::arrivals::{Arrivals, RefusedSource, Sender};
use super::carrier::{Carrier, CarrierStats};
use super::client_list::{ClientList, ClientListOptions};
use super::control::{Control, Request, network};
use super::device::Piece;
use super::directory::{Change, Effect, loop_of, place_of, slot_of};
use super::loops::Member;
use super::server_options::ServerOptions;
use super::status::{Known, PeerStatus, TunnelStatus};
use super::{Event, Peer, Prefix, reason};
use crate::clients_file::ListedClient;
use crate::udp::clock::{Clock, wait, wait_for_all};
use crate::udp::loop_parts::{Deaf, FAREWELL, LoopResult, note_local};
use crate::udp::outbox::Outbox;

/// Maximum number of packets that a connection sends before arrivals are looked at again.
const BURST: usize = 64;

/// A handed-over piece counts as one packet plus one per this many bytes, so that a turn
/// stays short.
const HANDOVER_PACKET: usize = 1500;

/// A server's state for one client.
struct Client {
    carrier: Carrier,
    peer: Peer,
    key: Option<ClientPublic>,
    /// True once a packet has come from it since the handshake, which alone may be a replay.
    confirmed: bool,
    /// Identifier of its connection.
    local: u32,
    connected_at: Time,
    /// When its last packet arrived.
    heard_at: Time,
}

/// An event loop of a tunnel's server.
pub(super) struct Loop<'a> {
    options: &'a ServerOptions,
    interrupts: &'a Interrupts,
    /// This loop's share of the common state; `None` if it is the only loop.
    member: Option<Member>,
    clock: Clock,
    server: Server,
    socket: Socket,
    outbox: Outbox,
    arrivals: Arrivals,
    list: Option<Arc<ClientList>>,
    clients: BTreeMap<usize, Client>,
    /// Local address at which each connection's newest packet arrived.
    locals: BTreeMap<usize, IpAddr>,
    control: Option<Control>,
    /// Packets from the device whose destination belongs to no connected client.
    without_owner: u64,
    /// Packets and pieces that were read for other loops, and how many of them were dropped.
    handed_over: (u64, u64),
    events: Vec<Event>,
    good: bool,
}

impl<'a> Loop<'a> {
    /// Creates a loop for the calling thread.
    pub(super) fn new(
        options: &'a ServerOptions,
        interrupts: &'a Interrupts,
        (server, socket, arrivals): (Server, Socket, Arrivals),
        list: Option<Arc<ClientList>>,
        control: Option<Control>,
        member: Option<Member>,
    ) -> Loop<'a> {
        Loop {
            options,
            interrupts,
            member,
            clock: Clock::start(),
            server,
            socket,
            outbox: Outbox::new(),
            arrivals,
            list,
            clients: BTreeMap::new(),
            locals: BTreeMap::new(),
            control,
            without_owner: 0,
            handed_over: (0, 0),
            events: Vec::new(),
            good: true,
        }
    }

    /// Runs until it is interrupted or asked to end or, with `once`, until a connection is over.
    ///
    /// # Errors
    /// The device has been removed, or the system refuses something.
    pub(super) fn run(mut self, tell: &mut dyn FnMut(Event)) -> Result<LoopResult, RealTimeError> {
        let mut inbox = Inbox::default();
        let mut told = self.clock.now();
        loop {
            let Loop { server, socket, arrivals, member, clock, interrupts, .. } = &mut self;
            let inputs = [Some(arrivals.device.as_fd()), member.as_ref().map(Member::as_fd)];
            let ready = wait_for_all(clock, server.wake(), socket.as_fd(), inputs, interrupts)?;
            if let Some(is_interrupted) = self.ending(ready.interrupted) {
                if is_interrupted {
                    self.close_all(&mut inbox)?;
                }
                self.events.drain(..).for_each(&mut *tell);
                return Ok(self.result(is_interrupted));
            }
            if let (true, Some(member)) = (ready.second_input, &self.member) {
                member.clear_wake_ups();
            }
            self.follow();
            if ready.socket {
                self.receive(&mut inbox, &mut told)?;
            }
            told = self.clock.now();
            if ready.input {
                self.take_from_device(told)?;
            }
            if ready.second_input {
                self.take_handed_over(told);
            }
            let ended = self.transmit(told)?;
            if self.interrupts.take_reload() {
                match self.options.clients {
                    // Mistakes in the list are reported as an event.
                    Some(_) => drop(self.read_list()),
                    None => self.events.push(Event::NoList),
                }
            }
            self.answer_control(told);
            self.events.drain(..).for_each(&mut *tell);
            if ended && self.options.once {
                return Ok(self.result(false));
            }
        }
    }

    fn result(&self, is_interrupted: bool) -> LoopResult {
        LoopResult { good: self.good, is_interrupted, stats: self.server.stats() }
    }

    /// Returns `None` unless this loop is to end; then true if a signal is the reason. A signal to
    /// this loop ends the others too.
    fn ending(&self, has_signal: bool) -> Option<bool> {
        let Some(member) = &self.member else { return has_signal.then_some(true) };
        if has_signal {
            member.loops.end(true);
        }
        member.ending()
    }

    /// Returns the place of this loop's connection, which is unique across all loops.
    fn place(&self, slot: usize) -> usize {
        place_of(self.number(), slot)
    }

    /// Returns this loop's number.
    fn number(&self) -> usize {
        self.member.as_ref().map_or(0, |member| member.number)
    }

    /// Applies the changes of other loops and performs the required actions.
    fn follow(&mut self) {
        self.arrivals.directory.catch_up();
        for effect in self.arrivals.directory.take_effects() {
            match effect {
                Effect::Replaced { slot, handshake } => {
                    if self.server.handshake_number(slot) == Some(handshake) {
                        self.server.close_replaced(slot);
                    }
                }
                Effect::List(list) => {
                    self.server.admit_only(Some(Arc::clone(&list.admission)));
                    for client in self.clients.values_mut() {
                        let name = client.key.and_then(|key| list.name(&key));
                        client.peer.name = name.or(client.peer.name.take());
                    }
                    self.list = Some(list);
                }
            }
        }
    }

    fn receive(&mut self, inbox: &mut Inbox, told: &mut Time) -> Result<(), RealTimeError> {
        let mut answers = Vec::new();
        let mut seen = Vec::new();
        let Loop { clock, server, socket, arrivals, locals, .. } = self;
        let (ahead, now) = (clock.ahead(), clock.now());
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, *told, now);
            *told = at;
            arrivals.now = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                let slot =
                    server.on_datagram(at, group.from, Ecn::of_bits(group.ecn), bytes, arrivals);
                answers.extend(server.take_answer().map(|answer| (group.local, answer)));
                let Some(slot) = slot else { continue };
                if seen.last() != Some(&slot) {
                    note_local(locals, slot, group.local);
                    seen.push(slot);
                }
            }
        })?;
        arrivals.flush();
        for (local, (to, answer)) in answers {
            self.outbox.leave_from(local);
            self.outbox.send_one(&mut self.socket, to, &answer);
        }
        self.tell_refused();
        seen.into_iter().try_for_each(|slot| self.meet(now, slot))
    }

    fn tell_refused(&mut self) {
        let Loop { arrivals, events, .. } = self;
        let Arrivals { directory, refused, .. } = arrivals;
        events.extend(refused.drain(..).filter_map(|RefusedSource { place, source, owner }| {
            let owner = owner.and_then(|owner| directory.peer(owner));
            Some(Event::SourceRefused { with: directory.peer(place)?, source, owner })
        }));
    }

    /// Handles a packet's arrival from this client: reports a new client, confirms its connection,
    /// or notes its new address.
    fn meet(&mut self, now: Time, slot: usize) -> Result<(), RealTimeError> {
        let place = self.place(slot);
        let Some(connection) = self.server.connection(slot) else { return Ok(()) };
        let (at, longest) = (connection.remote().0, connection.longest_datagram());
        let (key, local) = (connection.client(), connection.local());
        let is_half_open = self.server.is_half_open(slot);
        if !self.clients.contains_key(&slot) {
            let name = self.list.as_ref().zip(key).and_then(|(list, key)| list.name(&key));
            let peer = Peer { remote: at, name };
            let handshake = self.server.handshake_number(slot).unwrap_or(0);
            self.arrivals.senders.insert(local, Sender::new(now, place, longest));
            let add = Change::Add { place, key, handshake, peer: peer.clone() };
            self.arrivals.directory.publish(add);
            let carrier = Carrier::new(now, longest, &self.options.device.addresses);
            let (connected_at, heard_at) = (now, now);
            let client =
                Client { carrier, peer, key, confirmed: false, local, connected_at, heard_at };
            self.clients.insert(slot, client);
        }
        let Loop { clients, arrivals, events, .. } = self;
        let Some(client) = clients.get_mut(&slot) else { return Ok(()) };
        client.heard_at = now;
        if is_half_open {
            return Ok(());
        }
        if client.peer.remote != at {
            client.peer.remote = at;
            arrivals.directory.publish(Change::Move { place, remote: at });
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
            arrivals.directory.publish(Change::Confirm { place });
        } else if has_changed {
            events.push(Event::PacketSize { with, mtu: longest });
        } else {
            return Ok(());
        }
        self.set_mtu()
    }

    /// Reads the list of clients again, for all loops. Disconnects clients that are no longer
    /// listed, admits new ones, and leaves the others alone. A list with a mistake changes nothing.
    ///
    /// # Errors
    /// The mistake in the list, which is also reported as an event.
    fn read_list(&mut self) -> Result<(), String> {
        let Some(place) = &self.options.clients else {
            return Err("this server has no list of clients (--clients FILE)".into());
        };
        let reading = self.member.as_ref().map(Member::reading_list);
        let list = match ClientList::read(place, &self.options.device.addresses) {
            Ok(list) => list,
            Err(error) => {
                self.events.push(Event::ListProblem(error.to_string()));
                return Err(error.to_string());
            }
        };
        self.events.push(Event::ListRead(list.file.clients.len()));
        self.arrivals.directory.publish(Change::List(Arc::new(list)));
        drop(reading);
        self.follow();
        Ok(())
    }

    /// Sets the device's MTU to that of the client whose path carries the largest packets. Senders
    /// of packets that are too long for another client get an ICMP reply.
    fn set_mtu(&mut self) -> Result<(), RealTimeError> {
        let Arrivals { device, senders, .. } = &mut self.arrivals;
        device.set_longest(senders.values().map(|sender| sender.longest).max())
    }

    /// Puts the device's packets into the queues of their clients, or hands them over to the loops
    /// that have these clients.
    fn take_from_device(&mut self, now: Time) -> Result<(), RealTimeError> {
        let number = self.number();
        let Loop { server, arrivals, clients, without_owner, handed_over, member, .. } = self;
        let Arrivals { device, directory, .. } = arrivals;
        let mut touched = Vec::new();
        device.read_pieces(|mut piece| {
            match ends(piece.packet()).and_then(|(_, to)| directory.find(to)) {
                Some(place) if loop_of(place) == number => {
                    push(now, &mut piece, slot_of(place), (server, clients), &mut touched)
                }
                Some(place) => {
                    if let Some(member) = member {
                        member.hand_over(loop_of(place), piece.raw());
                    }
                    1 + piece.raw().len() / HANDOVER_PACKET
                }
                None => {
                    let count = piece.each(&mut |_| {});
                    *without_owner += count as u64;
                    count
                }
            }
        })?;
        if let Some(member) = member {
            let (sent, dropped) = member.send();
            *handed_over = (handed_over.0 + sent, handed_over.1 + dropped);
        }
        self.refill(now, touched);
        Ok(())
    }

    /// Puts packets that other loops have read for this one into the queues of their clients.
    fn take_handed_over(&mut self, now: Time) {
        let number = self.number();
        let Loop { server, arrivals, clients, without_owner, member, .. } = self;
        let Arrivals { device, directory, .. } = arrivals;
        let Some(member) = member else { return };
        let mut touched = Vec::new();
        member.receive(|raw| {
            let mut piece = device.piece(raw);
            // The client may have left, or moved to another loop, since the packet was read.
            match ends(piece.packet()).and_then(|(_, to)| directory.find(to)) {
                Some(place) if loop_of(place) == number => {
                    push(now, &mut piece, slot_of(place), (server, clients), &mut touched);
                }
                _ => *without_owner += piece.each(&mut |_| {}) as u64,
            }
        });
        self.refill(now, touched);
    }

    /// Moves packets from the queues in front of these connections into the connections.
    fn refill(&mut self, now: Time, touched: Vec<usize>) {
        let Loop { server, arrivals, clients, .. } = self;
        for slot in touched {
            if let (Some(client), Some(connection)) =
                (clients.get_mut(&slot), server.connection(slot))
            {
                client.carrier.refill(now, connection);
                server.reschedule(slot);
                client.carrier.answers().for_each(|answer| arrivals.device.write(&answer));
            }
        }
    }

    /// Sends the packets whose time has come. Returns true if a connection has ended.
    fn transmit(&mut self, now: Time) -> Result<bool, RealTimeError> {
        let mut any = false;
        // A limited number of rounds, so that arrivals are looked at even if there is always a
        // packet to send.
        for _ in 0..BURST {
            let Some(slot) = self.server.due(now) else { break };
            let Loop { server, socket, outbox, clients, arrivals, locals, .. } = self;
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
                // A handshake without a following packet does not count as a connection.
                let stood = !self.server.is_half_open(slot);
                self.end(slot, &end, stood)?;
                any |= stood;
            }
        }
        Ok(any)
    }

    fn end(&mut self, slot: usize, end: &End, stood: bool) -> Result<(), RealTimeError> {
        self.server.remove(slot);
        self.locals.remove(&slot);
        self.arrivals.directory.publish(Change::Remove { place: self.place(slot) });
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
    fn answer_control(&mut self, now: Time) {
        // The process that asked may have closed its connection.
        match self.control.as_ref().and_then(Control::take) {
            None => {}
            Some(Request::Status(answer)) => {
                let _ = answer.try_send(self.status(now));
            }
            Some(Request::Reload(answer)) => {
                let _ = answer.try_send(self.read_list());
            }
        }
    }

    /// Returns this loop's status. Listed clients that are not connected to this loop appear as
    /// absent.
    fn status(&mut self, now: Time) -> TunnelStatus {
        let number = self.number();
        let Loop { options, server, arrivals, clients, socket, without_owner, list, .. } = self;
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
            let used = arrivals.directory.learnt_of(place_of(number, *slot));
            let known = Known {
                carrier: &client.carrier,
                peer: &client.peer,
                key: client.key,
                event_loop: Some(number as u64),
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
            addresses: texts(&options.device.addresses),
            clients_file: options.clients.as_ref().map(ClientListOptions::full_path),
            mtu_bytes: u64::from(arrivals.device.mtu()),
            uptime_s: now.as_secs_f64(),
            accepted: stats.accepted,
            turned_away: stats.refused,
            ignored: stats.ignored,
            without_owner: *without_owner,
            loops: options.loops.get() as u64,
            handed_over: self.handed_over.0,
            handover_dropped: self.handed_over.1,
            waiting: None,
            peers,
        }
    }

    /// Closes all connections, and waits until all clients have answered or [`FAREWELL`] is over.
    fn close_all(&mut self, inbox: &mut Inbox) -> Result<(), RealTimeError> {
        let slots: Vec<usize> = self.server.slots().collect();
        for slot in slots {
            if let Some(connection) = self.server.connection(slot) {
                connection.close(1, "the server of the tunnel was stopped");
            }
            self.server.reschedule(slot);
        }
        let end = self.clock.now() + FAREWELL;
        loop {
            let now = self.clock.now();
            let Loop { clock, interrupts, server, socket, outbox, locals, .. } = self;
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
                        server.on_datagram(
                            now,
                            group.from,
                            Ecn::of_bits(group.ecn),
                            bytes,
                            &mut Deaf,
                        );
                        server.take_answer();
                    }
                })?;
            }
        }
    }
}

/// Puts the packets of a piece into the queue in front of a connection. Returns their
/// number.
fn push(
    now: Time,
    piece: &mut Piece<'_>,
    slot: usize,
    (server, clients): (&mut Server, &mut BTreeMap<usize, Client>),
    touched: &mut Vec<usize>,
) -> usize {
    let (Some(client), Some(connection)) = (clients.get_mut(&slot), server.connection(slot)) else {
        return 1;
    };
    let limit = Carrier::limit(connection);
    if touched.last() != Some(&slot) {
        touched.push(slot);
    }
    piece.each(&mut |packet| client.carrier.push(now, packet, limit))
}
