//! The table of queues. A queue of this crate is a file in this folder and a line in `BUILTIN`;
//! users add their queues to their own table.

use std::borrow::Cow;
use std::sync::Arc;

use paceline_cc::params::ParamInfo;
use paceline_cc::registry::{Entry, Registry, find};
use paceline_cc::{Spec, SpecError, Stream};

use super::{
    Limit, Queue, abc_dual, codel, drophead, dualpi2, fifo, fq, infinite, pie, policer, red,
};

/// The result of building a queue.
pub type Built = Result<Box<dyn Queue>, SpecError>;

/// The queues of this crate.
static BUILTIN: &[QueueEntry] = &[
    fifo::QUEUE,
    drophead::QUEUE,
    infinite::QUEUE,
    policer::QUEUE,
    codel::QUEUE,
    codel::mahimahi::QUEUE,
    fq::fq_codel::QUEUE,
    fq::sfq_codel::QUEUE,
    pie::QUEUE,
    pie::mahimahi::QUEUE,
    red::QUEUE,
    red::step::QUEUE,
    dualpi2::QUEUE,
    abc_dual::QUEUE,
];

/// Names of queues in Linux' `tc`, ns-3 and papers, for messages: `(theirs, ours)`.
const KNOWN_ELSEWHERE: [(&str, &str); 21] = [
    ("fifo", "droptail"),
    ("pfifo", "droptail"),
    ("bfifo", "droptail"),
    ("pfifo_fast", "droptail"),
    ("taildrop", "droptail"),
    ("tail-drop", "droptail"),
    ("drop-tail", "droptail"),
    ("droptailqueue", "droptail"),
    ("head-drop", "drophead"),
    ("fq", "fq_codel"),
    ("sfq", "fq_codel"),
    ("cake", "fq_codel"),
    ("fqcodel", "fq_codel"),
    ("fqcodelqueuedisc", "fq_codel"),
    ("codelqueuedisc", "codel"),
    ("piequeuedisc", "pie"),
    ("redqueuedisc", "red"),
    ("tbf", "policer"),
    ("threshold", "step"),
    ("dualq", "dualpi2"),
    ("l4s", "dualpi2"),
];

type PlainBuild = fn(&Spec, Limit, Stream) -> Built;
type SharedBuild = dyn Fn(&Spec, Limit, Stream) -> Built + Send + Sync;

/// A line of [`Queues`]: a queue of this crate or of the caller.
#[derive(Clone)]
pub struct QueueEntry {
    /// Its name for users.
    pub name: Cow<'static, str>,
    /// What it does, in one sentence.
    pub summary: Cow<'static, str>,
    /// The paper, RFC or file that it comes from.
    pub source: Cow<'static, str>,
    params: fn() -> Vec<ParamInfo>,
    build: Build,
}

/// A plain function, which can be a constant, or a closure with data.
#[derive(Clone)]
enum Build {
    Plain(PlainBuild),
    Shared(Arc<SharedBuild>),
}

impl QueueEntry {
    /// Creates an entry for the caller's queue. `build` receives the user's text, the buffer's
    /// limit, and the queue's own random stream. It reads parameters, if the queue has any, with
    /// [`Spec::params`]. The queue must not use other random numbers, or runs would not repeat.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        build: impl Fn(&Spec, Limit, Stream) -> Built + Send + Sync + 'static,
    ) -> QueueEntry {
        QueueEntry {
            name: name.into(),
            summary: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
            params: Vec::new,
            build: Build::Shared(Arc::new(build)),
        }
    }

    /// Creates an entry for a queue of this crate.
    pub(super) const fn builtin(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
        params: fn() -> Vec<ParamInfo>,
        build: PlainBuild,
    ) -> QueueEntry {
        QueueEntry {
            name: Cow::Borrowed(name),
            summary: Cow::Borrowed(summary),
            source: Cow::Borrowed(source),
            params,
            build: Build::Plain(build),
        }
    }

    /// Sets the sentence that says what the queue does.
    pub fn summary(mut self, summary: impl Into<Cow<'static, str>>) -> QueueEntry {
        self.summary = summary.into();
        self
    }

    /// Sets the paper, RFC or file that the queue comes from.
    pub fn source(mut self, source: impl Into<Cow<'static, str>>) -> QueueEntry {
        self.source = source.into();
        self
    }

    /// Sets the documentation of its parameters: `infos` of a struct made with
    /// [`paceline_cc::params!`].
    pub fn documented(mut self, params: fn() -> Vec<ParamInfo>) -> QueueEntry {
        self.params = params;
        self
    }

    /// Returns its parameters with their defaults.
    pub fn params(&self) -> Vec<ParamInfo> {
        (self.params)()
    }

    /// Builds the queue with the parameters that `spec` sets. All its random numbers come from
    /// `stream`, whose key should be the run's seed and the link's name.
    ///
    /// # Errors
    /// A parameter is unknown, or a value is invalid.
    pub fn build(&self, spec: &Spec, limit: Limit, stream: Stream) -> Built {
        match &self.build {
            Build::Plain(build) => build(spec, limit, stream),
            Build::Shared(build) => build(spec, limit, stream),
        }
    }

    /// Checks that the queue can be built with the parameters that `spec` sets.
    ///
    /// # Errors
    /// Those of [`QueueEntry::build`].
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        self.build(spec, Limit::NONE, Stream::new(0, "unused")).map(drop)
    }
}

impl Entry for QueueEntry {
    const KIND: &'static str = "queue";
    fn name(&self) -> &str {
        &self.name
    }
    fn known_elsewhere(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase();
        KNOWN_ELSEWHERE.iter().find(|(theirs, _)| *theirs == name).map(|&(_, ours)| ours)
    }
}

impl std::fmt::Debug for QueueEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Queues by name: those of this crate, and those that users add.
pub type Queues = Registry<QueueEntry>;

/// Returns the queues of this crate, as a table to which users can add theirs.
pub fn builtin() -> Queues {
    Registry::of(BUILTIN.iter().cloned())
}

/// Builds the queue of this crate that `spec` names: see [`QueueEntry::build`].
///
/// # Errors
/// The name or a parameter is unknown, or a value is invalid.
pub fn build(spec: &Spec, limit: Limit, stream: Stream) -> Built {
    find(BUILTIN, &spec.name)?.build(spec, limit, stream)
}

/// Checks that the queue of this crate that `spec` names can be built.
///
/// # Errors
/// Those of [`build`].
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    find(BUILTIN, &spec.name)?.check(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::stream;

    fn try_build(text: &str) -> Built {
        build(&Spec::parse(text)?, Limit::NONE, stream())
    }

    #[test]
    fn every_queue_builds_with_its_defaults_written_out() {
        for queue in &builtin() {
            let params = queue.params();
            let written: Vec<_> =
                params.iter().map(|info| format!("{}={}", info.name, info.default)).collect();
            let text = format!("{}[{}]", queue.name, written.join(","));
            assert!(try_build(&text).is_ok(), "{text}");
            assert!(params.iter().all(|info| !info.doc.is_empty()));
        }
    }

    #[test]
    fn names_of_others_stand_for_queues_that_are_here() {
        let queues = builtin();
        for (theirs, ours) in KNOWN_ELSEWHERE {
            assert!(queues.get(theirs).is_none() && queues.get(ours).is_some(), "{theirs} {ours}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message("codle").contains("did you mean `codel`"));
        assert!(message("pfifo").contains("did you mean `droptail`"));
        assert!(message("codel[target=5]").contains("5ms"));
        assert!(message("codel[interval=0s]").contains("interval"));
        assert!(message("droptail[target=5ms]").contains("no parameter"));
    }

    #[test]
    fn users_add_queues_to_those_of_this_crate() {
        let mut queues = builtin();
        let named = |name: &'static str| {
            QueueEntry::new(name, |_, limit, _| Ok(Box::new(fifo::Fifo::new(limit))))
        };
        assert!(queues.add(named("pie")).is_err());
        assert!(queues.add(named("a b")).is_err());
        assert_eq!(queues.add(named("mine")), Ok(()));
        let spec = Spec::parse("mine").expect("legal");
        assert!(queues.find("mine").is_ok_and(|queue| queue.check(&spec).is_ok()));
        assert!(queues.add(named("mine")).is_err());
        let near = queues.find("mien").err().map(|error| error.to_string());
        assert!(
            near.is_some_and(|error| error.contains("unknown queue `mien` (did you mean `mine`"))
        );
    }
}
