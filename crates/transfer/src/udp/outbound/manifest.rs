//! The list of what a transfer sends: the arguments and the contents of folders, in the order of
//! the wire format.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use paceline_os::RealTimeError;
use paceline_wire::records::{
    Content, DEEPEST_PATH, Entry, LONGEST_NAME, LONGEST_PATH, LONGEST_TARGET, ManifestHash, Mtime,
    Transfer, random_id,
};

/// Transfers with fewer bytes start sending without waiting for the receiver's answer.
const SMALL: u64 = 64 << 10;
/// Bytes that each entry counts beside its content, when a transfer is compared with [`SMALL`].
const ENTRY_COST: u64 = 128;
/// Maximum number of entries of a transfer.
const MOST_ENTRIES: usize = 50_000_000;
/// Parent of top-level entries.
const NO_PARENT: u32 = u32::MAX;

/// Identifies a file's content: size, modification time (mtime), and time of the last inode change
/// (ctime).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) size: u64,
    mtime: Mtime,
    /// In nanoseconds since 1970.
    ctime: i128,
}

impl Version {
    pub(super) fn of(about: &Metadata) -> Version {
        let mtime = Mtime { seconds: about.mtime(), nanoseconds: about.mtime_nsec() as u32 };
        let ctime = i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec());
        Version { size: about.len(), mtime, ctime }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A regular file.
    File,
    /// A pipe or a device that was given as an argument. Its size is unknown, and it cannot be read
    /// again.
    Pipe,
    Folder,
    /// A symbolic link: offset and length of its target in the texts.
    Symlink(u32, u16),
    /// Another name of an earlier entry.
    HardLink(u32),
}

/// An entry. About 90 bytes, plus the bytes of its name.
#[derive(Clone, Debug)]
struct Item {
    /// Index of the folder that contains it.
    parent: u32,
    /// Index of the argument that it belongs to.
    argument: u32,
    name: (u32, u16),
    kind: Kind,
    mode: u16,
    version: Version,
}

/// All entries of a transfer, and the files that are left out.
#[derive(Debug)]
pub(super) struct Manifest {
    arguments: Vec<PathBuf>,
    items: Vec<Item>,
    /// Names and link targets, concatenated.
    texts: Vec<u8>,
    /// Files that cannot be sent, each with the reason.
    pub(super) problems: Vec<(PathBuf, String)>,
    /// The record that announces the transfer to the receiver.
    pub(super) transfer: Transfer,
    /// Bytes of all files before each entry.
    starts: Vec<u64>,
}

impl Manifest {
    /// Lists the files of `arguments`. An argument that is a symbolic link is followed; links
    /// within folders are sent as links.
    ///
    /// # Errors
    /// An argument does not exist or has no name.
    pub(super) fn of(arguments: &[PathBuf]) -> Result<Manifest, RealTimeError> {
        let mut walk = Walk {
            items: Vec::new(),
            texts: Vec::new(),
            problems: Vec::new(),
            first_names: HashMap::new(),
        };
        for (index, argument) in arguments.iter().enumerate() {
            walk.argument(index as u32, argument)?;
        }
        let Walk { items, texts, problems, .. } = walk;
        let no_transfer = Transfer { id: [0; 32], resumable: false, entries: 1, bytes: None };
        let arguments = arguments.to_vec();
        let mut manifest = Manifest {
            arguments,
            items,
            texts,
            problems,
            transfer: no_transfer,
            starts: Vec::new(),
        };
        let mut total = 0;
        for item in &manifest.items {
            manifest.starts.push(total);
            total += item.bytes();
        }
        let has_pipes = manifest.items.iter().any(|item| item.kind == Kind::Pipe);
        let cost = total.saturating_add(ENTRY_COST * manifest.items.len() as u64);
        let resumable = !has_pipes && cost >= SMALL;
        manifest.transfer = Transfer {
            id: if resumable {
                manifest.id()
            } else {
                random_id().map_err(|error| RealTimeError::Message(error.to_string()))?
            },
            resumable,
            entries: manifest.len().max(1),
            bytes: (!has_pipes).then_some(total),
        };
        Ok(manifest)
    }

    /// Gives a small transfer an id, by which the receiver recognizes it. A transfer with pipes
    /// gets none.
    pub(super) fn make_resumable(&mut self) {
        if self.transfer.bytes.is_some() && !self.transfer.resumable {
            (self.transfer.id, self.transfer.resumable) = (self.id(), true);
        }
    }

    fn id(&self) -> [u8; 32] {
        let mut hash = ManifestHash::default();
        let mut path = Vec::new();
        for number in 1..=self.len() {
            if let (Some(entry), Some(item)) = (self.entry(number, 0, &mut path), self.item(number))
            {
                let is_file = item.kind == Kind::File;
                hash.update(&entry, if is_file { item.version.ctime } else { 0 });
            }
        }
        hash.finish()
    }

    /// Returns the number of entries, which is the last entry's number.
    pub(super) fn len(&self) -> u32 {
        self.items.len() as u32
    }

    fn item(&self, number: u32) -> Option<&Item> {
        self.items.get((number as usize).checked_sub(1)?)
    }

    fn text(&self, (start, length): (u32, u16)) -> &[u8] {
        let start = start as usize;
        self.texts.get(start..start + usize::from(length)).unwrap_or(&[])
    }

    /// Returns the number of the entry's folder; `None` at the top level.
    pub(super) fn parent(&self, number: u32) -> Option<u32> {
        let parent = self.item(number)?.parent;
        (parent != NO_PARENT).then(|| parent + 1)
    }

    /// Returns the index of the entry's argument.
    pub(super) fn argument(&self, number: u32) -> usize {
        self.item(number).map_or(0, |item| item.argument as usize)
    }

    /// Returns the bytes of all files before an entry.
    pub(super) fn start(&self, number: u32) -> u64 {
        let start = (number as usize).checked_sub(1).and_then(|index| self.starts.get(index));
        start.copied().unwrap_or_else(|| self.bytes())
    }

    /// Returns the bytes of all files of known size.
    pub(super) fn bytes(&self) -> u64 {
        self.items.last().map_or(0, Item::bytes) + self.starts.last().copied().unwrap_or(0)
    }

    /// Returns true for a regular file, a pipe or a device, whose bytes are sent.
    pub(super) fn is_file(&self, number: u32) -> bool {
        self.item(number).is_some_and(|item| matches!(item.kind, Kind::File | Kind::Pipe))
    }

    pub(super) fn is_folder(&self, number: u32) -> bool {
        self.item(number).is_some_and(|item| item.kind == Kind::Folder)
    }

    /// Returns the version of a regular file at the time of listing; `None` for pipes.
    pub(super) fn version(&self, number: u32) -> Option<Version> {
        self.item(number).filter(|item| item.kind == Kind::File).map(|item| item.version)
    }

    /// Returns the entry's path on this machine.
    pub(super) fn path(&self, number: u32) -> PathBuf {
        let (mut names, mut at) = (Vec::new(), number);
        while let (Some(item), Some(parent)) = (self.item(at), self.parent(at)) {
            names.push(self.text(item.name));
            at = parent;
        }
        let mut path = self.arguments.get(self.argument(number)).cloned().unwrap_or_default();
        path.extend(names.into_iter().rev().map(OsStr::from_bytes));
        path
    }

    /// Returns the entry as a record, whose path is written into `place`.
    pub(super) fn entry<'a>(
        &'a self,
        number: u32,
        offset: u64,
        place: &'a mut Vec<u8>,
    ) -> Option<Entry<'a>> {
        let item = self.item(number)?;
        let (mut names, mut at) = (vec![self.text(item.name)], number);
        while let Some(parent) = self.parent(at) {
            names.push(self.text(self.item(parent)?.name));
            at = parent;
        }
        place.clear();
        for name in names.into_iter().rev() {
            if !place.is_empty() {
                place.push(b'/');
            }
            place.extend(name);
        }
        let is_pipe = item.kind == Kind::Pipe;
        let content = match item.kind {
            // Files of /proc report a size of zero.
            Kind::File | Kind::Pipe => {
                let size = item.version.size;
                Content::File { size: (!is_pipe && size > 0).then_some(size), offset }
            }
            Kind::Folder => Content::Folder,
            Kind::Symlink(start, length) => Content::Symlink { target: self.text((start, length)) },
            Kind::HardLink(target) => Content::HardLink { target },
        };
        Some(Entry {
            number,
            is_top_level: item.parent == NO_PARENT,
            mode: (!is_pipe).then_some(item.mode),
            mtime: (!is_pipe).then_some(item.version.mtime),
            path: place,
            content,
        })
    }
}

impl Item {
    /// Returns the size with which the entry is listed.
    fn bytes(&self) -> u64 {
        if self.kind == Kind::File { self.version.size } else { 0 }
    }
}

/// Recursive listing of the arguments.
struct Walk {
    items: Vec<Item>,
    texts: Vec<u8>,
    problems: Vec<(PathBuf, String)>,
    /// Entry numbers of files with several names, by device and inode.
    first_names: HashMap<(u64, u64), u32>,
}

/// A folder whose contents are being listed.
struct OpenFolder {
    index: u32,
    path: PathBuf,
    /// Length of its path in the transfer, in bytes, and its depth there.
    length: usize,
    depth: usize,
    /// Names in it that are still to be listed, in reverse order.
    names: Vec<Vec<u8>>,
}

impl Walk {
    fn argument(&mut self, index: u32, path: &Path) -> Result<(), RealTimeError> {
        let fail = || RealTimeError::system(format!("{}: cannot be sent", path.display()));
        let about = path.metadata().map_err(fail())?;
        let name = match path.file_name() {
            Some(name) => name.to_owned(),
            // The canonical path gives `.` and `..` a name.
            None => match path.canonicalize().map_err(fail())?.file_name() {
                Some(name) => name.to_owned(),
                None => {
                    let text = format!("{}: has no name; name its entries instead", path.display());
                    return Err(RealTimeError::Message(text));
                }
            },
        };
        let kind = match about.is_file() {
            true => self.file_kind(&about),
            false if about.is_dir() => Kind::Folder,
            false => Kind::Pipe,
        };
        let top = self.add(index, NO_PARENT, name.as_bytes(), kind, &about)?;
        if kind != Kind::Folder {
            return Ok(());
        }
        let length = name.as_bytes().len();
        let mut folders = vec![self.open(top, path.to_path_buf(), length, 1)];
        while let Some(folder) = folders.last_mut() {
            let Some(name) = folder.names.pop() else {
                folders.pop();
                continue;
            };
            let path = folder.path.join(OsStr::from_bytes(&name));
            let (parent, length, depth) =
                (folder.index, folder.length + 1 + name.len(), folder.depth + 1);
            if length > LONGEST_PATH || depth > DEEPEST_PATH || name.len() > LONGEST_NAME {
                self.problems.push((path, "left out: its path is too long".into()));
                continue;
            }
            let about = match path.symlink_metadata() {
                Ok(about) => about,
                Err(error) => {
                    self.problems.push((path, format!("left out: cannot be read: {error}")));
                    continue;
                }
            };
            let kind = match self.kind(&path, &about) {
                Ok(kind) => kind,
                Err(text) => {
                    self.problems.push((path, format!("left out: {text}")));
                    continue;
                }
            };
            let entry = self.add(index, parent, &name, kind, &about)?;
            if kind == Kind::Folder {
                let open = self.open(entry, path, length, depth);
                folders.push(open);
            }
        }
        Ok(())
    }

    /// Returns the kind of a regular file: a hard link if another of its names is listed.
    fn file_kind(&mut self, about: &Metadata) -> Kind {
        if about.nlink() < 2 {
            return Kind::File;
        }
        let number = self.items.len() as u32 + 1;
        match *self.first_names.entry((about.dev(), about.ino())).or_insert(number) {
            first if first == number => Kind::File,
            first => Kind::HardLink(first),
        }
    }

    fn kind(&mut self, path: &Path, about: &Metadata) -> Result<Kind, String> {
        let file_type = about.file_type();
        if file_type.is_file() {
            return Ok(self.file_kind(about));
        }
        if file_type.is_dir() {
            return Ok(Kind::Folder);
        }
        if !file_type.is_symlink() {
            return Err("it is not a file, folder or link, but a pipe, a socket or a device".into());
        }
        let target = path.read_link().map_err(|error| format!("cannot be read: {error}"))?;
        let target = target.as_os_str().as_bytes();
        if !(1..=LONGEST_TARGET).contains(&target.len()) {
            return Err("the target of this link is too long".into());
        }
        let (start, length) = self.text(target).map_err(|error| error.to_string())?;
        Ok(Kind::Symlink(start, length))
    }

    fn text(&mut self, text: &[u8]) -> Result<(u32, u16), RealTimeError> {
        let start = u32::try_from(self.texts.len());
        let start = start.map_err(|_| {
            RealTimeError::Message("there are too many files: send them in several runs".into())
        })?;
        self.texts.extend(text);
        Ok((start, text.len() as u16))
    }

    /// Adds an entry. Returns its index.
    fn add(
        &mut self,
        argument: u32,
        parent: u32,
        name: &[u8],
        kind: Kind,
        about: &Metadata,
    ) -> Result<u32, RealTimeError> {
        if self.items.len() >= MOST_ENTRIES {
            return Err(RealTimeError::Message(format!(
                "these are more than {MOST_ENTRIES} files: send them in several runs"
            )));
        }
        let name = self.text(name)?;
        let (mode, version) = ((about.mode() & 0o777) as u16, Version::of(about));
        self.items.push(Item { parent, argument, name, kind, mode, version });
        Ok(self.items.len() as u32 - 1)
    }

    /// Lists a folder's names. A folder that cannot be read stays empty.
    fn open(&mut self, index: u32, path: PathBuf, length: usize, depth: usize) -> OpenFolder {
        let mut names = Vec::new();
        let read = path.read_dir().and_then(|entries| {
            for entry in entries {
                names.push(entry?.file_name().as_bytes().to_vec());
            }
            Ok(())
        });
        if let Err(error) = read {
            self.problems.push((path.clone(), format!("incomplete: cannot be read: {error}")));
        }
        names.sort_unstable_by(|one, other| other.cmp(one));
        OpenFolder { index, path, length, depth, names }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("paceline-manifest-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    fn paths(manifest: &Manifest) -> Vec<String> {
        let mut place = Vec::new();
        (1..=manifest.len())
            .map(|number| {
                let entry = manifest.entry(number, 0, &mut place).expect("an entry");
                String::from_utf8_lossy(entry.path).into_owned()
            })
            .collect()
    }

    #[test]
    fn entries_are_sorted_and_folders_come_before_their_contents() {
        let top = folder("sorted");
        for name in ["t/b/z", "t/b/a", "t/a-b", "t/a/x", "t/B"] {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, name).expect("a file");
        }
        std::fs::create_dir(top.join("t/empty")).expect("a folder");
        symlink("../elsewhere", top.join("t/link")).expect("a link");
        std::fs::hard_link(top.join("t/a/x"), top.join("t/same")).expect("a link");
        let status = std::process::Command::new("mkfifo").arg(top.join("t/pipe")).status();
        assert!(status.expect("mkfifo").success());
        std::fs::set_permissions(top.join("t/B"), Permissions::from_mode(0o4751)).expect("mode");
        symlink(top.join("t"), top.join("to-t")).expect("a link");
        let manifest = Manifest::of(&[top.join("t/B"), top.join("to-t")]).expect("a list");
        let expected = [
            "B",
            "to-t",
            "to-t/B",
            "to-t/a",
            "to-t/a/x",
            "to-t/a-b",
            "to-t/b",
            "to-t/b/a",
            "to-t/b/z",
            "to-t/empty",
            "to-t/link",
            "to-t/same",
        ];
        assert_eq!(paths(&manifest), expected);
        let mut place = Vec::new();
        let first = manifest.entry(1, 0, &mut place).expect("an entry");
        assert_eq!((first.mode, first.is_top_level), (Some(0o751), true));
        assert_eq!(first.content, Content::File { size: Some(3), offset: 0 });
        let link = manifest.entry(11, 0, &mut place).expect("an entry");
        assert_eq!(link.content, Content::Symlink { target: b"../elsewhere" });
        let hard = manifest.entry(12, 0, &mut place).expect("an entry");
        assert_eq!(hard.content, Content::HardLink { target: 5 });
        assert_eq!(manifest.path(9), top.join("to-t/b/z"));
        assert_eq!((manifest.parent(9), manifest.parent(2)), (Some(7), None));
        // One name of the first file is a top-level entry.
        assert_eq!((manifest.bytes(), manifest.start(5)), (26, 6));
        assert_eq!(manifest.problems.len(), 1);
        assert!(manifest.problems[0].1.contains("a pipe"), "{:?}", manifest.problems);
        assert!(!manifest.transfer.resumable && manifest.transfer.entries == 12);
        std::fs::remove_dir_all(&top).expect("removed");
    }

    #[test]
    fn the_id_stays_until_something_changes() {
        let top = folder("id");
        std::fs::create_dir(top.join("t")).expect("a folder");
        std::fs::write(top.join("t/large"), vec![1; 100_000]).expect("a file");
        let id = || Manifest::of(&[top.join("t")]).expect("a list").transfer.id;
        let first = id();
        assert_eq!(id(), first);
        std::fs::write(top.join("t/new"), b"").expect("a file");
        let second = id();
        assert_ne!(second, first);
        // The new content has the same size and mtime.
        let about = top.join("t/large").metadata().expect("a file");
        std::fs::write(top.join("t/large"), vec![2; 100_000]).expect("a file");
        let file = std::fs::File::options().write(true).open(top.join("t/large")).expect("a file");
        file.set_modified(about.modified().expect("a time")).expect("a time");
        assert_ne!(id(), second);
        std::fs::remove_dir_all(&top).expect("removed");
    }

    #[test]
    fn arguments_without_a_name_get_their_folders() {
        let top = folder("dots");
        std::fs::create_dir_all(top.join("a/b")).expect("folders");
        let manifest = Manifest::of(&[top.join("a/b/..")]).expect("a list");
        assert_eq!(paths(&manifest), ["a", "a/b"]);
        assert!(Manifest::of(&["/".into()]).is_err());
        let missing = Manifest::of(&[top.join("missing")]).expect_err("it is not there");
        assert!(missing.to_string().contains("missing: cannot be sent"), "{missing}");
        std::fs::remove_dir_all(&top).expect("removed");
    }
}
