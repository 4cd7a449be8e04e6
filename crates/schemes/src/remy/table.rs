//! A table of rules, prepared for look-ups.

use std::fmt;
use std::sync::Arc;

use paceline_cc::Span;
use thiserror::Error;

use super::action::{Action, ActionBasis};
use super::grid::{Grid, Place};
use super::memory::{Memory, Signal};
use super::tree::{Domain, Rule, RuleTree};
use super::walk::Walk;

/// Largest number of rules of a table.
pub const MAX_RULES: usize = 60_000;
/// Largest depth of a table's tree.
pub const MAX_DEPTH: usize = 64;

/// Reason why rules do not form a table.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TableError {
    /// A number of a rule's action is out of bounds.
    #[error(
        "rule {rule}: its action m={}, b={}, r={} ms has to be finite, with r not below 0",
        .action.multiple, .action.increment, .action.intersend_ms
    )]
    Action {
        /// Number of the rule, from 0, in the order of a walk through the tree.
        rule: usize,
        /// Its action.
        action: Action,
    },
    /// Rules with actions of two kinds.
    #[error("rule {rule} acts on the {}, and the rules before it on the {}: a table has one kind",
        .basis.name(), .first.name())]
    Mixed {
        /// Number of the rule, from 0.
        rule: usize,
        /// Its basis.
        basis: ActionBasis,
        /// The basis of the first rule.
        first: ActionBasis,
    },
    /// An end of a box is NaN.
    #[error("the box at rule {rule} has a bound that is not a number")]
    NotANumber {
        /// Number of the first rule in the box.
        rule: usize,
    },
    /// The tree has no rule.
    #[error("the table has no rule")]
    Empty,
    /// The tree has too many rules.
    #[error("the table has {rules} rules; the most are {MAX_RULES}")]
    TooMany {
        /// Number of rules.
        rules: usize,
    },
    /// The tree is too deep.
    #[error("at rule {rule} the tree is more than {MAX_DEPTH} divisions deep")]
    TooDeep {
        /// Number of the first rule below the limit.
        rule: usize,
    },
}

/// A RemyCC: immutable rules, shared by the senders that follow them.
#[derive(Clone)]
pub struct RuleTable {
    rules: Vec<Rule>,
    resolution: Span,
    timer: Span,
    follows_rate: bool,
    /// The part that depends only on the boxes; tables that differ in their actions share it.
    shape: Arc<IndexedTree>,
}

/// Omits the rules, which are many.
impl fmt::Debug for RuleTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuleTable of {} rules", self.rules.len())
    }
}

struct IndexedTree {
    tree: RuleTree,
    index: Index,
}

/// Data structure for look-ups.
enum Index {
    Grid(Grid),
    Walk(Walk),
}

impl RuleTable {
    /// Makes a table of these rules.
    ///
    /// # Errors
    /// See [`TableError`]. Boxes that are empty, that overlap or that leave gaps are not errors.
    pub fn new(tree: RuleTree) -> Result<RuleTable, TableError> {
        let mut rules = Vec::new();
        collect(&tree, 0, &mut rules)?;
        if rules.is_empty() {
            return Err(TableError::Empty);
        }
        let first = rules[0].action.basis;
        if let Some(rule) = rules.iter().position(|rule| rule.action.basis != first) {
            let basis = rules[rule].action.basis;
            return Err(TableError::Mixed { rule, basis, first });
        }
        let mut signals = Signal::ALL.into_iter().filter(|signal| signal.follows_rate());
        let follows_rate =
            first == ActionBasis::Rate || signals.any(|signal| tree.looks_at(signal));
        let index = Grid::new(&tree).map_or_else(|| Index::Walk(Walk::new(&tree)), Index::Grid);
        let shape = Arc::new(IndexedTree { tree, index });
        let resolution = RuleTable::EXACT;
        Ok(RuleTable { rules, resolution, timer: Span::ZERO, follows_rate, shape })
    }

    /// Makes a table from a list of rules, of which the first whose box contains the memory
    /// decides.
    ///
    /// # Errors
    /// As [`RuleTable::new`].
    pub fn flat(rules: impl IntoIterator<Item = Rule>) -> Result<RuleTable, TableError> {
        let children = rules.into_iter().map(RuleTree::Leaf).collect();
        RuleTable::new(RuleTree::Inner { domain: Domain::WHOLE, children })
    }

    /// Returns a table with equal boxes and another action for one rule. Copies the list of rules.
    ///
    /// # Errors
    /// If the action is not sane or of another basis, or there is no such rule.
    pub fn with_action(&self, rule: usize, action: Action) -> Result<RuleTable, TableError> {
        let mut table = self.clone();
        match table.rules.get_mut(rule) {
            Some(place) if action.is_sane() && action.basis == place.action.basis => {
                place.action = action;
            }
            _ => return Err(TableError::Action { rule, action }),
        }
        Ok(table)
    }

    /// Resolution of tables made for exact clocks: only rounding is below it.
    pub const EXACT: Span = Span::from_nanos(10);

    /// Returns the table for clocks of another resolution, from 0 s on.
    #[must_use]
    pub fn with_resolution(self, resolution: Span) -> RuleTable {
        RuleTable { resolution, ..self }
    }

    /// Returns the resolution of the clocks that the table was made for: its senders take RTTs that
    /// exceed the minimum by at most this much for the minimum. [`RuleTable::EXACT`] by default.
    pub fn resolution(&self) -> Span {
        self.resolution
    }

    /// Returns the table with its rules on a timer: see [`RuleTable::timer`]. 0: without.
    #[must_use]
    pub fn with_timer(self, timer: Span) -> RuleTable {
        RuleTable { timer, ..self }
    }

    /// Returns the time without an acknowledgement after which senders look their rule up again,
    /// with [`Signal::AckGap`] as the time since the last one; 0 if only acknowledgements make them
    /// look it up.
    pub fn timer(&self) -> Span {
        self.timer
    }

    /// Returns the rules, in the order of a walk through the tree.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns true if some box uses the marks of an ABC router ([`Signal::AccelShare`]): then
    /// senders need their echo.
    pub fn hears_marks(&self) -> bool {
        self.shape.tree.looks_at(Signal::AccelShare)
    }

    /// Returns the quantity on which its rules act.
    pub fn basis(&self) -> ActionBasis {
        self.rules.first().map_or(ActionBasis::Window, |rule| rule.action.basis)
    }

    /// Returns true if senders have to measure the delivery rate: rules act on it, or some box uses
    /// a signal with [`Signal::follows_rate`].
    pub fn follows_rate(&self) -> bool {
        self.follows_rate
    }

    /// Returns the tree of boxes with the present actions.
    pub fn tree(&self) -> RuleTree {
        let mut tree = self.shape.tree.clone();
        let mut rules = self.rules.iter();
        put_actions(&mut tree, &mut rules);
        tree
    }

    /// Returns true if the table has a grid, so that each look-up takes the same time. Tables have
    /// one unless their boxes would divide the space into too many cells. For tests.
    pub fn has_grid(&self) -> bool {
        matches!(self.shape.index, Index::Grid(_))
    }

    /// Returns a memory without a rule, if the table has a grid and its boxes leave a gap.
    pub fn gap(&self) -> Option<Memory> {
        match &self.shape.index {
            Index::Grid(grid) => grid.gap(self.shape.tree.domain()),
            Index::Walk(_) => None,
        }
    }

    /// Returns the number of the rule for a memory. Values beyond the whole table's box count as
    /// the nearest inside. `None` if the boxes leave a gap there. `place` holds the last memory's
    /// intervals, so that a nearby memory is found faster.
    #[inline]
    pub fn find(&self, memory: &Memory, place: &mut Place) -> Option<usize> {
        match &self.shape.index {
            Index::Grid(grid) => grid.find(memory, place),
            Index::Walk(walk) => walk.find(memory),
        }
    }

    /// Returns the number of the rule for a memory, without a place.
    pub fn rule_for(&self, memory: &Memory) -> Option<usize> {
        self.find(memory, &mut Place::default())
    }
}

/// Compares boxes, actions, resolutions and timers.
impl PartialEq for RuleTable {
    fn eq(&self, other: &RuleTable) -> bool {
        self.rules == other.rules
            && (self.resolution, self.timer) == (other.resolution, other.timer)
            && (Arc::ptr_eq(&self.shape, &other.shape) || self.tree() == other.tree())
    }
}

/// Appends the rules of a tree, and checks the tree.
fn collect(tree: &RuleTree, depth: usize, rules: &mut Vec<Rule>) -> Result<(), TableError> {
    let rule = rules.len();
    if depth > MAX_DEPTH {
        return Err(TableError::TooDeep { rule });
    }
    let domain = tree.domain();
    if domain.lower.iter().chain(&domain.upper).any(|end| end.is_nan()) {
        return Err(TableError::NotANumber { rule });
    }
    match tree {
        RuleTree::Leaf(leaf) if !leaf.action.is_sane() => {
            return Err(TableError::Action { rule, action: leaf.action });
        }
        RuleTree::Leaf(_) if rule == MAX_RULES => {
            return Err(TableError::TooMany { rules: rule + 1 });
        }
        RuleTree::Leaf(leaf) => rules.push(*leaf),
        RuleTree::Inner { children, .. } => {
            for child in children {
                collect(child, depth + 1, rules)?;
            }
        }
    }
    Ok(())
}

fn put_actions<'a>(tree: &mut RuleTree, rules: &mut impl Iterator<Item = &'a Rule>) {
    match tree {
        RuleTree::Leaf(leaf) => {
            if let Some(rule) = rules.next() {
                leaf.action = rule.action;
            }
        }
        RuleTree::Inner { children, .. } => {
            for child in children {
                put_actions(child, rules);
            }
        }
    }
}
