//! Published files of tables (`.dna`): read and written without loss.
//!
//! A file is a tree of Protocol Buffers messages. Fields that mean nothing here, those of older and
//! of newer files among them, are kept as they are, each within its message.

mod read;
mod wire;
mod write;

use paceline_schemes::remy::{
    Action, DOMAIN_END, Domain, PUBLISHED_SIGNALS, Rule, RuleTree, Signal,
};

pub use read::DnaError;

/// The numbers of fields.
mod field {
    pub(super) const TREE_DOMAIN: u64 = 1;
    pub(super) const TREE_CHILD: u64 = 2;
    pub(super) const TREE_LEAF: u64 = 3;
    pub(super) const RANGE_LOWER: u64 = 11;
    pub(super) const RANGE_UPPER: u64 = 12;
    pub(super) const RANGE_AXIS: u64 = 13;
    /// The first of six: one per signal.
    pub(super) const MEMORY: u64 = 21;
    pub(super) const WHISKER_INCREMENT: u64 = 31;
    pub(super) const WHISKER_MULTIPLE: u64 = 32;
    pub(super) const WHISKER_INTERSEND: u64 = 33;
    pub(super) const WHISKER_DOMAIN: u64 = 34;
    /// Those of trees of another kind of sender.
    pub(super) const FIN: std::ops::RangeInclusive<u64> = 90..=95;
}

/// A published file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dna {
    root: Node,
    /// A signal that the tree looks at and published files do not have.
    unpublished: Option<&'static str>,
}

/// A box of the tree.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    range: Range,
    kind: Kind,
    /// The node's other fields, as they were written.
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

/// A box; ends and axes only as far as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
struct Range {
    lower: Option<Corner>,
    upper: Option<Corner>,
    axes: Vec<u64>,
    others: Vec<u8>,
}

/// The ends of a box on one side.
#[derive(Clone, Debug, Default, PartialEq)]
struct Corner {
    values: [Option<f64>; PUBLISHED_SIGNALS],
    others: Vec<u8>,
}

impl Range {
    /// The box, with what is not written: lower ends 0, upper ends [`DOMAIN_END`], the first four
    /// axes active.
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

impl Dna {
    /// The file of a tree, with every field of a table that there is today.
    pub fn of(tree: &RuleTree) -> Dna {
        let ours = |signal: &Signal| !signal.is_published() && tree.looks_at(*signal);
        let unpublished = Signal::ALL.into_iter().find(ours).map(Signal::name);
        Dna { root: Node::of(tree), unpublished }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// See [`DnaError`].
    pub fn read(bytes: &[u8]) -> Result<Dna, DnaError> {
        read::read(bytes)
    }

    /// The bytes of the file. Read and written again without a change they are the same, if fields
    /// were in the order of their numbers.
    ///
    /// # Errors
    /// [`DnaError::Signal`] if the tree that this is made of looks at a signal that such files do
    /// not have.
    pub fn write(&self) -> Result<Vec<u8>, DnaError> {
        match self.unpublished {
            None => Ok(write::write(&self.root)),
            Some(signal) => Err(DnaError::Signal { signal }),
        }
    }

    /// The rules.
    pub fn tree(&self) -> RuleTree {
        self.root.tree()
    }

    /// The fields of the file that are no rules: the networks that the table was made for, and the
    /// settings of the training; as they were written.
    pub fn others(&self) -> &[u8] {
        &self.root.others
    }

    /// The same with these other fields.
    #[must_use]
    pub fn with_others(mut self, others: Vec<u8>) -> Dna {
        self.root.others = others;
        self
    }
}

// What is not written ends where whole domains do.
const _: () = assert!(DOMAIN_END == 163_840.0);
