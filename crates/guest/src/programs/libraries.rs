//! Finds the libraries that a program needs, as the host's loader would (`ld.so(8)`), without
//! running anything.

use std::fs;
use std::path::{Path, PathBuf};

use super::elf::{self, Elf, Kind};

/// Folders in which loaders look by themselves: those of glibc on Debian, on Fedora, and of musl.
const STANDARD: [&str; 7] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];
/// Configuration of glibc's loader.
const CONFIGURATION: &str = "/etc/ld.so.conf";
/// Folders of musl's loader.
const MUSL: &str = "/etc/ld-musl-x86_64.path";
/// Most levels of included configuration files.
const MOST_LEVELS: u32 = 4;

/// Returns the folders of the host's loader.
pub(super) fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    configured(Path::new(CONFIGURATION), MOST_LEVELS, &mut folders);
    let musl = fs::read_to_string(MUSL).unwrap_or_default();
    folders.extend(musl.split([':', '\n']).filter(|it| it.starts_with('/')).map(PathBuf::from));
    folders.extend(STANDARD.map(PathBuf::from));
    folders
}

/// Adds the folders of a configuration file, and of those that it includes. Files that cannot be read
/// are left out, as the loader's cache has been made without them.
fn configured(file: &Path, levels: u32, folders: &mut Vec<PathBuf>) {
    let text = fs::read_to_string(file).unwrap_or_default();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.split_once(char::is_whitespace) {
            Some(("include", pattern)) if levels > 0 => {
                for file in matching(file, pattern.trim()) {
                    configured(&file, levels - 1, folders);
                }
            }
            _ if line.starts_with('/') => folders.push(line.into()),
            _ => {}
        }
    }
}

/// Returns the files of a pattern such as `ld.so.conf.d/*.conf`, in order; its folder has no `*`.
fn matching(beside: &Path, pattern: &str) -> Vec<PathBuf> {
    let path = beside.parent().unwrap_or(Path::new("/")).join(pattern);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((start, end)) = name.split_once('*') else { return vec![path] };
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
        .collect();
    files.sort();
    files
}

/// A library: its name for the loader, its path on the host, and its content.
pub(super) struct Library {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
}

/// Finds all libraries that the program at `path` needs, and those that they need, without those in
/// `known`.
///
/// # Errors
/// A library is missing; the error names it.
pub(super) fn find(
    path: &Path,
    program: &Elf,
    system: &[PathBuf],
    known: &[String],
) -> Result<Vec<Library>, String> {
    let mut found: Vec<Library> = Vec::new();
    let own = searched(path, program);
    let mut waiting: Vec<(String, Vec<PathBuf>)> =
        program.needed.iter().rev().map(|name| (name.clone(), own.clone())).collect();
    while let Some((name, first)) = waiting.pop() {
        if known.contains(&name) || found.iter().any(|library| library.name == name) {
            continue;
        }
        let candidates = match name.contains('/') {
            true => vec![PathBuf::from(&name)],
            false => first.iter().chain(&own).chain(system).map(|it| it.join(&name)).collect(),
        };
        let usable = candidates.into_iter().find_map(|path| {
            let content = fs::read(&path).ok()?;
            let Kind::Elf(elf) = elf::read(&content) else { return None };
            Some((path, content, elf))
        });
        let Some((path, content, elf)) = usable else {
            return Err(format!(
                "{}: needs the library {name}, which this machine does not have; install it, link the \
                 program statically, or give a whole file system with root",
                path.display()
            ));
        };
        let folders = searched(&path, &elf);
        waiting.extend(elf.needed.into_iter().rev().map(|name| (name, folders.clone())));
        found.push(Library { name, path, content });
    }
    Ok(found)
}

/// Returns the folders that a file names for its libraries.
fn searched(path: &Path, elf: &Elf) -> Vec<PathBuf> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let origin = real.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let expanded = |folder: &String| {
        folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).replace("$LIB", "lib64")
    };
    elf.folders.iter().map(|folder| PathBuf::from(expanded(folder))).collect()
}
