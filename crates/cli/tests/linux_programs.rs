//! Programs of users at Linux hosts: `iperf3` beside the link's account, programs that fail, never end or
//! write without end, and mistakes in scenarios. Most are skipped without a built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[allow(dead_code, reason = "only its folders are used here")]
mod common;

use std::path::Path;
use std::process::Command;

use common::Folder;
use paceline_guest::build::BuiltGuest;
use paceline_testing::{Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");

/// Returns the guest; `None`, printed as a skipped test, if there is none.
fn guest() -> Option<BuiltGuest> {
    paceline_guest::find(None)
        .map_err(|error| skip(Need::Linux, &this_test(), &error.to_string()))
        .ok()
}

/// Runs a scenario over 12 Mbit/s whose flow has these keys; returns its exit status, JSON and errors.
fn run(guest: &Path, name: &str, duration: &str, keys: &str) -> (Option<i32>, Value, String) {
    let folder = Folder::new(name);
    let text = format!(
        "duration = \"{duration}\"\n[[link]]\nname = \"there\"\nrate = \"12Mbps\"\nbuffer = 60\n\
         [[flow]]\nrtt = \"10ms\"\n{keys}"
    );
    let scenario = folder.write("programs.toml", text.as_bytes());
    let mut command = Command::new(PROGRAM);
    command.args(["run", &scenario, "--json", "-q"]);
    let output = command.env("PACELINE_LINUX", guest).env("NO_COLOR", "1").output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), errors)
}

/// Runs programs; returns the flow's results.
fn flow(guest: &BuiltGuest, name: &str, duration: &str, programs: &str) -> (Value, Value) {
    let keys = format!("host = \"linux\"\n[flow.programs]\n{programs}");
    let (code, document, errors) = run(&guest.folder, name, duration, &keys);
    assert_eq!(code, Some(0), "{errors}");
    (document["flows"][0].clone(), document["digest"].clone())
}

/// Runs a shell script at the sending host; returns the results of the program.
fn script(guest: &BuiltGuest, name: &str, duration: &str, text: &str) -> Value {
    let programs = format!(
        "sender = [\"sh\", \"-c\", '''{text}''']\n\
         files = [\"/usr/bin/date\", \"/usr/bin/sleep\", \"/usr/bin/head\", \"/usr/bin/yes\"]\n"
    );
    flow(guest, name, duration, &programs).0["programs"][0].clone()
}

#[test]
fn iperf3_agrees_with_the_account_of_the_link() {
    let Some(built) = guest() else { return };
    if Command::new("iperf3").arg("--version").output().is_err() {
        return skip(Need::Programs, &this_test(), "there is no iperf3");
    }
    let programs = "sender = [\"iperf3\", \"-c\", \"{address}\", \"-p\", \"{port}\", \"-t\", \"8\", \"-J\"]\n\
                    receiver = [\"iperf3\", \"-s\", \"-1\", \"-p\", \"{port}\"]\n";
    let (results, digest) = flow(&built, "programs-iperf3", "10s", programs);
    let all = results["programs"].as_array().expect("programs");
    let about = |at: usize| (all[at]["host"].as_str(), all[at]["status"].as_i64());
    assert_eq!((about(0), about(1)), ((Some("sender"), Some(0)), (Some("receiver"), Some(0))));
    let json = serde_json::from_str::<Value>(all[0]["stdout"].as_str().expect("text"));
    let own = &json.expect("iperf3's JSON")["end"]["sum_received"]["bytes"];
    let (own, ours) = (
        own.as_f64().expect("bytes"),
        results["goodput_mbps"].as_f64().expect("a rate") * 10e6 / 8.0,
    );
    assert!((own / ours - 1.0).abs() < 0.02, "iperf3: {own} bytes, the link: {ours}");
    assert_eq!(flow(&built, "programs-iperf3-again", "10s", programs).1, digest);
}

#[test]
fn scripts_have_output_and_status_in_simulated_time() {
    let Some(built) = guest() else { return };
    let made =
        script(&built, "programs-status", "3s", "date +%s; sleep 1; date +%s; echo no >&2; exit 3");
    assert_eq!((&made["status"], &made["stderr"]), (&3.into(), &"no\n".into()), "{made}");
    let seconds: Vec<i64> =
        made["stdout"].as_str().expect("text").lines().map(|it| it.parse().expect("s")).collect();
    assert_eq!(seconds[1] - seconds[0], 1, "{made}");
    assert!((made["ended_s"].as_f64().expect("a time") - 1.0).abs() < 0.1, "{made}");
    // One that is killed by a signal, one that still runs, and one that leaves children.
    assert_eq!(script(&built, "programs-signal", "1s", "kill -9 $$")["status"], 137);
    assert_eq!(script(&built, "programs-endless", "1s", "sleep 1000")["status"], Value::Null);
    assert_eq!(
        script(&built, "programs-children", "1s", "sleep 9 & sleep 9 & exit 0")["status"],
        0
    );
    let full =
        script(&built, "programs-disk", "1s", "head -c 999999999 /dev/zero >/tmp/x || echo full");
    assert_eq!(full["stdout"], "full\n", "{full}");
}

#[test]
fn output_is_bounded() {
    let Some(built) = guest() else { return };
    let made = script(&built, "programs-output", "200ms", "yes");
    let bytes = made["stdout_bytes"].as_u64().expect("a number");
    assert!(bytes > 1 << 20, "{bytes}");
    assert_eq!(made["stdout"].as_str().map(str::len), Some(256 << 10));
}

#[test]
fn mistakes_are_named() {
    let here = Path::new("/no/guest");
    let programs = "[flow.programs]\nsender = [\"sh\"]\n";
    let (code, _, errors) =
        run(here, "programs-scheme", "1s", &format!("scheme = \"cubic\"\n{programs}"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("programs run at hosts, and the flow has none"), "{errors}");
    let both = format!("host = \"linux\"\nbytes = 1000\n{programs}");
    let (code, _, errors) = run(here, "programs-bytes", "1s", &both);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("and a program at its sender"), "{errors}");
    let Some(built) = guest() else { return };
    let missing = "host = \"linux\"\n[flow.programs]\nsender = [\"no-such-program-here\"]\n";
    let (code, _, errors) = run(&built.folder, "programs-missing", "1s", missing);
    assert_eq!(code, Some(2), "{errors}");
    assert!(
        errors.contains("the program `no-such-program-here`: this machine has no such"),
        "{errors}"
    );
}
