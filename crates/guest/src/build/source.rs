//! Source of the kernel: the distribution's package, or the user's tree.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{BuildError, at};
use super::run::{command, output, run};
use super::{Progress, Source};

/// Version that is taken if the distribution has it, so that results stay comparable.
const PREFERRED: &str = "6.12";
/// Prefix of the packages' names.
const PACKAGE: &str = "linux-source-";
/// Folder in which installed packages have the source.
const INSTALLED: &str = "/usr/src";
/// Parts of the source that a guest does not need. They are half of it.
const UNUSED: [&str; 5] = [
    "*/drivers/gpu/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/net/ethernet/*.[ch]",
    "*/drivers/net/wireless/*.[ch]",
    "*/sound/*.[ch]",
];

/// A kernel's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Absolute path of the folder.
    pub(super) path: PathBuf,
    /// Description without the folder's name, because results do not depend on folders.
    pub(super) origin: String,
}

/// Finds the source; unpacks the distribution's at the first use.
pub(super) fn find(
    source: &Source,
    cache: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Tree, BuildError> {
    match source {
        Source::Tree(path) => own_tree(path),
        Source::Distribution(version) => {
            let (path, package) = distribution(version.as_deref(), cache, progress)?;
            check(&path)?;
            Ok(Tree { path, origin: package.replacen('_', " ", 1) })
        }
    }
}

fn own_tree(path: &Path) -> Result<Tree, BuildError> {
    let real = path
        .canonicalize()
        .map_err(|error| BuildError::NoSource(format!("{}: {error}", path.display())))?;
    check(&real)?;
    let mut git = command("git");
    git.arg("-C").arg(&real).args(["describe", "--always", "--dirty", "--abbrev=12"]);
    let origin = match real.join(".git").exists().then(|| output(git)) {
        Some(Ok(revision)) => format!("own tree, {revision}"),
        _ => "own tree".into(),
    };
    Ok(Tree { path: real, origin })
}

/// Checks that a folder has a kernel's tree from which a guest can be built.
fn check(path: &Path) -> Result<(), BuildError> {
    let name = path.display();
    let fail = |text: String| Err(BuildError::NoSource(text));
    let makefile = fs::read_to_string(path.join("Makefile")).unwrap_or_default();
    let number = |key: &str| {
        let rest = makefile.lines().find_map(|line| line.strip_prefix(key))?.trim_start();
        rest.strip_prefix('=').map(|value| value.trim().to_string())
    };
    let release = number("VERSION").zip(number("PATCHLEVEL"));
    let is_missing = |file: &&str| !path.join(file).is_file();
    let missing = match &release {
        None => Some("Makefile with VERSION and PATCHLEVEL"),
        Some(_) => ["Kconfig", "arch/um/Kconfig"].into_iter().find(is_missing),
    };
    let Some((version, patch_level)) = release.filter(|_| missing.is_none()) else {
        let missing = missing.unwrap_or("Makefile");
        return fail(format!(
            "{name}: is no tree of the Linux kernel with User-Mode Linux: there is no {missing}. Name the top folder \
             of an unpacked kernel, e.g. linux-6.12, with its folder arch/um"
        ));
    };
    if !path.join("include/uapi/linux/um_timetravel.h").is_file() {
        return fail(format!(
            "{name}: Linux {version}.{patch_level} is too old: it has no virtual time for User-Mode Linux \
             (include/uapi/linux/um_timetravel.h). Take 5.15 or newer"
        ));
    }
    if name.to_string().contains([' ', ':']) {
        return fail(format!(
            "{name}: a kernel cannot be built in a folder whose path has spaces or colons: move it"
        ));
    }
    // The three files that the kernel's own Makefile looks for.
    let built = [".config", "include/config", "arch/um/include/generated"];
    if let Some(found) = built.iter().find(|name| path.join(name).exists()) {
        return fail(format!(
            "{name}: a kernel has been configured or built inside of this tree ({found}), and then it cannot be built \
             in another folder. Keep a copy of its .config if you need it, then run: make -C {name} ARCH=um mrproper"
        ));
    }
    Ok(())
}

/// Returns the folder of the distribution's source, and the package's name and version with `_`
/// between them.
fn distribution(
    version: Option<&str>,
    cache: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, String), BuildError> {
    let sources = cache.join("kernel-source");
    fs::create_dir_all(&sources).map_err(at(&sources))?;
    if let Some(version) = version {
        let is_word = |c: char| c.is_ascii_alphanumeric() || ".-+~=:".contains(c);
        if version.is_empty() || !version.chars().all(is_word) || version.starts_with('-') {
            return Err(BuildError::Unusable(format!(
                "--version {version}: expected the version in the name of a package linux-source-VERSION, e.g. 6.12"
            )));
        }
    }
    let version = match version {
        Some(version) => version.to_string(),
        None => offered().into_iter().next().unwrap_or_else(|| PREFERRED.into()),
    };
    let package = format!("{PACKAGE}{version}");
    let (name, exact) = package.split_once('=').unwrap_or((&package, ""));
    let wanted = if exact.is_empty() { candidate(name) } else { Some(exact.to_string()) };
    if let Some(found) = unpacked(&sources, name, wanted.as_deref()) {
        return Ok(found);
    }
    let partial = sources.join(format!(".partial-{}", std::process::id()));
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).map_err(at(&partial))?;
    let result = fetch(&package, name, &partial, progress)
        .and_then(|label| unpack(name, &label, &partial, &sources, progress));
    let _ = fs::remove_dir_all(&partial);
    result
}

/// Returns the versions that apt offers: the preferred one first if it is there, then the newest
/// first.
fn offered() -> Vec<String> {
    let mut apt = command("apt-cache");
    apt.args(["pkgnames", PACKAGE]);
    let names = output(apt).unwrap_or_default();
    let versions = names.lines().filter_map(|name| name.strip_prefix(PACKAGE));
    let is_number = |version: &&str| version.split('.').all(|part| part.parse::<u32>().is_ok());
    let mut found: Vec<_> = versions.filter(is_number).map(String::from).collect();
    let key = |version: &String| {
        let numbers: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
        (version == PREFERRED, numbers)
    };
    found.sort_by_key(|version| std::cmp::Reverse(key(version)));
    found
}

/// Returns where the source of [`Source::Distribution`] without a version would come from.
///
/// # Errors
/// Neither a package is installed nor does apt offer one.
pub(super) fn at_hand() -> Result<String, BuildError> {
    let version = offered().into_iter().next();
    let package = format!("{PACKAGE}{}", version.as_deref().unwrap_or(PREFERRED));
    if let Some(archive) = installed(&package) {
        return Ok(archive.display().to_string());
    }
    match candidate(&package) {
        Some(version) => Ok(format!("apt offers {package} {version}")),
        None => Err(BuildError::NoSource(
            "neither installed nor offered by apt: run `sudo apt-get update`, or unpack a kernel from \
             https://kernel.org and name its folder: paceline linux build --source DIR"
                .into(),
        )),
    }
}

/// Returns the version that apt would download, such as `6.12.117-1~deb12u1`.
fn candidate(package: &str) -> Option<String> {
    let mut apt = command("apt-cache");
    apt.args(["policy", package]);
    let text = output(apt).ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (line != "(none)").then(|| line.to_string())
}

/// Returns a source that was unpacked before: the wanted version, or the newest if `wanted` is
/// `None`.
fn unpacked(sources: &Path, name: &str, wanted: Option<&str>) -> Option<(PathBuf, String)> {
    let entries = fs::read_dir(sources).ok()?.flatten();
    let labels = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let of_package =
        |label: &String| label.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    let mut labels: Vec<_> = labels.filter(of_package).collect();
    if let Some(wanted) = wanted {
        let label = format!("{name}_{}", plain(wanted));
        labels.retain(|found| *found == label);
    }
    labels.sort();
    let label = labels.pop()?;
    Some((sources.join(&label), label))
}

/// Returns a version as part of a folder's name: the kernel's build accepts no colons.
fn plain(version: &str) -> String {
    version.replace(':', "+")
}

/// Downloads the package into `partial`, or finds it installed. Returns its name and version as one label.
fn fetch(
    package: &str,
    name: &str,
    partial: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<String, BuildError> {
    let archive = installed(name);
    if archive.is_some() && !package.contains('=') {
        let mut dpkg = command("dpkg-query");
        dpkg.args(["-W", "-f=${Version}", name]);
        let version = output(dpkg).unwrap_or_else(|_| "installed".into());
        return Ok(format!("{name}_{}", plain(&version)));
    }
    if super::tools::find("apt-get").is_none() || super::tools::find("dpkg-deb").is_none() {
        return Err(BuildError::NoSource(format!(
            "there is no apt-get here to download {package} with. Unpack a kernel from https://kernel.org, then name \
             its folder: paceline linux build --source DIR"
        )));
    }
    progress(Progress::Step(&format!("downloading {package}")));
    let mut apt = command("apt-get");
    apt.args(["download", package]).current_dir(partial);
    if let Err(said) = output(apt) {
        return Err(BuildError::NoSource(no_package(package, &said)));
    }
    let mut files = fs::read_dir(partial).map_err(at(partial))?.flatten().map(|entry| entry.path());
    let deb = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
    let deb = deb.ok_or_else(|| {
        BuildError::NoSource(format!("apt-get download {package} has left no package"))
    })?;
    let mut query = command("dpkg-deb");
    query.arg("-f").arg(&deb).arg("Version");
    let version =
        output(query).map_err(|said| BuildError::NoSource(format!("{}: {said}", deb.display())))?;
    progress(Progress::Step(&format!("unpacking {name} {version}")));
    let mut extract = command("dpkg-deb");
    extract.arg("-x").arg(&deb).arg(partial);
    output(extract).map_err(|said| BuildError::NoSource(format!("{}: {said}", deb.display())))?;
    fs::remove_file(&deb).map_err(at(&deb))?;
    Ok(format!("{name}_{}", plain(&version)))
}

/// Returns the error for a package that apt does not deliver, with the remedy.
fn no_package(package: &str, said: &str) -> String {
    let words = said.lines().filter(|line| line.starts_with("E: ")).collect::<Vec<_>>().join(" ");
    let words = if words.is_empty() { said.trim() } else { &words };
    let unknown = said.contains("Unable to locate") || said.contains("was not found");
    let remedy = match (unknown, offered()) {
        (true, known) if known.is_empty() => {
            "apt knows no kernel source: run `sudo apt-get update` first, or name a kernel's folder with --source".into()
        }
        (true, known) => format!("--version takes what apt knows: {}", known.join(", ")),
        (false, _) => "Is there a network, and do apt's sources answer (`sudo apt-get update`)? Without one, name a \
                       kernel's folder with --source"
            .into(),
    };
    format!("{package} cannot be downloaded: {words}. {remedy}")
}

/// Returns the archive of an installed package, or of a package that was unpacked below `root`.
fn archive(root: &Path, name: &str) -> Option<PathBuf> {
    // Debian: linux-source-6.12.tar.xz; Ubuntu: linux-source-6.8.0/linux-source-6.8.0.tar.bz2.
    let folders = [root.to_path_buf(), root.join(name)];
    let ends = ["xz", "bz2", "gz", "zst"];
    let names = folders
        .iter()
        .flat_map(|folder| ends.iter().map(move |end| folder.join(format!("{name}.tar.{end}"))));
    names.into_iter().find(|path| path.is_file())
}

fn installed(name: &str) -> Option<PathBuf> {
    archive(Path::new(INSTALLED), name)
}

/// Unpacks the archive into the folder `label` of `sources`.
fn unpack(
    name: &str,
    label: &str,
    partial: &Path,
    sources: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, String), BuildError> {
    let found = archive(&partial.join("usr/src"), name).or_else(|| installed(name));
    let found = found.ok_or_else(|| {
        BuildError::NoSource(format!(
            "{label} has no {name}.tar.xz in /usr/src: name a kernel's folder with --source"
        ))
    })?;
    progress(Progress::Step(&format!("unpacking {}", found.display())));
    let tree = partial.join("tree");
    fs::create_dir_all(&tree).map_err(at(&tree))?;
    let mut tar = command("tar");
    tar.arg("-xf")
        .arg(&found)
        .arg("-C")
        .arg(&tree)
        .args(["--strip-components=1", "--no-same-owner"]);
    tar.args(UNUSED.iter().map(|pattern| format!("--exclude={pattern}")));
    run(tar, "the kernel's source cannot be unpacked", &partial.join("tar.log"), &mut |_| {})?;
    let place = sources.join(label);
    fs::rename(&tree, &place).map_err(at(&place))?;
    Ok((place, label.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder that looks like a kernel's tree.
    fn tree(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("paceline-tree-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        for folder in ["arch/um", "include/uapi/linux"] {
            fs::create_dir_all(path.join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("Makefile", "VERSION = 6\nPATCHLEVEL = 12\n"),
            ("Kconfig", ""),
            ("arch/um/Kconfig", ""),
            ("include/uapi/linux/um_timetravel.h", ""),
        ] {
            fs::write(path.join(file), text).expect("a file");
        }
        path
    }

    #[test]
    fn what_is_wrong_with_a_tree_is_said() {
        let path = tree("check");
        assert_eq!(own_tree(&path).expect("a tree").origin, "own tree");
        let wrong = |part: &str| {
            let error = own_tree(&path).expect_err(part).to_string();
            assert!(error.contains(part) && error.contains("paceline-tree-check"), "{error}");
        };
        fs::write(path.join(".config"), "").expect("a file");
        wrong("mrproper");
        fs::remove_file(path.join(".config")).expect("a file");
        fs::remove_file(path.join("include/uapi/linux/um_timetravel.h")).expect("a file");
        let old = "# SPDX\nVERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 0\n";
        fs::write(path.join("Makefile"), old).expect("a file");
        wrong("Linux 5.4 is too old");
        fs::remove_file(path.join("arch/um/Kconfig")).expect("a file");
        wrong("there is no arch/um/Kconfig");
        fs::remove_file(path.join("Kconfig")).expect("a file");
        wrong("there is no Kconfig");
        // Makefiles of other projects.
        fs::write(path.join("Makefile"), "VERSION = 5\nall:\n").expect("a file");
        wrong("there is no Makefile with VERSION and PATCHLEVEL");
        fs::remove_file(path.join("Makefile")).expect("a file");
        wrong("there is no Makefile with VERSION and PATCHLEVEL");
        fs::remove_dir_all(&path).expect("the folder");
        wrong("No such file");
    }

    #[test]
    fn sources_are_unpacked_once() {
        let sources = std::env::temp_dir().join(format!("paceline-sources-{}", std::process::id()));
        for label in
            ["linux-source-6.1_6.1.2-1", "linux-source-6.12_6.12.9-1", "linux-source-6.12_6.12.7-1"]
        {
            fs::create_dir_all(sources.join(label)).expect("a folder");
        }
        let found = |name, wanted| unpacked(&sources, name, wanted).map(|(_, label)| label);
        assert_eq!(found("linux-source-6.1", None).as_deref(), Some("linux-source-6.1_6.1.2-1"));
        assert_eq!(found("linux-source-6.12", None).as_deref(), Some("linux-source-6.12_6.12.9-1"));
        let older = found("linux-source-6.12", Some("6.12.7-1"));
        assert_eq!(older.as_deref(), Some("linux-source-6.12_6.12.7-1"));
        assert_eq!(found("linux-source-6.12", Some("6.12.10-1")), None);
        assert_eq!(found("linux-source-6", None), None);
        fs::remove_dir_all(&sources).expect("the folder");
    }

    #[test]
    fn errors_of_apt_name_the_remedy() {
        let text =
            no_package("linux-source-9", "W: x\nE: Unable to locate package linux-source-9\n");
        assert!(text.contains("Unable to locate") && !text.contains("W: x"), "{text}");
        assert!(text.contains("apt"), "{text}");
        let text = no_package("linux-source-6.12", "E: Failed to fetch: Could not resolve host\n");
        assert!(text.contains("Is there a network"), "{text}");
    }

    #[test]
    fn versions_are_words() {
        for version in ["", "-o", "6.12 x", "6;ls", "../x"] {
            let error = distribution(Some(version), &std::env::temp_dir(), &mut |_| {});
            assert!(error.expect_err("a word").to_string().contains("--version"), "{version}");
        }
    }
}
