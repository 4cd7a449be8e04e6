//! Programs at Linux hosts that never end an instant: the run fails with an error, or goes on slowly, and nothing of it
//! is left. Skipped without a built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");

/// Returns true, and prints that the test is skipped, without a guest.
fn is_skipped() -> bool {
    let found = paceline_guest::find(None);
    if let Err(error) = &found {
        skip(Need::Linux, &this_test(), &error.to_string());
    }
    found.is_err()
}

/// Runs a scenario in which the sending host runs a program. Returns its exit status, JSON and errors.
/// Afterwards neither a process of the guests nor one of their folders is left.
fn run(
    folder: &Folder,
    duration: &str,
    program: &str,
    limit: Option<&str>,
) -> (Option<i32>, Value, String) {
    let text = format!(
        "duration = \"{duration}\"\n[[link]]\nname = \"there\"\nrate = \"12Mbps\"\nbuffer = 60\n\
         [[flow]]\nhost = \"linux\"\nrtt = \"10ms\"\n[flow.programs]\nsender = {program}\n"
    );
    let scenario = folder.write("endless.toml", text.as_bytes());
    let temporary = folder.path("temporary");
    fs::create_dir_all(&temporary).expect("a folder");
    let mut command = Command::new(PROGRAM);
    command.args(["run", &scenario, "--json", "-q"]).env("NO_COLOR", "1").env("TMPDIR", &temporary);
    match limit {
        Some(limit) => command.env("PACELINE_LINUX_SILENCE", limit),
        None => command.env_remove("PACELINE_LINUX_SILENCE"),
    };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let own = child.id().to_string();
    let output = child.wait_with_output().expect("it ends");
    // A guest that still runs after its simulator has ended keeps its folder, which holds its memory.
    let left: Vec<_> = fs::read_dir(&temporary).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(processes_of(&own), [""; 0]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), errors)
}

/// Returns the numbers of the processes whose session or group a process began, or that are its children.
fn processes_of(number: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        // Behind the name: state, parent, group, session.
        if fields.get(1..4).is_some_and(|all| all.contains(&number)) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_program_that_never_asks_the_time_ends_the_run() {
    if is_skipped() {
        return;
    }
    let folder = Folder::new("linux-endless-silent");
    let began = Instant::now();
    let program = "[\"sh\", \"-c\", \"while :; do :; done\"]";
    let (code, _, errors) = run(&folder, "2s", program, Some("3"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(
        errors.contains("the sending host: the Linux guest hangs: it has said nothing for 3 s"),
        "{errors}"
    );
    assert!(errors.contains("a program that neither sleeps nor asks the time"), "{errors}");
    assert!(began.elapsed().as_secs() >= 3);
}

#[test]
fn a_program_that_asks_the_time_forever_ends_with_the_run() {
    if is_skipped() {
        return;
    }
    let folder = Folder::new("linux-endless-clock");
    let source = "#include <time.h>\nint main(void) { struct timespec t; for (;;) clock_gettime(CLOCK_MONOTONIC, &t); }\n";
    let source = folder.write("clock.c", source.as_bytes());
    let program = folder.path("clock");
    let built = Command::new("gcc").args(["-O2", "-static", "-o", &program, &source]).status();
    if !built.is_ok_and(|status| status.success()) {
        return skip(Need::Programs, &this_test(), "gcc builds a static program");
    }
    // 20 ms are 78,125 readings.
    let (code, outcome, errors) = run(&folder, "20ms", &format!("[\"{program}\"]"), None);
    assert_eq!(code, Some(0), "{errors}");
    let program = &outcome["flows"][0]["programs"][0];
    assert_eq!(
        (&program["status"], &program["ended_s"]),
        (&Value::Null, &Value::Null),
        "{program}"
    );
}

#[test]
fn a_wrong_limit_is_named() {
    if is_skipped() {
        return;
    }
    let folder = Folder::new("linux-endless-limit");
    let (code, _, errors) = run(&folder, "1s", "[\"sh\"]", Some("soon"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("PACELINE_LINUX_SILENCE=soon: expected the seconds"), "{errors}");
}
