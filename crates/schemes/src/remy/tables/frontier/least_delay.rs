//! `least-delay`: trained by `paceline remy train scenarios/remy/frontier-delta1.toml --generations 11` with seed 1:
//! 7,654 candidates, 3,480,120 simulated seconds, 499 CPU seconds.

use crate::remy::Signal::{AckGap, MinRtt, QueueEwma, RateTrend, RttRatio, RttTrend};
use crate::remy::tables::binary::{Node, cut, on_rate};

pub(super) static NODES: &[Node] = &[
    cut(RttRatio, 1.2777777777777777),
    cut(QueueEwma, 16.731407989406),
    cut(AckGap, 1.002151),
    on_rate(1.14, 5, 0.9449, 2.0),
    cut(QueueEwma, 8.430314075370369),
    cut(RateTrend, 1.2846383907187056),
    on_rate(1.12, 8, 1.4286, 2.0),
    on_rate(2.32, 8, 1.7143, -28.0),
    cut(QueueEwma, 11.880985936477288),
    on_rate(1.22, 8, 0.9921, -6.0),
    on_rate(1.24, 5, 0.9921, -6.0),
    cut(MinRtt, 73.484441),
    on_rate(1.32, 2, 0.9921, -6.0),
    on_rate(1.22, 2, 0.9921, -6.0),
    cut(MinRtt, 54.736397),
    cut(RttTrend, 1.0458296107873055),
    cut(RateTrend, 1.0446424188206218),
    on_rate(1.32, 2, 1.0417, 0.0),
    on_rate(1.32, 2, 0.9921, 0.0),
    cut(QueueEwma, 21.208947555846553),
    on_rate(1.22, 2, 1.5, 0.0),
    on_rate(1.22, 2, 1.25, 8.0),
    cut(MinRtt, 108.170221),
    on_rate(1.22, 2, 1.25, 0.0),
    on_rate(1.22, 2, 1.0417, -8.0),
];
