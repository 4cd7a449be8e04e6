//! Google's quiche (f44fa9f).

mod bbr;
mod cubic;
mod recovery;
mod samples;

use paceline_peers::vector::Vectors;

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("quiche (Google)");
    cubic::add(&mut vectors);
    recovery::add(&mut vectors);
    samples::add(&mut vectors);
    bbr::add(&mut vectors);
    vectors
}
