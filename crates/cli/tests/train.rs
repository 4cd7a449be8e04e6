//! `paceline remy train`: kills at any moment, resuming, and the files of the command.

#[allow(dead_code, reason = "each test uses a part of it")]
mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::paceline;
use paceline_testing::Folder;

/// Small networks, so that tests are quick: four runs of 3 s.
const SPECIFICATION: &str = r#"
duration = "3s"

[networks]
link = { from = "2Mbps", to = "4Mbps", steps = 2 }
rtt = { from = "40ms", to = "80ms", steps = 2 }
senders = 2
on = "1s"
off = "500ms"
"#;

/// Returns the number of moments to test: a few, or the value of this variable.
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
    // Draws each moment at random within the remaining time, so that the kills do not fall into
    // step with the program.
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
            // The training ended before the kill, since the first one took longer than this one:
            // try again with less time.
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

/// Returns the documents of standard output, one from each line.
fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn each_step_is_a_line_where_there_is_no_terminal() {
    let folder = Folder::new("train-lines");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let train = |more: &[&str]| {
        let out = folder.path("out");
        let arguments = ["remy", "train", &spec, "-o", &out, "--generations", "1"];
        paceline(&[&arguments, more].concat())
    };
    let seen = train(&[]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let steps: Vec<&str> = seen.err.lines().collect();
    assert!(steps.len() > 2, "{}", seen.err);
    assert!(
        steps[0].starts_with("step 1, generation 0: score ") && steps[0].contains("validation")
    );
    assert!(steps.iter().any(|line| line.contains("; rule 0: ")), "{}", seen.err);
    assert!(seen.out.contains("per network of the validation set"), "{}", seen.out);
    std::fs::remove_dir_all(folder.path("out")).expect("removed");
    assert_eq!(train(&["-q"]).err, "");
}

#[test]
fn the_best_of_several_seeds_is_judged_on_networks_that_chose_nothing() {
    let folder = Folder::new("train-seeds");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let out = folder.path("out");
    let train = |json: &[&str]| {
        let seeds = ["--generations", "1", "--seeds", "3", "--seed", "5"];
        paceline(&[&["remy", "train", &spec, "-o", &out][..], &seeds, json].concat())
    };
    let seen = train(&["--json"]);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    let documents = lines(&seen.out);
    let report = documents.last().expect("lines");
    let trainings = report["trainings"].as_array().expect("trainings");
    let seeds: Vec<u64> = trainings.iter().map(|one| one["seed"].as_u64().expect("seed")).collect();
    assert_eq!(seeds, [5, 6, 7]);
    let validation = |one: &serde_json::Value| one["validation"].as_f64().expect("a score");
    let best = trainings.iter().map(validation).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(validation(report), best);
    assert!(report["test"].is_f64() && report["test"] != report["validation"], "{report}");
    let chosen = trainings.iter().find(|one| validation(one) == best).expect("one");
    assert_eq!(report["seed"], chosen["seed"]);
    assert_eq!(report["table"], format!("{out}/table.toml"));
    let of_seed = chosen["table"].as_str().expect("a path");
    let read = |path: &str| std::fs::read_to_string(path).expect("a table");
    assert_eq!(read(&table_path(&out)), read(of_seed));
    // The same command again, with text output: nothing is left to do.
    let again = train(&["-q"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.out.contains("the best by validation"), "{}", again.out);
}

#[test]
fn the_best_of_several_tunings_is_judged_on_networks_that_chose_nothing() {
    let folder = Folder::new("tune-seeds");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let out = folder.path("out");
    let tune = |more: &[&str]| {
        let arguments = ["remy", "tune", &spec, "copa", "-o", &out, "--vary", "delta"];
        let seeds = ["--generations", "1", "--seeds", "2", "--seed", "3"];
        let seen = paceline(&[&arguments[..], &seeds, more].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        seen
    };
    let documents = lines(&tune(&["--json"]).out);
    assert_eq!(documents[0]["seed"], 3);
    let report = documents.last().expect("lines");
    let tunings = report["tunings"].as_array().expect("tunings");
    let seeds: Vec<u64> = tunings.iter().map(|one| one["seed"].as_u64().expect("seed")).collect();
    assert_eq!(seeds, [3, 4]);
    let validation = |one: &serde_json::Value| one["validation"].as_f64().expect("a score");
    let best = tunings.iter().map(validation).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(validation(report), best);
    assert!(report["test"].is_f64() && report["start_test"].is_f64(), "{report}");
    let read = |path: String| std::fs::read_to_string(path).expect("a scheme");
    let chosen = read(format!("{out}/scheme.txt"));
    assert_eq!(chosen.trim(), report["scheme"].as_str().expect("a scheme"));
    assert_eq!(chosen, read(format!("{out}/seed-{}/scheme.txt", report["seed"])));
    // The same command again, with text output: nothing is left to do.
    let again = tune(&["-q"]);
    assert!(again.out.contains(": seed 4, "), "{}", again.out);
}

/// A run that ends before a packet can arrive.
#[test]
fn senders_none_of_whose_packets_arrived_are_named() {
    let folder = Folder::new("train-starved");
    let text = SPECIFICATION.replace("rtt = ", "rtt = \"100s\" # ");
    assert_ne!(text, SPECIFICATION);
    let spec = folder.write("spec.toml", text.as_bytes());
    let said = "no packet of a sender in the validation set arrived";
    let search = ["--generations", "1", "-q"];
    let tune = ["remy", "tune", &spec, "copa", "-o", &folder.path("tuned"), "--vary", "delta"];
    let seen = paceline(&[&tune[..], &search].concat());
    assert!(seen.code == 0 && seen.err.contains(said), "{}", seen.err);
    assert!(seen.err.contains("copa: no packet of a sender in the test set"), "{}", seen.err);
    let train = ["remy", "train", &spec, "-o", &folder.path("trained")];
    let seen = paceline(&[&train[..], &search].concat());
    assert!(seen.code == 0 && seen.err.contains(said), "{}", seen.err);
}

fn table_path(folder: &str) -> String {
    format!("{folder}/table.toml")
}

#[test]
fn a_training_begins_with_a_table_and_outlives_a_changed_comment() {
    let folder = Folder::new("train-from");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let out = folder.path("out");
    let train = |spec: &str, more: &[&str]| {
        paceline(&[&["remy", "train", spec, "-o", &out, "-q", "--json"][..], more].concat())
    };
    let seen = train(&spec, &["--from", "general-delta1", "--generations", "1"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let first = &lines(&seen.out)[0];
    assert_eq!(first["rules"], 14);
    let commented = SPECIFICATION.replace("senders = 2", "senders  =  2  # both of them");
    let again = folder.write("again.toml", commented.as_bytes());
    assert_eq!(train(&again, &["--generations", "1"]).code, 0);
    let kept = std::fs::read_to_string(format!("{out}/specification.toml")).expect("the file");
    assert_eq!(kept, commented);
    let changed = SPECIFICATION.replace("senders = 2", "senders = 3");
    let changed = folder.write("changed.toml", changed.as_bytes());
    let seen = train(&changed, &["--generations", "1"]);
    assert!(seen.code == 1 && seen.err.contains("another specification"), "{}", seen.err);
    let seen = train(&again, &["--from", "general-delta10", "--generations", "1"]);
    assert!(seen.code == 1 && seen.err.contains("another table to start from"), "{}", seen.err);
    for (settings, table, problem) in [
        ("r = { least = 1.0, most = 30.0 }", "general-delta1", "line 11: training.r: rule "),
        ("signals = [\"rec_ewma\"]", "general-delta1", "training.signals: the table to start from"),
        (
            "signals = [\"rec_ewma\", \"send_ewma\", \"rtt_ratio\", \"ack_gap\"]\ntimer = \"20ms\"",
            "general-delta1",
            "training.timer: the table to start from has no timer: remove this key",
        ),
        ("", "no-table", "a built-in table would be one of starter"),
    ] {
        let text = format!("{SPECIFICATION}[training]\n{settings}\n");
        let spec = folder.write("wrong.toml", text.as_bytes());
        let other = folder.path("other");
        let seen = paceline(&["remy", "train", &spec, "-o", &other, "--from", table]);
        assert!(seen.code == 2 && seen.err.contains(problem), "{settings}: {}", seen.err);
        assert!(!std::path::Path::new(&other).exists(), "nothing has begun");
    }
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
    let documents = lines(&seen.out);
    let (report, steps) = documents.split_last().expect("lines");
    assert_eq!(report["end"], "generations");
    assert!(report["rules"].as_u64().expect("rules") > 1);
    assert!(report["validation"].is_f64() && report.get("test").is_none(), "{report}");
    // There is a line for each step; the first one and those of checks have the validation score.
    let numbers: Vec<u64> = steps.iter().map(|step| step["step"].as_u64().expect("step")).collect();
    assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<_>>());
    for step in steps {
        let is_measured = step["step"] == 1 || step["what"] == "check";
        assert_eq!(step["validation"].is_f64(), is_measured, "{step}");
        assert_eq!((&step["schema_version"], &step["seed"]), (&2.into(), &1.into()));
    }
    let log = std::fs::read_to_string(format!("{out}/log.jsonl")).expect("a log");
    let last: serde_json::Value =
        serde_json::from_str(log.lines().last().expect("lines")).expect("JSON");
    assert_eq!(last["what"], "check");
    let page = std::fs::read_to_string(format!("{out}/page.html")).expect("a page");
    for words in [
        "Score over time",
        "Validation score per network",
        "Rules used most",
        "rtt_ratio (latest RTT over the smallest)",
        "[networks]",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let named = format!("remy[file={out}/table.toml]");
    let eval = ["remy", "eval", "--scheme", &named, "--duration", "10s", "--seeds", "1"];
    assert_eq!(paceline(&eval).code, 0);
    // Nothing is left to do, and the command does nothing.
    let again = train(&["--generations", "2"]);
    assert_eq!(again.code, 0);
    let no_time = train(&["--duration", "1ms"]);
    assert_eq!(lines(&no_time.out).last().expect("a line")["end"], "time");
}

#[test]
fn mistakes_are_named_with_file_and_remedy() {
    let folder = Folder::new("train-mistakes");
    let spec = folder.write("spec.toml", SPECIFICATION.as_bytes());
    let out = folder.path("out");
    assert_eq!(paceline(&["remy", "train", &spec, "-o", &out, "--duration", "1ms"]).code, 0);
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
