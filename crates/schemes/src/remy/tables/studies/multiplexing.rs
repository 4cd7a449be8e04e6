//! Tables of the study `multiplexing` (`crates/remy/studies/multiplexing.toml`): 15 Mbit/s and 150 ms, with numbers of senders up to that in the name.

use crate::remy::Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma};
use crate::remy::tables::binary::{self, Node, TrainedTable, cut, rule};

pub(super) static TABLES: &[TrainedTable] = &[
    TrainedTable {
        name: "multiplexing/2",
        summary: "15 Mbit/s, 150 ms and 1 to 2 senders",
        table: || binary::table(SENDERS_2),
    },
    TrainedTable {
        name: "multiplexing/10",
        summary: "15 Mbit/s, 150 ms and 1 to 10 senders",
        table: || binary::table(SENDERS_10),
    },
    TrainedTable {
        name: "multiplexing/100",
        summary: "15 Mbit/s, 150 ms and 1 to 100 senders",
        table: || binary::table(SENDERS_100),
    },
];

/// Seed 2, 12 generations: 4,432 candidates, 581,850 simulated seconds, 22 CPU seconds.
static SENDERS_2: &[Node] = &[
    cut(RttRatio, 1.0008175153727814),
    cut(RttRatio, 1.0),
    rule(1.0, 220, 0.6944),
    cut(RttRatio, 1.0000139361761227),
    rule(1.0, 151, 0.6944),
    rule(1.0, 151, 2.6249),
    cut(SendEwma, 1.4971138471679877),
    cut(SlowRecEwma, 0.8823732765174446),
    cut(SlowRecEwma, 0.5469050713361839),
    cut(RttRatio, 1.207497866945093),
    rule(1.0, 151, 28.5813),
    rule(1.0, 151, 2.7787),
    cut(SendEwma, 0.694399999999999),
    rule(1.0, 151, 1.667),
    cut(RttRatio, 1.2417203534475214),
    rule(1.0, 151, 3.6294),
    rule(1.0, 151, 2.5204),
    cut(SlowRecEwma, 1.183270280219583),
    cut(SendEwma, 0.6944000000000289),
    rule(1.0, 151, 2.1003),
    rule(1.0, 151, 2.0003),
    rule(1.0, 151, 1.5875),
    cut(RecEwma, 1.3333974744920554),
    rule(1.0, 151, 1.5876),
    cut(RttRatio, 1.1763775157379865),
    rule(1.0, 151, 1.1429),
    rule(1.0, 151, 1.244),
];

/// Seed 2, 12 generations: 6,040 candidates, 1,157,910 simulated seconds, 82 CPU seconds.
static SENDERS_10: &[Node] = &[
    cut(RttRatio, 1.0000260044247213),
    cut(SlowRecEwma, 1.0606656071923992),
    rule(0.5471, 52, 1.3393),
    cut(RttRatio, 1.0000013340707936),
    rule(0.829, 102, 1.3393),
    rule(0.749, 102, 1.6072),
    cut(RttRatio, 1.1057204084132528),
    cut(RttRatio, 1.005014865033153),
    cut(SendEwma, 1.3760319702511923),
    rule(0.7188, 43, 1.3497),
    rule(0.8875, 17, 1.3497),
    cut(SendEwma, 1.7812484444024137),
    rule(0.4388, 42, 1.7857),
    cut(SendEwma, 2.256831080070683),
    rule(0.4188, 45, 1.7857),
    rule(0.3788, 41, 6.4285),
    cut(RecEwma, 2.3066314563531356),
    cut(RecEwma, 1.9738165445019324),
    rule(0.31, 55, 1.875),
    rule(0.31, 56, 1.875),
    cut(SlowRecEwma, 1.8358762591990028),
    rule(0.23, 37, 1.3778),
    cut(SlowRecEwma, 2.348521493172611),
    rule(0.215, 39, 1.7857),
    rule(0.601, 14, 2.8571),
];

/// Seed 2, 12 generations: 4,600 candidates, 955,620 simulated seconds, 95 CPU seconds.
static SENDERS_100: &[Node] = &[
    cut(RttRatio, 1.0000098960176773),
    cut(SlowRecEwma, 2.73923329027719),
    rule(1.085, 1, 1.4581),
    cut(RttRatio, 1.0000004380530965),
    rule(1.07, 1, 2.2783),
    rule(0.765, 11, 4.3742),
    cut(RttRatio, 1.0068816283033593),
    cut(SlowRecEwma, 3.712351369895567),
    rule(0.92, 2, 7.5),
    rule(0.925, 1, 14.0626),
    cut(SlowRecEwma, 3.5104684031062043),
    cut(RecEwma, 17.660158107156633),
    rule(1.01, 0, 3.8265),
    rule(1.01, 0, 7.3469),
    cut(SlowRecEwma, 4.825194300622164),
    cut(RecEwma, 8.551240645390106),
    rule(1.025, 0, 5.8129),
    rule(1.025, 0, 11.1608),
    cut(SlowRecEwma, 6.169709551759361),
    rule(1.0, 0, 4.3597),
    rule(0.92, -1, 6.9755),
];
