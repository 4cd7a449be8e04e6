//! Measurements over several concurrent connections, each with an event loop on its own thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use paceline_os::{Interrupts, RealTimeError};

use super::client::{ClientOptions, TransferResult, send};
use super::progress::{Progress, Snapshot};
use super::start_gate::StartGate;

/// Maximum number of connections in a measurement.
pub const MOST_FLOWS: usize = 64;

/// Counters of all flows over one interval of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Begin of the interval, since the first flow began.
    pub from: Duration,
    /// End of the interval.
    pub to: Duration,
    /// Counters of each flow at the beginning and at the end of the interval.
    pub flows: Vec<(Snapshot, Snapshot)>,
}

/// Runs `flows` connections with `options`, which begin together, and returns the results of each.
/// Each connection has its own seed. Logs in qlog's format of the second and later connections are
/// named `FILE-2` and so on. `tell` receives each interval, on the calling thread.
///
/// # Errors
/// A connection has failed: then all others are ended.
pub fn measure(
    options: &ClientOptions,
    flows: usize,
    interval: Option<Duration>,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Vec<TransferResult>, RealTimeError> {
    if !(1..=MOST_FLOWS).contains(&flows) {
        return Err(RealTimeError::Message(format!(
            "{flows} connections: there can be 1 to {MOST_FLOWS}"
        )));
    }
    // Before any thread starts, so that every thread inherits the blocked signals.
    let _interrupts = Interrupts::watch()?;
    let gate = Arc::new(StartGate::new(flows));
    let progress: Vec<Arc<Progress>> = (0..flows).map(|_| Arc::default()).collect();
    let (ended, ends) = mpsc::channel();
    thread::scope(|scope| {
        for (index, one) in progress.iter().enumerate() {
            let mut options = options.clone();
            options.limits.seed = options.limits.seed.wrapping_add(index as u64);
            options.qlog = options.qlog.map(|path| numbered(&path, index));
            options.progress = Some(Arc::clone(one));
            options.gate = Some(Arc::clone(&gate));
            let ended = ended.clone();
            let run = move || {
                // The receiver lives until all threads have ended.
                let _ = ended.send((index, send(&options)));
            };
            let thread = thread::Builder::new().name(format!("flow-{index}"));
            if let Err(error) = thread.spawn_scoped(scope, run) {
                end_all(&gate, &progress);
                return Err(RealTimeError::system("starting a thread")(error));
            }
        }
        drop(ended);
        collect(&ends, &gate, &progress, interval, tell)
    })
}

type Ended = (usize, Result<TransferResult, RealTimeError>);

fn end_all(gate: &StartGate, progress: &[Arc<Progress>]) {
    gate.fail();
    progress.iter().for_each(|one| one.stop());
}

/// Waits for all flows and reports the intervals meanwhile.
fn collect(
    ends: &mpsc::Receiver<Ended>,
    gate: &StartGate,
    progress: &[Arc<Progress>],
    interval: Option<Duration>,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Vec<TransferResult>, RealTimeError> {
    /// Interval at which the gate is checked until the flows have begun.
    const LOOK: Duration = Duration::from_millis(20);
    let snapshots = || progress.iter().map(|one| one.snapshot()).collect::<Vec<Snapshot>>();
    let mut results: Vec<Option<TransferResult>> = progress.iter().map(|_| None).collect();
    let (mut failure, mut from, mut last) = (None, Duration::ZERO, snapshots());
    loop {
        let wait = match (interval, gate.began()) {
            (None, _) => Duration::MAX,
            (Some(_), None) => LOOK,
            (Some(interval), Some(began)) => (from + interval).saturating_sub(began.elapsed()),
        };
        let ended = match wait {
            Duration::MAX => ends.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            wait => ends.recv_timeout(wait),
        };
        match ended {
            Ok((index, Ok(result))) => {
                if let Some(place) = results.get_mut(index) {
                    *place = Some(result);
                }
            }
            Ok((_, Err(error))) => {
                end_all(gate, progress);
                // Keep the first error: the other flows fail because they are ended.
                failure.get_or_insert(error);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let (Some(interval), Some(began)) = (interval, gate.began()) else { continue };
                let to = began.elapsed();
                if to < from + interval || results.iter().any(Option::is_some) {
                    // Report no interval after the first flow has ended: the final results follow.
                    from = if to < from + interval { from } else { to };
                    continue;
                }
                let now = snapshots();
                let flows = last.iter().copied().zip(now.iter().copied()).collect();
                tell(&Interval { from, to, flows });
                (from, last) = (to, now);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(results.into_iter().flatten().collect()),
    }
}

/// Returns the log file of flow `index`: `path` itself for the first one.
fn numbered(path: &Path, index: usize) -> PathBuf {
    if index == 0 {
        return path.to_path_buf();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{}", index + 1));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_flows_have_logs_of_their_own() {
        let path = Path::new("a/b.sqlog");
        assert_eq!(numbered(path, 0), path);
        assert_eq!(numbered(path, 1), Path::new("a/b-2.sqlog"));
        assert_eq!(numbered(Path::new("log"), 2), Path::new("log-3"));
    }
}
