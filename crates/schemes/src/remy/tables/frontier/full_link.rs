//! `full-link`: trained by `paceline remy train scenarios/remy/frontier-delta0.02.toml --generations 16` with seed 1:
//! 4,287 candidates, 2,699,700 simulated seconds, 439 CPU seconds.

use crate::remy::Signal::{QueueEwma, RttRatio};
use crate::remy::tables::binary::{Node, cut, on_rate};

pub(super) static NODES: &[Node] = &[
    cut(QueueEwma, 171.75948464133128),
    cut(RttRatio, 2.033560774888338),
    cut(RttRatio, 1.5534029534737404),
    on_rate(0.8, 34, 6.0, 100.0),
    on_rate(0.8, 34, 6.0, 92.0),
    cut(RttRatio, 2.615364403909442),
    on_rate(0.9, 30, 3.75, 62.0),
    on_rate(0.8, 20, 3.75, 62.0),
    cut(RttRatio, 2.8386654879424964),
    on_rate(0.5, 19, 1.25, 132.0),
    on_rate(0.5, 19, 3.75, 100.0),
];
