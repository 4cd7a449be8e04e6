//! The table of queues. A queue of this crate is a file in this folder and a line in `BUILTIN`;
//! users add theirs to a table of their own.

use std::borrow::Cow;
use std::sync::Arc;

use paceline_cc::params::ParamInfo;
use paceline_cc::spec::nearest;
use paceline_cc::{Spec, SpecError, Stream};
use thiserror::Error;

use super::{Limit, Queue, abc_dual, codel, drophead, dualpi2, fifo, fq, infinite, pie, red};

/// What building a queue gives.
pub type Built = Result<Box<dyn Queue>, SpecError>;

/// The queues of this crate.
static BUILTIN: &[QueueInfo] = &[
    fifo::QUEUE,
    drophead::QUEUE,
    infinite::QUEUE,
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

/// A kind of queue: its name, what is told about it, and how one is built.
#[derive(Clone)]
pub struct QueueInfo {
    name: Cow<'static, str>,
    summary: Cow<'static, str>,
    source: Cow<'static, str>,
    params: fn() -> Vec<ParamInfo>,
    build: Builder,
}

type PlainBuilder = fn(&Spec, Limit, Stream) -> Built;
type SharedBuilder = dyn Fn(&Spec, Limit, Stream) -> Built + Send + Sync;

/// A plain function, which can stand in a constant, or one that holds data.
#[derive(Clone)]
enum Builder {
    Plain(PlainBuilder),
    Shared(Arc<SharedBuilder>),
}

impl QueueInfo {
    /// A kind of queue that users call by `name`. `summary` says what it does in one sentence,
    /// `source` names the paper or RFC, and `params` lists its parameters with their defaults:
    /// `infos` of a struct made with [`paceline_cc::params!`], or `Vec::new`.
    ///
    /// `build` makes a queue from what the user wrote, the buffer's limit, and the random stream
    /// that is the queue's own. A queue must draw from no other, or runs do not repeat.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        source: impl Into<Cow<'static, str>>,
        params: fn() -> Vec<ParamInfo>,
        build: impl Fn(&Spec, Limit, Stream) -> Built + Send + Sync + 'static,
    ) -> QueueInfo {
        QueueInfo {
            name: name.into(),
            summary: summary.into(),
            source: source.into(),
            params,
            build: Builder::Shared(Arc::new(build)),
        }
    }

    /// The same for the queues of this crate.
    pub(super) const fn builtin(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
        params: fn() -> Vec<ParamInfo>,
        build: PlainBuilder,
    ) -> QueueInfo {
        QueueInfo {
            name: Cow::Borrowed(name),
            summary: Cow::Borrowed(summary),
            source: Cow::Borrowed(source),
            params,
            build: Builder::Plain(build),
        }
    }

    /// The name by which users call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, in one sentence.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The paper or RFC.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its parameters with their defaults.
    pub fn params(&self) -> Vec<ParamInfo> {
        (self.params)()
    }

    fn build(&self, spec: &Spec, limit: Limit, stream: Stream) -> Built {
        match &self.build {
            Builder::Plain(build) => build(spec, limit, stream),
            Builder::Shared(build) => build(spec, limit, stream),
        }
    }
}

impl std::fmt::Debug for QueueInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a queue cannot be added to a table.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddQueueError {
    /// Another queue has the name.
    #[error("there is a queue called `{0}` already; give yours another name")]
    NameTaken(String),
    /// Users could not write the name.
    #[error("`{0}` is not a name; use letters, digits, `-`, `_` and `.`")]
    IllegalName(String),
}

/// A table of queues by name: those of this crate, and those that users add.
#[derive(Clone, Debug)]
pub struct Queues {
    infos: Vec<QueueInfo>,
}

impl Default for Queues {
    fn default() -> Queues {
        Queues::builtin()
    }
}

impl Queues {
    /// The queues of this crate.
    pub fn builtin() -> Queues {
        Queues { infos: BUILTIN.to_vec() }
    }

    /// Adds a queue.
    ///
    /// # Errors
    /// The name is taken, or is none.
    pub fn add(&mut self, info: QueueInfo) -> Result<(), AddQueueError> {
        let name = info.name();
        if !Spec::parse(name).is_ok_and(|spec| spec.name == name) {
            return Err(AddQueueError::IllegalName(name.to_string()));
        }
        if self.get(name).is_some() {
            return Err(AddQueueError::NameTaken(name.to_string()));
        }
        self.infos.push(info);
        Ok(())
    }

    /// The queue of a name.
    pub fn get(&self, name: &str) -> Option<&QueueInfo> {
        self.infos.iter().find(|info| info.name() == name)
    }

    /// All queues.
    pub fn iter(&self) -> std::slice::Iter<'_, QueueInfo> {
        self.infos.iter()
    }

    /// The queue that `spec` names, with its parameters set. All its random decisions come from
    /// `stream`, which should be keyed by the run's seed and the link's name.
    ///
    /// # Errors
    /// An unknown name or parameter, or a value that does not fit.
    pub fn build(&self, spec: &Spec, limit: Limit, stream: Stream) -> Built {
        build_from(&self.infos, spec, limit, stream)
    }

    /// Whether the queue that `spec` names can be built.
    ///
    /// # Errors
    /// As those of [`Queues::build`].
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        self.build(spec, Limit::NONE, unused_stream()).map(drop)
    }
}

impl<'a> IntoIterator for &'a Queues {
    type Item = &'a QueueInfo;
    type IntoIter = std::slice::Iter<'a, QueueInfo>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As [`Queues::build`], of the queues of this crate.
///
/// # Errors
/// An unknown name or parameter, or a value that does not fit.
pub fn build(spec: &Spec, limit: Limit, stream: Stream) -> Built {
    build_from(BUILTIN, spec, limit, stream)
}

/// As [`Queues::check`], of the queues of this crate.
///
/// # Errors
/// As those of [`build`].
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    build(spec, Limit::NONE, unused_stream()).map(drop)
}

/// A stream for a queue that is only built to see whether it can be.
fn unused_stream() -> Stream {
    Stream::new(0, "unused")
}

fn build_from(infos: &[QueueInfo], spec: &Spec, limit: Limit, stream: Stream) -> Built {
    let info = infos.iter().find(|info| info.name() == spec.name).ok_or_else(|| {
        SpecError::UnknownName {
            kind: "queue",
            name: spec.name.clone(),
            near: nearest(&spec.name, infos.iter().map(QueueInfo::name)),
        }
    })?;
    info.build(spec, limit, stream)
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
        for queue in &Queues::builtin() {
            let params = queue.params();
            let written: Vec<_> =
                params.iter().map(|info| format!("{}={}", info.name, info.default)).collect();
            let text = format!("{}[{}]", queue.name(), written.join(","));
            assert!(try_build(&text).is_ok(), "{text}");
            assert!(params.iter().all(|info| !info.doc.is_empty()));
        }
    }

    #[test]
    fn mistakes_are_told() {
        let message = |text: &str| try_build(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message("codle").contains("did you mean `codel`"));
        assert!(message("codel[target=5]").contains("5ms"));
        assert!(message("codel[interval=0s]").contains("interval"));
        assert!(message("droptail[target=5ms]").contains("no parameter"));
    }

    #[test]
    fn names_are_unique_and_can_be_written() {
        let mut queues = Queues::builtin();
        let named = |name: &'static str| {
            QueueInfo::new(name, "", "", Vec::new, |_, limit, _| {
                Ok(Box::new(fifo::Fifo::new(limit)))
            })
        };
        let taken = AddQueueError::NameTaken("pie".to_string());
        assert_eq!(queues.add(named("pie")), Err(taken));
        for name in ["", "a b", "a[b=1]", "a+b", " a"] {
            let illegal = AddQueueError::IllegalName(name.to_string());
            assert_eq!(queues.add(named(name)), Err(illegal));
        }
        assert_eq!(queues.add(named("mine")), Ok(()));
        assert!(queues.check(&Spec::parse("mine").expect("legal")).is_ok());
        assert!(queues.add(named("mine")).is_err());
        let near = queues.check(&Spec::parse("mien").expect("legal"));
        assert!(near.is_err_and(|error| error.to_string().contains("did you mean `mine`")));
    }
}
