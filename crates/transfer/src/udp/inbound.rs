//! The receiving half of a connection that brings files. It hands the stream's bytes to a worker,
//! and the worker's reports to the sender.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_wire::Connection;

use super::events::Event;
use super::note::{Note, TAKEN_OVER};
use super::store::{Owner, Store, TransferStatus, Worker, WorkerCount, WorkerReport};

/// Bytes of a stream that are handed to its worker in one piece, if more arrive together.
const MOST_GATHERED: usize = 256 << 10;
/// Number of empty buffers kept for reuse.
const SPARE_BUFFERS: usize = 4;

/// State of the files that a connection brings.
#[derive(Default)]
pub(super) struct Inbound {
    /// Writes the stream's bytes; started when the first arrive.
    worker: Option<Worker>,
    /// True if there is no worker for this connection: the bytes are discarded.
    is_refused: bool,
    /// Bytes of the stream that were not yet handed to the worker.
    gathered: Vec<u8>,
    /// Empty buffers.
    spare: Vec<Vec<u8>>,
    /// Bytes that the worker has handled and that the connection does not yet know of.
    taken: u64,
    /// True if a newer connection receives the transfer.
    is_taken_over: bool,
    /// True if the worker has ended.
    is_over: bool,
    /// Messages to send to the other end, oldest first.
    notes: VecDeque<Note>,
}

impl Inbound {
    /// Takes the next bytes of the stream. Returns true once `MOST_GATHERED` bytes wait; the caller
    /// then hands them on.
    pub(super) fn on_stream(&mut self, bytes: &[u8]) -> bool {
        self.gathered.extend(bytes);
        self.gathered.len() >= MOST_GATHERED
    }

    /// Handles a report of the worker.
    pub(super) fn on_report(&mut self, report: WorkerReport) {
        match report {
            WorkerReport::Taken(mut buffer) => {
                self.taken += buffer.len() as u64;
                if self.spare.len() < SPARE_BUFFERS {
                    buffer.clear();
                    self.spare.push(buffer);
                }
            }
            WorkerReport::Note(note) => self.tell(note),
            WorkerReport::TakenOver => self.is_taken_over = true,
            WorkerReport::Over => self.is_over = true,
        }
    }

    /// Queues a message for the other end.
    pub(super) fn tell(&mut self, note: Note) {
        self.notes.push_back(note);
    }

    /// Hands the gathered bytes to the worker, which starts with the first ones.
    pub(super) fn hand_on(&mut self, store: &Arc<Store>, count: &WorkerCount, owner: Owner<'_>) {
        if self.gathered.is_empty() {
            return;
        }
        if self.worker.is_none() && !self.is_refused {
            let events = owner.events;
            match Worker::start(store, count, owner) {
                Ok(worker) => self.worker = Some(worker),
                Err(text) => {
                    self.is_refused = true;
                    events.tell(Event::Failed(text.clone()));
                    self.tell(Note::File { file: 0, kept: false, text });
                }
            }
        }
        match &self.worker {
            Some(worker) => {
                let next = self.spare.pop().unwrap_or_default();
                worker.push(std::mem::replace(&mut self.gathered, next));
            }
            None => {
                self.taken += self.gathered.len() as u64;
                self.gathered.clear();
            }
        }
    }

    /// Tells the connection how many bytes the worker has handled.
    pub(super) fn consume(&mut self, connection: &mut Connection) {
        connection.consume(std::mem::take(&mut self.taken));
    }

    /// Sends queued messages, as far as the connection has room.
    pub(super) fn talk(&mut self, connection: &mut Connection) {
        // Messages without room wait for the next acknowledgement.
        while let Some(note) = self.notes.front()
            && connection.send_message(note.to_bytes())
        {
            self.notes.pop_front();
        }
        if self.is_taken_over {
            connection.close(TAKEN_OVER, "the transfer goes on over a newer connection");
        }
    }

    /// Has the worker end once it has handled all bytes that were handed on: the connection is over.
    /// Returns true if it has ended, so that the status is final; else [`WorkerReport::Over`] comes.
    /// Does not block: the worker may stand in a write until a signal comes.
    pub(super) fn finish(&mut self) -> bool {
        if let Some(worker) = &mut self.worker {
            worker.close();
        }
        self.worker.is_none() || self.is_over
    }

    /// Returns the progress of the transfer.
    pub(super) fn status(&self) -> TransferStatus {
        match &self.worker {
            Some(worker) => worker.status(),
            None if self.is_refused => TransferStatus::TurnedAway,
            None => TransferStatus::None,
        }
    }
}
