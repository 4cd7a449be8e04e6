//! Wrong command lines as new users write them: each message names the remedy.

use crate::common::paceline;
use paceline_testing::Folder;

/// A command line, and the words that its message must have.
type Line = (&'static [&'static str], &'static [&'static str]);

const LINES: [Line; 62] = [
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
    (&["compare", "--reverse-trace", "12Mbps,24Mbps"], &["one link is expected"]),
    (&["compare", "--trace", "12Mbps,"], &["--trace 12Mbps,24Mbps"]),
    (&["compare", "--trace", "-5Mbps"], &["cannot be negative"]),
    (&["compare", "--trace", "a.down,b.down"], &["a.down"]),
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
    (&["compare", "--seed", "9223372036854775808"], &["--seed", "0 to 9223372036854775807"]),
    (&["compare", "--format", "csv"], &["--csv", "docs/python.md"]),
    (&["-o", "out", "compare"], &["options stand after the command: `paceline compare -o`"]),
    (
        &["trace", "--json", "info"],
        &["options stand after the command: `paceline trace info --json`"],
    ),
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
    (&["compare", "--rtt", "20ms,50"], &["--rtt", "50ms"]),
    (&["compare", "--rtt", "20ms,20ms"], &["--rtt: 20ms stands in the list twice"]),
    (&["compare", "--schemes", "cubic,abc,cubic"], &["--schemes: cubic stands in the list twice"]),
    (&["compare", "--schemes", "noq:bbr3,noq:bbr3"], &["noq:bbr3 stands in the list twice"]),
    (
        &["compare", "--schemes", "newreno[initial_window=2,initial_window=40]"],
        &["the parameter `initial_window` stands there twice"],
    ),
    (
        &["contest", "--entries", "cubic[beta=0.5|0.5]"],
        &["--entries: cubic[beta=0.5] stands in the list twice"],
    ),
    (&["compare", "--buffer", "1bdp,"], &["--buffer"]),
    (&["compare", "--trace", "12Mbps,no-such"], &["no-such"]),
    // Sending, and the rest.
    (&["send", "x", "host:1", "--key", "abc"], &["copy the whole"]),
    (&["recv", "--port", "5311"], &["--listen 0.0.0.0:5311"]),
    (&["kernel", "load", "c2tcp", "--over", "bbr"], &["cubic or newreno"]),
    (&["kernel", "load", "c2tcp", "--target", "2"], &["c2tcp[target=2]", "2rtt"]),
    (&["kernel", "load", "abc", "--target", "2rtt"], &["only for the program `c2tcp`"]),
    (&["queues"], &["`paceline schemes` lists queues"]),
];

/// Lines as users of other programs write them.
const NEWCOMERS: &[Line] = &[
    // Mahimahi.
    (&["link", "12Mbps", "12Mbps", "--", "true"], &["--up 12Mbps --down lte-driving"]),
    (&["link", "--up", "12Mbps", "true"], &["--down", "--preset lte", "paceline trace list"]),
    (&["link", "--uplink", "a.up", "--downlink", "a.down"], &["--up 12Mbps --down lte-driving"]),
    (&["link", "--uplink-queue=droptail", "true"], &["--down-queue codel"]),
    (&["link", "--uplink-queue-args=packets=100", "true"], &["--buffer 100 (packets)"]),
    (&["link", "--meter-all", "true"], &["--meter shows rate, queue and delay"]),
    (&["loss", "1%", "--", "true"], &["--up 1% --down 1%"]),
    (&["loss", "--both", "1%", "true"], &["--up 1% --down 1%"]),
    (
        &["delay", "20ms", "5ms", "--", "true"],
        &["`5ms` stands where the program does", "--jitter 5ms"],
    ),
    (&["delay", "--up", "20ms", "true"], &["in both directions"]),
    (&["onoff", "uplink", "10", "1", "true"], &["`10ms` or `10s`"]),
    // Pantheon.
    (&["compare", "cubic", "bbr"], &["--schemes cubic,bbr --trace lte-driving"]),
    (&["compare", "--scheme", "cubic"], &["--schemes cubic,bbr"]),
    (&["compare", "--runtime", "30"], &["--duration 30s"]),
    (&["compare", "--run-times", "5"], &["--runs N"]),
    (&["compare", "--uplink-trace", "lte-driving"], &["--reverse-trace"]),
    (&["compare", "--schemes", "taova"], &["did you mean `remy`?"]),
    (&["compare", "--schemes", "webrtc"], &["did you mean `gcc`?"]),
    (&["compare", "--queue-size", "100"], &["--buffer 100 (packets)"]),
    (&["compare", "--pdf", "fig.pdf"], &["-o FILE.pdf"]),
    // netem and tc.
    (&["netem", "delay", "100ms"], &["paceline link --up 10Mbps", "docs/howto/from-netem.md"]),
    (&["link", "--rate", "10mbit", "true"], &["--up 12Mbps"]),
    (&["link", "--up", "1Mbps", "--down", "1Mbps", "--loss", "1", "true"], &["1% or 0.01"]),
    (&["link", "--latency", "50ms", "true"], &["--delay 20ms"]),
    (&["link", "--limit", "1000", "true"], &["--buffer 100 (packets)"]),
    (&["link", "--reorder", "1%", "true"], &["reorder = 0.01", "--scenario FILE"]),
    (&["link", "--corrupt", "1%", "true"], &["--loss 1% drops them"]),
    (&["link", "--dev", "eth0"], &["paceline router DEVICE"]),
    (
        &["link", "--up", "1Mbps", "--down", "1Mbps", "--up-queue", "pfifo", "true"],
        &["did you mean `droptail`?"],
    ),
    (&["compare", "--schemes", "cubic+fq"], &["did you mean `fq_codel`?"]),
    (&["compare", "--schemes", "cubic+tbf"], &["did you mean `policer`?"]),
    (&["router", "--dev", "eth0", "--rate", "10Mbps"], &["`paceline router eth1 --rate 20Mbps`"]),
    (&["router", "eth0", "--up", "10Mbps"], &["--rate or --trace"]),
    (&["router", "eth0"], &["--rate", "`paceline router eth1 --rate 20Mbps`"]),
    // ns-3.
    (&["compare", "--schemes", "TcpLinuxReno"], &["did you mean `newreno`?"]),
    (&["compare", "--schemes", "TcpCubic"], &["did you mean `cubic`?"]),
    (&["compare", "--schemes", "cubic", "--queue", "codel"], &["--schemes cubic+codel"]),
    (&["compare", "--delay", "20ms"], &["--rtt 40ms"]),
    (&["compare", "--loss", "1%"], &["data = { loss = 0.01 }", "paceline new scenario"]),
    (&["compare", "mine.toml"], &["`paceline run mine.toml`"]),
    (&["compare", "./mine.py", "-o", "out"], &["--schemes ./mine.py,cubic"]),
    (&["compare", "--pcap", "a.pcap"], &["simulated packets have no bytes"]),
    (&["run"], &["`paceline run FILE.toml`", "paceline new scenario"]),
    (&["run", "mine.toml", "--rate", "5Mbps"], &["change it there", "paceline sweep"]),
    // Calls.
    (&["link", "--bitrate", "1Mbps", "true"], &["--up 12Mbps"]),
    (
        &["link", "--up", "1Mbps", "--down", "1Mbps", "--fail-if", "fps<20", "true"],
        &["`fps` is no figure", "p95"],
    ),
    (
        &["link", "--up", "1Mbps", "--down", "1Mbps", "--fail-if", "p95>100", "true"],
        &["`100ms` or `100s`"],
    ),
    (
        &["link", "--up", "1Mbps", "--down", "1Mbps", "--junit", "x.xml", "true"],
        &["--fail-if <CONDITION>"],
    ),
    (&["link", "--duration", "10s", "true"], &["timeout 10 COMMAND"]),
    // Servers.
    (&["kernel", "install", "abc"], &["paceline kernel load NAME"]),
    (&["kernel", "remove", "abc"], &["paceline kernel unload NAME"]),
    (&["kernel", "load", "bbr"], &["`bbr` is Linux' own", "sysctl"]),
    (&["tunnel", "start", "office"], &["`paceline tunnel up NAME`"]),
    (&["tunnel", "stop", "office"], &["`paceline tunnel down NAME`"]),
    (&["tunnel", "up"], &["/etc/paceline/NAME.toml"]),
    (&["tunnel", "server", "--port", "5312"], &["--listen 0.0.0.0:5312"]),
    (&["recv", "-s"], &["--listen 0.0.0.0:5311"]),
    (&["recv", "0.0.0.0:5311"], &["--listen 0.0.0.0:5311"]),
    (&["send", "-c", "192.0.2.1"], &["the address is the last word"]),
    (&["send", "192.0.2.1", "-t", "10"], &["--duration 10s"]),
    (&["send", "--cc", "bbr", "x", "192.0.2.1"], &["--scheme bbr"]),
    (
        &["send", "192.0.2.1", "--duration", "1s", "--scheme", "cubic+codel"],
        &["write cubic without +codel"],
    ),
    (&["serve", "9000"], &["--port 9000"]),
    (&["key", "gen"], &["`paceline key new -o FILE`"]),
    (&["trace", "show", "lte-driving"], &["paceline trace info"]),
    (&["scenario", "run", "fairness"], &["`paceline run FILE`"]),
    (&["saturate", "client", "192.0.2.1:5313"], &["--only down"]),
    (&["plot", "results/compare.json"], &["-o figure.pdf"]),
    (&["compare", "-v"], &["--json prints every figure"]),
];

/// Names of files that are those of another format, schemes of others, and values of a wrong kind.
const NAMES: &[Line] = &[
    (&["trace", "convert", "lte-driving", "x.json"], &["x.json", ".csv or .down, .up or .trace"]),
    (&["trace", "convert", "lte-driving", "-o", "x.pdf"], &["x.pdf", ".csv or .down"]),
    (&["trace", "convert", "lte-driving", "-o", "x.csv", "--to", "mahimahi"], &["leave --to out"]),
    (&["trace", "convert", "lte-driving", "-o", "x.down", "--to", "csv"], &["ends with .csv"]),
    (&["trace", "generate", "lte-driving", "-o", "x.parquet"], &["x.parquet", ".csv or .down"]),
    (&["compare", "--csv", "x.json"], &["--csv writes a table", ".csv or .parquet"]),
    (&["compare", "--series", "x.pdf"], &["--series writes a table", ".csv or .parquet"]),
    (&["schemes", "--csv", "x.json"], &["--csv writes a table"]),
    (&["validate", "-o", "x.pdf"], &["a table or a text", ".csv"]),
    (&["scenario", "new", "dumbbell", "-o", "x.json"], &["ends with .toml"]),
    (&["remy", "import", "starter", "-o", "x.csv"], &[".toml or .json"]),
    (&["remy", "import", "general-delta1", "-o", "x.txt"], &["x.txt", ".toml or .json"]),
    (&["remy", "export", "starter", "-o", "x.toml"], &[".dna"]),
    (&["remy", "show", "starter", "-o", "x.pdf"], &[".html"]),
    (
        &["link", "--up", "1Mbps", "--down", "1Mbps", "--summary", "x.csv", "true"],
        &["--summary writes JSON", ".json"],
    ),
    (&["delay", "1ms", "--pcap", "x.json", "true"], &["--pcap", ".pcapng"]),
    (&["recv", "--qlog", "x.csv"], &["--qlog", ".sqlog"]),
    (&["recv", "--qlog", "-"], &["--qlog -: ", "write ./-"]),
    (&["delay", "1ms", "--pcap", "-", "true"], &["--pcap -: ", "write ./-"]),
    (&["delay", "1ms", "--summary", "-", "true"], &["--summary -: ", "write ./-"]),
    (&["sweep", "no-such.toml", "-o", "out"], &["docs/howto/sweeps.md"]),
    (&["plot", "no-such.json", "-o", "x.pdf"], &["paceline compare -o results"]),
    (&["compare", "--schemes", "htcp"], &["Linux has it", "`linux:htcp`"]),
    (&["compare", "--schemes", "TcpWestwoodPlus"], &["`linux:westwood`"]),
    (&["compare", "--schemes", "bic,cubic"], &["`linux:bic`"]),
    (&["evaluate", "lp"], &["`linux:lp`"]),
    (&["compare", "--schemes", "swift"], &["it is not here", "`copa`"]),
    (&["compare", "--schemes", "proprate"], &["`sprout`, `verus` and `c2tcp`"]),
    (&["schemes", "illinois"], &["`linux:illinois`"]),
    (&["gap", "--schemes", "./mine.py"], &["compare, contest, evaluate, run and sweep take"]),
    (&["compare", "--runs", "ten"], &["expected a whole number"]),
    (&["kernel", "unload"], &["paceline kernel unload abc"]),
    (&["bench", "--schemes", "cubic"], &["`paceline bench a`"]),
    (&["validate", "--only", "zzz"], &["docs/validation.md"]),
    (&["contest", "--entries", "./no-such-file.py"], &["./no-such-file.py: there is no such file"]),
];

/// Commands that came late, empty names in lists, and names in a wrong place.
const LATE: &[Line] = &[
    (&["compare", "--schemes", "cubic,,abc"], &["cubic,,abc", "no name beside"]),
    (&["compare", "--schemes", "cubic,"], &["leave the comma out"]),
    (&["evaluate", "cubic", "cubic"], &["cubic stands in the list twice"]),
    (&["evaluate", "cubic", "--cases", "rfc9743,rfc9743"], &["rfc9743 stands in the list twice"]),
    (&["contest", "--entries", "cubic,,abc"], &["cubic,,abc", "no name beside"]),
    (&["evaluate", "cubic,,abc"], &["cubic,,abc", "no name beside"]),
    (&["gap", "--schemes", ",cubic"], &[",cubic", "no name beside"]),
    (&["compare", "--schemes", "droptail"], &["it is a queue", "`cubic+droptail`"]),
    (&["compare", "--schemes", "cubic+copa"], &["it is a scheme"]),
    (&["compare", "--schemes", "cubic+htcp"], &["`linux:htcp`"]),
    (
        &["link", "--up", "1Mbps", "--down", "1Mbps", "--down-queue", "htcp", "true"],
        &["no queue and no scheme", "`linux:htcp`"],
    ),
    (&["send", "Cargo.toml", "127.0.0.1:1", "--scheme", "htcp"], &["`linux:htcp`"]),
    (&["log", "no-such.log"], &["paceline link --log NAME"]),
    (&["remy", "tune"], &["paceline remy tune SPEC.toml copa -o DIR"]),
    (&["remy", "tune", "a.toml", "--scheme", "copa"], &["the second word"]),
    (&["remy", "tune", "a.toml", "copa", "--budget", "1min"], &["--duration"]),
    (&["remy", "tune", "copa", "a.toml", "-o", "x"], &["stands before the scheme"]),
    (&["reproduce", "--only", "A01"], &["paceline reproduce A01"]),
    (&["evaluate", "cubic", "--suite", "quic"], &["--cases rfc8867"]),
    (&["send", "src", "127.0.0.1:1", "--recursive"], &["paceline send FOLDER"]),
    (&["send", "src", "127.0.0.1:1", "--resume"], &["continues by itself"]),
    (&["tunnel", "--config", "x.toml"], &["paceline tunnel up FILE.toml"]),
    (&["tunnel", "office.toml"], &["paceline tunnel up office.toml"]),
    (&["tunnel", "config"], &["/etc/paceline/NAME.toml"]),
    (&["saturate", "--server"], &["paceline saturate server"]),
    (&["new", "controller", "mine", "-o", "x.py"], &["writes mine.py"]),
    (&["new", "trace", "ride", "-o", "x.csv"], &["writes ride.csv"]),
    (&["dumbbell.toml"], &["paceline run dumbbell.toml"]),
];

/// Options that the chosen kind does not use, several documents on standard output, and names of files for folders.
const UNUSED: &[Line] = &[
    (
        &["trace", "generate", "square", "--rate", "6Mbps"],
        &["--rate", "--low, --high, --half-period"],
    ),
    (&["trace", "generate", "constant", "--low", "6Mbps"], &["--low", "it has --rate"]),
    (&["trace", "generate", "constant", "--seed", "9"], &["--seed", "it has --rate"]),
    (&["trace", "generate", "lte-driving", "--rate", "6Mbps"], &["--rate", "it has --seed"]),
    (&["trace", "generate", "squre", "--low", "6Mbps"], &["constant, square"]),
    (
        &["trace", "generate", "/home/me/recordings/of-the-tram-of-the-town/2026/ride.down"],
        &["/home/me/recordings/of-the-tram-of-the-town/2026/ride.down"],
    ),
    (&["compare", "--csv", "-", "--json"], &["--csv - and --json"]),
    (&["compare", "--series", "-", "--csv", "-"], &["--csv - and --series -"]),
    (&["schemes", "--csv", "-", "--json"], &["--csv - and --json"]),
    (&["remy", "eval", "starter", "--csv", "-", "--json"], &["--csv - and --json"]),
    (&["compare", "-o", "-"], &["-o -", "--csv -"]),
    (&["compare", "-o", "foo.md"], &["foo.md: -o writes a folder"]),
    (&["validate", "--only", "no-such-peer"], &["the peers are: ns-3 3.37; ", "Facts of papers"]),
    (&["evaluate", "abc", "--cases", "rfc8867", "--only", "cubic.harm"], &["belongs to rfc9743"]),
];

#[test]
fn each_message_names_the_remedy() {
    for &(arguments, words) in LINES.iter().chain(NEWCOMERS).chain(NAMES).chain(LATE).chain(UNUSED)
    {
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
    let other =
        ["csv", "down", "json", "parquet", "pdf", "toml", "html"].map(|end| format!("x.{end}"));
    for name in ["fig", "fig.pdf", "fig.png"].into_iter().chain(other.iter().map(String::as_str)) {
        assert!(!std::path::Path::new(name).exists(), "{name} was made");
    }
}

/// A guess that is not near is no help: clap takes `--rate` for `--duration`.
#[test]
fn no_message_guesses_an_option_that_is_not_near() {
    let seen = paceline(&["bench", "--rate", "1"]);
    assert!(seen.code == 2 && !seen.err.contains("similar"), "{}", seen.err);
    let seen = paceline(&["compare", "--schemse", "cubic"]);
    assert!(seen.err.contains("'--schemes'"), "{}", seen.err);
    let seen = paceline(&["evaluate", "nope"]);
    assert!(seen.code == 2 && !seen.err.contains("did you mean"), "{}", seen.err);
}

#[test]
fn a_trace_is_no_scenario() {
    let folder = Folder::new("trace-run");
    let trace = folder.write("x.down", b"1\n2\n3\n");
    let seen = paceline(&["run", &trace]);
    assert!(seen.code == 2 && seen.err.contains("compare --trace"), "{}", seen.err);
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
fn a_host_in_place_of_a_file_is_told() {
    let seen = paceline(&["send", "127.0.0.1", "big.bin"]);
    assert!(seen.code == 2 && seen.err.contains("files first, the host last"), "{}", seen.err);
    let seen = paceline(&["send", "big.bin", "127.0.0.1:1"]);
    assert!(seen.code == 2 && !seen.err.contains("the host last"), "{}", seen.err);
    let seen = paceline(&["send", "--listen", "127.0.0.1:0", "big.bin"]);
    assert!(seen.code == 2 && !seen.err.contains("the host last"), "{}", seen.err);
}

#[test]
fn a_flow_that_starts_after_the_end_is_said_to() {
    let folder = Folder::new("after-the-end");
    let text = "duration = \"1s\"\n[[link]]\nname = \"l\"\nrate = \"1Mbps\"\n[[flow]]\nscheme = \"cubic\"\n\
                [[flow]]\nname = \"call\"\nscheme = \"cubic\"\nstart = \"50s\"\n";
    let seen = paceline(&["run", &folder.write("late.toml", text.as_bytes())]);
    let said = "flow call: nothing arrived; it starts at 50s, after the end of the run at 1s";
    assert!(seen.code == 0 && seen.err.contains(said), "{}", seen.err);
    // Copies of a flow have numbered names.
    let text = text.replace("name = \"call\"", "name = \"call\"\ncount = 2");
    let seen = paceline(&["run", &folder.write("copies.toml", text.as_bytes())]);
    assert!(seen.err.contains(&said.replace("call", "call-2")), "{}", seen.err);
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
fn a_trace_that_begins_late_is_warned_of() {
    let folder = Folder::new("late");
    let late = folder.write("t", b"100000\n100005\n100010\n");
    let warning =
        "t: nothing before 100.0 s; subtract the first time if the recording begins there";
    let compare = ["compare", "--schemes", "cubic", "--duration", "1s", "--runs", "1", "-q"];
    let scenario =
        "duration = \"1s\"\n[[link]]\nname = \"l\"\ntrace = \"t\"\n[[flow]]\nscheme = \"cubic\"\n";
    let scenario = folder.write("late.toml", scenario.as_bytes());
    for arguments in [
        &[&compare[..], &["--trace", &late]].concat()[..],
        &["trace", "info", &late],
        &["run", &scenario],
    ] {
        let seen = paceline(arguments);
        assert!(seen.code == 0 && seen.err.contains(warning), "{arguments:?}: {}", seen.err);
    }
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

#[test]
fn a_folder_of_a_sweep_is_no_file() {
    let folder = Folder::new("sweep-folder");
    let base = "[scenario]\nduration = \"1s\"\n[[scenario.link]]\nname = \"l\"\nrate = \"1Mbps\"\n\
                [[scenario.flow]]\nscheme = \"cubic\"\n[grid]\nseed = [1]\n";
    let sweep = folder.write("sweep.toml", base.as_bytes());
    for (name, word) in [("swp.csv", "name it"), ("-", "names a folder here")] {
        let seen = paceline(&["sweep", &sweep, "-o", name]);
        assert!(seen.code == 2 && seen.err.contains(word), "{}", seen.err);
        assert!(!seen.err.contains("plots"), "{}", seen.err);
    }
}

#[test]
fn files_of_a_wrong_kind_are_said_to_be_what_they_are() {
    let folder = Folder::new("kinds");
    let scenario = "duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[flow]]\nscheme = \"cubic\"\n";
    let scenario = folder.write("scenario.toml", scenario.as_bytes());
    let sweep = folder.write("sweep.toml", b"scenario = \"scenario.toml\"\n[grid]\nseed = [1]\n");
    let recording = folder.write("ride.csv", b"time_ms,mbps\n0,1\n5000,2\n");
    let picture = folder.write("plot.png", b"\x89PNG\r\n\x1a\n\0\0");
    let out = folder.path("out");
    for (arguments, word) in [
        (&["run", &recording][..], "this is a trace of a link, not a scenario"),
        (&["run", &picture], "this is a picture (PNG), not a scenario"),
        (&["run", &sweep], "this is a sweep, not a scenario"),
        (&["sweep", &scenario, "-o", &out], "this is a scenario, not a sweep"),
        (&["sweep", &recording, "-o", &out], "this is a trace of a link, not a sweep"),
        (&["trace", "info", &picture], "this is a picture (PNG), not a trace"),
        (&["compare", "--trace", &scenario], "this is a scenario, not a trace"),
    ] {
        let seen = paceline(arguments);
        assert!(seen.code == 2 && seen.err.contains(word), "{arguments:?}: {}", seen.err);
    }
}
