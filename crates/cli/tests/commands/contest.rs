//! `paceline contest`.

use paceline_testing::{Folder, Need, skip, this_test};

use crate::common::paceline;

#[test]
fn entries_are_ranked_by_power_and_finished_runs_are_kept() {
    let folder = Folder::new("contest");
    let out = folder.path("out");
    let with = |entries: &str| {
        let seen = paceline(&[
            "contest",
            "--entries",
            entries,
            "--training",
            "12Mbps",
            "--secret",
            "6Mbps",
            "--duration",
            "5s",
            "--json",
            "-o",
            &out,
        ]);
        assert_eq!(seen.code, 0, "{}", seen.err);
        let all: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
        all["attempts"].as_array().expect("attempts").clone()
    };
    let runs = || std::fs::read_dir(format!("{out}/runs")).expect("a folder").count();
    let attempts = with("cubic[beta=0.5..0.9/2],sprout");
    assert_eq!(runs(), 6, "three entries on two traces");
    for (round, own) in ["training", "secret"].iter().zip(attempts.chunks(4)) {
        assert!(own.iter().all(|attempt| attempt["round"] == *round));
        // Cubic fills a queue without a limit, and Sprout does not. The last row is the bound.
        assert_eq!((&own[0]["entry"], &own[0]["place"]), (&"sprout".into(), &1.into()));
        assert!(own[1]["power"].as_f64() < own[0]["power"].as_f64(), "{own:?}");
        assert_eq!((&own[3]["kind"], &own[3]["place"]), (&"bound".into(), &().into()));
        assert!(own[3]["power"].as_f64() > own[0]["power"].as_f64(), "{own:?}");
        assert!(own.iter().any(|attempt| attempt["on_front"] == true));
        assert!(own[..3].iter().all(|attempt| {
            let figure = |name: &str| attempt[name].as_f64().expect("a number");
            let power = figure("throughput_mbps") / (figure("delay_ms") / 1e3);
            (figure("power") - power).abs() < 1e-9 * power
        }));
    }
    let again = with("sprout,cubic[beta=0.5]");
    assert_eq!(runs(), 6, "nothing was new");
    assert_eq!(again[0], attempts[0]);
    assert!(
        std::fs::read_to_string(format!("{out}/contest.html"))
            .is_ok_and(|page| { page.contains("omniscient") && page.contains("cubic[beta=0.5]") })
    );
    let seen = paceline(&["contest", "--entries", "cubic[beta=0.5..x]"]);
    assert!(seen.code == 2 && seen.err.contains("expected a range"), "{}", seen.err);
}

#[test]
fn a_program_that_ends_early_is_no_entry() {
    let emulator = paceline(&["delay", "1ms", "-q", "--", "true"]);
    if emulator.code != 0 {
        return skip(Need::Net, &this_test(), &emulator.err);
    }
    let folder = Folder::new("contest-early");
    let out = folder.path("out");
    for (command, status) in
        [("dead=false", "exit status: 1"), ("short=sleep 0.5", "exit status: 0")]
    {
        let seen = paceline(&[
            "contest",
            "--entries",
            "cubic",
            "--command",
            command,
            "--training",
            "12Mbps",
            "--secret",
            "6Mbps",
            "--duration",
            "5s",
            "-o",
            &out,
        ]);
        let name = command.split('=').next().expect("a name");
        assert!(seen.code == 1 && seen.err.contains(&format!("{name}: ")), "{}", seen.err);
        let early = seen.err.contains("has ended after") && seen.err.contains(status);
        assert!(early, "{}", seen.err);
        let runs = std::fs::read_dir(format!("{out}/runs")).expect("a folder").count();
        assert_eq!(runs, 1, "the run of cubic");
    }
}

#[test]
fn the_bound_of_several_runs_is_that_of_the_same_runs() {
    let folder = Folder::new("contest-spread");
    let (out, link) = (folder.path("out"), "lte-driving");
    let runs = ["--runs", "5", "--spread", "trace", "--duration", "10s", "--json"];
    let contest =
        ["contest", "--entries", "cubic,sprout", "--training", link, "--secret", link, "-o", &out];
    let compare = [
        "compare",
        "--schemes",
        "cubic,sprout",
        "--omniscient",
        "--trace",
        link,
        "--rtt",
        "40ms",
        "--buffer",
        "inf",
    ];
    let json = |arguments: &[&str]| -> serde_json::Value {
        let seen = paceline(&[arguments, &runs[..]].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        serde_json::from_str(&seen.out).expect("JSON")
    };
    let (contest, compare) = (json(&contest), json(&compare));
    let compared = compare["runs"].as_array().expect("runs");
    let attempts = contest["attempts"].as_array().expect("attempts");
    for attempt in &attempts[..3] {
        let name = &attempt["entry"];
        let mut powers: Vec<f64> = compared
            .iter()
            .filter(|run| run["scheme"] == *name)
            .map(|run| {
                let number = |value: &serde_json::Value| value.as_f64().expect("a number");
                number(&run["throughput_mbps"]) / (number(&run["one_way_delay_ms"]["p95"]) / 1e3)
            })
            .collect();
        assert_eq!(powers.len(), 5, "{name}");
        powers.sort_by(f64::total_cmp);
        let median = attempt["power"].as_f64().expect("a power");
        assert!((median / powers[2] - 1.0).abs() < 1e-9, "{name}: {median} {powers:?}");
    }
    let power = |name: &str| {
        let of = attempts.iter().find(|attempt| attempt["entry"] == name).expect("an attempt");
        of["power"].as_f64().expect("a power")
    };
    assert!(power("omniscient") > power("sprout") && power("sprout") > power("cubic"));
}

#[test]
fn what_was_measured_is_shown_even_if_it_cannot_be_kept() {
    let folder = Folder::new("contest-unkept");
    let out = folder.path("out");
    // No file can be written into /proc, nor a page where a folder has its name.
    std::fs::create_dir_all(format!("{out}/contest.html")).expect("a folder");
    std::os::unix::fs::symlink("/proc", format!("{out}/runs")).expect("a link");
    let rates = ["--training", "12Mbps", "--secret", "6Mbps", "--duration", "2s", "-o", &out];
    let seen = paceline(&[&["contest", "--entries", "cubic"], &rates[..]].concat());
    assert_eq!(seen.code, 1, "{}", seen.err);
    let run = format!("the result of a run cannot be kept: {out}/runs/");
    let page = format!("{out}/contest.html: cannot be written");
    assert!(seen.err.contains(&run) && seen.err.contains(&page), "{}", seen.err);
    assert!(seen.err.contains("nor can 1 more"), "{}", seen.err);
    assert!(seen.out.contains("training: 12Mbps") && seen.out.contains("secret"), "{}", seen.out);
    assert!(std::fs::metadata(format!("{out}/contest.json")).is_ok());
}
