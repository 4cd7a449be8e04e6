//! ns-2.35 (f8f8c6f): figures from running its XCP and sfqCoDel.

mod sfq_codel;
mod xcp;

use paceline_peers::vector::Vectors;

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("ns-2");
    xcp::add(&mut vectors);
    sfq_codel::add(&mut vectors);
    vectors
}
