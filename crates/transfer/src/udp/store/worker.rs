//! A thread beside a loop for each connection that brings files: it hashes and writes, so that neither a slow disk nor a
//! reader that stands still holds up other connections.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Store;
use super::intake::{Intake, Told};
use crate::udp::note::Note;
use crate::udp::server::Events;

/// Most connections that bring files at a time, at all loops. Each has a thread and a few open files; a process may have
/// 1024 of these by default.
const MOST: usize = 128;

/// How far the transfer of a connection is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::udp) enum TransferStatus {
    /// There has been none.
    None,
    /// It is being received, or was broken off.
    Underway,
    /// All of its entries have come.
    Complete,
    /// It was refused because another sender has the place.
    TurnedAway,
    /// It is being received, or was broken off, and nobody sends it again then.
    Unrepeatable,
}

impl TransferStatus {
    fn of(number: u8) -> TransferStatus {
        use TransferStatus::{Complete, None, TurnedAway, Underway, Unrepeatable};
        let all = [None, Underway, Complete, TurnedAway, Unrepeatable];
        all.into_iter().find(|status| *status as u8 == number).unwrap_or(None)
    }
}

/// What a worker reports to its loop.
pub(in crate::udp) enum Report {
    /// These bytes were taken: the sender may send as many more. The buffer comes back.
    Taken(Vec<u8>),
    /// The sender is to hear this.
    Note(Note),
    /// A newer connection receives the transfer: this one is to be closed.
    TakenOver,
}

/// The way to a loop: reports, and a file that becomes readable when there are some.
#[derive(Clone)]
pub(in crate::udp) struct Reports {
    sender: mpsc::Sender<(u32, Report)>,
    wake: Arc<EventFd>,
}

impl Reports {
    /// Makes the way, and the end of it that the loop reads.
    ///
    /// # Errors
    /// There are too many open files.
    pub(in crate::udp) fn new() -> io::Result<(Reports, mpsc::Receiver<(u32, Report)>)> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let wake = Arc::new(EventFd::from_value_and_flags(0, flags)?);
        let (sender, receiver) = mpsc::channel();
        Ok((Reports { sender, wake }, receiver))
    }

    /// The file that is readable when there are reports.
    pub(in crate::udp) fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// Makes the file unreadable until the next report.
    pub(in crate::udp) fn clear(&self) {
        // It does not block, and only says how many there were.
        let _ = self.wake.read();
    }

    fn report(&self, connection: u32, report: Report) {
        // A loop that has ended needs none.
        if self.sender.send((connection, report)).is_ok() {
            let _ = self.wake.write(1);
        }
    }
}

/// The number of workers at all loops. Clones count together.
#[derive(Clone, Debug, Default)]
pub(in crate::udp) struct WorkerCount(Arc<AtomicUsize>);

/// One worker in the count, until this is dropped.
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

/// A worker: what is pushed is taken in, in order. It ends after this is dropped and all of it was taken in.
pub(in crate::udp) struct Worker {
    bytes: mpsc::Sender<Vec<u8>>,
    status: Arc<AtomicU8>,
}

/// What a worker belongs to.
pub(in crate::udp) struct Owner<'a> {
    /// Identifier of the connection at its loop.
    pub(in crate::udp) connection: u32,
    /// Its number, at all loops.
    pub(in crate::udp) number: u64,
    /// Name of the client by the list of clients, if each client has a folder of its own.
    pub(in crate::udp) client: Option<&'a str>,
    pub(in crate::udp) reports: &'a Reports,
    pub(in crate::udp) events: &'a Events,
}

impl Worker {
    /// Starts a worker for a connection.
    ///
    /// # Errors
    /// There are too many. The text is for the sender.
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
            let _counted = counted;
            let mut intake = Intake::new(store, number, client);
            for buffer in jobs {
                let mut notes = Vec::new();
                intake.push(&buffer, &mut |told| match told {
                    Told::Event(event) => events.tell(event),
                    Told::Note(note) => notes.push(Report::Note(note)),
                    Told::TakenOver => notes.push(Report::TakenOver),
                });
                // Before the sender can answer.
                shown.store(intake.status() as u8, Ordering::Release);
                notes.into_iter().for_each(|note| reports.report(connection, note));
                reports.report(connection, Report::Taken(buffer));
            }
            intake.end();
            shown.store(intake.status() as u8, Ordering::Release);
        };
        let started = thread::Builder::new().name("paceline-disk".into()).spawn(run);
        started.map_err(|error| format!("the receiver cannot start a thread: {error}"))?;
        Ok(Worker { bytes, status })
    }

    /// Hands on the next bytes of the stream.
    pub(in crate::udp) fn push(&self, bytes: Vec<u8>) {
        // It reads as long as this is here.
        let _ = self.bytes.send(bytes);
    }

    /// How far the transfer is.
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
