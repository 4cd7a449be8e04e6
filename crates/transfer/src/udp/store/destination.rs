//! Where entries at the top level get their names.

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

/// Most entries that one name and its numbered forms give a place to.
const MOST_NUMBERS: u32 = 10_000;

/// The folder of finished entries.
pub(super) struct Destination {
    pub(super) folder: Folder,
    /// Its path, as the user gave it.
    path: PathBuf,
    /// Name of the file that all files become in turn, if the user gave one.
    file: Option<OsString>,
    /// Longest name in bytes that its file system takes.
    pub(super) longest: usize,
}

impl Destination {
    /// Opens the folder, and makes it if it is missing. With `file` all files get this name.
    ///
    /// # Errors
    /// It cannot be made or opened.
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

    /// Opens the folder of a client in this one, and makes it if it is missing.
    ///
    /// # Errors
    /// It cannot be made or opened, or a link or a file has its name.
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

    /// Returns the names of the entries that are kept here.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn kept_names(&self) -> io::Result<Vec<OsString>> {
        self.file.as_ref().map_or_else(|| self.folder.names(), |file| Ok(vec![file.clone()]))
    }

    /// Makes sure that an entry is of a kind that is kept here.
    ///
    /// # Errors
    /// The text is for the sender.
    pub(super) fn takes(&self, entry: &Entry<'_>) -> Result<(), Problem> {
        match entry.content {
            Content::Folder | Content::Symlink { .. } if self.file.is_some() => {
                let text = "the receiver keeps a file under a name that it was given (`recv -o FILE`): for folders \
                    and links give it a folder, `recv -o DIR/`";
                Err(Problem::Entry(text.into()))
            }
            _ => Ok(()),
        }
    }

    /// The names that an entry may get, the best first.
    pub(super) fn candidates(&self, name: &OsStr) -> impl Iterator<Item = OsString> + use<> {
        let (longest, is_fixed) = (self.longest, self.file.is_some());
        let name = self.file.clone().unwrap_or_else(|| name.to_os_string());
        let numbers = 0..if is_fixed { 1 } else { MOST_NUMBERS };
        numbers.map(move |number| match number {
            0 => fit(&name, "", longest),
            number => fit(&name, &format!(".{number}"), longest),
        })
    }

    /// True if nothing has this name, or if what has it is to be replaced.
    pub(super) fn is_free(&self, name: &OsStr) -> bool {
        self.file.is_some() || self.folder.status(name).is_err()
    }

    /// Returns true if an entry that its sender calls `name` may have got the name `place` here: one of
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

    /// True if there is an entry of this name.
    pub(super) fn has(&self, name: &JournalPath) -> bool {
        self.folder.status(OsStr::from_bytes(&name.0)).is_ok()
    }

    /// Moves a staged entry to its name.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name is taken; or the file system refuses.
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

    /// The path of an entry of this name, for people.
    pub(super) fn text(&self, name: &JournalPath) -> String {
        self.path.join(OsStr::from_bytes(&name.0)).display().to_string()
    }
}
