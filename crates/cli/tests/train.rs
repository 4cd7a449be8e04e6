//! `paceline remy train`: kills at any moment, resuming, and what the command leaves behind.

#[allow(dead_code, reason = "each test uses a part of it")]
mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, paceline};

/// Small networks, so that tests are quick: 4 of 3 s.
const SPECIFICATION: &str = r#"
duration = "3s"

[networks]
link = { from = "2Mbps", to = "4Mbps", steps = 2 }
rtt = { from = "40ms", to = "80ms", steps = 2 }
senders = 2
on = "1s"
off = "500ms"
"#;

/// A few moments, or as many as this variable says.
fn moments() -> u32 {
    std::env::var("PACELINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(5)
}

fn command(spec: &str, folder: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["remy", "train", spec, "-o", folder, "--generations", "3", "--threads", "2"]);
    command.args(["--quiet"]).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn table(folder: &str) -> String {
    std::fs::read_to_string(format!("{folder}/table.toml")).expect("a table")
}

#[test]
fn a_training_that_is_killed_goes_on_to_the_same_table() {
    let folder = Folder::new("train-killed");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let whole = folder.path("whole");
    let start = Instant::now();
    assert!(command(&spec, &whole).status().expect("runs").success());
    let mut takes = start.elapsed().as_secs_f64();
    let killed = folder.path("killed");
    // Moments that follow no rhythm of the program: parts of the time that is left.
    let mut random = 0x9e37_79b9_u32;
    let (moments, mut kills, mut ends) = (moments(), 0, 0);
    while kills < moments {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let part = f64::from(random >> 8) / f64::from(1 << 24);
        let wait = takes * 2.0 * part / f64::from(moments - kills + 1);
        let mut training = command(&spec, &killed).spawn().expect("runs");
        let end = Instant::now() + Duration::from_secs_f64(wait);
        let mut done = false;
        while !done && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
            done = training.try_wait().expect("a child").is_some();
        }
        training.kill().expect("killed");
        training.wait().expect("a child");
        if done {
            // The moment came after the end, as the whole training took longer than this one: again.
            assert_eq!(table(&killed), table(&whole));
            std::fs::remove_dir_all(&killed).expect("removed");
            (takes, ends) = (takes / 2.0, ends + 1);
            assert!(ends < 20, "{kills} of {moments}: the others came after the end");
        } else {
            kills += 1;
        }
    }
    assert!(command(&spec, &killed).status().expect("runs").success());
    assert_eq!(table(&killed), table(&whole));
}

#[test]
fn training_leaves_a_table_a_log_and_a_page() {
    let folder = Folder::new("train-leaves");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let out = folder.path("out");
    let train = |more: &[&str]| {
        let arguments = [&["remy", "train", &spec, "-o", &out, "--json"], more].concat();
        paceline(&arguments)
    };
    let seen = train(&["--generations", "2"]);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    assert!(seen.out.contains("\"end\": \"generations\""), "{}", seen.out);
    let report: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    assert!(report["rules"].as_u64().expect("rules") > 1);
    let log = std::fs::read_to_string(format!("{out}/log.jsonl")).expect("a log");
    let last: serde_json::Value =
        serde_json::from_str(log.lines().last().expect("lines")).expect("JSON");
    assert_eq!(last["what"], "check");
    let page = std::fs::read_to_string(format!("{out}/page.html")).expect("a page");
    for words in [
        "Score over time",
        "Rules used most",
        "rtt_ratio (latest RTT over the smallest)",
        "[networks]",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let named = format!("remy[file={out}/table.toml]");
    let eval = ["remy", "eval", "--scheme", &named, "--duration", "10s", "--seeds", "1"];
    assert_eq!(paceline(&eval).code, 0);
    // Nothing is left to be done, and nothing is.
    let again = train(&["--generations", "2"]);
    assert_eq!(again.code, 0);
    let no_time = train(&["--budget", "1ms"]);
    assert!(no_time.out.contains("\"end\": \"time\""), "{}", no_time.out);
}

#[test]
fn mistakes_are_named_with_file_and_remedy() {
    let folder = Folder::new("train-mistakes");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let out = folder.path("out");
    assert_eq!(paceline(&["remy", "train", &spec, "-o", &out, "--budget", "1ms"]).code, 0);
    let first = ["remy", "train", &spec, "-o", &out, "--generations", "1", "-q"];
    assert_eq!(paceline(&first).code, 0);
    let seed = paceline(&["remy", "train", &spec, "-o", &out, "--seed", "9"]);
    assert_eq!(seed.code, 1);
    assert!(seed.err.contains("another seed") && seed.err.contains("state.json"), "{}", seed.err);
    let cut = std::fs::read_to_string(format!("{out}/state.json")).expect("a state");
    std::fs::write(format!("{out}/state.json"), &cut[..cut.len() / 2]).expect("written");
    let broken = paceline(&first);
    assert_eq!(broken.code, 1);
    assert!(broken.err.contains("state.json") && broken.err.contains("another folder"));
    for (text, words) in [
        ("[networks]\nlink = 3\n", "spec.toml: TOML parse error at line 1"),
        (&*format!("{SPECIFICATION}[training]\nrule = 1\n"), "unknown field `rule`"),
        (&*format!("{SPECIFICATION}[training]\nm = {{ least = 2, most = 1 }}\n"), "training.m"),
    ] {
        let spec = folder.write("spec.toml", text.as_bytes());
        let seen = paceline(&["remy", "train", &spec, "-o", &folder.path("other"), "-q"]);
        assert_eq!(seen.code, 2);
        assert!(!std::path::Path::new(&folder.path("other")).exists(), "nothing has begun");
        assert!(seen.err.contains("spec.toml") && seen.err.contains(words), "{}", seen.err);
    }
}
