//! Remedies for keys that scenario files do not have, but that users of other programs expect there.

/// Keys that a section does not have, and what to write instead.
pub(super) struct Remedy {
    /// The section, as in [`super::keys()`].
    section: &'static str,
    /// Keys with this remedy.
    keys: &'static [&'static str],
    /// What to write.
    remedy: &'static str,
}

const fn of(section: &'static str, keys: &'static [&'static str], remedy: &'static str) -> Remedy {
    Remedy { section, keys, remedy }
}

/// Section of the keys at the top of a file.
const RUN: &str = "run";
const LINK: &str = "link";
const FLOW: &str = "flow";
/// Section of `data` and `acks` of flows, and of `after` of links.
const STRETCH: &str = "stretches";
const VIDEO: &str = "flow.video";
const MEDIUM: &str = "medium";

const NO_NODES: &str = "there are no nodes: each link is a [[link]] with a name, and each [[flow]] names its links: \
                        path = [\"a\", \"b\"]";
const TOP: &str = "its keys stand at the top of the file, without a heading: duration = \"60s\"";
const OF_FLOWS: &str =
    "it belongs to a flow: below [[flow]] write scheme = \"cubic\", rtt = \"40ms\"";
const BUFFER: &str = "write buffer = 100 for packets, or \"64kB\", \"50ms\", \"1bdp\"; queue = \"codel\" is the kind of queue";

/// All remedies.
const REMEDIES: &[Remedy] = &[
    of(
        RUN,
        &["time", "length", "runtime", "run_time", "simulation_time", "sim_time", "stop", "end"],
        "write duration = \"60s\"",
    ),
    of(
        RUN,
        &["repeat", "repetitions", "iterations", "num_runs", "run_times"],
        "write runs = 10: each run has a seed of its own",
    ),
    of(
        RUN,
        &["seeds", "random_seed", "rng_seed"],
        "write seed = 1 for the first run; runs = 10 makes ten runs with seeds of their own",
    ),
    of(
        RUN,
        &["rate", "bandwidth", "capacity", "trace", "buffer", "queue", "router", "schedule"],
        "it belongs to a link: below [[link]] write name = \"l\", rate = \"12Mbps\" or trace = \"lte-driving\", \
         buffer = 250, queue = \"codel\"",
    ),
    of(
        RUN,
        &[
            "scheme",
            "schemes",
            "cc",
            "congestion_control",
            "rtt",
            "path",
            "count",
            "start",
            "bytes",
            "video",
        ],
        OF_FLOWS,
    ),
    of(
        RUN,
        &[
            "sender",
            "senders",
            "source",
            "client",
            "connection",
            "connections",
            "tcp",
            "user",
            "users",
        ],
        "write [[flow]] for each: scheme = \"cubic\", rtt = \"40ms\"; count = 5 makes five",
    ),
    of(
        RUN,
        &[
            "node", "nodes", "topology", "network", "host", "hosts", "endpoint", "server", "route",
            "hop",
        ],
        NO_NODES,
    ),
    of(
        RUN,
        &[
            "stage",
            "stretch",
            "delay",
            "latency",
            "loss",
            "jitter",
            "netem",
            "impairments",
            "data",
            "acks",
            "after",
        ],
        "delay, jitter and loss belong to a flow, data = { delay = \"20ms\", loss = 0.01 }, or stand behind a link: \
         after = { loss = 0.01 }",
    ),
    of(
        RUN,
        &["wifi", "ap", "access_point"],
        "it belongs to a link: below [[link]] write wifi = { mcs = 7 }; a channel that several stations share is a [[medium]]",
    ),
    of(
        RUN,
        &["station", "stations", "channel"],
        "write [[medium]] with name, and below it [[medium.station]] with name and rate",
    ),
    of(RUN, &["simulation", "general", "settings", "config", "run", "scenario", "global"], TOP),
    of(
        RUN,
        &["record", "series", "time_series", "output", "sampling_interval"],
        "write bin = \"100ms\" for time series; `paceline run FILE -o DIR` writes results",
    ),
    of(
        LINK,
        &["delay", "latency", "propagation", "propagation_delay", "prop_delay", "one_way_delay"],
        "write after = { delay = \"20ms\" } for a delay of one way behind the link; or below [[flow]] rtt = \"40ms\" for \
         both ways together",
    ),
    of(
        LINK,
        &["loss", "loss_rate", "plr", "packet_loss", "drop", "drop_rate"],
        "write after = { loss = 0.01 }: 1 % of the packets are lost behind the link",
    ),
    of(LINK, &["jitter"], "write after = { jitter = \"5ms\" }"),
    of(
        LINK,
        &[
            "duplicate",
            "reorder",
            "burst",
            "overtake",
            "slot",
            "jitter_sd",
            "jitter_shape",
            "reorder_by",
        ],
        "it belongs to the stretch behind the link: after = { loss = 0.01, burst = 5, reorder = 0.01, duplicate = 0.001 }",
    ),
    of(LINK, &["delay_trace"], "write after = { delay_trace = \"leo\" }"),
    of(
        LINK,
        &[
            "bandwidth",
            "capacity",
            "speed",
            "bitrate",
            "bw",
            "mbps",
            "bandwidth_mbps",
            "rate_mbps",
            "data_rate",
            "mean",
        ],
        "write rate = \"12Mbps\", or trace = \"lte-driving\" for a rate that varies",
    ),
    of(
        LINK,
        &[
            "queue_size",
            "queue_limit",
            "queue_length",
            "limit",
            "size",
            "packets",
            "max_packets",
            "qlen",
            "queue_bytes",
        ],
        BUFFER,
    ),
    of(
        LINK,
        &["qdisc", "aqm", "discipline", "scheduler", "queue_disc", "queue_type"],
        "write queue = \"codel\"; `paceline schemes` lists queues",
    ),
    of(
        LINK,
        &["from", "to", "src", "dst", "source", "destination", "nodes", "ends", "a", "b"],
        NO_NODES,
    ),
    of(
        LINK,
        &["up", "down", "uplink", "downlink", "duplex", "bidirectional"],
        "a link has one direction: write a [[link]] for each; a flow names them with path = [\"down\"], back = [\"up\"]",
    ),
    of(LINK, &["file", "csv", "trace_file", "recording"], "write trace = \"FILE\""),
    of(
        LINK,
        &["repeat", "loop"],
        "a trace repeats, unless once = true; a schedule repeats after period = \"10s\"",
    ),
    of(
        LINK,
        &["scheme", "cc", "flows"],
        "it belongs to a flow: below [[flow]] write scheme = \"cubic\"; router = \"abc\" is the router of a scheme",
    ),
    of(
        LINK,
        &["mtu", "mss", "packet_size"],
        "write mss = 1500 at the top of the file: bytes of a packet, headers included",
    ),
    of(LINK, &["seed"], "write seed = 1 at the top of the file"),
    of(
        LINK,
        &["ecn", "mark", "marking"],
        "queues mark: queue = \"step\" or \"dualpi2\"; below [[flow]], ecn says how the receiver reports marks",
    ),
    of(
        FLOW,
        &["delay", "latency", "one_way_delay", "owd", "propagation", "propagation_delay", "rtt_ms"],
        "write rtt = \"40ms\" for both ways together, or data = { delay = \"20ms\" } for the way of the data",
    ),
    of(
        FLOW,
        &["loss", "loss_rate", "plr", "packet_loss", "drop"],
        "write data = { loss = 0.01 }; acks = { loss = 0.01 } is for acknowledgements",
    ),
    of(FLOW, &["jitter"], "write data = { jitter = \"5ms\" }"),
    of(
        FLOW,
        &[
            "duplicate",
            "reorder",
            "burst",
            "overtake",
            "slot",
            "delay_trace",
            "after",
            "jitter_sd",
            "reverse_data",
        ],
        "it belongs to the way of the data or of the acknowledgements: data = { loss = 0.01, burst = 5, reorder = 0.01 }, \
         acks = { jitter = \"5ms\" }",
    ),
    of(
        FLOW,
        &[
            "tcp",
            "congestion",
            "congestion_control",
            "cca",
            "algorithm",
            "algo",
            "protocol",
            "controller",
            "socket_type",
            "sender",
        ],
        "write scheme = \"cubic\"; `paceline schemes` lists all",
    ),
    of(
        FLOW,
        &["link", "links", "via", "route", "through", "hops"],
        "write path = [\"a\", \"b\"]: the names of links, in the order of the data",
    ),
    of(
        FLOW,
        &["reverse", "reverse_path", "ack_path", "return", "return_path", "ack_link", "up", "down"],
        "write path = [\"down\"] for the links of the data, and back = [\"up\"] for those of the acknowledgements",
    ),
    of(
        FLOW,
        &["duration", "length", "runtime", "end", "end_time", "stop_time"],
        "write stop = \"30s\"; duration = \"60s\" at the top of the file is the length of the run",
    ),
    of(FLOW, &["start_time", "begin", "start_at", "offset"], "write start = \"5s\""),
    of(
        FLOW,
        &["size", "file_size", "max_bytes", "data_bytes", "transfer", "amount"],
        "write bytes = 1000000",
    ),
    of(
        FLOW,
        &["flows", "number", "n", "num", "connections", "parallel", "senders"],
        "write count = 5",
    ),
    of(
        FLOW,
        &["rate", "bitrate", "bandwidth", "sending_rate", "send_rate"],
        "write limited = { rate = \"1Mbps\" } for what the application offers; the rate of a link stands below [[link]]",
    ),
    of(
        FLOW,
        &["application", "workload", "app", "traffic", "type", "on", "off"],
        "without a workload a flow always has data; workloads are bytes = 1000000, limited = { rate = \"1Mbps\" }, \
         on_off = { on = \"5s\", off = \"3s\" }, video = { max = \"4Mbps\" }",
    ),
    of(
        FLOW,
        &["interval", "spacing", "gap"],
        "write stagger = \"10s\" with count = 3: each flow starts 10 s after the one before",
    ),
    of(
        FLOW,
        &["src", "dst", "source", "destination", "from", "to", "receiver", "server"],
        NO_NODES,
    ),
    of(
        FLOW,
        &["buffer", "queue", "queue_size", "aqm", "router", "trace"],
        "it belongs to a link: below [[link]] write buffer = 250, queue = \"codel\"; a scheme can bring a queue: \
         scheme = \"cubic+codel\"",
    ),
    of(FLOW, &["pacing"], "it is a parameter of schemes: scheme = \"cubic[pacing=linux]\""),
    of(
        FLOW,
        &["window", "cwnd", "initial_window", "iw", "initial_cwnd"],
        "what a scheme does is set by its parameters: scheme = \"cubic[beta=0.5]\"; `paceline schemes cubic` lists them",
    ),
    of(
        FLOW,
        &["mss", "packet_size", "segment_size"],
        "write mss = 1500 at the top of the file: bytes of a packet, headers included",
    ),
    of(FLOW, &["seed"], "write seed = 1 at the top of the file"),
    of(STRETCH, &["latency", "propagation", "one_way_delay"], "write delay = \"20ms\""),
    of(
        STRETCH,
        &["rtt"],
        "write delay = \"20ms\": a stretch has one direction; rtt = \"40ms\" belongs to [[flow]]",
    ),
    of(STRETCH, &["loss_rate", "packet_loss", "plr", "drop", "corrupt"], "write loss = 0.01"),
    of(
        STRETCH,
        &["rate", "bandwidth", "buffer", "queue", "limit", "trace"],
        "a stretch has neither rate nor queue: write a [[link]], and its name in the path of the flow",
    ),
    of(
        STRETCH,
        &["correlation", "loss_correlation", "burst_length", "gemodel", "mean_burst"],
        "write burst = 5: mean length of bursts of losses, in packets",
    ),
    of(
        STRETCH,
        &["distribution", "jitter_distribution", "shape"],
        "write jitter_shape = \"normal\", \"uniform\" or \"exponential\"",
    ),
    of(STRETCH, &["sd", "stddev", "sigma", "variance"], "write jitter_sd = \"2ms\""),
    of(STRETCH, &["duplication", "duplicates"], "write duplicate = 0.001"),
    of(
        VIDEO,
        &["bitrate", "rate", "max_rate", "bandwidth"],
        "write max = \"4Mbps\"; min is the lowest rate",
    ),
    of(VIDEO, &["framerate", "frame_rate", "frames"], "write fps = 30"),
    of(
        VIDEO,
        &["gop", "keyframe_interval", "key_interval"],
        "write key_every = 60: a key frame each 60 frames",
    ),
    of(
        MEDIUM,
        &["stations", "clients"],
        "stations have rates: below the medium write [[medium.station]] with name = \"laptop\", rate = \"54Mbps\"",
    ),
];

/// Returns what to write instead of `key` in `section`.
pub(super) fn remedy(section: &str, key: &str) -> Option<&'static str> {
    let found =
        REMEDIES.iter().find(|remedy| remedy.section == section && remedy.keys.contains(&key));
    found.map(|remedy| remedy.remedy)
}

/// Returns the section whose keys are `keys`, which may be followed by those of tables below it.
pub(super) fn section_of(keys: &[&str]) -> Option<&'static str> {
    let begins = |table: &super::KeyTable| {
        let names = table.keys.iter().map(|key| key.name);
        table.keys.len() <= keys.len() && names.zip(keys).all(|(name, key)| name == *key)
    };
    let found = super::keys().into_iter().filter(begins).max_by_key(|table| table.keys.len());
    found.map(|table| table.section)
}

/// Returns the name of a section as messages have it.
pub(super) fn shown(section: &str) -> String {
    match section {
        RUN => "the top of the file".into(),
        STRETCH => "`data`, `acks` or `after`".into(),
        LINK | FLOW | MEDIUM => format!("[[{section}]]"),
        _ => format!("`{}`", section.rsplit('.').next().unwrap_or(section)),
    }
}

/// Returns the value that replaces a value of a wrong type, by the type that was found and the one
/// that was expected; both as serde's messages have them.
pub(super) fn of_type(found: &str, expected: &str) -> Option<String> {
    let text = found.strip_prefix("string \"").and_then(|rest| rest.strip_suffix('"'));
    match (text, expected) {
        (Some(text), "f64") => Some(match text.trim().strip_suffix('%').map(str::trim) {
            Some(percent) => match percent.parse::<f64>() {
                Ok(percent) => format!("write {} for {percent} %, without quotes", percent / 100.0),
                Err(_) => "write a number without quotes; 1 % is 0.01".into(),
            },
            None => "write a number without quotes".into(),
        }),
        (_, "f64") => Some("write a number; 1 % is 0.01".into()),
        (_, "u64" | "u32" | "u16" | "u8") => {
            let largest = match expected {
                "u8" => u64::from(u8::MAX),
                "u16" => u64::from(u16::MAX),
                "u32" => u64::from(u32::MAX),
                // TOML's integers have 64 bits with a sign.
                _ => i64::MAX as u64,
            };
            Some(format!("write a whole number from 0 to {largest}"))
        }
        (Some(text), "a sequence") => Some(format!("put it between [ and ]: [\"{text}\"]")),
        (Some(_), "a boolean") => Some("write true or false, without quotes".into()),
        (_, "a boolean") => Some("write true or false".into()),
        (None, "a string") if found.starts_with("boolean") => {
            Some("its values are texts in quotes, as docs/scenarios.md lists them".into())
        }
        (_, "a string") => {
            Some("put it in quotes; times and rates have units: \"10s\", \"12Mbps\"".into())
        }
        (_, "a table") => Some("write its keys in braces; {} is a table with all defaults".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_are_for_keys_that_sections_do_not_have() {
        let tables = super::super::keys();
        let mut seen = std::collections::BTreeSet::new();
        for Remedy { section, keys, remedy } in REMEDIES {
            let table = tables.iter().find(|table| table.section == *section).expect(section);
            for key in *keys {
                assert!(table.keys.iter().all(|known| known.name != *key), "{section} has {key}");
                assert!(seen.insert((section, key)), "{section} {key} stands twice");
                assert!(remedy.contains(' ') && !remedy.ends_with('.'), "{remedy}");
            }
        }
    }

    #[test]
    fn a_list_of_keys_is_that_of_one_section() {
        for table in super::super::keys() {
            let mut names: Vec<&str> = table.keys.iter().map(|key| key.name).collect();
            assert_eq!(section_of(&names), Some(table.section));
            names.push("tables");
            assert_eq!(section_of(&names), Some(table.section));
        }
        assert_eq!(section_of(&["name"]), None);
    }
}
