//! A finished guest: its files, and the manifest that describes it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{BuildError, at};
use super::places::{sha256, write_whole};
use super::probe::Boot;
use super::run::{command, output};
use super::source::Tree;

/// Files in a guest's folder (PROTOCOL.md).
pub(super) const KERNEL: &str = "linux";
pub(super) const INITRAMFS: &str = "initramfs.cpio.gz";
const MANIFEST: &str = "manifest.json";
/// The kernel's configuration, for users to read.
const CONFIG: &str = "config";
/// Paths of the object files and of the kernel's tree, for modules. They are not in the manifest,
/// because results do not depend on folders.
const BUILD_TREE: &str = "build-tree";

/// Returns the first 12 digits of a hash, for descriptions.
pub(crate) fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// A built guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BuiltGuest {
    /// The guest's folder.
    pub folder: PathBuf,
    /// Description of the guest.
    #[serde(flatten)]
    pub manifest: Manifest,
}

/// Description of a guest, as in `manifest.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Version of the protocol that its `/init` speaks.
    pub protocol: u16,
    /// The kernel's release.
    pub version: String,
    /// SHA-256 of the kernel, in hexadecimal digits.
    pub kernel_sha256: String,
    /// SHA-256 of the initramfs, in hexadecimal digits.
    pub initramfs_sha256: String,
    /// SHA-256 of the kernel's configuration, in hexadecimal digits.
    pub config_sha256: String,
    /// Names in `tcp_available_congestion_control`.
    pub schemes: Vec<String>,
    /// Ticks of the kernel's timer per second (`CONFIG_HZ`).
    #[serde(default)]
    pub hz: u32,
    /// The kernel's source: the package and its version, or the revision of the user's tree.
    #[serde(default)]
    pub source: String,
    /// Compiler that built it.
    #[serde(default)]
    pub compiler: String,
}

impl BuiltGuest {
    /// Reads the guest in `folder`.
    ///
    /// # Errors
    /// There is no guest, or its manifest is invalid.
    pub fn read(folder: &Path) -> Result<BuiltGuest, BuildError> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|error| {
            BuildError::Unusable(format!(
                "{}: {error}: build a guest with `paceline linux build`",
                path.display()
            ))
        })?;
        let manifest = serde_json::from_str(&text)
            .map_err(|error| BuildError::Unusable(format!("{}: {error}", path.display())))?;
        Ok(BuiltGuest { folder: folder.to_path_buf(), manifest })
    }

    /// Returns the paths of the guest's kernel and initramfs.
    pub fn files(&self) -> (PathBuf, PathBuf) {
        (self.folder.join(KERNEL), self.folder.join(INITRAMFS))
    }

    /// Returns a description for results: the release, and the first 12 digits of each hash.
    pub fn describe(&self) -> String {
        let Manifest { version, kernel_sha256, initramfs_sha256, .. } = &self.manifest;
        let (kernel, initramfs) = (short(kernel_sha256), short(initramfs_sha256));
        format!("Linux {version}, kernel {kernel}, initramfs {initramfs}")
    }

    /// Compares the guest's files with the hashes in the manifest.
    ///
    /// # Errors
    /// A file has another hash, or cannot be read.
    pub fn verify(&self) -> Result<(), BuildError> {
        let (kernel, initramfs) = self.files();
        let Manifest { kernel_sha256, initramfs_sha256, .. } = &self.manifest;
        for (path, hash) in [(kernel, kernel_sha256), (initramfs, initramfs_sha256)] {
            let bytes = fs::read(&path).map_err(at(&path))?;
            if sha256(&bytes) != *hash {
                return Err(BuildError::Unusable(format!(
                    "{}: is not the file of the manifest: build the guest again with `paceline linux build`",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Returns the folders of the object files and of the kernel's tree.
    pub(super) fn build_tree(&self) -> Result<(PathBuf, PathBuf), BuildError> {
        let path = self.folder.join(BUILD_TREE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines().map(PathBuf::from);
        match (lines.next(), lines.next()) {
            (Some(place), Some(tree)) if place.is_dir() && tree.is_dir() => Ok((place, tree)),
            _ => Err(BuildError::Unusable(format!(
                "{}: what this guest was built from is not here any more, and modules need it: build the guest again \
                 with `paceline linux build`",
                self.folder.display()
            ))),
        }
    }
}

/// Writes a guest's files into its folder, the manifest last.
pub(super) fn keep(
    folder: &Path,
    tree: &Tree,
    place: &Path,
    hz: u32,
    kernel: &Path,
    initramfs: &Path,
    booted: &Boot,
) -> Result<BuiltGuest, BuildError> {
    let read = |path: &Path| fs::read(path).map_err(at(path));
    let config = place.join(".config");
    let (kernel, initramfs, config) = (read(kernel)?, read(initramfs)?, read(&config)?);
    let mut gcc = command("gcc");
    gcc.arg("--version");
    let compiler = output(gcc).unwrap_or_default().lines().next().unwrap_or_default().to_string();
    let manifest = Manifest {
        protocol: booted.protocol,
        version: booted.release.clone(),
        kernel_sha256: sha256(&kernel),
        initramfs_sha256: sha256(&initramfs),
        config_sha256: sha256(&config),
        schemes: booted.schemes.clone(),
        hz,
        source: tree.origin.clone(),
        compiler,
    };
    let mut text = serde_json::to_string_pretty(&manifest)
        .map_err(|error| BuildError::Unusable(format!("the manifest: {error}")))?;
    text.push('\n');
    fs::create_dir_all(folder).map_err(at(folder))?;
    // While files are replaced there is no manifest, so readers find no guest.
    let path = folder.join(MANIFEST);
    if path.exists() {
        fs::remove_file(&path).map_err(at(&path))?;
    }
    let build_tree = format!("{}\n{}\n", place.display(), tree.path.display());
    write_whole(&folder.join(KERNEL), &kernel, true)?;
    write_whole(&folder.join(INITRAMFS), &initramfs, false)?;
    write_whole(&folder.join(CONFIG), &config, false)?;
    write_whole(&folder.join(BUILD_TREE), build_tree.as_bytes(), false)?;
    write_whole(&path, text.as_bytes(), false)?;
    Ok(BuiltGuest { folder: folder.to_path_buf(), manifest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_kept_and_read_again() {
        let base = std::env::temp_dir().join(format!("paceline-manifest-{}", std::process::id()));
        let (place, folder) = (base.join("place"), base.join("guest"));
        fs::create_dir_all(&place).expect("a folder");
        for (name, text) in [(".config", "c"), ("k", "kernel"), ("i", "init")] {
            fs::write(place.join(name), text).expect("a file");
        }
        let tree = Tree { path: place.clone(), origin: "linux-source-6.12 6.12.1-1".into() };
        let booted = Boot {
            protocol: 1,
            release: "6.12.1".into(),
            schemes: vec!["reno".into()],
            ..Boot::default()
        };
        let keep =
            || keep(&folder, &tree, &place, 250, &place.join("k"), &place.join("i"), &booted);
        let kept = keep().expect("a guest");
        assert_eq!(keep().expect("once more"), kept);
        let read = BuiltGuest::read(&folder).expect("a guest");
        assert_eq!(read, kept);
        read.verify().expect("the files that were built");
        assert_eq!(read.build_tree().expect("a tree"), (place.clone(), place.clone()));
        let text = fs::read_to_string(folder.join(MANIFEST)).expect("a manifest");
        assert!(!text.contains("paceline-manifest"), "{text}");
        fs::write(folder.join(KERNEL), "another").expect("a file");
        let error = read.verify().expect_err("another kernel").to_string();
        assert!(error.contains("linux: is not the file"), "{error}");
        fs::remove_dir_all(&place).expect("the folder");
        let error = read.build_tree().expect_err("no tree").to_string();
        assert!(error.contains("build the guest again"), "{error}");
        fs::remove_dir_all(&base).expect("the folder");
        let error = BuiltGuest::read(&folder).expect_err("no guest").to_string();
        assert!(error.contains("paceline linux build"), "{error}");
    }
}
