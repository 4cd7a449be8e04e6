//! The destination folder, and how top-level entries get their names there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{PathconfVar, pathconf};
use paceline_os::folder::{EntryKind, Folder};
use paceline_wire::records::{Content, Entry};

use super::journal::JournalPath;
use super::names::{NAME_MAX, fit, kept_name};
use super::problem::Problem;

/// Maximum number of numbered names that are tried for an entry.
const MOST_NUMBERS: u32 = 10_000;

/// The folder for completed entries.
pub(super) struct Destination {
    pub(super) folder: Folder,
    /// Its path, as the user gave it.
    path: PathBuf,
    /// The name that every file gets, if the user gave one.
    file: Option<OsString>,
    /// Maximum length of a name in bytes on this file system.
    pub(super) longest: usize,
}

impl Destination {
    /// Opens the folder, and creates it if it is missing. With `file`, all files get this name.
    ///
    /// # Errors
    /// The folder cannot be created or opened.
    pub(super) fn open(path: &Path, file: Option<&OsStr>) -> io::Result<Destination> {
        if !path.as_os_str().is_empty() && !path.is_dir() {
            std::fs::create_dir_all(path)?;
            if let Some(parent) = path.parent() {
                Folder::open(parent)?.sync()?;
            }
        }
        let folder = Folder::open(path)?;
        let of = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let longest = pathconf(of, PathconfVar::NAME_MAX).ok().flatten();
        let longest = longest.and_then(|longest| usize::try_from(longest).ok()).unwrap_or(NAME_MAX);
        let file = file.map(OsStr::to_os_string);
        Ok(Destination { folder, path: path.to_path_buf(), file, longest })
    }

    /// Opens a client's folder in this one, and creates it if it is missing.
    ///
    /// # Errors
    /// The folder cannot be created or opened, or a link or a file has its name.
    pub(super) fn of_client(self, client: &str) -> io::Result<Destination> {
        let name = OsStr::new(client);
        match self.folder.make_folder(name, 0o777) {
            Ok(()) => self.folder.sync()?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let folder = self.folder.folder(name)?;
        Ok(Destination { folder, path: self.path.join(name), ..self })
    }

    /// Returns the names of the entries in the folder.
    ///
    /// # Errors
    /// The file system returns an error.
    pub(super) fn kept_names(&self) -> io::Result<Vec<OsString>> {
        self.file.as_ref().map_or_else(|| self.folder.names(), |file| Ok(vec![file.clone()]))
    }

    /// Checks that an entry can be kept here. A single file (`recv -o FILE`) takes only the first
    /// entry of a transfer: a second one would replace it.
    ///
    /// # Errors
    /// The entry is a folder or a link, or not the first one, and all entries get one name. The
    /// text is for the sender.
    pub(super) fn takes(&self, entry: &Entry<'_>) -> Result<(), Problem> {
        match entry.content {
            Content::Folder | Content::Symlink { .. } if self.file.is_some() => {
                let text = "the receiver keeps a file under a name that it was given (`recv -o FILE`): for folders \
                    and links give it a folder, `recv -o DIR/`";
                Err(Problem::Entry(text.into()))
            }
            _ if self.file.is_some() && entry.is_top_level && entry.number > 1 => {
                let text = "the receiver keeps one file under a name that it was given (`recv -o FILE`), the first of \
                    the transfer: for several files give it a folder, `recv -o DIR/`";
                Err(Problem::Entry(text.into()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the names that an entry may get, in order of preference.
    pub(super) fn candidates(&self, name: &OsStr) -> impl Iterator<Item = OsString> + use<> {
        let (longest, is_fixed) = (self.longest, self.file.is_some());
        let name = self.file.clone().unwrap_or_else(|| name.to_os_string());
        let numbers = 0..if is_fixed { 1 } else { MOST_NUMBERS };
        numbers.map(move |number| match number {
            0 => fit(&name, "", longest),
            number => fit(&name, &format!(".{number}"), longest),
        })
    }

    /// Returns true if the name is unused, or if its file is to be replaced.
    pub(super) fn is_free(&self, name: &OsStr) -> bool {
        self.file.is_some() || self.folder.status(name).is_err()
    }

    /// Returns true if `place` is one of the names that an entry called `name` may get here: one of
    /// [`Destination::candidates`].
    pub(super) fn gives(&self, name: &JournalPath, place: &JournalPath) -> bool {
        if let Some(file) = &self.file {
            return file.as_bytes() == place.0;
        }
        let kept = kept_name(&name.0, true);
        let is = |suffix: &str| fit(&kept, suffix, self.longest).as_bytes() == place.0;
        let dot = place.0.iter().rposition(|&byte| byte == b'.');
        let number = dot.and_then(|dot| std::str::from_utf8(place.0.get(dot + 1..)?).ok());
        let number = number.and_then(|number| number.parse().ok());
        let number = number.filter(|number: &u32| (1..MOST_NUMBERS).contains(number));
        is("") || number.is_some_and(|number| is(&format!(".{number}")))
    }

    /// Returns true if an entry with this name exists.
    pub(super) fn has(&self, name: &JournalPath) -> bool {
        self.folder.status(OsStr::from_bytes(&name.0)).is_ok()
    }

    /// Moves a staged entry to its name.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name is taken, or any error of the file system.
    pub(super) fn place(&self, tree: &Folder, staged: &OsStr, name: &OsStr) -> io::Result<()> {
        if self.file.is_none() {
            return tree.rename_new(staged, &self.folder, name);
        }
        if self.folder.status(name).is_ok_and(|status| status.kind == EntryKind::Folder) {
            return Err(io::Error::other(format!(
                "{} is a folder",
                self.path.join(name).display()
            )));
        }
        tree.rename(staged, &self.folder, name)
    }

    /// Returns the path of an entry with this name, for people.
    pub(super) fn text(&self, name: &JournalPath) -> String {
        self.path.join(OsStr::from_bytes(&name.0)).display().to_string()
    }
}
