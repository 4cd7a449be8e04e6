//! Flow control by the reading application, in virtual time.

use crate::common::{PathConditions, TestNetwork, bytes, offer};
use paceline_cc::{Span, Time};
use paceline_wire::{Limits, ServerLimits};

const WINDOW: u64 = 100_000;

/// Returns a network whose server's application reads later.
fn network(seed: u64, conditions: PathConditions) -> TestNetwork {
    let each = Limits { window: WINDOW, reads_later: true, ..Limits::default() };
    let limits = ServerLimits { each, ..ServerLimits::default() };
    TestNetwork::new(seed, conditions, offer("cubic"), limits)
}

/// Lets the server's application consume at most `most` bytes. Returns the bytes that it had and
/// had not consumed before.
fn read(network: &mut TestNetwork, most: u64) -> u64 {
    let Some(slot) = network.slot else { return 0 };
    let Some(connection) = network.server.connection(slot) else { return 0 };
    let unread = connection.unread_bytes();
    let held = unread + connection.buffered_bytes();
    // A segment that fills a gap counts once it has been passed on.
    assert!(held <= WINDOW + 1500, "{held} bytes are held");
    assert!(unread <= WINDOW, "{unread} bytes are unread");
    connection.consume(most);
    if most > 0 {
        network.server.reschedule(slot);
    }
    unread
}

/// Writes the rest of `data`; returns true once all of it has arrived.
fn write(network: &mut TestNetwork, data: &[u8], written: &mut usize) -> bool {
    let Some(connection) = &mut network.connection else { return false };
    assert_eq!(connection.ended(), None, "at {:?}", network.now);
    *written += connection.write(&data[*written..]);
    *written == data.len() && connection.is_drained()
}

#[test]
fn a_reader_that_stops_for_ten_minutes_holds_the_sender_up_and_loses_nothing() {
    let data = bytes(1_000_000, 1);
    let mut network = network(1, PathConditions::clean());
    let (mut written, goes_on) = (0, Time::from_secs(602));
    let mut stopped = None;
    assert!(!network.run(goes_on, |network| {
        // It reads only during the first two seconds, 50 kB in each tenth.
        let most = if network.now < Time::from_secs(2) { 500 } else { 0 };
        let unread = read(network, most);
        if unread == WINDOW && network.now > Time::from_secs(5) {
            let counts = (network.to_server, network.to_client);
            stopped.get_or_insert((network.now, counts));
        }
        write(network, &data, &mut written)
    }));
    let (since, before) = stopped.expect("the window is full");
    let sent = (network.to_server - before.0, network.to_client - before.1);
    let seconds = goes_on.since(since).as_nanos() / 1_000_000_000;
    assert!(seconds > 500);
    // A question in five seconds with its answer, and keepalives every 2.5 s.
    assert!(sent.0 < seconds && sent.1 < seconds, "{sent:?} packets in {seconds} s");
    assert!(sent.0 >= seconds / 5, "{sent:?} packets in {seconds} s");
    network.now = goes_on;
    let done = network.run(goes_on + Span::from_secs(30), |network| {
        read(network, u64::MAX);
        write(network, &data, &mut written)
    });
    assert!(done, "at {:?}", network.now);
    assert!(network.at_server.stream == data);
    let stats = network.connection.as_ref().and_then(|c| c.sent()).expect("a sender");
    assert_eq!((stats.retransmits, stats.timeouts), (0, 0), "{stats:?}");
}

#[test]
fn credit_that_is_lost_is_asked_for_again() {
    let data = bytes(1_000_000, 2);
    let mut network = network(2, PathConditions::clean());
    // All packets of the server between the two times are lost, acknowledgements and credit: by
    // then the reader has read.
    let (from, until) = (Time::from_millis(800), Time::from_millis(4000));
    network.drops =
        Some(Box::new(move |now, to_server, _| !to_server && from <= now && now < until));
    let mut written = 0;
    let done = network.run(Time::from_secs(60), |network| {
        read(network, if network.now < from { 0 } else { u64::MAX });
        write(network, &data, &mut written)
    });
    assert!(done, "{written} bytes written at {:?}", network.now);
    assert!(network.at_server.stream == data);
}

#[test]
fn slow_readers_get_everything_over_poor_paths() {
    for seed in 0..4 {
        let data = bytes(400_000, seed);
        let mut network = network(seed, PathConditions::poor());
        let (mut written, mut next) = (0, Time::ZERO);
        let done = network.run(Time::from_secs(300), |network| {
            // 20 kB whenever a packet moves, but at most five times per second.
            let reads = network.now >= next;
            if reads {
                next = network.now + Span::from_millis(200);
            }
            read(network, if reads { 20_000 } else { 0 });
            write(network, &data, &mut written)
        });
        assert!(done, "{written} bytes written at {:?}", network.now);
        assert!(network.at_server.stream == data);
    }
}

#[test]
fn an_application_that_reads_at_once_costs_a_packet_for_half_a_window() {
    let data = bytes(1_000_000, 3);
    let sent = |reads_later: bool| {
        // Far more than is in flight.
        let window = 10 * WINDOW;
        let each = Limits { window, reads_later, ..Limits::default() };
        let limits = ServerLimits { each, ..ServerLimits::default() };
        let mut network = TestNetwork::new(3, PathConditions::clean(), offer("cubic"), limits);
        let mut written = 0;
        assert!(network.run(Time::from_secs(60), |network| {
            if let Some(connection) = network.slot.and_then(|slot| network.server.connection(slot))
            {
                connection.consume(u64::MAX);
            }
            write(network, &data, &mut written)
        }));
        assert!(network.at_server.stream == data);
        (network.to_server, network.to_client)
    };
    let (plain, later) = (sent(false), sent(true));
    assert_eq!(plain.0, later.0, "packets of data");
    let credits = data.len() as u64 / (5 * WINDOW);
    assert!(later.1 <= plain.1 + credits, "{plain:?} {later:?}");
}
