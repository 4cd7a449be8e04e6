//! `paceline remy eval` on specifications, and `remy[file=...]` wherever a scheme is named.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::common::paceline;
use paceline_testing::Folder;

/// A table with two rules.
const TABLE: &str = "format = \"paceline-remy 1\"\n\
    [[box]]\nat = \"\"\naxes = [\"rtt_ratio\"]\n\
    [[box]]\nat = \"0\"\nupper = { rtt_ratio = 1.1 }\nrule = { m = 1.0, b = 1, r = 0.5 }\n\
    [[box]]\nat = \"1\"\nlower = { rtt_ratio = 1.1 }\nrule = { m = 0.9, b = 1, r = 1.0 }\n";

const SPECIFICATION: &str = "duration = \"2s\"\n[networks]\n\
    link = { from = \"5Mbps\", to = \"10Mbps\", steps = 2 }\nrtt = \"50ms\"\n\
    senders = { from = 1, to = 3, scale = \"random\" }\non = \"1s\"\noff = \"1s\"\n";

#[test]
fn tables_and_schemes_on_a_specification() {
    let folder = Folder::new("remy-on");
    let table = folder.write("table.toml", TABLE.as_bytes());
    let on = folder.write("on.toml", SPECIFICATION.as_bytes());
    let arguments = ["remy", "eval", &table, "--scheme", "cubic", "--on", &on, "--seeds", "4"];
    let seen = paceline(&[&arguments[..], &["--json"]].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    let json: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    assert_eq!((json["seeds"].as_u64(), json["networks"].as_u64()), (Some(4), Some(2)));
    for row in json["rows"].as_array().expect("rows") {
        assert!(row["score"]["ci95"].as_f64().is_some_and(|reach| reach > 0.0), "{row}");
        assert_eq!(row["specimens"].as_array().map(Vec::len), Some(2));
        let of_each = row["specimens"].as_array().expect("specimens").iter();
        let sum: f64 = of_each.map(|one| one["score"]["mean"].as_f64().expect("a score")).sum();
        assert!((row["score"]["mean"].as_f64().expect("a score") - sum).abs() < 1e-9, "{row}");
    }
    assert_eq!(json["rows"][0]["over_first"]["mean"], 0.0);
    let seen = paceline(&arguments);
    for word in ["over the first", "others with each of 4 seeds", "±", "worst network"] {
        assert!(seen.out.contains(word), "{word}: {}", seen.out);
    }
}

/// Networks that each seed draws anew have no rows of their own, since means would be over
/// different networks. Tables are called by the names of their files.
#[test]
fn random_networks_have_one_line_and_tables_short_names() {
    let folder = Folder::new("remy-random");
    let table = folder.write("table.toml", TABLE.as_bytes());
    let random = folder.write("random.toml", SPECIFICATION.as_bytes());
    let steady = SPECIFICATION.replace("{ from = 1, to = 3, scale = \"random\" }", "2");
    let steady = folder.write("steady.toml", steady.as_bytes());
    let eval = |on: &str, json: &[&str]| {
        let arguments = ["remy", "eval", &table, "--on", on, "--seeds", "2", "--duration", "10s"];
        let seen = paceline(&[&arguments[..], json].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        seen.out
    };
    let drawn = eval(&random, &[]);
    let line = "2 networks drawn from 5 to 10 Mbit/s, RTT 50 ms, 1 to 3 senders, on 1 s, off 1 s, \
                others with each of 2 seeds";
    assert!(drawn.contains(line), "{drawn}");
    assert!(!drawn.contains(&table) && drawn.contains("table.toml"), "{drawn}");
    assert!(drawn.lines().all(|line| line.chars().count() < 130), "{drawn}");
    let json: serde_json::Value = serde_json::from_str(&eval(&random, &["--json"])).expect("JSON");
    let row = &json["rows"][0];
    assert_eq!(row["table"], table);
    let worst = row["worst"]["network_score"].as_f64().expect("a score");
    let (quarter, mean) = (&row["worst_quarter"]["mean"], &row["score_per_network"]["mean"]);
    let (quarter, mean) = (quarter.as_f64().expect("a score"), mean.as_f64().expect("a score"));
    assert!(worst <= quarter && quarter < mean, "{row}");
    let each = eval(&steady, &[]);
    assert!(
        each.contains("2 senders over 5Mbps") && each.contains("2 senders over 10Mbps"),
        "{each}"
    );
    assert!(!each.contains("drawn from"), "{each}");
}

#[test]
fn senders_that_get_nothing_are_named_and_repairs_help() {
    // Only one packet fits beside the one in transmission: whole windows are lost, and without
    // repairs a sender waits for ever.
    let arguments = [
        "remy",
        "eval",
        "general-delta0.1",
        "--link",
        "1Mbps",
        "--buffer",
        "1",
        "--loss",
        "0.9",
        "--rtt",
        "100ms",
        "--senders",
        "3",
        "--on",
        "1000s",
        "--off",
        "1s",
        "--duration",
        "60s",
        "--seeds",
        "2",
    ];
    let seen = paceline(&[&arguments[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    let starved = json["rows"][0]["starved"].as_array().expect("a list");
    assert!(!starved.is_empty(), "{json}");
    let (seed, sender) =
        (&starved[0]["seed"], starved[0]["sender"].as_u64().expect("a number") + 1);
    let seen = paceline(&arguments);
    assert!(seen.err.contains(&format!("sender {sender} (seed {seed})")), "{}", seen.err);
    assert!(seen.err.contains("--repairs"), "{}", seen.err);
    let repaired = paceline(&[&arguments[..], &["--json", "--repairs"]].concat());
    let repaired: serde_json::Value = serde_json::from_str(&repaired.out).expect("JSON");
    let left = repaired["rows"][0]["starved"].as_array().expect("a list").len();
    assert!(left < starved.len(), "{left} of {}", starved.len());
}

#[test]
fn jitter_is_an_option_and_so_is_the_resolution() {
    let rate = |more: &[&str]| {
        let arguments = [
            "remy",
            "eval",
            "general-delta1",
            "--link",
            "15Mbps",
            "--rtt",
            "150ms",
            "--senders",
            "2",
            "--on",
            "5s",
            "--off",
            "5s",
            "--duration",
            "100s",
            "--seeds",
            "1",
            "--json",
        ];
        let seen = paceline(&[&arguments[..], more].concat());
        assert_eq!(seen.code, 0, "{}", seen.err);
        let json: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
        json["rows"][0]["throughput_mbps"].as_f64().expect("a rate")
    };
    let (still, disturbed) = (rate(&[]), rate(&["--jitter", "1ms"]));
    let mended = rate(&["--jitter", "1ms", "--resolution", "1ms"]);
    assert!(disturbed < 0.5 * still && mended > 0.8 * still, "{still} {disturbed} {mended}");
}

#[test]
fn built_in_tables_are_listed_and_exported() {
    let folder = Folder::new("remy-list");
    let seen = paceline(&["remy", "list", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    let tables = json["tables"].as_array().expect("tables");
    let find = |name: &str| tables.iter().find(|table| table["name"] == name).expect("listed");
    assert_eq!(find("general-delta1")["rules"], 14);
    assert!(find("cellular-marks")["signals"].to_string().contains("accel_share"));
    assert!(paceline(&["remy", "list"]).out.contains("general-delta1"));
    let dna = folder.path("table.dna");
    let seen = paceline(&["remy", "export", "general-delta1", "-o", &dna]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let rules = paceline_remy::load(&dna).expect("a published table").table.rules().len();
    assert_eq!(rules, 14);
    let seen = paceline(&["remy", "export", "cellular-marks", "-o", &dna]);
    assert!(seen.code == 2 && seen.err.contains("cellular-marks: "), "{}", seen.err);
    let seen = paceline(&["remy", "export", "general-delta", "-o", &dna]);
    assert!(seen.code == 2 && seen.err.contains("did you mean `general-delta"), "{}", seen.err);
}

#[test]
fn mistakes_on_specifications() {
    let folder = Folder::new("remy-on-wrong");
    let on = folder.write("on.toml", SPECIFICATION.as_bytes());
    let wrong = folder.write("wrong.toml", SPECIFICATION.replace("\"50ms\"", "50").as_bytes());
    for (arguments, code, word) in [
        (vec!["--on", &on, "--rtt", "10ms"], 2, "sets the networks: set --rtt in that file"),
        (vec!["--on", &wrong], 2, "wrong.toml: line 4: networks.rtt"),
        (vec!["--on", "none.toml"], 2, "none.toml: cannot be read"),
        (vec!["--on", "5"], 2, "or a specification, a file whose name ends in .toml"),
    ] {
        let all = [&["remy", "eval", "starter"], arguments.as_slice()].concat();
        let seen = paceline(&all);
        assert_eq!(seen.code, code, "{all:?}: {}", seen.err);
        assert!(seen.err.contains(word), "{all:?}: {}", seen.err);
    }
}

const SCENARIO: &str = "duration = \"1s\"\n[[link]]\nname = \"link\"\nrate = \"5Mbps\"\n\
    [[flow]]\nscheme = \"remy[file=FILE]\"\n";

/// Starts a receiver. Returns it with its address and its key.
fn receiver(folder: &Folder) -> (Child, String, String) {
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["recv", "--listen", "127.0.0.1:0", "--once", "-o", &folder.path("out")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let line = |pipe: &mut dyn std::io::Read| {
        let mut line = String::new();
        BufReader::new(pipe).read_line(&mut line).expect("a line");
        line.trim().to_string()
    };
    let at = line(receiver.stderr.as_mut().expect("a pipe"));
    let at = at.strip_prefix("listening at ").expect("an address").to_string();
    let key = line(receiver.stdout.as_mut().expect("a pipe"));
    let key = key.strip_prefix("key ").expect("a key").to_string();
    (receiver, at, key)
}

#[test]
fn a_table_in_a_file_is_a_scheme_everywhere() {
    let folder = Folder::new("remy-file");
    let table = folder.write("table.toml", TABLE.as_bytes());
    let scheme = format!("remy[file={table}]");
    let scenario = folder.write("one.toml", SCENARIO.replace("FILE", &table).as_bytes());
    for arguments in [
        vec!["compare", "--schemes", &scheme, "--trace", "5Mbps", "--duration", "1s", "--json"],
        vec!["run", &scenario, "--json"],
        vec!["remy", "eval", "--scheme", &scheme, "--duration", "1s", "--json"],
        vec!["remy", "show", &table, "--duration", "1s"],
    ] {
        let seen = paceline(&arguments);
        assert_eq!(seen.code, 0, "{arguments:?}: {}", seen.err);
        assert!(!seen.out.is_empty());
    }
    // The receiver has no such file, and does not need one.
    let (mut receiver, at, key) = receiver(&folder);
    let sent =
        paceline(&["send", &scenario, &at, "--key", &key, "--scheme", &scheme, "--timeout", "20s"]);
    if sent.code != 0 {
        let _ = receiver.kill();
    }
    let _ = receiver.wait();
    assert_eq!(sent.code, 0, "{}", sent.err);
    let same = std::fs::read(folder.path("out")).expect("the file");
    assert_eq!(same, std::fs::read(&scenario).expect("the file"));
}

#[test]
fn a_broken_table_is_named_with_its_rule() {
    let folder = Folder::new("remy-broken");
    let broken = TABLE.replace("at = \"1\"", "at = \"7\"");
    let table = folder.write("broken.toml", broken.as_bytes());
    let scheme = format!("remy[file={table}]");
    let scenario = folder.write("one.toml", SCENARIO.replace("FILE", &table).as_bytes());
    let (mut receiver, at, key) = receiver(&folder);
    let cases = [
        (vec!["compare", "--schemes", &scheme, "--duration", "1s"], 2),
        (vec!["run", &scenario], 2),
        (vec!["gap", "--schemes", &scheme], 2),
        (vec!["gap", "--udp", "--schemes", &scheme], 2),
        (vec!["gap", &scenario], 2),
        (vec!["link", "--scenario", &scenario, "--", "true"], 2),
        (vec!["link", "--up", "5Mbps", "--down", "5Mbps", "--up-queue", &scheme, "--", "true"], 2),
        (vec!["send", &scenario, &at, "--key", &key, "--scheme", &scheme], 2),
        (vec!["remy", "eval", &table], 2),
        (vec!["remy", "eval", "--scheme", &scheme], 2),
        (vec!["remy", "show", &table], 2),
    ];
    let seen = cases.map(|(arguments, code)| (paceline(&arguments), arguments, code));
    let _ = receiver.kill();
    let _ = receiver.wait();
    for (seen, arguments, code) in seen {
        assert_eq!(seen.code, code, "{arguments:?}: {}", seen.err);
        for word in ["broken.toml", "box 2, at \"7\""] {
            assert!(seen.err.contains(word), "{arguments:?} lacks {word}: {}", seen.err);
        }
        assert!(!seen.err.contains("panicked") && seen.out.is_empty(), "{arguments:?}");
    }
}

#[test]
fn built_in_tables_are_imported_and_exported() {
    let folder = Folder::new("remy-import");
    let (readable, published) = (folder.path("t.toml"), folder.path("t.dna"));
    for line in [
        &["remy", "import", "general-delta1", "-o", &readable][..],
        &["remy", "export", "general-delta1", "-o", &published],
        &["remy", "eval", &readable, "--duration", "10s", "--seeds", "1"],
    ] {
        let seen = paceline(line);
        assert_eq!(seen.code, 0, "{line:?}: {}", seen.err);
    }
    let text = std::fs::read_to_string(&readable).expect("a table");
    assert!(text.contains("the built-in table general-delta1"));
}
