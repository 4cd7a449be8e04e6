//! Schemes and queues that scenarios can name: built-in ones and those of users.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use paceline_cc::{
    Halves, ParamInfo, ParamValue as _, Rate, SchemeSpec, Span, Spec, SpecError, Stream,
};
use paceline_path::queue::{self, Queues};
use paceline_path::{Limit, Queue};
use paceline_schemes::{Schemes, registry};

use crate::scenario::SchemeChoice;
use crate::transport::CustomTransport;

/// The schemes and queues that scenarios can name. `Names::default()` has the built-in ones; a
/// [`Schemes`] or [`Queues`] with additions of a user converts into `Names` with `into()`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Names {
    /// Schemes: controllers, receivers and routers.
    pub schemes: Schemes,
    /// Queues.
    pub queues: Queues,
    /// Families of complete transports, such as `linux:`.
    pub transports: Transports,
    /// Other texts for schemes, such as the file that has them.
    pub aliases: Aliases,
}

/// Other texts for schemes: `./mine.py` for the schemes of that file. Parameters and a queue may follow, as after a name.
#[derive(Clone, Debug, Default)]
pub struct Aliases(Vec<(String, Vec<String>)>);

impl Aliases {
    /// Adds a text for these schemes, replacing the one with the same text.
    pub fn set(&mut self, text: &str, schemes: Vec<String>) {
        self.0.retain(|(known, _)| known != text);
        self.0.push((text.to_string(), schemes));
    }

    /// Returns the schemes for which a text begins with an alias, and the rest of the text; `None` without an alias.
    fn find<'a>(&self, text: &'a str) -> Option<(&[String], &'a str)> {
        self.0.iter().find_map(|(known, schemes)| {
            let rest = text.trim().strip_prefix(known.as_str())?;
            (rest.is_empty() || rest.starts_with(['[', '+'])).then_some((&schemes[..], rest))
        })
    }
}

/// Makes a transport from the text after the family's prefix, or returns the error in that text.
pub type ReadTransport = Arc<dyn Fn(&str) -> Result<CustomTransport, String> + Send + Sync>;

/// Families of complete transports: `linux:cubic` is `cubic` of the family `linux`.
#[derive(Clone, Default)]
pub struct Transports(Vec<(String, ReadTransport)>);

impl Transports {
    /// Adds a family, replacing one with the same prefix.
    pub fn set(
        &mut self,
        prefix: &str,
        read: impl Fn(&str) -> Result<CustomTransport, String> + Send + Sync + 'static,
    ) {
        self.0.retain(|(other, _)| other != prefix);
        self.0.push((prefix.to_string(), Arc::new(read)));
    }

    /// Returns true if a family has this prefix.
    pub fn has(&self, prefix: &str) -> bool {
        self.0.iter().any(|(family, _)| family == prefix)
    }

    /// Reads a transport written as `prefix:rest`; `None` if no family has the prefix.
    fn read(&self, text: &str) -> Option<Result<CustomTransport, SpecError>> {
        let (prefix, rest) = text.split_once(':')?;
        let (_, read) = self.0.iter().find(|(family, _)| family == prefix.trim())?;
        let syntax = |problem| SpecError::Syntax { text: text.to_string(), problem };
        Some(read(rest.trim()).map(CustomTransport::with_name).map_err(syntax))
    }
}

impl fmt::Debug for Transports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(prefix, _)| prefix)).finish()
    }
}

impl Names {
    /// Creates names from these schemes and queues.
    pub fn new(schemes: Schemes, queues: Queues) -> Names {
        let (transports, aliases) = (Transports::default(), Aliases::default());
        Names { schemes, queues, transports, aliases }
    }

    /// Returns the schemes for which a text stands: several for an alias of several schemes, else one.
    pub fn expand(&self, text: &str) -> Vec<String> {
        match self.aliases.find(text) {
            Some((schemes, rest)) => schemes.iter().map(|name| format!("{name}{rest}")).collect(),
            None => vec![text.to_string()],
        }
    }

    /// Reads a scheme, optionally with a queue, or a transport of a family, and checks that scheme
    /// and queue can be built.
    ///
    /// # Errors
    /// Those of [`Names::check_scheme`], or the family's error about its transport.
    pub fn read_scheme(&self, text: &str) -> Result<SchemeChoice, SpecError> {
        let Some(made) = self.transports.read(text.trim()) else {
            return self.check_scheme(text).map(SchemeChoice::Named);
        };
        let made = made?;
        if let Some(queue) = made.queue() {
            self.check_queue(queue)?;
        }
        Ok(made.into())
    }

    /// Reads a scheme, optionally with a queue, and checks that both can be built.
    ///
    /// # Errors
    /// The text is not a scheme, a name or parameter is unknown, or a value is invalid.
    pub fn check_scheme(&self, text: &str) -> Result<SchemeSpec, SpecError> {
        let mut all = self.expand(text);
        let name = match (all.pop(), all.is_empty()) {
            (Some(name), true) => name,
            (last, _) => {
                all.extend(last);
                let problem = format!("expected one scheme; there are {}", all.join(", "));
                return Err(SpecError::Syntax { text: text.to_string(), problem });
            }
        };
        let spec = SchemeSpec::parse(&name)?;
        self.build_scheme(&spec.sender)?;
        if let Some(queue) = &spec.queue {
            self.check_queue(queue)?;
        }
        Ok(spec)
    }

    /// Builds the scheme that `spec` names, with its parameters set.
    ///
    /// # Errors
    /// A name or parameter is unknown, or a value is invalid.
    pub fn build_scheme(&self, spec: &Spec) -> Result<Halves, SpecError> {
        let found = self.schemes.find(&spec.name).map_err(|error| {
            let is_queue = self.queues.get(&spec.name).is_some();
            let queue =
                || format!("it is a queue, which stands behind a scheme: `cubic+{}`", spec.name);
            error.with_instead(is_queue.then(queue))
        })?;
        found.build(spec)
    }

    /// Checks that the queue that `spec` names can be built.
    ///
    /// # Errors
    /// A name or parameter is unknown, or a value is invalid.
    pub fn check_queue(&self, spec: &Spec) -> Result<(), SpecError> {
        let found = self.queues.find(&spec.name).map_err(|error| {
            let is_scheme = self.schemes.get(&spec.name).is_some();
            let scheme = || "it is a scheme, which stands before the `+`".to_string();
            let elsewhere = || paceline_schemes::instead_of(&spec.name);
            error.with_instead(is_scheme.then(scheme).or_else(elsewhere))
        })?;
        found.check(spec)
    }

    /// Returns a scheme without parameters that have their default values, for labels:
    /// `cubic+codel[interval=100ms]` becomes `cubic+codel`.
    pub fn without_defaults(&self, spec: &SchemeSpec) -> SchemeSpec {
        let mut short = spec.clone();
        if let Some(scheme) = self.schemes.get(&spec.sender.name) {
            drop_defaults(&mut short.sender, &scheme.params());
        }
        if let Some(queue) = &mut short.queue
            && let Some(info) = self.queues.get(&queue.name)
        {
            drop_defaults(queue, &info.params());
        }
        short
    }
}

/// Removes the parameters whose values the variant named by `spec`, or the default variant, also
/// sets.
fn drop_defaults(spec: &mut Spec, infos: &[ParamInfo]) {
    let variant = spec.variant().map(str::to_string);
    spec.args.retain(|(name, value)| {
        let info = infos.iter().find(|info| info.name == name);
        !info.is_some_and(|info| same_value(info.default_in(variant.as_deref()), value))
    });
}

/// Returns true if two notations of a parameter have the same value: `100ms` and `0.1s`.
fn same_value(one: &str, other: &str) -> bool {
    let spans = (Span::read(one), Span::read(other));
    let rates = (Rate::read(one), Rate::read(other));
    let numbers = (f64::read(one), f64::read(other));
    one == other
        || matches!(spans, (Ok(a), Ok(b)) if a == b)
        || matches!(rates, (Ok(a), Ok(b)) if a == b)
        || matches!(numbers, (Ok(a), Ok(b)) if a == b)
}

/// Reads `sender[param=value,...]+queue[...]`, and checks that it is built in and valid.
impl FromStr for SchemeChoice {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<SchemeChoice, SpecError> {
        Names::default().check_scheme(text).map(SchemeChoice::Named)
    }
}

impl Default for Names {
    fn default() -> Names {
        Names::new(registry::builtin(), queue::builtin())
    }
}

impl From<Schemes> for Names {
    fn from(schemes: Schemes) -> Names {
        Names::new(schemes, queue::builtin())
    }
}

impl From<Queues> for Names {
    fn from(queues: Queues) -> Names {
        Names::new(registry::builtin(), queues)
    }
}

/// Builds by name: with a user's names, or with the built-in ones, which need no table.
#[derive(Clone, Copy)]
pub struct Lookup<'a>(pub Option<&'a Names>);

impl Lookup<'_> {
    /// Builds a scheme.
    ///
    /// # Errors
    /// Its name or a parameter is unknown.
    pub fn scheme(self, spec: &Spec) -> Result<Halves, SpecError> {
        match self.0 {
            Some(names) => names.build_scheme(spec),
            None => registry::build(spec),
        }
    }

    /// Builds a queue.
    ///
    /// # Errors
    /// Its name or a parameter is unknown.
    pub fn queue(
        self,
        spec: &Spec,
        limit: Limit,
        stream: Stream,
    ) -> Result<Box<dyn Queue>, SpecError> {
        match self.0 {
            Some(names) => names.queues.find(&spec.name)?.build(spec, limit, stream),
            None => queue::build(spec, limit, stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_leave_defaults_out() {
        let names = Names::default();
        for (written, short) in [
            ("cubic+codel[target=50ms,interval=0.1s]", "cubic+codel[target=50ms]"),
            ("abc[eta=0.98]", "abc"),
            ("abc[eta=98%,dt=60ms]", "abc[dt=60ms]"),
            ("c2tcp[target=2rtt]+codel[interval=100ms]", "c2tcp+codel"),
            ("copa[variant=authors,velocity=authors]", "copa"),
            ("copa[variant=paper,velocity=authors]", "copa[variant=paper,velocity=authors]"),
            ("copa[variant=paper,velocity=paper]", "copa[variant=paper]"),
        ] {
            let spec = names.check_scheme(written).expect("legal");
            assert_eq!(names.without_defaults(&spec).to_string(), short);
        }
    }

    #[test]
    fn names_in_the_wrong_place_or_of_others_say_what_to_write() {
        let names = Names::default();
        let refused = |text| names.check_scheme(text).expect_err(text).to_string();
        assert!(refused("droptail").contains("`cubic+droptail`"), "{}", refused("droptail"));
        assert!(refused("cubic+abc").contains("before the `+`"), "{}", refused("cubic+abc"));
        for text in ["htcp", "cubic+htcp"] {
            assert!(refused(text).contains("`linux:htcp`"), "{}", refused(text));
        }
        assert!(refused("copa,bbr").contains("one scheme"), "{}", refused("copa,bbr"));
    }

    #[test]
    fn settings_for_bulk_data_can_be_had() {
        for scheme in paceline_schemes::SCHEMES {
            let Some(setting) = scheme.bulk else { continue };
            assert!(Names::default().check_scheme(setting.spec).is_ok(), "{}", setting.spec);
        }
    }
}
