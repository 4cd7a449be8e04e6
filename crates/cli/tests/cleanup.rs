//! Tests of processes that `paceline cleanup` leaves alone, in the test's own namespaces.

use std::process::Command;

use paceline_testing::{Need, skip, this_test};

/// Any user can write the name of an emulator that has ended into an environment, so a name alone
/// must not decide.
#[test]
fn processes_of_other_users_are_left_alone_outside_of_the_emulators_networks() {
    let script = r#"mount -t tmpfs none /run || exit 99
        id -u | grep -qx 0 || exit 99
        ns=$(stat -Lc %i /proc/self/ns/pid)
        setpriv --reuid 65534 --regid 65534 --clear-groups env PACELINE_SHELL=$ns.99999.1 sleep 1000 & other=$!
        PACELINE_SHELL=$ns.99999.1 sleep 1000 & own=$!
        for i in $(seq 600); do
            grep -qz PACELINE_SHELL /proc/$other/environ && grep -qz PACELINE_SHELL /proc/$own/environ && break
            sleep 0.1
        done
        "$P" cleanup
        wait $own; echo "own: $?"
        kill -0 $other && echo "other lives""#;
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--mount-proc", "bash", "-c", script])
        .env("P", env!("CARGO_BIN_EXE_paceline"))
        .output();
    let Ok(output) = output else { return skip(Need::Net, &this_test(), "no unshare") };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(99) || err.contains("unshare:") {
        return skip(Need::Net, &this_test(), &format!("no namespaces of its own: {err}"));
    }
    assert!(out.contains("own: 137") && out.contains("other lives"), "{out}{err}");
    assert!(err.contains("left alone: 1 processes of other users"), "{err}");
    assert_eq!(err.matches("killed: ").count(), 1, "{err}");
}
