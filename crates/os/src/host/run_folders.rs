//! Folders of this user for files that are valid until the system is started anew.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// Returns the boot identifier, which is different after each start of the system.
pub fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_string()
}

/// Returns the folders for sockets and records of this run of the system, the preferred one first: that of a systemd
/// unit, root's, or this user's own.
pub fn run_folders() -> Vec<PathBuf> {
    let of_unit = std::env::var_os("RUNTIME_DIRECTORY").filter(|path| !path.is_empty());
    let of_unit = of_unit.and_then(|paths| std::env::split_paths(&paths).next());
    of_unit.into_iter().chain(folders()).collect()
}

/// Returns the folders for records of shells, the preferred one first: `/run/paceline` for root, the user's runtime
/// folder for others, and one in the temporary folder.
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

/// Returns true if a folder belongs to this user and no other user may write to it. A symbolic link is no folder.
pub fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}
