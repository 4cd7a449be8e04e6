//! Programs of users at Linux hosts: `iperf3` and a web server beside the link's account, programs that fail,
//! never end, take all memory, processes or output, and mistakes in scenarios. Most are skipped without a built
//! guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Runs a scenario over 12 Mbit/s whose flow has these keys; returns its exit status, JSON and errors.
fn run(guest: &Path, name: &str, duration: &str, keys: &str) -> (Option<i32>, Value, String) {
    let folder = Folder::new(name);
    let text = format!(
        "duration = \"{duration}\"\n[[link]]\nname = \"there\"\nrate = \"12Mbps\"\nbuffer = 60\n\
         [[flow]]\nrtt = \"10ms\"\n{keys}"
    );
    let scenario = folder.write("programs.toml", text.as_bytes());
    outcome(command(Path::new(PROGRAM), guest, &scenario))
}

/// Returns the command that runs a scenario.
fn command(program: &Path, guest: &Path, scenario: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["run", scenario, "--json", "-q"]);
    command.env("PACELINE_LINUX", guest).env("NO_COLOR", "1");
    command
}

/// Runs a command; returns its exit status, JSON and errors.
fn outcome(mut command: Command) -> (Option<i32>, Value, String) {
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), errors)
}

/// Returns whether this machine has the program; if not, prints that the test is skipped.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip(Need::Programs, &this_test(), &format!("there is no {program}"));
    }
    found
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
         files = [\"/usr/bin/date\", \"/usr/bin/sleep\", \"/usr/bin/head\", \"/usr/bin/tail\", \"/usr/bin/yes\"]\n"
    );
    flow(guest, name, duration, &programs).0["programs"][0].clone()
}

#[test]
fn iperf3_agrees_with_the_account_of_the_link() {
    let Some(built) = guest() else { return };
    if !has("iperf3") {
        return;
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
    // 10^9 bytes, of which the host reads 256 KiB in a millisecond: 3.8 s.
    let made =
        script(&built, "programs-gigabyte", "5s", "head -c 1000000000 /dev/zero; echo over >&2");
    let about = (&made["stdout_bytes"], &made["stderr"], &made["status"]);
    assert_eq!(about, (&1_000_000_000.into(), &"over\n".into(), &0.into()), "{}", made["ended_s"]);
    assert_eq!(made["stdout"].as_str().map(str::len), Some(256 << 10));
}

/// A program that takes all memory is killed by its host's kernel; one that starts processes without end
/// reaches the host's limit. Neither ends the run.
#[test]
fn memory_and_processes_are_bounded() {
    let Some(built) = guest() else { return };
    let made = script(&built, "programs-memory", "1s", "tail /dev/zero; echo $?");
    assert_eq!((&made["stdout"], &made["status"]), (&"137\n".into(), &0.into()), "{made}");
    let bomb = "f() { f | f & }; f; sleep 1; echo over";
    let made = script(&built, "programs-processes", "2s", bomb);
    let errors = made["stderr"].as_str().expect("text");
    assert!(errors.contains("Cannot fork"), "{made}");
    assert_eq!((&made["stdout"], &made["status"]), (&"over\n".into(), &0.into()), "{made}");
}

/// A server that listens within 400 ms is there when the flow starts; of a later one the client sees what
/// clients of real hosts see.
#[test]
fn a_server_may_listen_late() {
    let Some(built) = guest() else { return };
    if !has("iperf3") {
        return;
    }
    let about = |name: &str, delay: &str| {
        let programs = format!(
            "sender = [\"iperf3\", \"-c\", \"{{address}}\", \"-p\", \"{{port}}\", \"-t\", \"1\"]\n\
             receiver = [\"sh\", \"-c\", \"sleep {delay}; exec iperf3 -s -1 -p {{port}}\"]\n\
             files = [\"/usr/bin/sleep\", \"/usr/bin/iperf3\"]\n"
        );
        let results = flow(&built, name, "3s", &programs).0;
        let program = &results["programs"][0];
        let status = program["status"].as_i64();
        (status, program["stderr"].as_str().expect("text").contains("Connection refused"))
    };
    assert_eq!(about("programs-late", "0.2"), (Some(0), false));
    assert_eq!(about("programs-later", "2"), (Some(1), true));
}

/// Data of the receiving host pass the links of `back`.
#[test]
fn iperf3_sends_in_reverse() {
    let Some(built) = guest() else { return };
    if !has("iperf3") {
        return;
    }
    let folder = Folder::new("programs-reverse");
    let scenario = folder.write("reverse.toml", REVERSE.as_bytes());
    let (code, document, errors) = outcome(command(Path::new(PROGRAM), &built.folder, &scenario));
    assert_eq!(code, Some(0), "{errors}");
    let results = &document["flows"][0];
    for program in results["programs"].as_array().expect("programs") {
        assert_eq!(program["status"], 0, "{program}");
    }
    let json = results["programs"][0]["stdout"].as_str().expect("text");
    let json: Value = serde_json::from_str(json).expect("iperf3's JSON");
    let own = json["end"]["sum_received"]["bytes"].as_f64().expect("bytes");
    let ours = document["links"][1]["throughput_mbps"].as_f64().expect("a rate") * 6e6 / 8.0;
    // Headers are 52 of 1500 bytes; iperf3 counts neither its last buffers nor segments sent again.
    assert!((0.90..0.97).contains(&(own / ours)), "iperf3: {own} bytes, the link: {ours}");
}

const REVERSE: &str = r#"
duration = "6s"
link = [{ name = "there", rate = "10Mbps" }, { name = "back", rate = "12Mbps", buffer = 60 }]
[[flow]]
host = "linux"
path = ["there"]
back = ["back"]
rtt = "10ms"
[flow.programs]
sender = ["iperf3", "-c", "{address}", "-p", "{port}", "-t", "4", "-R", "-J"]
receiver = ["iperf3", "-s", "-1", "-p", "{port}"]
"#;

/// A server at the sending host, from which `curl` loads a file.
#[test]
fn curl_loads_a_page_from_nginx() {
    let Some(built) = guest() else { return };
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&paths).chain([PathBuf::from("/usr/sbin")]);
    let Some(nginx) = folders.map(|folder| folder.join("nginx")).find(|path| path.exists()) else {
        return skip(Need::Programs, &this_test(), "there is no nginx");
    };
    if !has("curl") {
        return;
    }
    let folder = Folder::new("programs-nginx");
    folder.write("nginx.conf", NGINX.as_bytes());
    folder.write("page", &vec![7; 3_000_000]);
    let scenario = format!(
        "duration = \"6s\"\nlink = [{{ name = \"there\", rate = \"12Mbps\", buffer = 60 }}]\n\
         [[flow]]\nhost = \"linux\"\nrtt = \"20ms\"\n[flow.programs]\n\
         sender = [\"{}\", \"-c\", \"/work/nginx.conf\"]\n\
         receiver = [\"curl\", \"-s\", \"-o\", \"/dev/null\", \"-w\", \"%{{http_code}} %{{size_download}}\", \
         \"http://{{address}}:{{port}}/page\"]\n\
         listens = \"sender\"\nfiles = [\"nginx.conf\", \"page\"]\n",
        nginx.display()
    );
    let scenario = folder.write("nginx.toml", scenario.as_bytes());
    let (code, document, errors) = outcome(command(Path::new(PROGRAM), &built.folder, &scenario));
    assert_eq!(code, Some(0), "{errors}");
    let results = &document["flows"][0];
    assert_eq!(results["programs"][1]["stdout"], "200 3000000", "{}", results["programs"]);
    // The answer's head has some hundred bytes.
    let bytes = results["goodput_mbps"].as_f64().expect("a rate") * 6e6 / 8.0;
    assert!((3_000_000.0..3_001_000.0).contains(&bytes), "{bytes}");
}

const NGINX: &str = "daemon off;\nmaster_process off;\nerror_log stderr;\npid /work/nginx.pid;\nevents {}\n\
    http {\naccess_log off;\nclient_body_temp_path /tmp/1;\nproxy_temp_path /tmp/2;\n\
    fastcgi_temp_path /tmp/3;\nuwsgi_temp_path /tmp/4;\nscgi_temp_path /tmp/5;\n\
    server { listen 5001; root /work; }\n}\n";

/// The state of a program's socket is in the series, as that of the built-in sender.
#[test]
fn sockets_of_programs_are_sampled() {
    let Some(built) = guest() else { return };
    if !has("iperf3") {
        return;
    }
    let folder = Folder::new("programs-sockets");
    let scenario = folder.write("sockets.toml", EXAMPLE.as_bytes());
    let results = folder.path("sockets.json");
    let mut command = command(Path::new(PROGRAM), &built.folder, &scenario);
    command.args(["-o", &results, "--duration", "4s"]);
    let (code, _, errors) = outcome(command);
    assert_eq!(code, Some(0), "{errors}");
    let document: Value =
        serde_json::from_slice(&fs::read(&results).expect("a file")).expect("JSON");
    let state = document["flows"][0]["series"]["state"].as_array().expect("state").clone();
    let most = |name: &str| {
        let values = state.iter().find(|it| it[0] == name).unwrap_or_else(|| panic!("no {name}"));
        let values = values[1].as_array().expect("values").iter();
        values.filter_map(Value::as_f64).fold(f64::NAN, f64::max)
    };
    // 12 Mbit/s for an RTT of 20 ms are 20 packets, and the buffer holds 60.
    assert!((20.0..100.0).contains(&most("cwnd")), "{}", most("cwnd"));
    assert!((20.0..100.0).contains(&most("rtt")), "{}", most("rtt"));
    assert!(most("delivery_rate") > 10.0 && most("unacked") > 20.0);
}

/// The example of `paceline scenario new linux/iperf3`.
const EXAMPLE: &str = include_str!("../scenarios/linux/iperf3.toml");
/// User and group id of `nobody` on all distributions.
const NOBODY: u32 = 65_534;
/// Threads that keep the processors busy.
const BUSY: usize = 6;

/// Programs give equal results beside other load, and for another user.
#[test]
fn programs_are_equal_under_load_and_as_another_user() {
    let Some(built) = guest() else { return };
    if !has("iperf3") {
        return;
    }
    let folder = Folder::new("programs-nobody");
    let place = |name: &str| PathBuf::from(folder.path(name));
    let scenario = folder.write("example.toml", EXAMPLE.as_bytes());
    let run = |mut command: Command| {
        command.args(["--duration", "4s"]);
        let (code, document, errors) = outcome(command);
        assert_eq!(code, Some(0), "{errors}");
        assert_ne!(document["digest"], Value::Null);
        document
    };
    let own = || run(command(Path::new(PROGRAM), &built.folder, &scenario));
    let first = own();
    let is_over = AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcome = std::panic::catch_unwind(own);
        is_over.store(true, Ordering::Relaxed);
        outcome
    });
    assert_eq!(loaded.expect("a run"), first, "beside {BUSY} busy threads");

    if fs::metadata("/proc/self").expect("this process").uid() != 0 {
        let why = "only root can start a program as another user";
        return skip(Need::Net, &format!("{}: as nobody", this_test()), why);
    }
    fs::create_dir(place("guest")).expect("a folder");
    let allow = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    };
    for name in ["", "guest", "example.toml"] {
        allow(&place(name));
    }
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).expect("a copy");
        allow(&to);
    };
    copy(Path::new(PROGRAM), place("paceline"));
    for name in ["linux", "initramfs.cpio.gz", "manifest.json"] {
        copy(&built.folder.join(name), place("guest").join(name));
    }
    let mut command = command(&place("paceline"), &place("guest"), &scenario);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").env("HOME", "/").env_remove("TMPDIR");
    assert_eq!(run(command), first, "as nobody");
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
