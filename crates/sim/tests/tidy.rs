//! Checks of the source tree: the invariants of ARCHITECTURE.md that a search can check.

use std::fs;
use std::path::{Path, PathBuf};

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

/// The text before a file's unit tests, without comments.
fn code(text: &str) -> String {
    let upto = text.split("#[cfg(test)]").next().unwrap_or(text);
    upto.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_protocol_crates_do_no_input_or_output() {
    let banned = [
        "std::time",
        "std::net",
        "std::thread",
        "std::fs",
        "HashMap",
        "HashSet",
        "async fn",
        "static mut",
        "Instant",
        "SystemTime",
        "thread_local",
        "unsafe ",
    ];
    for name in ["cc", "flow", "path"] {
        for (path, text) in crate_sources(name) {
            let code = code(&text);
            for word in banned {
                assert!(!code.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn transcendental_functions_are_libms() {
    // Those of std differ between platforms; square roots do not.
    let banned = [".exp()", ".ln()", ".powf(", ".powi(", ".sin()", ".cos()", ".cbrt()", ".log10()"];
    for name in ["cc", "flow", "path", "trace"] {
        for (path, text) in crate_sources(name) {
            if path.to_string_lossy().contains("test") || path.ends_with("refit.rs") {
                continue;
            }
            let code = code(&text);
            for word in banned {
                assert!(!code.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn every_scheme_and_queue_says_what_it_is() {
    let headings =
        ["# What it does", "# Signals it needs", "# Parameters", "# Where it fails", "# Source"];
    let mut modules = Vec::new();
    for entry in fs::read_dir(root().join("crates/cc/src/schemes")).expect("schemes").flatten() {
        if entry.path().is_dir() {
            modules.push(entry.path().join("mod.rs"));
        }
    }
    assert!(modules.len() >= 3);
    for path in modules {
        let text = fs::read_to_string(&path).expect("a module");
        for heading in headings {
            assert!(text.contains(heading), "{} lacks `{heading}`", path.display());
        }
    }
}

#[test]
fn files_have_one_subject() {
    let mut lengths = Vec::new();
    for name in ["cc", "flow", "path", "trace", "sim", "lab", "report"] {
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
    let allowed: [(&str, &[&str]); 8] = [
        ("cc", &[]),
        ("flow", &["cc"]),
        ("trace", &["cc"]),
        ("path", &["cc", "trace"]),
        ("measure", &["cc"]),
        ("sim", &["cc", "flow", "measure", "path", "trace"]),
        ("lab", &["cc", "flow", "path", "sim", "trace"]),
        ("report", &["cc"]),
    ];
    for (name, may) in allowed {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(manifest).expect("a manifest");
        for line in text.lines().filter(|line| line.starts_with("paceline-")) {
            let used = line["paceline-".len()..].split(['.', ' ']).next().unwrap_or("");
            assert!(may.contains(&used), "{name} depends on {used}");
        }
    }
}
