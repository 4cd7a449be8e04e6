//! `most-throughput`: trained by `paceline remy train scenarios/remy/frontier-delta0.1.toml --generations 12` with seed
//! 1: 6,523 candidates, 2,882,400 simulated seconds, 450 CPU seconds. Its 13 rules are written as 12, in boxes without
//! overlap.

use crate::remy::Signal::{MinRtt, QueueEwma, RateTrend, RttRatio};
use crate::remy::tables::binary::{Node, cut, on_rate};

pub(super) static NODES: &[Node] = &[
    cut(MinRtt, 79.731431),
    cut(QueueEwma, 46.315600802934156),
    cut(MinRtt, 36.19907),
    cut(MinRtt, 28.305252),
    on_rate(1.2, 8, 1.5, 6.0),
    on_rate(1.2, 7, 1.5, 14.0),
    cut(RttRatio, 1.5704246754666382),
    on_rate(1.18, 14, 2.4, 6.0),
    on_rate(1.1, 10, 1.5, 14.0),
    cut(RateTrend, 1.019933585646453),
    cut(MinRtt, 45.408323),
    on_rate(1.12, 6, 2.4, 22.0),
    on_rate(1.22, 6, 7.2, 22.0),
    on_rate(1.2, 6, 1.5, 6.0),
    cut(RttRatio, 1.8048353883371384),
    cut(RttRatio, 1.4865109116659088),
    on_rate(1.2, 10, 1.5, 46.0),
    cut(RateTrend, 1.1408994314133778),
    on_rate(1.2, 5, 1.5, 46.0),
    on_rate(1.2, 3, 1.5, 46.0),
    cut(RateTrend, 1.0577300588960197),
    on_rate(1.2, 8, 1.5, 46.0),
    on_rate(1.2, 5, 1.1905, 16.0),
];
