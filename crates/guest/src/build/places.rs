//! Folders of guests, sources and object files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

use super::error::{BuildError, at};

/// Environment variable with the folder of the guest.
const VARIABLE: &str = "PACELINE_LINUX";
/// Prefix of the names of guests' folders in the cache.
const GUEST: &str = "linux";

/// Returns `paceline` in `$XDG_CACHE_HOME`, or else `~/.cache/paceline`.
///
/// # Errors
/// Neither `$XDG_CACHE_HOME` nor `$HOME` is set.
pub fn cache() -> Result<PathBuf, BuildError> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    // The kernel's build accepts only absolute paths.
    let cache = cache.and_then(|cache| std::path::absolute(cache.join("paceline")).ok());
    cache.ok_or_else(|| {
        BuildError::Unusable(
            "there is no folder for what is built: set HOME or XDG_CACHE_HOME".into(),
        )
    })
}

/// Returns the folder in which the simulator looks for a guest by default: `$PACELINE_LINUX`, or
/// else `linux` in the cache.
///
/// # Errors
/// As for [`cache`].
pub fn default_guest() -> Result<PathBuf, BuildError> {
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(cache()?.join(GUEST)),
    }
}

/// Returns the folders of guests that have a manifest: the default one first, then `linux*` in the
/// cache.
///
/// # Errors
/// As for [`cache`].
pub fn guests() -> Result<Vec<PathBuf>, BuildError> {
    let mut found = vec![default_guest()?];
    let mut cached = Vec::new();
    for entry in fs::read_dir(cache()?).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(GUEST) {
            cached.push(entry.path());
        }
    }
    cached.sort();
    found.extend(cached);
    found.retain(|folder| folder.join("manifest.json").is_file());
    let mut seen = Vec::new();
    found.retain(|folder| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let is_new = !seen.contains(&real);
        seen.push(real);
        is_new
    });
    Ok(found)
}

/// A lock on a folder: one process at a time builds there.
pub(super) struct Lock(#[expect(dead_code, reason = "unlocked when it is closed")] File);

impl Lock {
    /// Waits until no other process builds in `folder`.
    pub(super) fn take(folder: &Path) -> Result<Lock, BuildError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let path = folder.join("paceline.lock");
        let file = File::create(&path).map_err(at(&path))?;
        file.lock().map_err(at(&path))?;
        Ok(Lock(file))
    }
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a file under a temporary name and renames it, so that no reader sees half of it.
pub(super) fn write_whole(path: &Path, bytes: &[u8], is_program: bool) -> Result<(), BuildError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".new-{}", std::process::id()));
    let new = path.with_file_name(name);
    let mode = if is_program { 0o755 } else { 0o644 };
    fs::write(&new, bytes)
        .and_then(|()| fs::set_permissions(&new, fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&new, path))
        .inspect_err(|_| drop(fs::remove_file(&new)))
        .map_err(at(path))
}
