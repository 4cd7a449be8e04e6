//! Trained by `paceline remy train scenarios/remy/cellular-marks.toml --generations 11` with seed 1: 6,240
//! candidates, 2,486,280 simulated seconds, 304 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{AccelShare, RecEwma, RttRatio, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "cellular-marks";
pub(super) const SUMMARY: &str =
    "Trained here as the table cellular, with an ABC router on the link, whose marks the rules use";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0428382864685413),
    cut(SendEwma, 2.4090816367224743),
    cut(RttRatio, 1.022805386437933),
    cut(SlowRecEwma, 1.4383139077346037),
    rule(1.01, 1, 0.5805),
    rule(1.005, 1, 0.5806),
    cut(AccelShare, 0.6158658613821727),
    cut(SendEwma, 1.086810880559332),
    rule(1.02, 0, 0.4571),
    rule(0.99, 0, 0.4571),
    cut(AccelShare, 0.7489801497456352),
    rule(1.01, 0, 0.9216),
    rule(1.01, 0, 0.768),
    cut(RecEwma, 3.587190830040982),
    rule(1.015, 1, 1.6585),
    rule(1.01, 1, 2.0897),
    cut(AccelShare, 0.43850447304732476),
    cut(AccelShare, 0.3965006121479371),
    cut(AccelShare, 0.3389948333505105),
    cut(RttRatio, 1.9579832772244588),
    rule(0.995, 1, 6.5828),
    rule(0.995, 0, 5.4857),
    rule(1.0, 0, 5.4856),
    cut(AccelShare, 0.4209635356332508),
    rule(1.015, -1, 22.5693),
    rule(1.015, 0, 7.523),
    cut(SendEwma, 2.6282099786318254),
    rule(0.985, 1, 0.836),
    cut(RttRatio, 1.241662238071351),
    cut(AccelShare, 0.6150984750969621),
    cut(SendEwma, 4.354743878398618),
    rule(0.994, 1, 0.5486),
    rule(0.979, 1, 0.8778),
    cut(SendEwma, 5.274528701629004),
    rule(0.974, 1, 0.5225),
    rule(0.974, 1, 0.4354),
    cut(SendEwma, 4.576611353910502),
    rule(0.96, 1, 0.6804),
    rule(0.98, 1, 0.0756),
];
