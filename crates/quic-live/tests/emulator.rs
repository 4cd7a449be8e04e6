//! The examples through `paceline link`: quinn in real time, with its own congestion control and with
//! Paceline's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use paceline_testing::{Need, skip};

const PATH: &str = "\
name = \"quinn in real time\"
duration = \"10s\"
[[link]]
name = \"link\"
rate = \"12Mbps\"
buffer = 100
[[flow]]
scheme = \"cubic\"
path = [\"link\"]
rtt = \"40ms\"
";

/// Returns the programs `paceline` and `example`, which `cargo test --workspace` builds beside this
/// test.
fn programs(test: &str, example: &str) -> Option<[PathBuf; 2]> {
    let own = std::env::current_exe().ok()?;
    let target = own.parent()?.parent()?;
    let found = [target.join("paceline"), target.join("examples").join(example)];
    match found.iter().find(|path| !path.exists()) {
        None => Some(found),
        Some(missing) => {
            let why = format!("{} is not built; cargo build -p paceline-cli", missing.display());
            skip(Need::Programs, test, &why);
            None
        }
    }
}

/// Returns the options of `unshare` with which a network namespace can be made; `None` if it
/// cannot.
fn unshare(test: &str) -> Option<&'static [&'static str]> {
    let works = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-c", "exec 3<>/dev/net/tun"]);
        command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
    };
    let all = [&["--net", "--mount"][..], &["--map-root-user", "--net", "--mount"]];
    let found = all.into_iter().find(|options| works(options));
    if found.is_none() {
        skip(Need::Net, test, "no network namespace (unshare --net) or no /dev/net/tun");
    }
    found
}

/// Runs `example send base ARGUMENTS` inside of the emulator and `example receive` outside; returns
/// the output of both. `None` if the test is skipped.
fn through_link(test: &str, example: &str, arguments: &[&str]) -> Option<String> {
    let options = unshare(test)?;
    let [paceline, program] = programs(test, example)?;
    let scenario = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.toml"));
    std::fs::write(&scenario, PATH).expect("a file");
    let output = Command::new("timeout")
        .args(["300", "unshare"])
        .args(options)
        .arg(&paceline)
        .args(["link", "--quiet", "--grace", "2s", "--scenario"])
        .arg(&scenario)
        .arg("--outside")
        .arg(format!("exec '{}' receive", program.display()))
        .arg("--")
        .arg(&program)
        .args(["send", "base"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("a run");
    let [out, err] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{out}{err}");
    Some(out)
}

/// Returns the number after `name` in the receiver's output.
fn figure(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with("received"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    let mut words = line.split([' ', ',']).skip_while(|word| *word != name);
    let number = words.nth(1).and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// Asserts a tenth of the link's 12 Mbit/s: programs, emulator and both kinds of congestion control
/// work together. Tests assert no speed, because other programs may use the machine. The bound was
/// half of the link at first, but on a machine with twenty such programs 3.6 Mbit/s were left.
#[test]
fn a_transfer_uses_the_link() {
    for name in ["own-cubic", "bbr3"] {
        let out = through_link("a_transfer_uses_the_link", "transfer", &[name, "3"]);
        let Some(out) = out else { return };
        assert!((1.2..12.0).contains(&figure(&out, "Mbit/s")), "{name}: {out}");
    }
}

/// Sends 1 Mbit/s of frames, which a link of 12 Mbit/s delays by 20 ms of propagation and 3 ms of
/// transmission. A busy machine adds delay, and makes the sender drop some of the sixty frames. A
/// connection that stalls delivers no frame within a second.
#[test]
fn frames_arrive_in_time() {
    let out = through_link("frames_arrive_in_time", "media", &["copa", "2", "1"]);
    let Some(out) = out else { return };
    assert!(figure(&out, "frames") >= 30.0, "{out}");
    assert!((20.0..1000.0).contains(&figure(&out, "median")), "{out}");
}
