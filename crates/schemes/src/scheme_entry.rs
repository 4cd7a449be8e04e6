//! Entries of tables of schemes: built-in ones and users' ones.

use std::borrow::Cow;
use std::sync::Arc;

use paceline_cc::registry::Entry;
use paceline_cc::{Halves, ParamInfo, Spec, SpecError};

use crate::elsewhere::instead_of;
use crate::host_pacing;
use crate::scheme::{BulkSetting, Scheme, names_of_halves};

type BuildScheme = dyn Fn(&Spec) -> Result<Halves, SpecError> + Send + Sync;

/// An entry of [`Schemes`](crate::Schemes): a built-in scheme, or one of the user's.
#[derive(Clone)]
pub struct SchemeEntry {
    /// The name by which users call it.
    pub name: Cow<'static, str>,
    /// What it does, in one sentence.
    pub summary: Cow<'static, str>,
    /// The paper, RFC or file that it comes from.
    pub source: Cow<'static, str>,
    /// How it is set in `compare --schemes all`, if it needs more than its name there.
    pub bulk: Option<BulkSetting>,
    params: fn() -> Vec<ParamInfo>,
    build: Build,
}

/// A plain function, which can be part of a constant, or a closure with data.
#[derive(Clone)]
enum Build {
    Plain(fn(&Spec) -> Result<Halves, SpecError>),
    Shared(Arc<BuildScheme>),
}

impl SchemeEntry {
    /// Returns an entry for a user's scheme. `build` gets the spec that was written, and reads its
    /// parameters with [`Spec::params`] if it has any.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        build: impl Fn(&Spec) -> Result<Halves, SpecError> + Send + Sync + 'static,
    ) -> SchemeEntry {
        SchemeEntry {
            name: name.into(),
            summary: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
            bulk: None,
            params: Vec::new,
            build: Build::Shared(Arc::new(build)),
        }
    }

    /// Returns this entry with a sentence that says what the scheme does.
    pub fn summary(mut self, summary: impl Into<Cow<'static, str>>) -> SchemeEntry {
        self.summary = summary.into();
        self
    }

    /// Returns this entry with the scheme's source.
    pub fn source(mut self, source: impl Into<Cow<'static, str>>) -> SchemeEntry {
        self.source = source.into();
        self
    }

    /// Returns this entry with the documentation of its parameters: `infos` of a struct made with
    /// [`paceline_cc::params!`].
    pub fn documented(mut self, params: fn() -> Vec<ParamInfo>) -> SchemeEntry {
        self.params = params;
        self
    }

    /// Returns its parameters with their defaults.
    pub fn params(&self) -> Vec<ParamInfo> {
        (self.params)()
    }

    /// Returns the names of its halves: `sender`, `receiver`, `router`.
    pub fn halves(&self) -> Vec<&'static str> {
        names_of_halves(&self.name, |spec| self.build(spec))
    }

    /// Makes the scheme with the parameters that `spec` sets.
    ///
    /// # Errors
    /// If a parameter is unknown, or a value is wrong.
    pub fn build(&self, spec: &Spec) -> Result<Halves, SpecError> {
        match &self.build {
            Build::Plain(build) => on_host(spec, build),
            Build::Shared(build) => on_host(spec, &**build),
        }
    }
}

impl From<&'static Scheme> for SchemeEntry {
    fn from(scheme: &'static Scheme) -> SchemeEntry {
        SchemeEntry {
            name: Cow::Borrowed(scheme.name),
            summary: Cow::Borrowed(scheme.summary),
            source: Cow::Borrowed(scheme.source),
            bulk: scheme.bulk,
            params: scheme.params,
            build: Build::Plain(scheme.build),
        }
    }
}

impl Entry for SchemeEntry {
    const KIND: &'static str = "scheme";
    fn name(&self) -> &str {
        &self.name
    }
    fn known_elsewhere(name: &str) -> Option<&'static str> {
        known_elsewhere(name)
    }
    fn instead_of(name: &str) -> Option<String> {
        instead_of(name)
    }
}

impl Entry for Scheme {
    const KIND: &'static str = SchemeEntry::KIND;
    fn name(&self) -> &str {
        self.name
    }
    fn known_elsewhere(name: &str) -> Option<&'static str> {
        known_elsewhere(name)
    }
    fn instead_of(name: &str) -> Option<String> {
        instead_of(name)
    }
}

/// Names of schemes in other programs and papers, for messages: `(theirs, ours)`.
pub(crate) const KNOWN_ELSEWHERE: [(&str, &str); 24] = [
    ("reno", "newreno"),
    ("tcp-reno", "newreno"),
    ("bbr1", "bbr"),
    ("bbrv1", "bbr"),
    ("bbr2", "bbr3"),
    ("bbrv2", "bbr3"),
    ("bbrv3", "bbr3"),
    ("pcc", "vivace"),
    ("pcc-vivace", "vivace"),
    ("webrtc", "gcc"),
    ("goog_cc", "gcc"),
    ("l4s", "prague"),
    ("remycc", "remy"),
    ("ctcp", "compound"),
    ("tcp", "cubic"),
    ("tcp-cubic", "cubic"),
    ("tcpcubic", "cubic"),
    ("tcpnewreno", "newreno"),
    ("tcplinuxreno", "newreno"),
    ("tcpbbr", "bbr"),
    ("tcpvegas", "vegas"),
    ("tcpledbat", "ledbat"),
    ("tcpdctcp", "dctcp"),
    ("taova", "remy"),
];

/// Returns our name of the scheme that others call `name`.
pub fn known_elsewhere(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    KNOWN_ELSEWHERE.iter().find(|(theirs, _)| *theirs == name).map(|&(_, ours)| ours)
}

impl std::fmt::Debug for SchemeEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SchemeEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Makes the scheme by `build`, on a host that paces it if the spec has `pacing=linux`.
pub(crate) fn on_host(
    spec: &Spec,
    build: impl Fn(&Spec) -> Result<Halves, SpecError>,
) -> Result<Halves, SpecError> {
    match host_pacing::split(spec) {
        Some(plain) => host_pacing::pace(build(&plain)?, spec),
        None => build(spec),
    }
}
