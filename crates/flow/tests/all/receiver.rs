//! Tests of the receiver: the content and the times of its acknowledgements.

use paceline_cc::{
    Ack, AckPolicy, Body, Data, Ecn, EcnFeedback, Handshake, Packet, Reporter, Span, Stage, Time,
    Verdict,
};
use paceline_flow::{Receiver, ReceiverConfig};

/// Sums the bytes that have arrived since the last acknowledgement, and flushes a delayed
/// acknowledgement when the mark changes, as DCTCP's receiver does.
#[derive(Default)]
struct ByteCountReporter {
    bytes: u32,
    mark: Ecn,
}

impl Reporter for ByteCountReporter {
    fn flushes(&self, packet: &Packet) -> bool {
        packet.ecn != self.mark
    }
    fn on_arrival(&mut self, _now: Time, packet: &Packet) -> Verdict {
        self.bytes += packet.size;
        self.mark = packet.ecn;
        Verdict::default()
    }
    fn echo(&self) -> Ecn {
        self.mark
    }
    fn explicit(&mut self) -> u32 {
        std::mem::take(&mut self.bytes)
    }
}

fn data(number: u64, size: u32, ecn: Ecn) -> Packet {
    let data = Data { number, segment: number, ..Data::default() };
    Packet { ecn, body: Body::Data(data), ..Packet::opaque(size) }
}

/// Returns the acknowledgements sent at `now`.
fn pop(receiver: &mut Receiver, now: Time) -> Vec<Ack> {
    let mut place = Packet::opaque(0);
    let mut acks = Vec::new();
    while receiver.pop_into(now, &mut place) {
        let Body::Ack(ack) = place.body else { panic!("{place:?}") };
        acks.push(ack);
    }
    acks
}

/// RFC 8257 §3.2: an acknowledgement flushed by a change of the mark covers the packets before the
/// change. Neither its echo nor the reporter's sum includes the packet that changed the mark.
#[test]
fn a_flushed_acknowledgement_knows_nothing_of_the_packet_that_flushes_it() {
    let config = ReceiverConfig::new(0).with(|config| {
        config.ack = AckPolicy { every: 4, delay: Span::from_millis(40) };
        config.reporter = Some(Box::new(ByteCountReporter { bytes: 0, mark: Ecn::Ect0 }));
    });
    let mut receiver = Receiver::new(config);
    receiver.push(Time::from_millis(1), &data(0, 1000, Ecn::Ect0));
    receiver.push(Time::from_millis(2), &data(1, 1200, Ecn::Ect0));
    assert!(pop(&mut receiver, Time::from_millis(2)).is_empty());
    receiver.push(Time::from_millis(3), &data(2, 1500, Ecn::Ce));
    let acks = pop(&mut receiver, Time::from_millis(3));
    let said = |ack: &Ack| (ack.largest, ack.cumulative, ack.ce_packets, ack.echo, ack.explicit);
    let said: Vec<_> = acks.iter().map(said).collect();
    // The packet that changed the mark is acknowledged at once, too, by itself.
    assert_eq!(said, [(1, 2, 0, Ecn::Ect0, 2200), (2, 3, 1, Ecn::Ce, 1500)]);
}

/// Classic ECN: the echo of a mark ends with its connection, although the first packet of the next one, which has CWR, is
/// lost.
#[test]
fn a_mark_is_not_echoed_into_the_next_connection() {
    for linux in [false, true] {
        let mut receiver = Receiver::new(ReceiverConfig::new(0).with(|config| {
            (config.linux, config.ecn) = (linux, EcnFeedback::Classic);
        }));
        let mut now = Time::from_millis(1);
        receiver.push(now, &data(0, 1500, Ecn::Ce));
        now += Span::from_millis(40);
        assert!(pop(&mut receiver, now).iter().all(|ack| ack.ece));
        let handshake = Handshake { connection: 1, number: 0, sent: now };
        let syn = Packet { body: Body::Handshake(handshake), ..Packet::opaque(64) };
        receiver.push(now, &syn);
        assert!(receiver.pop_into(now, &mut Packet::opaque(0)));
        // Packet 1, the first of the connection, is lost.
        let second = Data { number: 2, segment: (1 << 40) + 1, ..Data::default() };
        let packet = Packet { body: Body::Data(second), ..data(2, 1500, Ecn::Ect0) };
        now += Span::from_millis(50);
        receiver.push(now, &packet);
        let acks = pop(&mut receiver, now);
        assert!(acks.len() == 1 && !acks[0].ece, "{acks:?}");
    }
}

/// A receiver on Linux at the end of a path with a one-way delay of 50 ms, and packets that are 10
/// ms apart.
struct LinuxHost {
    receiver: Receiver,
    now: Time,
}

impl LinuxHost {
    fn new() -> LinuxHost {
        LinuxHost::with_ecn(EcnFeedback::Accurate)
    }

    fn with_ecn(ecn: EcnFeedback) -> LinuxHost {
        let config = ReceiverConfig::new(0).with(|config| (config.linux, config.ecn) = (true, ecn));
        LinuxHost { receiver: Receiver::new(config), now: Time::from_millis(100) }
    }

    /// Lets a packet arrive; returns how many acknowledgements are sent at once.
    fn takes(&mut self, number: u64, segment: u64, push: bool) -> usize {
        self.takes_data(Data { number, segment, push, ..Data::default() }, Ecn::NotEct)
    }

    fn takes_data(&mut self, data: Data, ecn: Ecn) -> usize {
        self.now += Span::from_millis(10);
        let sent = Time::ZERO + (self.now.since(Time::from_millis(50)));
        let packet = Packet { sent, ecn, body: Body::Data(data), ..Packet::opaque(1500) };
        self.receiver.push(self.now, &packet);
        pop(&mut self.receiver, self.now).len()
    }

    /// Lets a packet arrive in order 60 ms after the one before, and the delayed acknowledgement leave. Returns true if the
    /// packet is acknowledged at once.
    fn acks_at_once(&mut self, number: u64, cwr: bool, ecn: Ecn) -> bool {
        self.now += Span::from_millis(50);
        let segment = number;
        let acks = self.takes_data(Data { number, segment, cwr, ..Data::default() }, ecn);
        let due = self.receiver.wake();
        if due != Time::NEVER {
            assert_eq!(pop(&mut self.receiver, due).len(), 1);
        }
        acks > 0
    }

    /// Lets the SYN of a connection arrive, and 100 ms later the acknowledgement of the SYN-ACK.
    fn connects(&mut self, connection: u32) {
        self.now += Span::from_millis(500);
        let handshake = Handshake { connection, number: 0, sent: self.now };
        let syn = Packet { body: Body::Handshake(handshake), ..Packet::opaque(64) };
        self.receiver.push(self.now, &syn);
        let mut answer = Packet::opaque(0);
        assert!(self.receiver.pop_into(self.now, &mut answer));
        assert!(matches!(answer.body, Body::Handshake(_)), "{answer:?}");
        self.now += Span::from_millis(100);
        self.receiver.push(self.now, &Packet::opaque(52));
    }

    /// Lets packets arrive in order without PSH until one is not acknowledged at once. Returns its
    /// number.
    fn first_delayed(&mut self, from: u64) -> u64 {
        (from..from + 1000)
            .find(|number| self.takes(*number, *number, false) == 0)
            .unwrap_or(u64::MAX)
    }
}

/// Linux `TCP_MAX_QUICKACKS` and `tcp_grow_window`: each of the first 16 packets is acknowledged,
/// and so is each earlier packet with which the receive window grows, from 65 160 to 80 000 bytes
/// by 3000 each.
#[test]
fn linux_acknowledges_a_connections_first_packets_each() {
    let mut host = LinuxHost::new();
    let first = host.first_delayed(0);
    assert!((16..=22).contains(&first), "{first}");
    assert_eq!(host.takes(first + 1, first + 1, false), 1, "two are unacknowledged");
}

/// Each connection has a socket of its own: quickack mode and the growth of the receive window begin anew with its SYN,
/// and no acknowledgement of the previous connection is due.
#[test]
fn linux_acknowledges_the_first_packets_of_each_connection() {
    let mut host = LinuxHost::new();
    let mut firsts = Vec::new();
    for connection in 0..3 {
        host.connects(connection);
        let base = u64::from(connection) << 40;
        let first = host.first_delayed(base);
        firsts.push(first - base);
        assert_ne!(host.receiver.wake(), Time::NEVER, "the last packet's is delayed");
        // A SYN that arrives again changes nothing.
        host.connects(connection);
        assert_eq!(pop(&mut host.receiver, host.now).len(), 1);
    }
    assert!((16..=22).contains(&firsts[0]) && firsts.iter().all(|n| *n == firsts[0]), "{firsts:?}");
    let first = host.first_delayed(4 << 40);
    assert_eq!(host.takes(first + 1, first + 1, false), 1);
    host.takes(first + 2, first + 2, false);
    host.connects(9);
    assert_eq!(host.receiver.wake(), Time::NEVER);
}

/// Linux `tcp_cleanup_rbuf`: the last packet of a group is acknowledged at once, since everything
/// is read then.
#[test]
fn linux_acknowledges_a_packet_with_psh_at_once() {
    let mut host = LinuxHost::new();
    let first = host.first_delayed(0);
    assert_eq!(host.takes(first + 1, first + 1, false), 1);
    assert_eq!(host.takes(first + 2, first + 2, true), 1);
    assert_eq!(host.takes(first + 3, first + 3, false), 0);
    let due = host.now + Span::from_millis(40);
    assert_eq!(host.receiver.wake(), due);
    assert_eq!(pop(&mut host.receiver, due).len(), 1);
}

/// Linux `tcp_event_data_recv`, `tcp_delack_timer_handler`, `tcp_send_delayed_ack`: after packets 30 ms apart, an
/// acknowledgement is delayed by almost 60 ms (Linux 6.18: 58 to 64 ms); when that has passed without a second packet, by twice
/// that, but not beyond the RTT, here 100 ms (106 to 111 ms). Packets at short intervals bring 40 ms back.
#[test]
fn linux_adapts_the_delay_to_the_intervals_of_packets() {
    let mut host = LinuxHost::new();
    let first = host.first_delayed(0);
    let mut next = first + 1;
    // Lets packets arrive; returns the delay of the last one's acknowledgement in ms.
    let mut delay = |host: &mut LinuxHost, packets: u64, interval: u64| {
        for _ in 0..packets {
            host.now += Span::from_millis(interval - 10);
            host.takes(next, next, false);
            next += 1;
        }
        let due = host.receiver.wake();
        assert_ne!(due, Time::NEVER);
        due.since(host.now).as_secs_f64() * 1e3
    };
    assert_eq!(delay(&mut host, 2, 10), 40.0);
    let after_pairs = delay(&mut host, 12, 30);
    assert!((55.0..60.0).contains(&after_pairs), "{after_pairs} ms");
    let due = host.receiver.wake();
    assert_eq!(pop(&mut host.receiver, due).len(), 1);
    assert_eq!(delay(&mut host, 1, 150), 100.0);
    let again = delay(&mut host, 20, 10);
    assert!((40.0..40.1).contains(&again), "{again} ms");
}

/// Linux `tcp_data_ecn_check`, `tcp_ecn_accept_cwr` and `tcp_ecn_received_counters`; the first as measured on Linux 6.18: each
/// line is one packet.
#[test]
fn linux_acknowledges_changes_of_the_ecn_field_at_once() {
    use Ecn::{Ce, Ect0, NotEct};
    let classic: &[_] = &[
        ("ECT", Ect0, false, false),
        ("the first CE", Ce, false, true),
        ("the packet after it", Ect0, false, true),
        ("a further one", Ect0, false, false),
        ("CE during the echo", Ce, false, false),
        ("CWR", Ect0, true, true),
        ("ECT after CWR", Ect0, false, false),
        ("not ECT", NotEct, false, true),
        ("a second one", NotEct, false, true),
        ("ECT after not ECT", Ect0, false, true),
        ("a further one", Ect0, false, false),
        ("CWR with CE", Ce, true, true),
        ("ECT", Ect0, false, true),
        ("a further one", Ect0, false, false),
    ];
    let accurate: &[_] = &[
        ("ECT", Ect0, false, false),
        ("the first CE", Ce, false, true),
        ("the second", Ce, false, false),
        ("the third", Ce, false, false),
        ("ECT after CE", Ect0, false, true),
        ("a further one", Ect0, false, false),
        ("CWR", Ect0, true, false),
        ("not ECT", NotEct, false, true),
        ("ECT after not ECT", Ect0, false, true),
        ("a further one", Ect0, false, false),
    ];
    for (feedback, packets) in [(EcnFeedback::Classic, classic), (EcnFeedback::Accurate, accurate)]
    {
        let mut host = LinuxHost::with_ecn(feedback);
        let delayed = |n: &u64| !host.acks_at_once(*n, false, Ect0);
        let first = (0..100).find(delayed).expect("one is delayed");
        for (at, (name, ecn, cwr, at_once)) in (first + 1..).zip(packets) {
            assert_eq!(host.acks_at_once(at, *cwr, *ecn), *at_once, "{feedback:?}: {name}");
        }
    }
}

/// RFC 9768 §3.2.2.5.1: a receiver that is not Linux' acknowledges when marks begin, and each second mark, however rarely it
/// acknowledges otherwise. One of datagrams, and one with classic ECN, keep to their policy.
#[test]
fn each_second_mark_is_acknowledged_at_once() {
    let acks = |feedback, reliable| {
        let mut receiver = Receiver::new(ReceiverConfig::new(0).with(|config| {
            config.ack = AckPolicy { every: 16, delay: Span::from_secs(1) };
            (config.ecn, config.reliable) = (feedback, reliable);
        }));
        let mut acks = String::new();
        for (number, mark) in (0..).zip("..MMMMM...M.M".chars()) {
            let ecn = if mark == 'M' { Ecn::Ce } else { Ecn::Ect0 };
            let now = Time::from_millis(number);
            receiver.push(now, &data(number, 1500, ecn));
            acks.push(if pop(&mut receiver, now).is_empty() { '.' } else { '1' });
        }
        acks
    };
    assert_eq!(acks(EcnFeedback::Accurate, true), "..1.1.1...1.1");
    assert_eq!(acks(EcnFeedback::Accurate, false), ".............");
    assert_eq!(acks(EcnFeedback::Classic, true), ".............");
}

/// Linux `tcp_event_data_recv` and `tcp_data_queue`: quickack mode begins again after a pause
/// longer than the receiver's RTO, here 300 ms, and after a packet that had arrived before.
#[test]
fn linux_acknowledges_each_packet_again_after_a_pause_and_a_duplicate() {
    for repeats in [false, true] {
        let mut host = LinuxHost::new();
        let first = host.first_delayed(0);
        assert_eq!(host.takes(first + 1, first + 1, false), 1);
        if repeats {
            assert_eq!(host.takes(first + 2, first, false), 1);
        } else {
            host.now += Span::from_millis(300);
        }
        let next = first + 2;
        let delayed = (next..next + 40)
            .find(|segment| host.takes(segment + u64::from(repeats), *segment, false) == 0);
        assert!(
            delayed.is_some_and(|segment| (15..=16).contains(&(segment - next))),
            "{delayed:?}"
        );
    }
}

/// Linux `__tcp_ack_snd_check`: beyond a gap three packets are acknowledged at once, further ones
/// within a millisecond; a packet that closes the gap is acknowledged at once.
#[test]
fn linux_compresses_acknowledgements_beyond_a_gap() {
    let mut host = LinuxHost::new();
    let first = host.first_delayed(0);
    assert_eq!(host.takes(first + 1, first + 1, false), 1);
    // Segment `gap` is missing.
    let gap = first + 2;
    let beyond: Vec<usize> = (gap + 1..gap + 5).map(|n| host.takes(n, n, false)).collect();
    assert_eq!(beyond, [1, 1, 1, 0]);
    let due = host.now + Span::from_millis(1);
    assert_eq!(host.receiver.wake(), due);
    assert_eq!(pop(&mut host.receiver, due).len(), 1);
    assert_eq!(host.takes(gap + 5, gap, false), 1);
}

/// Linux `tcp_data_queue_ofo`: a copy of data beyond a gap begins no quickack mode, so that acknowledgements stay compressed.
#[test]
fn linux_compresses_acknowledgements_after_a_duplicate_beyond_a_gap() {
    let mut host = LinuxHost::new();
    let first = host.first_delayed(0);
    assert_eq!(host.takes(first + 1, first + 1, false), 1);
    let gap = first + 2;
    let mut beyond = |number, segment| {
        let at_once = host.takes(number, segment, false);
        let later = pop(&mut host.receiver, host.now + Span::from_millis(1)).len();
        (at_once, later)
    };
    let six: Vec<_> = (gap + 1..gap + 7).map(|n| beyond(n, n)).collect();
    assert_eq!(six, [(1, 0), (1, 0), (1, 0), (0, 1), (0, 1), (0, 1)]);
    assert_eq!(beyond(gap + 7, gap + 6), (0, 1), "the copy of the last one");
    assert!((gap + 7..gap + 11).all(|segment| beyond(segment + 1, segment) == (0, 1)));
    assert_eq!(beyond(gap + 12, gap), (1, 0));
    // A copy of data below the gap does begin it.
    assert_eq!(beyond(gap + 13, gap), (1, 0));
    assert_eq!(beyond(gap + 14, gap + 11), (1, 0));
}

/// Linux `tcp_event_data_recv`: quickack mode after a pause begins with data in order. If the first packet after it is lost, the
/// acknowledgements of the packets beyond are compressed until it arrives.
#[test]
fn linux_begins_no_quickack_mode_beyond_a_gap() {
    let mut host = LinuxHost::new();
    let first = host.first_delayed(0);
    assert_eq!(host.takes(first + 1, first + 1, false), 1);
    host.now += Span::from_millis(700);
    let gap = first + 2;
    let mut acks = |number, segment| {
        let at_once = host.takes(number, segment, false);
        let later = host.now + Span::from_millis(1);
        (at_once, pop(&mut host.receiver, later).len())
    };
    // So few that the window does not grow afterwards.
    let beyond: Vec<_> = (gap + 1..gap + 7).map(|n| acks(n, n)).collect();
    assert_eq!(beyond[..3], [(1, 0); 3]);
    assert_eq!(beyond[3..], [(0, 1); 3]);
    let mut in_order = [gap].into_iter().chain(gap + 7..gap + 40).zip(gap + 7..);
    let quick = in_order.position(|(segment, number)| acks(number, segment).0 == 0);
    assert_eq!(quick, Some(16));
}

/// Sends rounds of packets, 0.2 ms apart, every 50 ms; packet 20 of the last round is lost. Returns the number of
/// acknowledgements between that and the end of the round.
fn acks_beyond_a_gap(rounds: &[u64]) -> usize {
    let mut host = LinuxHost::new();
    let (mut number, mut segment, mut acks) = (0, 0, 0);
    for (round, size) in rounds.iter().enumerate() {
        let start = Time::from_millis(100 + 50 * round as u64);
        // Sent when the round's acknowledgements arrive, half a round trip earlier.
        let sent = start - Span::from_millis(25);
        acks = 0;
        for packet in 0..*size {
            host.now = start + Span::from_micros(200 * packet);
            acks += pop_until(&mut host.receiver, host.now);
            if round + 1 == rounds.len() && packet == 20 {
                (segment, acks) = (segment + 1, 0);
                continue;
            }
            let data = Data { number, segment, ..Data::default() };
            let packet = Packet { sent, body: Body::Data(data), ..Packet::opaque(1500) };
            host.receiver.push(host.now, &packet);
            (number, segment) = (number + 1, segment + 1);
            acks += pop(&mut host.receiver, host.now).len();
        }
        acks += pop_until(&mut host.receiver, start + Span::from_millis(49));
    }
    acks
}

/// Returns the number of acknowledgements sent until `end`, each when it is due.
fn pop_until(receiver: &mut Receiver, end: Time) -> usize {
    let mut acks = 0;
    while receiver.wake() <= end {
        acks += pop(receiver, receiver.wake()).len();
    }
    acks
}

/// Linux `tcp_data_queue_ofo`: the receive window grows beyond a gap, too, and each packet that makes it grow is acknowledged.
/// Linux 6.18 sends 81 to 83 acknowledgements for the 139 packets after the lost one while the window grows, and 14 for 59
/// packets when it has stopped.
#[test]
fn linux_lets_the_window_grow_beyond_a_gap() {
    let growing = acks_beyond_a_gap(&[10, 20, 40, 80, 160]);
    assert!((78..=88).contains(&growing), "{growing}");
    let steady = acks_beyond_a_gap(&[10, 20, 40, 80, 80, 80, 80, 80, 80]);
    assert!((12..=15).contains(&steady), "{steady}");
}
