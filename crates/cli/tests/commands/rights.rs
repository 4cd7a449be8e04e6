//! Tests of the rights that commands drop, and that systemd's units take away.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use paceline_testing::{Folder, Need, skip, this_test};

/// Returns a process's effective and permitted capabilities.
fn capabilities(pid: u32) -> Vec<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let lines = status.lines().filter(|line| {
        ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"].iter().any(|name| line.starts_with(name))
    });
    lines.map(|line| line.split_whitespace().nth(1).expect("a number").to_string()).collect()
}

/// An ordinary user has capabilities, as if the program's file had them (`setcap`).
#[test]
fn an_ordinary_users_receiver_gives_up_capabilities() {
    let folder = Folder::new("rights");
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(""), open).expect("our folder");
    let program = folder.path("paceline");
    std::fs::copy(env!("CARGO_BIN_EXE_paceline"), &program).expect("room");
    let given = "+net_admin,+sys_admin,+sys_nice";
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.args(["--inh-caps", given, "--ambient-caps", given, &program]);
    command.args(["recv", "--listen", "127.0.0.1:0", "-o", "/dev/null"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
    let Ok(mut child) = command.spawn() else {
        return skip(Need::Programs, &this_test(), "no setpriv");
    };
    let mut said = String::new();
    let err = child.stderr.as_mut().expect("a pipe");
    BufReader::new(err).read_line(&mut said).expect("a line");
    if !said.starts_with("listening at ") {
        child.wait().expect("an end");
        return skip(Need::Net, &this_test(), &format!("no rights to give: {said}"));
    }
    let found = capabilities(child.id());
    child.kill().expect("it runs");
    child.wait().expect("an end");
    assert_eq!(found, ["0000000000000000"; 4]);
}

/// Units that load programs into the kernel have CAP_SYS_ADMIN, and no other right that they do not need.
#[test]
fn the_units_with_programs_for_the_kernel_are_confined() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    for unit in ["paceline-kernel@.service", "paceline-router@.service"] {
        let mut command = Command::new("systemd-analyze");
        command.args(["security", "--offline=true", "--threshold=40", "--no-pager"]);
        let Ok(output) = command.arg(folder.join(unit)).output() else {
            return skip(Need::Programs, &this_test(), "no systemd-analyze");
        };
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !out.contains("Overall exposure level") {
            return skip(Need::Programs, &this_test(), &format!("systemd-analyze: {err}"));
        }
        assert!(output.status.success(), "{unit}: {}", out.lines().last().unwrap_or_default());
    }
}

/// At 3.0 of 10 an exposure is well below systemd's "MEDIUM".
#[test]
fn the_units_are_confined() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    for unit in [
        "paceline-recv.service",
        "paceline-tunnel-client.service",
        "paceline-tunnel-server.service",
        "paceline-tunnel@.service",
    ] {
        let path = folder.join(unit);
        let mut command = Command::new("systemd-analyze");
        command.args(["security", "--offline=true", "--threshold=30", "--no-pager"]).arg(&path);
        let Ok(output) = command.output() else {
            return skip(Need::Programs, &this_test(), "no systemd-analyze");
        };
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !out.contains("Overall exposure level") {
            return skip(Need::Programs, &this_test(), &format!("systemd-analyze: {err}"));
        }
        assert!(output.status.success(), "{unit}: {}", out.lines().last().unwrap_or_default());
        let text = std::fs::read_to_string(&path).expect("the unit");
        assert!(!text.contains("printed into the journal"), "{unit}");
        let reloads = text.contains("\nExecReload=/bin/kill -HUP $MAINPID\n");
        assert_eq!(reloads, unit != "paceline-tunnel-client.service", "{unit}");
        if unit == "paceline-recv.service" {
            continue;
        }
        // The control socket lies in /run/paceline or /run/paceline-*, where root's `tunnel status`
        // looks.
        assert!(text.contains("\nRuntimeDirectory=paceline"), "{unit}");
        assert!(text.contains("\nRuntimeDirectoryMode=0700\n"), "{unit}");
    }
}
