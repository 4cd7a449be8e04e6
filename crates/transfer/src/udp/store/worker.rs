//! A thread for each connection that brings files. It hashes and writes, so that neither a slow
//! disk nor a blocked reader delays other connections.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Store;
use super::intake::{Intake, Told};
use super::transfer_status::TransferStatus;
use crate::udp::events::Events;
use crate::udp::note::Note;

/// Maximum number of concurrent connections that bring files, at all loops. Each has a thread and a
/// few open files; a process may have 1024 open files by default.
const MOST: usize = 128;

/// A worker's report to its loop.
pub(in crate::udp) enum WorkerReport {
    /// These bytes were handled: the sender may send as many more. Returns the buffer for reuse.
    Taken(Vec<u8>),
    /// A message for the sender.
    Note(Note),
    /// A newer connection receives the transfer: close this connection.
    TakenOver,
    /// The worker has ended: its status is final. Its last report.
    Over,
}

/// The sending half of the queue of reports to a loop, with an event file that is readable while
/// there are reports.
#[derive(Clone)]
pub(in crate::udp) struct WorkerReports {
    sender: mpsc::Sender<(u32, WorkerReport)>,
    wake: Arc<EventFd>,
}

impl WorkerReports {
    /// Creates the queue. Returns both halves.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(in crate::udp) fn new() -> io::Result<(WorkerReports, mpsc::Receiver<(u32, WorkerReport)>)>
    {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let wake = Arc::new(EventFd::from_value_and_flags(0, flags)?);
        let (sender, receiver) = mpsc::channel();
        Ok((WorkerReports { sender, wake }, receiver))
    }

    /// Returns the file that is readable while there are reports.
    pub(in crate::udp) fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// Makes the file unreadable until the next report.
    pub(in crate::udp) fn clear(&self) {
        // The read does not block, and its value is only the number of reports.
        let _ = self.wake.read();
    }

    fn report(&self, connection: u32, report: WorkerReport) {
        // Nothing to wake if the loop has ended.
        if self.sender.send((connection, report)).is_ok() {
            let _ = self.wake.write(1);
        }
    }
}

/// Number of workers at all loops. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(in crate::udp) struct WorkerCount(Arc<AtomicUsize>);

/// One worker in the count, until it is dropped.
struct Counted(WorkerCount);

impl WorkerCount {
    fn add(&self) -> Option<Counted> {
        let more = |count| (count < MOST).then_some(count + 1);
        let added = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.ok().map(|_| Counted(self.clone()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reports that a worker has ended, when it is dropped: also after a panic.
struct ReportOver(u32, WorkerReports);

impl Drop for ReportOver {
    fn drop(&mut self) {
        self.1.report(self.0, WorkerReport::Over);
    }
}

/// A worker's handle. The worker handles pushed bytes in order. After this is dropped, it ends once
/// it has handled all of them.
pub(in crate::udp) struct Worker {
    /// `None` once [`Worker::close`] was called.
    bytes: Option<mpsc::Sender<Vec<u8>>>,
    status: Arc<AtomicU8>,
}

/// The owner of a worker.
pub(in crate::udp) struct Owner<'a> {
    /// Identifier of its connection at its loop.
    pub(in crate::udp) connection: u32,
    /// Number of the client, unique across all loops.
    pub(in crate::udp) number: u64,
    /// The client's name in the list of clients, if each client has its own folder.
    pub(in crate::udp) client: Option<&'a str>,
    pub(in crate::udp) reports: &'a WorkerReports,
    pub(in crate::udp) events: &'a Events,
}

impl Worker {
    /// Starts a worker for a connection.
    ///
    /// # Errors
    /// There are [`MOST`] workers already. The text is for the sender.
    pub(in crate::udp) fn start(
        store: &Arc<Store>,
        count: &WorkerCount,
        owner: Owner<'_>,
    ) -> Result<Worker, String> {
        let Some(counted) = count.add() else {
            return Err(format!(
                "{MOST} senders bring files to this receiver already; try again later"
            ));
        };
        let Owner { connection, number, client, reports, events } = owner;
        let client = client.map(Store::client_folder);
        let (store, reports, events) = (Arc::clone(store), reports.clone(), events.clone());
        let (bytes, jobs) = mpsc::channel::<Vec<u8>>();
        let status = Arc::new(AtomicU8::new(TransferStatus::None as u8));
        let shown = Arc::clone(&status);
        let run = move || {
            // Dropped last.
            let _over = ReportOver(connection, reports.clone());
            let _counted = counted;
            let mut intake = Intake::new(store, number, client);
            for buffer in jobs {
                let mut notes = Vec::new();
                intake.push(&buffer, &mut |told| match told {
                    Told::Event(event) => events.tell(event),
                    Told::Note(note) => notes.push(WorkerReport::Note(note)),
                    Told::TakenOver => notes.push(WorkerReport::TakenOver),
                });
                // Set the status before the sender can answer.
                shown.store(intake.status() as u8, Ordering::Release);
                notes.into_iter().for_each(|note| reports.report(connection, note));
                reports.report(connection, WorkerReport::Taken(buffer));
            }
            intake.end();
            shown.store(intake.status() as u8, Ordering::Release);
        };
        let started = thread::Builder::new().name("paceline-disk".into()).spawn(run);
        started.map_err(|error| format!("the receiver cannot start a thread: {error}"))?;
        Ok(Worker { bytes: Some(bytes), status })
    }

    /// Hands the next bytes of the stream to the worker.
    pub(in crate::udp) fn push(&self, bytes: Vec<u8>) {
        // The worker reads until this handle is dropped.
        if let Some(queue) = &self.bytes {
            let _ = queue.send(bytes);
        }
    }

    /// Has the worker end once it has handled all pushed bytes; [`WorkerReport::Over`] tells when.
    /// Nothing may be pushed afterwards.
    pub(in crate::udp) fn close(&mut self) {
        self.bytes = None;
    }

    /// Returns the progress of the transfer.
    pub(in crate::udp) fn status(&self) -> TransferStatus {
        TransferStatus::of(self.status.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_counted_for_all_and_given_back() {
        let all = WorkerCount::default();
        let other = all.clone();
        let mut counted: Vec<Counted> = (0..MOST).filter_map(|_| all.add()).collect();
        assert_eq!(counted.len(), MOST);
        assert!(other.add().is_none());
        counted.truncate(7);
        assert!(other.add().is_some());
    }
}
