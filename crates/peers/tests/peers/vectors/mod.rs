//! Figures of peers' own tests, by peer.

mod authors;
mod cloudflare;
mod dualpi2;
mod explicit;
mod gcc;
mod google;
mod mahimahi;
mod msquic;
mod mvfst;
mod neqo;
mod netem;
mod ns2;
mod ns3;
mod packetdrill;
mod quinn;
mod rfcs;
mod s2n_quic;
mod smoltcp;

use std::collections::BTreeSet;

use paceline_cc::Span;
use paceline_peers::vector::{Outcome, Vector, same, surprises};
use paceline_schemes::remy::Memory;

use crate::bench::{Acks, Bottleneck, Desk, controller, ms, state};

/// Returns all vectors, in the order of the page.
pub(crate) fn all() -> Vec<Vector> {
    let by_peer = [
        packetdrill::vectors(),
        ns3::vectors(),
        google::vectors(),
        s2n_quic::vectors(),
        neqo::vectors(),
        mvfst::vectors(),
        cloudflare::vectors(),
        msquic::vectors(),
        quinn::vectors(),
        smoltcp::vectors(),
        rfcs::vectors(),
    ];
    let by_scheme = gcc::vectors().into_iter().chain(dualpi2::vectors()).chain(explicit::vectors());
    let by_scheme = by_scheme
        .chain([ns2::vectors(), mahimahi::vectors(), netem::vectors()])
        .chain(authors::vectors());
    by_peer.into_iter().chain(by_scheme).flat_map(|vectors| vectors.all).collect()
}

/// Returns Remy's memory after each of the acknowledgements to which its figures belong.
pub(crate) fn remy_memories() -> &'static [Memory] {
    &authors::remy::MEMORIES
}

#[test]
fn figures_of_peers_are_as_declared() {
    let found = surprises(&all());
    assert!(found.is_empty(), "{} surprises:\n{}", found.len(), found.join("\n"));
}

/// Returns the pacing gains, in thousandths, of a transfer of 12 s over 4 Mbit/s and 70 ms.
fn pacing_gains(scheme: &str) -> Vec<i64> {
    let mut path = Bottleneck::new(scheme, 1350, 4.0, ms(70), 70_000);
    path.write(100_000_000);
    let mut gains = BTreeSet::new();
    path.run(ms(12_000), |path| {
        gains.insert((path.state("pacing_gain") * 1000.0).round() as i64);
        false
    });
    gains.into_iter().collect()
}

/// Compares Cubic's windows after acknowledgements of two packets each, if the application writes
/// only `packets`.
fn windows_of_few(packets: u64, expected: &[u64]) -> Outcome {
    let mut desk = Desk::new("cubic", 1000);
    same("sent at once", desk.write(packets).len() as u64, packets.min(10))?;
    let mut windows = Vec::new();
    for step in 1..=expected.len() as u64 {
        desk.ack_first(100 + 5 * step, packets.min(2 * step));
        windows.push(desk.cwnd());
    }
    same("windows", windows, expected.to_vec())
}

/// Returns a scheme's average share of marked packets after round trips of acknowledged and marked
/// packets.
fn mark_share(scheme: &str, rtt: Span, round_trips: &[(f64, u32)]) -> f64 {
    let mut controller = controller(scheme, 1460);
    let mut acks = Acks::new(1460, rtt);
    acks.begins_round = true;
    for (acked, marked) in round_trips {
        acks.now += rtt;
        controller.on_feedback(&acks.marked(*acked, *marked));
    }
    state(&*controller, "alpha")
}
