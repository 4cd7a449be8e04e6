//! Connections whose keys change while they carry data, in virtual time.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::common::{PathConditions, SERVER, TestNetwork, bytes, offer};
use paceline_cc::{Ecn, Span, Time};
use paceline_wire::{Offer, ServerLimits, Service};

/// Returns how often each end has changed its keys.
fn changes(network: &mut TestNetwork) -> [u64; 2] {
    let slot = network.slot.expect("a connection");
    let server = network.server.connection(slot).expect("a connection").key_changes();
    [network.connection.as_ref().expect("a connection").key_changes(), server]
}

fn tunnel(seed: u64, conditions: PathConditions, plaintext: bool) -> TestNetwork {
    let (service, back) = (Service::Datagrams, "cubic".into());
    let offer = Offer { service, back, plaintext, ..offer("cubic") };
    let limits = ServerLimits { datagrams: true, plaintext, ..ServerLimits::default() };
    TestNetwork::new(seed, conditions, offer, limits)
}

/// Lets both ends write a datagram every 100 ms until `end`. Returns how many each has written.
fn exchange(network: &mut TestNetwork, end: Time) -> [usize; 2] {
    let (mut next, mut written) = (network.now, [0, 0]);
    while network.now < end {
        let step = next + Span::from_millis(100);
        network.run(step, |_| false);
        (network.now, next) = (step, step);
        let Some(client) = &mut network.connection else { continue };
        assert_eq!(client.ended(), None, "at {:?}", network.now);
        written[0] += usize::from(client.write_datagram(&[1; 200]));
        let Some(slot) = network.slot.filter(|&slot| !network.server.is_half_open(slot)) else {
            continue;
        };
        let server = network.server.connection(slot).expect("a connection");
        written[1] += usize::from(server.write_datagram(&[2; 200]));
        network.server.reschedule(slot);
    }
    network.run(end + Span::from_secs(2), |_| false);
    written
}

#[test]
fn keys_change_every_two_minutes_for_three_hours_and_no_datagram_is_lost() {
    for plaintext in [false, true] {
        let mut network = tunnel(1, PathConditions::clean(), plaintext);
        let written = exchange(&mut network, Time::from_secs(3 * 3600));
        assert!(written[0] > 100_000 && written[1] > 100_000, "{written:?}");
        assert_eq!(network.at_server.datagrams.len(), written[0]);
        assert_eq!(network.at_client.datagrams.len(), written[1]);
        // 120 s, and the round trips of the change.
        let [client, server] = changes(&mut network);
        assert!(client == server && (85..=90).contains(&client), "{client} {server}");
    }
}

#[test]
fn keys_change_over_paths_that_lose_reorder_and_repeat_packets() {
    for seed in 0..3 {
        let conditions =
            PathConditions { loss: 0.2, jitter: Span::from_millis(60), ..PathConditions::poor() };
        let mut network = tunnel(seed, conditions, false);
        let written = exchange(&mut network, Time::from_secs(3600));
        let [client, server] = changes(&mut network);
        assert!(client == server && (25..=30).contains(&client), "{client} {server}");
        let (there, back) = (network.at_server.datagrams.len(), network.at_client.datagrams.len());
        // A fifth is lost, and a hundredth corrupted; the change of keys loses no further packets.
        let most = |written: usize| written * 84 / 100;
        let least = |written: usize| written * 72 / 100;
        assert!((least(written[0])..most(written[0])).contains(&there), "{there} of {written:?}");
        assert!((least(written[1])..most(written[1])).contains(&back), "{back} of {written:?}");
    }
}

#[test]
fn a_stream_goes_on_while_keys_change() {
    for plaintext in [false, true] {
        // The transfer takes a quarter of an hour.
        let byte = Span::from_micros(200);
        let (longest_wait, corrupt) = (Span::from_secs(3), 0.0);
        let conditions = PathConditions { byte, longest_wait, corrupt, ..PathConditions::poor() };
        let data = bytes(4_000_000, 4);
        let limits = ServerLimits { plaintext, ..ServerLimits::default() };
        let offer = Offer { plaintext, ..offer("cubic") };
        let mut network = TestNetwork::new(4, conditions, offer, limits);
        let mut written = 0;
        let done = network.run(Time::from_secs(3600), |network| {
            let Some(connection) = &mut network.connection else { return false };
            written += connection.write(&data[written..]);
            written == data.len() && connection.is_drained()
        });
        assert!(done && network.at_server.stream == data, "{written} at {:?}", network.now);
        let [client, server] = changes(&mut network);
        assert!(client.abs_diff(server) <= 1 && client >= 6, "{client} {server}");
    }
}

/// An end that receives nothing under the new keys for a minute continues with the old ones.
#[test]
fn an_outage_within_a_change_ends_nothing() {
    for until in [10, 100] {
        // From the start of the change on, no packet reaches one of the ends.
        for to_server in [true, false] {
            let mut network = tunnel(5, PathConditions::clean(), false);
            let from = Time::from_millis(120_010);
            let until = from + Span::from_millis(until * 80);
            network.drops =
                Some(Box::new(move |now, to, _| to == to_server && from <= now && now < until));
            exchange(&mut network, Time::from_secs(200));
            assert_eq!(changes(&mut network), [1, 1]);
        }
    }
}

#[test]
fn packets_of_old_keys_are_refused_when_the_period_is_over() {
    let mut network = tunnel(6, PathConditions::clean(), false);
    // A host on the path holds back every tenth packet to the server.
    let kept: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
    let (held, mut count) = (kept.clone(), 0);
    network.drops = Some(Box::new(move |_, to_server, bytes| {
        count += usize::from(to_server && bytes[0] == 0x41);
        let holds = to_server && bytes[0] == 0x41 && count % 10 == 0;
        if holds {
            held.borrow_mut().push(bytes.to_vec());
        }
        holds
    }));
    exchange(&mut network, Time::from_secs(115));
    assert_eq!(changes(&mut network), [0, 0]);
    let held: Vec<_> = kept.borrow_mut().drain(..).collect();
    assert!(held.len() > 50);
    let arrive = |network: &mut TestNetwork, packet: &[u8], to: SocketAddr| {
        let before = network.at_server.datagrams.len();
        let (now, sink) = (network.now, &mut network.at_server);
        network.server.on_datagram(now, to, Ecn::NotEct, &mut packet.to_vec(), sink);
        network.at_server.datagrams.len() - before
    };
    // One of them arrives late, and is accepted once.
    let last = held.last().expect("packets");
    let client = network.client;
    let one = arrive(&mut network, last, client);
    assert_eq!(arrive(&mut network, last, client), 0);
    assert!(one <= 1);
    exchange(&mut network, Time::from_secs(127));
    assert_eq!(changes(&mut network), [1, 1]);
    for packet in &held {
        assert_eq!(arrive(&mut network, packet, client), 0);
        // It is not accepted with the number of the new epoch either.
        let mut renamed = packet.clone();
        renamed[5] += 1;
        assert_eq!(arrive(&mut network, &renamed, client), 0);
    }
    assert_eq!(SERVER.1, 5311);
}
