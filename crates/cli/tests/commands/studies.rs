//! `paceline remy studies`: kills, shards and verdicts, with a study of tiny networks.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::paceline;
use paceline_testing::Folder;

/// Two tables trained apart, a pair trained together, and bounds that each judge another kind of row.
const STUDY: &str = r#"
question = "Does it work?"
judged = "By bounds that hold whatever the tables are, and one that cannot hold."
generations = 1
schemes = ["cubic"]

[common]
duration = "2s"
networks = { link = "2Mbps", rtt = "40ms", senders = 2, on = "1s", off = "500ms", draws = 2 }
training = { max_rules = 2 }

[[table]]
name = "fast"
objective = { delta = 0.1 }

[[table]]
name = "short"
objective = { delta = 10.0 }

[[table]]
name = "together"
networks = { others = { trained = true, senders = 1 } }
objective = { delta = 0.1, others_delta = 10.0 }

[[pair]]
name = "apart"
first = "fast"
second = "short"

[[test]]
name = "one of each"
networks = { others = { trained = true, senders = 1 } }
objective = { delta = 0.1, others_delta = 10.0 }

[[test]]
name = "own kind"
rows = ["fast", "together/others", "cubic"]

[[check]]
what = "a difference of pairs"
of = "together"
over = "apart"
tests = ["one of each"]
least = -1e12

[[check]]
what = "a delay below that of the path"
figure = "delay_ms"
of = "fast"
tests = ["own kind"]
most = 1.0

[[check]]
what = "a table above a scheme"
of = "together/others"
over = "cubic"
tests = ["own kind"]
most = 1e12
"#;

/// Returns the contents of the trained tables below a folder, by their paths.
fn tables(base: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![Path::new(base).to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "toml") {
                let name = path.strip_prefix(base).expect("below").display().to_string();
                all.insert(name, std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    all
}

/// Copies a folder into another.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("copied")),
        }
    }
}

/// Returns the results of a study without those that depend on the machine.
fn results(document: &str) -> serde_json::Value {
    let last = document.lines().last().expect("lines");
    let mut document: serde_json::Value = serde_json::from_str(last).expect("JSON");
    document["studies"][0]["cpu_s"].take();
    document["studies"].take()
}

#[test]
fn killed_and_shared_trainings_have_the_tables_and_verdicts_of_a_whole_one() {
    let folder = Folder::new("studies");
    let study = folder.write("tiny.toml", STUDY.as_bytes());
    let arguments = |out: &str| -> Vec<String> {
        let all = ["remy", "studies", &study, "-o", out, "--seeds", "2", "--json"];
        all.map(str::to_string).to_vec()
    };
    let run = |out: &str, more: &[&str]| {
        let arguments = arguments(out);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let seen = paceline(&[&words[..], more].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        seen.out
    };
    let whole = folder.path("whole");
    let printed = run(&whole, &[]);
    let first: serde_json::Value =
        serde_json::from_str(printed.lines().next().expect("a step")).expect("JSON");
    assert_eq!(
        (&first["study"], &first["table"], &first["seed"]),
        (&"tiny".into(), &"fast".into(), &1.into())
    );
    let expected = results(&printed);
    let trained = tables(&whole);
    assert!(trained.contains_key("tiny/together/seed-2/others.toml"), "{:?}", trained.keys());

    // Killed after a step, then after two more, three more and four more.
    let killed = folder.path("killed");
    for lines in 1..5 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.args(arguments(&killed)).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("runs");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let steps = out.lines().take(lines).filter(Result::is_ok).count();
        assert_eq!(steps, lines);
        child.kill().expect("killed");
        child.wait().expect("a child");
    }
    assert_eq!(results(&run(&killed, &[])), expected);
    assert_eq!(tables(&killed), trained);

    // Parts of it on other machines, copied into one folder.
    let joined = folder.path("joined");
    for part in ["1/3", "2/3", "3/3"] {
        let out = folder.path(&format!("part-{}", &part[..1]));
        let printed = run(&out, &["--shard", part]);
        let last: serde_json::Value =
            serde_json::from_str(printed.lines().last().expect("a line")).expect("JSON");
        assert_eq!((&last["complete_trainings"], &last["all_trainings"]), (&2.into(), &2.into()));
        assert!(last.get("studies").is_none() && !Path::new(&out).join("judged.json").exists());
        copy(Path::new(&out), Path::new(&joined));
    }
    assert_eq!(results(&run(&joined, &["--judge"])), expected);
    assert_eq!(tables(&joined), trained);

    let study = &expected[0];
    let rows: Vec<&str> = study["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["table"].as_str())
        .collect();
    assert_eq!(rows, ["together", "apart", "fast", "together/others", "cubic"]);
    let checks = study["checks"].as_array().expect("checks");
    let verdicts: Vec<Option<bool>> = checks.iter().map(|check| check["holds"].as_bool()).collect();
    assert_eq!(verdicts, [Some(true), Some(false), Some(true)]);
    assert!(checks.iter().all(|check| check["seeds"] == 2), "{checks:?}");
}

#[test]
fn what_ends_early_is_judged_as_far_as_it_came() {
    let folder = Folder::new("studies-early");
    let study = folder.write("tiny.toml", STUDY.as_bytes());
    let out = folder.path("out");
    // A misspelt folder has no trainings to judge.
    let seen = paceline(&["remy", "studies", &study, "-o", &out, "--judge"]);
    assert!(seen.code == 2 && seen.err.contains("out: not a folder"), "{}", seen.err);
    assert!(!Path::new(&out).exists());
    std::fs::create_dir(&out).expect("a folder");
    let seen = paceline(&["remy", "studies", &study, "-o", &out, "--judge"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(seen.out.contains("a difference of pairs: not measured"), "{}", seen.out);
    assert!(seen.out.contains("Not trained: fast, short, together"), "{}", seen.out);
    for (arguments, words) in [
        (&["--only", "other"][..], "there is no study `other`; there are tiny"),
        (&["--shard", "3/2"], "expected K/N with K from 1 to N"),
    ] {
        let all = [&["remy", "studies", &study, "-o", &out], arguments].concat();
        let seen = paceline(&all);
        assert_eq!(seen.code, 2, "{}", seen.err);
        assert!(seen.err.contains(words), "{}", seen.err);
    }
    let listed = paceline(&["remy", "studies", "--list"]);
    assert!(listed.out.contains("operating-range (R11): "), "{}", listed.out);
}
