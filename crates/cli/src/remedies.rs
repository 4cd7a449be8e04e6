//! What to write instead of options, words and commands that are not there, but that users of other
//! programs expect (Mahimahi, Pantheon, netem, ns-3, iperf3, systemd, wg-quick).

/// Options that a command does not have.
pub(crate) struct NoOption {
    /// The command's words without `paceline`; empty for every command.
    pub(crate) command: &'static str,
    pub(crate) options: &'static [&'static str],
    pub(crate) remedy: &'static str,
}

const fn no(
    command: &'static str,
    options: &'static [&'static str],
    remedy: &'static str,
) -> NoOption {
    NoOption { command, options, remedy }
}

const FOR: &str = "an emulator ends with its program: `timeout 10 COMMAND` ends that after 10 s";
const UP_DOWN: &str =
    "--up and --down have the rates or traces, such as --up 12Mbps --down lte-driving";
const QUEUES: &str = "--up-queue and --down-queue, such as --down-queue codel";
const BUFFERS: &str =
    "--buffer, or --up-buffer and --down-buffer, such as --buffer 100 (packets), 64kB or 50ms";
const IMPAIRED: &str = "a scenario has it: below [[flow]] data = { duplicate = 0.001, reorder = 0.01, burst = 5 }, then \
                        `paceline link --scenario FILE`";
const ONE_PROGRAM: &str = "an emulator is around one program, and needs no interface; `paceline router DEVICE --rate 20Mbps` \
                           is in front of a device";
const RUNS: &str = "--runs N makes N runs, each with a seed of its own";
const CSV: &str = "--csv FILE writes a table, --json prints all figures; the Python package makes \
                   data frames of them (docs/python.md)";
const IN_SCHEMES: &str =
    "a scheme brings its queue: --schemes cubic+codel, or 'cubic+codel[target=50ms]'";
const IN_SCENARIO: &str = "a scenario file has it: below [[flow]] data = { loss = 0.01 }; `paceline new scenario -o mine.toml` begins one, \
                           `paceline run mine.toml` runs it";
const EDIT: &str = "the file has it: change it there, or sweep over values with `paceline sweep` (docs/howto/sweeps.md)";
const FIGURE: &str = "-o FILE.pdf, FILE.svg or FILE.png writes a figure, -o DIR a page with all";
const DURATION: &str = "--duration, such as --duration 30s";
const THREADS: &str = "--threads N; by default one for each core";
const LISTEN: &str = "--listen has address and port, such as --listen 0.0.0.0:5311";

/// Remedies for options.
pub(crate) const OPTIONS: &[NoOption] = &[
    no("link", &["--rtt"], "--delay is one way: --delay 20ms makes a round trip of 40ms"),
    no("link", &["--latency"], "--delay, such as --delay 20ms: one way"),
    no("link", &["--queue", "--qdisc", "--aqm", "--uplink-queue", "--downlink-queue"], QUEUES),
    no(
        "link",
        &[
            "--rate",
            "--bandwidth",
            "--bitrate",
            "--bw",
            "--speed",
            "--trace",
            "--uplink",
            "--downlink",
        ],
        UP_DOWN,
    ),
    no(
        "link",
        &[
            "--limit",
            "--queue-size",
            "--queue-limit",
            "--uplink-queue-args",
            "--downlink-queue-args",
        ],
        BUFFERS,
    ),
    no("link", &["--packet-loss", "--plr"], "--loss, such as --loss 1%"),
    no("link", &["--duplicate", "--reorder", "--burst", "--slot"], IMPAIRED),
    no("link", &["--corrupt"], "nothing corrupts packets; --loss 1% drops them"),
    no(
        "link",
        &["--distribution"],
        "--jitter 10ms is uniform from 0 to 10 ms; a scenario has jitter_shape = \"normal\"",
    ),
    no(
        "link",
        &[
            "--meter-all",
            "--meter-uplink",
            "--meter-downlink",
            "--meter-uplink-delay",
            "--meter-downlink-delay",
        ],
        "--meter shows rate, queue and delay of both directions",
    ),
    no("link", &["--uplink-log", "--downlink-log"], "--log FILE writes FILE.up and FILE.down"),
    no("link", &["--dev", "--device", "--interface", "-i"], ONE_PROGRAM),
    no("link", &["--for", "--duration", "--time", "-t"], FOR),
    no(
        "delay",
        &["--up", "--down"],
        "a delay is in both directions: `paceline delay 20ms -- COMMAND`",
    ),
    no("delay", &["--jitter"], "`paceline link` has --jitter"),
    no("delay", &["--loss"], "`paceline link` has --loss, `paceline loss` is a command of its own"),
    no("delay", &["--for", "--duration"], FOR),
    no("meter", &["--for", "--duration"], FOR),
    no("loss", &["--loss", "--rate", "--both"], "--up and --down, such as --up 1% --down 1%"),
    no(
        "onoff",
        &["--on", "--off"],
        "--up and --down, such as --down 10s 500ms: on for 10 s, off for 500 ms",
    ),
    no(
        "compare",
        &["--seeds", "--repeat", "--run-times", "--iterations", "--repetitions", "--trials"],
        RUNS,
    ),
    no("compare", &["--format"], CSV),
    no("compare", &["--series-csv"], "-o DIR writes DIR/series.csv"),
    no(
        "compare",
        &["--link", "--rate", "--bandwidth", "--capacity", "--bw"],
        "--trace takes rates, too, such as --trace 12Mbps",
    ),
    no(
        "compare",
        &["--uplink-trace"],
        "--trace has the link of the data, --reverse-trace that of the acknowledgements",
    ),
    no(
        "compare",
        &["--downlink-trace"],
        "--reverse-trace has the link of the acknowledgements, --trace that of the data",
    ),
    no(
        "compare",
        &["--delay"],
        "--rtt is both ways together: --rtt 40ms for a delay of 20 ms each way",
    ),
    no("compare", &["--queue", "--aqm", "--qdisc"], IN_SCHEMES),
    no("compare", &["--loss", "--packet-loss", "--plr", "--reorder", "--burst"], IN_SCENARIO),
    no("compare", &["--time", "--runtime", "--run-time", "--length", "-t", "-d"], DURATION),
    no("compare", &["--jobs", "--parallel", "-j"], THREADS),
    no(
        "compare",
        &["--num-flows", "-n", "-P"],
        "--flows N: flows of one scheme that share the link",
    ),
    no(
        "compare",
        &["--scheme", "--cc", "--algorithm", "--protocol"],
        "--schemes has all of them, separated by commas: --schemes cubic,bbr",
    ),
    no("compare", &["--pdf", "--svg", "--png", "--plot", "--figure", "--output-dir"], FIGURE),
    no(
        "compare",
        &["--pcap"],
        "simulated packets have no bytes; `paceline link --pcap FILE` records real ones",
    ),
    no(
        "compare",
        &["--queue-size", "--limit"],
        "--buffer, such as --buffer 100 (packets), 64kB or 1bdp",
    ),
    no("run", &["--format"], CSV),
    no("run", &["--seeds", "--repeat"], RUNS),
    no("run", &["--time", "--length", "-t"], DURATION),
    no(
        "run",
        &[
            "--trace",
            "--rate",
            "--rtt",
            "--buffer",
            "--schemes",
            "--scheme",
            "--set",
            "--loss",
            "--delay",
        ],
        EDIT,
    ),
    no("run", &["--pdf", "--svg", "--png", "--plot", "--output-dir"], FIGURE),
    no("contest", &["--schemes"], "--entries"),
    no(
        "bench",
        &["--schemes", "--trace", "--duration"],
        "its scenarios are fixed, so that figures of two programs can be compared: `paceline bench a`; `paceline compare` \
         takes schemes and links",
    ),
    no(
        "router",
        &["--up", "--down"],
        "--rate or --trace is the link of the packets that leave the device, such as --rate 20Mbps",
    ),
    no(
        "router",
        &["--dev", "--device", "-i"],
        "the device is the first word: `paceline router eth1 --rate 20Mbps`",
    ),
    no(
        "router",
        &["--delay", "--loss", "--jitter"],
        "a router has a rate and a queue; `paceline link` has --delay, --loss and --jitter, around a program",
    ),
    no("recv", &["--port", "-p", "--bind", "-s", "--server", "--host"], LISTEN),
    no(
        "recv",
        &["--dir", "--folder", "-d"],
        "-o DIR/ has the folder; its name ends with a slash, or it exists",
    ),
    no("send", &["--port", "-p"], "the port stands behind the address: HOST:5311"),
    no(
        "send",
        &["-c", "--client", "--host"],
        "the address is the last word: `paceline send FILE HOST:5311`",
    ),
    no(
        "send",
        &["-t", "--time"],
        "--duration, such as --duration 10s: sends meaningless data, to measure",
    ),
    no("send", &["--cc", "-C", "--congestion", "--algorithm"], "--scheme, such as --scheme bbr"),
    no(
        "send",
        &["--rate", "-b", "--bandwidth", "--bitrate"],
        "--limit is the highest rate, such as --limit 5Mbps",
    ),
    no(
        "tunnel server",
        &["--port", "-p", "--bind"],
        "--listen has address and port, such as --listen 0.0.0.0:5312",
    ),
    no(
        "tunnel server",
        &["--key"],
        "--key-file FILE has the server's keys; `paceline key new -o FILE` makes them",
    ),
    no(
        "tunnel client",
        &["--server", "--host", "--port"],
        "the server is the first word: `paceline tunnel client HOST:5312`",
    ),
    no(
        "kernel load",
        &["--cc", "--name"],
        "the program is the first word: `paceline kernel load abc`",
    ),
    no(
        "send",
        &["--folder", "--dir", "-r", "--recursive"],
        "folders are sent as files are: `paceline send FOLDER HOST:5311`",
    ),
    no(
        "send",
        &["--resume", "--continue"],
        "a transfer continues by itself, also after a kill if the same command is started again",
    ),
    no(
        "tunnel",
        &["--config", "-c", "--key", "--key-file"],
        "a file has the settings: `paceline tunnel up FILE.toml`; docs/tunnel.md shows such a file",
    ),
    no("saturate", &["--server", "-s", "--listen"], "`paceline saturate server` is the other end"),
    no(
        "saturate",
        &["--client", "-c"],
        "`paceline saturate client HOST:5313 --only down -o drive`",
    ),
    no(
        "reproduce",
        &["--only", "--claim", "--claims", "--id"],
        "claims are words: `paceline reproduce A01 X12`; --list has all",
    ),
    no(
        "evaluate",
        &["--suite", "--tests", "--criteria"],
        "--cases names documents, such as --cases rfc8867, and --only criteria; --list has all",
    ),
    no(
        "remy tune",
        &["--scheme", "--schemes"],
        "the scheme is the second word: `paceline remy tune SPEC.toml copa -o DIR`",
    ),
    no(
        "remy tune",
        &["--params", "--parameters", "--numbers"],
        "--vary, such as --vary target,interval",
    ),
    no("remy tune", &["-t", "--time", "--timeout"], DURATION),
    no("compare", &["--save"], FIGURE),
    no("serve", &["-p"], "--port, such as --port 9000"),
    no(
        "serve",
        &["--host", "--bind", "--listen"],
        "the page is served to this computer alone; `ssh -L 8080:localhost:8080 HOST` brings it to another",
    ),
    no(
        "new controller",
        &["-o", "--output"],
        "the name says it: `paceline new controller mine` writes mine.py here, with --rust the folder mine",
    ),
    no(
        "new trace",
        &["-o", "--output"],
        "the name says it: `paceline new trace ride` writes ride.csv here",
    ),
    no(
        "new controller",
        &["--lang", "--language", "--python"],
        "it is Python; --rust writes a Rust project",
    ),
    no(
        "trace generate",
        &["--format"],
        "the name of -o says it: .csv is CSV, all others are in Mahimahi's format",
    ),
    no(
        "",
        &["-v", "--verbose", "--debug"],
        "there is no such mode: errors name what is wrong, --json prints every figure, `paceline doctor` checks this machine",
    ),
    no(
        "",
        &["--list"],
        "`paceline schemes`, `paceline trace list` and `paceline scenario list` list what there is",
    ),
];

/// Words that a command does not take: the command, and what to write. The word stands for `{}`.
pub(crate) const WORDS: &[(&str, &str)] = &[
    ("compare", "schemes and links have options: --schemes cubic,bbr --trace lte-driving"),
    ("contest", "schemes have an option: --entries cubic,bbr"),
    ("validate", "--only has a part of the names of the checks: --only {}"),
    ("serve", "--port has the port: --port 9000"),
    ("recv", LISTEN),
    ("saturate server", "--listen has address and port, such as --listen 0.0.0.0:5313"),
    ("tunnel server", "--listen has address and port, such as --listen 0.0.0.0:5312"),
];

/// Commands whose arguments are missing: the command, a part of the argument's name, what to write.
pub(crate) const MISSING: &[(&str, &str, &str)] = &[
    (
        "link",
        "<RATE|NAME|FILE>",
        "--up 12Mbps --down lte-driving, or --preset lte; `paceline trace list` lists built-in traces",
    ),
    ("link", "--fail-if", "--fail-if 'p95>100ms' has a condition, which --junit reports"),
    ("loss", "--up", "--up and --down have the directions, such as --up 1% --down 1%"),
    (
        "onoff",
        "--up",
        "--up and --down have the directions, such as --down 10s 500ms: on for 10 s, off for 500 ms",
    ),
    ("delay", "", "`paceline delay 20ms -- COMMAND`"),
    (
        "run",
        "",
        "`paceline run FILE.toml`; `paceline scenario list` lists examples, `paceline new scenario -o mine.toml` begins one",
    ),
    ("router", "", "`paceline router eth1 --rate 20Mbps`"),
    (
        "plot",
        "",
        "`paceline compare -o results` makes a result, `paceline plot results/compare.json -o figure.pdf` the figure",
    ),
    ("send", "", "`paceline send PATH... HOST:5311`; `paceline recv` is the other end"),
    (
        "tunnel up",
        "",
        "`paceline tunnel up NAME` reads /etc/paceline/NAME.toml; docs/tunnel.md shows such a file",
    ),
    ("tunnel client", "", "`paceline tunnel client HOST:5312 --key-file FILE`"),
    (
        "saturate client",
        "--only",
        "--only up or --only down measures one direction; --feedback INTERFACE is another link for the acknowledgements",
    ),
    (
        "trace info",
        "",
        "`paceline trace info lte-driving`, or a file; `paceline trace list` lists built-in traces",
    ),
    ("trace convert", "", "`paceline trace convert ride.csv -o ride.down`"),
    (
        "trace generate",
        "",
        "`paceline trace generate lte-driving -o FILE`; other names are constant and square",
    ),
    (
        "kernel unload",
        "",
        "`sudo paceline kernel unload abc`; `paceline kernel status` names what is loaded",
    ),
    ("evaluate", "", "`paceline evaluate abc --quick`; `paceline schemes` lists schemes"),
    (
        "remy train",
        "",
        "`paceline remy train SPEC.toml -o DIR`; docs/remy.md describes specifications",
    ),
    (
        "remy tune",
        "",
        "`paceline remy tune SPEC.toml copa -o DIR`; docs/remy.md describes specifications",
    ),
    ("remy eval", "", "`paceline remy eval TABLE`; `paceline remy list` lists built-in tables"),
    ("sweep", "", "`paceline sweep grid.toml -o out/`; docs/howto/sweeps.md shows such a file"),
    ("merge", "", "`paceline merge out/ -o all.parquet`"),
    ("key new", "", "-o FILE has the new file: `paceline key new -o server.key`"),
    ("completions", "", "`paceline completions bash`, or zsh, fish, elvish, powershell"),
];

/// Commands that do not exist: the command above, their names, what to write.
pub(crate) const COMMANDS: &[(&str, &[&str], &str)] = &[
    ("", &["queues"], "`paceline schemes` lists queues, too"),
    ("", &["traces"], "`paceline trace list`"),
    ("", &["scenarios"], "`paceline scenario list`"),
    (
        "",
        &["emulate"],
        "`paceline link` emulates a link around a program, `paceline delay` a delay",
    ),
    (
        "",
        &["netem", "tc"],
        "`paceline link --up 10Mbps --down 10Mbps --delay 100ms --loss 1% -- COMMAND`; docs/howto/from-netem.md has more, line by line",
    ),
    ("", &["jitter"], "`paceline link` has --jitter"),
    ("", &["shell"], "`paceline link` and `paceline delay` without a COMMAND start a shell"),
    (
        "",
        &["simulate", "sim"],
        "`paceline compare` simulates schemes on a link, `paceline run` a scenario file",
    ),
    (
        "",
        &["test", "experiment"],
        "`paceline compare --schemes cubic,bbr` compares schemes; `paceline doctor` checks this machine",
    ),
    ("", &["train"], "`paceline remy train`"),
    ("", &["receive"], "`paceline recv`"),
    (
        "",
        &["iperf", "iperf3"],
        "`paceline send --duration 10s HOST:5311` and `paceline recv --measure`",
    ),
    ("", &["load"], "`paceline kernel load`"),
    (
        "",
        &["sysctl"],
        "`sudo sysctl net.ipv4.tcp_congestion_control=NAME` after `paceline kernel load NAME`",
    ),
    ("", &["version"], "`paceline --version`"),
    ("", &["keygen", "genkey"], "`paceline key new -o server.key`"),
    ("", &["up", "down"], "`paceline tunnel up NAME` and `paceline tunnel down NAME`"),
    (
        "tunnel",
        &["start", "connect", "restart"],
        "`paceline tunnel up NAME`; `paceline tunnel down NAME` ends it",
    ),
    ("tunnel", &["stop", "disconnect"], "`paceline tunnel down NAME`"),
    ("tunnel", &["list", "show", "stats"], "`paceline tunnel status`"),
    (
        "tunnel",
        &["config", "configure", "edit", "init", "setup"],
        "`paceline tunnel up NAME` reads /etc/paceline/NAME.toml; docs/tunnel.md shows such a file",
    ),
    ("tunnel", &["listen", "serve"], "`paceline tunnel server --address 10.77.0.1/24`"),
    ("kernel", &["install", "enable", "insert", "add"], "`sudo paceline kernel load NAME`"),
    ("kernel", &["remove", "delete", "disable"], "`sudo paceline kernel unload NAME`"),
    (
        "trace",
        &["show"],
        "`paceline trace info NAME` has its figures, `paceline trace plot NAME` its picture",
    ),
    (
        "trace",
        &["download", "fetch", "get"],
        "recordings are not downloaded: docs/traces.md says where they are; `paceline trace list` lists built-in ones",
    ),
    ("trace", &["record"], "`paceline saturate` records what a link can carry"),
    (
        "trace",
        &["new", "make"],
        "`paceline new trace NAME` writes a table to fill in, `paceline trace generate` a trace",
    ),
    (
        "scenario",
        &["show", "print", "get"],
        "`paceline scenario new NAME` prints it, -o FILE writes it",
    ),
    ("scenario", &["run"], "`paceline scenario new NAME -o FILE`, then `paceline run FILE`"),
    ("new", &["scheme", "cc", "algorithm"], "`paceline new controller NAME`"),
    ("key", &["gen", "generate", "make", "create"], "`paceline key new -o FILE`"),
    (
        "saturate",
        &["run", "record", "start"],
        "`paceline saturate client HOST:5313 --only down -o drive`, with `paceline saturate server` at HOST",
    ),
    ("remy", &["run", "test"], "`paceline remy eval TABLE`"),
];
