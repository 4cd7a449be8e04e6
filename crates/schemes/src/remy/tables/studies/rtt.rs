//! Tables of the study `rtt` (`crates/remy/studies/rtt.toml`): 33 Mbit/s and one or two senders, with the RTTs in the name.

use crate::remy::Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma};
use crate::remy::tables::binary::{self, Node, TrainedTable, cut, rule};

pub(super) static TABLES: &[TrainedTable] = &[
    TrainedTable {
        name: "rtt/150",
        summary: "33 Mbit/s, an RTT of 150 ms and one or two senders",
        table: || binary::table(RTT_150),
    },
    TrainedTable {
        name: "rtt/145-155",
        summary: "33 Mbit/s, RTTs of 145 to 155 ms and one or two senders",
        table: || binary::table(RTT_145_155),
    },
    TrainedTable {
        name: "rtt/140-160",
        summary: "33 Mbit/s, RTTs of 140 to 160 ms and one or two senders",
        table: || binary::table(RTT_140_160),
    },
    TrainedTable {
        name: "rtt/10x",
        summary: "33 Mbit/s, RTTs of 47 to 474 ms and one or two senders",
        table: || binary::table(RTT_10X),
    },
];

/// Seed 1, 12 generations: 4,621 candidates, 916,110 simulated seconds, 63 CPU seconds.
static RTT_150: &[Node] = &[
    cut(RecEwma, 0.33330000000000015),
    cut(RttRatio, 1.026534840980917),
    cut(SlowRecEwma, 0.30769727235096717),
    cut(RecEwma, 0.3030302946116403),
    rule(0.43, 284, 0.2778),
    cut(RecEwma, 0.30303033592675477),
    rule(0.767, 113, 0.2778),
    rule(0.43, 284, 0.2646),
    cut(SlowRecEwma, 0.33430619318051163),
    cut(RecEwma, 0.3030303359267549),
    rule(0.81, 283, 0.2917),
    rule(0.83, 283, 0.3063),
    rule(0.525, 283, 0.3063),
    rule(0.9311, 165, 0.3063),
    cut(RttRatio, 1.0048964149292265),
    rule(0.9288, 37, 0.3062),
    cut(SendEwma, 0.3153968287526349),
    rule(0.007, 252, 0.3174),
    rule(0.012, 250, 0.3809),
];

/// Seed 1, 12 generations: 2,790 candidates, 457,770 simulated seconds, 30 CPU seconds.
static RTT_145_155: &[Node] = &[
    cut(RttRatio, 1.0014278702318213),
    cut(RttRatio, 1.0),
    rule(0.26, 300, 0.4571),
    rule(0.54, 300, 0.3174),
    cut(SendEwma, 0.38089997853071406),
    rule(0.22, 201, 0.3333),
    cut(RttRatio, 1.0352026329812443),
    rule(0.22, 200, 0.3333),
    rule(0.688, 80, 0.3333),
];

/// Seed 3, 12 generations: 5,648 candidates, 906,810 simulated seconds, 63 CPU seconds.
static RTT_140_160: &[Node] = &[
    cut(SendEwma, 0.33330000000000015),
    cut(RttRatio, 1.0000148100713318),
    cut(RttRatio, 1.0),
    rule(0.382, 299, 0.3216),
    rule(1.022, 298, 0.3063),
    cut(RttRatio, 1.042437859897666),
    rule(1.602, 297, 0.3063),
    cut(SlowRecEwma, 0.4818489512442997),
    cut(RecEwma, 0.5986682661326912),
    cut(RecEwma, 0.3124426077775976),
    rule(0.097, 240, 0.3063),
    rule(0.077, 240, 0.3063),
    rule(0.037, 243, 0.3063),
    cut(SlowRecEwma, 0.5651199991876672),
    rule(0.062, 225, 0.3676),
    rule(0.022, 254, 0.3676),
    cut(SlowRecEwma, 0.4655132041689712),
    rule(0.821, 48, 0.2778),
    cut(RttRatio, 1.0751887420727992),
    cut(RttRatio, 1.0016818931069194),
    rule(0.9956, 8, 0.3063),
    rule(0.9756, 7, 0.3063),
    cut(RttRatio, 1.1382093885524254),
    rule(0.796, 60, 0.2431),
    cut(SendEwma, 0.6132335782635054),
    rule(0.9184, 24, 0.8751),
    rule(0.9384, 24, 0.2917),
];

/// Seed 2, 12 generations: 1,761 candidates, 353,550 simulated seconds, 21 CPU seconds.
static RTT_10X: &[Node] = &[
    cut(RttRatio, 1.0002764245708098),
    cut(RttRatio, 1.0),
    rule(0.772, 300, 0.3333),
    rule(0.792, 300, 0.3174),
    cut(RecEwma, 0.6060605720466866),
    rule(0.84, 211, 0.6562),
    rule(0.84, 211, 0.9449),
];
