//! Commands with hosts that run Linux. `compare`: equal results whatever the number of threads, the
//! machine's load and the user, and equal to those in `linux-golden.txt`; sixteen hosts at once; a
//! mistake in `tcp_cubic.c`. `gap --linux`. Errors. Most are skipped without a built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use paceline_guest::build::BuiltGuest;
use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");
/// User and group id of `nobody` on all distributions.
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

/// Runs the program with this guest; returns its exit status, output and error output.
fn run(arguments: &[&str], guest: &Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).env("PACELINE_LINUX", guest).env("NO_COLOR", "1").output();
    let output = output.expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Copies a file to a place that every user can read.
fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).expect("a copy");
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
fn runs_are_equal_on_threads_under_load_and_as_another_user() {
    let Some(built) = guest() else { return };
    let compared = |threads| printed(compare(Path::new(PROGRAM), &built.folder, threads));
    let first = compared(1);
    assert_eq!(compared(2), first, "two threads");

    let is_over = AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcome = std::panic::catch_unwind(|| compared(2));
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
    let head = String::from(
        "# What `SCHEMES` of linux.rs give over 12 Mbit/s. Written by the test `golden_results` with PACELINE_UPDATE=1.\n\
         # scheme, run: throughput in Mbit/s, p95 of queueing delay in ms, drops, packets sent again, packets, digest\n",
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

#[test]
fn sixteen_hosts_run_at_once() {
    let Some(built) = guest() else { return };
    let mut command = Command::new(PROGRAM);
    command.args(["compare", "--trace", "24Mbps", "--schemes", "linux:cubic", "--runs", "1"]);
    command.args(["--flows", "8", "--duration", "2s", "--json", "-q"]);
    command.env("PACELINE_LINUX", &built.folder);
    let document = printed(command);
    let row = &document["runs"][0];
    assert_eq!(row["flows"], 8, "{row}");
    assert!(row["utilization"].as_f64().is_some_and(|used| used > 0.8), "{row}");
    assert!(row["jain"].as_f64().is_some_and(|index| index > 0.4), "{row}");
}

/// A host finishes with a packet before it receives the next one, although the link delivers ten at
/// one instant: TCP acknowledges every second packet.
#[test]
fn bursts_are_acknowledged_packet_by_packet() {
    let Some(built) = guest() else { return };
    let folder = Folder::new("linux-burst");
    // Ten packets every 10 ms: 12 Mbit/s.
    let trace: String = (1..=10).map(|_| "10\n").collect();
    folder.write("burst", trace.as_bytes());
    let scenario = folder.write(
        "burst.toml",
        b"duration = \"4s\"\n[[link]]\nname = \"there\"\ntrace = \"burst\"\nbuffer = 100\n\
          [[link]]\nname = \"back\"\nrate = \"1Gbps\"\n\
          [[flow]]\nscheme = \"linux:reno\"\npath = [\"there\"]\nback = [\"back\"]\n",
    );
    let (code, out, err) = run(&["run", &scenario, "--json"], &built.folder);
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let bytes = |link: usize| {
        document["links"][link]["throughput_mbps"].as_f64().expect("a number") * 4e6 / 8.0
    };
    // On a trace a packet counts with 4 bytes more; an acknowledgement without blocks has 52 bytes.
    let (packets, acknowledgements) = (bytes(0) / 1504.0, bytes(1) / 52.0);
    assert!(packets > 2_000.0, "{packets}");
    assert!(acknowledgements > 0.45 * packets, "{acknowledgements} of {packets}");
}

/// `tcp_cubic.c` of the guest's own kernel gives the kernel's results as a module; with a mistake in one
/// line, others.
#[test]
fn a_mistake_of_one_line_shows_in_one_command() {
    let Some(built) = guest() else { return };
    let places = fs::read_to_string(built.folder.join("build-tree")).unwrap_or_default();
    let source = places.lines().nth(1).map(|tree| Path::new(tree).join("net/ipv4/tcp_cubic.c"));
    let Some(text) = source.and_then(|path| fs::read_to_string(path).ok()) else {
        return skip(Need::Linux, &this_test(), "the source of the guest's kernel is gone");
    };
    let folder = Folder::new("linux-mistake");
    let write = |name: &str, from: &str, to: &str| {
        let named = text.replacen("\"cubic\"", &format!("\"{name}\""), 1);
        assert!(named.contains(from), "tcp_cubic.c has no `{from}`");
        folder.write(&format!("{name}.c"), named.replacen(from, to, 1).as_bytes())
    };
    let copy = write("cubic_copy", "= 717;", "= 717;");
    // The window after a loss is 1017/1024 of the one before, not 717/1024.
    let mistake = write("cubic_mistake", "= 717;", "= 1017;");
    let schemes = format!("linux:cubic,linux:{copy},linux:{mistake}");
    let (code, out, err) = run(
        &[
            "compare",
            "--trace",
            "12Mbps",
            "--schemes",
            &schemes,
            "--runs",
            "1",
            "--buffer",
            "60",
            "--duration",
            "8s",
            "--json",
            "-q",
        ],
        &built.folder,
    );
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let rows = document["runs"].as_array().expect("rows");
    let figures = |at: usize| {
        let row = &rows[at];
        (row["packets"].clone(), row["queue_delay_ms"].clone(), row["retransmits"].clone())
    };
    assert_eq!(figures(1), figures(0), "the copy");
    let resent = |at: usize| rows[at]["retransmits"].as_u64().expect("a number");
    assert!(resent(2) > resent(0) * 3 / 2, "{} and {}", resent(2), resent(0));
    let note = rows[1]["note"].as_str().expect("a note");
    assert!(note.contains("initramfs") && note.contains("module cubic_copy "), "{note}");
}

#[test]
fn gap_compares_with_linux() {
    let Some(built) = guest() else { return };
    let arguments =
        ["gap", "--linux", "--trace", "12Mbps", "--schemes", "reno,cubic", "--starts", "2"];
    let (code, out, err) =
        run(&[&arguments[..], &["--duration", "3s", "--json", "-q"]].concat(), &built.folder);
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["linux_guest"], built.describe());
    let rows = document["rows"].as_array().expect("rows");
    let names = |row: &Value| (row["scheme"].clone(), row["linux_scheme"].clone());
    assert_eq!(names(&rows[0]), ("newreno".into(), "linux:reno".into()));
    assert_eq!(names(&rows[1]), ("cubic".into(), "linux:cubic".into()));
    for row in rows {
        // Slow start and its end over a constant rate: ours are Linux'.
        assert_eq!(row["inside"]["utilization"], true, "{row}");
        assert_eq!(row["inside"]["queue_delay_p95"], true, "{row}");
        assert_eq!(row["linux_runs"]["runs"], 2, "{row}");
    }
    let (code, out, err) =
        run(&[&arguments[..], &["--duration", "1s", "-q"]].concat(), &built.folder);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("Linux' medians of 2 runs") && out.contains("newreno"), "{out}");
}

#[test]
fn what_is_missing_is_named() {
    let (code, _, err) = run(&["compare", "--schemes", "linux:cubic"], Path::new("/no/guest"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("/no/guest") && err.contains("paceline linux build"), "{err}");
    let (code, _, err) = run(&["gap", "--linux"], Path::new("/no/guest"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("/no/guest") && err.contains("paceline linux build"), "{err}");

    let Some(built) = guest() else { return };
    let run = |arguments: &[&str]| run(arguments, &built.folder);
    let (code, _, err) = run(&["compare", "--schemes", "linux:cubci", "-q"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("no congestion control `cubci`") && err.contains("illinois"), "{err}");
    let (code, _, err) = run(&["gap", "--linux", "--schemes", "abc", "-q"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("the Linux guest has no `abc`; it has"), "{err}");
    let folder = Folder::new("linux-missing");
    let broken =
        folder.write("broken.c", b"struct tcp_congestion_ops x = { .name = \"broken\" }\n");
    let (code, _, err) = run(&["compare", "--schemes", &format!("linux:{broken}"), "-q"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("broken.c") && err.contains("error"), "{err}");
}

/// A module that writes to address 0 when its connection begins ends the guest, and the run.
#[test]
fn a_module_that_crashes_is_an_error() {
    let Some(built) = guest() else { return };
    let folder = Folder::new("linux-crash");
    let module = folder.write("crash.c", CRASH.as_bytes());
    let (code, _, err) = run(
        &[
            "compare",
            "--trace",
            "12Mbps",
            "--schemes",
            &format!("linux:{module}"),
            "--runs",
            "1",
            "-q",
        ],
        &built.folder,
    );
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("the Linux guest ended") && err.contains("host"), "{err}");
}

/// A congestion control as Reno, whose `init` writes to address 0.
const CRASH: &str = r#"
#include <linux/module.h>
#include <net/tcp.h>

static void crash_init(struct sock *sk)
{
	if (tcp_sk(sk)->snd_cwnd)
		WRITE_ONCE(*(int *)8, 1);
}

static struct tcp_congestion_ops crash = {
	.init		= crash_init,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "crash",
};

static int __init crash_register(void)
{
	return tcp_register_congestion_control(&crash);
}

static void __exit crash_unregister(void)
{
	tcp_unregister_congestion_control(&crash);
}

module_init(crash_register);
module_exit(crash_unregister);
MODULE_LICENSE("GPL");
"#;

/// A host is evaluated as a scheme, and beside a simulated one.
#[test]
fn a_host_is_evaluated() {
    let Some(built) = guest() else { return };
    let mut command = Command::new(PROGRAM);
    command.args(["evaluate", "linux:cubic", "--only", "wired", "--runs", "1", "--json", "-q"]);
    command.env("PACELINE_LINUX", &built.folder);
    let document = printed(command);
    let rows = document["criteria"].as_array().expect("rows");
    let rate = rows.iter().find(|row| row["id"] == "wired.rate").expect("the rate");
    let about = (&rate["scheme"], &rate["verdict"]);
    assert_eq!(about, (&"linux:cubic".into(), &"good".into()), "{rate}");
    assert!(rate["beside"]["median"].as_f64().is_some_and(|used| used > 90.0), "{rate}");
}
