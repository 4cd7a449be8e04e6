//! The folders of this user for what does not outlive the running system.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// The running kernel's identifier, which no other start of the system has.
pub fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_string()
}

/// The folders for what does not outlive this system's run, the preferred one first: what systemd has made for a unit,
/// root's, or this user's own.
pub fn run_folders() -> Vec<PathBuf> {
    let of_unit = std::env::var_os("RUNTIME_DIRECTORY").filter(|path| !path.is_empty());
    let of_unit = of_unit.and_then(|paths| std::env::split_paths(&paths).next());
    of_unit.into_iter().chain(folders()).collect()
}

/// The folders in which records may lie, the preferred one first: root's does not outlive the
/// running system, users' is their own.
pub fn folders() -> Vec<PathBuf> {
    let user = geteuid();
    let mut found = Vec::new();
    if user.is_root() {
        found.push(PathBuf::from("/run/paceline"));
    } else if let Some(own) = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        found.push(PathBuf::from(own).join("paceline"));
    }
    found.push(std::env::temp_dir().join(format!("paceline-{user}")));
    found
}

/// Whether a folder is this user's and nobody else can write it. A link to one is none.
pub fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}
