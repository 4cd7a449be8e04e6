//! Authentic packets with hostile frames, from a client with a valid key: they harm only its own
//! connection.

use std::net::SocketAddr;

use crate::common::hostile::{self, HostileClient};
use crate::common::{SERVER, offer};
use paceline_cc::{Ecn, Span, Stream, Time};
use paceline_wire::key::Identity;
use paceline_wire::{End, HeldBudget, Initiator, Limits, Server, ServerLimits, Sink};

/// Number of packets of each kind.
const MANY: u64 = 20_000;

/// A server, its keys and its clock.
struct Target {
    server: Server,
    identity: Identity,
    now: Time,
    sink: Heard,
}

/// Records the bytes that have arrived in streams, and ignores everything else.
#[derive(Default)]
struct Heard {
    stream: Vec<u8>,
}

impl Sink for Heard {
    fn on_stream(&mut self, _connection: u32, bytes: &[u8]) {
        self.stream.extend(bytes);
    }
}

impl Target {
    fn new(limits: ServerLimits) -> Target {
        let identity = Identity::generate().expect("random numbers");
        let server = Server::new(identity.clone(), limits).expect("random numbers");
        Target { server, identity, now: Time::from_secs(1), sink: Heard::default() }
    }

    fn from(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 2], port))
    }

    /// Establishes a connection of a hostile client; returns it with its slot at the server.
    fn connect(&mut self, port: u16, offer: &[u8]) -> (HostileClient, usize) {
        let mut client = HostileClient::new(self.identity.key(), offer);
        let said = client.shake(&mut self.server, self.now, Target::from(port));
        assert_eq!(said.expect("an answer").first(), Some(&0), "it is accepted");
        (client, usize::from(client_place(port)))
    }

    /// Passes a datagram to the server, and sends the packets that are due. Returns the datagrams
    /// sent.
    fn hand(&mut self, port: u16, bytes: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut bytes = bytes.to_vec();
        let (now, from) = (self.now, Target::from(port));
        self.server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut self.sink);
        self.send_due()
    }

    fn send_due(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let (mut place, mut out) = ([0; 65_536], Vec::new());
        while let Some(slot) = self.server.due(self.now) {
            // In one turn, a loop sends at most this number of packets of one connection.
            for _ in 0..256 {
                let Some(sent) = self.server.transmit(self.now, slot, &mut place) else { break };
                out.push((sent.to, place[..sent.length].to_vec()));
            }
            if self.server.connection(slot).is_some_and(|one| one.ended().is_some()) {
                self.server.remove(slot);
            } else {
                self.server.postpone(self.now, slot);
            }
        }
        out
    }

    /// Returns whether an honest client is served.
    fn serves(&mut self) -> bool {
        let to = SocketAddr::from(SERVER);
        let key = self.identity.key();
        let mut one = Initiator::new(self.now, key, to, offer("cubic"), Limits::default())
            .expect("a good offer");
        let mut place = [0; 2048];
        for _ in 0..2 {
            let length = one.transmit(self.now, &mut place).expect("time").expect("due");
            let from = Target::from(9);
            let bytes = &mut place[..length];
            self.server.on_datagram(self.now, from, Ecn::NotEct, bytes, &mut self.sink);
            let Some((_, answer)) = self.server.take_answer() else { return false };
            if let Some(mut connection) = one.on_datagram(self.now, &answer).expect("accepted") {
                assert_eq!(connection.write(b"honest"), 6);
                let before = self.sink.stream.len();
                while let Some(out) = connection.transmit(self.now, &mut place) {
                    let bytes = &mut place[..out.length];
                    self.server.on_datagram(self.now, from, Ecn::NotEct, bytes, &mut self.sink);
                }
                return self.sink.stream.get(before..) == Some(b"honest");
            }
        }
        false
    }
}

/// Returns the slot of a client: slots are assigned in order, and tests use consecutive ports.
fn client_place(port: u16) -> u16 {
    port - 4000
}

/// Returns frames of every kind, some of them valid, with extreme fields.
fn frames(random: &mut Stream) -> Vec<u8> {
    let extreme = |random: &mut Stream| match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.below(64),
        3 => random.below(64),
        _ => random.next_u64(),
    };
    let mut bytes = Vec::new();
    for _ in 0..=random.below(3) {
        let kind = random.below(17) as u8;
        bytes.push(kind);
        for _ in 0..random.below(6) {
            let field = extreme(random).to_be_bytes();
            bytes.extend(&field[random.below(8) as usize..]);
        }
    }
    bytes.extend((0..random.below(200)).map(|_| random.next_u64() as u8));
    bytes
}

#[test]
fn authentic_packets_of_hostile_frames_harm_no_other_connection() {
    for (service, back) in [(0, ""), (1, ""), (2, ""), (2, "cubic"), (2, "sprout")] {
        let limits = ServerLimits { datagrams: service == 2, ..ServerLimits::default() };
        let mut target = Target::new(limits);
        let mut random = Stream::new(u64::from(service), "frames");
        let (mut client, mut taken, mut connections) = (None, 0u64, 0u16);
        for i in 0..MANY {
            // A close ends the connection, and the client connects again.
            if client.is_none() || i % 64 == 0 {
                connections += 1;
                target.now += Span::from_secs(70);
                target.send_due();
                client = Some(target.connect(4000, &hostile::offer(service, back)).0);
            }
            let Some(client) = &mut client else { unreachable!() };
            let mut bytes = frames(&mut random);
            if i % 5 == 0 {
                let kind = [1, 2, 3, 13, 14][random.below(5) as usize];
                bytes = hostile::data(kind, random.below(99), random.below(99), &bytes);
            }
            target.now += Span::from_micros(random.below(5000));
            let packet = client.packet(&bytes);
            let before = target.server.stats().ignored;
            let out = target.hand(4000, &packet);
            taken += u64::from(target.server.stats().ignored == before);
            // One answer to each packet, and the packets due by timers: never an endless stream of
            // packets.
            assert!(out.len() < 600, "{} packets for one", out.len());
        }
        assert!(taken > MANY / 4 && connections > 100, "{taken} {connections}");
        if service != 2 {
            assert!(target.serves(), "an honest client is served");
        }
    }
}

#[test]
fn packet_numbers_at_the_end_of_their_range_and_hostile_headers_are_borne() {
    let mut target = Target::new(ServerLimits::default());
    let (client, slot) = target.connect(4000, &hostile::offer(0, ""));
    let mut random = Stream::new(3, "numbers");
    let ping = [8, 0, 0, 0, 1];
    for i in 0..MANY {
        let number = match i % 3 {
            0 => random.next_u64() >> random.below(64),
            1 => i,
            _ => random.below(1 << 20),
        };
        let header: Vec<u8> = match i % 2 {
            0 => vec![0x10],
            _ => (0..1 + random.below(22)).map(|_| random.next_u64() as u8).collect(),
        };
        let packet = client.packet_of(number, &header, &ping);
        target.hand(4000, &packet);
    }
    // The largest numbers, and repeated ones.
    let ignored = target.server.stats().ignored;
    for number in [u64::MAX - 1, u64::MAX, u64::MAX, u64::MAX - 1] {
        let packet = client.packet_of(number, &[0x10], &ping);
        target.hand(4000, &packet);
    }
    assert!(target.server.stats().ignored >= ignored + 2, "a number is good once at most");
    assert!(target.server.connection(slot).is_none_or(|one| one.ended().is_none()));
    assert!(target.serves());
}

#[test]
fn data_behind_gaps_pins_no_more_memory_than_the_budget_of_all() {
    let mut limits = ServerLimits { half_open_per_address: 64, ..ServerLimits::default() };
    limits.each.held = HeldBudget::new(1 << 20);
    let held = limits.each.held.clone();
    let mut target = Target::new(limits);
    let mut clients: Vec<_> =
        (0..32).map(|i| target.connect(4000 + i, &hostile::offer(0, "")).0).collect();
    // Segment 0 never arrives. Parts of segments arrive, too, and further packets keep the
    // connection alive.
    for round in 0..150u64 {
        for (port, client) in (4000..).zip(&mut clients) {
            let segment = 1 + round * 2;
            let whole = hostile::data(1, round * 2, segment, &[7; 1100]);
            let mut part = hostile::data(13, round * 2 + 1, segment + 1, &[]);
            part.extend([0, 0, 0x40, 0]);
            part.extend([7; 1000]);
            for frames in [whole, part] {
                let packet = client.packet(&frames);
                target.hand(port, &packet);
            }
        }
        target.now += Span::from_millis(1);
        // Each connection has 64 KiB of its own, whatever others hold.
        assert!(held.held() <= (1 << 20) + 32 * (64 << 10), "{} bytes", held.held());
    }
    assert!(held.held() > 1 << 20, "{} bytes: they were taken in", held.held());
    assert!(target.sink.stream.is_empty() && target.serves());
    // The memory is freed with the connections.
    target.now += Span::from_secs(700);
    target.send_due();
    assert_eq!((target.server.open().0, held.held()), (0, 0));
}

#[test]
fn pings_challenges_and_messages_cost_the_server_no_more_than_they_cost_the_sender() {
    let mut target = Target::new(ServerLimits::default());
    let (mut client, slot) = target.connect(4000, &hostile::offer(0, ""));
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let mut frames = Vec::new();
    for number in 0..200u32 {
        frames.push(8);
        frames.extend(number.to_be_bytes());
    }
    for i in 0..2000u64 {
        let mut packet_frames = frames.clone();
        match i % 3 {
            0 => {}
            1 => packet_frames = [&[10][..], &i.to_be_bytes()].concat().repeat(100),
            _ => {
                // Messages out of order, and messages that were not asked for.
                let mut message = vec![6];
                message.extend((i as u32).to_be_bytes());
                message.extend([4, 0]);
                message.extend([b'{'; 1024]);
                packet_frames = message;
            }
        }
        packet_frames.truncate(1180);
        let packet = client.packet(&packet_frames);
        bytes_in += packet.len();
        // Each time from another address: the server sends only a challenge, or an answer to one,
        // there.
        let from = SocketAddr::from(([10, 9, (i >> 8) as u8, i as u8], 7));
        let mut bytes = packet;
        let now = target.now;
        target.server.on_datagram(now, from, Ecn::NotEct, &mut bytes, &mut target.sink);
        let out = target.send_due();
        bytes_out += out.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        target.now += Span::from_millis(1);
    }
    assert!(bytes_out < bytes_in, "{bytes_out} bytes for {bytes_in}");
    let connection = target.server.connection(slot).expect("a connection");
    assert_eq!((connection.ended(), connection.remote()), (None, (Target::from(4000), 0)));
    assert!(target.serves());
}

#[test]
fn acknowledgements_of_unsent_packets_do_not_exceed_the_window() {
    let limits = ServerLimits { datagrams: true, ..ServerLimits::default() };
    let mut target = Target::new(limits);
    let (mut client, slot) = target.connect(4000, &hostile::offer(2, "cubic"));
    let mut random = Stream::new(5, "acks");
    let mut out = 0;
    for i in 0..5000u64 {
        if let Some(connection) = target.server.connection(slot)
            && connection.waiting_datagrams() < 10
        {
            connection.write_datagram(&[7; 1000]);
            target.server.reschedule(slot);
        }
        // ECE and an echoed mark, many blocks, the largest number far ahead, and a cumulative point
        // above all segments.
        let mut ack = vec![4, random.below(8) as u8, random.below(33) as u8];
        ack.extend(&(random.next_u64() >> random.below(64)).to_be_bytes()[2..]);
        ack.extend(&(random.next_u64() >> random.below(64)).to_be_bytes()[1..]);
        ack.extend(random.next_u64().to_be_bytes());
        ack.extend((random.next_u64() as u32).to_be_bytes());
        ack.extend([0; 4]);
        ack.extend((0..64).map(|_| random.next_u64() as u8));
        let packet = client.packet(&ack);
        out += target.hand(4000, &packet).len() as u64;
        target.now += Span::from_millis(1);
        if i % 100 == 0 {
            assert!(out <= 3 * i + 300, "{out} packets for {i}");
        }
    }
    let ended = target.server.connection(slot).is_none_or(|one| {
        matches!(one.ended(), Some(End::Here { .. } | End::There { .. } | End::Silence(_)))
    });
    assert!(!ended, "acknowledgements end no connection");
}
