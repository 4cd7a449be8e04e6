//! Transfers that are not kept in a folder: their files go to standard output one after the other,
//! or are only checked.

use std::sync::Arc;

use paceline_wire::records::{Content, Entry, FileHash, Transfer, Whole};

use super::Store;
use super::output::NOT_WRITTEN;
use super::problem::{Problem, transfer_problem};
use super::staging::{News, not_whole};
use crate::udp::note::Resume;

/// A transfer to standard output, or one that is only checked.
pub(super) struct Passing {
    store: Arc<Store>,
    /// The connection, if files go to standard output.
    output: Option<u64>,
    /// The file that is being received, unless it is refused.
    current: Option<FileHash>,
    /// Numbers of the open folders, outermost first. Standard output takes no files of folders.
    folders: Vec<u32>,
    /// Bytes of the current top-level entry so far.
    bytes: u64,
    /// True once an entry is not kept.
    pub(super) has_failed: bool,
    pub(super) news: Vec<News>,
}

impl Passing {
    /// Begins a transfer to standard output. Also returns where it continues.
    ///
    /// # Errors
    /// Another transfer has standard output.
    pub(super) fn to_output(
        store: &Arc<Store>,
        connection: u64,
        transfer: &Transfer,
    ) -> Result<(Passing, Resume), &'static str> {
        let resume = store.output.begin(connection, transfer)?;
        Ok((Passing::new(store, Some(connection)), resume))
    }

    /// Begins a transfer that is only checked.
    pub(super) fn to_nowhere(store: &Arc<Store>) -> Passing {
        Passing::new(store, None)
    }

    fn new(store: &Arc<Store>, output: Option<u64>) -> Passing {
        Passing {
            store: Arc::clone(store),
            output,
            current: None,
            folders: Vec::new(),
            bytes: 0,
            has_failed: false,
            news: Vec::new(),
        }
    }

    fn fail(&mut self, entry: u32, text: &str) {
        self.has_failed = true;
        self.news.push(News::Failed { entry, text: text.into(), before: false });
    }

    /// Begins an entry.
    ///
    /// # Errors
    /// The transfer cannot continue.
    pub(super) fn on_entry(&mut self, entry: &Entry<'_>) -> Result<(), Problem> {
        if entry.is_top_level {
            self.bytes = 0;
        }
        let is_in_folder = !self.folders.is_empty();
        if entry.content == Content::Folder {
            self.folders.push(entry.number);
        }
        if self.output.is_some() && is_in_folder {
            self.fail(entry.number, "the folder that it is in is not kept");
            return Ok(());
        }
        let Content::File { offset, .. } = entry.content else {
            if self.output.is_some() {
                let text = "the receiver writes to standard output (`recv -o -`), which takes files only: send an \
                    archive, or let the receiver keep a folder";
                self.fail(entry.number, text);
            }
            return Ok(());
        };
        self.current = match self.output {
            Some(_) => self.store.output.written(entry.number, offset),
            None => (offset == 0).then(FileHash::default),
        };
        if self.current.is_some() {
            return Ok(());
        }
        let number = entry.number;
        let text = format!("entry {number} goes on at byte {offset}, which was not offered");
        Err(Problem::Transfer(text))
    }

    /// Handles the next bytes of the file.
    ///
    /// # Errors
    /// The transfer cannot continue.
    pub(super) fn on_piece(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Some(hash) = &mut self.current else { return Ok(()) };
        if let Some(connection) = self.output {
            self.store.output.write(connection, bytes).map_err(|error| match error {
                Some(error) => transfer_problem(NOT_WRITTEN)(error),
                None => Problem::TakenOver,
            })?;
        }
        hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Ends an entry.
    pub(super) fn on_close(&mut self, number: u32, whole: Option<Whole>) {
        let is_folder = self.folders.pop_if(|last| *last == number).is_some();
        if let (Some(connection), false) = (self.output, is_folder) {
            self.store.output.end_entry(connection, number);
        }
        match self.current.take() {
            Some(hash) if whole == Some(hash.whole()) => {}
            Some(_) => return self.fail(number, not_whole(whole)),
            // Standard output takes no folders and links.
            None if self.output.is_some() => return,
            None => {}
        }
        if self.folders.is_empty() {
            let place = match self.output {
                Some(_) => "standard output",
                None => "/dev/null",
            };
            let (entry, place, bytes) = (number, place.into(), self.bytes);
            self.news.push(News::Kept { entry, place, bytes, before: false });
        }
    }

    /// Handles the end of the transfer.
    pub(super) fn on_end(&mut self) {
        if let Some(connection) = self.output {
            self.store.output.finish(connection);
        }
    }

    /// Handles the end of the connection.
    pub(super) fn end(&self) {
        if let Some(connection) = self.output {
            self.store.output.end(connection);
        }
    }
}
