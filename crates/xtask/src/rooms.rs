//! The crates of the workspace from the bottom up, and the crates that each one imports.
//!
//! The only table of the layers: `tests/all/tidy.rs` compares it with every `Cargo.toml`, and with the
//! table of crates in ARCHITECTURE.md.

use std::fs;
use std::path::Path;

/// A crate of the workspace.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Folder, relative to the root of the tree.
    pub folder: &'static str,
    /// Names of the crates that it imports, without `paceline-`.
    pub imports: &'static [&'static str],
}

const fn room(folder: &'static str, imports: &'static [&'static str]) -> Room {
    Room { folder, imports }
}

/// All crates. Each stands after the crates that it or its tests import.
pub const ROOMS: &[Room] = &[
    room("crates/cc", &[]),
    room("crates/schemes", &["cc"]),
    room("crates/flow", &["cc"]),
    room("crates/measure", &["cc"]),
    room("crates/testing", &["cc"]),
    room("crates/trace", &["cc"]),
    room("crates/path", &["cc", "trace"]),
    room("crates/wifi", &["cc", "path"]),
    room("crates/wire", &["cc", "flow", "schemes"]),
    room("crates/report", &["measure", "schemes"]),
    room("crates/export", &[]),
    room("crates/scenario", &["cc", "flow", "path", "schemes", "trace", "wifi"]),
    room("crates/sim", &["cc", "flow", "measure", "path", "scenario", "schemes", "trace", "wifi"]),
    room("crates/remy-runs", &["cc", "flow", "path", "schemes", "sim", "trace"]),
    room("crates/remy", &["cc", "flow", "path", "remy-runs", "schemes", "sim", "trace"]),
    room("crates/requests", &["cc", "flow", "path", "remy", "report", "schemes", "sim", "trace"]),
    room("crates/sweep", &["requests", "sim"]),
    room("crates/tasks", &["cc", "remy", "requests", "sim"]),
    room("crates/os", &[]),
    room("crates/ip", &["cc"]),
    room("crates/qlog", &["cc"]),
    room("crates/emulator", &["cc", "ip", "measure", "os", "path", "report", "trace", "wifi"]),
    room("crates/transfer", &["cc", "flow", "ip", "measure", "os", "qlog", "wire"]),
    room("crates/kernel", &["cc", "schemes"]),
    room("crates/guest", &["cc", "flow", "ip", "kernel", "remy", "sim"]),
    room(
        "crates/lab",
        &["cc", "flow", "path", "remy", "report", "requests", "sim", "trace", "wifi"],
    ),
    room(
        "crates/reproduce",
        &[
            "cc", "flow", "lab", "path", "remy", "report", "requests", "schemes", "sim", "tasks",
            "trace", "wifi",
        ],
    ),
    room("crates/evaluate", &["cc", "report", "requests", "sim", "tasks", "trace"]),
    room("crates/peers", &["cc", "flow", "ip", "os", "schemes"]),
    room("bindings/quic/core", &["cc", "flow", "schemes"]),
    room("bindings/quic/quinn", &["cc", "quic"]),
    room("bindings/quic/noq", &["cc", "quic"]),
    room("bindings/quic/s2n", &["cc", "quic"]),
    room(
        "crates/quic-sim",
        &["cc", "flow", "ip", "noq", "path", "quinn", "report", "sim", "trace"],
    ),
    room("bindings/quic/c", &["cc", "quic-sim", "report", "requests", "sim"]),
    room(
        "crates/cli",
        &[
            "cc",
            "emulator",
            "evaluate",
            "export",
            "guest",
            "kernel",
            "lab",
            "os",
            "path",
            "qlog",
            "quic-sim",
            "remy",
            "report",
            "reproduce",
            "requests",
            "schemes",
            "sim",
            "sweep",
            "tasks",
            "trace",
            "transfer",
            "wifi",
            "wire",
        ],
    ),
    room("examples/workbench", &["cc", "cli", "path", "schemes"]),
    room("crates/quic-live", &["quic-sim", "quinn"]),
    room(
        "bindings/python",
        &[
            "cc",
            "cli",
            "evaluate",
            "export",
            "path",
            "remy",
            "report",
            "reproduce",
            "requests",
            "schemes",
            "sim",
            "sweep",
            "tasks",
            "trace",
        ],
    ),
    room(
        "bindings/web",
        &[
            "cc",
            "lab",
            "path",
            "remy",
            "report",
            "reproduce",
            "requests",
            "schemes",
            "sim",
            "trace",
        ],
    ),
    room("crates/xtask", &["reproduce"]),
];

/// Content of a crate's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The package's name without `paceline-`.
    pub name: String,
    /// The crates of the workspace that it imports, without `paceline-`, sorted.
    pub imports: Vec<String>,
    /// The crates of the workspace that only its tests, examples and benchmarks import.
    pub test_imports: Vec<String>,
    /// Full names of all packages under `[dependencies]`, also of other projects.
    pub dependencies: Vec<String>,
    /// Full names of all packages under `[dev-dependencies]` and `[build-dependencies]`.
    pub test_dependencies: Vec<String>,
}

/// Reads the manifest of the crate in `folder`.
///
/// # Errors
/// The manifest cannot be read or parsed.
pub fn manifest(folder: &Path) -> Result<Manifest, String> {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    let mut section = "";
    for line in text.lines() {
        if line.starts_with('[') {
            section = line.trim().trim_matches(['[', ']']);
        } else if section == "package" {
            if let Some(name) = line.strip_prefix("name = \"paceline-") {
                manifest.name = name.trim_end_matches('"').to_string();
            }
        } else if section.ends_with("dependencies") && line.starts_with(char::is_alphabetic) {
            let full = line.split(['.', ' ', '=']).next().unwrap_or("");
            let shipped =
                !section.ends_with("dev-dependencies") && !section.ends_with("build-dependencies");
            let (imports, dependencies) = if shipped {
                (&mut manifest.imports, &mut manifest.dependencies)
            } else {
                (&mut manifest.test_imports, &mut manifest.test_dependencies)
            };
            imports.extend(full.strip_prefix("paceline-").map(String::from));
            dependencies.push(full.to_string());
        }
    }
    manifest.imports.sort_unstable();
    manifest.test_imports.sort_unstable();
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_read_by_section() {
        let text = "[package]\nname = \"paceline-x\"\n\n[features]\nf = [\"paceline-a/bpf\"]\n\n\
                    [dependencies]\nlibm = \"1\"\npaceline-b.workspace = true\n\
                    paceline-a = { workspace = true }\n\n[dev-dependencies]\n\
                    paceline-c.workspace = true\nrayon = \"1\"\n\n[target.'cfg(unix)'.dependencies]\n\
                    paceline-d-e.workspace = true\n";
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let manifest = Manifest {
            name: "x".to_string(),
            imports: names(&["a", "b", "d-e"]),
            test_imports: names(&["c"]),
            dependencies: names(&["libm", "paceline-b", "paceline-a", "paceline-d-e"]),
            test_dependencies: names(&["paceline-c", "rayon"]),
        };
        assert_eq!(parse(text), manifest);
    }
}
