//! How users write schemes: `sender[param=value,...]+queue[param=value,...]`.

use crate::params::{ParamText, Params, VARIANT, Variant};
use thiserror::Error;

/// A name with arguments: `codel[target=50ms,interval=100ms]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name before the bracket.
    pub name: String,
    /// The arguments in the order written.
    pub args: Vec<(String, String)>,
}

/// A scheme as a user writes it: a sender, and a queue at the bottleneck if the user names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeSpec {
    /// The sender's scheme; it includes its receiver and router halves.
    pub sender: Spec,
    /// The bottleneck's queue.
    pub queue: Option<Spec>,
}

/// Reason why a scheme or queue cannot be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// The text does not have the form of a scheme.
    #[error(
        "`{text}` is not a scheme: {problem}; write name[param=value,...]+queue[param=value,...]"
    )]
    Syntax {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such scheme or queue.
    #[error("unknown {kind} `{name}`{}; `paceline schemes` lists all", hint(.instead, .near))]
    UnknownName {
        /// `scheme` or `queue`.
        kind: &'static str,
        /// The name written.
        name: String,
        /// The nearest known name.
        near: Option<String>,
        /// What to use in its place, if others have something of this name.
        instead: Option<String>,
    },
    /// A list of schemes has nothing between two commas, or before the first or after the last.
    #[error(
        "`{text}` has no name beside one of its commas: write one there, or leave the comma out"
    )]
    EmptyName {
        /// The list.
        text: String,
    },
    /// The scheme or queue has no such parameter.
    #[error("`{name}` has no parameter `{param}`{}; it has{}", suggestion(.near), listed(known))]
    UnknownParam {
        /// The scheme or queue.
        name: String,
        /// The parameter written.
        param: String,
        /// The nearest parameter.
        near: Option<String>,
        /// All parameters of the scheme or queue.
        known: Vec<&'static str>,
    },
    /// The value is wrong for the parameter.
    #[error("`{name}[{param}={value}]`: {problem}")]
    BadValue {
        /// The scheme or queue.
        name: String,
        /// The parameter.
        param: String,
        /// The value written.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value of the text contradicts the default of a parameter that the text leaves out.
    #[error("`{spec}`: {problem}")]
    Default {
        /// The scheme or queue as written.
        spec: String,
        /// The condition that does not hold, in words.
        problem: String,
    },
}

impl SpecError {
    /// Returns the error with what to use in place of an unknown name, if there is something.
    #[must_use]
    pub fn with_instead(mut self, text: Option<String>) -> SpecError {
        if let (SpecError::UnknownName { instead, .. }, Some(text)) = (&mut self, text) {
            *instead = Some(text);
        }
        self
    }
}

/// Returns what to write in place of an unknown name.
fn hint(instead: &Option<String>, near: &Option<String>) -> String {
    instead.as_ref().map_or_else(|| suggestion(near), |instead| format!(" ({instead})"))
}

fn suggestion(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

/// Returns the words that follow "it has": the parameters, or that there are none.
fn listed(known: &[&'static str]) -> String {
    if known.is_empty() { " none".into() } else { format!(": {}", known.join(", ")) }
}

/// Returns the word of `known` that is nearest to `word`, if it is near enough to be meant: less than half of its
/// letters differ.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (distance, near) =
        known.into_iter().map(|candidate| (edit_distance(word, candidate), candidate)).min()?;
    (distance <= 1 + near.len() / 3 && 2 * distance < near.len()).then(|| near.to_string())
}

/// Returns the number of edits (insert, delete, replace, swap of neighbours) from one word to the
/// other, ignoring case, among the first 64 characters of each.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[i - 2][j - 2] + 1);
            }
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// Sets a parameter by name: [`Params::set`].
type SetParam<'a> = dyn FnMut(&str, &str) -> Option<Result<(), String>> + 'a;

impl Spec {
    /// Reads `name[param=value,...]`.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        let text = text.trim();
        let fail = |problem: &str| {
            Err(SpecError::Syntax { text: text.to_string(), problem: problem.to_string() })
        };
        let (name, inside) = match text.split_once('[') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(inside) => (name, inside),
                None => return fail("`[` without its `]` at the end"),
            },
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.contains(',') {
            return fail("one scheme is expected here, and no list");
        }
        if name.split_whitespace().count() > 1 {
            return fail("several names are separated by commas");
        }
        if name.is_empty() || !name.chars().all(legal) {
            return fail("a name has letters, digits, `-`, `_` and `.`");
        }
        let mut args: Vec<(String, String)> = Vec::new();
        for piece in inside.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
            match piece.split_once('=') {
                // Two variants are an error of `named_variant`.
                Some((param, _))
                    if param.trim() != VARIANT
                        && args.iter().any(|(known, _)| known == param.trim()) =>
                {
                    return fail(&format!("the parameter `{}` stands there twice", param.trim()));
                }
                Some((param, value)) => {
                    args.push((param.trim().to_string(), value.trim().to_string()));
                }
                None => return fail("each argument is written param=value"),
            }
        }
        Ok(Spec { name: name.to_string(), args })
    }

    /// Returns the parameters that this spec sets, with the defaults of its variant for the others.
    ///
    /// # Errors
    /// An unknown parameter or variant, two variants, a value that does not fit, or one that is out
    /// of its parameter's range.
    pub fn params<P: Params>(&self) -> Result<P, SpecError> {
        let named = self.named_variant(P::VARIANTS, P::VARIANT_KIND)?;
        // `named_variant` returns only variants of `P`, all of which have defaults.
        let mut params = named.and_then(P::variant).unwrap_or_default();
        self.set_all(!P::VARIANTS.is_empty(), P::TEXTS, &mut |name, value| {
            params.set(name, value)
        })?;
        match params.check_ranges() {
            Ok(()) => Ok(params),
            Err((param, problem)) => Err(self.bad_value(param, problem)),
        }
    }

    /// Passes each argument to `set`, the variant excepted: see [`Params::set`].
    fn set_all(
        &self,
        has_variants: bool,
        texts: &[ParamText],
        set: &mut SetParam<'_>,
    ) -> Result<(), SpecError> {
        for (param, value) in &self.args {
            if has_variants && param == VARIANT {
                continue;
            }
            match set(param, value) {
                Some(Ok(())) => {}
                Some(Err(problem)) => return Err(self.bad_value(param, problem)),
                None => {
                    let variant = has_variants.then_some(VARIANT).into_iter();
                    let known: Vec<_> = variant.chain(texts.iter().map(|text| text.name)).collect();
                    return Err(SpecError::UnknownParam {
                        name: self.name.clone(),
                        param: param.clone(),
                        near: nearest(param, known.iter().copied()),
                        known,
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the variant that this spec names, if it names one. [`Spec::params`] checks that it
    /// exists.
    pub fn variant(&self) -> Option<&str> {
        self.args.iter().find(|(param, _)| param == VARIANT).map(|(_, name)| name.as_str())
    }

    /// Returns the variant that this spec names, which is one of `variants`; `None` if it names none or there are none.
    fn named_variant(&self, variants: &[Variant], kind: &str) -> Result<Option<&str>, SpecError> {
        let Some(name) = self.variant().filter(|_| !variants.is_empty()) else { return Ok(None) };
        let mut others =
            self.args.iter().filter(|(param, other)| param == VARIANT && other != name);
        if let Some((_, other)) = others.next_back() {
            let problem = format!("`{VARIANT}={name}` is written as well; write one of the two");
            return Err(SpecError::BadValue {
                name: self.name.clone(),
                param: VARIANT.into(),
                value: other.clone(),
                problem,
            });
        }
        if variants.iter().any(|variant| variant.name == name) {
            return Ok(Some(name));
        }
        let near = nearest(name, variants.iter().map(|variant| variant.name));
        let known = kind.replace('|', ", ");
        let problem = format!("expected one of {known}{}", suggestion(&near));
        Err(self.bad_value(VARIANT, problem))
    }

    /// Returns the error that the value written for `param`, or its default, has the given problem.
    pub fn bad_value(&self, param: &str, problem: impl Into<String>) -> SpecError {
        let problem = problem.into();
        match self.args.iter().rev().find(|(name, _)| name == param) {
            Some((_, value)) => SpecError::BadValue {
                name: self.name.clone(),
                param: param.to_string(),
                value: value.clone(),
                problem,
            },
            None => {
                let problem = format!("{param}: {problem}");
                SpecError::Default { spec: self.to_string(), problem }
            }
        }
    }

    /// Returns an error unless `ok`: that one of `params`, which this spec sets, is not what its
    /// table says that it must be beside other parameters.
    ///
    /// # Errors
    /// `ok` is false.
    pub fn require<P: Params>(&self, ok: bool, params: &P, param: &str) -> Result<(), SpecError> {
        if ok {
            return Ok(());
        }
        let texts = P::TEXTS.iter().zip(params.shown());
        let (condition, value) = texts
            .filter(|(text, _)| text.name == param)
            .map(|(text, value)| (text.condition, value))
            .next()
            .unwrap_or_default();
        if self.args.iter().any(|(name, _)| name == param) {
            return Err(self.bad_value(param, format!("must be {condition}")));
        }
        let problem =
            format!("{param} is {value} by default, and must be {condition}; write it, too");
        Err(SpecError::Default { spec: self.to_string(), problem })
    }
}

impl SchemeSpec {
    /// Reads `sender[...]+queue[...]`.
    pub fn parse(text: &str) -> Result<SchemeSpec, SpecError> {
        // The first `+` outside brackets separates sender and queue; values may contain one (1e+3).
        let mut depth = 0;
        let split = text.char_indices().find(|&(_, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            c == '+' && depth == 0
        });
        match split {
            None => Ok(SchemeSpec { sender: Spec::parse(text)?, queue: None }),
            Some((at, _)) => Ok(SchemeSpec {
                sender: Spec::parse(&text[..at])?,
                queue: Some(Spec::parse(&text[at + 1..])?),
            }),
        }
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if !self.args.is_empty() {
            let args: Vec<_> = self.args.iter().map(|(p, v)| format!("{p}={v}")).collect();
            write!(f, "[{}]", args.join(","))?;
        }
        Ok(())
    }
}

impl std::fmt::Display for SchemeSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.queue {
            None => write!(f, "{}", self.sender),
            Some(queue) => write!(f, "{}+{queue}", self.sender),
        }
    }
}

/// Splits a comma-separated list of schemes; commas inside brackets belong to their scheme. An empty text has none.
///
/// # Errors
/// If a name is empty, as a shell's unset variable leaves it.
pub fn split_list(text: &str) -> Result<Vec<&str>, SpecError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut depth = 0usize;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    match parts.iter().any(|part| part.is_empty()) {
        true => Err(SpecError::EmptyName { text: text.to_string() }),
        false => Ok(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_read_and_write() {
        for text in ["abc", "abc[dt=60ms]", "cubic+codel[target=50ms,interval=100ms]"] {
            assert_eq!(SchemeSpec::parse(text).expect(text).to_string(), text);
        }
        let list = split_list("abc, cubic+codel[target=50ms,interval=100ms],bbr");
        assert_eq!(list, Ok(vec!["abc", "cubic+codel[target=50ms,interval=100ms]", "bbr"]));
        assert_eq!(split_list(" "), Ok(Vec::new()));
        for text in ["cubic,,abc", "cubic,", ",cubic", "cubic, ,abc", ","] {
            let refused = split_list(text).map_err(|error| error.to_string());
            assert!(refused.is_err_and(|error| error.contains(text)), "{text}");
        }
    }

    #[test]
    fn malformed_schemes_are_refused() {
        for text in ["", "+codel", "abc[", "abc[dt]", "a b", "abc]x[", "abc[dt=1ms,dt=2ms]"] {
            assert!(SchemeSpec::parse(text).is_err(), "{text}");
        }
        let list = SchemeSpec::parse("cubic bbr").expect_err("a list").to_string();
        assert!(list.contains("separated by commas"), "{list}");
        assert_eq!(nearest("cubci", ["cubic", "codel"]).as_deref(), Some("cubic"));
        assert_eq!(nearest("zzzzzz", ["cubic", "codel"]), None);
        assert_eq!(nearest("nope", ["copa", "cubic"]), None);
        assert_eq!(nearest("cpoa", ["copa", "cubic"]).as_deref(), Some("copa"));
    }
}
