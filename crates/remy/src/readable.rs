//! The readable form of a table: a list of boxes as TOML or JSON.
//!
//! ```toml
//! format = "paceline-remy 1"
//! about = "one rule near the smallest RTT, one above"
//! resolution = "1ms"            # of the senders' clocks; 10 ns without this line
//! timer = "20ms"                # looks rules up without acknowledgements, too; not without this line
//!
//! [[box]]                       # the whole
//! at = ""
//! axes = ["send_ewma", "rec_ewma", "rtt_ratio", "slow_rec_ewma"]
//! lower = { send_ewma = 0.0, rec_ewma = 0.0, rtt_ratio = 0.0, slow_rec_ewma = 0.0 }
//! upper = { send_ewma = 16384.0, rec_ewma = 16384.0, rtt_ratio = 16384.0, slow_rec_ewma = 16384.0 }
//!
//! [[box]]                       # its first child: only the ends that differ from the box around
//! at = "0"
//! upper = { rtt_ratio = 1.1 }
//! rule = { m = 1.0, b = 1, r = 0.5 }
//!
//! [[box]]
//! at = "1"
//! lower = { rtt_ratio = 1.1 }
//! rule = { m = 0.9, b = 1, r = 1.0 }
//! ```
//!
//! With `actions = "rate"` after `about`, rules act on the delivery rate and the minimum RTT, and
//! have a fourth number, the queueing delay aimed at in milliseconds: `rule = { m = 1.0, b = 4, r =
//! 2.0, t = 20.0 }` sets the window to `rate * (m * min_rtt + t) + b` packets, and the pacing rate to
//! `r` times the delivery rate.

use std::collections::BTreeMap;

use paceline_cc::Span;
use paceline_schemes::remy::{
    Action, ActionBasis, Domain, MAX_DEPTH, Rule, RuleTable, RuleTree, SIGNALS, Signal,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dna::MAX_BOXES;

/// The value of `format`.
const FORMAT: &str = "paceline-remy 1";
/// Maximum resolution of clocks.
pub(crate) const MAX_RESOLUTION: Span = Span::from_secs(1);
/// Bounds of the time after which rules on a timer are looked up.
pub(crate) const TIMER_BOUNDS: (Span, Span) = (Span::from_millis(1), Span::from_secs(1));

/// Why a text is not a readable table.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ReadableError {
    /// It is not TOML or JSON, or lacks a key.
    #[error("{0}")]
    Syntax(String),
    /// Its format is unknown to this version.
    #[error("its format is `{0}`; this version reads `{FORMAT}`")]
    Format(String),
    /// A box is invalid.
    #[error("box {number}, at \"{at}\": {problem}")]
    Box {
        /// Its index in the list, from 0.
        number: usize,
        /// Its position in the tree.
        at: String,
        /// The error.
        problem: String,
    },
    /// An end is infinite or not a number, which JSON cannot express.
    #[error("a box ends at infinity, for which JSON has no number: write TOML")]
    Infinity,
}

/// A table in a form that people can read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readable {
    format: String,
    /// What the table was trained for.
    #[serde(default)]
    pub about: String,
    /// Resolution of the clocks that it was trained for. 0, which is not written, stands for 10 ns:
    /// see `RuleTable::resolution`.
    #[serde(
        default,
        skip_serializing_if = "span::is_zero",
        serialize_with = "span::write",
        deserialize_with = "span::read_resolution"
    )]
    pub resolution: Span,
    /// Time without an acknowledgement after which senders look their rule up again. 0, which is not
    /// written, stands for never: see `RuleTable::timer`.
    #[serde(
        default,
        skip_serializing_if = "span::is_zero",
        serialize_with = "span::write",
        deserialize_with = "span::read_timer"
    )]
    pub timer: Span,
    /// Name of the quantity on which the rules act: see [`ActionBasis::name`]. Empty, which is not
    /// written, stands for `window`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    actions: String,
    /// The fields of a published file beside its rules, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub published: String,
    #[serde(rename = "box")]
    boxes: Vec<ReadableBox>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadableBox {
    /// The path from the root to this box: indices of children, separated by dots.
    at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    axes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    lower: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    upper: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<ReadableRule>,
}

#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadableRule {
    m: f64,
    b: i32,
    r: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t: Option<f64>,
}

/// A time as text: `1ms`.
mod span {
    use paceline_cc::{ParamValue, Span};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn is_zero(span: &Span) -> bool {
        *span == Span::ZERO
    }

    pub(super) fn write<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(span)
    }

    pub(super) fn read_resolution<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        read(from, "resolution", (Span::ZERO, super::MAX_RESOLUTION))
    }

    pub(super) fn read_timer<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        read(from, "timer", super::TIMER_BOUNDS)
    }

    fn read<'de, D: Deserializer<'de>>(
        from: D,
        key: &str,
        (least, most): (Span, Span),
    ) -> Result<Span, D::Error> {
        let text = String::deserialize(from)?;
        let fail = |problem: String| D::Error::custom(format!("{key} = \"{text}\": {problem}"));
        let span = Span::read(&text).map_err(fail)?;
        if span < least {
            return Err(fail(format!("the least is {least}")));
        }
        if span > most { Err(fail(format!("the most is {most}"))) } else { Ok(span) }
    }
}

impl Readable {
    /// Returns the readable form of a tree.
    pub fn of(tree: &RuleTree, about: impl Into<String>) -> Readable {
        let mut boxes = Vec::new();
        list(tree, None, String::new(), &mut boxes);
        // All rules of a table have one basis.
        let actions = match basis(tree) {
            ActionBasis::Window => String::new(),
            basis => basis.name().to_string(),
        };
        Readable {
            format: FORMAT.to_string(),
            about: about.into(),
            resolution: Span::ZERO,
            timer: Span::ZERO,
            actions,
            published: String::new(),
            boxes,
        }
    }

    /// Returns the readable form of a table, with its resolution and its timer.
    pub fn of_table(table: &RuleTable, about: impl Into<String>) -> Readable {
        let resolution = match table.resolution() {
            RuleTable::EXACT => Span::ZERO,
            resolution => resolution,
        };
        Readable { resolution, timer: table.timer(), ..Readable::of(&table.tree(), about) }
    }

    /// Reads a table in TOML.
    ///
    /// # Errors
    /// The text is not TOML or not in this format.
    pub fn from_toml(text: &str) -> Result<Readable, ReadableError> {
        toml::from_str(text).map_err(|error| ReadableError::Syntax(error.to_string()))
    }

    /// Reads a table in JSON.
    ///
    /// # Errors
    /// The text is not JSON or not in this format.
    pub fn from_json(text: &str) -> Result<Readable, ReadableError> {
        serde_json::from_str(text).map_err(|error| ReadableError::Syntax(error.to_string()))
    }

    /// Writes the table in TOML.
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text =
            format!("format = {}\nabout = {}\n", quoted(&self.format), quoted(&self.about));
        if self.resolution > Span::ZERO {
            text += &format!("resolution = \"{}\"\n", self.resolution);
        }
        if self.timer > Span::ZERO {
            text += &format!("timer = \"{}\"\n", self.timer);
        }
        if !self.actions.is_empty() {
            text += &format!("actions = {}\n", quoted(&self.actions));
        }
        if !self.published.is_empty() {
            text += &format!("published = {}\n", quoted(&self.published));
        }
        let ends = |ends: &BTreeMap<String, f64>| {
            let ends: Vec<_> = ends.iter().map(|(name, end)| format!("{name} = {end:?}")).collect();
            format!("{{ {} }}", ends.join(", "))
        };
        for one in &self.boxes {
            text += &format!("\n[[box]]\nat = {}\n", quoted(&one.at));
            if let Some(axes) = &one.axes {
                let names: Vec<_> = axes.iter().map(|axis| quoted(axis)).collect();
                text += &format!("axes = [{}]\n", names.join(", "));
            }
            for (key, map) in [("lower", &one.lower), ("upper", &one.upper)] {
                if !map.is_empty() {
                    text += &format!("{key} = {}\n", ends(map));
                }
            }
            if let Some(ReadableRule { m, b, r, t }) = one.rule {
                let t = t.map_or(String::new(), |t| format!(", t = {t:?}"));
                text += &format!("rule = {{ m = {m:?}, b = {b}, r = {r:?}{t} }}\n");
            }
        }
        text
    }

    /// Writes the table in JSON.
    ///
    /// # Errors
    /// A number is infinite or not a number.
    pub fn to_json(&self) -> Result<String, ReadableError> {
        let ends = self.boxes.iter().flat_map(|one| one.lower.values().chain(one.upper.values()));
        if ends.into_iter().any(|end| !end.is_finite()) {
            return Err(ReadableError::Infinity);
        }
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| ReadableError::Syntax(error.to_string()))
    }

    /// Returns the tree.
    ///
    /// # Errors
    /// A box is invalid, or its parent is not among the boxes before it.
    pub fn tree(&self) -> Result<RuleTree, ReadableError> {
        if self.format != FORMAT {
            return Err(ReadableError::Format(self.format.clone()));
        }
        let basis = match &*self.actions {
            "" => ActionBasis::Window,
            name => ActionBasis::of_name(name).ok_or_else(|| {
                let problem = format!("actions = \"{name}\": write \"window\" or \"rate\"");
                ReadableError::Syntax(problem)
            })?,
        };
        let mut tree: Option<RuleTree> = None;
        for (number, one) in self.boxes.iter().enumerate() {
            let fail = |problem: String| ReadableError::Box { number, at: one.at.clone(), problem };
            if number >= MAX_BOXES {
                return Err(fail(format!("there are more than {MAX_BOXES} boxes")));
            }
            match (&mut tree, one.at.is_empty()) {
                (None, true) => tree = Some(one.node(&Domain::WHOLE, basis).map_err(fail)?),
                (None, false) => {
                    return Err(fail("the first box is the whole: write at = \"\"".into()));
                }
                (Some(_), true) => return Err(fail("there is one whole box only".into())),
                (Some(root), false) => {
                    let (domain, children) = parent(root, &one.at).map_err(fail)?;
                    children.push(one.node(&domain, basis).map_err(fail)?);
                }
            }
        }
        tree.ok_or_else(|| ReadableError::Syntax("there is no [[box]]".into()))
    }
}

/// Returns the box that contains the position `at`, and its children, to which the new box is
/// appended.
fn parent<'a>(root: &'a mut RuleTree, at: &str) -> Result<(Domain, &'a mut Vec<RuleTree>), String> {
    let mut places = Vec::new();
    for place in at.split('.') {
        if places.len() == MAX_DEPTH {
            return Err(format!("boxes are nested more than {MAX_DEPTH} deep"));
        }
        let number: usize = place
            .parse()
            .map_err(|_| "at has the numbers of children with dots between: at = \"0.3\"")?;
        places.push(number);
    }
    let last = places.pop().unwrap_or(0);
    let mut node = root;
    for place in places {
        let RuleTree::Inner { children, .. } = node else {
            return Err("a box around it has a rule, and so cannot be divided".into());
        };
        let known = children.len();
        node = children.get_mut(place).ok_or_else(|| {
            format!(
                "there is no child {place} before it, only {known}; boxes come after those around"
            )
        })?;
    }
    let RuleTree::Inner { domain, children } = node else {
        return Err("the box around it has a rule, and so cannot be divided".into());
    };
    if children.len() != last {
        return Err(format!("the next child here is {}, not {last}", children.len()));
    }
    Ok((*domain, children))
}

impl ReadableBox {
    /// Returns the box without children, inside a box with the ends `around`. Its rule acts on
    /// `basis`.
    fn node(&self, around: &Domain, basis: ActionBasis) -> Result<RuleTree, String> {
        let signal = |name: &str| {
            let names: Vec<_> = Signal::ALL.iter().map(|signal| signal.name()).collect();
            Signal::of_name(name).ok_or_else(|| {
                format!("there is no signal `{name}`; there are: {}", names.join(", "))
            })
        };
        let mut domain = *around;
        for (name, &end) in &self.lower {
            domain.lower[signal(name)?.index()] = end;
        }
        for (name, &end) in &self.upper {
            domain.upper[signal(name)?.index()] = end;
        }
        if let Some(axes) = &self.axes {
            domain.active = Default::default();
            for name in axes {
                domain.active[signal(name)?.index()] = true;
            }
        }
        Ok(match self.rule {
            None => RuleTree::Inner { domain, children: Vec::new() },
            Some(ReadableRule { m, b, r, t }) => {
                let action = match (basis, t) {
                    (ActionBasis::Window, None) => Action::new(m, b, r),
                    (ActionBasis::Window, Some(_)) => {
                        return Err("only rules of a table with actions = \"rate\" have t".into());
                    }
                    (ActionBasis::Rate, t) => Action::of_rate(m, b, r, t.unwrap_or(0.0)),
                };
                if !action.is_sane() {
                    let t = t.map_or(String::new(), |t| format!(", t = {t}"));
                    return Err(format!("m = {m} and r = {r}{t} have to be finite, r not below 0"));
                }
                RuleTree::Leaf(Rule { domain, action })
            }
        })
    }
}

/// Returns the quantity on which the first rule of a tree acts.
fn basis(tree: &RuleTree) -> ActionBasis {
    match tree {
        RuleTree::Leaf(rule) => rule.action.basis,
        RuleTree::Inner { children, .. } => children.first().map_or(ActionBasis::Window, basis),
    }
}

/// Appends the boxes of a tree to `boxes`.
fn list(tree: &RuleTree, around: Option<&Domain>, at: String, boxes: &mut Vec<ReadableBox>) {
    let domain = tree.domain();
    let differs = |ends: fn(&Domain) -> &[f64; SIGNALS]| {
        let own = ends(domain);
        let different = |signal: &Signal| {
            let axis = signal.index();
            around.map_or(domain.active[axis], |around| ends(around)[axis] != own[axis])
        };
        Signal::ALL
            .iter()
            .filter(|signal| different(signal))
            .map(|signal| (signal.name().to_string(), own[signal.index()]))
            .collect()
    };
    let names = || {
        let active = Signal::ALL.iter().filter(|signal| domain.active[signal.index()]);
        active.map(|signal| signal.name().to_string()).collect()
    };
    let rule = match tree {
        RuleTree::Leaf(Rule { action, .. }) => Some(ReadableRule {
            m: action.multiple,
            b: action.increment,
            r: action.intersend_ms,
            t: (action.basis == ActionBasis::Rate).then_some(action.queue_ms),
        }),
        RuleTree::Inner { .. } => None,
    };
    boxes.push(ReadableBox {
        axes: around.is_none_or(|around| around.active != domain.active).then(names),
        lower: differs(|domain| &domain.lower),
        upper: differs(|domain| &domain.upper),
        rule,
        at: at.clone(),
    });
    if let RuleTree::Inner { children, .. } = tree {
        for (number, child) in children.iter().enumerate() {
            let at = if at.is_empty() { number.to_string() } else { format!("{at}.{number}") };
            list(child, Some(domain), at, boxes);
        }
    }
}
