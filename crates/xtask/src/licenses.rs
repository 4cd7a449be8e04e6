//! Licences of the packages that are linked into what we hand out: their notices have to go with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Beginnings of the names of files with licences and notices, in capital letters.
const FILE_NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];
/// Depth of folders in which packages keep licences of sources that they have copied, such as libbpf.
const FOLDER_DEPTH: usize = 3;
/// Ends of names that have such a beginning and are no licences.
const OTHER_FILES: [&str; 6] = [".rs", ".c", ".h", ".py", ".html", ".toml"];

/// A package that is linked in, with its licences.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The licence as SPDX expression.
    pub license: String,
    /// The authors, if it names them.
    pub authors: Vec<String>,
    /// Texts of licences and notices: the name of the file and its text.
    pub texts: Vec<(String, String)>,
    /// True for a crate of this workspace.
    pub is_own: bool,
}

/// Returns the packages that `cargo build` links into the crate `root` for the platform `target`, in the order of
/// their names: without macros and what only build scripts use. Crates of the workspace are among them if they have
/// licences of their own, such as those of fonts.
///
/// # Errors
/// Cargo fails, or a package states no licence.
pub fn linked(root: &str, target: &str, features: &[&str]) -> Result<Vec<Package>, String> {
    let metadata = metadata(target, features)?;
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let is_root = |package: &&Value| package["name"] == root && package["source"].is_null();
    let start = packages.values().copied().find(is_root);
    let start = start.ok_or_else(|| format!("{root}: the workspace has no such crate"))?;
    let mut seen = BTreeSet::new();
    let mut waiting = vec![text(&start["id"])];
    while let Some(id) = waiting.pop() {
        if packages.get(id).is_none_or(|package| is_macro(package)) || !seen.insert(id) {
            continue;
        }
        for dependency in list(&nodes[id]["deps"]) {
            let is_linked =
                list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            if is_linked {
                waiting.push(text(&dependency["pkg"]));
            }
        }
    }
    let mut found = Vec::new();
    for id in seen {
        let package = package(packages[id])?;
        if !package.is_own || !package.texts.is_empty() {
            found.push(package);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the output of `cargo metadata` with the packages of one platform.
fn metadata(target: &str, features: &[&str]) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
    if !features.is_empty() {
        command.args(["--features", &features.join(",")]);
    }
    command.current_dir(crate::tree::root());
    let output = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn by_id(several: &Value) -> BTreeMap<&str, &Value> {
    list(several).iter().map(|one| (text(&one["id"]), one)).collect()
}

/// Returns true for a package that the compiler runs and does not link.
fn is_macro(package: &Value) -> bool {
    let kinds = list(&package["targets"]).iter().flat_map(|target| list(&target["kind"]));
    kinds.into_iter().any(|kind| kind == "proc-macro")
}

fn package(package: &Value) -> Result<Package, String> {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let is_own = package["source"].is_null();
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut files = Vec::new();
    collect(folder, FOLDER_DEPTH, &mut files);
    if let Some(file) = package["license_file"].as_str() {
        files.push(folder.join(file));
    }
    files.sort();
    files.dedup();
    let mut texts = Vec::new();
    for file in files {
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let named = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let content = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        if !content.trim().is_empty() {
            texts.push((named, content));
        }
    }
    let license = match text(&package["license"]) {
        "" if texts.is_empty() => return Err(format!("{name} {version} states no licence")),
        "" => "as in the text".to_string(),
        // The former way to write OR.
        expression => expression.replace('/', " OR "),
    };
    let authors = list(&package["authors"]).iter().map(|author| text(author).to_string()).collect();
    Ok(Package { name: name.into(), version: version.into(), license, authors, texts, is_own })
}

/// Collects the files with licences in a folder. What cannot be read is left out.
fn collect(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if path.is_dir() {
            if depth > 0 && !matches!(&*name, "TARGET" | ".GIT" | "TESTS" | "EXAMPLES") {
                collect(&path, depth - 1, into);
            }
        } else if FILE_NAMES.iter().any(|begin| name.starts_with(begin))
            && !OTHER_FILES.iter().any(|end| name.ends_with(&end.to_uppercase()))
        {
            into.push(path);
        }
    }
}

/// Texts of the tree for packages that come without one: the licence's SPDX name and the file.
const GENERAL: [(&str, &str); 2] = [("MIT", "LICENSE-MIT"), ("Apache-2.0", "LICENSE-APACHE")];

/// Returns the list of packages and the texts of their licences, with Paceline's own. A text that several packages have
/// stands once.
///
/// # Errors
/// A package has no text, and its licence is neither MIT nor Apache-2.0.
pub fn written(packages: &[Package]) -> Result<String, String> {
    let mut list = String::from(
        "Paceline is under the MIT licence or the Apache licence 2.0, as you choose; its programs for the kernel are \
         under the\nMIT licence or the GPL. It is linked with the packages below. All licences and notices follow.\n\n\
         The standard library of Rust is under MIT OR Apache-2.0, Copyright (c) The Rust Project Contributors.\n\n",
    );
    let mut users: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let own: Vec<(&str, String)> = GENERAL
        .iter()
        .map(|(name, file)| {
            let path = crate::tree::root().join(file);
            let text = fs::read_to_string(&path);
            text.map(|text| (*name, text)).map_err(|error| format!("{}: {error}", path.display()))
        })
        .collect::<Result<_, _>>()?;
    for (name, text) in &own {
        users.entry(text.trim()).or_default().push(format!("Paceline ({name})"));
    }
    let general: Vec<(&str, String)> =
        own.iter().map(|(name, text)| (*name, general(text))).collect();
    for package in packages {
        let Package { name, version, license, authors, texts, .. } = package;
        let _ = write!(list, "{name} {version}: {license}");
        let by =
            if authors.is_empty() { String::new() } else { format!(", by {}", authors.join(", ")) };
        let _ = writeln!(list, "{by}");
        for (file, text) in texts {
            users.entry(text.trim()).or_default().push(format!("{name} {version} ({file})"));
        }
        if texts.is_empty() {
            let words: Vec<&str> =
                license.split(|sign: char| sign.is_whitespace() || "()".contains(sign)).collect();
            let known = general.iter().find(|(known, _)| words.contains(known));
            let Some((known, text)) = known else {
                return Err(format!(
                    "{name} {version}: the package has no text of its licence {license}: take another version, or \
                     add the text to crates/xtask/src/licenses.rs"
                ));
            };
            users.entry(text.trim()).or_default().push(format!("{name} {version} ({known})"));
        }
    }
    let rule = "=".repeat(100);
    for (text, users) in users {
        let _ = write!(list, "\n{rule}\n{}\n{rule}\n\n{text}\n", users.join("\n"));
    }
    Ok(list)
}

/// Returns the text of a licence without the line that says whose it is.
fn general(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("Copyright (c)"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the platform for which the compiler builds by default.
///
/// # Errors
/// The compiler cannot be started.
pub fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output =
        Command::new(rustc).arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_string).ok_or_else(|| "rustc -vV names no host".into())
}
