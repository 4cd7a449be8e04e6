//! Wrong command lines as new users write them: each message names the remedy.

mod common;

use common::{Folder, paceline};

/// A command line, and the words that its message must have.
type Line = (&'static [&'static str], &'static [&'static str]);

const LINES: [Line; 51] = [
    // Schemes.
    (&["compare", "--schemes", "cubic bbr"], &["separated by commas"]),
    (&["compare", "--schemes", "Cubic"], &["did you mean `cubic`?"]),
    (&["compare", "--schemes", "reno"], &["did you mean `newreno`?"]),
    (&["compare", "--schemes", "pcc"], &["did you mean `vivace`?"]),
    (&["compare", "--schemes", "bbr2"], &["did you mean `bbr3`?"]),
    (&["compare", "--schemes", "cubic[beta=70%%]"], &["beta", "number"]),
    (&["schemes", "reno"], &["did you mean `newreno`?"]),
    (&["contest", "--schemes", "cubic"], &["--entries"]),
    // Rates and traces.
    (&["compare", "--trace", "12mbit"], &["12mbit", "write 12Mbps"]),
    (&["compare", "--trace", "10Mb/s"], &["write 10Mbps"]),
    (&["compare", "--trace", "12M"], &["write 12Mbps"]),
    (&["compare", "--trace", "2.5MB/s"], &["bytes", "write 20Mbps"]),
    (&["compare", "--trace", "500 KBps"], &["bytes", "write 4000kbps"]),
    (&["compare", "--trace", "12Mbps,24Mbps"], &["--trace 12Mbps --trace 24Mbps"]),
    (&["compare", "--trace", "12Mbps,"], &["--trace 12Mbps --trace 24Mbps"]),
    (&["compare", "--trace", "-5Mbps"], &["cannot be negative"]),
    (&["compare", "--trace", "a.down,b.down"], &["--trace A --trace B"]),
    (&["compare", "--trace", "*.down"], &["no file matches", "--trace A --trace B"]),
    (&["compare", "--trace", "Verizon-LTE-short.down"], &["mahimahi/traces/", "lte-driving"]),
    (&["compare", "--trace", "starlink"], &["did you mean the built-in leo?"]),
    (&["compare", "--trace", "5g"], &["did you mean the built-in nr-driving?"]),
    (&["compare", "--trace", "wifi"], &["scenarios/wifi.toml"]),
    (&["compare", "--rate", "12Mbps"], &["--trace 12Mbps"]),
    // Times and numbers of runs.
    (&["compare", "--rtt", "0.1"], &["`0.1ms` or `0.1s`"]),
    (&["compare", "--duration", "1m"], &["min"]),
    (&["compare", "--seeds", "3"], &["--runs N"]),
    (&["compare", "--format", "csv"], &["--csv", "docs/python.md"]),
    // Files and folders.
    (&["compare", "-o", "fig.html"], &["a folder", ".pdf, .svg, .png", ".csv, .parquet"]),
    (&["trace", "plot", "lte-driving", "-o", "fig.csv"], &[".pdf, .svg or .png"]),
    (&["log", "x.up", "-o", "x.txt"], &["a figure (.pdf, .svg, .png)", ".json"]),
    (&["run", "fairness.toml"], &["paceline scenario new fairness -o fairness.toml"]),
    (&["run", "mine.toml"], &["paceline scenario list"]),
    (&["scenario", "new", "fairnes"], &["did you mean `fairness`?"]),
    // Emulators.
    (&["link", "--up", "12", "--down", "12", "true"], &["`12Mbps` or `12kbps`"]),
    (&["link", "--up", "1Mbps", "--down", "1Mbps", "--rtt", "9ms", "true"], &["--delay 20ms"]),
    (&["link", "--up", "1Mbps", "--down", "1Mbps", "--loss", "5", "true"], &["did you mean 5%?"]),
    (&["link", "--up", "1Mbps", "--down", "1Mbps", "--fail-if", "p95", "true"], &["p95>100ms"]),
    (&["link", "--up", "1Mbps", "--down", "1Mbps", "--wait-for", "http", "true"], &["5201"]),
    (&["link", "--up", "1Mbps", "--down", "1Mbps", "-o", "fig.pdf", "true"], &["name it fig"]),
    (&["link", "--preset", "wifi", "true"], &["there are dsl, cable"]),
    (&["delay", "20", "true"], &["`20ms` or `20s`"]),
    (&["delay", "20ms", "--jitter", "5ms", "true"], &["`paceline link` has --jitter"]),
    (&["loss", "--down", "5", "true"], &["did you mean 5%?"]),
    (&["loss", "down", "5", "true"], &["did you mean 5%?"]),
    (&["meter", "--for", "10s", "true"], &["timeout 10 COMMAND"]),
    // Sending, and the rest.
    (&["send", "x", "host:1", "--key", "abc"], &["copy the whole"]),
    (&["recv", "--port", "5311"], &["--listen 0.0.0.0:5311"]),
    (&["kernel", "load", "c2tcp", "--over", "bbr"], &["cubic or newreno"]),
    (&["kernel", "load", "c2tcp", "--target", "2"], &["c2tcp[target=2]", "2rtt"]),
    (&["kernel", "load", "abc", "--target", "2rtt"], &["only for the program `c2tcp`"]),
    (&["queues"], &["`paceline schemes` lists queues"]),
];

#[test]
fn each_message_names_the_remedy() {
    for (arguments, words) in LINES {
        let seen = paceline(arguments);
        assert_eq!(seen.code, 2, "{arguments:?}: {}{}", seen.out, seen.err);
        for word in words {
            assert!(seen.err.contains(word), "{arguments:?} lacks `{word}`: {}", seen.err);
        }
        // clap adds no general advice if the message already says what to write.
        assert!(!seen.err.contains("For more information"), "{arguments:?}: {}", seen.err);
        assert!(!seen.err.contains("panicked"), "{arguments:?}: {}", seen.err);
        assert!(seen.out.is_empty(), "{arguments:?} prints results: {}", seen.out);
    }
    for name in ["fig", "fig.pdf", "fig.png"] {
        assert!(!std::path::Path::new(name).exists(), "{name} was made");
    }
}

#[test]
fn a_line_of_recv_is_a_key() {
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    let line = format!("key {key}");
    // The key was accepted, since the error is about the file.
    let seen = paceline(&["send", "no-such-file", "127.0.0.1:1", "--key", &line]);
    assert!(seen.code == 2 && seen.err.contains("no-such-file: cannot be read"), "{}", seen.err);
}

#[test]
fn a_csv_file_without_units_is_warned_of() {
    let folder = Folder::new("units");
    let without = folder.write("without.csv", b"0,10\n10,20\n20,5\n");
    let seen = paceline(&["trace", "info", &without]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(
        seen.err.contains("warning: ") && seen.err.contains("repeat every 30ms"),
        "{}",
        seen.err
    );
    assert!(seen.err.contains("write time_s,mbps as the first line"), "{}", seen.err);
    let compare = ["compare", "--schemes", "cubic", "--duration", "1s", "--runs", "1", "-q"];
    let seen = paceline(&[&compare[..], &["--trace", &without]].concat());
    assert!(seen.code == 0 && seen.err.contains("repeat every 30ms"), "{}", seen.err);
    let with = folder.write("with.csv", b"time,kbps\n0,3000\n5,500\n10,3000\n");
    let seen = paceline(&["trace", "info", &with, "--json"]);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    let all: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    assert_eq!(all["traces"][0]["length_s"], 15.0);
    let unknown = folder.write("unknown.csv", b"frame,kbps\n0,3000\n5,500\n");
    let seen = paceline(&["trace", "info", &unknown]);
    assert!(seen.code == 2 && seen.err.contains("unknown.csv:1: header"), "{}", seen.err);
}

#[test]
fn an_example_scenario_becomes_a_file_that_runs() {
    let folder = Folder::new("example");
    let file = folder.path("mine.toml");
    let seen = paceline(&["scenario", "new", "dumbbell", "-o", &file]);
    assert!(seen.code == 0 && seen.err.contains("wrote "), "{}", seen.err);
    let seen = paceline(&["run", &file, "--duration", "6s", "-q"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let again = paceline(&["scenario", "new", "dumbbell", "-o", &file]);
    assert!(again.code == 2 && again.err.contains("there is such a file"), "{}", again.err);
}
