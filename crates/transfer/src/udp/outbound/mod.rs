//! The files that a client sends: the entries of a transfer, over successive connections.

mod manifest;
mod positions;
mod reader;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use paceline_os::{RealTimeError, Waker};
use paceline_wire::Connection;
use paceline_wire::records::{Hash, Record, Transfer, random_id};

use self::manifest::Manifest;
use self::positions::Positions;
use self::reader::{Chunk, Input, Reader, Start};
use super::note::Resume;

/// What a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// These files and folders, in this order.
    Files(Vec<PathBuf>),
    /// Standard input.
    Input,
    /// Packets of a workload, without files.
    Packets,
}

/// A file or folder to be sent, and whether the receiver has kept it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentFile {
    /// The argument; `None` for standard input.
    pub path: Option<PathBuf>,
    /// Bytes of the file, or of all files in the folder.
    pub bytes: u64,
    /// Its path at the receiver, once all of it is kept.
    pub kept: Option<String>,
    /// Why the receiver does not keep it.
    pub problem: Option<String>,
}

impl SentFile {
    /// Returns true once the receiver has kept it or it has failed.
    pub(super) fn is_settled(&self) -> bool {
        self.kept.is_some() || self.problem.is_some()
    }
}

/// Byte counts of a transfer, over all connections.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferBytes {
    /// Bytes that the receiver had before the first connection.
    pub resumed: u64,
    /// Bytes sent over more than one connection, with record headers.
    pub repeated: u64,
    /// True if the receiver already had everything.
    pub skipped: bool,
}

/// Progress of the current connection.
enum Stage {
    /// There is no connection, or the transfer was not yet announced to it.
    Before,
    /// The receiver has not yet said where to continue.
    Asking,
    Reading(Reader),
    /// All files were read.
    Read,
}

/// The files that a client sends, and whether they were kept.
pub(super) struct Outbound {
    /// The list of entries; `None` for standard input.
    manifest: Option<Arc<Manifest>>,
    /// Positions of the entries; `None` for standard input.
    positions: Option<Positions>,
    transfer: Transfer,
    /// The arguments, in their order.
    pub(super) files: Vec<SentFile>,
    /// Why entries are not kept, by entry number.
    failed: BTreeMap<u32, String>,
    stage: Stage,
    /// Records for which the connection had no room yet, from offset `at` on.
    waiting: Vec<u8>,
    at: usize,
    /// Bytes of all files before the position at which the current connection started.
    from: u64,
    /// Position in the stream at which the current connection started.
    position: u64,
    /// Bytes of the current connection's stream before that position.
    prelude: u64,
    /// True once a connection has started.
    has_started: bool,
    /// Furthest position that a connection has sent.
    sent_until: u64,
    /// Furthest position that a receiver has acknowledged.
    reached: u64,
    pub(super) bytes: TransferBytes,
}

/// Parses a SHA-256 of 64 hexadecimal digits.
fn read_hash(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(hash)
}

impl Outbound {
    /// Lists the files to send; `None` if `source` is a workload. With `asks`, the client asks the
    /// receiver where to continue even if the transfer is small.
    ///
    /// # Errors
    /// A file does not exist.
    pub(super) fn open(source: &Source, asks: bool) -> Result<Option<Outbound>, RealTimeError> {
        let (manifest, positions, transfer, files) = match source {
            Source::Packets => return Ok(None),
            Source::Input => {
                let id = random_id().map_err(|error| RealTimeError::Message(error.to_string()))?;
                let transfer = Transfer { id, resumable: false, entries: 1, bytes: None };
                (None, None, transfer, vec![SentFile::default()])
            }
            Source::Files(paths) => {
                let mut manifest = Manifest::of(paths)?;
                if asks {
                    manifest.make_resumable();
                }
                let file =
                    |path: &PathBuf| SentFile { path: Some(path.clone()), ..SentFile::default() };
                let mut files: Vec<SentFile> = paths.iter().map(file).collect();
                for number in 1..=manifest.len() {
                    if let Some(file) = files.get_mut(manifest.argument(number)) {
                        file.bytes += manifest.start(number + 1) - manifest.start(number);
                    }
                }
                let transfer = manifest.transfer;
                let positions = Positions::of(&manifest, transfer);
                (Some(Arc::new(manifest)), Some(positions), transfer, files)
            }
        };
        Ok(Some(Outbound {
            manifest,
            positions,
            transfer,
            files,
            failed: BTreeMap::new(),
            stage: Stage::Before,
            waiting: Vec::new(),
            at: 0,
            from: 0,
            position: 0,
            prelude: 0,
            has_started: false,
            sent_until: 0,
            reached: 0,
            bytes: TransferBytes::default(),
        }))
    }

    /// Returns true if another connection can continue where this one was cut off: for all sources
    /// but standard input and pipes.
    pub(super) fn is_repeatable(&self) -> bool {
        self.manifest.is_some() && self.transfer.bytes.is_some()
    }

    /// Returns the bytes of all files; `None` if unknown.
    pub(super) fn total(&self) -> Option<u64> {
        self.transfer.bytes
    }

    /// Returns true if the current connection, with this many acknowledged bytes of its stream, has
    /// come further than all earlier ones.
    pub(super) fn reaches(&mut self, acknowledged: u64) -> bool {
        let position = self.position_of(acknowledged);
        let is_sending = matches!(self.stage, Stage::Reading(_) | Stage::Read);
        let is_further = is_sending && position > self.reached;
        if is_further {
            self.reached = position;
        }
        is_further
    }

    /// Returns the position that follows this many bytes of the current connection's stream.
    fn position_of(&self, stream_bytes: u64) -> u64 {
        self.position + stream_bytes.saturating_sub(self.prelude)
    }

    /// Returns the bytes of files before the position at which the current connection started.
    pub(super) fn from(&self) -> u64 {
        self.from
    }

    /// Returns the files that could not be sent or were not kept, except whole arguments.
    pub(super) fn problems(&self) -> Vec<(PathBuf, String)> {
        let Some(manifest) = &self.manifest else { return Vec::new() };
        let failed = self.failed.iter().filter(|(number, _)| manifest.parent(**number).is_some());
        let failed = failed.map(|(number, why)| (manifest.path(*number), why.clone()));
        manifest.problems.iter().cloned().chain(failed).collect()
    }

    /// Forgets which files were kept, and the records queued for the previous connection. The next
    /// connection's receiver reports again what it keeps.
    pub(super) fn forget_receiver(&mut self) {
        self.stage = Stage::Before;
        self.waiting.clear();
        self.at = 0;
        self.failed.clear();
        for file in &mut self.files {
            (file.kept, file.problem) = (None, None);
        }
    }

    /// Announces the transfer to the receiver of a new connection.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub(super) fn on_connected(&mut self, waker: Waker) -> Result<(), RealTimeError> {
        self.waiting.clear();
        self.at = 0;
        if !self.transfer.resumable && self.has_started {
            self.transfer.id =
                random_id().map_err(|error| RealTimeError::Message(error.to_string()))?;
        }
        Record::Transfer(self.transfer).write(&mut self.waiting);
        if self.transfer.resumable {
            self.stage = Stage::Asking;
            return Ok(());
        }
        let unsettled = self.files.iter().position(|file| !file.is_settled());
        let mut entry = 1;
        if let (Some(manifest), Some(argument)) = (&self.manifest, unsettled) {
            while entry < manifest.len() && manifest.argument(entry) < argument {
                entry += 1;
            }
        }
        self.read_from(Start { entry, beginnings: Vec::new() }, waker)
    }

    /// Starts reading at `start`.
    fn read_from(&mut self, start: Start, waker: Waker) -> Result<(), RealTimeError> {
        (self.from, self.position, self.prelude) = match (&self.manifest, &self.positions) {
            (Some(manifest), Some(positions)) => (
                manifest.start(start.entry),
                positions.start(manifest, start.entry),
                positions.prelude(manifest, start.entry),
            ),
            _ => (0, 0, self.waiting.len() as u64),
        };
        // The position within the file is known after the beginnings were compared.
        if start.beginnings.is_empty() {
            self.on_start();
        }
        let input = match &self.manifest {
            None => Input::Standard,
            Some(manifest) => Input::Manifest(Arc::clone(manifest), start),
        };
        self.stage = Stage::Reading(Reader::start(input, waker)?);
        Ok(())
    }

    /// Notes that the current connection sends from its position on.
    fn on_start(&mut self) {
        match self.has_started {
            false => self.bytes.resumed = self.from,
            true => self.bytes.repeated += self.sent_until.saturating_sub(self.position),
        }
        self.has_started = true;
        self.sent_until = self.sent_until.max(self.position);
    }

    /// Continues at the entry that the receiver names.
    ///
    /// # Errors
    /// The receiver's answer is invalid, or the system cannot create a thread.
    pub(super) fn on_resume(&mut self, resume: Resume, waker: Waker) -> Result<(), RealTimeError> {
        let (Stage::Asking, Some(manifest)) = (&self.stage, &self.manifest) else { return Ok(()) };
        if resume.complete {
            // The receiver's message may have had no room for all paths.
            let places = resume.places.iter().map(|place| paceline_wire::printable(place));
            let places = places.chain(std::iter::repeat("kept before".to_string()));
            for (file, place) in self.files.iter_mut().zip(places) {
                file.kept.get_or_insert(place);
            }
            self.bytes.skipped = !self.has_started;
            self.from = manifest.bytes();
            if let Some(positions) = &self.positions {
                self.position = positions.end();
                self.prelude = positions.prelude(manifest, manifest.len() + 1);
            }
            self.on_start();
            self.stage = Stage::Read;
            return Ok(());
        }
        if !(1..=manifest.len() + 1).contains(&resume.entry) {
            return Err(RealTimeError::Message(format!(
                "the receiver asks for entry {} of {}, which does not exist: do both ends have the same version?",
                resume.entry,
                manifest.len()
            )));
        }
        let size = manifest.version(resume.entry).map_or(0, |version| version.size);
        let beginning = |(length, hash): &(u64, String)| Some((*length, read_hash(hash)?));
        let beginnings = resume.beginnings.iter().filter_map(beginning);
        let beginnings = beginnings.filter(|(length, _)| (1..=size).contains(length)).collect();
        self.read_from(Start { entry: resume.entry, beginnings }, waker)
    }

    /// Returns true once everything was handed to the connection.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Read) && self.at == self.waiting.len()
    }

    /// Returns true once each argument was kept or has failed.
    pub(super) fn is_settled(&self) -> bool {
        self.files.iter().all(SentFile::is_settled)
    }

    /// Returns true if every argument has failed.
    pub(super) fn has_failed(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(|file| file.problem.is_some())
    }

    /// Notes whether the receiver keeps the entry with this number; number 0 means all arguments
    /// that are not settled. The rest of an entry that is not kept is not sent.
    pub(super) fn on_note(&mut self, number: u32, kept: Result<String, String>) {
        match kept {
            Err(why) if number == 0 => {
                for file in self.files.iter_mut().filter(|file| !file.is_settled()) {
                    file.problem = Some(why.clone());
                }
                self.stage = Stage::Read;
            }
            Err(why) => {
                if let Stage::Reading(reader) = &self.stage {
                    reader.give_up(number);
                }
                self.fail(number, why);
            }
            Ok(place) => {
                if let Some(file) = self.argument(number)
                    && !file.is_settled()
                {
                    file.kept = Some(place);
                }
            }
        }
    }

    /// Returns the argument with this entry number, if the entry is an argument.
    fn argument(&mut self, number: u32) -> Option<&mut SentFile> {
        match &self.manifest {
            None => self.files.first_mut().filter(|_| number == 1),
            Some(manifest) => match (1..=manifest.len()).contains(&number) {
                true if manifest.parent(number).is_none() => {
                    self.files.get_mut(manifest.argument(number))
                }
                _ => None,
            },
        }
    }

    /// Notes that an entry is not kept. The first reason stays.
    fn fail(&mut self, number: u32, why: String) {
        let why = self.failed.entry(number).or_insert(why).clone();
        if let Some(file) = self.argument(number)
            && !file.is_settled()
        {
            file.problem = Some(why);
        }
    }

    /// Moves bytes from the reader to the connection, as many as fit.
    pub(super) fn pump(&mut self, to: &mut Connection) {
        loop {
            let left = self.waiting.get(self.at..).unwrap_or(&[]);
            self.at += to.write(left);
            if self.at < self.waiting.len() {
                return;
            }
            self.waiting.clear();
            self.at = 0;
            let Stage::Reading(reader) = &self.stage else { return };
            match reader.take() {
                None => return,
                Some(Chunk::Records { bytes, unlisted, entry }) => {
                    self.waiting = bytes;
                    if unlisted > 0
                        && let Some(file) = self.files.get_mut(match &self.manifest {
                            Some(manifest) => manifest.argument(entry),
                            None => 0,
                        })
                    {
                        file.bytes += unlisted;
                    }
                }
                Some(Chunk::GoesOn(offset)) => {
                    self.from += offset;
                    self.position += offset;
                    self.on_start();
                }
                Some(Chunk::Problem { entry, text }) => self.fail(entry, text),
                Some(Chunk::End) => self.stage = Stage::Read,
                Some(Chunk::Failed) => {
                    self.on_note(0, Err("reading has failed at this end".into()))
                }
            }
        }
    }

    /// Notes that the current connection is over, after `stream_bytes` bytes of its stream were
    /// sent.
    pub(super) fn on_lost(&mut self, stream_bytes: u64) {
        if matches!(self.stage, Stage::Reading(_) | Stage::Read) {
            self.sent_until = self.sent_until.max(self.position_of(stream_bytes));
        }
        self.stage = Stage::Before;
    }
}
