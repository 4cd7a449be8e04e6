//! Congestion controls that are modules of Linux hosts: Paceline's own beside the simulator's schemes, one with
//! `cong_control`, and one that never ends. Skipped without a built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;
use std::process::Command;

use paceline_guest::build::BuiltGuest;
use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");

/// Returns the guest; `None`, printed as a skipped test, if there is none.
fn guest() -> Option<BuiltGuest> {
    paceline_guest::find(None)
        .map_err(|error| skip(Need::Linux, &this_test(), &error.to_string()))
        .ok()
}

/// Runs the program with this guest; returns its exit status, JSON and errors.
fn run(arguments: &[&str], guest: &Path) -> (Option<i32>, Value, String) {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["--json", "-q"]);
    let output = command.env("PACELINE_LINUX", guest).env("NO_COLOR", "1").output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), errors)
}

/// Runs one flow over 12 Mbit/s, RTT 100 ms, 250 packets, for 15 s; returns the link's results.
fn link(guest: &BuiltGuest, scheme: &str, router: &str) -> Value {
    let folder = Folder::new("linux-beside");
    let scenario = format!(
        "duration = \"15s\"\n[[link]]\nname = \"there\"\nrate = \"12Mbps\"\nbuffer = 250\n{router}\n\
         [[flow]]\nscheme = \"{scheme}\"\nrtt = \"100ms\"\n"
    );
    let scenario = folder.write("beside.toml", scenario.as_bytes());
    let (code, document, errors) = run(&["run", &scenario], &guest.folder);
    assert_eq!(code, Some(0), "{scheme}: {errors}");
    document["links"][0].clone()
}

/// Checks that the link is used equally to 3 points, and that p95 of queueing differs by at most 15 % and 5 ms.
fn agree(guest: &BuiltGuest, linux: &str, simulated: &str, router: &str) {
    let figures = |scheme: &str| {
        let link = link(guest, scheme, router);
        let number = |value: &Value| value.as_f64().expect("a number");
        (number(&link["utilization"]), number(&link["queue_delay_ms"]["p95"]))
    };
    let (own, ours) = (figures(linux), figures(simulated));
    assert!((own.0 - ours.0).abs() < 0.03, "{linux} {own:?}, {simulated} {ours:?}");
    let most = 0.15 * own.1 + 5.0;
    assert!((own.1 - ours.1).abs() < most, "{linux} {own:?}, {simulated} {ours:?}");
}

/// Slow start loses 251 packets, and C2TCP closes the window while they are repaired. With Proportional Rate
/// Reduction, which Linux does not apply to the module, the simulated flow repairs one packet per round trip.
#[test]
fn c2tcp_over_newreno_repairs_a_burst_as_in_the_simulator() {
    let Some(built) = guest() else { return };
    let simulated = "c2tcp[base=newreno,settle=0s,floor=100ms,prr=false]";
    agree(&built, "linux:c2tcp[base=newreno]", simulated, "");
}

/// Marks of ABC's router, which the hosts receive as CE, do not stop the growth of Cubic's window at either.
#[test]
fn abc_over_ecn_has_the_queue_of_the_simulator() {
    let Some(built) = guest() else { return };
    let simulated = "abc[proxied=true]";
    agree(&built, "linux:abc_ecn[ecn=true]", simulated, "router = \"abc[proxied=true]\"");
}

/// In an outage of 10 s, one packet of 250 leaves each 900 ms, and the window shrinks to two packets, whose pacing rate
/// is then a packet in seconds. The sender once waited for it with nothing in flight after the outage, and used 0.70 of
/// this link.
#[test]
fn abc_over_ecn_resumes_at_once_after_an_outage() {
    let Some(built) = guest() else { return };
    let folder = Folder::new("linux-outage");
    let times = (0..5000).step_by(2).chain((5900..15_000).step_by(900));
    let times = times.chain((15_000..20_000).step_by(2));
    let lines: String = times.map(|time: u32| format!("{time}\n")).collect();
    let trace = folder.write("outage.trace", lines.as_bytes());
    let scenario = format!(
        "duration = \"20s\"\n[[link]]\nname = \"there\"\ntrace = \"{trace}\"\nbuffer = 250\n\
         router = \"abc[proxied=true]\"\n[[flow]]\nscheme = \"linux:abc_ecn[ecn=true]\"\nrtt = \"100ms\"\n"
    );
    let scenario = folder.write("outage.toml", scenario.as_bytes());
    let (code, document, errors) = run(&["run", &scenario], &built.folder);
    assert_eq!(code, Some(0), "{errors}");
    let used = document["links"][0]["utilization"].as_f64().expect("a number");
    assert!(used > 0.88, "{used}");
}

/// Returns the arguments of a short comparison.
fn compare(schemes: &str) -> Vec<&str> {
    let options = ["--trace", "12Mbps", "--buffer", "60", "--runs", "1", "--duration", "3s"];
    [&["compare", "--schemes", schemes], &options[..]].concat()
}

/// Returns the source of a congestion control `name` with these members, functions first.
fn source(name: &str, functions: &str, members: &str) -> String {
    format!(
        "#include <linux/module.h>\n#include <net/tcp.h>\n{functions}\n\
         static struct tcp_congestion_ops mine = {{\n\t.ssthresh = tcp_reno_ssthresh,\n{members}\
         \t.undo_cwnd = tcp_reno_undo_cwnd,\n\t.owner = THIS_MODULE,\n\t.name = \"{name}\",\n}};\n\
         static int __init begin(void)\n{{\n\treturn tcp_register_congestion_control(&mine);\n}}\n\
         static void __exit end(void)\n{{\n\ttcp_unregister_congestion_control(&mine);\n}}\n\
         module_init(begin);\nmodule_exit(end);\nMODULE_LICENSE(\"GPL\");\n"
    )
}

/// A module that sets window and pacing rate by itself, as BBR does: 20 packets per RTT, at 4 Mbit/s.
#[test]
fn a_module_with_cong_control_paces() {
    let Some(built) = guest() else { return };
    let folder = Folder::new("linux-control");
    let functions = "static void steady_init(struct sock *sk)\n{\n\
         \tcmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);\n}\n\
         static void steady(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)\n{\n\
         \tsk->sk_pacing_rate = 500000;\n\ttcp_sk(sk)->snd_cwnd = 100;\n}\n";
    let members = "\t.init = steady_init,\n\t.cong_control = steady,\n";
    let module = folder.write("steady.c", source("steady", functions, members).as_bytes());
    let schemes = format!("linux:{module}");
    let (code, document, errors) = run(&compare(&schemes), &built.folder);
    assert_eq!(code, Some(0), "{errors}");
    let row = &document["runs"][0];
    let mbps = row["throughput_mbps"].as_f64().expect("a rate");
    assert!((3.4..4.2).contains(&mbps), "{row}");
}

/// A module that never returns stops its host's time: the run ends with an error that says so.
#[test]
fn a_module_that_never_ends_is_an_error() {
    let Some(built) = guest() else { return };
    let folder = Folder::new("linux-endless");
    let functions = "static void endless(struct sock *sk, u32 ack, u32 acked)\n{\n\
         \twhile (READ_ONCE(tcp_sk(sk)->snd_cwnd))\n\t\t;\n}\n";
    let module = folder
        .write("endless.c", source("endless", functions, "\t.cong_avoid = endless,\n").as_bytes());
    let schemes = format!("linux:{module}");
    let (code, _, errors) = run(&compare(&schemes), &built.folder);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("the sending host") && errors.contains("60 s"), "{errors}");
}
