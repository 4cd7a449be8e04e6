//! Runs scripts in their own networks, and checks that nothing is left behind. Without the right to
//! make networks, tests are skipped and say so on standard error.
#![allow(dead_code, reason = "each test program uses a part")]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use paceline_testing::{Folder, Need};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");

/// Reports that a test is skipped because a right is missing.
pub(crate) fn skip(test: &str, why: &str) {
    paceline_testing::skip(Need::Net, test, why);
}

pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Returns the options of `unshare` with which a network namespace can be made.
fn unshare() -> Result<&'static [&'static str], String> {
    let works = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-c", "exec 3<>/dev/net/tun"]);
        command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
    };
    // Needs a user namespace if the test does not run as root.
    for options in [&["--net", "--mount"][..], &["--map-root-user", "--net", "--mount"]] {
        if works(options) {
            return Ok(options);
        }
    }
    Err("no network namespace (unshare --net) or no /dev/net/tun".into())
}

/// Prints all that can be left behind in a network: interfaces, addresses, routes, rules, settings,
/// mounts. File systems that tests of `recv` mount meanwhile would be visible in it, too.
const LOOK: &str = r#"
look() {
    cat /proc/net/dev | cut -d: -f1; cat /proc/net/if_inet6; tail -n +2 /proc/net/route
    grep -v /paceline-store- /proc/mounts
    cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/*/forwarding
    cat /proc/sys/net/ipv6/conf/*/forwarding
    cat /proc/sys/net/ipv6/conf/*/force_forwarding 2>/dev/null
    if command -v nft >/dev/null; then nft list ruleset; fi
    ls $TMPDIR
}
"#;

/// Prefixes for measuring times: if the test may, `$REALTIME` gives an emulator and `$AHEAD` a
/// program priority over the machine's other programs.
const AHEAD: &str = "chrt -f 1 true 2>/dev/null && export AHEAD='chrt -f 1' REALTIME=--realtime";

/// Runs a script in its own network; `$P` is the program. Afterwards asserts that nothing is left
/// of it: no interface, rule, setting, mount or process. Returns `None` if the test is skipped.
pub(crate) fn alone(test: &str, needs: &[&str], script: &str) -> Option<Output> {
    alone_within(test, needs, script, 300)
}

/// Like [`alone`], but kills the script after `seconds`, which is far more than it takes on a busy
/// machine.
pub(crate) fn alone_within(
    test: &str,
    needs: &[&str],
    script: &str,
    seconds: u32,
) -> Option<Output> {
    let options = match unshare() {
        Ok(options) => options,
        Err(why) => {
            skip(test, &why);
            return None;
        }
    };
    for program in needs {
        if !has(program) {
            paceline_testing::skip(Need::Programs, test, &format!("there is no program {program}"));
            return None;
        }
    }
    if !has("nft") {
        let why = "only that no nf_tables rules stay: there is no program nft";
        paceline_testing::skip(Need::Programs, test, why);
    }
    let folder = Folder::new(&format!("temporary-{test}"));
    // The name has the process, since two checkouts may be tested at the same time.
    let name = format!("{test}-{}", std::process::id());
    let mark = format!("PACELINE_TEST={name}");
    // A new network begins with the settings of the machine's first one.
    let whole = format!(
        "{LOOK}\n{AHEAD}\necho 0 > /proc/sys/net/ipv4/ip_forward; before=$(look)\n{script}\nstatus=$?\nafter=$(look)\n\
         if [ \"$before\" != \"$after\" ]; then\n\
         echo \"LEFT BEHIND: was:\n$before\nis:\n$after\" >&2; fi\nexit $status"
    );
    // Uses files rather than pipes: a process that is left behind would keep a pipe open, and this
    // test would wait for ever.
    let said = Folder::new(&format!("said-{test}"));
    let file = |name: &str| File::create(said.path(name)).expect("a file");
    let status = Command::new("timeout")
        .args(["--signal=KILL", &seconds.to_string(), "unshare"])
        .args(options)
        .args(["bash", "-c", &whole])
        .env("P", PROGRAM)
        .env("PACELINE_TEST", &name)
        .env("TMPDIR", folder.path(""))
        .env_remove("MAHIMAHI_SHELL_PREFIX")
        .env_remove("MAHIMAHI_BASE")
        .env_remove("PACELINE_BASE")
        .env_remove("PACELINE_BASE6")
        .env_remove("PACELINE_NETWORK")
        .stdin(Stdio::null())
        .stdout(file("out"))
        .stderr(file("err"))
        .status()
        .expect("bash runs");
    let read = |name: &str| std::fs::read(said.path(name)).expect("a file");
    let output = Output { status, stdout: read("out"), stderr: read("err") };
    let err = text(&output.stderr);
    assert!(!err.contains("LEFT BEHIND"), "{err}");
    // A script that was killed after its time leaves processes behind, too.
    let (left, out) = (processes(&mark), text(&output.stdout));
    assert!(
        left.is_empty(),
        "{}: processes are left behind: {left:?}\n{out}\n{err}",
        output.status
    );
    Some(output)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the processes that have this variable in their environment.
fn processes(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let marked = entries.filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    });
    let name = |path: &Path| text(&std::fs::read(path.join("cmdline")).unwrap_or_default());
    marked.map(|entry| name(&entry.path())).filter(|name| !name.is_empty()).collect()
}

/// Returns the round-trip times in the output of `ping` in milliseconds, the shortest first.
pub(crate) fn times(out: &str) -> Vec<f64> {
    let after = out.lines().filter_map(|line| line.split_once("time="));
    let words = after.filter_map(|(_, rest)| rest.split_whitespace().next());
    let mut times: Vec<f64> =
        words.map(|word| word.parse().expect("a time in milliseconds")).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the lines of a script's output.
pub(crate) fn lines(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_string).collect()
}
