//! Trained tables: boxes divided in two, as the trainer makes them.

use paceline_cc::Span;

use crate::remy::{Action, Domain, Rule, RuleTable, RuleTree, Signal, TableError};

/// A table with its name and its summary.
pub(super) struct TrainedTable {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) table: fn() -> Result<RuleTable, TableError>,
}

/// A node of a binary tree in pre-order: a divided box is followed by its lower half with all its
/// descendants, then by its upper half.
#[derive(Copy, Clone, Debug)]
pub(super) enum Node {
    /// Divided at a value of a signal.
    Cut(Signal, f64),
    /// A rule.
    Rule(Action),
}

pub(super) const fn cut(signal: Signal, at: f64) -> Node {
    Node::Cut(signal, at)
}

pub(super) const fn rule(multiple: f64, increment: i32, intersend_ms: f64) -> Node {
    Node::Rule(Action::new(multiple, increment, intersend_ms))
}

pub(super) const fn on_rate(multiple: f64, increment: i32, gain: f64, queue_ms: f64) -> Node {
    Node::Rule(Action::of_rate(multiple, increment, gain, queue_ms))
}

/// Returns the table of such a list, for clocks and paths with a jitter of up to 1 ms.
pub(super) fn table_for_real_clocks(nodes: &[Node]) -> Result<RuleTable, TableError> {
    table(nodes).map(|table| table.with_resolution(Span::from_millis(1)))
}

/// Returns the table of such a list. A list that ends too early lacks rules at its end.
pub(super) fn table(nodes: &[Node]) -> Result<RuleTable, TableError> {
    RuleTable::new(tree(&mut nodes.iter(), Domain::WHOLE))
}

fn tree<'a>(nodes: &mut impl Iterator<Item = &'a Node>, domain: Domain) -> RuleTree {
    match nodes.next() {
        None => RuleTree::Inner { domain, children: Vec::new() },
        Some(&Node::Rule(action)) => RuleTree::Leaf(Rule { domain, action }),
        Some(&Node::Cut(signal, at)) => {
            let axis = signal.index();
            let (lower, upper) = (domain.lower[axis], domain.upper[axis]);
            let below = tree(nodes, domain.between(signal, lower, at));
            let above = tree(nodes, domain.between(signal, at, upper));
            RuleTree::Inner { domain, children: vec![below, above] }
        }
    }
}
