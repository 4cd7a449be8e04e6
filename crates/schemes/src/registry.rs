//! The table of schemes that are built in, and registries, to which anyone can add more.

use std::borrow::Cow;
use std::sync::Arc;

use thiserror::Error;

use paceline_cc::{Halves, ParamInfo, Spec, SpecError, spec::nearest};

use crate::host_pacing;
use crate::scheme::Scheme;

/// Every scheme that is built in, by name. A scheme is a folder and a line here.
pub static SCHEMES: &[Scheme] = &[
    crate::abc::SCHEME,
    crate::bbr3::SCHEME,
    crate::bbr::SCHEME,
    crate::c2tcp::SCHEME,
    crate::compound::SCHEME,
    crate::copa::SCHEME,
    crate::cubic::SCHEME,
    crate::dctcp::SCHEME,
    crate::gcc::SCHEME,
    crate::ledbat::SCHEME,
    crate::newreno::SCHEME,
    crate::prague::SCHEME,
    crate::rcp::SCHEME,
    crate::remy::SCHEME,
    crate::sprout::SCHEME,
    crate::sprout_ewma::SCHEME,
    crate::vcp::SCHEME,
    crate::vegas::SCHEME,
    crate::verus::SCHEME,
    crate::vivace::SCHEME,
    crate::xcp::SCHEME,
    crate::xcpb::SCHEME,
    crate::xcpw::SCHEME,
];

/// Makes a scheme from what the user wrote.
pub type BuildScheme = Arc<dyn Fn(&Spec) -> Result<Halves, SpecError> + Send + Sync>;

/// A line of a [`Registry`]: a built-in scheme, or one that somebody brings.
#[derive(Clone)]
pub struct SchemeEntry {
    /// The name by which users call it.
    pub name: Cow<'static, str>,
    /// What it does, in one sentence.
    pub summary: Cow<'static, str>,
    /// The paper, RFC or file that it comes from.
    pub source: Cow<'static, str>,
    params: Vec<ParamInfo>,
    build: Build,
}

#[derive(Clone)]
enum Build {
    BuiltIn(&'static Scheme),
    Own(BuildScheme),
}

impl SchemeEntry {
    /// A scheme of the caller's. `build` gets what the user wrote, and reads its parameters with
    /// [`Spec::params`] if it has any.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        build: impl Fn(&Spec) -> Result<Halves, SpecError> + Send + Sync + 'static,
    ) -> SchemeEntry {
        SchemeEntry {
            name: name.into(),
            summary: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
            params: Vec::new(),
            build: Build::Own(Arc::new(build)),
        }
    }

    /// The same with a sentence that says what it does.
    pub fn summary(mut self, summary: impl Into<Cow<'static, str>>) -> SchemeEntry {
        self.summary = summary.into();
        self
    }

    /// The same with where it comes from.
    pub fn source(mut self, source: impl Into<Cow<'static, str>>) -> SchemeEntry {
        self.source = source.into();
        self
    }

    /// The same with the documentation of its parameters.
    pub fn documented(mut self, params: Vec<ParamInfo>) -> SchemeEntry {
        self.params = params;
        self
    }

    /// Its parameters with their defaults.
    pub fn params(&self) -> Vec<ParamInfo> {
        match &self.build {
            Build::BuiltIn(scheme) => (scheme.params)(),
            Build::Own(_) => self.params.clone(),
        }
    }

    /// The scheme with the parameters that `spec` sets.
    ///
    /// # Errors
    /// An unknown parameter, or a value that does not fit.
    pub fn build(&self, spec: &Spec) -> Result<Halves, SpecError> {
        on_host(spec, |spec| match &self.build {
            Build::BuiltIn(scheme) => (scheme.build)(spec),
            Build::Own(build) => build(spec),
        })
    }
}

impl From<&'static Scheme> for SchemeEntry {
    fn from(scheme: &'static Scheme) -> SchemeEntry {
        SchemeEntry {
            name: Cow::Borrowed(scheme.name),
            summary: Cow::Borrowed(scheme.summary),
            source: Cow::Borrowed(scheme.source),
            params: Vec::new(),
            build: Build::BuiltIn(scheme),
        }
    }
}

impl std::fmt::Debug for SchemeEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SchemeEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A registry has a scheme of this name already.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is a scheme `{name}` already; add yours by another name")]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

/// Schemes by name: those that are built in, and what is added to them.
///
/// ```
/// use paceline_cc::Spec;
/// use paceline_schemes::{Registry, SchemeEntry};
///
/// let mut registry = Registry::builtin();
/// // Cubic without its early end of slow start, by a name of its own.
/// let calm = SchemeEntry::new("calm", |_| {
///     Registry::builtin().build(&Spec::parse("cubic[hystart=off]")?)
/// });
/// registry.add(calm)?;
/// assert!(registry.build(&Spec::parse("calm")?).is_ok());
/// assert!(registry.build(&Spec::parse("clam")?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Vec<SchemeEntry>,
}

impl Registry {
    /// The built-in schemes, in the order of [`SCHEMES`].
    pub fn builtin() -> Registry {
        Registry { entries: SCHEMES.iter().map(SchemeEntry::from).collect() }
    }

    /// No schemes.
    pub fn empty() -> Registry {
        Registry { entries: Vec::new() }
    }

    /// Adds a scheme.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn add(&mut self, scheme: impl Into<SchemeEntry>) -> Result<(), NameTaken> {
        let scheme = scheme.into();
        if self.find(&scheme.name).is_some() {
            return Err(NameTaken { name: scheme.name.into_owned() });
        }
        self.entries.push(scheme);
        Ok(())
    }

    /// Adds a scheme, in the place of the one of this name if there is one.
    pub fn set(&mut self, scheme: impl Into<SchemeEntry>) {
        let scheme = scheme.into();
        match self.entries.iter_mut().find(|known| known.name == scheme.name) {
            Some(known) => *known = scheme,
            None => self.entries.push(scheme),
        }
    }

    /// The scheme of this name.
    pub fn find(&self, name: &str) -> Option<&SchemeEntry> {
        self.entries.iter().find(|scheme| scheme.name == name)
    }

    /// All schemes, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SchemeEntry> {
        self.entries.iter()
    }

    /// The scheme that `spec` names, with its parameters set.
    ///
    /// # Errors
    /// An unknown name or parameter, or a value that does not fit.
    pub fn build(&self, spec: &Spec) -> Result<Halves, SpecError> {
        match self.find(&spec.name) {
            Some(scheme) => scheme.build(spec),
            None => Err(unknown(spec, self.iter().map(|scheme| &*scheme.name))),
        }
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::builtin()
    }
}

/// The built-in scheme that `spec` names, with its parameters set: [`Registry::build`] without a
/// registry.
///
/// # Errors
/// An unknown name or parameter, or a value that does not fit.
pub fn build(spec: &Spec) -> Result<Halves, SpecError> {
    match SCHEMES.iter().find(|scheme| scheme.name == spec.name) {
        Some(scheme) => on_host(spec, scheme.build),
        None => Err(unknown(spec, SCHEMES.iter().map(|scheme| scheme.name))),
    }
}

/// What `build` makes of the spec, on a host that paces it if the spec says `pacing=linux`.
fn on_host(
    spec: &Spec,
    build: impl Fn(&Spec) -> Result<Halves, SpecError>,
) -> Result<Halves, SpecError> {
    match host_pacing::split(spec) {
        Some(plain) => host_pacing::pace(build(&plain)?, spec),
        None => build(spec),
    }
}

fn unknown<'a>(spec: &Spec, known: impl Iterator<Item = &'a str>) -> SpecError {
    let near = nearest(&spec.name, known);
    SpecError::UnknownName { kind: "scheme", name: spec.name.clone(), near }
}

#[cfg(test)]
mod tests {
    use paceline_cc::SchemeSpec;

    use super::*;

    fn try_build(text: &str) -> Result<Halves, SpecError> {
        build(&SchemeSpec::parse(text)?.sender)
    }

    #[test]
    fn every_scheme_builds_with_its_defaults_written_out() {
        for scheme in SCHEMES {
            let args = (scheme.params)();
            let written: Vec<_> =
                args.iter().map(|info| format!("{}={}", info.name, info.default)).collect();
            let text = format!("{}[{}]", scheme.name, written.join(","));
            assert!(try_build(&text).is_ok(), "{text}");
            assert!(args.iter().all(|info| !info.doc.is_empty()));
        }
    }

    #[test]
    fn variants_build_set_something_and_are_documented() {
        for scheme in SCHEMES {
            let infos = (scheme.params)();
            let Some(variant) = infos.iter().find(|info| info.name == "variant") else { continue };
            let names: Vec<&str> = variant.kind.split('|').collect();
            assert_eq!(variant.default, names[0], "{}", scheme.name);
            assert!(names.len() > 1, "{}", scheme.name);
            for name in &names {
                let text = format!("{}[variant={name}]", scheme.name);
                assert!(try_build(&text).is_ok(), "{text}");
                assert!(variant.doc.contains(&format!("`{name}`")), "{text}");
                let sets = infos.iter().any(|info| info.default != info.default_in(Some(name)));
                assert_eq!(sets, *name != names[0], "{text}: only the first is the default");
            }
        }
    }

    #[test]
    fn mistaken_variants_are_told() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        let unknown = message("copa[variant=papers]");
        assert!(unknown.contains("authors, paper, mvfst (did you mean `paper`?)"), "{unknown}");
        let two = message("copa[variant=paper,variant=mvfst]");
        assert!(two.contains("`variant=paper` is written as well"), "{two}");
        assert_eq!(message("copa[variant=paper,variant=paper]"), "");
        let none = message("verus[variant=paper]");
        assert!(none.contains("`verus` has no parameter `variant`"), "{none}");
    }

    #[test]
    fn switches_override_their_variant_in_any_order() {
        use paceline_cc::Params;

        use crate::copa::{CopaParams, Speed};
        for text in ["copa[variant=paper,velocity=mvfst]", "copa[velocity=mvfst,variant=paper]"] {
            let spec = Spec::parse(text).expect(text);
            let paper = CopaParams::variant("paper").expect("a variant");
            assert_eq!(spec.params(), Ok(CopaParams { velocity: Speed::Mvfst, ..paper }));
        }
    }

    #[test]
    fn no_two_schemes_look_alike() {
        for (at, one) in SCHEMES.iter().enumerate() {
            for other in &SCHEMES[at + 1..] {
                let (a, b) = (one.plot_style, other.plot_style);
                let names = (one.name, other.name);
                assert!((a.hue, a.dash) != (b.hue, b.dash), "lines of {names:?}");
                assert!((a.hue, a.shape) != (b.hue, b.shape), "points of {names:?}");
                assert!((a.dash, a.shape) != (b.dash, b.shape), "{names:?} without colours");
                assert!(a.dash != crate::Dash::DashDot, "{names:?}: this dash is for variants");
            }
        }
    }

    #[test]
    fn settings_for_bulk_data_build_and_say_why() {
        for scheme in SCHEMES {
            let Some(setting) = scheme.bulk else { continue };
            assert!(try_build(setting.spec).is_ok(), "{}", setting.spec);
            let more = setting.spec.strip_prefix(scheme.name);
            assert!(more.is_some_and(|more| !more.is_empty()) && !setting.reason.is_empty());
        }
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message("cubci").contains("did you mean `cubic`"));
        assert!(message("abc[etta=1]").contains("did you mean `eta`"));
        assert!(message("abc[eta=two]").contains("abc[eta=two]"));
    }

    #[test]
    fn registries_keep_the_order_and_refuse_taken_names() {
        let mut registry = Registry::builtin();
        let mine = || SchemeEntry::new(String::from("mine"), |_| try_build("newreno"));
        assert_eq!(registry.add(mine().summary("NewReno").source("here")), Ok(()));
        assert_eq!(registry.add(mine()), Err(NameTaken { name: "mine".into() }));
        let taken = SchemeEntry::new("cubic", |_| try_build("newreno"));
        assert!(registry.add(taken).is_err_and(|error| error.to_string().contains("another name")));
        let names: Vec<&str> = registry.iter().map(|scheme| &*scheme.name).collect();
        assert_eq!(names.len(), SCHEMES.len() + 1);
        assert_eq!((names[0], names[SCHEMES.len()]), (SCHEMES[0].name, "mine"));
        let spec = |text: &str| Spec::parse(text).expect("legal");
        assert!(registry.build(&spec("mine")).is_ok());
        let error = registry.build(&spec("mien")).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("did you mean `mine`")));
        assert!(Registry::empty().build(&spec("cubic")).is_err());
        for scheme in SCHEMES {
            let found = registry.find(scheme.name).expect("built in");
            assert_eq!(found.params(), (scheme.params)());
        }
    }
}
