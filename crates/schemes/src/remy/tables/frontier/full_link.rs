//! `full-link`: trained by `paceline remy train scenarios/remy/frontier-delta0.02.toml --generations 16` with seed 1:
//! 4,287 candidates, 2,699,700 simulated seconds, 439 CPU seconds. Afterwards we multiplied the queueing delay of each rule, its last
//! number, by 3, because the trained table used a little less of recorded links than Cubic.

use crate::remy::Signal::{QueueEwma, RttRatio};
use crate::remy::tables::binary::{Node, cut, on_rate};

pub(super) static NODES: &[Node] = &[
    cut(QueueEwma, 171.75948464133128),
    cut(RttRatio, 2.033560774888338),
    cut(RttRatio, 1.5534029534737404),
    on_rate(0.8, 34, 6.0, 300.0),
    on_rate(0.8, 34, 6.0, 276.0),
    cut(RttRatio, 2.615364403909442),
    on_rate(0.9, 30, 3.75, 186.0),
    on_rate(0.8, 20, 3.75, 186.0),
    cut(RttRatio, 2.8386654879424964),
    on_rate(0.5, 19, 1.25, 396.0),
    on_rate(0.5, 19, 3.75, 300.0),
];
