//! Looks rules up by walking down their tree: for tables whose grid would have too many cells.

use super::memory::{Memory, SIGNALS};
use super::tree::{Domain, RuleTree};

/// A tree as an array, in which the children of a box are adjacent.
pub(super) struct Walk {
    nodes: Vec<Node>,
    /// Ends of the whole tree's box, on all axes.
    lower: [f64; SIGNALS],
    upper: [f64; SIGNALS],
}

struct Node {
    lower: [f64; SIGNALS],
    upper: [f64; SIGNALS],
    next: NodeTarget,
}

#[derive(Copy, Clone)]
enum NodeTarget {
    Rule(usize),
    /// Index of the first child, and number of children.
    Children(usize, usize),
}

impl Walk {
    pub(super) fn new(tree: &RuleTree) -> Walk {
        let Domain { lower, upper, .. } = *tree.domain();
        let mut walk = Walk { nodes: vec![Node::of(tree)], lower, upper };
        walk.lay_out(tree, 0, &mut 0);
        walk
    }

    /// Writes the subtree below node `place` into the array; `rule` is the number of the next rule.
    fn lay_out(&mut self, tree: &RuleTree, place: usize, rule: &mut usize) {
        match tree {
            RuleTree::Leaf(_) => {
                self.nodes[place].next = NodeTarget::Rule(*rule);
                *rule += 1;
            }
            RuleTree::Inner { children, .. } => {
                let first = self.nodes.len();
                self.nodes.extend(children.iter().map(Node::of));
                self.nodes[place].next = NodeTarget::Children(first, children.len());
                for (number, child) in children.iter().enumerate() {
                    self.lay_out(child, first + number, rule);
                }
            }
        }
    }

    /// Returns the number of the rule for a memory. Values beyond the whole box count as the
    /// nearest inside.
    pub(super) fn find(&self, memory: &Memory) -> Option<usize> {
        let mut values = memory.values;
        for ((value, lower), upper) in values.iter_mut().zip(self.lower).zip(self.upper) {
            *value = value.max(lower).min(upper.next_down().max(lower));
        }
        let mut node = self.nodes.first()?;
        loop {
            match node.next {
                NodeTarget::Rule(rule) => return node.contains(&values).then_some(rule),
                NodeTarget::Children(first, count) => {
                    let children = &self.nodes[first..first + count];
                    node = children.iter().find(|child| child.contains(&values))?;
                }
            }
        }
    }
}

impl Node {
    fn of(tree: &RuleTree) -> Node {
        let domain = tree.domain();
        let end = |axis: usize, end: f64, open: f64| if domain.active[axis] { end } else { open };
        Node {
            lower: std::array::from_fn(|axis| end(axis, domain.lower[axis], f64::NEG_INFINITY)),
            upper: std::array::from_fn(|axis| end(axis, domain.upper[axis], f64::INFINITY)),
            next: NodeTarget::Children(0, 0),
        }
    }

    fn contains(&self, values: &[f64; SIGNALS]) -> bool {
        let ends = self.lower.iter().zip(&self.upper);
        values.iter().zip(ends).all(|(value, (lower, upper))| lower <= value && value < upper)
    }
}
