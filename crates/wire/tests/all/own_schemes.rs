//! A server with a table of schemes takes offers that name them; other servers refuse these offers.

use std::sync::Arc;

use crate::common::{PathConditions, TestNetwork, bytes, offer};
use paceline_cc::{Spec, Time};
use paceline_schemes::{SchemeEntry, registry};
use paceline_wire::{Limits, ServerLimits};

/// The default limits, and `mine` beside the built-in schemes.
fn limits() -> Limits {
    let mut schemes = registry::builtin();
    let mine = SchemeEntry::new("mine", |_| registry::build(&Spec::parse("newreno")?));
    schemes.add(mine).expect("a free name");
    Limits { schemes: Some(Arc::new(schemes)), ..Limits::default() }
}

fn connects(server: Limits) -> TestNetwork {
    let server = ServerLimits { each: server, ..ServerLimits::default() };
    let conditions = PathConditions::clean();
    let mut network = TestNetwork::with_limits(1, conditions, offer("mine"), limits(), server);
    let data = bytes(20_000, 1);
    let mut written = 0;
    network.run(Time::from_secs(20), |network| {
        let Some(connection) = &mut network.connection else { return false };
        written += connection.write(&data[written..]);
        written == data.len() && connection.is_drained()
    });
    network
}

#[test]
fn both_ends_build_a_scheme_of_their_own_table() {
    let network = connects(limits());
    assert!(network.failure.is_none(), "{:?}", network.failure);
    assert!(network.connection.is_some_and(|connection| connection.is_drained()));
}

#[test]
fn a_server_without_the_scheme_refuses_the_offer_and_says_why() {
    let network = connects(Limits::default());
    let failure = network.failure.expect("a refusal").to_string();
    assert!(network.connection.is_none() && failure.contains("unknown scheme `mine`"), "{failure}");
}
