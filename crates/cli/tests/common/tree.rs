//! Trees of folders on the disk: makes them for tests, and compares them.
#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Properties of a file, folder or link: kind, mode, time of modification, content or target, and
/// the first of its names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    kind: &'static str,
    mode: u32,
    mtime: (i64, i64),
    content: Vec<u8>,
    /// Path of the first name of a file with several hard links.
    first: Option<PathBuf>,
}

/// Returns a folder and everything below it, by paths from it.
pub(crate) fn tree(top: &Path) -> BTreeMap<PathBuf, Found> {
    let mut found = BTreeMap::new();
    let mut firsts: BTreeMap<u64, PathBuf> = BTreeMap::new();
    let mut paths = vec![top.to_path_buf()];
    while let Some(path) = paths.pop() {
        let about = path.symlink_metadata().expect("it is there");
        let below = path.strip_prefix(top).expect("below").to_path_buf();
        let (kind, content) = match about.file_type() {
            kind if kind.is_dir() => {
                let mut names: Vec<_> = path
                    .read_dir()
                    .expect("a folder")
                    .map(|entry| entry.expect("an entry").path())
                    .collect();
                names.sort_by(|one, other| other.cmp(one));
                paths.extend(names);
                ("folder", Vec::new())
            }
            kind if kind.is_symlink() => {
                let target = path.read_link().expect("a link");
                ("link", target.as_os_str().as_bytes().to_vec())
            }
            kind if kind.is_file() => ("file", std::fs::read(&path).expect("a file")),
            _ => ("other", Vec::new()),
        };
        let several = kind == "file" && about.nlink() > 1;
        let first = several.then(|| firsts.entry(about.ino()).or_insert(below.clone()).clone());
        let mode = if kind == "link" { 0 } else { about.mode() & 0o777 };
        let mtime = (about.mtime(), about.mtime_nsec());
        found.insert(below, Found { kind, mode, mtime, content, first });
    }
    found
}

/// Asserts that two folders are equal.
pub(crate) fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (tree(one), tree(other));
    let names = |tree: &BTreeMap<PathBuf, Found>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for (path, found) in &one {
        assert!(*found == other[path], "{}: {found:?} {:?}", path.display(), other[path]);
    }
}

/// Sets a time of modification long ago; `seconds` since 1970.
pub(crate) fn set_mtime(path: &Path, seconds: u64, nanoseconds: u32) {
    let file = File::open(path).expect("it can be opened");
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    file.set_modified(time).expect("a time");
}

/// Makes a folder with all that folders may have: names of all kinds, modes, times, links, empty
/// folders.
pub(crate) fn make(top: &Path) {
    for folder in ["", "sub/deeper/deepest", "empty", "read-only", "no-contents-listed"] {
        std::fs::create_dir_all(top.join(folder)).expect("a folder");
    }
    let odd = OsStr::from_bytes(b"bytes \xff\xfe");
    for (name, length) in [
        (OsStr::new("a"), 10),
        (OsStr::new("a.b"), 0),
        (OsStr::new("with space"), 1),
        (OsStr::new("Gr\u{fc}\u{df}e *.txt"), 70_000),
        (OsStr::new("sub/deeper/deepest/file"), 300_000),
        (OsStr::new("sub/zero"), 0),
        (OsStr::new("read-only/file"), 5),
        (odd, 7),
    ] {
        let content: Vec<u8> = (0..length).map(|n: u32| (n / 7) as u8 ^ n as u8).collect();
        std::fs::write(top.join(name), content).expect("a file");
    }
    std::fs::hard_link(top.join("a"), top.join("sub/same as a")).expect("a link");
    std::fs::hard_link(top.join("sub/deeper/deepest/file"), top.join("z")).expect("a link");
    symlink("../a", top.join("sub/link")).expect("a link");
    symlink("nowhere", top.join("dangling")).expect("a link");
    let mode = |name: &str, mode| {
        std::fs::set_permissions(top.join(name), Permissions::from_mode(mode)).expect("a mode");
    };
    mode("a", 0o600);
    mode("a.b", 0o755);
    mode("with space", 0o444);
    mode("empty", 0o700);
    mode("read-only", 0o555);
    set_mtime(&top.join("a.b"), 1_000_000_000, 123_456_789);
    for folder in ["sub/deeper/deepest", "sub/deeper", "sub", "empty", ""] {
        set_mtime(&top.join(folder), 1_234_567_890, 5);
    }
}
