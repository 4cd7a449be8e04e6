//! Compiles the eBPF programs with clang, if the feature `bpf` is on.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The congestion controls, and the program of `paceline router`: `bpf/<name>.bpf.c` becomes
/// `<name>.bpf.o`.
const PROGRAMS: [&str; 6] = ["abc", "abc_ecn", "c2tcp", "remy", "router", "vegas_ebpf"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let Some(clang) = clang() else {
        println!(
            "cargo::error=the eBPF programs of paceline-kernel need clang 14 or newer: install it \
             (on Debian: apt-get install clang-14 libbpf-dev), name it in $CLANG, or build without \
             the feature `bpf`"
        );
        return;
    };
    for name in PROGRAMS {
        let source = Path::new("bpf").join(format!("{name}.bpf.c"));
        let mut command = Command::new(&clang);
        command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"]);
        // Debian's folder for the architecture's headers.
        command.arg(format!("-I/usr/include/{architecture}-linux-gnu"));
        command.arg("-c").arg(&source).arg("-o").arg(out.join(format!("{name}.bpf.o")));
        let done = command.output();
        let problem = match &done {
            Ok(output) if output.status.success() => continue,
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        let problem = problem.replace('\n', " | ");
        println!("cargo::error={}: {clang} has failed: {problem}", source.display());
    }
}

/// Returns the name of the first clang that runs.
fn clang() -> Option<String> {
    let named = env::var("CLANG").ok();
    let usual = std::iter::once("clang".to_string());
    let versions = (14..=21).rev().map(|version| format!("clang-{version}"));
    named.into_iter().chain(usual).chain(versions).find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}
