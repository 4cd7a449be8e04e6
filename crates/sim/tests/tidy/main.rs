//! Checks of the source tree: the invariants of ARCHITECTURE.md that a search can check.

mod scan;

use std::fs;
use std::path::{Path, PathBuf};

use scan::{TestModule, globals, missing_headings, shipped, uses};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("text");
            into.push((path, text));
        }
    }
}

fn crate_sources(name: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&root().join("crates").join(name).join("src"), &mut found);
    assert!(!found.is_empty(), "no sources of {name}");
    found
}

/// The file of a module that `file` declares, and the folder of the module's own modules.
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

/// The code of a crate that ships, file by file.
fn crate_code(name: &str) -> Vec<(PathBuf, String)> {
    let (mut code, mut left_out) = (Vec::new(), Vec::new());
    for (path, text) in crate_sources(name) {
        let found = shipped(&text);
        left_out.extend(found.test_modules.iter().flat_map(|module| files_of(&path, module)));
        code.push((path, found.code));
    }
    code.retain(|(path, _)| !left_out.iter().any(|out| path.starts_with(out)));
    code
}

#[test]
fn files_behind_a_test_modules_declaration_are_found() {
    let name = |name: &str| TestModule::Name(name.to_string());
    let first = |file: &str, module| files_of(Path::new(file), &module)[0].clone();
    assert_eq!(first("a/mod.rs", name("tests")), Path::new("a/tests.rs"));
    assert_eq!(first("a/b.rs", name("tests")), Path::new("a/b/tests.rs"));
    let path = TestModule::Path("b_tests.rs".to_string());
    assert_eq!(first("a/b.rs", path), Path::new("a/b_tests.rs"));
    // Test modules of this repository in each of these ways are left out, and their parents are
    // not.
    let code: Vec<_> = ["cc", "schemes"].into_iter().flat_map(crate_code).collect();
    let has = |end: &str| code.iter().any(|(path, _)| path.ends_with(end));
    assert!(!has("src/wire_tests.rs") && !has("src/xcp/testing.rs"));
    assert!(has("src/wire.rs") && has("src/xcp/mod.rs"));
}

fn must_not_use(name: &str, banned: &[&str], except: &[&str]) {
    for (path, code) in crate_code(name) {
        if !except.iter().any(|file| path.ends_with(file)) {
            assert_eq!(uses(&code, banned), [""; 0], "{}", path.display());
        }
    }
}

#[test]
fn the_protocol_crates_do_no_input_or_output() {
    let banned = [
        "std::time",
        "std::net",
        "std::thread",
        "std::fs",
        "std::env",
        "HashMap",
        "HashSet",
        "async fn",
        "Instant",
        "SystemTime",
        "unsafe ",
        "println!",
    ];
    for name in ["cc", "schemes", "flow", "ip", "path", "wire"] {
        must_not_use(name, &banned, &[]);
    }
}

#[test]
fn there_are_no_globals_but_immutable_tables() {
    for name in ["cc", "schemes", "flow", "ip", "path", "trace", "wire"] {
        for (path, code) in crate_code(name) {
            let mut found = globals(&code);
            if path.ends_with("cc/src/rng.rs") {
                // Counts draws, so that a run can say whether its seed decided anything. What is simulated
                // never reads it.
                found.retain(|global| {
                    !["thread_local!", "static BLOCKS: Cell<u64>"].contains(&global.as_str())
                });
            }
            assert_eq!(found, Vec::<String>::new(), "{}", path.display());
        }
    }
}

#[test]
fn all_that_is_random_comes_from_keyed_streams() {
    let banned =
        ["rand::", "rand_chacha", "getrandom", "RandomState", "DefaultHasher", "SystemTime"];
    for name in ["cc", "schemes", "flow", "path", "trace", "measure", "sim", "requests", "lab"] {
        must_not_use(name, &banned, &["cc/src/rng.rs"]);
    }
    // Links, queues and pipes are given their streams by whoever knows the seed and their names;
    // senders' halves of schemes get theirs of their `Setup`.
    must_not_use("path", &["Stream::new("], &["path/src/queue/registry.rs"]);
    must_not_use("cc", &["Stream::new("], &["cc/src/rng.rs", "cc/src/scheme.rs"]);
    must_not_use("schemes", &["Stream::new("], &[]);
}

#[test]
fn transcendental_functions_are_libms() {
    // Those of std differ between platforms; square roots do not.
    let banned = [".exp()", ".ln()", ".powf(", ".powi(", ".sin()", ".cos()", ".cbrt()", ".log10()"];
    for name in ["cc", "schemes", "flow", "path", "trace"] {
        must_not_use(name, &banned, &[]);
    }
}

#[test]
fn packets_queues_and_links_name_no_scheme() {
    let shared = [
        "cc/src/packet.rs",
        "cc/src/scheme.rs",
        "cc/src/route.rs",
        "path/src/queue/interface.rs",
        "path/src/link/mod.rs",
        "path/src/link/serve.rs",
    ];
    let code = ["cc", "path"].into_iter().flat_map(crate_code);
    let shared = code.filter(|(path, _)| shared.iter().any(|file| path.ends_with(file)));
    for (path, code) in shared {
        assert_eq!(uses(&code.to_lowercase(), &["abc"]), [""; 0], "{}", path.display());
    }
}

/// The folders of the crate `schemes` that are schemes.
fn scheme_folders() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates/schemes/src")).expect("schemes").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "parts" && name != "testing").collect()
}

#[test]
fn every_scheme_and_queue_says_what_it_is() {
    let source = root().join("crates/schemes/src");
    let folders = scheme_folders();
    assert_eq!(folders.len(), paceline_schemes::SCHEMES.len());
    let mut modules: Vec<_> = folders.iter().map(|name| source.join(name).join("mod.rs")).collect();
    let queues =
        crate_code("path").into_iter().filter(|(_, code)| code.contains("QUEUE: QueueEntry"));
    let queues: Vec<_> = queues.map(|(path, _)| path).collect();
    assert_eq!(queues.len(), paceline_path::queue::builtin().iter().len());
    modules.extend(queues);
    for path in modules {
        let text = fs::read_to_string(&path).expect("a module");
        assert_eq!(missing_headings(&text), [""; 0], "{} lacks these", path.display());
    }
}

#[test]
fn unsafe_code_stands_in_two_places() {
    let allowed = ["crates/os/src/", "crates/guest/src/system.rs"];
    let (mut found, mut all) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(root().join("crates")).expect("crates").flatten() {
        sources(&entry.path().join("src"), &mut all);
    }
    let crates = root().join("crates");
    for (path, text) in all {
        let code = shipped(&text).code;
        if !uses(&code, &["unsafe ", "allow(unsafe_code)"]).is_empty() {
            let place = path.strip_prefix(&crates).expect("below the crates");
            found.push(format!("crates/{}", place.display()));
        }
    }
    assert!(found.len() > allowed.len(), "{found:?}");
    found.retain(|place| !allowed.iter().any(|start| place.starts_with(start)));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn files_have_one_subject() {
    let mut lengths = Vec::new();
    let names = [
        "cc", "schemes", "flow", "path", "trace", "sim", "remy", "requests", "lab", "report",
        "wire", "guest", "os", "ip", "emulator", "transfer",
    ];
    for name in names {
        for (path, text) in crate_sources(name) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines", path.display());
            lengths.push(lines);
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < 200, "the median file has {median} lines");
}

#[test]
fn crates_depend_one_way() {
    let allowed: [(&str, &[&str]); 18] = [
        ("testing", &["cc"]),
        ("cc", &[]),
        ("schemes", &["cc"]),
        ("flow", &["cc"]),
        ("trace", &["cc"]),
        ("path", &["cc", "trace"]),
        ("measure", &["cc"]),
        ("sim", &["cc", "flow", "measure", "path", "schemes", "trace"]),
        ("remy", &["cc", "path", "schemes", "sim"]),
        ("requests", &["cc", "path", "remy", "report", "schemes", "sim", "trace"]),
        ("lab", &["cc", "flow", "path", "remy", "report", "requests", "sim", "trace"]),
        ("report", &["cc", "schemes"]),
        ("wire", &["cc", "flow", "schemes"]),
        ("guest", &["cc", "flow", "sim"]),
        ("os", &["cc", "wire"]),
        ("ip", &["cc", "wire"]),
        ("emulator", &["cc", "ip", "measure", "os", "path", "report", "trace", "wire"]),
        ("transfer", &["cc", "flow", "ip", "measure", "os", "wire"]),
    ];
    for (name, may) in allowed {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(manifest).expect("a manifest");
        let (code, tests) = text.split_once("[dev-dependencies]").unwrap_or((&text, ""));
        for (part, too) in [(code, &[][..]), (tests, &["schemes", "testing"])] {
            for line in part.lines().filter(|line| line.starts_with("paceline-")) {
                let used = line["paceline-".len()..].split(['.', ' ']).next().unwrap_or("");
                assert!(too.contains(&used) || may.contains(&used), "{name} depends on {used}");
            }
        }
    }
}

#[test]
fn schemes_share_parts_and_only_variants_import_a_scheme() {
    // As ARCHITECTURE.md lists them: the variant, and the schemes that it is built on.
    let variants: [(&str, &[&str]); 6] = [
        ("abc", &["cubic"]),
        ("c2tcp", &["cubic"]),
        ("remy", &["abc"]),
        ("sprout_ewma", &["sprout"]),
        ("xcpb", &["xcp"]),
        ("xcpw", &["xcp"]),
    ];
    let source = root().join("crates/schemes/src");
    let schemes = scheme_folders();
    for (path, text) in crate_sources("schemes") {
        let place = path.strip_prefix(&source).expect("below the source").to_string_lossy();
        if place.starts_with("registry") {
            continue;
        }
        let own = place.split_once('/').map_or("", |(scheme, _)| scheme);
        let may = variants.iter().find(|(variant, _)| *variant == own).map_or(&[][..], |v| v.1);
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for after in line.split("crate::").skip(1) {
                let imported = after.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                let imported = imported.unwrap_or_default();
                // `use crate::{...}` could hide one.
                assert!(!imported.is_empty(), "{place}: import one module a line: {line}");
                let is_scheme = schemes.iter().any(|scheme| scheme == imported);
                let allowed = !is_scheme || imported == own || may.contains(&imported);
                assert!(allowed, "{place} imports a scheme: {line}");
            }
        }
    }
}
