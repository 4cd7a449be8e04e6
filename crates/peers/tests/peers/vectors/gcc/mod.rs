//! Google congestion control: expectations of its implementations and its draft.

mod libwebrtc;
mod pion;
mod str0m;

use paceline_cc::Time;
use paceline_peers::vector::{Vectors, near};

use crate::bench::{Gcc, at, ms};

pub(crate) fn vectors() -> [Vectors; 4] {
    [str0m::vectors(), libwebrtc::vectors(), pion::vectors(), draft()]
}

/// Vectors of draft-ietf-rmcat-gcc-02.
fn draft() -> Vectors {
    let mut vectors = Vectors::of("draft-ietf-rmcat-gcc-02");
    for (lost, factor) in [(0, 1.05), (1, 1.05), (5, 1.0), (10, 1.0), (20, 0.9), (50, 0.75)] {
        let test = format!("§6: with losses of {lost} % the rate is {factor} of what it was");
        vectors.holds("gcc", test, move || {
            let mut gcc = Gcc::new("gcc[initial_rate=1Mbps,loss=draft]");
            gcc.rtt = ms(50);
            gcc.hear(Time::from_secs(1), &[]);
            gcc.hear_of_losses(at(1250), lost);
            near("Mbit/s", gcc.get("loss_based"), factor, 1e-9)
        });
    }
    vectors
}
