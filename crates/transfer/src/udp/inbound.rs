//! The receiving half of a connection that brings files: the bytes of its stream go to a worker, and what the worker
//! reports goes back to the sender.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_wire::Connection;

use super::note::{Note, TAKEN_OVER};
use super::server::Event;
use super::store::{Owner, Report, Store, TransferStatus, Worker, WorkerCount};

/// Bytes of a stream that are handed to its worker at once, if more come together.
const MOST_GATHERED: usize = 256 << 10;
/// Buffers that are kept for the next bytes.
const SPARE_BUFFERS: usize = 4;

/// What a connection brings.
#[derive(Default)]
pub(super) struct Inbound {
    /// Takes in the stream's bytes, once some have come.
    worker: Option<Worker>,
    /// There is no worker for it: what comes is thrown away.
    is_refused: bool,
    /// Bytes of the stream that the worker does not have yet.
    gathered: Vec<u8>,
    /// Empty buffers.
    spare: Vec<Vec<u8>>,
    /// Bytes that were taken in and that the connection does not know of.
    taken: u64,
    /// A newer connection receives the transfer.
    is_taken_over: bool,
    /// What is to be told, the oldest first.
    notes: VecDeque<Note>,
}

impl Inbound {
    /// Takes in the next bytes of the stream. Returns true if so many wait that they are to be handed on.
    pub(super) fn on_stream(&mut self, bytes: &[u8]) -> bool {
        self.gathered.extend(bytes);
        self.gathered.len() >= MOST_GATHERED
    }

    /// Takes in what the worker reports.
    pub(super) fn on_report(&mut self, report: Report) {
        match report {
            Report::Taken(mut buffer) => {
                self.taken += buffer.len() as u64;
                if self.spare.len() < SPARE_BUFFERS {
                    buffer.clear();
                    self.spare.push(buffer);
                }
            }
            Report::Note(note) => self.tell(note),
            Report::TakenOver => self.is_taken_over = true,
        }
    }

    /// Leaves a message for the other end.
    pub(super) fn tell(&mut self, note: Note) {
        self.notes.push_back(note);
    }

    /// Hands the bytes that have come to the worker, which is started with the first ones.
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

    /// Reports to the connection what was worked off.
    pub(super) fn consume(&mut self, connection: &mut Connection) {
        connection.consume(std::mem::take(&mut self.taken));
    }

    /// Sends what is to be told, as far as there is room.
    pub(super) fn talk(&mut self, connection: &mut Connection) {
        // What there is no room for now waits for the next acknowledgement.
        while let Some(note) = self.notes.front()
            && connection.send_message(note.to_bytes())
        {
            self.notes.pop_front();
        }
        if self.is_taken_over {
            connection.close(TAKEN_OVER, "the transfer goes on over a newer connection");
        }
    }

    /// How far the transfer is.
    pub(super) fn status(&self) -> TransferStatus {
        match &self.worker {
            Some(worker) => worker.status(),
            None if self.is_refused => TransferStatus::TurnedAway,
            None => TransferStatus::None,
        }
    }
}
