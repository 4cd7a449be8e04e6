//! Files of the page.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::http::{Coding, FOLDER, Refusal, SINGLE};

/// The page.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    /// A folder. Browsers may read all files in it.
    Folder(PathBuf),
    /// The page in one file, `paceline.html`, that is a part of the program.
    BuiltIn(&'static [u8]),
}

impl fmt::Display for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Files::Folder(folder) => write!(formatter, "{}", folder.display()),
            Files::BuiltIn(_) => {
                formatter.write_str("the page that is a part of this program, without the book")
            }
        }
    }
}

impl Files {
    /// Opens the page in this folder, if there is one.
    pub(super) fn open(folder: &Path) -> Option<Files> {
        let folder = folder.canonicalize().ok()?;
        folder.join("index.html").is_file().then_some(Files::Folder(folder))
    }

    /// Returns the path by which a file's policy is chosen.
    pub(super) fn policy_path<'a>(&self, path: &'a str) -> &'a str {
        match self {
            Files::Folder(_) => path,
            Files::BuiltIn(_) => SINGLE,
        }
    }

    /// Returns a file in one of the accepted codings, or as it is; `path` begins with `/`.
    ///
    /// # Errors
    /// The path leads out of the folder, also by a link, or names no file; [`FOLDER`] if it names a folder without
    /// a `/` at its end.
    pub(super) fn read(&self, path: &str, accepted: &[Coding]) -> Result<File, Refusal> {
        const NONE: Refusal = Refusal(404, "there is no such file");
        let whole = match self {
            Files::Folder(whole) => whole,
            Files::BuiltIn(bytes) if ["/", "/index.html", SINGLE].contains(&path) => {
                let (bytes, kind) = (bytes.to_vec(), kind(Path::new(SINGLE)));
                return Ok(File { bytes, kind, coding: None, varies: false, is_immutable: false });
            }
            Files::BuiltIn(_) => return Err(NONE),
        };
        let relative = Path::new(path.trim_start_matches('/'));
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if path.contains('\\') || !relative.components().all(plain) {
            return Err(Refusal(403, "a path must not lead out of the page"));
        }
        let mut file = whole.join(relative);
        if file.is_dir() {
            file.push("index.html");
            if !path.ends_with('/') && file.is_file() {
                return Err(FOLDER);
            }
        }
        let file = file.canonicalize().map_err(|_| NONE)?;
        if !file.starts_with(whole) {
            return Err(Refusal(403, "a path must not lead out of the page"));
        }
        let coded = |coding: Coding| {
            let mut name = file.clone().into_os_string();
            name.push(".");
            name.push(coding.extension());
            PathBuf::from(name)
        };
        // A coded file that is older than the file itself is of an earlier build, and a link could
        // lead out of the folder.
        let is_usable = |coding: &Coding| {
            let (plain, coded) = (file.metadata(), coded(*coding).symlink_metadata());
            let age =
                |seen: std::io::Result<std::fs::Metadata>| seen.and_then(|seen| seen.modified());
            coded.as_ref().is_ok_and(std::fs::Metadata::is_file)
                && age(plain).is_ok_and(|plain| age(coded).is_ok_and(|coded| coded >= plain))
        };
        let usable: Vec<Coding> = Coding::ALL.into_iter().filter(is_usable).collect();
        let coding = usable.iter().copied().find(|coding| accepted.contains(coding));
        let bytes = std::fs::read(coding.map_or_else(|| file.clone(), coded)).map_err(|_| NONE)?;
        let is_immutable = relative.parent() == Some(Path::new("assets")) && has_hash(&file);
        Ok(File { bytes, kind: kind(&file), coding, varies: !usable.is_empty(), is_immutable })
    }
}

/// A file of the page.
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    /// Media type of the file without its coding.
    pub(super) kind: &'static str,
    pub(super) coding: Option<Coding>,
    /// Whether the file has codings, so that the answer depends on those that a browser accepts.
    pub(super) varies: bool,
    /// Whether the file's name has a hash of its content.
    pub(super) is_immutable: bool,
}

/// Length of the hash in the names of files that vite writes: `worker-Bpx-Zwbc.js`.
const HASH: usize = 8;

/// Returns whether a file's name ends with a hash of its content.
fn has_hash(file: &Path) -> bool {
    let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let Some(start) = name.len().checked_sub(HASH + 1).filter(|at| name.is_char_boundary(*at))
    else {
        return false;
    };
    let (before, hash) = name.split_at(start);
    let is_hash = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    // One hash in 750 has neither a digit nor a capital letter; its file is asked for each time.
    let is_mixed = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    !before.is_empty()
        && hash.starts_with('-')
        && hash[1..].bytes().all(is_hash)
        && hash[1..].bytes().any(is_mixed)
}

/// Returns a file's media type, by its name.
fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("md" | "txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_program_is_one_file() {
        let files = Files::BuiltIn(b"<!doctype html>the page");
        for path in ["/", "/index.html", "/paceline.html"] {
            let file = files.read(path, &Coding::ALL).expect("the page");
            assert!(file.bytes.ends_with(b"the page") && file.coding.is_none(), "{path}");
            assert_eq!((file.kind, files.policy_path(path)), ("text/html; charset=utf-8", SINGLE));
        }
        for path in ["/book/index.html", "/../etc/passwd", "/etc/passwd", "//"] {
            assert_eq!(files.read(path, &[]).err().expect("no file").0, 404, "{path}");
        }
    }
}
