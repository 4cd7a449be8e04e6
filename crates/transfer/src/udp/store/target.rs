//! Targets of what a receiver writes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The target of received files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This file, whatever the sender calls it.
    File(PathBuf),
    /// This folder; each entry keeps its name.
    Folder(PathBuf),
    /// Standard output: one sender at a time, one file at a time.
    Output,
    /// No target: files are only checked.
    Nowhere,
}

impl Target {
    /// Returns the target's folder, and the file's name in it if the user gave one.
    pub(super) fn place(&self) -> Option<(&Path, Option<&OsStr>)> {
        match self {
            Target::Folder(path) => Some((path, None)),
            Target::File(path) => Some((path.parent().unwrap_or(Path::new("")), path.file_name())),
            Target::Output | Target::Nowhere => None,
        }
    }
}

/// Unfinished transfers in a folder.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Number of unfinished transfers.
    pub transfers: usize,
    /// Bytes of their files that are on the disk.
    pub bytes: u64,
}
