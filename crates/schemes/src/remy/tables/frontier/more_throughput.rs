//! `more-throughput`: trained by `paceline remy train scenarios/remy/frontier-delta0.25.toml --generations 10` with seed
//! 1: 5,669 candidates, 2,997,660 simulated seconds, 478 CPU seconds.

use crate::remy::Signal::{AckGap, MinRtt, QueueEwma, RateTrend, RttRatio};
use crate::remy::tables::binary::{Node, cut, on_rate};

pub(super) static NODES: &[Node] = &[
    cut(RttRatio, 1.6890050634206968),
    cut(RttRatio, 1.354119557024736),
    cut(RttRatio, 1.176827706064606),
    cut(QueueEwma, 29.934284434162123),
    cut(AckGap, 1.0),
    on_rate(1.4, 7, 1.5, 10.0),
    on_rate(1.5, 7, 1.4286, 10.0),
    on_rate(1.42, 5, 1.3606, 2.0),
    cut(QueueEwma, 32.22240307102132),
    on_rate(1.38, 6, 1.0417, 2.0),
    on_rate(1.28, 5, 1.0417, 2.0),
    cut(QueueEwma, 47.19436016400232),
    cut(AckGap, 1.000707),
    cut(MinRtt, 66.065641),
    on_rate(1.5, 6, 1.25, -6.0),
    on_rate(1.4, 6, 1.25, -6.0),
    on_rate(1.5, 6, 1.25, -6.0),
    on_rate(1.4, 5, 1.25, -6.0),
    cut(RateTrend, 1.0014917882918064),
    cut(MinRtt, 85.337087),
    on_rate(1.7, 4, 1.25, 2.0),
    on_rate(1.6, 4, 1.25, -6.0),
    cut(RateTrend, 1.1440657451427763),
    on_rate(1.5, 3, 1.25, 2.0),
    on_rate(1.4, 3, 1.25, 2.0),
];
