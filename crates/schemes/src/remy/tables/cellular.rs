//! Trained by `paceline remy train scenarios/remy/cellular.toml --generations 20` with seed 1: 16,226 candidates,
//! 5,883,960 simulated seconds, 652 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "cellular";
pub(super) const SUMMARY: &str = "Trained here for cellular links that a model makes, RTTs of 40 to 100 ms and one or two senders";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0428382864685413),
    cut(SendEwma, 3.052573648105668),
    cut(RttRatio, 1.0231991208712095),
    rule(1.005, 1, 0.5805),
    cut(RttRatio, 1.0299200678333524),
    rule(0.99, 1, 0.91),
    rule(0.99, 1, 0.91),
    cut(SendEwma, 6.088336464013349),
    rule(0.99, 2, 1.7832),
    rule(1.01, 2, 1.7832),
    cut(RttRatio, 1.6520322765994653),
    cut(SlowRecEwma, 3.239481536814069),
    cut(RttRatio, 1.1813747693969072),
    cut(RttRatio, 1.0990021546660267),
    cut(RecEwma, 1.2926633064040065),
    cut(SendEwma, 0.9739901788247796),
    cut(SendEwma, 0.7231462487087089),
    rule(0.994, 1, 0.6017),
    rule(0.994, 1, 0.5014),
    rule(0.9925, 1, 1.5795),
    cut(RecEwma, 1.8651831636336271),
    rule(0.985, 1, 0.7582),
    rule(0.99, 1, 1.4557),
    cut(SlowRecEwma, 1.690905613359132),
    rule(0.9888, 1, 0.6017),
    rule(0.985, 1, 0.2106),
    cut(RecEwma, 1.7021849499749682),
    cut(RttRatio, 1.3020681313848184),
    cut(SlowRecEwma, 1.414173417791106),
    rule(0.9947, 1, 0.8359),
    rule(0.9947, 1, 1.0533),
    cut(SlowRecEwma, 1.3904731218530437),
    rule(0.9938, 1, 0.8359),
    rule(0.9938, 1, 1.0031),
    cut(RecEwma, 2.5283199004188823),
    cut(RecEwma, 2.0231932498265657),
    rule(0.9888, 1, 1.0918),
    rule(0.9938, 1, 1.4557),
    cut(SlowRecEwma, 2.3635250703552337),
    rule(0.9738, 1, 1.1464),
    rule(0.9738, 1, 1.3757),
    cut(SendEwma, 5.367815323291864),
    cut(SlowRecEwma, 4.205939752851821),
    cut(SendEwma, 2.735448869726474),
    rule(0.9689, 1, 0.6096),
    rule(0.9704, 1, 1.8288),
    rule(0.965, 1, 2.9956),
    cut(SendEwma, 9.851330608821677),
    rule(0.9745, 1, 1.9902),
    rule(0.9409, 1, 10.3977),
    cut(RecEwma, 5.336207364937407),
    cut(SendEwma, 1.859971653065281),
    cut(SendEwma, 1.1193650985244228),
    rule(0.972, 1, 1.9904),
    rule(0.992, 1, 1.9904),
    rule(0.947, 1, 2.9619),
    cut(SendEwma, 6.982829721862333),
    rule(0.9396, 1, 3.732),
    rule(0.829, 1, 4.1145),
];
