//! A client and a server over bad paths, in virtual time.

use crate::common::{PathConditions, TestNetwork, bytes, ended_well, offer, transfer};
use paceline_cc::{Span, Time};
use paceline_wire::{ConnectError, End, Limits, Offer, ServerLimits};

#[test]
fn a_clean_path_carries_a_stream_at_its_rate() {
    let data = bytes(3_000_000, 1);
    let mut network = transfer(1, PathConditions::clean(), offer("cubic"), &data);
    assert!(network.at_server.stream == data);
    ended_well(&mut network);
    // 3 MB take 2.1 s at 12 Mbit/s.
    assert!(network.now < Time::from_secs(6), "{:?}", network.now);
    assert!(network.at_client.rtts > 100);
}

/// The handshake's last round trip is the first RTT sample: the first retransmission timeout is a
/// quarter of a second instead of one second.
#[test]
fn the_handshake_gives_the_first_rtt_sample() {
    let conditions = PathConditions::clean();
    let one_way = conditions.delay;
    let mut network = TestNetwork::new(3, conditions, offer("bbr"), ServerLimits::default());
    assert!(network.run(Time::from_secs(5), |network| network.connection.is_some()));
    let sender = network.connection.as_ref().and_then(|c| c.sender()).expect("it sends");
    let rtt = sender.rtt().min();
    let longest = one_way * 2 + Span::from_millis(10);
    assert!(one_way * 2 <= rtt && rtt < longest, "{rtt} over twice {one_way}");
    assert!(sender.rtt().rto() < Span::from_millis(400), "{}", sender.rtt().rto());
}

const POOR_PATH_SCHEMES: [&str; 13] = [
    "cubic", "abc", "bbr", "copa", "vivace", "xcp", "rcp", "vcp", "sprout", "dctcp", "gcc", "nada",
    "scream",
];

#[test]
fn poor_paths_carry_streams_of_every_kind_of_scheme() {
    for (seed, scheme) in POOR_PATH_SCHEMES.into_iter().enumerate() {
        let data = bytes(300_000, seed as u64);
        let mut network = transfer(seed as u64, PathConditions::poor(), offer(scheme), &data);
        assert!(network.at_server.stream == data, "{scheme}");
        ended_well(&mut network);
        let stats = network.connection.as_ref().and_then(|c| c.sent()).expect("a sender");
        assert!(stats.retransmits > 0, "{scheme}: {stats:?}");
    }
}

#[test]
fn plain_text_is_carried_too_if_both_ends_want_it() {
    let data = bytes(200_000, 5);
    // Only UDP's checksum, which this network lacks, would detect corruption here.
    let conditions = PathConditions { corrupt: 0.0, ..PathConditions::poor() };
    let plain = Offer { plaintext: true, ..offer("cubic") };
    assert!(transfer(5, conditions.clone(), plain.clone(), &data).at_server.stream == data);
    let mut network = TestNetwork::new(5, conditions, plain, ServerLimits::default());
    network.run(Time::from_secs(20), |network| network.failure.is_some());
    let Some(ConnectError::Refused(why)) = &network.failure else {
        panic!("{:?}", network.failure)
    };
    assert!(why.contains("--plaintext"), "{why}");
}

#[test]
fn messages_arrive_once_and_in_order() {
    let mut network =
        TestNetwork::new(10, PathConditions::poor(), offer("cubic"), ServerLimits::default());
    let mut told = false;
    let mut heard = Vec::new();
    network.run(Time::from_secs(60), |network| {
        if let Some(slot) = network.slot
            && !told
            && let Some(connection) = network.server.connection(slot)
        {
            told = true;
            (0..20).for_each(|i| assert!(connection.send_message(vec![i; 100])));
            network.server.reschedule(slot);
        }
        if let Some(connection) = &mut network.connection {
            heard.extend(std::iter::from_fn(|| connection.receive_message()).map(|m| m[0]));
        }
        heard.len() == 20
    });
    assert_eq!(heard, (0..20).collect::<Vec<u8>>());
}

#[test]
fn the_end_of_the_other_side_is_noticed() {
    let mut network =
        TestNetwork::new(11, PathConditions::clean(), offer("cubic"), ServerLimits::default());
    network
        .run(Time::from_secs(5), |network| network.connection.is_some() && network.slot.is_some());
    // An idle connection stays established.
    network.run(Time::from_secs(60), |_| false);
    assert!(network.connection.as_ref().is_some_and(|c| c.ended().is_none()));
    // From now on all datagrams are lost.
    network.conditions.loss = 1.0;
    let done = network.run(Time::from_secs(80), |network| {
        let slot = network.slot.expect("a connection");
        let server = network.server.connection(slot).and_then(|c| c.ended().cloned());
        let client = network.connection.as_ref().and_then(|c| c.ended().cloned());
        matches!(server, Some(End::Silence(_))) && matches!(client, Some(End::Silence(_)))
    });
    assert!(done);
}

#[test]
fn a_scheme_that_is_not_there_is_refused() {
    let mut network =
        TestNetwork::new(12, PathConditions::clean(), offer("nosuch"), ServerLimits::default());
    network.run(Time::from_secs(20), |network| network.failure.is_some());
    assert!(matches!(&network.failure, Some(ConnectError::Refused(why)) if why.contains("nosuch")));
}

#[test]
fn an_initiator_without_an_answer_fails() {
    let conditions = PathConditions { loss: 1.0, ..PathConditions::clean() };
    let mut network = TestNetwork::new(13, conditions, offer("cubic"), ServerLimits::default());
    network.run(Time::from_secs(60), |network| network.failure.is_some());
    let failure = network.failure.expect("no server answers");
    assert!(matches!(failure, ConnectError::Silence { .. }));
    // The message has the time that was configured, in readable form.
    assert!(failure.to_string().contains("within 10s:"), "{failure}");
}

#[test]
fn a_reason_that_an_end_gives_cannot_have_the_others_terminal_do_anything() {
    let mut network =
        TestNetwork::new(14, PathConditions::clean(), offer("cubic"), ServerLimits::default());
    assert!(network.run(Time::from_secs(5), |network| network.connection.is_some()));
    let connection = network.connection.as_mut().expect("a connection");
    connection.close(3, "\u{1b}]0;title\u{7}\u{9b}2Jgone\r\nßo");
    network.run(network.now + Span::from_millis(2000), |_| false);
    let slot = network.slot.expect("a connection");
    let end = network.server.connection(slot).and_then(|c| c.ended().cloned());
    let reason = "?]0;title??2Jgone??ßo".replace('?', "\u{fffd}");
    assert_eq!(end, Some(End::There { code: 3, reason }));
}

/// Returns limits with these times for the connection and for the handshake.
fn patient(idle: u64, silence: u64) -> Limits {
    let (idle, silence) = (Span::from_secs(idle), Span::from_secs(silence));
    Limits { idle, silence, ..Limits::default() }
}

#[test]
fn a_connection_stands_over_round_trips_of_30_seconds() {
    for half in [2_700, 8_000, 15_000] {
        let conditions =
            PathConditions { delay: Span::from_millis(half), ..PathConditions::clean() };
        let limits = ServerLimits { each: patient(60, 60), ..ServerLimits::default() };
        let mut network =
            TestNetwork::with_limits(25, conditions, offer("cubic"), patient(60, 90), limits);
        let (data, mut written) = (bytes(3000, 25), 0);
        let done = network.run(Time::from_secs(300), |network| {
            if let Some(connection) = &mut network.connection {
                written += connection.write(&data[written..]);
            }
            network.at_server.stream.len() == data.len()
        });
        assert!(done, "{half} ms: {:?}, {:?}", network.failure, network.server.stats());
        assert_eq!(network.server.open(), (1, 0), "{half} ms");
    }
}

#[test]
fn the_longer_idle_time_of_both_ends_is_the_connections() {
    for (client, server) in [(60, 10), (10, 60)] {
        for outage in [12, 50] {
            let each = patient(server, 10);
            let limits = ServerLimits { each, ..ServerLimits::default() };
            let conditions = PathConditions::clean();
            let mut network = TestNetwork::with_limits(
                26,
                conditions,
                offer("cubic"),
                patient(client, 10),
                limits,
            );
            let (data, mut written) = (bytes(5_000_000, 26), 0);
            let done = network.run(Time::from_secs(400), |network| {
                let down = Time::from_secs(1)..Time::from_secs(1 + outage);
                network.conditions.loss = if down.contains(&network.now) { 1.0 } else { 0.0 };
                if let Some(connection) = &mut network.connection {
                    written += connection.write(&data[written..]);
                }
                network.at_server.stream.len() == data.len()
            });
            let idle = network.connection.as_ref().expect("a connection").idle();
            assert_eq!(idle, Span::from_secs(60));
            assert!(done && network.at_server.stream == data, "{client}, {server}, {outage}");
        }
    }
}

#[test]
fn an_end_cannot_keep_the_other_waiting_for_longer_than_ten_minutes() {
    let each = patient(10, 10);
    let limits = ServerLimits { each, ..ServerLimits::default() };
    let asked = patient(1_000_000, 10);
    let conditions = PathConditions::clean();
    let mut network = TestNetwork::with_limits(27, conditions, offer("cubic"), asked, limits);
    let both = |network: &mut TestNetwork| network.connection.is_some() && network.slot.is_some();
    assert!(network.run(Time::from_secs(5), both));
    let slot = network.slot.expect("a connection");
    let idle = network.server.connection(slot).expect("a connection").idle();
    assert_eq!(idle, paceline_wire::LONGEST_IDLE);
}
