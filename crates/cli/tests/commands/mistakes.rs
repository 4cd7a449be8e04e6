//! Tests that messages about mistakes are clear, name the remedy, and are never panics.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::paceline;
use paceline_testing::Folder;

/// Runs the program and expects the exit status, and every word in its messages.
fn expect(arguments: &[&str], code: i32, words: &[&str]) {
    let seen = paceline(arguments);
    assert_eq!(seen.code, code, "{arguments:?}: {}", seen.err);
    for word in words {
        assert!(seen.err.contains(word), "{arguments:?} lacks `{word}`: {}", seen.err);
    }
    assert!(!seen.err.contains("panicked"), "{arguments:?}: {}", seen.err);
    assert!(seen.out.is_empty(), "{arguments:?} prints results: {}", seen.out);
}

#[test]
fn arguments() {
    expect(&["compare", "--schemes", "cubci"], 2, &["--schemes", "did you mean `cubic`"]);
    expect(&["compare", "--schemes", "abc[etta=1]"], 2, &["did you mean `eta`"]);
    expect(&["compare", "--schemes", "abc[eta=many]"], 2, &["expected a number"]);
    expect(&["compare", "--schemes", "abc[eta=-1]"], 2, &["eta"]);
    expect(&["compare", "--schemes", "cubic+coddle"], 2, &["unknown queue", "codel"]);
    expect(&["compare", "--schemes", "cubic+codel[target=5]"], 2, &["5ms"]);
    expect(&["compare", "--schemes", ","], 2, &["no name beside"]);
    expect(&["compare", "--schemes", "abc[[]"], 2, &["scheme"]);
    expect(&["compare", "--rtt", "100"], 2, &["--rtt", "100ms"]);
    expect(&["compare", "--rtt", "-5ms"], 2, &["--rtt"]);
    expect(&["compare", "--buffer", "12q"], 2, &["--buffer"]);
    expect(&["compare", "--duration", "0s"], 2, &["above zero"]);
    expect(&["compare", "--duration", "9999h"], 2, &["168h"]);
    expect(&["compare", "--flows", "0"], 2, &["--flows"]);
    expect(&["compare", "--flows", "many"], 2, &["--flows"]);
    expect(&["compare", "--warmup", "2min"], 2, &["--warmup", "shorter"]);
    expect(&["compare", "--trace", "0Mbps"], 2, &["above zero"]);
    let link = |queue| ["link", "--up", "1Mbps", "--down", "1Mbps", "--up-queue", queue, "true"];
    expect(&link("nonsense"), 2, &["`nonsense`. Queues are droptail"]);
    expect(&link("coddel"), 2, &["did you mean `codel`? Queues are droptail"]);
    expect(&["delay", "iperf3", "true"], 2, &["'iperf3' for '<TIME>'", "paceline delay 50ms --"]);
    expect(&["delay", "5", "true"], 2, &["5ms"]);
    expect(&["bench", "z"], 2, &["z"]);
    expect(&["conpare"], 2, &["compare"]);
}

#[test]
fn traces() {
    let folder = Folder::new("broken");
    expect(&["compare", "--trace", "lte-drivin"], 2, &["lte-driving", "no such file"]);
    let cases: [(&str, &[u8], &[&str]); 8] = [
        ("empty", b"", &["empty"]),
        ("negative", b"1\n-2\n", &[":2:", "-2"]),
        ("decreasing", b"1\n5\n3\n", &[":3:", "3"]),
        ("text", b"1\nfast\n", &[":2:", "fast"]),
        ("huge", b"1\n99999999999999999999\n", &[":2:"]),
        ("binary", b"1\n\x00\xff\xfe\n", &[":2:"]),
        ("zeros", b"0\n0\n", &["0"]),
        ("fraction", b"1.5\n", &[":1:"]),
    ];
    for (name, bytes, words) in cases {
        let path = folder.write(name, bytes);
        let mut words = words.to_vec();
        words.push(&path);
        expect(&["compare", "--duration", "1s", "--trace", &path], 2, &words);
        expect(&["trace", "info", &path], 2, &words);
    }
}

#[test]
fn scenarios() {
    let folder = Folder::new("scenario");
    let good = "duration = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\n[[flow]]\nscheme = \"abc\"\n";
    let path = folder.write("good.toml", good.as_bytes());
    assert_eq!(paceline(&["run", &path]).code, 0);
    let cases: [(&str, &str, &[&str]); 6] = [
        ("rate =", "raet =", &[":4:1", "raet", "did you mean `rate`"]),
        ("\"abc\"", "\"acb\"", &[":6:", "did you mean `abc`"]),
        ("\"12Mbps\"", "12", &[":4:"]),
        ("\"2s\"", "\"2 parsecs\"", &[":1:", "parsecs"]),
        ("name = \"l\"\n", "", &["name"]),
        ("[[flow]]\n", "[[flow]]\npath = [\"m\"]\n", &[":6:", "there is no link `m`"]),
    ];
    for (from, to, words) in cases {
        let path = folder.write("bad.toml", good.replace(from, to).as_bytes());
        expect(&["run", &path], 2, words);
    }
    let wifi = good.replace("rate = \"12Mbps\"", "wifi = { mcs = 7, queues = \"per-station\" }");
    let path = folder.write("wifi.toml", wifi.as_bytes());
    assert_eq!(paceline(&["run", &path]).code, 0);
    expect(&["link", "--scenario", &path, "true"], 2, &["link `l`", "one station", "leave out"]);
    // The links of a scenario file have their own queues and buffers.
    for option in ["--up-queue", "--down-queue", "--buffer", "--up-buffer", "--down-buffer"] {
        let value = if option.ends_with("queue") { "codel" } else { "50" };
        let line = ["link", "--scenario", &path, option, value, "--", "true"];
        expect(&line, 2, &[option, "cannot be used with"]);
    }
    expect(&["onoff", "--up", "0s", "0s", "true"], 2, &["cannot both be zero"]);
    expect(&["run", &folder.path("none.toml")], 2, &["none.toml", "cannot be read"]);
    let binary = folder.write("binary.toml", &[0xff, 0xfe, 0x00]);
    expect(&["run", &binary], 2, &["binary.toml"]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::new("unwritable");
    let file = folder.write("file", b"in the way");
    let arguments = ["compare", "--duration", "1s", "--schemes", "abc", "-o", &file, "--json"];
    let seen = paceline(&arguments);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("cannot be written"), "{}", seen.err);
    // The mistake is reported before anything runs, so no result is lost.
    assert_eq!(seen.out, "");
}

#[test]
fn the_folder_of_a_result_is_looked_for_before_anything_runs() {
    let folder = Folder::new("nowhere");
    let file = folder.path("no/such/file");
    expect(&["validate", "-o", &file], 2, &[&file, "there is no folder"]);
    let arguments = ["recv", "--listen", "127.0.0.1:0", "-o", &file];
    expect(&arguments, 2, &[&file, "there is no folder"]);
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    let arguments =
        ["saturate", "client", "127.0.0.1:9", "--key", &key, "--only", "up", "-o", &file];
    expect(&arguments, 2, &[&file, "there is no folder"]);
    let file = folder.write("file", b"in the way");
    let inside = format!("{file}/");
    expect(
        &["recv", "--listen", "127.0.0.1:0", "-o", &inside],
        2,
        &[&file, "a file has this name"],
    );
    let arguments = ["recv", "--listen", "127.0.0.1:0", "--report", &file];
    expect(&arguments, 2, &[&file, "a file has this name"]);
    let arguments = ["send", "127.0.0.1:9", "--duration", "1s", "--key", &key, "-o", &file];
    expect(&arguments, 2, &[&file, "a file has this name"]);
}

#[test]
fn addresses_of_other_machines_have_a_host_and_a_port() {
    let folder = Folder::new("addresses");
    let file = folder.write("file", b"data");
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    for address in ["127.0.0.1:99999", "127.0.0.1:", ":5311"] {
        let words = [address, "write host:port"];
        expect(&["send", &file, address, "--key", &key], 2, &words);
        expect(&["send", address, "--duration", "1s", "--key", &key], 2, &words);
        expect(&["recv", "--from", address], 2, &words);
        expect(&["saturate", "client", address, "--key", &key], 2, &words);
    }
}

#[test]
fn a_device_is_not_replaced_by_a_file() {
    let arguments = ["recv", "--listen", "127.0.0.1:0", "-o", "/dev/zero"];
    expect(&arguments, 2, &["/dev/zero", "-o - > /dev/zero"]);
}

/// Runs the program with a limit of 4 KiB on the length of files, as if the disk were full.
#[cfg(unix)]
fn with_little_room(arguments: &[&str]) -> String {
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8 || exit 99; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_paceline"))
        .args(arguments)
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// If half of a trace stayed, it could be taken for a whole one and give wrong results without any
/// message.
#[cfg(unix)]
#[test]
fn no_part_of_a_file_stays_where_there_is_no_room() {
    let folder = Folder::new("full");
    let trace = folder.path("lte.trace");
    let page = folder.path("page.html");
    let svg = folder.path("lte.svg");
    for (arguments, file) in [
        (&["trace", "generate", "lte-driving", "-o", &trace][..], &trace),
        (&["trace", "convert", "lte-driving", &trace], &trace),
        (&["trace", "plot", "lte-driving", "-o", &svg], &svg),
        (&["remy", "show", "starter", "--duration", "1s", "-o", &page], &page),
        (&["compare", "--duration", "1s", "-q", "-o", &folder.path("compared")], &page),
    ] {
        let told = with_little_room(arguments);
        assert!(told.contains("cannot be written"), "{arguments:?}: {told}");
        assert!(!std::path::Path::new(file).exists(), "{arguments:?} leaves a part");
    }
    let left = std::fs::read_dir(folder.path("compared")).expect("a folder").count();
    assert_eq!(left, 0, "compare leaves parts of its files");
}

#[test]
fn a_scenario_that_cannot_be_run_is_named() {
    let folder = Folder::new("conflict");
    let text = "duration = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\n[[flow]]\nscheme = \"abc\"\n\
                [[flow]]\nscheme = \"xcp\"\n";
    let path = folder.write("conflict.toml", text.as_bytes());
    expect(&["run", &path], 2, &["conflict.toml", "link `l`", "router"]);
    let path = folder.write("warm.toml", format!("warmup = \"1s\"\n{text}").as_bytes());
    expect(&["run", &path, "--duration", "1s"], 2, &["warm.toml", "--duration"]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["trace", "generate", "lte-driving"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = [0u8; 1];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("some output");
    let output = child.wait_with_output().expect("an end");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{text}");
}
