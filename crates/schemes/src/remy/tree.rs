//! Rules as a tree of boxes: the form in which they are published and trained.

use super::action::Action;
use super::memory::{Memory, SIGNALS, Signal};

/// The upper end of every axis of a whole domain, as published (2014); the tables of 2013 have
/// 16,384.
pub const DOMAIN_END: f64 = 163_840.0;

/// A box in the space of signals.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its lower ends, inclusive.
    pub lower: [f64; SIGNALS],
    /// Its upper ends, exclusive.
    pub upper: [f64; SIGNALS],
    /// The axes that it bounds, by [`Signal::index`]; on the others it contains any value.
    pub active: [bool; SIGNALS],
}

impl Domain {
    /// The whole domain of the first four axes, as published.
    pub const WHOLE: Domain = Domain {
        lower: [0.0; SIGNALS],
        upper: [DOMAIN_END; SIGNALS],
        active: {
            let mut active = [false; SIGNALS];
            let mut axis = 0;
            while axis < 4 {
                active[axis] = true;
                axis += 1;
            }
            active
        },
    };

    /// Returns this box, bounded by `lower` and `upper` on the axis of `signal`.
    #[must_use]
    pub fn between(mut self, signal: Signal, lower: f64, upper: f64) -> Domain {
        let axis = signal.index();
        (self.lower[axis], self.upper[axis], self.active[axis]) = (lower, upper, true);
        self
    }

    /// Returns true if the box contains the memory.
    pub fn contains(&self, memory: &Memory) -> bool {
        (0..SIGNALS).filter(|&axis| self.active[axis]).all(|axis| {
            let value = memory.values[axis];
            self.lower[axis] <= value && value < self.upper[axis]
        })
    }

    /// Returns true if no memory is inside. Published tables have such boxes.
    pub fn is_empty(&self) -> bool {
        (0..SIGNALS).any(|axis| self.active[axis] && self.lower[axis] >= self.upper[axis])
    }
}

/// A rule: the action for memories inside a box.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Rule {
    /// The box.
    pub domain: Domain,
    /// The action.
    pub action: Action,
}

/// A rule, or a box that is divided further.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleTree {
    /// A rule.
    Leaf(Rule),
    /// A box whose children are tried in order: the first whose box contains the memory decides.
    Inner {
        /// The box.
        domain: Domain,
        /// The children.
        children: Vec<RuleTree>,
    },
}

impl RuleTree {
    /// Returns one rule for all memories.
    pub fn single(action: Action) -> RuleTree {
        RuleTree::Leaf(Rule { domain: Domain::WHOLE, action })
    }

    /// Returns its box.
    pub fn domain(&self) -> &Domain {
        match self {
            RuleTree::Leaf(rule) => &rule.domain,
            RuleTree::Inner { domain, .. } => domain,
        }
    }

    /// Returns true if some box bounds this signal.
    pub fn looks_at(&self, signal: Signal) -> bool {
        let children = match self {
            RuleTree::Leaf(_) => &[][..],
            RuleTree::Inner { children, .. } => children,
        };
        self.domain().active[signal.index()] || children.iter().any(|child| child.looks_at(signal))
    }

    /// Returns the number of rules.
    pub fn rules(&self) -> usize {
        match self {
            RuleTree::Leaf(_) => 1,
            RuleTree::Inner { children, .. } => children.iter().map(RuleTree::rules).sum(),
        }
    }

    /// Returns the number of divided boxes.
    pub fn splits(&self) -> usize {
        match self {
            RuleTree::Leaf(_) => 0,
            RuleTree::Inner { children, .. } => {
                1 + children.iter().map(RuleTree::splits).sum::<usize>()
            }
        }
    }

    /// Returns the depth: the largest number of nested divisions.
    pub fn depth(&self) -> usize {
        match self {
            RuleTree::Leaf(_) => 0,
            RuleTree::Inner { children, .. } => {
                1 + children.iter().map(RuleTree::depth).max().unwrap_or(0)
            }
        }
    }

    /// Returns the leaf of this number, so that a division can replace it.
    pub fn leaf_mut(&mut self, number: usize) -> Option<&mut RuleTree> {
        let mut left = number;
        let mut node = self;
        loop {
            match node {
                RuleTree::Leaf(_) => return (left == 0).then_some(node),
                RuleTree::Inner { children, .. } => {
                    node = children.iter_mut().find(|child| {
                        let rules = child.rules();
                        let here = left < rules;
                        left -= if here { 0 } else { rules };
                        here
                    })?;
                }
            }
        }
    }

    /// Returns the number of the rule for a memory, by walking down the tree: only the first child
    /// that contains the memory decides. `None` if there is no rule for it.
    pub fn find(&self, memory: &Memory) -> Option<usize> {
        let mut before = 0;
        let mut node = self;
        if !node.domain().contains(memory) {
            return None;
        }
        while let RuleTree::Inner { children, .. } = node {
            node = children.iter().find(|child| {
                let inside = child.domain().contains(memory);
                before += if inside { 0 } else { child.rules() };
                inside
            })?;
        }
        Some(before)
    }
}
