//! The end that accepts connections: many of them, from clients that have its key.
//!
//! A client without the key gets no answer. A client with the key is first asked for a cookie,
//! which proves that it receives at its address and takes no memory at the server. Only then does
//! the server compute a handshake and store a connection.

mod question;
mod responder;
mod stats;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_cc::{Ecn, Span, Time};
use ring::hmac;

use self::responder::HandshakeResponder;
pub use self::stats::ServerStats;
use crate::admission::{Admission, NOT_LISTED, REPLACED};
use crate::connection::{Connection, Limits, Role, Sink, Transmit};
use crate::counts::{ConnectionCounts, CountGuard, HalfOpenGuard};
use crate::initiator::{INITIATION_CODE, RETRY_CODE};
use crate::key::{Identity, KeyError, code, random};
use crate::packet::{COOKIE, Initiation, Packet, Retry};
use crate::reset::ResetSecret;
use crate::terms::{Answer, Offer, Service};
use crate::{ClientPublic, Handout, noise};

/// Time for which a cookie is valid: longer than the round trip of a cellular link with a full
/// queue, since the initiation with the cookie arrives a round trip after the cookie was made.
const COOKIE_LIFE: Span = Span::from_secs(60);
/// Shortest and longest life of a half-open connection, whose initiator has not yet shown by a
/// packet that it has the keys. Between these bounds it is the connection's idle time.
const HALF_OPEN_LIFE: (Span, Span) = (Span::from_secs(5), Span::from_secs(60));
/// Minimum time between two searches for expired cookies.
const PRUNE_INTERVAL: Span = Span::from_secs(1);
/// Number of handshakes that a server remembers for each half-open connection that it allows.
const REMEMBERED: usize = 64;

/// Limits of a server. Servers that share an address and a [`ConnectionCounts`] share their limits.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Largest number of connections at once.
    pub connections: usize,
    /// Largest number among these from which no packet has arrived since the handshake. A server
    /// remembers up to 64 times as many handshakes, so that each cookie is accepted only once.
    pub half_open: usize,
    /// Largest number of half-open connections of one address (with IPv6, of one 64-bit network).
    pub half_open_per_address: usize,
    /// Largest packet that a connection is granted, in bytes, IP and UDP headers included.
    pub mtu: u16,
    /// The limits of each connection.
    pub each: Limits,
    /// True if transport packets are not encrypted, for measurements; then every connection must
    /// ask for this.
    pub plaintext: bool,
    /// True if connections carry only datagrams, both ways: a tunnel.
    pub datagrams: bool,
    /// True if an initiator may ask the server to send data (`Offer::back`). Tunnels always may.
    pub sends: bool,
    /// True if a client has one connection at this server. A newer one replaces the older ones as
    /// soon as its client's first packet shows that it is present; a repeated initiation replaces
    /// nothing. Among several servers at one address, the driver reports the others' connections
    /// ([`Server::close_replaced`]).
    pub one_per_client: bool,
    /// True if connections carry only [`Service::Filler`], in either direction: a server for
    /// measurements, which takes no files.
    pub measures: bool,
    /// True if connections carry only files of this end ([`Service::Stream`] with `Offer::back`).
    pub gives_files: bool,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections: 4096,
            half_open: 256,
            half_open_per_address: 32,
            mtu: u16::MAX,
            each: Limits::default(),
            plaintext: false,
            datagrams: false,
            sends: false,
            one_per_client: false,
            measures: false,
            gives_files: false,
        }
    }
}

/// A connection's slot in the table.
struct Slot {
    connection: Connection,
    /// Number of the handshake that it comes from, counted over all servers that share their
    /// counts.
    handshake_number: u64,
    _count_guard: CountGuard,
    /// When it is next to be looked at, as in the timetable.
    wake: Time,
    /// Set until a packet shows that the initiator has the keys.
    half_open: Option<HalfOpen>,
}

/// A connection's handshake that was answered, until a packet follows.
struct HalfOpen {
    _count_guard: HalfOpenGuard,
    /// When the server gives it up.
    end: Time,
    /// The handshake, and its response, which is repeated if it was lost.
    handshake: [u8; COOKIE],
    response: Vec<u8>,
}

impl Slot {
    fn gives_up(&self) -> Time {
        self.half_open.as_ref().map_or(Time::NEVER, |half_open| half_open.end)
    }
}

/// A server: a table of connections, and the keys and limits for more.
pub struct Server {
    identity: Identity,
    codes: (hmac::Key, hmac::Key),
    resets: ResetSecret,
    cookies: hmac::Key,
    limits: ServerLimits,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    timetable: BTreeMap<(Time, usize), ()>,
    counts: ConnectionCounts,
    /// Handshakes that have led to a connection, kept until their cookies expire. An initiator that
    /// is answered late asks for several cookies for one handshake, and may come back with each of
    /// them.
    used: BTreeMap<[u8; COOKIE], (Time, usize)>,
    /// When expired entries of `used` are next removed.
    prune_at: Time,
    /// Datagram to be sent that belongs to no connection.
    answer: Option<(SocketAddr, Vec<u8>)>,
    stats: ServerStats,
    /// Number of this server among several at one address.
    number: Option<u8>,
    /// The admitted clients; `None` if every client that has the key is admitted.
    admission: Option<Arc<Admission>>,
}

impl Server {
    /// Returns a server with this identity.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(identity: Identity, limits: ServerLimits) -> Result<Server, KeyError> {
        let codes = (identity.key().mac(INITIATION_CODE), identity.key().mac(RETRY_CODE));
        Ok(Server {
            resets: ResetSecret::new(&identity),
            identity,
            codes,
            cookies: hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?),
            limits,
            slots: Vec::new(),
            free: Vec::new(),
            timetable: BTreeMap::new(),
            counts: ConnectionCounts::new(),
            used: BTreeMap::new(),
            prune_at: Time::ZERO,
            answer: None,
            stats: ServerStats::default(),
            number: None,
            admission: None,
        })
    }

    /// Makes this server one of several that share an address, each with its own number. The number
    /// is in the identifiers of its connections, where
    /// [`server_number`](crate::packet::server_number) and the kernel's filters find it. The
    /// servers do not know each other's connections and cookies; they share `counts`, so that their
    /// limits hold for all of them together. Call it before the first datagram.
    #[must_use]
    pub fn numbered(self, number: u8, counts: &ConnectionCounts) -> Server {
        Server { number: Some(number), counts: counts.clone(), ..self }
    }

    /// From now on admits only the clients of this list, or with `None` all that have the server's
    /// key. Closes connections of clients that are no longer listed or whose handout has changed,
    /// with a reason in words.
    ///
    /// With several servers at one address, the driver calls each of them with the shared list.
    pub fn admit_only(&mut self, admission: Option<Arc<Admission>>) {
        let objections: Vec<(usize, &str)> = match &admission {
            None => Vec::new(),
            Some(list) => {
                let objection = |(index, slot): (usize, &Option<Slot>)| {
                    let connection = &slot.as_ref()?.connection;
                    let client = connection.client()?;
                    Some((index, list.objection(&client, connection.handout())?))
                };
                self.slots.iter().enumerate().filter_map(objection).collect()
            }
        };
        for (index, reason) in objections {
            self.close(index, 1, reason);
        }
        self.admission = admission;
    }
    /// Returns the list of admitted clients; `None` if every client that has the server's key is
    /// admitted.
    pub fn admission(&self) -> Option<&Arc<Admission>> {
        self.admission.as_ref()
    }
    /// Closes a connection; [`Server::transmit`] writes its last packets.
    pub fn close(&mut self, index: usize, code: u16, reason: &str) {
        if let Some(connection) = self.connection(index) {
            connection.close(code, reason);
            self.reschedule(index);
        }
    }
    /// Closes a connection whose client has a newer one at another server of this address.
    pub fn close_replaced(&mut self, index: usize) {
        self.close(index, 1, REPLACED);
    }
    /// Returns the number of the handshake that a connection comes from. Later handshakes have
    /// larger numbers, also those of other servers that share their counts.
    pub fn handshake_number(&self, index: usize) -> Option<u64> {
        Some(self.slots.get(index)?.as_ref()?.handshake_number)
    }

    /// Returns the counters since the start.
    pub fn stats(&self) -> ServerStats {
        self.stats
    }
    /// Returns the numbers of connections and of half-open connections, at all servers that share
    /// their counts.
    pub fn open(&self) -> (usize, usize) {
        (self.counts.open(), self.counts.half_open())
    }
    /// Returns the number of handshakes remembered so that their cookies cannot be used twice.
    /// For tests.
    pub fn remembered_cookies(&self) -> usize {
        self.used.len()
    }
    /// Returns the slots of all connections.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().enumerate().filter_map(|(index, slot)| slot.as_ref().map(|_| index))
    }
    /// Returns the connection in this slot.
    pub fn connection(&mut self, slot: usize) -> Option<&mut Connection> {
        self.slots.get_mut(slot)?.as_mut().map(|slot| &mut slot.connection)
    }
    /// Returns true until a packet of this connection has arrived after its handshake.
    pub fn is_half_open(&self, slot: usize) -> bool {
        let slot = self.slots.get(slot).and_then(Option::as_ref);
        slot.is_some_and(|slot| slot.half_open.is_some())
    }
    /// Returns when the server next has something to do.
    pub fn wake(&self) -> Time {
        if self.answer.is_some() {
            return Time::ZERO;
        }
        self.timetable.first_key_value().map_or(Time::NEVER, |((at, _), ())| *at)
    }
    /// Returns the slot of the connection that is due first, if one is due.
    pub fn due(&self, now: Time) -> Option<usize> {
        let ((at, slot), ()) = self.timetable.first_key_value()?;
        (*at <= now).then_some(*slot)
    }
    /// Takes a datagram to be sent that belongs to no connection.
    pub fn take_answer(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.answer.take()
    }

    /// Takes a datagram in. Returns the slot of its connection, which may be new.
    pub fn on_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        bytes: &mut [u8],
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        let found = match Packet::read(bytes) {
            Ok(Packet::Transport(packet)) => {
                let index = (packet.receiver & 0xffff) as usize;
                let slot = self.slots.get_mut(index).and_then(Option::as_mut);
                let slot = slot.filter(|slot| slot.connection.local() == packet.receiver);
                slot.map(|slot| (index, slot.connection.on_datagram(now, from, ecn, bytes, sink)))
            }
            Ok(Packet::Initiation(packet)) => return self.on_initiation(now, from, &packet),
            _ if self.on_question(from, bytes) => return None,
            _ => None,
        };
        match found {
            Some((index, true)) => {
                if let Some(Some(slot)) = self.slots.get_mut(index)
                    && slot.half_open.take().is_some()
                    && self.limits.one_per_client
                {
                    self.keep_newest(index);
                }
                self.reschedule(index);
                self.hand_over_ended(now, index);
                Some(index)
            }
            _ => {
                self.stats.ignored += 1;
                None
            }
        }
    }

    /// Makes a connection due that has just ended, for example by the answer to its close, so that
    /// the driver finds and removes it.
    fn hand_over_ended(&mut self, now: Time, index: usize) {
        let Some(Some(slot)) = self.slots.get_mut(index) else { return };
        if slot.connection.ended().is_some() {
            self.timetable.remove(&(slot.wake, index));
            self.timetable.insert((now, index), ());
            slot.wake = now;
        }
    }

    /// Closes all connections of this connection's client except the newest. The connection is no
    /// longer half open.
    fn keep_newest(&mut self, index: usize) {
        let Some(Some(slot)) = self.slots.get(index) else { return };
        let client = slot.connection.client();
        let mut rivals = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            if let Some(slot) = slot
                && slot.half_open.is_none()
                && slot.connection.client() == client
            {
                rivals.push((slot.handshake_number, index));
            }
        }
        let newest = rivals.iter().max().copied();
        for (_, index) in rivals.into_iter().filter(|rival| Some(*rival) != newest) {
            self.close(index, 1, REPLACED);
        }
    }

    /// Updates a connection's entry in the timetable. Call it after each change of the connection.
    pub fn reschedule(&mut self, index: usize) {
        let Some(Some(slot)) = self.slots.get_mut(index) else { return };
        let wake = slot.connection.wake().min(slot.gives_up());
        if wake != slot.wake {
            self.timetable.remove(&(slot.wake, index));
            self.timetable.insert((wake, index), ());
            slot.wake = wake;
        }
    }

    /// Defers the rest of a connection's due work to the next turn, so that it takes only its burst
    /// of this one.
    pub fn postpone(&mut self, now: Time, index: usize) {
        self.reschedule(index);
        let Some(Some(slot)) = self.slots.get_mut(index) else { return };
        if slot.wake <= now {
            self.timetable.remove(&(slot.wake, index));
            slot.wake = now + Span::from_nanos(1);
            self.timetable.insert((slot.wake, index), ());
        }
    }

    /// Writes the next packet of a connection. When none is left, updates its wake-up.
    pub fn transmit(&mut self, now: Time, index: usize, bytes: &mut [u8]) -> Option<Transmit> {
        let slot = self.slots.get_mut(index)?.as_mut()?;
        if slot.gives_up() <= now {
            slot.connection.give_up("nothing came after the handshake");
        }
        let transmit = slot.connection.transmit(now, bytes);
        if transmit.is_none() {
            self.reschedule(index);
        }
        transmit
    }

    /// Removes a connection and returns it.
    pub fn remove(&mut self, index: usize) -> Option<Connection> {
        let slot = self.slots.get_mut(index).and_then(Option::take)?;
        self.timetable.remove(&(slot.wake, index));
        self.free.push(index);
        Some(slot.connection)
    }

    fn cookie(&self, issued: u64, from: &SocketAddr, packet: &Initiation<'_>) -> [u8; COOKIE] {
        let mut context = hmac::Context::with_key(&self.cookies);
        context.update(&issued.to_be_bytes());
        match from.ip() {
            IpAddr::V4(ip) => context.update(&ip.octets()),
            IpAddr::V6(ip) => context.update(&ip.octets()),
        }
        context.update(&from.port().to_be_bytes());
        context.update(&packet.sender.to_be_bytes());
        context.update(packet.noise);
        let mut cookie = [0; COOKIE];
        cookie[..8].copy_from_slice(&issued.to_be_bytes());
        cookie[8..].copy_from_slice(context.sign().as_ref().get(..32).unwrap_or(&[0; 32]));
        cookie
    }

    fn is_good(&self, now: Time, from: &SocketAddr, packet: &Initiation<'_>) -> bool {
        let Some(cookie) = packet.cookie else { return false };
        let issued = cookie.first_chunk::<8>().map_or(0, |issued| u64::from_be_bytes(*issued));
        let age = now.since(Time::from_nanos(issued));
        let expected = self.cookie(issued, from, packet);
        // Compares in constant time, by codes of both under a secret key.
        let same = hmac::verify(&self.cookies, cookie, &code(&self.cookies, &expected)).is_ok();
        same && age <= COOKIE_LIFE && issued <= now.as_nanos()
    }

    fn on_initiation(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &Initiation<'_>,
    ) -> Option<usize> {
        let known = hmac::verify(&self.codes.0, packet.covered, packet.mac).is_ok();
        if !known {
            self.stats.ignored += 1;
            return None;
        }
        if !self.is_good(now, &from, packet) {
            let cookie = self.cookie(now.as_nanos(), &from, packet);
            let mut bytes = vec![0; 128];
            let mac = |covered: &[u8]| code(&self.codes.1, covered);
            let length = Retry::write(packet.sender, &cookie, mac, &mut bytes).ok()?;
            bytes.truncate(length);
            self.stats.retries += 1;
            self.answer = Some((from, bytes));
            return None;
        }
        if now >= self.prune_at {
            self.used.retain(|_, (end, _)| *end > now);
            self.prune_at = now + PRUNE_INTERVAL;
        }
        // Independent of the cookie: equal for all initiations of this handshake.
        let handshake = self.cookie(0, &from, packet);
        let known = self.used.get_mut(&handshake).filter(|(end, _)| *end > now);
        if let Some((end, index)) = known {
            *end = now + COOKIE_LIFE;
            let index = *index;
            self.repeat(from, index, &handshake);
            return None;
        }
        let ServerLimits { half_open, half_open_per_address, .. } = self.limits;
        let limits = (half_open, half_open_per_address);
        let room = self.used.len() < REMEMBERED * half_open;
        let guard = room.then(|| self.counts.count_half_open(from.ip(), limits)).flatten();
        let Some(guard) = guard else {
            self.stats.crowded += 1;
            return None;
        };
        self.accept(now, from, packet, (handshake, guard))
    }

    /// Handles a repeated initiation: its response was lost, or the initiation is replayed.
    fn repeat(&mut self, from: SocketAddr, index: usize, handshake: &[u8; COOKIE]) {
        let slot = self.slots.get(index).and_then(Option::as_ref);
        let half_open = slot.and_then(|slot| slot.half_open.as_ref());
        match half_open.filter(|half_open| half_open.handshake == *handshake) {
            Some(half_open) => self.answer = Some((from, half_open.response.clone())),
            None => self.stats.ignored += 1,
        }
    }

    fn accept(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &Initiation<'_>,
        (handshake, half_open): ([u8; COOKIE], HalfOpenGuard),
    ) -> Option<usize> {
        let mut state = noise::responder(&self.identity)?;
        let payload = noise::read(&mut state, packet.noise);
        let offer = payload.and_then(|payload| Offer::read(&payload).ok());
        let (Some(mut offer), Some(client)) = (offer, noise::client(&state)) else {
            self.stats.ignored += 1;
            return None;
        };
        // The packet size that this initiation has shown to pass, whatever size it asks for.
        let shown = packet.length() + self.limits.each.ip_udp(&from);
        offer.mtu = offer.mtu.min(self.limits.mtu).min(u16::try_from(shown).unwrap_or(u16::MAX));
        let index = self.free.last().copied().unwrap_or(self.slots.len());
        self.used.insert(handshake, (now + COOKIE_LIFE, index));
        let local = self.identifier(index)?;
        let admitted = self
            .hand_out(&client)
            .and_then(|handout| self.admit(&offer, index).map(|guard| (guard, handout)));
        let mut responder = HandshakeResponder { state, remote: packet.sender, local };
        let (guard, handout) = match admitted {
            Ok(admitted) => admitted,
            Err(reason) => {
                self.stats.refused += 1;
                self.answer = responder.write(&Answer::Refused(reason)).map(|bytes| (from, bytes));
                return None;
            }
        };
        let (connection, response) =
            self.connect(now, from, &offer, responder, (client, handout))?;
        self.answer = Some((from, response.clone()));
        self.stats.accepted += 1;
        let end = now + connection.idle().clamp(HALF_OPEN_LIFE.0, HALF_OPEN_LIFE.1);
        let half_open = HalfOpen { _count_guard: half_open, end, handshake, response };
        self.keep(index, connection, guard, half_open);
        Some(index)
    }

    /// Returns an identifier for the connection in slot `index`: a random part, by which packets
    /// for an earlier connection in the slot are mostly recognised as foreign; the number of this
    /// server, if it has one; and the slot.
    fn identifier(&self, index: usize) -> Option<u32> {
        let [high, mut low] = random().ok()?;
        low = self.number.unwrap_or(low);
        let [.., place_high, place_low] = (index as u32).to_be_bytes();
        Some(u32::from_be_bytes([high, low, place_high, place_low]))
    }

    /// Returns the handout for this client, or the reason why it is not admitted.
    fn hand_out(&self, client: &ClientPublic) -> Result<Handout, String> {
        match &self.admission {
            None => Ok(Handout::default()),
            Some(list) => {
                let client = list.client(client).ok_or(NOT_LISTED)?;
                Ok(client.handout.clone())
            }
        }
    }

    /// Counts the offered connection, or returns the reason why it cannot be accepted.
    fn admit(&self, offer: &Offer, index: usize) -> Result<CountGuard, String> {
        if offer.plaintext != self.limits.plaintext {
            let (on, off) = ("it was started with --plaintext", "it encrypts");
            let text = if self.limits.plaintext { on } else { off };
            return Err(format!("{text}; both ends need --plaintext, or neither"));
        }
        if (offer.service == Service::Datagrams) != self.limits.datagrams {
            let (on, off) = ("`paceline tunnel`", "`paceline recv`");
            return Err(format!("it is {}", if self.limits.datagrams { on } else { off }));
        }
        if self.limits.measures && offer.service != Service::Filler {
            return Err("it was started with --measure and takes no files, only `paceline send --duration`; for files start \
                        `paceline recv` without --measure"
                .into());
        }
        let ServerLimits { datagrams, sends, measures, gives_files, .. } = self.limits;
        let fetches = offer.service == Service::Stream && offer.scheme.is_empty();
        if gives_files && !fetches {
            return Err("it is `paceline send --listen`, which offers files; fetch them with `paceline recv --from`".into());
        }
        if !(offer.back.is_empty() || datagrams || sends || measures || gives_files) {
            return Err(match fetches {
                true => "it is `paceline recv`, which receives; `paceline recv --from` needs a `paceline send --listen`",
                false => "it only receives, and sends no data back; for --reverse start `paceline recv --measure`",
            }
            .into());
        }
        Connection::check(offer, &self.limits.each)?;
        let place = index <= 0xffff;
        place
            .then(|| self.counts.count_open(self.limits.connections))
            .flatten()
            .ok_or_else(|| "it has as many connections as it may have; try later".into())
    }

    fn connect(
        &self,
        now: Time,
        from: SocketAddr,
        offer: &Offer,
        mut responder: HandshakeResponder,
        (client, handout): (ClientPublic, Handout),
    ) -> Option<(Connection, Vec<u8>)> {
        let limits = &self.limits.each;
        let Limits { window, reads_later: credit, idle, .. } = *limits;
        let reset = self.resets.ticket(responder.local, responder.remote)?;
        let handed = handout.clone();
        let answer = Answer::Accepted { window, credit, idle, handout: handed, reset };
        let response = responder.write(&answer)?;
        let keys = noise::keys(responder.state)?;
        let ids = (responder.local, responder.remote);
        let made = Connection::new(now, Role::Responder, keys, ids, from, offer, limits);
        made.ok().map(|connection| (connection.with_peer(Some(client), handout), response))
    }

    fn keep(&mut self, index: usize, connection: Connection, guard: CountGuard, half: HalfOpen) {
        let wake = connection.wake().min(half.end);
        let handshake_number = self.counts.next_handshake();
        let half_open = Some(half);
        let slot = Slot { connection, handshake_number, _count_guard: guard, wake, half_open };
        if self.free.pop().is_none() {
            self.slots.push(None);
        }
        if let Some(place) = self.slots.get_mut(index) {
            *place = Some(slot);
            self.timetable.insert((wake, index), ());
        }
    }
}
