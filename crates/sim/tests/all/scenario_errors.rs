//! Error messages for mistakes in scenario files: position, mistake and remedy. No file, however
//! broken, makes the simulator panic, hang or fill the memory.

use std::path::{Path, PathBuf};

use paceline_cc::{Rate, Span, Stream};
use paceline_sim::Simulation;
use paceline_sim::scenario::{self, Capacity, Scenario};

pub(crate) const VALID: &str = "\
duration = \"10s\"

[[link]]
name = \"link\"
rate = \"12Mbps\"

[[flow]]
scheme = \"abc\"
";

const ALL: &str = VALID;
pub(crate) const DURATION: &str = "duration = \"10s\"";
const NAME: &str = "name = \"link\"";
pub(crate) const RATE: &str = "rate = \"12Mbps\"";
const FLOW: &str = "[[flow]]";
pub(crate) const SCHEME: &str = "scheme = \"abc\"";

/// Mistakes: a part of the valid scenario, its replacement, and the error message; … stands for a
/// list that grows with the program.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str, &str)] = &[
    // The syntax
    (DURATION, r#"duration = "10s"#, r#"s.toml:1:16: invalid basic string, expected `"`"#),
    (FLOW, "[[flow]", "s.toml:7:8: unclosed array table, expected `]`"),
    (DURATION, "duration: 10s", "s.toml:1:11: key with no value, expected `=`"),
    (SCHEME, "scheme = \"abc\"\nscheme = \"abc\"", "s.toml:9:1: duplicate key"),
    (ALL, "", r#"s.toml:1:1: missing field `duration` (say first how long it runs: duration = "60s")"#),
    (FLOW, "[flow]",
        "s.toml:7:1: invalid type: map, expected a sequence (there may be several: write [[flow]])"),
    (FLOW, "[flow]   # the sender",
        "s.toml:7:1: invalid type: map, expected a sequence (there may be several: write [[flow]])"),
    (SCHEME, "scheme = \"abc\"\nreceive_window = 1000",
        "s.toml:9:18: the receive window is smaller than a packet (write bytes: receive_window = 3_000_000)"),
    // Shared media
    (FLOW, "[[medium]]\nname = \"m\"\n[[flow]]",
        "s.toml:8:8: a medium has 1 to 500 stations (add [[medium.station]] with name and rate)"),
    (FLOW, "[[medium]]\nname = \"m\"\n[[medium.station]]\nname = \"s\"\n[[flow]]",
        "s.toml:10:8: station `s` needs either rate or rates (write rate = \"11Mbps\", for the station or for the medium)"),
    (FLOW, "[[medium]]\nname = \"m\"\nlayer = \"802.11g\"\nrate = \"11Mbps\"\n[[medium.station]]\nname = \"s\"\n[[flow]]",
        "s.toml:12:8: the layer has no rate of 11Mbps (802.11b takes any rate; 802.11a and g have 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s, times the scale)"),
    (FLOW, "[[medium]]\nname = \"m\"\nbuffer = \"1bdp\"\n[[flow]]",
        "s.toml:9:10: the rate of a station at a medium depends on the others, so that a time or a bandwidth-delay product is no number of bytes (write buffer = 50 (packets), or buffer = \"sojourn=50ms\", which drops packets that have waited for longer)"),
    (FLOW, "[[medium]]\nname = \"m\"\nbuffer = \"50ms\"\n[[flow]]",
        "s.toml:9:10: the rate of a station at a medium depends on the others, so that a time or a bandwidth-delay product is no number of bytes (write buffer = 50 (packets), or buffer = \"sojourn=50ms\", which drops packets that have waited for longer)"),
    (FLOW, "[[medium]]\nname = \"m\"\nlayer = \"802.11a\"\npreamble = \"long\"\n[[flow]]",
        "s.toml:10:12: only 802.11b has long and short preambles (leave preamble out, or write layer = \"802.11b\")"),
    (SCHEME, "scheme = \"abc\"\nstation = \"s\"",
        "s.toml:9:11: there is no station `s` (add [[medium]] with [[medium.station]])"),
    (SCHEME, "scheme = \"abc\"\ndirection = \"up\"",
        "s.toml:9:13: a direction without a station (write station = \"laptop\", or leave direction out)"),
    // Wi-Fi
    (RATE, "wifi = { mcs = 16 }",
        "s.toml:5:16: there is no mcs 16 (0 to 7 are one stream of 6.5 to 65 Mbit/s, 8 to 15 are two)"),
    (RATE, "wifi = { mcs = [{ at = \"1s\", mcs = 1 }] }",
        "s.toml:5:16: a schedule begins at 0s, not at 1s; add a step at 0s (write mcs = [{ at = \"0s\", mcs = 1 }, { at = \"2s\", mcs = 7 }], period = \"4s\")"),
    (RATE, "wifi = { mcs = { min = 7, max = 3, every = \"2s\" } }",
        "s.toml:5:16: a walk goes from min up to max, at most each 10 ms (write mcs = { min = 3, max = 7, every = \"2s\" })"),
    (ALL, "duration = \"30000s\"\n[[link]]\nname = \"link\"\nwifi = { mcs = { min = 3, max = 7, every = \"10ms\" } }\n[[flow]]\nscheme = \"abc\"",
        "s.toml:4:16: the walk has more than a million steps (write a longer `every`, for example \"2s\", or a shorter duration)"),
    (RATE, "wifi = { mcs = 7, max_frames = 65 }",
        "s.toml:5:32: max_frames is outside 1..64 (write max_frames = 32)"),
    (RATE, "wifi = { mcs = 7, max_airtime = \"20ms\" }",
        "s.toml:5:33: max_airtime is outside 100us..10ms (the standard allows 10 ms; write max_airtime = \"5484us\")"),
    (RATE, "wifi = { mcs = 7, frame_error = 1.0 }",
        "s.toml:5:33: frame_error is a probability below 1 (10 % is written 0.1)"),
    (RATE, "wifi = { mcs = 7, contenders = 1000 }",
        "s.toml:5:32: more than 100 contenders (write contenders = 3)"),
    (RATE, "wifi = { mcs = 7, contenders = 1, contender_airtime = \"1us\" }",
        "s.toml:5:55: contender_airtime is outside 50us..10ms (write contender_airtime = \"1ms\")"),
    (RATE, "wifi = { mcs = 7, retries = 1000 }",
        "s.toml:5:29: more than 255 retries (write retries = 7)"),
    (RATE, "wifi = { mcs = 7, period = \"2s\" }",
        "s.toml:5:16: a period needs mcs as a list of steps (write mcs = [{ at = \"0s\", mcs = 1 }, { at = \"2s\", mcs = 7 }], period = \"4s\")"),
    (RATE, "wifi = { mcs = \"fast\" }",
        "s.toml:5:16: mcs is a number from 0 to 15, a list of steps, or a walk"),
    (RATE, "wifi = { mcs = 7, queue = \"shared\" }",
        "s.toml:5:19: unknown field `queue`, expected one of … (did you mean `queues`?)"),
    (RATE, "wifi = { mcs = 7, stations = [{ flows = [\"abd\"] }] }",
        "s.toml:5:42: there is no flow `abd` for this station (the flows are abc)"),
    (ALL, "duration = \"10s\"\n[[link]]\nname = \"link\"\nwifi = { mcs = 7, stations = [{ flows = [\"web\", \"abd\"] }] }\n[[flow]]\nname = \"web\"\nscheme = \"abc\"\narrivals = { per_second = 1, bytes = 1000 }",
        "s.toml:4:49: there is no flow `abd` for this station (the flows are web)"),
    // Names
    (DURATION, "duration = \"10s\"\nwarmpu = \"1s\"",
        "s.toml:2:1: unknown field `warmpu`, expected one of … (did you mean `warmup`?)"),
    (RATE, "rate = \"12Mbps\"\nbufer = 100",
        "s.toml:6:1: unknown field `bufer`, expected one of … (did you mean `buffer`?)"),
    (SCHEME, "scheme = \"abc\"\nrrt = \"10ms\"",
        "s.toml:9:1: unknown field `rrt`, expected one of … (did you mean `rtt`?)"),
    (SCHEME, "scheme = \"abc\"\ndata = { los = 0.1 }",
        "s.toml:9:10: unknown field `los`, expected one of … (did you mean `loss`?)"),
    (FLOW, "[[flwo]]",
        "s.toml:7:3: unknown field `flwo`, expected one of … (did you mean `flow`?)"),
    (SCHEME, r#"scheme = "cubci""#,
        "s.toml:8:10: unknown scheme `cubci` (did you mean `cubic`?); `paceline schemes` lists all"),
    (SCHEME, r#"scheme = "cubic+codle""#,
        "s.toml:8:10: unknown queue `codle` (did you mean `codel`?); `paceline schemes` lists all"),
    (RATE, "rate = \"12Mbps\"\nqueue = \"droptial\"",
        "s.toml:6:9: unknown queue `droptial` (did you mean `droptail`?); `paceline schemes` lists all"),
    (SCHEME, r#"scheme = "abc[etta=1]""#,
        "s.toml:8:10: `abc` has no parameter `etta` (did you mean `eta`?); it has: …"),
    (RATE, "rate = \"12Mbps\"\nqueue = \"codel[tarjet=5ms]\"",
        "s.toml:6:9: `codel` has no parameter `tarjet` (did you mean `target`?); it has: …"),
    (RATE, "rate = \"12Mbps\"\nrouter = \"abd\"",
        "s.toml:6:10: unknown scheme `abd` (did you mean `abc`?); `paceline schemes` lists all"),
    (RATE, "rate = \"12Mbps\"\nrouter = \"cubic\"",
        "s.toml:6:10: scheme `cubic` has no router half"),
    (SCHEME, "scheme = \"abc\"\npath = [\"lnik\"]",
        "s.toml:9:9: there is no link `lnik` (the links are link)"),
    (SCHEME, "scheme = \"abc\"\nback = [\"link\", \"other\"]",
        "s.toml:9:17: there is no link `other` (the links are link)"),
    (SCHEME, "scheme = \"abc\"\ndata = { jitter = \"1ms\", jitter_shape = \"gauss\" }",
        "s.toml:9:41: unknown variant `gauss`, expected one of `uniform`, `normal`, `exponential`"),
    // Keys that other programs have
    (RATE, "rate = \"12Mbps\"\ndelay = \"20ms\"",
        "s.toml:6:1: [[link]] has no key `delay` (write after = { delay = \"20ms\" } for a delay of one way behind the link; or …)"),
    (RATE, "rate = \"12Mbps\"\nloss = 0.01",
        "s.toml:6:1: [[link]] has no key `loss` (write after = { loss = 0.01 }: 1 % of the packets are lost behind the link)"),
    (RATE, "rate = \"12Mbps\"\njitter = \"5ms\"",
        "s.toml:6:1: [[link]] has no key `jitter` (write after = { jitter = \"5ms\" })"),
    (RATE, "bandwidth = \"12Mbps\"", "s.toml:5:1: [[link]] has no key `bandwidth` (write rate = \"12Mbps\", or …)"),
    (RATE, "rate = \"12Mbps\"\nqueue_size = 100", "s.toml:6:1: [[link]] has no key `queue_size` (write buffer = 100 …)"),
    (RATE, "rate = \"12Mbps\"\nqdisc = \"codel\"", "s.toml:6:1: [[link]] has no key `qdisc` (write queue = \"codel\"; …)"),
    (RATE, "rate = \"12Mbps\"\nfrom = \"a\"", "s.toml:6:1: [[link]] has no key `from` (there are no nodes: …)"),
    (RATE, "up = \"12Mbps\"", "s.toml:5:1: [[link]] has no key `up` (a link has one direction: …)"),
    (RATE, "rate = \"12Mbps\"\nscheme = \"abc\"", "s.toml:6:1: [[link]] has no key `scheme` (it belongs to a flow: …)"),
    (SCHEME, "scheme = \"abc\"\ndelay = \"20ms\"",
        "s.toml:9:1: [[flow]] has no key `delay` (write rtt = \"40ms\" for both ways together, or …)"),
    (SCHEME, "scheme = \"abc\"\nloss = 0.01", "s.toml:9:1: [[flow]] has no key `loss` (write data = { loss = 0.01 }; …)"),
    (SCHEME, "cca = \"bbr\"", "s.toml:8:1: [[flow]] has no key `cca` (write scheme = \"cubic\"; …)"),
    (SCHEME, "scheme = \"abc\"\nlinks = [\"link\"]", "s.toml:9:1: [[flow]] has no key `links` (write path = …)"),
    (SCHEME, "scheme = \"abc\"\nduration = \"1s\"", "s.toml:9:1: [[flow]] has no key `duration` (write stop = \"30s\"; …)"),
    (SCHEME, "scheme = \"abc\"\nflows = 3", "s.toml:9:1: [[flow]] has no key `flows` (write count = 5)"),
    (SCHEME, "scheme = \"abc\"\nsize = 1", "s.toml:9:1: [[flow]] has no key `size` (write bytes = 1000000)"),
    (SCHEME, "scheme = \"abc\"\nbuffer = 10", "s.toml:9:1: [[flow]] has no key `buffer` (it belongs to a link: …)"),
    (SCHEME, "scheme = \"abc\"\ndata = { latency = \"1ms\" }",
        "s.toml:9:10: `data`, `acks` or `after` has no key `latency` (write delay = \"20ms\")"),
    (SCHEME, "scheme = \"abc\"\nvideo = { bitrate = \"1Mbps\" }", "s.toml:9:11: `video` has no key `bitrate` (write max = …)"),
    (DURATION, "time = \"10s\"", "s.toml:1:1: the top of the file has no key `time` (write duration = \"60s\")"),
    (DURATION, "duration = \"10s\"\nrate = \"1Mbps\"", "s.toml:2:1: the top of the file has no key `rate` (it belongs to a link: …)"),
    (DURATION, "duration = \"10s\"\n[[node]]\nname = \"a\"", "s.toml:2:3: the top of the file has no key `node` (there are no nodes: …)"),
    (DURATION, "[simulation]\nduration = \"10s\"",
        "s.toml:1:2: the top of the file has no key `simulation` (its keys stand at the top of the file, …)"),
    // Values of another type
    (SCHEME, "scheme = \"abc\"\ndata = { loss = \"1%\" }",
        "s.toml:9:17: invalid type: string \"1%\", expected f64 (write 0.01 for 1 %, without quotes)"),
    (SCHEME, "scheme = \"abc\"\npath = \"link\"",
        "s.toml:9:8: invalid type: string \"link\", expected a sequence (put it between [ and ]: [\"link\"])"),
    (SCHEME, "scheme = \"abc\"\nvideo = true",
        "s.toml:9:9: invalid type: boolean `true`, expected a table (write its keys in braces; {} is a table with all defaults)"),
    (SCHEME, "scheme = \"abc\"\necn = true",
        "s.toml:9:7: invalid type: boolean `true`, expected a string (its values are texts in quotes, as docs/scenarios.md lists them)"),
    // Missing and superfluous keys
    (DURATION, "", r#"s.toml:1:1: missing field `duration` (say first how long it runs: duration = "60s")"#),
    (NAME, "", "s.toml:3:1: missing field `name`"),
    (SCHEME, "count = 1", "s.toml:7:1: missing field `scheme` (write scheme = \"cubic\")"),
    (SCHEME, "host = \"linux\"\ncc = \"bbr\"",
        r#"s.toml:8:8: there are no hosts `linux` here (write scheme = "cubic", or host = "linux" for `paceline run`)"#),
    (SCHEME, "scheme = \"cubic\"\nqdisc = \"fq\"",
        r#"s.toml:9:9: qdisc is a setting of hosts, and the flow has no host (write host = "linux")"#),
    (RATE, "",
        r#"s.toml:4:8: link `link` needs exactly one of rate, trace, schedule and wifi (write rate = "12Mbps" or trace = "lte-driving")"#),
    (RATE, "rate = \"12Mbps\"\ntrace = \"lte-driving\"",
        r#"s.toml:4:8: link `link` needs exactly one of rate, trace, schedule and wifi (write rate = "12Mbps" or trace = "lte-driving")"#),
    ("[[link]]\nname = \"link\"\nrate = \"12Mbps\"\n", "",
        "s.toml: the scenario has no link (add [[link]] with name and rate or trace)"),
    ("[[flow]]\nscheme = \"abc\"\n", "",
        "s.toml: the scenario has no flow (add [[flow]] with a scheme)"),
    (FLOW, "[[link]]\nname = \"second\"\nrate = \"1Mbps\"\n\n[[flow]]",
        r#"s.toml:11:1: with several links a flow needs a path (write path = ["first", "second"])"#),
    (FLOW, "[[link]]\nname = \"link\"\nrate = \"1Mbps\"\n\n[[flow]]",
        "s.toml:8:8: two links have this name (give each link its own name)"),
    (SCHEME, "scheme = \"abc\"\npath = [\"link\", \"link\"]",
        "s.toml:9:17: the path passes link `link` twice (give each passage a link of its own)"),
    (SCHEME, "scheme = \"abc\"\nbytes = 1000\nlimited = { rate = \"1Mbps\" }",
        "s.toml:7:1: a flow has at most one of bytes, limited, on_off, video, audio, call, arrivals, and a program at its sender (keep one of them)"),
    (SCHEME, "scheme = \"abc\"\non_off = { off = \"1s\" }",
        r#"s.toml:9:10: on_off needs one of on (time), on_bytes and on_icsi (write on = "5s")"#),
    (SCHEME, "scheme = \"abc\"\non_off = { on = \"1s\", on_bytes = 5.0, off = \"1s\" }",
        r#"s.toml:9:10: on_off needs one of on (time), on_bytes and on_icsi (write on = "5s")"#),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 1, bytes = 1000, sizes = \"pareto\" }",
        r#"s.toml:9:12: sizes = "pareto" needs a finite shape above 1 (write shape = 1.2)"#),
    (SCHEME, "scheme = \"abc\"\ndata = { burst = 5 }",
        "s.toml:9:8: burst needs loss (write loss = 0.01, burst = 5)"),
    (SCHEME, "scheme = \"abc\"\ndata = { jitter_sd = \"5ms\" }",
        r#"s.toml:9:22: jitter_sd needs jitter (write jitter = "5ms", the mean of the random delay)"#),
    (SCHEME, "scheme = \"abc\"\nacks = { jitter_shape = \"normal\" }",
        r#"s.toml:9:25: jitter_shape needs jitter (write jitter = "5ms", the mean of the random delay)"#),
    (SCHEME, "scheme = \"abc\"\ndata = { overtake = true }",
        "s.toml:9:21: overtake needs jitter or delay_trace (packets overtake each other only where the delay varies)"),
    (RATE, "rate = \"12Mbps\"\nafter = { reorder_by = \"50ms\" }",
        r#"s.toml:6:24: reorder_by needs reorder (write reorder = 0.05, reorder_by = "20ms")"#),
    (RATE, "rate = \"12Mbps\"\nperiod = \"1s\"",
        "s.toml:6:10: period needs schedule (only a schedule repeats; leave period out)"),
    (RATE, "rate = \"12Mbps\"\nopportunity = 1504",
        "s.toml:6:15: opportunity needs trace (write trace = \"lte-driving\" in place of rate, schedule or wifi, or leave opportunity out)"),
    (RATE, "wifi = { mcs = 7 }\noverhead = 4",
        "s.toml:6:12: overhead needs trace (write trace = \"lte-driving\" in place of rate, schedule or wifi, or leave overhead out)"),
    (RATE, "rate = \"12Mbps\"\nonce = true",
        "s.toml:6:8: once needs trace (write trace = \"lte-driving\" in place of rate, schedule or wifi, or leave once out)"),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 1, bytes = 1000, shape = 1.3 }",
        r#"s.toml:9:52: shape needs sizes = "pareto" (write sizes = "pareto" beside it, or leave shape out)"#),
    (SCHEME, "scheme = \"abc\"\ncount = 5\narrivals = { per_second = 1, bytes = 1000 }",
        "s.toml:9:9: a flow with arrivals has no count (arrivals are many flows, of which per_second says how many; leave count out)"),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 1, bytes = 1000 }\nstagger = \"1s\"",
        "s.toml:10:11: a flow with arrivals has no stagger (arrivals are many flows, of which per_second says how many; leave stagger out)"),
    (SCHEME, "scheme = \"abc\"\nstagger_stop = \"0s\"\narrivals = { per_second = 1, bytes = 1000 }",
        "s.toml:9:16: a flow with arrivals has no stagger_stop (arrivals are many flows, of which per_second says how many; leave stagger_stop out)"),
    // Times and rates
    (DURATION, r#"duration = "0s""#,
        r#"s.toml:1:12: the duration is zero (write duration = "60s")"#),
    (DURATION, r#"duration = "10""#, "s.toml:1:12: `10`: a time needs a unit: `10ms` or `10s`"),
    (DURATION, "duration = 10",
        r#"s.toml:1:12: invalid type: integer `10`, expected a string (put it in quotes; times and rates have units: "10s", "12Mbps")"#),
    (DURATION, r#"duration = "10 fortnights""#,
        "s.toml:1:12: `10 fortnights`: unknown unit of time `fortnights`; use ns, us, ms, s, min or h"),
    (DURATION, r#"duration = "-10s""#, "s.toml:1:12: `-10s`: expected a time that is not negative"),
    (DURATION, r#"duration = "nan""#, "s.toml:1:12: `nan`: expected a time such as 100ms or 1.5s"),
    (DURATION, r#"duration = "infs""#,
        "s.toml:1:12: `infs`: expected a time such as 100ms or 1.5s"),
    (DURATION, r#"duration = "1e9h""#,
        r#"s.toml:1:12: the duration is longer than 30 days (write duration = "60s")"#),
    (DURATION, "duration = \"10s\"\nwarmup = \"10s\"",
        "s.toml:2:10: the warm-up leaves nothing to measure (make it shorter than the duration)"),
    (DURATION, "duration = \"10s\"\nbin = \"1us\"",
        r#"s.toml:2:7: bins are at least 1 ms (write bin = "100ms")"#),
    (DURATION, "duration = \"700h\"\nbin = \"1ms\"",
        r#"s.toml:2:7: 5040000000 bins of time series are more than 20000000 (write a longer bin, for example bin = "10s")"#),
    (RATE, r#"rate = "12""#, "s.toml:5:8: `12`: a rate needs a unit: `12Mbps` or `12kbps`"),
    (RATE, r#"rate = "12ms""#,
        "s.toml:5:8: `12ms`: unknown unit of rate `ms`; use bps, kbps, Mbps or Gbps"),
    (RATE, r#"rate = "-12Mbps""#, "s.toml:5:8: `-12Mbps`: expected a rate that is not negative"),
    (RATE, r#"rate = "0Mbps""#, r#"s.toml:3:1: link `link` has rate zero (write rate = "12Mbps")"#),
    (RATE, r#"rate = "1e18bps""#,
        r#"s.toml:3:1: 1000000000Gbps is faster than 1000Gbps (write rate = "12Mbps")"#),
    (SCHEME, "scheme = \"abc\"\nstart = \"5s\"\nstop = \"2s\"",
        "s.toml:7:1: the flow stops before it starts (stop is a time since the beginning of the run, as start is)"),
    (SCHEME, "scheme = \"abc\"\non_off = { on = \"0s\", off = \"0s\" }",
        r#"s.toml:9:10: an on-period and an off-period take less than 1 ms together (write on = "5s", off = "5s")"#),
    // Schedules
    (RATE, "schedule = []",
        r#"s.toml:5:12: a schedule needs at least one step (write schedule = [{ at = "0s", rate = "12Mbps" }, { at = "5s", rate = "6Mbps" }])"#),
    (RATE, r#"schedule = [{ at = "1s", rate = "1Mbps" }]"#,
        r#"s.toml:5:12: a schedule begins at 0s, not at 1s; add a step at 0s (write schedule = [{ at = "0s", rate = "12Mbps" }, { at = "5s", rate = "6Mbps" }])"#),
    (RATE, r#"schedule = [{ at = "0s", rate = "1Mbps" }, { at = "2s", rate = "2Mbps" }, { at = "1s", rate = "1Mbps" }]"#,
        r#"s.toml:5:12: the step at 1s of a schedule does not come after the one before it (write schedule = [{ at = "0s", rate = "12Mbps" }, { at = "5s", rate = "6Mbps" }])"#),
    (RATE, "period = \"1s\"\nschedule = [{ at = \"0s\", rate = \"1Mbps\" }, { at = \"2s\", rate = \"2Mbps\" }]",
        r#"s.toml:6:12: a schedule with a step at 2s cannot repeat every 1s (write schedule = [{ at = "0s", rate = "12Mbps" }, { at = "5s", rate = "6Mbps" }])"#),
    (RATE, r#"schedule = [{ at = "0s", rate = "2000Gbps" }]"#,
        r#"s.toml:3:1: 2000Gbps is faster than 1000Gbps (write rate = "12Mbps")"#),
    // Numbers
    (DURATION, "duration = \"10s\"\nmss = 10",
        "s.toml:2:7: mss is outside 64..65535 bytes (write mss = 1500)"),
    (DURATION, "duration = \"10s\"\nmss = 70000",
        "s.toml:2:7: mss is outside 64..65535 bytes (write mss = 1500)"),
    (DURATION, "duration = \"10s\"\nseed = -1",
        "s.toml:2:8: invalid value: integer `-1`, expected u64 (write a whole number from 0 to 9223372036854775807)"),
    (DURATION, "duration = \"10s\"\nseed = 9223372036854775808",
        "s.toml:2:8: seed is outside 0..9223372036854775807 (write seed = 1)"),
    (SCHEME, "scheme = \"abc\"\ncount = 1.5",
        "s.toml:9:9: invalid type: floating point `1.5`, expected u32 (write a whole number from 0 to 4294967295)"),
    (SCHEME, "scheme = \"abc\"\nlimited = { rate = \"1Mbps\", message = 18446744073709551615 }",
        "s.toml:9:39: invalid value: integer `18446744073709551615`, expected u32 (write a whole number from 0 to 4294967295)"),
    (SCHEME, "scheme = \"abc\"\nlimited = { rate = \"1Mbps\", message = 0 }",
        "s.toml:9:39: a message of no bytes sends nothing (write message = 1500)"),
    (SCHEME, "scheme = \"abc\"\nlimited = { rate = \"0bps\" }",
        "s.toml:9:20: an application with a rate of zero sends nothing (write rate = \"2Mbps\")"),
    (SCHEME, "scheme = \"abc\"\naudio = { packets_per_s = 1 }",
        "s.toml:9:9: a packet of this audio would have 4050 bytes: 1200 at most (write packets_per_s = 50)"),
    (SCHEME, "scheme = \"abc\"\naudio = { rate = \"510kbps\" }",
        "s.toml:9:9: a packet of this audio would have 1325 bytes: 1200 at most (write packets_per_s = 100)"),
    (SCHEME, "scheme = \"abc\"\naudio = { rate = \"1Mbps\" }",
        "s.toml:9:18: rate is outside 1kbps..510kbps (write rate = \"32kbps\")"),
    (ALL, "duration = \"10s\"\nmss = 9000\n[[link]]\nname = \"l\"\nwifi = { mcs = 7 }\n[[flow]]\nscheme = \"abc\"\n",
        "s.toml:2:7: packets of 9000 bytes do not fit into frames of 802.11: 2296 at most (write mss = 1500)"),
    (ALL, "duration = \"10s\"\nmss = 2297\n[[medium]]\nname = \"m\"\n[[medium.station]]\nname = \"s\"\nrate = \"11Mbps\"\n[[flow]]\nscheme = \"abc\"\n",
        "s.toml:2:7: packets of 2297 bytes do not fit into frames of 802.11: 2296 at most (write mss = 1500)"),
    (RATE, "wifi = { mcs = 7, contender_airtime = \"2ms\" }",
        "s.toml:5:39: contender_airtime needs contenders (write contenders = 3 beside it, or leave it out)"),
    (RATE, "wifi = { mcs = 7, contender_gap = \"2ms\" }",
        "s.toml:5:35: contender_gap needs contenders (write contenders = 3 beside it, or leave it out)"),
    (FLOW, "[[medium]]\nname = \"m\"\ncontender_airtime = \"2ms\"\n[[flow]]",
        "s.toml:9:21: contender_airtime needs contenders (write contenders = 3 beside it, or leave it out)"),
    (SCHEME, "scheme = \"abc\"\ncount = 0",
        "s.toml:9:9: count is outside 1..100000 (write count = 5)"),
    (SCHEME, "scheme = \"abc\"\ncount = 100001",
        "s.toml:9:9: count is outside 1..100000 (write count = 5)"),
    (SCHEME, "scheme = \"abc\"\ncount = 60000\n\n[[flow]]\nscheme = \"abc\"\ncount = 60000",
        "s.toml:11:1: 120000 flows are more than 100000 (use fewer flows, fewer arrivals or a shorter run)"),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 20000, bytes = 1000 }",
        "s.toml:7:1: 200000 flows are more than 100000 (use fewer flows, fewer arrivals or a shorter run)"),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 0, bytes = 1000 }",
        "s.toml:9:12: arrivals need per_second up to 100000 and bytes of at least 1 (write arrivals = { per_second = 20, bytes = 10000 })"),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 1, bytes = 0 }",
        "s.toml:9:12: arrivals need per_second up to 100000 and bytes of at least 1 (write arrivals = { per_second = 20, bytes = 10000 })"),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = nan, bytes = 1000 }",
        "s.toml:9:12: arrivals need per_second up to 100000 and bytes of at least 1 (write arrivals = { per_second = 20, bytes = 10000 })"),
    (SCHEME, "scheme = \"abc\"\nbytes = 0",
        "s.toml:7:1: bytes is zero (leave bytes out for a flow without end)"),
    (SCHEME, "scheme = \"abc\"\nvideo = { fsp = 30.0 }",
        "s.toml:9:11: unknown field `fsp`, expected one of … (did you mean `fps`?)"),
    (SCHEME, "scheme = \"abc\"\nvideo = { fps = 0.0 }",
        "s.toml:9:17: fps is outside 0.1..1000 (write fps = 30)"),
    (SCHEME, "scheme = \"abc\"\nvideo = { max = \"50kbps\" }",
        r#"s.toml:9:9: the video's min and max are not in order (write min = "100kbps", max = "2500kbps")"#),
    (SCHEME, "scheme = \"abc\"\nvideo = { noise = 2.0 }",
        "s.toml:9:19: noise is a share from 0 to 1 (write noise = 0.2)"),
    (SCHEME, "scheme = \"abc\"\nvideo = { key_size = 0.5 }",
        "s.toml:9:22: key_size is outside 1..100 (write key_size = 4)"),
    (SCHEME, "scheme = \"abc\"\nvideo = { queue = \"0s\" }",
        r#"s.toml:9:19: a queue of no time lets no frame wait (write queue = "200ms")"#),
    (SCHEME, "scheme = \"abc\"\nlimited = { rate = \"1Gbps\", message = 1 }",
        "s.toml:7:1: the application would write 125000000 messages a second (make the messages longer: message = 1500)"),
    (SCHEME, "scheme = \"abc\"\ndata = { loss = 2.0 }",
        "s.toml:9:17: loss is a probability from 0 to 1 (1 % is written 0.01)"),
    (SCHEME, "scheme = \"abc\"\nacks = { loss = nan }",
        "s.toml:9:17: loss is a probability from 0 to 1 (1 % is written 0.01)"),
    (SCHEME, "scheme = \"abc\"\ndata = { reorder = -0.1 }",
        "s.toml:9:20: reorder is a probability from 0 to 1 (1 % is written 0.01)"),
    (SCHEME, "scheme = \"abc\"\ndata = { loss = 1, burst = 3 }",
        "s.toml:9:17: bursts need a loss below 1: packets that arrive lie between them (write loss = 0.01, burst = 5, or leave burst out)"),
    (SCHEME, "scheme = \"abc\"\ndata = { loss = 0.9, burst = 2 }",
        "s.toml:9:8: bursts of 2 packets do not give this loss rate; they must be one packet or longer, and long enough to be separated by good packets (write loss = 0.01, burst = 5)"),
    (SCHEME, "scheme = \"abc\"\non_off = { on = \"1s\", off = \"1s\", pareto = 0.0 }",
        "s.toml:9:10: the shape of a Pareto distribution is positive and finite (write pareto = 1.5)"),
    (SCHEME, "scheme = \"abc\"\non_off = { on = \"1s\", off = \"1s\", pareto = inf }",
        "s.toml:9:10: the shape of a Pareto distribution is positive and finite (write pareto = 1.5)"),
    // Almost all on-periods would last a nanosecond.
    (SCHEME, "scheme = \"abc\"\non_off = { on = \"1s\", off = \"0s\", pareto = 1.000000001 }",
        r#"s.toml:9:10: an on-period and an off-period take less than 1 ms together (write on = "5s", off = "5s")"#),
    (SCHEME, "scheme = \"abc\"\narrivals = { per_second = 1, bytes = 1000, sizes = \"pareto\", shape = inf }",
        r#"s.toml:9:12: sizes = "pareto" needs a finite shape above 1 (write shape = 1.2)"#),
    (SCHEME, "scheme = \"abc\"\nack_every = 0",
        "s.toml:9:13: an acknowledgement covers at least one packet (write ack_every = 2)"),
    (RATE, "trace = \"lte-driving\"\nopportunity = 0",
        "s.toml:6:15: an opportunity offers 1 to 1000000 bytes (write opportunity = 1504)"),
    (RATE, "trace = \"lte-driving\"\nopportunity = 4000000000",
        "s.toml:6:15: an opportunity offers 1 to 1000000 bytes (write opportunity = 1504)"),
    (RATE, "rate = \"12Mbps\"\nbuffer = 0",
        "s.toml:6:10: `0`: a buffer must hold at least one packet"),
    (RATE, "rate = \"12Mbps\"\nbuffer = 1.5",
        r#"s.toml:6:10: expected a number of packets, or text such as "64kB""#),
    (RATE, "rate = \"12Mbps\"\nbuffer = \"5 parsecs\"",
        "s.toml:6:10: `5 parsecs`: unknown unit `parsecs`; use p (packets), B, kB, MB, KiB, MiB, ms, s, bdp or inf"),
    (SCHEME, r#"scheme = "abc[eta=two]""#,
        "s.toml:8:10: `abc[eta=two]`: expected a number such as 0.98"),
    (SCHEME, r#"scheme = "abc[eta=7]""#,
        "s.toml:8:10: `abc[eta=7]`: expected more than 0, up to 1.5"),
    (SCHEME, r#"scheme = "cubic[initial_window=1e9]""#,
        "s.toml:8:10: `cubic[initial_window=1e9]`: expected 1 to 10000 packets"),
    (SCHEME, r#"scheme = "abc[eta]""#,
        "s.toml:8:10: `abc[eta]` is not a scheme: each argument is written param=value; write name[param=value,...]+queue[param=value,...]"),
    (RATE, "rate = \"12Mbps\"\nqueue = \"codel[target=5]\"",
        "s.toml:6:9: `codel[target=5]`: a time needs a unit: `5ms` or `5s`"),
    // Traces
    (RATE, r#"trace = "lte-drivign""#,
        "s.toml:5:9: lte-drivign: no such file, and no built-in trace of this name (did you mean the built-in lte-driving? Built in are: …)"),
    (RATE, r#"trace = "nowhere/at-all""#,
        "s.toml:5:9: nowhere/at-all: no such file, and no built-in trace of this name (check the path, or use a built-in trace: …)"),
    (RATE, r#"trace = """#,
        "s.toml:5:9: : no such file, and no built-in trace of this name (check the path, or use a built-in trace: …)"),
];

fn told(text: &str) -> String {
    match scenario::parse("s.toml", text, None) {
        Ok(_) => "nothing".into(),
        Err(error) => {
            assert_eq!(error.line.is_some(), error.column.is_some());
            assert_eq!(error.line.is_some(), error.span.is_some());
            error.to_string()
        }
    }
}

#[test]
fn mistakes_are_told_with_place_and_remedy() {
    assert_eq!(told(VALID), "nothing");
    let mut wrong = Vec::new();
    for (part, instead, expected) in MISTAKES {
        assert!(VALID.contains(part), "{part}");
        let found = told(&VALID.replace(part, instead));
        let (begin, end) = expected.split_once('…').unwrap_or((expected, ""));
        let fits = found.starts_with(begin) && found.ends_with(end);
        if !fits || (end.is_empty() && !expected.ends_with('…') && found != *expected) {
            wrong.push(format!("{instead:?}\n  is   {found}\n  not  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Creates a separate folder for files of this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn broken_traces_are_told_with_their_own_line() {
    let folder = folder("broken-traces");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    write("good.trace", "1\n5\n9\n");
    write("bad.trace", "1\n5\nfoo\n");
    write("bad.csv", "time_ms,mbps\n0,12\n1000,much\n");
    write("empty.trace", "");
    let told = |name: &str| {
        let text = VALID.replace(RATE, &format!("trace = {name:?}"));
        match scenario::parse("s.toml", &text, Some(&folder)) {
            Ok(_) => "nothing".into(),
            Err(error) => error.to_string().replace(&format!("{}/", folder.display()), ""),
        }
    };
    assert_eq!(told("good.trace"), "nothing");
    assert_eq!(
        told("bad.trace"),
        "s.toml:5:9: bad.trace:3: expected a number, found \"foo\" (each line must be one whole \
         number of milliseconds, for example 1250)"
    );
    assert_eq!(
        told("bad.csv"),
        "s.toml:5:9: bad.csv:3: expected two numbers, found \"1000,much\" (each row is a time and \
         a rate, for example 1500,12.5; a first line such as time_s,kbps says the units, which are \
         else milliseconds and Mbit/s)"
    );
    assert!(told("empty.trace").starts_with("s.toml:5:9: empty.trace: a trace needs at least one"));
    assert!(told(".").contains("cannot be read"), "{}", told("."));
}

#[test]
fn files_that_cannot_be_read_are_told() {
    let told = scenario::load(Path::new("no/such.toml")).expect_err("no file").to_string();
    assert!(told.starts_with("no/such.toml: cannot be read: "), "{told}");
    let path = folder("bytes").join("binary.toml");
    std::fs::write(&path, [0xff, 0xfe, 0x00]).expect("written");
    let told = scenario::load(&path).expect_err("not text").to_string();
    assert!(told.contains("cannot be read"), "{told}");
}

/// Returns the scenarios that come with the program.
fn valid() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the scenarios").flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    // Building a trace takes longer than everything else.
    let text = |path| std::fs::read_to_string(path).expect("text");
    let mut texts: Vec<String> =
        files.iter().map(text).filter(|text| !text.contains("trace =")).collect();
    texts.push(VALID.into());
    texts
}

/// Replaces a number in the text by an absurd or almost absurd one.
fn absurd(random: &mut Stream, text: &str) -> String {
    const NUMBERS: [&str; 16] = [
        "0",
        "1",
        "-1",
        "0.0",
        "1e-9",
        "0.5",
        "3",
        "1000",
        "99999",
        "100000",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
        "1e18",
        "nan",
    ];
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut starts: Vec<usize> = Vec::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() && !is_number(before) {
            starts.push(at);
        }
        before = c;
    }
    let Some(&start) = starts.get(random.below(starts.len() as u64) as usize) else {
        return text.into();
    };
    let length = text[start..].find(|c| !is_number(c)).unwrap_or(text.len() - start);
    let number = NUMBERS[random.below(NUMBERS.len() as u64) as usize];
    format!("{}{number}{}", &text[..start], &text[start + length..])
}

fn mutate(random: &mut Stream, text: &str, others: &[String]) -> String {
    let line =
        |random: &mut Stream, text: &str| random.below(text.lines().count().max(1) as u64) as usize;
    match random.below(6) {
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let at = random.below(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => {
            let gone = line(random, text);
            let keep = text.lines().enumerate().filter(|(at, _)| *at != gone);
            keep.map(|(_, line)| format!("{line}\n")).collect()
        }
        2 => {
            // A line of another scenario.
            let other = &others[random.below(others.len() as u64) as usize];
            let insert = other.lines().nth(line(random, other)).unwrap_or("");
            let at = line(random, text);
            let lines = text.lines().enumerate();
            lines
                .map(|(i, l)| if i == at { format!("{l}\n{insert}\n") } else { format!("{l}\n") })
                .collect()
        }
        _ => absurd(random, text),
    }
}

/// Runs the scenario of a mutated file for a time that takes little work.
fn exercise(mut scenario: Scenario) {
    let flows: u32 = scenario.flows.iter().map(|flow| flow.count).sum();
    let arrivals: f64 = scenario.arrivals.iter().map(|few| few.per_second).sum();
    let fast = scenario.links.iter().any(|link| match &link.capacity {
        Capacity::Constant(rate) => *rate > Rate::from_mbps(1e4),
        Capacity::Schedule { steps, .. } => steps.iter().any(|s| s.1 > Rate::from_mbps(1e4)),
        Capacity::Trace { .. } | Capacity::Wifi(_) => false,
    });
    if flows > 3000 || arrivals > 1e4 || fast {
        return;
    }
    scenario.duration = scenario.duration.min(Span::from_millis(300));
    scenario.warmup = scenario.warmup.min(scenario.duration / 2);
    match Simulation::new(scenario.clone()) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(mut simulation) => {
            simulation.advance(paceline_cc::Time::ZERO + scenario.duration);
            assert!(simulation.world().census().is_balanced());
            simulation.outcome().expect("measured");
        }
    }
}

#[test]
fn mutated_scenarios_neither_panic_nor_hang() {
    let mut random = Stream::new(21, "mutations");
    let texts = valid();
    let (mut good, mut bad) = (0, 0);
    for round in 0..6000 {
        let mut text = texts[random.below(texts.len() as u64) as usize].clone();
        for _ in 0..1 + random.below(3) {
            text = mutate(&mut random, &text, &texts);
        }
        match scenario::parse("m.toml", &text, None) {
            Ok(scenario) => {
                good += 1;
                if round % 4 == 0 {
                    exercise(scenario);
                }
            }
            Err(error) => {
                bad += 1;
                assert!(error.to_string().len() < 2000, "{error}");
                let lines = text.split('\n').count();
                assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
                assert!(error.span.is_none_or(|span| span.end <= text.len()));
            }
        }
    }
    assert!(good > 500 && bad > 500, "{good} accepted, {bad} refused");
}
