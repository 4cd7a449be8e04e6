//! Tests that docs/json.md has every field that commands print as JSON, with its unit, and that
//! commands print every field in it.

#[path = "common/alone.rs"]
mod alone;
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use common::paceline;
use paceline_lab::validate::{Counts, cases};
use paceline_testing::Folder;
use serde_json::{Value, json};

/// Fields that only some runs print, and no run of these tests.
const SOMETIMES: [&str; 26] = [
    // Only saved results have these.
    "made",
    "made.command",
    "made.version",
    "made.seed",
    "flows.programs",
    "programs.host",
    "programs.arguments",
    "files_sha256",
    "programs.status",
    "ended_s",
    "stdout",
    "stderr",
    "stdout_bytes",
    "stderr_bytes",
    "linux_guest",
    "linux_scheme",
    "linux_runs",
    "linux_runs.runs",
    "counters",
    "instructions_per_packet",
    "more_links",
    "missing",
    "claims.missing",
    "problems.path",
    "problems.problem",
    // Only some QUIC stacks.
    "system_random",
];

/// Fields whose values are objects with arbitrary keys.
const BY_NAME: [&str; 4] = ["measures", "counters", "state", "shown"];

/// A row of the table.
struct Row {
    unit: String,
    commands: Vec<String>,
}

/// Reads the table of docs/json.md by fields, some with a dot and the name of the enclosing field
/// before them.
fn table() -> BTreeMap<String, Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(path).expect("docs/json.md");
    let mut rows = BTreeMap::new();
    let mut within = false;
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells[0] == "field" {
            within = true;
        } else if !line.starts_with('|') {
            within = false;
        } else if within && cells[0].starts_with('`') {
            let [names, unit, meaning, commands] = cells[..] else { panic!("{line}") };
            assert!(!meaning.is_empty(), "{line}");
            let commands: Vec<String> = commands.split(", ").map(str::to_string).collect();
            for name in names.split(", ") {
                let name = name.trim_matches('`').to_string();
                let row = Row { unit: unit.to_string(), commands: commands.clone() };
                assert!(rows.insert(name.clone(), row).is_none(), "`{name}` stands twice");
            }
        }
    }
    rows
}

/// Fields that the commands of a test have printed.
struct Printed {
    table: BTreeMap<String, Row>,
    seen: BTreeSet<(String, String)>,
}

impl Printed {
    fn new() -> Printed {
        Printed { table: table(), seen: BTreeSet::new() }
    }

    /// Checks a document that a command printed.
    fn document(&mut self, command: &str, document: &Value) {
        assert_eq!(document["schema_version"], 2, "{command}");
        self.object(command, command, document);
    }

    fn object(&mut self, command: &str, around: &str, value: &Value) {
        match value {
            Value::Array(list) => list.iter().for_each(|one| self.object(command, around, one)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.field(command, around, name, value);
                    if !BY_NAME.contains(&name.as_str()) {
                        self.object(command, name, value);
                    }
                }
            }
            _ => {}
        }
    }

    fn field(&mut self, command: &str, around: &str, name: &str, value: &Value) {
        let special = format!("{around}.{name}");
        let key = if self.table.contains_key(&special) { special } else { name.to_string() };
        let what = format!("`{around}.{name}` of {command}");
        let Some(row) = self.table.get(&key) else { panic!("docs/json.md lacks {what}") };
        let known = row.commands.iter().any(|one| one == "all" || one == command);
        assert!(known, "docs/json.md does not say that {command} prints `{key}`");
        let unit = row.unit.as_str();
        // Over several runs a number is an object with its median and range.
        let value = match unit {
            "object" => value,
            _ => value.get("median").unwrap_or(value),
        };
        let fits = match unit {
            "text" => value.is_string(),
            "yes/no" => value.is_boolean(),
            "list" => value.is_array(),
            "object" | "quantiles" => value.is_object(),
            _ => value.is_number(),
        };
        assert!(fits || value.is_null(), "{what} is no {unit}: {value}");
        assert_eq!(unit, unit_of(name, unit), "{what}");
        self.seen.insert((key, command.to_string()));
    }

    /// Fails if the table has a field for these commands that none of them printed.
    fn all_of(&self, commands: &[&str]) {
        for (key, row) in self.table.iter().filter(|(key, _)| !SOMETIMES.contains(&key.as_str())) {
            for command in commands {
                let told = row.commands.iter().any(|one| one == "all" || one == command);
                let printed = self.seen.contains(&(key.clone(), command.to_string()));
                assert!(printed || !told, "{command} prints no `{key}`, docs/json.md says");
            }
        }
    }
}

/// Returns the unit that the end of a field's name stands for, or else the table's unit.
fn unit_of<'a>(name: &str, told: &'a str) -> &'a str {
    // A list may have any unit in its name, and quantiles have milliseconds.
    let several = matches!(told, "list" | "quantiles");
    let unit = match name {
        _ if several || name.contains("_per_") => told,
        _ if name.ends_with("_ms") => "ms",
        _ if name.ends_with("_mbps") => "Mbit/s",
        _ if name.ends_with("_bytes") => "bytes",
        _ if name.ends_with("_s") => "s",
        _ => told,
    };
    // Conversely, a value with a unit has it in its name, except inside quantiles.
    let inside = ["mean", "p50", "p95", "p99", "max", "bound"].contains(&name);
    let named = !matches!(unit, "Mbit/s") || name.ends_with("_mbps");
    assert!(named || inside, "`{name}` has a unit that its name does not say");
    if unit == told { told } else { Box::leak(unit.to_string().into_boxed_str()) }
}

fn run(arguments: &[&str]) -> Value {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{arguments:?}: {}", seen.err);
    serde_json::from_str(&seen.out).expect("JSON, and nothing else")
}

fn scenario(name: &str) -> String {
    format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn simulations() {
    let mut printed = Printed::new();
    let arguments = ["compare", "--duration", "2s", "--flows", "2", "--omniscient", "--json"];
    let all = ["--schemes", "all", "--runs", "6", "-q"];
    printed.document("compare", &run(&[&arguments[..], &all].concat()));
    let call =
        ["compare", "--workload", "video", "--schemes", "gcc", "--duration", "5s", "--runs", "2"];
    printed.document("compare", &run(&[&call[..], &["--json", "-q"]].concat()));
    let audio =
        ["compare", "--workload", "audio", "--schemes", "gcc", "--duration", "5s", "--runs", "2"];
    printed.document("compare", &run(&[&audio[..], &["--json", "-q"]].concat()));
    let lists = ["compare", "--rtt", "20ms,50ms", "--buffer", "250,1bdp", "--schemes", "cubic"];
    let swept = ["--duration", "1s", "--runs", "2", "--json", "-q"];
    printed.document("compare", &run(&[&lists[..], &swept].concat()));
    let folder = Folder::new("fields");
    for name in ["video", "call", "short-flows", "on-off", "home-medium"] {
        let out = folder.path(name);
        let arguments = ["run", &scenario(name), "--duration", "20s", "--json", "-o", &out];
        printed.document("run", &run(&arguments));
        let saved = std::fs::read(format!("{out}/run.json")).expect("run.json");
        printed.document("run", &serde_json::from_slice(&saved).expect("JSON"));
    }
    let several = ["run", &scenario("parking-lot"), "--duration", "5s", "--runs", "6", "--json"];
    printed.document("run", &run(&several));
    let grid = "[grid]\nseed = [1, 2]\n[scenario]\nduration = \"200ms\"\n[[scenario.link]]\nname = \"l\"\n\
                rate = \"1Mbps\"\n[[scenario.flow]]\nscheme = \"cubic\"\npath = [\"l\"]\n";
    let (grid, out) = (folder.write("grid.toml", grid.as_bytes()), folder.path("swept"));
    printed.document("sweep", &run(&["sweep", &grid, "-o", &out, "--json"]));
    let joined = folder.path("all.parquet");
    printed.document("merge", &run(&["merge", &out, "-o", &joined, "--json"]));
    printed.document("medium", &run(&["medium", "--duration", "1s", "--json"]));
    printed.document("medium", &run(&["medium", "--duration", "1s", "--runs", "6", "--json"]));
    printed.document("bench", &run(&["bench", "a", "--json"]));
    let eval = ["remy", "eval", "starter", "--duration", "5s", "--seeds", "6", "--json"];
    printed.document("remy eval", &run(&eval));
    let networks = "duration = \"2s\"\n[networks]\nlink = \"5Mbps\"\nrtt = \"50ms\"\n\
                    senders = 2\non = \"1s\"\noff = \"1s\"\n";
    let on = folder.write("on.toml", networks.as_bytes());
    let eval = ["remy", "eval", "starter", "--on", &on, "--seeds", "2", "--json"];
    printed.document("remy eval --on", &run(&eval));
    let starved = ["remy", "eval", "starter", "--loss", "0.999", "--duration", "50s", "--json"];
    printed.document("remy eval", &run(&starved));
    let lost = folder.write("lost.toml", format!("{networks}loss = 0.999\n").as_bytes());
    let eval = ["remy", "eval", "starter", "--on", &lost, "--duration", "50s", "--json"];
    printed.document("remy eval --on", &run(&eval));
    printed.document("remy list", &run(&["remy", "list", "--json"]));
    let out = folder.path("trained");
    let train = ["remy", "train", &on, "-o", &out, "--generations", "1", "--seeds", "2", "--json"];
    let seen = paceline(&train);
    assert_eq!(seen.code, 0, "{}", seen.err);
    for line in seen.out.lines() {
        printed.document("remy train", &serde_json::from_str(line).expect("a line of JSON"));
    }
    let out = folder.path("tuned");
    let tune = ["remy", "tune", &on, "copa", "-o", &out, "--vary", "delta"];
    let tune = [&tune[..], &["--generations", "1", "--seeds", "2", "--json"]].concat();
    let seen = paceline(&tune);
    assert_eq!(seen.code, 0, "{}", seen.err);
    for line in seen.out.lines() {
        printed.document("remy tune", &serde_json::from_str(line).expect("a line of JSON"));
    }
    let study = "question = \"?\"\njudged = \"?\"\ngenerations = 1\n[common]\nduration = \"2s\"\n\
                 [common.networks]\nlink = \"5Mbps\"\nrtt = \"50ms\"\nsenders = 2\non = \"1s\"\noff = \"1s\"\n\
                 [[table]]\nname = \"a\"\n[[test]]\nname = \"t\"\n\
                 [[check]]\nwhat = \"?\"\nof = \"a\"\ntests = [\"t\"]\nleast = 0.0\nmost = 1.0\n";
    let (study, out) = (folder.write("study.toml", study.as_bytes()), folder.path("studies"));
    let studies = ["remy", "studies", &study, "-o", &out, "--json"];
    let seen = paceline(&studies);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let listed = paceline(&["remy", "studies", &study, "--list", "--json"]);
    for line in seen.out.lines().chain(listed.out.lines()) {
        printed.document("remy studies", &serde_json::from_str(line).expect("a line of JSON"));
    }
    let medium = ["medium", "--stations", "2", "--duration", "1s", "--json"];
    printed.document("medium", &run(&medium));
    let remy = ["remy eval", "remy eval --on", "remy list", "remy train", "remy tune"];
    printed.all_of(&["remy studies"]);
    printed.all_of(&[&["compare", "run", "bench", "medium"][..], &remy].concat());
}

#[test]
fn lists_and_claims() {
    let mut printed = Printed::new();
    printed.document("schemes", &run(&["schemes", "--json"]));
    printed.document("trace list", &run(&["trace", "list", "--json"]));
    printed.document("scenario list", &run(&["scenario", "list", "--json"]));
    printed.document("trace info", &run(&["trace", "info", "lte-driving", "--json"]));
    printed.document("trace info", &run(&["trace", "info", "--delays", "leo", "--json"]));
    printed.document("kernel list", &run(&["kernel", "list", "--json"]));
    printed.document("kernel status", &run(&["kernel", "status", "--json"]));
    let folder = Folder::new("fields-linux");
    let manifest = json!({
        "protocol": 1, "version": "6.12.1", "kernel_sha256": "00", "initramfs_sha256": "00",
        "config_sha256": "00", "schemes": ["reno"], "hz": 1000, "source": "s", "compiler": "gcc",
    });
    folder.write("manifest.json", manifest.to_string().as_bytes());
    printed.document("linux list", &run(&["linux", "list", &folder.path(""), "--json"]));
    // No kernel lies beside the manifest, so the status is 1; the document is complete all the
    // same.
    let seen = paceline(&["linux", "test", &folder.path(""), "--json"]);
    assert_eq!(seen.code, 1, "{}", seen.err);
    printed.document("linux test", &serde_json::from_str(&seen.out).expect("JSON"));
    printed.document("doctor", &run(&["doctor", "--json"]));
    printed.document("reproduce --list", &run(&["reproduce", "--list", "--json"]));
    let published = Folder::new("published");
    let some = ["reproduce", "A01", "A06", "A16", "--quick", "--json", "-q"];
    printed.document("reproduce", &run(&some));
    for name in ["delta0.1", "delta1", "delta10"] {
        let file = published.path(&format!("RemyCC-2013-{name}.dna"));
        assert_eq!(paceline(&["remy", "export", "starter", "-o", &file]).code, 0);
    }
    let tables = published.path("");
    let folders = ["--tables", &tables, "--trained", &tables];
    let beside = [&["reproduce", "R05", "--quick", "--json", "-q"][..], &folders].concat();
    printed.document("reproduce", &run(&beside));
    let repeated = ["reproduce", "X01", "--quick", "--runs", "2", "--costs", "--json", "-q"];
    printed.document("reproduce", &run(&repeated));
    printed.document("evaluate --list", &run(&["evaluate", "--list", "--json"]));
    let some = ["bufferbloat,cubic.harm,optimistic", "--runs", "2", "--json", "-q"];
    printed.document("evaluate", &run(&[&["evaluate", "abc", "--only"][..], &some].concat()));
    // All of `validate` takes minutes; these rows have its types.
    let rows = cases(None, None)[0].measure();
    let counts = Counts::of(&rows);
    let document = json!({ "schema_version": 2, "counts": counts, "rows": rows });
    printed.document("validate", &document);
    printed.all_of(&[
        "schemes",
        "trace list",
        "scenario list",
        "trace info",
        "kernel list",
        "kernel status",
        "linux list",
        "linux test",
        "doctor",
        "reproduce --list",
        "reproduce",
        "evaluate --list",
        "evaluate",
        "validate",
    ]);
}

#[test]
fn over_udp() {
    let mut printed = Printed::new();
    let folder = Folder::new("fields-udp");
    let file = folder.write("in", &[7; 100_000]);
    let (out, pages) = (folder.path("out"), folder.path("pages"));
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["recv", "--listen", "127.0.0.1:0", "--once", "-o", &out, "--report", &pages])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let first = |pipe: &mut dyn std::io::Read| {
        let mut line = String::new();
        BufReader::new(pipe).read_line(&mut line).expect("a line");
        line.trim().to_string()
    };
    let at = first(receiver.stderr.as_mut().expect("a pipe"));
    let key = first(receiver.stdout.as_mut().expect("a pipe"));
    let (at, key) = (at.trim_start_matches("listening at "), key.trim_start_matches("key "));
    printed.document("send", &run(&["send", &file, at, "--key", key, "--json", "-o", &pages]));
    assert!(receiver.wait().expect("an end").success());
    for command in ["send", "recv"] {
        let saved = std::fs::read(format!("{pages}/{command}.json")).expect("a document");
        printed.document(command, &serde_json::from_slice(&saved).expect("JSON"));
    }
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["recv", "--measure", "--listen", "127.0.0.1:0", "--once", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let at = first(receiver.stderr.as_mut().expect("a pipe"));
    let at = at.trim_start_matches("listening at ");
    let bulk = ["send", "--duration", "300ms", at, "-P", "2", "--limit", "1Mbps", "--json"];
    printed.document("send", &run(&bulk));
    let output = receiver.wait_with_output().expect("an end");
    printed.document("recv", &serde_json::from_slice(&output.stdout).expect("JSON"));
    printed.all_of(&["send", "recv"]);
}

#[test]
fn emulations() {
    let test = "emulations_print_the_fields_of_the_table";
    let folder = Folder::new("fields-live");
    let script = format!(
        "$P link --up 12Mbps --down 12Mbps --summary {summary} --log {log} -o {out} -q -- \
         ping -q -c 5 -i 0.05 100.64.0.1 >/dev/null || exit 9\n\
         $P link --scenario {six} --flow mine --start-on file:{go} --summary {shared} -q -- \
         sh -c 'touch {go}; sleep 0.5' || exit 8\n\
         $P gap --trace 12Mbps --schemes cubic,newreno --rtt 200ms --duration 1s --json -q",
        six = scenario("six-uploads"),
        shared = folder.path("shared.json"),
        go = folder.path("go"),
        summary = folder.path("summary.json"),
        log = folder.path("log"),
        out = folder.path("out"),
    );
    let Some(output) = alone::alone(test, &["ping"], &script) else { return };
    let err = alone::text(&output.stderr);
    assert!(output.status.success(), "{err}");
    let mut printed = Printed::new();
    for file in ["summary.json", "out/emulation.json", "shared.json"] {
        let summary = std::fs::read(folder.path(file)).expect("a summary");
        printed.document("emulators", &serde_json::from_slice(&summary).expect("JSON"));
    }
    printed.document("gap", &serde_json::from_slice(&output.stdout).expect("JSON"));
    printed.document("log", &run(&["log", &folder.path("log.up"), "--json"]));
    printed.all_of(&["log", "gap"]);
}

#[test]
fn linux_hosts() {
    if let Err(error) = paceline_guest::find(None) {
        let test = paceline_testing::this_test();
        return paceline_testing::skip(paceline_testing::Need::Linux, &test, &error.to_string());
    }
    let mut printed = Printed::new();
    let gap = ["gap", "--linux", "--trace", "12Mbps", "--schemes", "cubic", "--starts", "2"];
    printed.document("gap", &run(&[&gap[..], &["--duration", "1s", "--json", "-q"]].concat()));
    let compare = ["compare", "--trace", "12Mbps", "--schemes", "linux:cubic,cubic", "--runs", "1"];
    printed
        .document("compare", &run(&[&compare[..], &["--duration", "1s", "--json", "-q"]].concat()));
}

#[test]
fn tunnels() {
    let test = "tunnels_print_the_fields_of_the_table";
    let folder = Folder::new("fields-tunnel");
    // Both ends share a network; the client's device has an address outside the server's network
    // inside.
    let script = format!(
        "ip link set lo up; cd {folder}; $P key new -o server.key > /dev/null || exit 9
         $P tunnel clients add ada --key-file server.key --clients clients --server-address 10.77.0.1/24 -o ada.key 2> said || exit 8
         $P tunnel server --listen 127.0.0.1:5312 --key-file server.key --address 10.77.0.1/24 --clients clients \
             --device jsonserver 2>> said & S=$!
         $P tunnel client 127.0.0.1:5312 --key-file ada.key --address 10.78.0.2/24 --device jsonclient 2>> said & C=$!
         for i in $(seq 600); do grep -q 'connected; packets' said && break; sleep 0.1; done
         $P tunnel status --json > status.json; $P tunnel clients list --clients clients --json > clients.json
         kill $C; wait $C; kill $S; wait $S; ip link set lo down; cat said >&2",
        folder = folder.path("")
    );
    let Some(output) = alone::alone(test, &["ip"], &script) else { return };
    let err = alone::text(&output.stderr);
    let mut printed = Printed::new();
    for (command, file) in
        [("tunnel status", "status.json"), ("tunnel clients list", "clients.json")]
    {
        let document = std::fs::read(folder.path(file)).expect("a document");
        let document = serde_json::from_slice(&document).unwrap_or_else(|_| panic!("{err}"));
        printed.document(command, &document);
    }
    printed.all_of(&["tunnel status", "tunnel clients list"]);
}
