//! The file system of a host with programs, as the simulator hands it to the guest: an archive that
//! the kernel unpacks into its memory.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::cpio::{Archive, DEVICE, FILE, FOLDER, LINK};

/// Most bytes of all files: the archive, and its files once unpacked, share the guest's 256 MB with
/// its programs.
const MOST_BYTES: u64 = 64 << 20;
/// Most files, folders and links.
const MOST_ENTRIES: usize = 50_000;

/// Folders that distributions have under several names, and the one name that they have here.
const SAME_FOLDERS: [(&str, &str); 7] = [
    ("lib/x86_64-linux-gnu", "lib"),
    ("lib64", "lib"),
    ("usr/bin", "bin"),
    ("usr/lib", "lib"),
    ("usr/lib64", "lib"),
    ("usr/lib/x86_64-linux-gnu", "lib"),
    ("usr/sbin", "sbin"),
];

#[derive(Debug)]
enum Entry {
    Folder(u32),
    File { content: Vec<u8>, is_executable: bool },
    Link(Vec<u8>),
    Device(u32, u32),
}

/// A file system under construction; names have no slash at their beginning.
#[derive(Debug, Default)]
pub(super) struct Tree {
    entries: BTreeMap<Vec<u8>, Entry>,
    bytes: u64,
    /// True if it has the folders of [`SAME_FOLDERS`].
    has_links: bool,
}

impl Tree {
    /// Creates a file system with the folders and files that programs expect.
    pub(super) fn usual(hosts: &str) -> Tree {
        let mut tree = Tree { has_links: true, ..Tree::default() };
        for folder in ["bin", "lib", "sbin"] {
            tree.folder(folder.as_bytes().to_vec(), 0o755);
        }
        // Links stand before the files below them, and after their targets, in the order of names.
        let links = [
            ("lib/x86_64-linux-gnu", "."),
            ("lib64", "lib"),
            ("usr/bin", "/bin"),
            ("usr/lib", "/lib"),
            ("usr/lib64", "/lib"),
            ("usr/sbin", "/sbin"),
        ];
        for (name, target) in links {
            tree.parents(name.as_bytes());
            tree.entries.insert(name.into(), Entry::Link(target.into()));
        }
        tree.basics(hosts);
        tree
    }

    /// Adds those of the folders, devices and files that every host has and that are missing.
    pub(super) fn basics(&mut self, hosts: &str) {
        const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
                              www-data:x:33:33:www-data:/var/www:/bin/false\n\
                              nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
        const GROUP: &str = "root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\nnobody:x:65534:\n";
        let folders = [
            ("dev/pts", 0o755),
            ("dev/shm", 0o1777),
            ("proc", 0o555),
            ("root", 0o700),
            ("run", 0o755),
            ("sys", 0o555),
            ("tmp", 0o1777),
            ("var/log", 0o755),
            ("var/tmp", 0o1777),
            ("work", 0o755),
        ];
        for (name, mode) in folders {
            self.folder(name.into(), mode);
        }
        let devices = [("full", 7), ("null", 3), ("random", 8), ("urandom", 9), ("zero", 5)];
        for (name, minor) in devices {
            self.entries.insert(format!("dev/{name}").into(), Entry::Device(1, minor));
        }
        let links = [
            ("dev/fd", "/proc/self/fd"),
            ("dev/stderr", "/proc/self/fd/2"),
            ("dev/stdin", "/proc/self/fd/0"),
            ("dev/stdout", "/proc/self/fd/1"),
        ];
        for (name, target) in links {
            self.entries.insert(name.into(), Entry::Link(target.into()));
        }
        let files = [
            ("etc/group", GROUP),
            ("etc/hosts", hosts),
            ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
            ("etc/passwd", PASSWD),
        ];
        for (name, text) in files {
            if !self.has(name) {
                // Four short files are always within the limits.
                let _ = self.file(name, text.into(), false);
            }
        }
    }

    /// Returns the name under which a path stands here.
    pub(super) fn name_of(&self, path: &str) -> Result<Vec<u8>, String> {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                return Err(format!("{path}: a place at a host has no .. in it"));
            }
            parts.push(part);
        }
        let name = parts.join("/");
        let below = |(from, to): &(&str, &str)| {
            let rest = name.strip_prefix(from)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (from.len(), format!("{to}{rest}")))
        };
        // The longest of several is the one that a library's path needs.
        let same = SAME_FOLDERS.iter().filter_map(below).max_by_key(|(length, _)| *length);
        Ok(match same {
            Some((_, name)) if self.has_links => name.into(),
            _ => name.into(),
        })
    }

    /// True if it has a file, folder, link or device at this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.name_of(path).is_ok_and(|name| self.entries.contains_key(&name))
    }

    /// Returns the content of the file at this path, and whether it may be executed. Follows links.
    pub(super) fn read(&self, path: &str) -> Option<(&[u8], bool)> {
        let mut name = self.name_of(path).ok()?;
        // As many links in one name as Linux follows.
        for _ in 0..40 {
            match self.entries.get(&name) {
                Some(Entry::File { content, is_executable }) => {
                    return Some((content, *is_executable));
                }
                Some(Entry::Link(target)) => name = followed(&name, target, &[]),
                Some(_) => return None,
                None => {
                    // One of the folders above may be a link.
                    let is_link =
                        |at: &usize| matches!(self.entries.get(&name[..*at]), Some(Entry::Link(_)));
                    let slashes = (0..name.len()).filter(|at| name[*at] == b'/');
                    let at = slashes.into_iter().find(is_link)?;
                    let Some(Entry::Link(target)) = self.entries.get(&name[..at]) else {
                        return None;
                    };
                    name = followed(&name[..at], target, &name[at..]);
                }
            }
        }
        None
    }

    fn folder(&mut self, name: Vec<u8>, mode: u32) {
        self.parents(&name);
        self.entries.entry(name).or_insert(Entry::Folder(mode));
    }

    /// Adds the folders above a name.
    fn parents(&mut self, name: &[u8]) {
        for at in (0..name.len()).filter(|at| name[*at] == b'/') {
            self.entries.entry(name[..at].to_vec()).or_insert(Entry::Folder(0o755));
        }
    }

    /// Adds a file, in place of one that was there.
    ///
    /// # Errors
    /// The files are too large together, or too many.
    pub(super) fn file(
        &mut self,
        path: &str,
        content: Vec<u8>,
        is_executable: bool,
    ) -> Result<(), String> {
        let name = self.name_of(path)?;
        if name.is_empty() {
            return Err(format!("`{path}` is not the place of a file"));
        }
        self.put(name, content, is_executable)
    }

    fn put(&mut self, name: Vec<u8>, content: Vec<u8>, is_executable: bool) -> Result<(), String> {
        self.bytes += content.len() as u64;
        self.parents(&name);
        self.entries.insert(name, Entry::File { content, is_executable });
        self.check()
    }

    fn check(&self) -> Result<(), String> {
        if self.bytes > MOST_BYTES || self.entries.len() > MOST_ENTRIES {
            return Err(format!(
                "the files of a host are more than {} MB, or more than {MOST_ENTRIES}; give it fewer",
                MOST_BYTES >> 20
            ));
        }
        Ok(())
    }

    /// Copies a file, or a folder with all below it, to `path`. Symbolic links below the folder stay links;
    /// sockets, pipes and devices are left out.
    ///
    /// # Errors
    /// It cannot be read, or the limits are exceeded.
    pub(super) fn copy(&mut self, from: &Path, path: &str) -> Result<(), String> {
        let failed = |error| format!("{}: {error}", from.display());
        let metadata = fs::metadata(from).map_err(failed)?;
        let name = self.name_of(path)?;
        if metadata.is_dir() {
            if !name.is_empty() {
                self.folder(name.clone(), 0o755);
            }
            return self.below(from, &name);
        }
        if name.is_empty() {
            return Err(format!("{}: `{path}` is not the place of a file", from.display()));
        }
        if !metadata.is_file() {
            return Err(format!("{}: is neither a file nor a folder", from.display()));
        }
        self.copy_file(from, &metadata, name)
    }

    fn copy_file(&mut self, from: &Path, metadata: &Metadata, name: Vec<u8>) -> Result<(), String> {
        // A file of many gigabytes is not read.
        if metadata.len() > MOST_BYTES {
            self.bytes += metadata.len();
            return self.check().map_err(|error| format!("{}: {error}", from.display()));
        }
        let content = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
        self.put(name, content, metadata.permissions().mode() & 0o111 != 0)
    }

    fn below(&mut self, folder: &Path, name: &[u8]) -> Result<(), String> {
        let mut waiting: Vec<(PathBuf, Vec<u8>)> = vec![(folder.into(), name.into())];
        while let Some((folder, name)) = waiting.pop() {
            let failed = |error| format!("{}: {error}", folder.display());
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let path = entry.path();
                let metadata = entry.metadata().map_err(failed)?;
                let mut name = name.clone();
                if !name.is_empty() {
                    name.push(b'/');
                }
                name.extend(entry.file_name().as_bytes());
                if metadata.is_dir() {
                    self.folder(name.clone(), metadata.permissions().mode() & 0o1777);
                    waiting.push((path, name));
                } else if metadata.is_symlink() {
                    let target = fs::read_link(&path).map_err(failed)?;
                    self.parents(&name);
                    self.entries.insert(name, Entry::Link(target.as_os_str().as_bytes().into()));
                } else if metadata.is_file() {
                    self.copy_file(&path, &metadata, name)?;
                }
                self.check()?;
            }
        }
        Ok(())
    }

    /// Returns the archive of all files.
    pub(super) fn archive(&self) -> Vec<u8> {
        let mut archive = Archive::default();
        for (name, entry) in &self.entries {
            match entry {
                Entry::Folder(mode) => archive.add(name, FOLDER | mode, (0, 0), &[]),
                Entry::Link(target) => archive.add(name, LINK | 0o777, (0, 0), target),
                Entry::Device(major, minor) => {
                    archive.add(name, DEVICE | 0o666, (*major, *minor), &[]);
                }
                Entry::File { content, is_executable } => {
                    let mode = if *is_executable { 0o755 } else { 0o644 };
                    archive.add(name, FILE | mode, (0, 0), content);
                }
            }
        }
        archive.finish()
    }
}

/// Returns the name to which a link at `link` with this target leads, with `rest` behind it.
fn followed(link: &[u8], target: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = link.split(|byte| *byte == b'/').collect();
    parts.pop();
    if target.first() == Some(&b'/') {
        parts.clear();
    }
    for part in target.split(|byte| *byte == b'/').chain(rest.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_folder_are_one() {
        let mut tree = Tree::usual("");
        for path in ["/usr/lib/x86_64-linux-gnu/a.so", "lib64/a.so", "/lib/./a.so"] {
            assert_eq!(tree.name_of(path), Ok(b"lib/a.so".to_vec()), "{path}");
        }
        assert_eq!(tree.name_of("/usr/share/x"), Ok(b"usr/share/x".to_vec()));
        assert_eq!(tree.name_of("/usr/library/x"), Ok(b"usr/library/x".to_vec()));
        assert!(tree.name_of("/a/../b").is_err());
        tree.file("/usr/bin/tool", b"1".to_vec(), true).expect("a file");
        assert_eq!(tree.read("/bin/tool"), Some((&b"1"[..], true)));
        assert!(tree.file("/", Vec::new(), false).is_err());
    }

    #[test]
    fn a_folder_is_copied_with_its_links() {
        let folder = std::env::temp_dir().join(format!("paceline-tree-{}", std::process::id()));
        fs::create_dir_all(folder.join("usr/bin")).expect("a folder");
        fs::write(folder.join("usr/bin/box"), "program").expect("a file");
        fs::set_permissions(folder.join("usr/bin/box"), fs::Permissions::from_mode(0o755))
            .expect("permissions");
        std::os::unix::fs::symlink("usr/bin", folder.join("bin")).expect("a link");
        std::os::unix::fs::symlink("box", folder.join("usr/bin/sh")).expect("a link");
        std::os::unix::fs::symlink("loop", folder.join("loop")).expect("a link");
        let mut tree = Tree::default();
        tree.copy(&folder, "/").expect("a copy");
        tree.basics("");
        assert_eq!(tree.read("/bin/sh"), Some((&b"program"[..], true)));
        assert_eq!(tree.read("/bin/none"), None);
        assert_eq!(tree.read("/loop"), None);
        assert!(tree.has("/etc/passwd") && !tree.archive().is_empty());
        assert!(tree.copy(&folder.join("none"), "/x").is_err());
        fs::remove_dir_all(&folder).expect("the folder");
    }
}
