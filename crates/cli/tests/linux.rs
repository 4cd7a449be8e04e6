//! `paceline compare` with hosts that run Linux: equal results whatever the number of threads, the
//! machine's load and the user, and equal to those in `linux-golden.txt`. Skipped without a built
//! guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[allow(dead_code, reason = "only its folders are used here")]
mod common;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use common::Folder;
use paceline_guest::build::BuiltGuest;
use paceline_testing::{Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");
/// Number of `nobody` on all distributions.
const NOBODY: u32 = 65_534;
/// Threads that keep the processors busy.
const BUSY: usize = 6;
const SCHEMES: &str = "linux:cubic,linux:bbr[qdisc=fq],linux:reno+codel,cubic";

/// Returns the guest; `None`, printed as a skipped test, if there is none.
fn guest() -> Option<BuiltGuest> {
    paceline_guest::find(None)
        .map_err(|error| skip(Need::Linux, &this_test(), &error.to_string()))
        .ok()
}

/// Returns a command that compares `SCHEMES` over 12 Mbit/s for 2 s, two runs each.
fn compare(program: &Path, guest: &Path, threads: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["compare", "--trace", "12Mbps", "--schemes", SCHEMES, "--runs", "2"]);
    command.args(["--duration", "2s", "--buffer", "60", "--json", "-q"]);
    command.args(["--threads", &threads.to_string()]).env("PACELINE_LINUX", guest);
    command
}

/// Returns the JSON that a command prints.
fn printed(mut command: Command) -> Value {
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Copies a file to a place that every user can read.
fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).expect("a copy");
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
fn runs_are_equal_on_threads_under_load_and_as_another_user() {
    let Some(built) = guest() else { return };
    let run = |threads| printed(compare(Path::new(PROGRAM), &built.folder, threads));
    let first = run(1);
    assert_eq!(run(2), first, "two threads");

    let is_over = AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcome = std::panic::catch_unwind(|| run(2));
        is_over.store(true, Ordering::Relaxed);
        outcome
    });
    assert_eq!(loaded.expect("a run"), first, "beside {BUSY} busy threads");

    if fs::metadata("/proc/self").expect("this process").uid() != 0 {
        let why = "only root can start a program as another user";
        return skip(Need::Net, &format!("{}: as nobody", this_test()), why);
    }
    let folder = Folder::new("linux-nobody");
    let place = |name: &str| Path::new(&folder.path(name)).to_path_buf();
    fs::create_dir(place("guest")).expect("a folder");
    for folder in [place(""), place("guest")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    copy(Path::new(PROGRAM), &place("paceline"));
    for name in ["linux", "initramfs.cpio.gz", "manifest.json"] {
        copy(&built.folder.join(name), &place("guest").join(name));
    }
    let mut command = compare(&place("paceline"), &place("guest"), 2);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").env("HOME", "/").env_remove("TMPDIR");
    assert_eq!(printed(command), first, "as nobody");
}

/// Results of runs with the guest whose hashes stand in the file's first line. Another kernel, or
/// another `/init`, has other sequence numbers and therefore other digests.
#[test]
fn golden_results() {
    let Some(built) = guest() else { return };
    let document = printed(compare(Path::new(PROGRAM), &built.folder, 2));
    let manifest = &built.manifest;
    let head = format!(
        "# What `SCHEMES` of linux.rs give over 12 Mbit/s. Written by the test `golden_results` with PACELINE_UPDATE=1.\n\
         # scheme, run: throughput in Mbit/s, p95 of queueing delay in ms, drops, packets sent again, packets, digest\n"
    );
    let guest = format!("guest {} {}\n", manifest.kernel_sha256, manifest.initramfs_sha256);
    let mut results = String::new();
    let is_linux = |row: &&Value| row["scheme"].as_str().is_some_and(|it| it.starts_with("linux:"));
    for row in document["runs"].as_array().expect("rows").iter().filter(is_linux) {
        let text = |name: &str| row[name].to_string().trim_matches('"').to_string();
        let delay = &row["queue_delay_ms"]["p95"];
        let [scheme, run, rate, drops, resent, packets, digest] =
            ["scheme", "run", "throughput_mbps", "drops", "retransmits", "packets", "digest"]
                .map(text);
        writeln!(results, "{scheme}, {run}: {rate} {delay} {drops} {resent} {packets} {digest}")
            .expect("a string");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux-golden.txt");
    if std::env::var_os("PACELINE_UPDATE").is_some() {
        fs::write(&path, head + &guest + &results).expect("a file");
        return;
    }
    let stored = fs::read_to_string(&path).expect("golden results");
    let Some((_, stored)) = stored.split_once(&guest) else {
        let why = format!(
            "{} was made with another kernel or /init than the guest in {} ({}): its results cannot be compared",
            path.display(),
            built.folder.display(),
            built.describe()
        );
        return skip(Need::Linux, &this_test(), &why);
    };
    assert_eq!(results, stored, "{}", path.display());
}
