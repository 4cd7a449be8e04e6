//! `balanced`: trained by `paceline remy train scenarios/remy/frontier-delta0.5.toml --generations 8` with seed 1: 5,125
//! candidates, 2,831,100 simulated seconds, 456 CPU seconds.

use crate::remy::Signal::{AckGap, MinRtt, QueueEwma, RateTrend, RttRatio, RttTrend};
use crate::remy::tables::binary::{Node, cut, on_rate};

pub(super) static NODES: &[Node] = &[
    cut(QueueEwma, 36.2390603904245),
    cut(QueueEwma, 22.540781392895823),
    cut(RttRatio, 1.1601950551192584),
    cut(RateTrend, 1.2663808162000396),
    cut(RateTrend, 1.1160016127712467),
    on_rate(1.3, 6, 1.1905, 2.0),
    on_rate(1.22, 5, 1.1905, 0.0),
    cut(RttTrend, 0.9396738019668563),
    on_rate(1.2, 11, 0.7813, 10.0),
    on_rate(1.3, 21, 1.25, 10.0),
    cut(AckGap, 1.000357),
    cut(RateTrend, 1.1585686736958407),
    cut(RttTrend, 1.0458696283555797),
    on_rate(1.2, 4, 1.25, 2.0),
    on_rate(1.2, 5, 1.25, 2.0),
    on_rate(1.1, 5, 1.25, 0.0),
    cut(RttTrend, 1.0699617260639862),
    cut(RttRatio, 1.2512435134089566),
    on_rate(1.3, 6, 1.0417, 0.0),
    on_rate(1.2, 5, 1.0417, 2.0),
    on_rate(1.2, 5, 0.7179, 2.0),
    cut(AckGap, 1.598733),
    on_rate(1.2, 3, 1.0417, 4.0),
    on_rate(1.18, 4, 1.3889, 4.0),
    cut(AckGap, 3.0),
    cut(AckGap, 0.16687),
    cut(MinRtt, 56.067067),
    on_rate(1.1, 1, 1.5, 18.0),
    on_rate(1.1, 3, 1.4286, 18.0),
    on_rate(1.1, 2, 1.1905, 18.0),
    cut(AckGap, 9.005647),
    on_rate(1.2, 3, 1.1905, 10.0),
    on_rate(1.2, 2, 1.1905, 18.0),
];
