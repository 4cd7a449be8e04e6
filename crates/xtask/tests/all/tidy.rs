//! Checks of the source tree: the invariants of ARCHITECTURE.md that a search can check.

use std::collections::BTreeSet;
use std::fs;

use paceline_xtask::rooms::{ROOMS, Room, manifest};
use paceline_xtask::scan::{code, globals, has_word, missing_headings, names_from, shipped, uses};
use paceline_xtask::tree::{Source, all_sources, root, shipped_code, sources, test_code};

/// The crates without input and output: only `sim` and the programs above it read clocks.
const WITHOUT_IO: [&str; 7] = [
    "crates/cc",
    "crates/schemes",
    "crates/flow",
    "crates/ip",
    "crates/path",
    "crates/wifi",
    "crates/wire",
];

/// The crates whose arithmetic determines results of simulations.
const ARITHMETIC: [&str; 6] =
    ["crates/cc", "crates/schemes", "crates/flow", "crates/path", "crates/wifi", "crates/trace"];

fn must_not_use(folder: &str, banned: &[&str], except: &[&str]) {
    for Source { path, text } in shipped_code(folder) {
        if !except.contains(&path.as_str()) {
            assert_eq!(uses(&text, banned), [""; 0], "{path}");
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
    for folder in WITHOUT_IO {
        must_not_use(folder, &banned, &[]);
    }
}

#[test]
fn there_are_no_globals_but_immutable_tables() {
    for folder in WITHOUT_IO.into_iter().chain(["crates/trace"]) {
        for Source { path, text } in shipped_code(folder) {
            let mut found = globals(&text);
            if path == "crates/cc/src/rng.rs" {
                // Counts draws of random numbers, so that a run can report whether its seed had any
                // effect. No simulated result depends on it.
                found.retain(|global| {
                    !["thread_local!", "static BLOCKS: Cell<u64>"].contains(&global.as_str())
                });
            }
            assert_eq!(found, Vec::<String>::new(), "{path}");
        }
    }
}

#[test]
fn all_that_is_random_comes_from_keyed_streams() {
    let banned =
        ["rand::", "rand_chacha", "getrandom", "RandomState", "DefaultHasher", "SystemTime"];
    let more = [
        "crates/measure",
        "crates/remy-runs",
        "crates/scenario",
        "crates/sim",
        "crates/requests",
        "crates/lab",
    ];
    for folder in ARITHMETIC.into_iter().chain(more) {
        must_not_use(folder, &banned, &["crates/cc/src/rng.rs"]);
    }
    // Links, queues and pipes get their streams from the code that knows the seed and their names;
    // senders' halves of schemes get theirs from their `Setup`.
    let made = ["Stream::new("];
    must_not_use("crates/path", &made, &["crates/path/src/queue/registry.rs"]);
    must_not_use("crates/wifi", &made, &[]);
    must_not_use("crates/cc", &made, &["crates/cc/src/rng.rs", "crates/cc/src/scheme.rs"]);
    must_not_use("crates/schemes", &made, &[]);
}

#[test]
fn transcendental_functions_are_libms() {
    // These functions of std differ between platforms; square roots do not.
    let banned = [".exp()", ".ln()", ".powf(", ".powi(", ".sin()", ".cos()", ".cbrt()", ".log10()"];
    for folder in ARITHMETIC {
        must_not_use(folder, &banned, &[]);
    }
}

#[test]
fn packets_queues_and_links_name_no_scheme() {
    // Headers of schemes, which routers rewrite, and their encoding; the names under which `cc`
    // has them; a queue that divides a link between flows of one scheme and others.
    let files =
        ["crates/cc/src/header.rs", "crates/cc/src/wire.rs", "crates/cc/src/xcp_feedback.rs"];
    let names = ["xcp_feedback", "xcpheader", "rcpheader", "sproutheader", "abc_dual"];
    for file in files {
        assert!(root().join(file).exists(), "{file} is gone: name the file that has it");
    }
    let schemes = scheme_folders();
    let schemes: Vec<&str> = schemes.iter().map(String::as_str).collect();
    for Source { path, text } in
        ["crates/cc", "crates/path", "crates/wifi"].map(shipped_code).concat()
    {
        if !files.contains(&path.as_str()) && !path.starts_with("crates/path/src/queue/abc_dual/") {
            let mut text = text.to_lowercase();
            for name in names {
                text = text.replace(name, "");
            }
            assert_eq!(uses(&text, &schemes), [""; 0], "{path}");
        }
    }
}

/// Returns the folders of the crate `schemes` that contain a scheme.
fn scheme_folders() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates/schemes/src")).expect("schemes").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "parts" && name != "testing").collect()
}

/// Counts the lines of a table that end with `end`.
fn table_lines(path: &str, end: &str) -> usize {
    let text = fs::read_to_string(root().join(path)).expect("a table");
    text.lines().filter(|line| line.starts_with("    ") && line.ends_with(end)).count()
}

#[test]
fn every_scheme_and_queue_says_what_it_is() {
    let mut modules: Vec<String> =
        scheme_folders().iter().map(|name| format!("crates/schemes/src/{name}/mod.rs")).collect();
    assert_eq!(modules.len(), table_lines("crates/schemes/src/registry.rs", "::SCHEME,"));
    let queues = shipped_code("crates/path").into_iter();
    let queues = queues.filter(|source| source.text.contains("QUEUE: QueueEntry"));
    let queues: Vec<String> = queues.map(|source| source.path).collect();
    assert_eq!(queues.len(), table_lines("crates/path/src/queue/registry.rs", "::QUEUE,"));
    modules.extend(queues);
    for path in modules {
        let text = fs::read_to_string(root().join(&path)).expect("a module");
        assert_eq!(missing_headings(&text), [""; 0], "{path} lacks these");
    }
}

#[test]
fn unsafe_code_stands_in_five_places() {
    // The last two files have no unsafe code: names of exports are unsafe attributes, and a block of
    // imports is called unsafe though its function is safe.
    let allowed = [
        "crates/os/src/",
        "crates/guest/src/system.rs",
        "bindings/quic/c/src/",
        "bindings/web/src/exports.rs",
        "bindings/web/src/imports.rs",
    ];
    let mut found = Vec::new();
    for Source { path, text } in all_sources() {
        if !uses(&shipped(&text).code, &["unsafe ", "allow(unsafe_code"]).is_empty() {
            found.push(path);
        }
    }
    assert!(found.len() > allowed.len(), "{found:?}");
    found.retain(|place| !allowed.iter().any(|start| place.starts_with(start)));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn system_calls_stand_in_few_crates() {
    // As in ARCHITECTURE.md, invariant 6.
    let expected = ["emulator", "guest", "kernel", "os", "peers", "remy", "transfer"];
    let calls = ["libc", "nix", "rustix"];
    let mut found = Vec::new();
    for Room { folder, .. } in ROOMS {
        let manifest = manifest(&root().join(folder)).expect("a manifest");
        if manifest.dependencies.iter().any(|name| calls.contains(&name.as_str())) {
            found.push(manifest.name);
        }
    }
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn files_have_one_subject() {
    for Room { folder, .. } in ROOMS {
        let mut lengths = Vec::new();
        for Source { path, text } in sources(folder) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{path} has {lines} lines");
            lengths.push(lines);
        }
        lengths.sort_unstable();
        let median = lengths[lengths.len() / 2];
        assert!(median < 250, "the median file of {folder} has {median} lines");
    }
}

#[test]
fn crates_import_what_the_table_says_and_only_from_below() {
    let mut below: BTreeSet<String> = BTreeSet::new();
    for Room { folder, imports } in ROOMS {
        let manifest = manifest(&root().join(folder)).expect("a manifest");
        assert_eq!(
            manifest.imports, *imports,
            "{folder}: the table is in crates/xtask/src/rooms.rs"
        );
        for import in manifest.imports.iter().chain(&manifest.test_imports) {
            assert!(
                below.contains(import),
                "{folder} imports {import}, which does not stand above it"
            );
        }
        below.insert(manifest.name);
    }
}

#[test]
fn crates_import_each_crate_by_its_own_name() {
    // What `sim` exports of other crates is for users: the table of imports does not see it.
    let exported = ["cc", "flow", "path", "schemes", "trace", "wifi"];
    for Source { path, text } in all_sources() {
        let mut names = names_from(&code(&text), "paceline_sim");
        names.retain(|name| exported.contains(&name.as_str()));
        assert_eq!(names, Vec::<String>::new(), "{path}: import paceline_... instead");
    }
}

#[test]
fn every_dependency_is_used() {
    for Room { folder, .. } in ROOMS {
        let manifest = manifest(&root().join(folder)).expect("a manifest");
        let shipped: String =
            shipped_code(folder).into_iter().map(|source| source.text + "\n").collect();
        let tests = test_code(folder);
        let unused = |names: Vec<String>, code: &str| -> Vec<String> {
            let unused = |name: &String| !has_word(code, &name.replace('-', "_"));
            names.into_iter().filter(unused).collect()
        };
        let none = Vec::<String>::new();
        assert_eq!(unused(manifest.dependencies, &shipped), none, "{folder}: unused dependencies");
        let unused = unused(manifest.test_dependencies, &tests);
        assert_eq!(unused, none, "{folder}: dependencies that no test uses");
    }
}

#[test]
fn the_table_has_every_crate() {
    let mut folders = BTreeSet::new();
    for parent in ["crates", "bindings", "bindings/quic", "examples"] {
        for entry in fs::read_dir(root().join(parent)).expect("a folder").flatten() {
            if entry.path().join("Cargo.toml").exists() {
                folders.insert(format!("{parent}/{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    let listed: BTreeSet<String> = ROOMS.iter().map(|room| room.folder.to_string()).collect();
    assert_eq!(listed, folders);
    assert_eq!(listed.len(), ROOMS.len());
}

/// Returns the cells of the table of ARCHITECTURE.md that begins with `header`, each divided at commas.
fn table_of_architecture(header: &str) -> Vec<Vec<Vec<String>>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (_, table) = text.split_once(header).unwrap_or_else(|| panic!("no table {header}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    let words = |cell: &str| -> Vec<String> {
        cell.split(',')
            .map(|word| word.trim().to_string())
            .filter(|word| !word.is_empty())
            .collect()
    };
    rows.map(|row| row.trim_matches('|').split('|').map(words).collect()).collect()
}

/// Returns the crates of ARCHITECTURE.md's table, each with its cells "imports" and "must hold".
fn rows_of_architecture() -> Vec<(String, Vec<String>, Vec<String>)> {
    let mut rows = Vec::new();
    for cells in table_of_architecture("| crate | what it has | imports | must hold |") {
        for name in cells[0].iter().map(|name| name.trim_matches('`')) {
            let folder =
                if name.contains('/') { name.to_string() } else { format!("crates/{name}") };
            rows.push((folder, cells[2].clone(), cells[3].clone()));
        }
    }
    rows
}

#[test]
fn architecture_has_the_table() {
    let rows = rows_of_architecture().into_iter();
    let mut rows: Vec<(String, Vec<String>)> = rows.map(|row| (row.0, row.1)).collect();
    let mut expected: Vec<(String, Vec<String>)> = ROOMS
        .iter()
        .map(|Room { folder, imports }| {
            let imports = imports.iter().filter(|name| **name != "cc");
            (folder.to_string(), imports.map(|name| name.to_string()).collect())
        })
        .collect();
    rows.sort_unstable();
    expected.sort_unstable();
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(row, expected, "ARCHITECTURE.md, and crates/xtask/src/rooms.rs");
    }
    assert_eq!(rows.len(), expected.len());
}

#[test]
fn architecture_has_the_crates_without_io_and_all_dependencies() {
    let rows = rows_of_architecture().into_iter();
    let rows = rows.filter(|(_, _, invariants)| invariants.contains(&"1".to_string()));
    let folders: BTreeSet<String> = rows.map(|row| row.0).collect();
    // Of invariant 1, `trace` must hold only what it says about globals.
    let expected = WITHOUT_IO.into_iter().chain(["crates/trace"]).map(String::from).collect();
    assert_eq!(folders, expected, "crates that must hold invariant 1");

    let mut listed = BTreeSet::new();
    for cells in table_of_architecture("| crate | for |") {
        listed.extend(cells[0].iter().filter_map(|cell| Some(cell.split(' ').next()?.to_string())));
    }
    let used: BTreeSet<String> = ROOMS
        .iter()
        .flat_map(|room| {
            let manifest = manifest(&root().join(room.folder)).expect("a manifest");
            manifest.dependencies.into_iter().chain(manifest.test_dependencies)
        })
        .filter(|name| !name.starts_with("paceline-"))
        .collect();
    let missing: Vec<&String> = used.difference(&listed).collect();
    assert_eq!(missing, Vec::<&String>::new(), "not in the table of dependencies");
}

#[test]
fn schemes_share_parts_and_only_variants_import_a_scheme() {
    // As in ARCHITECTURE.md: a scheme, and the schemes on which it is built.
    let variants: [(&str, &[&str]); 6] = [
        ("abc", &["cubic"]),
        ("c2tcp", &["cubic"]),
        ("remy", &["abc"]),
        ("sprout_ewma", &["sprout"]),
        ("xcpb", &["xcp"]),
        ("xcpw", &["xcp"]),
    ];
    let schemes = scheme_folders();
    for Source { path, text } in sources("crates/schemes") {
        let place = path.strip_prefix("crates/schemes/src/").expect("below the source");
        if place.starts_with("registry") {
            continue;
        }
        let own = place.split_once('/').map_or("", |(scheme, _)| scheme);
        let may = variants.iter().find(|(variant, _)| *variant == own).map_or(&[][..], |v| v.1);
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for after in line.split("crate::").skip(1) {
                let imported = after.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                let imported = imported.unwrap_or_default();
                // `use crate::{...}` could hide an import.
                assert!(!imported.is_empty(), "{place}: import one module a line: {line}");
                let is_scheme = schemes.iter().any(|scheme| scheme == imported);
                let allowed = !is_scheme || imported == own || may.contains(&imported);
                assert!(allowed, "{place} imports a scheme: {line}");
            }
        }
    }
}
