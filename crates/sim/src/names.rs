//! What scenarios may call by name: schemes and queues, those that are built in and those of users.

use paceline_cc::{Halves, Registry, SchemeSpec, Spec, SpecError, Stream};
use paceline_path::queue::Queues;
use paceline_path::{Limit, Queue};

/// The schemes and queues that scenarios may name. `Names::default()` has those that are built in;
/// a [`Registry`] or [`Queues`] to which a user has added converts into one with `into()`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Names {
    /// Schemes: controllers, receivers and routers.
    pub schemes: Registry,
    /// Queues.
    pub queues: Queues,
}

impl Names {
    /// These schemes and queues.
    pub fn new(schemes: Registry, queues: Queues) -> Names {
        Names { schemes, queues }
    }

    /// Reads a scheme, perhaps with its queue, and makes sure that both can be built.
    ///
    /// # Errors
    /// Text that is no scheme, an unknown name or parameter, a value that does not fit.
    pub fn check_scheme(&self, text: &str) -> Result<SchemeSpec, SpecError> {
        let spec = SchemeSpec::parse(text)?;
        self.schemes.build(&spec.sender)?;
        if let Some(queue) = &spec.queue {
            self.queues.check(queue)?;
        }
        Ok(spec)
    }
}

impl From<Registry> for Names {
    fn from(schemes: Registry) -> Names {
        Names { schemes, queues: Queues::builtin() }
    }
}

impl From<Queues> for Names {
    fn from(queues: Queues) -> Names {
        Names { schemes: Registry::builtin(), queues }
    }
}

/// What builds by name: the names of a user, or those that are built in, which need no table.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a>(pub(crate) Option<&'a Names>);

impl Lookup<'_> {
    pub(crate) fn scheme(self, spec: &Spec) -> Result<Halves, SpecError> {
        match self.0 {
            Some(names) => names.schemes.build(spec),
            None => paceline_cc::registry::build(spec),
        }
    }

    pub(crate) fn queue(
        self,
        spec: &Spec,
        limit: Limit,
        stream: Stream,
    ) -> Result<Box<dyn Queue>, SpecError> {
        match self.0 {
            Some(names) => names.queues.build(spec, limit, stream),
            None => paceline_path::queue::build(spec, limit, stream),
        }
    }
}
