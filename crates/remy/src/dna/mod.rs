//! Published files of tables (`.dna`): reads and writes them without loss.
//!
//! A file is a tree of Protocol Buffers messages. Fields that Paceline does not use, of older and
//! of newer versions, are kept unchanged within their messages.

mod read;
mod wire;
mod write;

use paceline_schemes::remy::{
    Action, ActionBasis, DOMAIN_END, Domain, PUBLISHED_SIGNALS, Rule, RuleTree, Signal,
};

pub use read::DnaError;
pub(crate) use read::MAX_BOXES;

/// Field numbers.
mod field {
    pub(super) const TREE_DOMAIN: u64 = 1;
    pub(super) const TREE_CHILD: u64 = 2;
    pub(super) const TREE_LEAF: u64 = 3;
    pub(super) const RANGE_LOWER: u64 = 11;
    pub(super) const RANGE_UPPER: u64 = 12;
    pub(super) const RANGE_AXIS: u64 = 13;
    /// The first of six field numbers, one per signal.
    pub(super) const MEMORY: u64 = 21;
    pub(super) const WHISKER_INCREMENT: u64 = 31;
    pub(super) const WHISKER_MULTIPLE: u64 = 32;
    pub(super) const WHISKER_INTERSEND: u64 = 33;
    pub(super) const WHISKER_DOMAIN: u64 = 34;
    /// Field numbers of trees for another kind of sender.
    pub(super) const FIN: std::ops::RangeInclusive<u64> = 90..=95;
}

/// A published file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dna {
    root: Node,
    /// The reason why published files cannot hold the tree.
    unpublished: Option<DnaError>,
}

/// A box of the tree.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    range: Range,
    kind: Kind,
    /// Other fields of the node, as they were written.
    others: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Leaf(Box<Whisker>),
    Inner(Vec<Node>),
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
struct Whisker {
    action: Action,
    range: Range,
    others: Vec<u8>,
}

/// A box. Ends and axes may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
struct Range {
    lower: Option<Corner>,
    upper: Option<Corner>,
    axes: Vec<u64>,
    others: Vec<u8>,
}

/// The lower or the upper ends of a box.
#[derive(Clone, Debug, Default, PartialEq)]
struct Corner {
    values: [Option<f64>; PUBLISHED_SIGNALS],
    others: Vec<u8>,
}

impl Range {
    /// Returns the box. Missing lower ends are 0, missing upper ends [`DOMAIN_END`], and without
    /// axes the first four are active.
    fn domain(&self) -> Domain {
        let mut domain = Domain::WHOLE;
        let ends = |corner: &Option<Corner>, into: &mut [f64]| {
            let written = corner.iter().flat_map(|corner| corner.values).enumerate();
            written.for_each(|(axis, value)| into[axis] = value.unwrap_or(into[axis]));
        };
        ends(&self.lower, &mut domain.lower);
        ends(&self.upper, &mut domain.upper);
        if !self.axes.is_empty() {
            domain.active = std::array::from_fn(|axis| self.axes.contains(&(axis as u64)));
        }
        domain
    }

    fn of(domain: &Domain) -> Range {
        let corner = |ends: &[f64]| {
            let values = std::array::from_fn(|axis| ends.get(axis).copied());
            Some(Corner { values, others: Vec::new() })
        };
        Range {
            lower: corner(&domain.lower),
            upper: corner(&domain.upper),
            axes: (0..PUBLISHED_SIGNALS as u64)
                .filter(|&axis| domain.active[axis as usize])
                .collect(),
            others: Vec::new(),
        }
    }
}

impl Node {
    fn tree(&self) -> RuleTree {
        let domain = self.range.domain();
        match &self.kind {
            Kind::Leaf(whisker) => RuleTree::Leaf(Rule { domain, action: whisker.action }),
            Kind::Inner(children) => {
                RuleTree::Inner { domain, children: children.iter().map(Node::tree).collect() }
            }
        }
    }

    fn of(tree: &RuleTree) -> Node {
        let range = Range::of(tree.domain());
        let kind = match tree {
            RuleTree::Leaf(rule) => {
                let range = range.clone();
                Kind::Leaf(Box::new(Whisker { action: rule.action, range, others: Vec::new() }))
            }
            RuleTree::Inner { children, .. } => {
                Kind::Inner(children.iter().map(Node::of).collect())
            }
        };
        Node { range, kind, others: Vec::new() }
    }
}

/// Returns true if rules act on the delivery rate.
fn acts_on_rate(tree: &RuleTree) -> bool {
    match tree {
        RuleTree::Leaf(rule) => rule.action.basis == ActionBasis::Rate,
        RuleTree::Inner { children, .. } => children.iter().any(acts_on_rate),
    }
}

impl Dna {
    /// Returns the file of a tree, with every field of current tables.
    pub fn of(tree: &RuleTree) -> Dna {
        let ours = |signal: &Signal| !signal.is_published() && tree.looks_at(*signal);
        let own_signal = Signal::ALL.into_iter().find(ours);
        let unpublished = match acts_on_rate(tree) {
            true => Some(DnaError::Actions),
            false => own_signal.map(|signal| DnaError::Signal { signal: signal.name() }),
        };
        Dna { root: Node::of(tree), unpublished }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// See [`DnaError`].
    pub fn read(bytes: &[u8]) -> Result<Dna, DnaError> {
        read::read(bytes)
    }

    /// Returns the bytes of the file. Reading and writing a file returns the same bytes if its
    /// fields were in the order of their numbers.
    ///
    /// # Errors
    /// [`DnaError::Signal`] or [`DnaError::Actions`] if the tree has signals or actions that
    /// published files do not support.
    pub fn write(&self) -> Result<Vec<u8>, DnaError> {
        match &self.unpublished {
            None => Ok(write::write(&self.root)),
            Some(reason) => Err(reason.clone()),
        }
    }

    /// Returns the tree of rules.
    pub fn tree(&self) -> RuleTree {
        self.root.tree()
    }

    /// Returns the file's fields beside the rules, as they were written: the networks for which the
    /// table was made, and the settings of its training.
    pub fn others(&self) -> &[u8] {
        &self.root.others
    }

    /// Returns the file with these fields in place of its own.
    #[must_use]
    pub fn with_others(mut self, others: Vec<u8>) -> Dna {
        self.root.others = others;
        self
    }
}

// Missing ends equal those of the whole domain.
const _: () = assert!(DOMAIN_END == 163_840.0);
