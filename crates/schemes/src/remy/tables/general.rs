//! Trained by `paceline remy train scenarios/remy/general.toml --from scenarios/remy/general-start.toml --generations 9` with
//! seed 1: 5,387 candidates, 1,710,909 simulated seconds, 274 CPU seconds. The five rules for RTT ratios above 2.2 with an
//! average queueing delay of at least 15 ms were added by hand, so that the table holds its share beside senders that fill
//! queues: their window is the delivery rate times a little less than the RTT at the lower end of their box. The trained
//! table's first boxes overlapped; here boxes are written without overlap, so that some rules occur several times.

use super::binary::{self, Node, cut, on_rate};
use crate::remy::{
    RuleTable,
    Signal::{AckGap, MinRtt, QueueEwma, RateTrend, RttRatio, RttTrend},
    TableError,
};

pub(super) const NAME: &str = "general";
pub(super) const SUMMARY: &str = "Trained here for unknown paths: 3 to 100 Mbit/s, 20 to 250 ms, 1 to 8 senders; holds a share beside Cubic in deep buffers";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table_for_real_clocks(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 2.2),
    cut(RateTrend, 1.15),
    cut(RateTrend, 1.0839657791347423),
    cut(QueueEwma, 14.509567543878614),
    cut(RttRatio, 1.0893177174892337),
    cut(RttRatio, 1.0197424135273385),
    on_rate(1.22, 7, 0.9921, 8.0),
    on_rate(1.22, 0, 0.9921, 8.0),
    cut(QueueEwma, 8.861702331063583),
    on_rate(1.12, 3, 0.8268, -2.0),
    on_rate(1.02, 3, 0.8268, -2.0),
    cut(RttTrend, 0.9997168384198606),
    on_rate(1.1, 3, 1.0417, -8.0),
    on_rate(1.1, 3, 1.0417, -16.0),
    cut(RttTrend, 1.0707258533642503),
    cut(AckGap, 0.790984),
    on_rate(1.1, 4, 1.25, -2.0),
    on_rate(1.2, 2, 0.7813, 0.0),
    cut(RttTrend, 1.1469927697575675),
    cut(AckGap, 0.502035),
    on_rate(1.1, 2, 1.0417, 0.0),
    on_rate(1.0, 2, 1.0417, 0.0),
    on_rate(1.2, 1, 0.9921, 8.0),
    cut(RttRatio, 1.2),
    cut(RateTrend, 1.9631478929305222),
    cut(RttRatio, 1.0822841447846794),
    on_rate(1.3, 34, 1.25, -10.0),
    on_rate(1.1, 31, 1.25, -10.0),
    cut(MinRtt, 91.502742),
    on_rate(2.5, 15, 2.1, 0.0),
    cut(QueueEwma, 6.261567231520075),
    on_rate(1.5, 44, 2.1, 8.0),
    on_rate(1.4, 44, 2.1, 8.0),
    cut(RttTrend, 1.0707258533642503),
    cut(AckGap, 0.790984),
    on_rate(1.1, 4, 1.25, -2.0),
    on_rate(1.2, 2, 0.7813, 0.0),
    cut(RttTrend, 1.1469927697575675),
    cut(AckGap, 0.502035),
    on_rate(1.1, 2, 1.0417, 0.0),
    on_rate(1.0, 2, 1.0417, 0.0),
    on_rate(1.2, 1, 0.9921, 8.0),
    cut(QueueEwma, 15.0),
    cut(RateTrend, 1.0839657791347423),
    cut(QueueEwma, 14.509567543878614),
    cut(QueueEwma, 8.861702331063583),
    on_rate(1.12, 3, 0.8268, -2.0),
    on_rate(1.02, 3, 0.8268, -2.0),
    cut(RttTrend, 0.9997168384198606),
    on_rate(1.1, 3, 1.0417, -8.0),
    on_rate(1.1, 3, 1.0417, -16.0),
    cut(RttTrend, 1.0707258533642503),
    cut(AckGap, 0.790984),
    on_rate(1.1, 4, 1.25, -2.0),
    on_rate(1.2, 2, 0.7813, 0.0),
    cut(RttTrend, 1.1469927697575675),
    cut(AckGap, 0.502035),
    on_rate(1.1, 2, 1.0417, 0.0),
    on_rate(1.0, 2, 1.0417, 0.0),
    on_rate(1.2, 1, 0.9921, 8.0),
    cut(RttRatio, 3.0),
    on_rate(1.8, 6, 1.25, 0.0),
    cut(RttRatio, 4.0),
    on_rate(2.6, 6, 1.25, 0.0),
    cut(RttRatio, 5.4),
    on_rate(3.6, 6, 1.25, 0.0),
    cut(RttRatio, 7.3),
    on_rate(5.0, 6, 1.25, 0.0),
    on_rate(6.9, 6, 1.25, 0.0),
];
