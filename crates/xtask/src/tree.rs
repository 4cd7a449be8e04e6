//! The source files of the crates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::rooms::ROOMS;
use crate::scan::{TestModule, code, shipped};

/// A source file: its path from the root of the tree, and its text or the scanned part of it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path from the root of the tree, such as `crates/cc/src/lib.rs`.
    pub path: String,
    /// The text.
    pub text: String,
}

/// Returns the root of the source tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn collect(root: &Path, folder: &Path, into: &mut Vec<Source>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            into.push(Source { path, text });
        }
    }
}

/// Returns the files below `src` of the crate in `folder`, which is given from the root of the tree.
///
/// # Panics
/// There are no files, or a file cannot be read.
pub fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let root = root();
    collect(&root, &root.join(folder).join("src"), &mut found);
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

/// Returns the code of the tests, examples and benchmarks of the crate in `folder`, and of its
/// `build.rs`, without comments and the insides of strings. It includes `src`, which has tests, too,
/// and files of other crates that a `#[path]` names.
pub fn test_code(folder: &str) -> String {
    let root = root();
    let mut found = Vec::new();
    for part in ["src", "tests", "examples", "benches"] {
        let part = root.join(folder).join(part);
        if part.is_dir() {
            collect(&root, &part, &mut found);
        }
    }
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let mut all = code(&read(root.join(folder).join("build.rs")));
    for Source { path, text } in found {
        let beside = root.join(path).parent().map(Path::to_path_buf).unwrap_or_default();
        for named in text.split("#[path = \"").skip(1) {
            let named = named.split('"').next().unwrap_or("");
            all += &code(&read(beside.join(named)));
        }
        all += &code(&text);
    }
    all
}

/// Returns the files of all crates.
pub fn all_sources() -> Vec<Source> {
    ROOMS.iter().flat_map(|room| sources(room.folder)).collect()
}

/// Returns the code that ships of the crate in `folder`, file by file: without comments, the
/// insides of strings, and items that are compiled for tests only.
pub fn shipped_code(folder: &str) -> Vec<Source> {
    let (mut code, mut left_out) = (Vec::new(), Vec::new());
    for Source { path, text } in sources(folder) {
        let found = shipped(&text);
        let modules = found.test_modules.iter();
        left_out.extend(modules.flat_map(|module| files_of(Path::new(&path), module)));
        code.push(Source { path, text: found.code });
    }
    code.retain(|source| !left_out.iter().any(|out| Path::new(&source.path).starts_with(out)));
    code
}

/// Returns the file of a module that `file` declares, and the folder of the module's own modules.
fn files_of(file: &Path, module: &TestModule) -> [PathBuf; 2] {
    let folder = file.parent().unwrap_or(Path::new(""));
    match module {
        TestModule::Path(path) => [folder.join(path), folder.join(path).with_extension("")],
        TestModule::Name(name) => {
            let is_root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|root| file.ends_with(root));
            let own = if is_root { folder.to_path_buf() } else { file.with_extension("") };
            [own.join(format!("{name}.rs")), own.join(name)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_behind_a_test_modules_declaration_are_found() {
        let name = |name: &str| TestModule::Name(name.to_string());
        let first = |file: &str, module| files_of(Path::new(file), &module)[0].clone();
        assert_eq!(first("a/mod.rs", name("tests")), Path::new("a/tests.rs"));
        assert_eq!(first("a/b.rs", name("tests")), Path::new("a/b/tests.rs"));
        let path = TestModule::Path("b_tests.rs".to_string());
        assert_eq!(first("a/b.rs", path), Path::new("a/b_tests.rs"));
        // Test modules of this repository in each of these forms are left out, and their parents
        // are kept.
        let mut code = shipped_code("crates/cc");
        code.extend(shipped_code("crates/schemes"));
        let has = |path: &str| code.iter().any(|source| source.path == path);
        assert!(!has("crates/cc/src/wire_tests.rs") && !has("crates/schemes/src/testing/acks.rs"));
        assert!(has("crates/cc/src/wire.rs") && has("crates/schemes/src/xcp/mod.rs"));
    }
}
