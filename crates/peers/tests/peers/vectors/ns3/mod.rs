//! ns-3 (1406464).

mod congestion;
mod medium;
mod queues;

use paceline_peers::vector::Vectors;

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("ns-3");
    congestion::add(&mut vectors);
    queues::add(&mut vectors);
    medium::add(&mut vectors);
    vectors
}
