//! Tests of options and exit statuses that all commands share: `--strict`, `-o`, and the meaning of
//! `all`.

use crate::common::paceline;
use paceline_testing::Folder;

fn scenario(name: &str) -> String {
    format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn strict_makes_warnings_failures() {
    let folder = Folder::new("strict");
    // The first opportunity comes after the end.
    let trace = folder.write("late.trace", b"90000\n");
    let silent = ["compare", "--schemes", "cubic", "--duration", "1s", "--trace", &trace, "-q"];
    let text = format!(
        "duration = \"1s\"\n[[link]]\nname = \"l\"\ntrace = \"{trace}\"\n[[flow]]\nscheme = \"cubic\"\n"
    );
    let file = folder.write("silent.toml", text.as_bytes());
    let unproved = ["reproduce", "A13", "--quick", "-q"];
    let proved = ["reproduce", "A12", "--runs", "1", "-q", "--strict"];
    for (arguments, warning) in [
        (&silent[..], "no packet arrived"),
        (&["run", &file][..], "nothing arrived"),
        (&unproved[..], "A13: not measured on the paper's traces"),
    ] {
        let seen = paceline(arguments);
        assert_eq!(seen.code, 0, "{arguments:?}: {}", seen.err);
        let seen = paceline(&[arguments, &["--strict"]].concat());
        assert_eq!(seen.code, 1, "{arguments:?}: {}", seen.err);
        assert!(seen.err.contains(warning) && seen.err.contains("--strict"), "{}", seen.err);
        assert!(!seen.out.is_empty(), "{arguments:?}: the result is printed all the same");
    }
    assert_eq!(paceline(&proved).code, 0);
}

#[test]
fn what_is_not_there_is_a_wrong_argument() {
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    let not_a_specification = scenario("fairness");
    for arguments in [
        &["compare", "--trace", "no-such"][..],
        &["compare", "--schemes", "no-such"],
        &["compare", "--delay-trace", "no-such"],
        &["run", "no-such.toml"],
        &["schemes", "no-such"],
        &["trace", "info", "no-such"],
        &["reproduce", "Z99"],
        &["reproduce", "A06", "--traces", "no-such"],
        &["reproduce", "A06", "--tables", "no-such"],
        &["validate", "--traces", "no-such"],
        &["validate", "--tables", "no-such"],
        &["send", "no-such", "127.0.0.1:1", "--key", &key],
        &["send", "/", "127.0.0.1:1", "--key", &key],
        &["kernel", "load", "no-such"],
        &["kernel", "unload", "no-such"],
        &["kernel", "stats", "no-such"],
        &["kernel", "watch", "no-such"],
        &["remy", "train", &not_a_specification, "-o", "no-such"],
        &["remy", "show", "no-such"],
        &["remy", "eval", "no-such"],
        &["log", "no-such"],
        &["link", "--up", "no-such", "--down", "1Mbps", "--", "true"],
        &["gap", "--trace", "no-such"],
    ] {
        let seen = paceline(arguments);
        assert_eq!(seen.code, 2, "{arguments:?}: {}", seen.err);
        let (err, out) = (&seen.err, &seen.out);
        assert!(err.starts_with("error") && out.is_empty(), "{arguments:?}: {err}{out}");
    }
    assert!(!std::path::Path::new("no-such").exists(), "something was made for what is not there");
}

#[test]
fn all_schemes_work_and_what_the_user_writes_is_left_alone() {
    let all = ["compare", "--schemes", "all", "--trace", "12Mbps", "--duration", "20s", "--json"];
    let seen = paceline(&[&all[..], &["-q", "--runs", "1", "--warmup", "5s"]].concat());
    let all: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    let runs = all["runs"].as_array().expect("runs");
    for (name, has_note) in [("c2tcp", false), ("dctcp", true), ("prague", true), ("gcc", false)] {
        let of = |run: &&serde_json::Value| {
            run["scheme"].as_str().is_some_and(|scheme| scheme.starts_with(name))
        };
        let run = runs.iter().find(of).expect("a run");
        let note = run["note"].as_str();
        assert_eq!(note.is_some_and(|note| note.len() > 20), has_note, "{run}");
        if name != "gcc" {
            let (used, p95) = (&run["utilization"], &run["queue_delay_ms"]["p95"]);
            assert!(used.as_f64() > Some(0.9), "{name} uses {used}");
            assert!(p95.as_f64() < Some(110.0), "{name} waits {p95}");
        }
    }
    // A scheme that leaves much of the link unused has a note that says why, under its bare name;
    // with parameters it has none.
    let some = ["compare", "--schemes", "c2tcp,dctcp,gcc,gcc[min_rate=60kbps]", "--json", "-q"];
    let once = ["--runs", "1", "--trace", "12Mbps", "--duration", "10s"];
    let seen = paceline(&[&some[..], &once].concat());
    let some: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    let runs = some["runs"].as_array().expect("runs");
    let noted: Vec<&str> = runs
        .iter()
        .filter(|run| !run["note"].is_null())
        .filter_map(|run| run["scheme"].as_str())
        .collect();
    assert_eq!((runs.len(), noted), (4, vec!["gcc"]));
}

#[test]
fn run_writes_a_page_like_that_of_compare() {
    let folder = Folder::new("run-page");
    let out = folder.path("out");
    let seen = paceline(&["run", &scenario("parking-lot"), "--duration", "20s", "-o", &out]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let page = std::fs::read_to_string(format!("{out}/run.html")).expect("a page");
    for part in ["Overview", "Links", "Flows over time", "Over time: ", "Throughput (Mbit/s)"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(seen.err.contains("run.html") && seen.err.contains("link-"), "{}", seen.err);
}

#[test]
fn what_was_measured_is_shown_even_if_it_cannot_be_written() {
    let folder = Folder::new("unwritten");
    let out = folder.path("out");
    // A folder of the page's name prevents the page, and no file can be written into /proc.
    std::fs::create_dir_all(format!("{out}/reproduce.html")).expect("a folder");
    std::os::unix::fs::symlink("/proc", format!("{out}/runs")).expect("a link");
    let seen = paceline(&["reproduce", "X01", "--quick", "--json", "-o", &out]);
    assert_eq!(seen.code, 1, "{}", seen.err);
    let page = format!("{out}/reproduce.html: cannot be written: Is a directory");
    let run = format!("the result of a run cannot be kept: {out}/runs/");
    assert!(seen.err.contains(&page) && seen.err.contains(&run), "{}", seen.err);
    // All other files are written.
    let wrote = format!("wrote {out}/reproduce.md, {out}/reproduce.json\n");
    assert!(seen.err.contains(&wrote), "{}", seen.err);
    assert!(seen.out.contains("\"X01\""), "{}", seen.out);
    let json = std::fs::read_to_string(format!("{out}/reproduce.json")).expect("the file");
    let mut saved: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let made = saved.as_object_mut().and_then(|fields| fields.remove("made")).expect("`made`");
    assert!(made["command"].as_str().is_some_and(|it| it.contains("reproduce X01")), "{made}");
    assert_eq!(saved, serde_json::from_str::<serde_json::Value>(&seen.out).expect("JSON"));
}
