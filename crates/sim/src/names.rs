//! What scenarios may call by name: schemes and queues, those that are built in and those of users.

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

/// The schemes and queues that scenarios may name. `Names::default()` has those that are built in;
/// [`Schemes`] or [`Queues`] to which a user has added convert into one with `into()`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Names {
    /// Schemes: controllers, receivers and routers.
    pub schemes: Schemes,
    /// Queues.
    pub queues: Queues,
    /// Families of transports that come whole, such as `linux:`.
    pub transports: Transports,
}

/// Makes a transport from the text behind the family's prefix; says what is wrong with it if it cannot.
pub type ReadTransport = Arc<dyn Fn(&str) -> Result<CustomTransport, String> + Send + Sync>;

/// Families of transports that come whole: `linux:cubic` is `cubic` of the family `linux`.
#[derive(Clone, Default)]
pub struct Transports(Vec<(String, ReadTransport)>);

impl Transports {
    /// Adds a family. It replaces one of the same prefix.
    pub fn set(
        &mut self,
        prefix: &str,
        read: impl Fn(&str) -> Result<CustomTransport, String> + Send + Sync + 'static,
    ) {
        self.0.retain(|(other, _)| other != prefix);
        self.0.push((prefix.to_string(), Arc::new(read)));
    }

    /// Returns true if there is a family with this prefix.
    pub fn has(&self, prefix: &str) -> bool {
        self.0.iter().any(|(family, _)| family == prefix)
    }

    /// The transport that is written as `prefix:rest`; `None` if no family has the prefix.
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
    /// These schemes and queues.
    pub fn new(schemes: Schemes, queues: Queues) -> Names {
        Names { schemes, queues, transports: Transports::default() }
    }

    /// Reads a scheme, perhaps with its queue, or a transport of one of the families, and makes sure that
    /// scheme and queue can be built.
    ///
    /// # Errors
    /// As of [`Names::check_scheme`]; what the family says of its transport.
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

    /// Reads a scheme, perhaps with its queue, and makes sure that both can be built.
    ///
    /// # Errors
    /// Text that is no scheme, an unknown name or parameter, a value that does not fit.
    pub fn check_scheme(&self, text: &str) -> Result<SchemeSpec, SpecError> {
        let spec = SchemeSpec::parse(text)?;
        self.build_scheme(&spec.sender)?;
        if let Some(queue) = &spec.queue {
            self.check_queue(queue)?;
        }
        Ok(spec)
    }

    /// Makes the scheme that `spec` names, with its parameters set.
    ///
    /// # Errors
    /// An unknown name or parameter, or a value that does not fit.
    pub fn build_scheme(&self, spec: &Spec) -> Result<Halves, SpecError> {
        self.schemes.find(&spec.name)?.build(spec)
    }

    /// Returns whether the queue that `spec` names can be made.
    ///
    /// # Errors
    /// An unknown name or parameter, or a value that does not fit.
    pub fn check_queue(&self, spec: &Spec) -> Result<(), SpecError> {
        self.queues.find(&spec.name)?.check(spec)
    }

    /// A scheme without the parameters that have their defaults anyway, for labels:
    /// `cubic+codel[interval=100ms]` is `cubic+codel`.
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

/// Leaves out what the variant that `spec` names, or the default one, sets anyway.
fn drop_defaults(spec: &mut Spec, infos: &[ParamInfo]) {
    let variant = spec.variant().map(str::to_string);
    spec.args.retain(|(name, value)| {
        let info = infos.iter().find(|info| info.name == name);
        !info.is_some_and(|info| same_value(info.default_in(variant.as_deref()), value))
    });
}

/// True if two ways to write a parameter mean the same: `100ms` and `0.1s`.
fn same_value(one: &str, other: &str) -> bool {
    let spans = (Span::read(one), Span::read(other));
    let rates = (Rate::read(one), Rate::read(other));
    let numbers = (f64::read(one), f64::read(other));
    one == other
        || matches!(spans, (Ok(a), Ok(b)) if a == b)
        || matches!(rates, (Ok(a), Ok(b)) if a == b)
        || matches!(numbers, (Ok(a), Ok(b)) if a == b)
}

/// Reads `sender[param=value,...]+queue[...]` and makes sure that it is built in and fits.
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

/// What builds by name: the names of a user, or those that are built in, which need no table.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a>(pub(crate) Option<&'a Names>);

impl Lookup<'_> {
    pub(crate) fn scheme(self, spec: &Spec) -> Result<Halves, SpecError> {
        match self.0 {
            Some(names) => names.build_scheme(spec),
            None => registry::build(spec),
        }
    }

    pub(crate) fn queue(
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
    fn settings_for_bulk_data_can_be_had() {
        for scheme in paceline_schemes::SCHEMES {
            let Some(setting) = scheme.bulk else { continue };
            assert!(Names::default().check_scheme(setting.spec).is_ok(), "{}", setting.spec);
        }
    }
}
