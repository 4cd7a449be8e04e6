//! Reading published files.

use paceline_schemes::remy::{Action, MAX_DEPTH, PUBLISHED_SIGNALS};
use thiserror::Error;

use super::wire::{Field, Fields, Value, WireError, unzigzag};
use super::{Corner, Dna, Kind, Node, Range, Whisker, field};

/// Maximum number of boxes in a file, divided boxes and rules: more than any table has.
pub(crate) const MAX_BOXES: usize = 100_000;

/// Why a file is not a table. Rules are numbered from 0, in the order of the file.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DnaError {
    /// The bytes of a box or of its rule are invalid.
    #[error("at rule {rule}, in {part}: {problem}")]
    Broken {
        /// The rule, or the first rule of the box.
        rule: usize,
        /// The part: `a box`, `a rule`, `the ends of a box`.
        part: &'static str,
        /// The error.
        problem: String,
    },
    /// A box has neither a rule nor children.
    #[error(
        "at rule {rule} a box has neither a rule nor boxes within: the file is cut off, or it is no \
         table of rules"
    )]
    NoRule {
        /// The number that its rule would have.
        rule: usize,
    },
    /// A box has both a rule and children.
    #[error("at rule {rule} a box has a rule and boxes within: only one of them can decide")]
    Both {
        /// First rule of the box.
        rule: usize,
    },
    /// Boxes are nested too deeply.
    #[error("at rule {rule} boxes are nested more than {MAX_DEPTH} deep; no table is")]
    TooDeep {
        /// First rule inside.
        rule: usize,
    },
    /// There are too many boxes.
    #[error("there are more than {MAX_BOXES} boxes; tables have fewer")]
    TooLarge,
    /// The tree is for the other kind of sender.
    #[error("it is the tree of a Poisson sender (`FinTree`), not a table of rules")]
    FinTree,
    /// A table cannot be written in this format.
    #[error(
        "its rules look at {signal}, which published files (.dna) do not have; keep the table as \
         .toml or .json"
    )]
    Signal {
        /// The signal.
        signal: &'static str,
    },
    /// The rules act on the delivery rate. Only written files have this error.
    #[error(
        "its rules act on the delivery rate, which those of published files (.dna) cannot; keep the \
         table as .toml or .json"
    )]
    Actions,
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
}

/// State while reading.
struct Reader {
    rules: usize,
    boxes: usize,
}

pub(super) fn read(bytes: &[u8]) -> Result<Dna, DnaError> {
    if bytes.is_empty() {
        return Err(DnaError::Empty);
    }
    let fins = |field: Result<Field<'_>, WireError>| {
        field.is_ok_and(|field| field::FIN.contains(&field.number))
    };
    if Fields::new(bytes).any(fins) {
        return Err(DnaError::FinTree);
    }
    let mut reader = Reader { rules: 0, boxes: 0 };
    Ok(Dna { root: reader.node(bytes, 0)?, unpublished: None })
}

impl Reader {
    fn broken(&self, part: &'static str, problem: impl ToString) -> DnaError {
        DnaError::Broken { rule: self.rules, part, problem: problem.to_string() }
    }

    fn fields<'a>(
        &self,
        bytes: &'a [u8],
        part: &'static str,
    ) -> impl Iterator<Item = Result<Field<'a>, DnaError>> + use<'a> {
        let rule = self.rules;
        Fields::new(bytes).map(move |field| {
            field.map_err(|problem| DnaError::Broken { rule, part, problem: problem.to_string() })
        })
    }

    fn message<'a>(&self, field: &Field<'a>, part: &'static str) -> Result<&'a [u8], DnaError> {
        match field.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.broken(part, format!("field {} is not a message", field.number))),
        }
    }

    fn double(&self, field: &Field<'_>, part: &'static str) -> Result<f64, DnaError> {
        match field.value {
            Value::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(self.broken(part, format!("field {} is not a double", field.number))),
        }
    }

    fn node(&mut self, bytes: &[u8], depth: usize) -> Result<Node, DnaError> {
        const PART: &str = "a box";
        let first = self.rules;
        self.boxes += 1;
        if self.boxes > MAX_BOXES {
            return Err(DnaError::TooLarge);
        }
        if depth > MAX_DEPTH {
            return Err(DnaError::TooDeep { rule: first });
        }
        let (mut range, mut leaf, mut children) = (None, None, Vec::new());
        let mut others = Vec::new();
        for field in self.fields(bytes, PART) {
            let field = field?;
            match field.number {
                field::TREE_DOMAIN => range = Some(self.range(self.message(&field, PART)?)?),
                field::TREE_CHILD => {
                    let bytes = self.message(&field, PART)?;
                    children.push(self.node(bytes, depth + 1)?);
                }
                field::TREE_LEAF if leaf.is_some() => {
                    return Err(self.broken(PART, "it has two rules"));
                }
                field::TREE_LEAF => {
                    leaf = Some(self.whisker(self.message(&field, PART)?)?);
                    self.rules += 1;
                }
                _ => others.extend_from_slice(field.raw),
            }
        }
        let (kind, range) = match (leaf, children.is_empty()) {
            (None, true) => return Err(DnaError::NoRule { rule: first }),
            (Some(_), false) => return Err(DnaError::Both { rule: first }),
            (Some(leaf), true) => {
                let range = range.unwrap_or_else(|| leaf.range.clone());
                (Kind::Leaf(Box::new(leaf)), range)
            }
            (None, false) => (Kind::Inner(children), range.unwrap_or_default()),
        };
        Ok(Node { range, kind, others })
    }

    fn whisker(&self, bytes: &[u8]) -> Result<Whisker, DnaError> {
        const PART: &str = "a rule";
        let (mut increment, mut multiple, mut intersend) = (None, None, None);
        let (mut range, mut others) = (Range::default(), Vec::new());
        for field in self.fields(bytes, PART) {
            let field = field?;
            match (field.number, field.value) {
                (field::WHISKER_INCREMENT, Value::Varint(number)) => {
                    increment = Some(unzigzag(number));
                }
                (field::WHISKER_INCREMENT, _) => {
                    return Err(self.broken(PART, "the window's increment is no whole number"));
                }
                (field::WHISKER_MULTIPLE, _) => multiple = Some(self.double(&field, PART)?),
                (field::WHISKER_INTERSEND, _) => intersend = Some(self.double(&field, PART)?),
                (field::WHISKER_DOMAIN, _) => range = self.range(self.message(&field, PART)?)?,
                _ => others.extend_from_slice(field.raw),
            }
        }
        let missing = |what: &str| self.broken(PART, format!("it lacks {what}"));
        let action = Action::new(
            multiple.ok_or_else(|| missing("the window's multiple (field 32)"))?,
            increment.ok_or_else(|| missing("the window's increment (field 31)"))?,
            intersend.ok_or_else(|| missing("the time between packets (field 33)"))?,
        );
        if !action.is_sane() {
            let Action { multiple, intersend_ms, .. } = action;
            let problem = format!(
                "multiple {multiple} and time between packets {intersend_ms} ms have to be finite, \
                 the time not below 0"
            );
            return Err(self.broken(PART, problem));
        }
        Ok(Whisker { action, range, others })
    }

    fn range(&self, bytes: &[u8]) -> Result<Range, DnaError> {
        const PART: &str = "the ends of a box";
        let mut range = Range::default();
        for field in self.fields(bytes, PART) {
            let field = field?;
            match (field.number, field.value) {
                (field::RANGE_LOWER, _) => {
                    range.lower = Some(self.corner(self.message(&field, PART)?)?);
                }
                (field::RANGE_UPPER, _) => {
                    range.upper = Some(self.corner(self.message(&field, PART)?)?);
                }
                (field::RANGE_AXIS, Value::Varint(axis)) if axis < PUBLISHED_SIGNALS as u64 => {
                    if range.axes.contains(&axis) {
                        return Err(self.broken(PART, format!("axis {axis} is named twice")));
                    }
                    range.axes.push(axis);
                }
                (field::RANGE_AXIS, value) => {
                    let problem = format!(
                        "there is no axis {value:?}; there are 0 to {}, one to a field",
                        PUBLISHED_SIGNALS - 1
                    );
                    return Err(self.broken(PART, problem));
                }
                _ => range.others.extend_from_slice(field.raw),
            }
        }
        Ok(range)
    }

    fn corner(&self, bytes: &[u8]) -> Result<Corner, DnaError> {
        const PART: &str = "the ends of a box";
        let mut corner = Corner::default();
        for field in self.fields(bytes, PART) {
            let field = field?;
            let axis = field.number.wrapping_sub(field::MEMORY) as usize;
            if axis >= PUBLISHED_SIGNALS {
                corner.others.extend_from_slice(field.raw);
                continue;
            }
            let value = self.double(&field, PART)?;
            if value.is_nan() {
                return Err(self.broken(PART, format!("field {} is no number", field.number)));
            }
            corner.values[axis] = Some(value);
        }
        Ok(corner)
    }
}
