//! The Gilbert-Elliott model of tc-netem(8) and Elliott (1963).

use paceline_path::GilbertElliott;
use paceline_peers::vector::{Vectors, near};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("netem, Elliott 1963");
    // Probabilities of turning bad and of turning good, loss probabilities in the good and the bad
    // state, and the mean.
    for (p, r, good, bad, mean) in [
        (0.01, 0.1, 0.0, 1.0, 0.01 / 0.11),
        (0.05, 0.5, 0.0, 0.7, 0.7 * 0.05 / 0.55),
        (0.02, 0.2, 0.005, 0.8, (0.8 * 0.02 + 0.005 * 0.2) / 0.22),
    ] {
        let test = format!("p {p}, r {r}, 1-h {bad}, 1-k {good}: the mean loss");
        vectors.holds("Gilbert-Elliott", test, move || {
            let model = GilbertElliott::new(p, r, good, bad).map_err(|error| error.to_string())?;
            near("mean", model.mean(), mean, 1e-12)
        });
    }
    vectors.holds(
        "Gilbert-Elliott",
        "5 % in bursts of 5: p is 0.05 x 0.2 / 0.95, r is 0.2",
        || {
            let model =
                GilbertElliott::with_bursts(0.05, 5.0).map_err(|error| error.to_string())?;
            let (p, r) = model.transitions();
            near("p", p, 0.01 / 0.95, 1e-12)?;
            near("r", r, 0.2, 1e-12)
        },
    );
    vectors
}
