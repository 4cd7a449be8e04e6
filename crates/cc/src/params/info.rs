//! The documentation of parameters, from their table.

use super::{Edges, NO_UNIT, VARIANT, Variant};

/// The limits of a type of whole numbers, as users write them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The lowest and the highest value.
    pub inside: [&'static str; 2],
    /// The values next to them, which are refused.
    pub outside: [&'static str; 2],
}

/// The documentation of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name, as in the paper.
    pub name: &'static str,
    /// Form of its values: `number`, `time`, `true|false`.
    pub kind: &'static str,
    /// Its unit: `packets`, `time`; [`NO_UNIT`] if it has none.
    pub unit: &'static str,
    /// Its default value.
    pub default: String,
    /// The variants with another default, each with that default.
    pub in_variants: Vec<(&'static str, String)>,
    /// Values allowed: `1 to 10000`, `true|false`, `any time`.
    pub range: String,
    /// What its value must also be, beside the values of other parameters: `at least alpha`; empty if nothing.
    pub condition: &'static str,
    /// Values at the edges of the range, for tests; empty if any value is allowed.
    pub edges: Edges,
    /// The paper, RFC or program that its default comes from.
    pub source: &'static str,
    /// Its meaning.
    pub doc: String,
}

/// The constants of one parameter in a table that [`crate::params!`] declares.
#[doc(hidden)]
#[derive(Copy, Clone, Debug)]
pub struct ParamText {
    pub name: &'static str,
    pub kind: &'static str,
    /// The unit of its type.
    pub own_unit: &'static str,
    /// The limits of its type.
    pub limits: Option<Limits>,
    /// The unit that the table names; empty if it names none.
    pub unit: &'static str,
    /// The condition that the table names; empty if it names none.
    pub condition: &'static str,
    pub source: &'static str,
    pub doc: &'static str,
}

impl ParamText {
    /// Returns the documentation of a parameter that may have any value of its type, with the default still missing.
    fn info(&self) -> ParamInfo {
        ParamInfo {
            name: self.name,
            kind: self.kind,
            unit: if self.unit.is_empty() { self.own_unit } else { self.unit },
            default: String::new(),
            in_variants: Vec::new(),
            range: match self.limits {
                Some(Limits { inside: [lowest, highest], .. }) => format!("{lowest} to {highest}"),
                None if self.kind.contains('|') => self.kind.into(),
                None => format!("any {}", self.kind),
            },
            condition: self.condition,
            edges: self.limits.map_or_else(Edges::default, |limits| Edges {
                inside: limits.inside.map(String::from).into(),
                outside: limits.outside.map(String::from).into(),
            }),
            source: self.source,
            doc: self.doc.trim().to_string(),
        }
    }
}

impl ParamInfo {
    /// Returns the allowed values with the condition: `1 to 10000, at least alpha`.
    pub fn allowed(&self) -> String {
        match self.condition {
            "" => self.range.clone(),
            condition => format!("{}, {condition}", self.range),
        }
    }

    /// Returns the default of this parameter in `variant`; in no variant for `None`.
    pub fn default_in(&self, variant: Option<&str>) -> &str {
        let set = self.in_variants.iter().find(|(name, _)| Some(*name) == variant);
        set.map_or(&self.default, |(_, default)| default)
    }
}

/// Returns the documentation of a table of parameters: [`crate::Params::infos`], compiled once for all tables. `shown` returns the
/// values of a variant.
pub(super) fn documented(
    texts: &[ParamText],
    ranges: fn(&mut dyn FnMut(&'static str, String, Edges)),
    defaults: Vec<String>,
    variants: &[Variant],
    kind: &'static str,
    shown: &dyn Fn(&str) -> Option<Vec<String>>,
) -> Vec<ParamInfo> {
    let mut infos: Vec<ParamInfo> = texts.iter().map(ParamText::info).collect();
    ranges(&mut |name, range, edges| {
        if let Some(info) = infos.iter_mut().find(|info| info.name == name) {
            (info.range, info.edges) = (range, edges);
        }
    });
    for variant in variants {
        let values = shown(variant.name).into_iter().flatten();
        for ((info, value), default) in infos.iter_mut().zip(values).zip(&defaults) {
            if value != *default {
                info.in_variants.push((variant.name, value));
            }
        }
    }
    for (info, default) in infos.iter_mut().zip(defaults) {
        info.default = default;
    }
    with_variant(infos, variants, kind)
}

/// Puts [`VARIANT`] before the parameters, if there are variants. Its documentation lists what each
/// variant sets.
fn with_variant(
    mut infos: Vec<ParamInfo>,
    variants: &[Variant],
    kind: &'static str,
) -> Vec<ParamInfo> {
    let Some(first) = variants.first() else { return infos };
    let about = variants.iter().map(|variant| {
        let set = infos.iter().filter_map(|info| {
            let (_, value) = info.in_variants.iter().find(|(name, _)| *name == variant.name)?;
            Some(format!("`{}={value}`", info.name))
        });
        let set: Vec<String> = set.collect();
        let doc = variant.doc.trim().trim_end_matches('.');
        let set = if set.is_empty() { String::new() } else { format!(": {}", set.join(", ")) };
        format!(" `{}`: {doc}{set}.", variant.name)
    });
    let doc = format!("Sets the defaults of the other parameters.{}", about.collect::<String>());
    let variant = ParamInfo {
        name: VARIANT,
        kind,
        unit: NO_UNIT,
        default: first.name.to_string(),
        in_variants: Vec::new(),
        range: kind.into(),
        condition: "",
        edges: Edges::default(),
        source: "each variant's, as its meaning names it",
        doc,
    };
    infos.insert(0, variant);
    infos
}
