//! Stacks in C: a sender with a fixed window, which the tests compile, and ngtcp2, where it is
//! installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const SCENARIO: &str = "duration = \"10s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\nbuffer = 100\n\
     [[flow]]\nname = \"one\"\nscheme = \"SCHEME\"\npath = [\"link\"]\nrtt = \"100ms\"\n";

/// Returns the folder of the shared library, which cargo builds for tests, too.
fn library() -> PathBuf {
    let program = env::current_exe().expect("the test's path");
    let mut folders = program.ancestors().skip(1).take(2);
    let found = folders.find(|folder| folder.join("libpaceline_quic_c.so").exists());
    found.expect("libpaceline_quic_c.so beside the test").to_path_buf()
}

/// Compiles a program; `None`, with a report, if the compiler or a library is missing.
fn compile(source: &str, folder: &Folder, packages: &[&str]) -> Option<PathBuf> {
    let missing = |what: &str| {
        skip(Need::Programs, &this_test(), &format!("{what} is missing"));
        None
    };
    if Command::new("cc").arg("--version").output().is_err() {
        return missing("cc");
    }
    let mut flags = Vec::new();
    if !packages.is_empty() {
        let found = Command::new("pkg-config").args(["--cflags", "--libs"]).args(packages).output();
        let Ok(found) = found else { return missing("pkg-config") };
        if !found.status.success() {
            return missing(&packages.join(", "));
        }
        let text = String::from_utf8(found.stdout).expect("flags");
        flags = text.split_whitespace().map(String::from).collect();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (program, library) = (folder.root().join("program"), library());
    let output = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-D_DEFAULT_SOURCE"])
        .arg("-I")
        .arg(root.join("include"))
        .arg(root.join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .arg("-lpaceline_quic_c")
        .args(flags)
        .output()
        .expect("the compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("the program")
}

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn write_scenario(folder: &Folder, scheme: &str) -> String {
    let path = folder.root().join("one.toml");
    fs::write(&path, SCENARIO.replace("SCHEME", scheme)).expect("written");
    path.display().to_string()
}

#[test]
fn a_window_of_twenty_packets_has_its_rate() {
    let folder = Folder::new("window");
    let Some(program) = compile("tests/c/window.c", &folder, &[]) else { return };
    let scenario = write_scenario(&folder, "c:window");
    let json = |window| {
        let printed = text(&run(&program, &["run", &scenario, window]));
        serde_json::from_str::<Value>(&printed).expect("JSON")
    };
    let found = json("20");
    // 20 packets of 1463 bytes of data in a round trip of 100 ms and the time of a packet.
    let goodput = found["flows"][0]["goodput_mbps"].as_f64().expect("a number");
    assert!((2.2..2.35).contains(&goodput), "{goodput} Mbit/s");
    assert_eq!(found["flows"][0]["scheme"], "c:window");
    assert!(found["schema_version"].is_u64(), "{found}");
    assert_eq!(found["digest"], json("20")["digest"]);
    assert_ne!(found["digest"], json("21")["digest"]);
    // Path and buffer hold 200 packets.
    let lost = json("400")["flows"][0]["lost"].as_u64();
    assert!(lost > Some(100), "{lost:?}");
}

#[test]
fn buffers_have_room_for_ten_datagrams() {
    let folder = Folder::new("buffers");
    let Some(program) = compile("tests/c/window.c", &folder, &[]) else { return };
    let path = folder.root().join("jumbo.toml").display().to_string();
    let scenario = format!("mss = 9000\n{}", SCENARIO.replace("SCHEME", "c:window"));
    fs::write(&path, scenario).expect("written");
    let printed = text(&run(&program, &["run", &path, "20"]));
    let found: Value = serde_json::from_str(&printed).expect("JSON");
    assert!(found["flows"][0]["goodput_mbps"].as_f64() > Some(5.0), "{found}");
}

#[test]
fn transfers_of_a_stack_in_c_finish() {
    let folder = Folder::new("transfers");
    let Some(program) = compile("tests/c/window.c", &folder, &[]) else { return };
    let path = folder.root().join("bytes.toml").display().to_string();
    let scenario = SCENARIO.replace("SCHEME", "c:window");
    fs::write(&path, format!("{scenario}bytes = 50000\n")).expect("written");
    let printed = text(&run(&program, &["run", &path, "20"]));
    let found: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(found["flows"][0]["transfers"], 1, "{found}");
    for unknown in ["retransmits", "timeouts", "spurious"] {
        assert_eq!(found["flows"][0].get(unknown), Some(&Value::Null), "{unknown}: {found}");
    }
    // The hello, two windows, and the time of 15 packets: three round trips of 100 ms and more.
    let time = found["flows"][0]["completion_ms"]["mean"].as_f64();
    assert!((300.0..330.0).contains(&time.expect("a time")), "{time:?}");
}

#[test]
fn the_suite_judges_a_stack_in_c() {
    let folder = Folder::new("suite");
    let Some(program) = compile("tests/c/window.c", &folder, &[]) else { return };
    let table = run(&program, &["suite", "4", "startup,video", "0"]);
    assert_eq!(table.status.code(), Some(1));
    let table = String::from_utf8(table.stdout).expect("text");
    assert!(table.contains("window: 2 cases, 2 failed"), "{table}");
    let json = run(&program, &["suite", "150", "steady", "1"]).stdout;
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["cases"][0]["checks"][0]["holds"], true, "{json}");
    let xml = String::from_utf8(run(&program, &["suite", "4", "video", "2"]).stdout).expect("text");
    assert!(xml.contains("<testsuite name=\"window\""), "{xml}");
    let kept = run(&program, &["suite", "4", "video", "3"]).stdout;
    assert_eq!(serde_json::from_slice::<Value>(&kept).expect("JSON")["scheme"], "window");
}

#[test]
fn every_mistake_is_an_error_in_words() {
    let folder = Folder::new("mistakes");
    let Some(program) = compile("tests/c/window.c", &folder, &[]) else { return };
    let printed = text(&run(&program, &["mistakes"]));
    for wanted in [
        "no scenario: -1: the scenario is NULL",
        "no stacks: -1: stacks is NULL, and count is 1",
        "wrong scenario: -1: scenario",
        "no result: 0\n",
        "no stack: -1: the stack is NULL",
        "no label: -1: the stack's label is NULL",
        "no calls: -1: stack window: calls is NULL",
        "no make: -1: stack window: make is NULL",
        "no rtt: -1: stack window: calls.rtt is NULL",
        "no case: -1: there is no case \"nonsense\", but startup",
        "no format: -1: format is 9",
        "no aim: -1: aim is 2",
        "no baseline: -1: not a baseline",
        "stack window: make returned 7",
        "fails: -1: flow `c:window`: the machine is tired",
        "the machine's timer expires again and again",
        "the machine wrote more bytes than its buffer has",
        "the machine's ECN field is not 0 to 3",
        "long: -1: flow `c:window`: the machine wrote a datagram of 1473 bytes, and the path's \
         largest has 1472",
        "segment: -1: flow `c:window`: the machine wrote a datagram of 1473 bytes",
        "endless: -1: flow `c:window`: the machine wrote more than 100000 datagrams at one time",
        "no failure: 0\n",
    ] {
        assert!(printed.contains(wanted), "{wanted}\n{printed}");
    }
    assert!(printed.contains("unknown stack: -1: ") && printed.contains("no stacks were passed"));
}

#[test]
fn ngtcp2_runs_over_the_simulators_links() {
    let folder = Folder::new("ngtcp2");
    let packages = ["libngtcp2", "libngtcp2_crypto_gnutls", "gnutls"];
    let Some(program) = compile("examples/ngtcp2.c", &folder, &packages) else { return };
    let scenario = write_scenario(&folder, "c:ngtcp2-cubic");
    let json = || {
        let printed = text(&run(&program, &["run", &scenario]));
        serde_json::from_str::<Value>(&printed).expect("JSON")
    };
    let found = json();
    let goodput = found["flows"][0]["goodput_mbps"].as_f64().expect("a number");
    assert!(goodput > 9.0, "{found}");
    assert_eq!(found["digest"], json()["digest"]);
    let report = text(&run(&program, &["suite", "reno", "startup,ack-loss", "1"]));
    assert!(report.contains("2 cases, 0 failed"), "{report}");
}
