//! The lists of licences have every package that is linked in, with a text.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use paceline_xtask::licenses::{host, linked, written};
use paceline_xtask::tree::root;

/// What is handed out: crates, features and platforms, as in `packaging`.
const HANDED_OUT: [(&str, &[&str], &str); 5] = [
    ("paceline-cli", &["paceline-cli/bpf"], "the program"),
    ("paceline-cli", &[], "the program without the programs of the kernel"),
    ("paceline-python", &[], "the wheel"),
    ("paceline-web", &[], "the page"),
    ("paceline-quic-c", &[], "the library for QUIC stacks in C"),
];

/// Returns the packages that `cargo tree` links into a crate: name and version.
fn tree(root_crate: &str, target: &str, features: &[&str]) -> BTreeSet<(String, String)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--locked", "-e", "normal,no-proc-macro", "--prefix", "none"]);
    command.args(["-f", "{p}", "-p", root_crate, "--target", target]);
    if !features.is_empty() {
        command.args(["--features", &features.join(",")]);
    }
    let output = command.current_dir(root()).output().expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).expect("a text");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.contains('/'));
    lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?.to_string(), words.next()?.strip_prefix('v')?.to_string()))
        })
        .collect()
}

#[test]
fn every_linked_package_of_the_lock_file_has_its_licence() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("the lock file");
    for (crate_name, features, what) in HANDED_OUT {
        let target = if crate_name == "paceline-web" {
            "wasm32-unknown-unknown".into()
        } else {
            host().expect("a host")
        };
        let packages = linked(crate_name, &target, features).expect("the packages");
        let text = written(&packages).expect("the texts");
        let expected = tree(crate_name, &target, features);
        assert!(expected.len() > 20, "{what}: {expected:?}");
        for (name, version) in expected {
            assert!(
                lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")),
                "{name} {version}"
            );
            assert!(
                text.contains(&format!("\n{name} {version}: ")),
                "{what}: {name} {version} is not listed"
            );
            let has_text = text.contains(&format!("\n{name} {version} ("));
            assert!(has_text, "{what}: {name} {version} has no text");
        }
    }
}

#[test]
fn notices_of_copied_sources_and_fonts_are_there_and_equal_texts_once() {
    let packages =
        linked("paceline-cli", &host().expect("a host"), &["paceline-cli/bpf"]).expect("packages");
    let text = written(&packages).expect("the texts");
    // The fonts of figures, and the sources of libbpf and ring.
    for said in ["Bitstream", "libbpf-sys ", "ring ", "GNU LESSER GENERAL PUBLIC LICENSE"] {
        assert!(text.contains(said), "{said}");
    }
    let apache =
        text.matches("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION").count();
    assert!(apache < packages.len() / 3, "{apache} copies of one licence");
}
