//! Files of the page.

use std::path::{Component, Path, PathBuf};

use super::http::Refusal;

/// The folder of a page. Browsers may read all files in it.
#[derive(Clone, Debug)]
pub(super) struct Files {
    folder: PathBuf,
}

impl Files {
    /// Opens the page in this folder, if there is one.
    pub(super) fn open(folder: &Path) -> Option<Files> {
        let folder = folder.canonicalize().ok()?;
        folder.join("index.html").is_file().then_some(Files { folder })
    }

    /// Returns the folder's path.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the bytes of a file and its media type; `path` begins with `/`.
    ///
    /// # Errors
    /// The path leads out of the folder, also by a link, or names no file.
    pub(super) fn read(&self, path: &str) -> Result<(Vec<u8>, &'static str), Refusal> {
        const NONE: Refusal = Refusal(404, "there is no such file");
        let relative = Path::new(path.trim_start_matches('/'));
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if path.contains('\\') || !relative.components().all(plain) {
            return Err(Refusal(403, "a path must not lead out of the page"));
        }
        let mut file = self.folder.join(relative);
        if file.is_dir() {
            file.push("index.html");
        }
        let file = file.canonicalize().map_err(|_| NONE)?;
        if !file.starts_with(&self.folder) {
            return Err(Refusal(403, "a path must not lead out of the page"));
        }
        let kind = kind(&file);
        match std::fs::read(&file) {
            Ok(bytes) => Ok((bytes, kind)),
            Err(_) => Err(NONE),
        }
    }
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
