//! The receiving side of a connection's stream: passes its records to the target.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use paceline_wire::records::{Content, Entry, Record, Transfer, Unpacker};

use super::passing::Passing;
use super::problem::{Problem, transfer_problem};
use super::staging::News;
use super::transfer_status::TransferStatus;
use super::{Begun, Slot, Store, Target, TransferKey};
use crate::udp::events::Event;
use crate::udp::note::{Note, Resume};
use crate::udp::progress::CountedTransfer;

/// Interval at which the sender is told the transfer's progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum number of paths reported to the sender of a complete transfer. A message may have room
/// for fewer.
const MOST_PLACES: usize = 16;

/// A message of an intake.
pub(super) enum Told {
    /// For the sender.
    Note(Note),
    /// For the user.
    Event(Event),
    /// A newer connection receives the transfer: close this connection.
    TakenOver,
}

/// Where the transfer is received.
enum Place {
    /// No transfer has begun.
    None,
    Staged(TransferKey, Slot),
    Passing(Box<Passing>),
    /// The transfer is over, or its rest is refused.
    Over,
}

/// The receiving side of a connection's stream.
pub(super) struct Intake {
    store: Arc<Store>,
    /// Number of the connection, unique across all loops.
    connection: u64,
    /// The client's folder, if each client has its own.
    client: Option<Arc<str>>,
    unpacker: Unpacker,
    place: Place,
    status: TransferStatus,
    /// True if the transfer can continue over another connection.
    is_resumable: bool,
    /// The entry in the last progress report to the sender, and its time.
    progress: (u32, Instant),
    /// The transfer's share of the display's counters, while it is received.
    counted: Option<CountedTransfer>,
}

impl Intake {
    pub(super) fn new(store: Arc<Store>, connection: u64, client: Option<Arc<str>>) -> Intake {
        Intake {
            store,
            connection,
            client,
            unpacker: Unpacker::new(),
            place: Place::None,
            status: TransferStatus::None,
            is_resumable: false,
            progress: (1, Instant::now()),
            counted: None,
        }
    }

    /// Returns the progress of the transfer.
    pub(super) fn status(&self) -> TransferStatus {
        self.status
    }

    /// Handles the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8], tell: &mut dyn FnMut(Told)) {
        if matches!(self.place, Place::Over) {
            return;
        }
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let mut failed = None;
        let read = unpacker.push(bytes, &mut |record| {
            if failed.is_none() {
                failed = self.on_record(record, tell).err();
                self.tell_news(tell);
            }
        });
        self.unpacker = unpacker;
        if let (Err(error), None) = (read, &failed) {
            failed = Some(Problem::Transfer(format!(
                "the sender's data is not a transfer of files: {error}"
            )));
        }
        match failed {
            None => self.tell_progress(tell),
            Some(Problem::TakenOver) => {
                self.leave();
                tell(Told::TakenOver);
            }
            Some(problem) => {
                let text = match &problem {
                    Problem::Full(text) => self.with_remedy(text),
                    _ => problem.text(),
                };
                self.leave();
                if self.store.output_failure().is_some() {
                    self.status = TransferStatus::Unrepeatable;
                } else if self.status == TransferStatus::Underway {
                    self.status = TransferStatus::Halted;
                }
                tell(Told::Event(Event::Failed(text.clone())));
                tell(Told::Note(Note::File { file: 0, kept: false, text }));
            }
        }
    }

    fn on_record(&mut self, record: Record<'_>, tell: &mut dyn FnMut(Told)) -> Result<(), Problem> {
        if let Record::Transfer(transfer) = record {
            return self.begin(&transfer, tell);
        }
        if let Some(counted) = &mut self.counted {
            match record {
                Record::Piece { bytes, .. } => counted.add(bytes.len() as u64),
                Record::Entry(Entry { content: Content::File { offset, .. }, .. }) => {
                    counted.add(offset);
                }
                _ => {}
            }
        }
        let is_end = record == Record::End;
        let is_good = match &mut self.place {
            Place::None | Place::Over => return Ok(()),
            Place::Staged(_, slot) => {
                let mut staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
                let staging = staging.as_mut().ok_or(Problem::TakenOver)?;
                match record {
                    Record::Transfer(_) => true,
                    Record::Entry(entry) => staging.on_entry(&entry).map(|()| true)?,
                    Record::Piece { bytes, .. } => staging.on_piece(bytes).map(|()| true)?,
                    Record::Close { number, whole } => {
                        staging.on_close(number, whole).map(|()| true)?
                    }
                    Record::End => staging.on_end()?,
                }
            }
            Place::Passing(passing) => {
                match record {
                    Record::Transfer(_) => {}
                    Record::Entry(entry) => passing.on_entry(&entry)?,
                    Record::Piece { bytes, .. } => passing.on_piece(bytes)?,
                    Record::Close { number, whole } => passing.on_close(number, whole),
                    Record::End => passing.on_end(),
                }
                !passing.has_failed
            }
        };
        if is_end {
            self.tell_news(tell);
            self.leave();
            self.status =
                if is_good { TransferStatus::Complete } else { TransferStatus::PartlyKept };
            if !is_good {
                let text =
                    "some entries of a transfer are not kept; the others are in their places";
                tell(Told::Event(Event::Failed(text.into())));
            }
        }
        Ok(())
    }

    fn begin(&mut self, transfer: &Transfer, tell: &mut dyn FnMut(Told)) -> Result<(), Problem> {
        // Standard input cannot be sent a second time, and bytes already on standard output cannot
        // be taken back.
        let is_repeatable = match self.store.target {
            Target::Output => transfer.resumable,
            _ => transfer.resumable || transfer.bytes.is_some(),
        };
        self.is_resumable = transfer.resumable;
        self.status = match is_repeatable {
            true => TransferStatus::Underway,
            false => TransferStatus::Unrepeatable,
        };
        let failed = transfer_problem("the receiver's folder cannot be opened");
        let client = self.client.as_ref();
        let destination = self.store.destination(client).map_err(failed)?;
        let answer = match (&self.store.target, destination) {
            (_, Some(destination)) => match self.store.begin(destination, client, transfer)? {
                Begun::Complete(mut places) => {
                    (self.place, self.status) = (Place::Over, TransferStatus::Complete);
                    tell(Told::Event(Event::Skipped(places.clone())));
                    places.truncate(MOST_PLACES);
                    Resume {
                        entry: transfer.entries + 1,
                        complete: true,
                        places,
                        ..Resume::default()
                    }
                }
                Begun::Staged(slot, resume) => {
                    self.place = Place::Staged((self.client.clone(), transfer.id), slot);
                    resume
                }
            },
            (Target::Output, None) => {
                let begun = Passing::to_output(&self.store, self.connection, transfer);
                let (passing, resume) = begun.map_err(|text| {
                    self.status = TransferStatus::TurnedAway;
                    Problem::Transfer(text.into())
                })?;
                self.place = Place::Passing(Box::new(passing));
                resume
            }
            (_, None) => {
                self.place = Place::Passing(Box::new(Passing::to_nowhere(&self.store)));
                Resume { entry: 1, ..Resume::default() }
            }
        };
        let before = match &self.place {
            Place::Staged(_, slot) => {
                let staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
                staging.as_ref().map_or(0, super::Staging::bytes)
            }
            _ => 0,
        };
        if !answer.complete {
            let counted = CountedTransfer::new(&self.store.progress, transfer.bytes, before);
            self.counted = Some(counted);
        }
        if transfer.resumable {
            self.progress = (answer.entry, Instant::now());
            if !answer.complete && (answer.entry > 1 || !answer.beginnings.is_empty()) {
                let (entry, entries) = (answer.entry, transfer.entries);
                let bytes = answer.beginnings.first().map_or(0, |beginning| beginning.0);
                tell(Told::Event(Event::GoesOn { entry, entries, bytes }));
            }
            tell(Told::Note(Note::Resume(answer)));
        }
        self.tell_news(tell);
        Ok(())
    }

    /// Reports the transfer's news to sender and user.
    fn tell_news(&mut self, tell: &mut dyn FnMut(Told)) {
        let news = match &mut self.place {
            Place::Staged(_, slot) => {
                let mut staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
                staging.as_mut().map(|staging| std::mem::take(&mut staging.news))
            }
            Place::Passing(passing) => Some(std::mem::take(&mut passing.news)),
            Place::None | Place::Over => None,
        };
        for news in news.unwrap_or_default() {
            match news {
                News::Kept { entry, place, bytes, before } => {
                    if !before {
                        tell(Told::Event(Event::Kept { name: place.clone(), bytes }));
                    }
                    tell(Told::Note(Note::File { file: entry, kept: true, text: place }));
                }
                News::Failed { entry, text, before } => {
                    if !before {
                        tell(Told::Event(Event::Failed(text.clone())));
                    }
                    tell(Told::Note(Note::File { file: entry, kept: false, text }));
                }
            }
        }
    }

    fn tell_progress(&mut self, tell: &mut dyn FnMut(Told)) {
        let Place::Staged(_, slot) = &self.place else { return };
        let (told, at) = self.progress;
        if at.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        let staging = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(next) = staging.as_ref().map(super::Staging::next).filter(|next| *next > told)
        else {
            return;
        };
        drop(staging);
        self.progress = (next, Instant::now());
        tell(Told::Note(Note::Progress { entry: next }));
    }

    /// Appends to the error of a full disk what its user can do.
    fn with_remedy(&self, text: &str) -> String {
        let remedy = match (&self.store.target, self.is_resumable) {
            // The receiver ends.
            (Target::Output, _) => return text.into(),
            (_, true) => {
                "Complete entries stay there: make room at the receiver, then send again to continue"
            }
            (_, false) => {
                "Make room at the receiver, then send it again: this transfer cannot continue"
            }
        };
        format!("{text}. {remedy}")
    }

    /// Leaves the transfer: its rest is refused.
    fn leave(&mut self) {
        self.counted = None;
        match std::mem::replace(&mut self.place, Place::Over) {
            Place::Staged(key, slot) => self.store.end(&key, &slot),
            Place::Passing(passing) => passing.end(),
            Place::None | Place::Over => {}
        }
    }

    /// Ends the intake, because the connection is over.
    pub(super) fn end(&mut self) {
        self.leave();
    }
}
