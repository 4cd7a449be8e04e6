//! Trained by `paceline remy train scenarios/remy/range-100x.toml --generations 11` with seed 1: 7,707
//! candidates, 785,660 simulated seconds, 346 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "range-100x";
pub(super) const SUMMARY: &str =
    "Trained here for 3.2 to 320 Mbit/s, 150 ms and one or two senders; delay counts as throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0401732603814342),
    cut(RecEwma, 0.1388961999344517),
    cut(SendEwma, 0.010175),
    rule(0.042, 125, 0.0611),
    cut(RttRatio, 1.0000043455904668),
    cut(SendEwma, 0.09040000000000013),
    cut(SendEwma, 0.07530000000000027),
    cut(RttRatio, 1.0000036120432318),
    rule(1.0, 241, 0.041),
    rule(1.0, 241, 0.0429),
    cut(RecEwma, 0.087606739898271),
    rule(1.0, 241, 0.0524),
    rule(1.0, 241, 0.0628),
    cut(SendEwma, 0.1301999999996402),
    cut(RttRatio, 1.000000446535284),
    rule(1.0, 241, 0.0598),
    rule(1.0, 241, 0.1378),
    rule(1.0, 241, 0.0984),
    cut(SlowRecEwma, 0.09721058735491259),
    cut(RttRatio, 1.0159401702734283),
    rule(0.985, 181, 0.1085),
    rule(0.985, 181, 0.0904),
    rule(0.985, 181, 0.1302),
    cut(RecEwma, 0.37856480971288636),
    cut(RecEwma, 0.18649881912570188),
    rule(1.1, 241, 0.1562),
    rule(1.08, 241, 0.2499),
    cut(RecEwma, 1.3925055440415737),
    rule(0.78, 241, 0.6595),
    rule(1.08, 241, 1.1396),
    cut(RecEwma, 0.38045218015579624),
    cut(RecEwma, 0.2419389806176395),
    cut(RecEwma, 0.095953517431047),
    cut(SlowRecEwma, 0.06212130564841403),
    rule(1.072, 185, 0.0565),
    rule(1.072, 185, 0.0984),
    cut(RttRatio, 1.1662887627196465),
    rule(0.6986, 251, 0.1085),
    rule(0.6986, 251, 0.1302),
    cut(RecEwma, 0.28652200978142817),
    rule(0.825, 121, 0.2624),
    rule(0.745, 121, 0.2999),
    cut(SlowRecEwma, 0.9298503608600798),
    cut(SlowRecEwma, 0.6186538101483037),
    cut(SlowRecEwma, 0.3071418046919904),
    rule(0.02, 130, 0.1874),
    rule(0.04, 130, 0.1874),
    cut(SlowRecEwma, 0.756881086554289),
    rule(0.11, 137, 0.1562),
    rule(0.085, 128, 0.0625),
    cut(RttRatio, 1.8771895219314574),
    cut(SendEwma, 0.9810745360688725),
    rule(0.2, 118, 0.8059),
    rule(0.2, 87, 1.0746),
    rule(0.24, 57, 0.1562),
];
