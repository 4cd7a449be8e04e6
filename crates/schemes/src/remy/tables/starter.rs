//! A table written by hand: an example to start from, and to test with.

use crate::remy::{Action, Domain, Rule, RuleTable, RuleTree, Signal, TableError};

pub(super) const NAME: &str = "starter";
pub(super) const SUMMARY: &str =
    "Written by hand, not trained: grows while the RTT is near its smallest, shrinks above";

/// Returns the table. Its boxes divide the ratio of the RTT to its smallest value, and the first of
/// them also the time between acknowledgements.
pub(super) fn table() -> Result<RuleTable, TableError> {
    let ratio = |lower, upper| Domain::WHOLE.between(Signal::RttRatio, lower, upper);
    let near = ratio(0.5, 1.1);
    let leaf = |domain, action| RuleTree::Leaf(Rule { domain, action });
    let fast = near.between(Signal::RecEwma, 0.0, 1.0);
    let slow = near.between(Signal::RecEwma, 1.0, Domain::WHOLE.upper[Signal::RecEwma.index()]);
    let children = vec![
        // At most one acknowledgement so far.
        leaf(ratio(0.0, 0.5), Action::new(1.0, 8, 1.0)),
        RuleTree::Inner {
            domain: near,
            children: vec![
                leaf(fast, Action::new(1.0, 1, 0.02)),
                leaf(slow, Action::new(1.0, 1, 0.25)),
            ],
        },
        leaf(ratio(1.1, 1.4), Action::new(0.99, 1, 0.1)),
        leaf(ratio(1.4, 2.0), Action::new(0.95, 1, 0.5)),
        leaf(ratio(2.0, Domain::WHOLE.upper[2]), Action::new(0.8, 1, 2.0)),
    ];
    RuleTable::new(RuleTree::Inner { domain: Domain::WHOLE, children })
}
