//! Hashes of files and of lists of entries.

use ring::digest::{Context, SHA256};

use super::Entry;
use crate::key::{KeyError, random};

/// A SHA-256.
pub type Hash = [u8; 32];

/// Returns a random id, for a transfer that is not resumable.
///
/// # Errors
/// If the system gives no random numbers.
pub fn random_id() -> Result<Hash, KeyError> {
    random()
}

fn finish(context: Context) -> Hash {
    context.finish().as_ref().first_chunk().copied().unwrap_or([0; 32])
}

/// Length and hash of a whole file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Length in bytes.
    pub length: u64,
    /// SHA-256 of all bytes.
    pub hash: Hash,
}

impl Whole {
    /// Returns the length and hash that close a folder or a link: length 0 and the hash of no
    /// bytes.
    pub fn of_nothing() -> Whole {
        FileHash::default().whole()
    }
}

/// Length and hash of the first bytes of a file. A clone continues from the length at which it was
/// made.
#[derive(Clone)]
pub struct FileHash {
    context: Context,
    length: u64,
}

impl Default for FileHash {
    fn default() -> FileHash {
        FileHash { context: Context::new(&SHA256), length: 0 }
    }
}

impl FileHash {
    /// Adds the next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.length += bytes.len() as u64;
    }
    /// Returns the number of bytes so far.
    pub fn length(&self) -> u64 {
        self.length
    }
    /// Returns the length and hash of the bytes so far.
    pub fn whole(&self) -> Whole {
        Whole { length: self.length, hash: finish(self.context.clone()) }
    }
}

/// Computes the id of a transfer: SHA-256 over all entries as records, without offsets.
pub struct ManifestHash {
    context: Context,
    place: Vec<u8>,
}

impl Default for ManifestHash {
    fn default() -> ManifestHash {
        ManifestHash { context: Context::new(&SHA256), place: Vec::new() }
    }
}

impl ManifestHash {
    /// Adds an entry. `version` distinguishes contents of equal size and time of modification, for
    /// example by the time of the inode's last change; 0 if there is no such value.
    pub fn update(&mut self, entry: &Entry<'_>, version: i128) {
        self.place.clear();
        super::Record::Entry(entry.at(0)).write(&mut self.place);
        self.place.extend(version.to_be_bytes());
        self.context.update(&self.place);
    }
    /// Returns the id.
    pub fn finish(self) -> Hash {
        finish(self.context)
    }
}
