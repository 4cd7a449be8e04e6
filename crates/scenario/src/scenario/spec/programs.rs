//! Programs of the user's at the hosts of a flow.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Programs that run at the two hosts of a flow, and the files that they find there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Programs {
    /// Program of the sending host and its arguments, in place of the flow's workload; an empty list runs
    /// nothing, and `None` the workload.
    pub sender: Option<Vec<String>>,
    /// Program of the receiving host and its arguments; `None` for a program that reads all data.
    pub receiver: Option<Vec<String>>,
    /// The program that runs before the flow starts.
    pub listens: Listens,
    /// Files and folders for both hosts: `"FILE"` or `"FILE:PLACE"`.
    pub files: Vec<String>,
    /// Folder with the whole file system of both hosts; `None` for a file system with the programs and
    /// their libraries.
    pub root: Option<PathBuf>,
    /// Additional environment of the programs.
    pub environment: BTreeMap<String, String>,
    /// Folder to which names of files are relative, if they exist there; `None` for the current folder.
    pub folder: Option<PathBuf>,
}

/// Program of a flow that starts before the run begins; the other one starts with the flow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Listens {
    /// The receiving host's program starts first.
    #[default]
    Receiver,
    /// The sending host's program starts first.
    Sender,
    /// Both programs start with the flow.
    Neither,
}

impl Programs {
    /// Creates the description of hosts without programs.
    pub fn new() -> Programs {
        Programs::default()
    }

    /// Returns the description with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Programs)) -> Programs {
        change(&mut self);
        self
    }
}
