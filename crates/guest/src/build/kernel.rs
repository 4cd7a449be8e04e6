//! The guest's kernel: its own Makefile configures and builds it, in a folder of the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{BuildError, at};
use super::places::{sha256, write_whole};
use super::run::{command, output, run};
use super::source::Tree;
use super::{Order, Progress, config};

/// Default of the ticks per second. TCP's timers count ticks (retransmission, delayed
/// acknowledgements): Fedora, RHEL and Ubuntu since 24.10 have 1000, Debian and older Ubuntu 250.
/// User-Mode Linux' own default is 100.
pub const DEFAULT_HZ: u32 = 1000;
/// Parts of the kernel's version string, which the kernel mixes into its random pool; fixed, so
/// that runs are equal.
const STAMP: [(&str, &str); 4] = [
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("KBUILD_BUILD_USER", "paceline"),
    ("KBUILD_BUILD_HOST", "linux-guest"),
];
const KCONFIG: &str = "Kconfig.guest";

/// Returns the folder of the object files: one per tree, number of ticks and configuration.
pub(super) fn place(cache: &Path, tree: &Tree, hz: u32, own_lines: Option<&str>) -> PathBuf {
    let last = tree.path.file_name().unwrap_or_default().to_string_lossy();
    let plain: String =
        last.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).take(40).collect();
    let key = format!("{}\n{hz}\n{}", tree.path.display(), own_lines.unwrap_or_default());
    let key = &sha256(key.as_bytes())[..10];
    cache.join("kernel-build").join(format!("{plain}-{key}"))
}

/// Returns a command that calls the kernel's Makefile for a build in `place`.
pub(super) fn make(tree: &Path, place: &Path) -> Command {
    let mut make = command("make");
    make.arg("-C").arg(tree).arg("ARCH=um").arg(format!("O={}", place.display()));
    make.envs(STAMP).env("KBUILD_KCONFIG", place.join(KCONFIG));
    make
}

/// Builds the kernel and returns it, stripped, as a file in `place`.
pub(super) fn build(
    tree: &Tree,
    place: &Path,
    order: &Order,
    own_lines: Option<&str>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<PathBuf, BuildError> {
    if place.to_string_lossy().contains([' ', ':']) {
        return Err(BuildError::Unusable(format!(
            "{}: a kernel cannot be built in a folder whose path has spaces or colons: set XDG_CACHE_HOME to another",
            place.display()
        )));
    }
    configure(tree, place, order.hz, own_lines, progress)?;
    progress(Progress::Step("compiling the kernel"));
    let mut make = make(&tree.path, place);
    make.arg(format!("-j{}", order.jobs.max(1))).args(["linux", "modules"]);
    let mut files = 0;
    let mut see = |line: &str| {
        let compiled =
            line.trim_start().strip_prefix("CC ").or(line.trim_start().strip_prefix("AS "));
        if let Some(name) = compiled {
            files += 1;
            progress(Progress::Compiled { files, name: name.trim() });
        }
    };
    let doing = format!("{} cannot be compiled", tree.origin);
    run(make, &doing, &place.join("build.log"), &mut see)?;
    // Removes the symbols of the host's side, which are unused and a third of the file.
    let kernel = place.join("linux.stripped");
    let mut strip = command("strip");
    strip.arg("-o").arg(&kernel).arg(place.join("linux"));
    output(strip)
        .map_err(|said| BuildError::Failed(format!("{}: strip: {said}", kernel.display())))?;
    Ok(kernel)
}

/// Writes the configuration, unless an earlier build in `place` had this one.
fn configure(
    tree: &Tree,
    place: &Path,
    hz: u32,
    own_lines: Option<&str>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), BuildError> {
    let path = tree.path.join("Kconfig");
    let kconfig = fs::read_to_string(&path).map_err(at(&path))?;
    write_if_changed(&place.join(KCONFIG), &config::with_ticks(&kconfig, hz))?;
    let lines = format!("{}\n{}\n", config::OURS, own_lines.unwrap_or_default());
    let lines_are_new = write_if_changed(&place.join("guest.config"), &lines)?;
    let result = place.join(".config");
    if result.is_file() && !lines_are_new {
        return Ok(());
    }
    progress(Progress::Step("configuring the kernel"));
    let mut make = make(&tree.path, place);
    make.env("KCONFIG_ALLCONFIG", place.join("guest.config")).arg("allnoconfig");
    let log = place.join("config.log");
    let configured = run(make, "the kernel cannot be configured", &log, &mut |_| {});
    let lacks = configured.and_then(|()| {
        let text = fs::read_to_string(&result).map_err(at(&result))?;
        let mut lacking: Vec<_> =
            config::lacking(&text).iter().map(|option| format!("CONFIG_{option}")).collect();
        if config::ticks(&text) != Some(hz) {
            lacking.push(format!("CONFIG_HZ={hz}"));
        }
        match lacking.is_empty() {
            true => Ok(()),
            false => Err(BuildError::Unusable(format!(
                "{}: with this configuration the kernel would be no guest: it lacks {}. Take 5.15 or newer, and \
                 --config lines that leave these as they are",
                tree.origin,
                lacking.join(", ")
            ))),
        }
    });
    // The next build must configure again.
    lacks.inspect_err(|_| drop(fs::remove_file(&result)))
}

/// Writes a file if its content differs; returns true if it did. `make` compares the times of
/// files.
fn write_if_changed(path: &Path, text: &str) -> Result<bool, BuildError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    write_whole(path, text.as_bytes(), false)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tree_and_configuration_has_a_folder_of_its_own() {
        let tree = |path: &str| Tree { path: path.into(), origin: "own tree".into() };
        let at = |path, hz, lines| place(Path::new("/c"), &tree(path), hz, lines);
        let first = at("/a/linux 6~x", 1000, None);
        assert!(first.starts_with("/c/kernel-build") && !first.to_string_lossy().contains(' '));
        for other in [at("/b/linux 6~x", 1000, None), at("/a/linux 6~x", 250, None)] {
            assert_ne!(first, other);
        }
        assert_ne!(first, at("/a/linux 6~x", 1000, Some("CONFIG_TLS=y")));
        assert_eq!(first, at("/a/linux 6~x", 1000, None));
    }
}
