//! Trained tables: boxes divided in two, as the trainer makes them.

use crate::remy::{Action, Domain, Rule, RuleTable, RuleTree, Signal, TableError};

/// A box of a tree whose boxes are listed from the whole on: after a box that is divided come its
/// lower half with all that is in it, and then its upper half.
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

/// The table of such a list. Where the list ends too early there is no rule.
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
