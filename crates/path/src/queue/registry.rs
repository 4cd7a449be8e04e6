//! The one table of queues. A queue is a file in this folder and a line here.

use paceline_cc::params::ParamInfo;
use paceline_cc::spec::nearest;
use paceline_cc::{Spec, SpecError, Stream};

use super::{Limit, Queue, abc_dual, codel, drophead, dualpi2, fifo, fq, infinite, pie, red};

/// Makes a queue from what the user wrote, the buffer's limit, and the random stream that is the
/// queue's own.
pub type BuildQueue = fn(&Spec, Limit, Stream) -> Result<Box<dyn Queue>, SpecError>;

/// A line of the registry.
pub struct QueueInfo {
    /// The name by which users call it.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper or RFC.
    pub source: &'static str,
    /// Its parameters with their defaults.
    pub params: fn() -> Vec<ParamInfo>,
    /// Makes it.
    pub build: BuildQueue,
}

/// Every queue.
pub static QUEUES: &[QueueInfo] = &[
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

/// The queue that `spec` names, with its parameters set. All its random decisions come from
/// `stream`, which should be keyed by the run's seed and the link's name.
///
/// # Errors
/// An unknown name or parameter, or a value that does not fit.
pub fn build(spec: &Spec, limit: Limit, stream: Stream) -> Result<Box<dyn Queue>, SpecError> {
    let queue = QUEUES.iter().find(|queue| queue.name == spec.name).ok_or_else(|| {
        SpecError::UnknownName {
            kind: "queue",
            name: spec.name.clone(),
            near: nearest(&spec.name, QUEUES.iter().map(|queue| queue.name)),
        }
    })?;
    (queue.build)(spec, limit, stream)
}

/// Whether the queue that `spec` names can be built.
///
/// # Errors
/// As those of [`build`].
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    // What is checked never draws a number.
    build(spec, Limit::NONE, Stream::new(0, "check")).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::stream;

    fn try_build(text: &str) -> Result<Box<dyn Queue>, SpecError> {
        build(&Spec::parse(text)?, Limit::NONE, stream())
    }

    #[test]
    fn every_queue_builds_with_its_defaults_written_out() {
        for queue in QUEUES {
            let args = (queue.params)();
            let written: Vec<_> =
                args.iter().map(|info| format!("{}={}", info.name, info.default)).collect();
            let text = format!("{}[{}]", queue.name, written.join(","));
            assert!(try_build(&text).is_ok(), "{text}");
            assert!(args.iter().all(|info| !info.doc.is_empty()));
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
}
