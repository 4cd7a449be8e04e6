//! Names below `.paceline`, and the disk space of an entry.

use std::ffi::OsString;

use paceline_wire::records::Hash;

use super::journal::hex;

/// Name of the folder with the journals of transfers that are over.
pub(super) const FINISHED: &str = "finished";

/// Name of the folder of staged entries.
pub(super) const TREE: &str = "tree";

/// Bytes that each file, folder and link counts beside a file's content, for its name, its inode
/// and the unused part of its last block. So a million empty files count 4 GB.
pub(super) const ENTRY: u64 = 4096;

/// Returns the name of a transfer's folder.
pub(super) fn folder_name(id: &Hash) -> OsString {
    OsString::from(hex(id.get(..16).unwrap_or(id)))
}
