//! `paceline run` with whole QUIC stacks: their packets as a pcapng file, and their logs.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::common::paceline;
use crate::pcapng::{Packet, read};
use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const SCENARIO: &str = "duration = \"4s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\nbuffer = 40\n\
     [[flow]]\nname = \"big\"\nscheme = \"quinn:own-cubic\"\npath = [\"link\"]\nrtt = \"20ms\"\n\
     [[flow]]\nname = \"own\"\nscheme = \"cubic\"\npath = [\"link\"]\nrtt = \"20ms\"\n\
     [[flow]]\nname = \"noq\"\nscheme = \"noq:bbr3\"\npath = [\"link\"]\nrtt = \"20ms\"\n";

fn json(arguments: &[&str]) -> (Value, String) {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    (serde_json::from_str(&seen.out).expect("JSON"), seen.err)
}

/// Reads a log; returns its head and its events.
fn log(path: &str) -> (Value, Vec<Value>) {
    let text = fs::read_to_string(path).expect("a log");
    let mut records =
        text.split('\u{1e}').skip(1).map(|text| serde_json::from_str(text).expect("JSON"));
    (records.next().expect("a head"), records.collect())
}

/// Returns the number of events of each kind.
fn kinds(events: &[Value]) -> BTreeMap<&str, u64> {
    let mut kinds = BTreeMap::new();
    for event in events {
        *kinds.entry(event["name"].as_str().expect("a name")).or_default() += 1;
    }
    kinds
}

/// Stacks name a queue as other schemes do, and those whose runs do not repeat say so.
#[test]
fn stacks_have_queues_and_say_whether_their_runs_repeat() {
    let compare = ["compare", "--trace", "12Mbps", "--duration", "2s", "--runs", "1", "--schemes"];
    let seen = paceline(&[&compare[..], &["quinn:own-cubic+codel,noq:own-bbr3+codel"]].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    let random: Vec<&str> =
        seen.out.lines().filter(|line| line.contains("random numbers from the system")).collect();
    assert!(random.len() == 1 && random[0].starts_with("noq:own-bbr3+codel: "), "{}", seen.out);

    let folder = Folder::new("quic-random");
    let scenario = SCENARIO.replace("quinn:own-cubic", "quinn:own-bbr");
    let scenario = folder.write("random.toml", scenario.as_bytes());
    let (seen, _) = json(&["run", &scenario, "--json"]);
    assert_eq!(seen["system_random"], true);
    let scenario = folder.write("three.toml", SCENARIO.as_bytes());
    assert!(json(&["run", &scenario, "--json"]).0["system_random"].is_null());
}

#[test]
fn packets_and_logs_of_quic_stacks_are_written() {
    let folder = Folder::new("quic-flows");
    let scenario = folder.write("three.toml", SCENARIO.as_bytes());
    let (file, logs) = (folder.path("three.pcapng"), folder.path("logs/"));
    let (seen, err) = json(&["run", &scenario, "--json", "--pcap", &file, "--qlog", &logs]);
    assert!(err.contains("simulated flows, which have no bytes: own"), "{err}");
    let (plain, _) = json(&["run", &scenario, "--json"]);
    assert_eq!(seen["digest"], plain["digest"], "a capture and a log change nothing");
    // Stacks do not count retransmissions and timeouts.
    let counts =
        ["retransmits", "timeouts"].map(|name| [0, 1].map(|flow| &seen["flows"][flow][name]));
    assert!(counts.iter().all(|[quic, own]| quic.is_null() && own.is_u64()), "{counts:?}");

    let (names, packets) = read(&file);
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(packets.is_sorted_by_key(|packet| packet.nanos));
    assert!(packets.iter().all(|packet| packet.bytes.len() == packet.length), "cut packets");
    let of = |name: &str, flags: u32| -> Vec<&Packet> {
        let at = names.iter().position(|known| known == name).expect("an interface");
        packets.iter().filter(|packet| packet.interface == at && packet.flags == flags).collect()
    };
    for (index, flow) in [(0, "big"), (2, "noq")] {
        let sender = format!("{flow}.sender");
        let (sent, arrived) = (of(&sender, 2), of(&format!("{flow}.receiver"), 1));
        assert!(arrived.len() > 300 && arrived.len() < sent.len(), "{flow}: {}", arrived.len());
        // The first packet has no queue before it: 10 ms, and the time of a packet.
        let delay = arrived[0].nanos - sent[0].nanos;
        assert!((10_000_000..13_000_000).contains(&delay), "{delay}");
        let (head, events) = log(&folder.path(&format!("logs/{flow}.sender.sqlog")));
        assert_eq!(head["trace"]["vantage_point"]["type"], "client");
        let kinds = kinds(&events);
        assert_eq!(kinds["transport:datagrams_sent"], sent.len() as u64);
        assert_eq!(kinds["transport:datagrams_received"], of(&sender, 1).len() as u64);
        // qvis draws packets that have a length.
        let packets = |kind: &str, events: &[Value]| {
            let has_length = |event: &&Value| event["data"]["raw"]["length"].as_u64() > Some(0);
            let of_kind = events.iter().filter(|event| event["name"] == kind);
            of_kind.filter(has_length).count()
        };
        assert_eq!(packets("transport:packet_sent", &events), sent.len());
        assert_eq!(packets("transport:packet_received", &events), of(&sender, 1).len());
        assert_eq!(
            kinds["recovery:packet_lost"],
            seen["flows"][index]["lost"].as_u64().expect("a number")
        );
        assert!(kinds["recovery:metrics_updated"] > 100, "{kinds:?}");
        assert!(events.is_sorted_by(|a, b| a["time"].as_f64() <= b["time"].as_f64()));
        let (head, events) = log(&folder.path(&format!("logs/{flow}.receiver.sqlog")));
        assert_eq!(head["trace"]["vantage_point"]["type"], "server");
        assert_eq!(self::kinds(&events)["transport:datagrams_received"], arrived.len() as u64);
        assert_eq!(packets("transport:packet_received", &events), arrived.len());
    }
    assert!(!fs::exists(folder.path("logs/own.sender.sqlog")).expect("a folder"));

    let fields = ["udp.checksum.status", "quic.version", "udp.dstport"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-r", &file, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    tshark.args(["-d", "udp.port==4433,quic", "-T", "fields"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = tshark.output() else {
        return skip(Need::Programs, &this_test(), "tshark reads the file");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(lines.lines().count(), packets.len());
    assert!(lines.lines().all(|line| line.starts_with('1')), "a checksum is wrong");
    assert!(lines.contains("0x00000001"), "no packet of QUIC version 1");
}

#[test]
fn one_flow_has_its_log_in_a_file() {
    let folder = Folder::new("quic-file");
    let one = SCENARIO.split("[[flow]]\nname = \"noq\"").next().expect("a scenario");
    let scenario = folder.write("one.toml", one.as_bytes());
    let file = folder.path("one.sqlog");
    assert_eq!(paceline(&["run", &scenario, "-q", "--qlog", &file]).code, 0);
    let (head, events) = log(&file);
    assert_eq!(head["trace"]["common_fields"]["protocol_type"][0], "QUIC");
    assert!(events.len() > 1000, "{}", events.len());
}

#[test]
fn logs_that_cannot_be_are_refused() {
    let folder = Folder::new("quic-refused");
    let three = folder.write("three.toml", SCENARIO.as_bytes());
    let own = SCENARIO.replace("quinn:own-", "").replace("noq:", "");
    let own = folder.write("own.toml", own.as_bytes());
    let several = folder.write("runs.toml", format!("runs = 2\n{SCENARIO}").as_bytes());
    let file = folder.path("log.sqlog");
    for (scenario, to, wanted) in [
        (&own, &file, "no flow is of a QUIC stack"),
        (&three, &file, "name a folder"),
        (&several, &folder.path("logs/"), "add --runs 1"),
        (&three, &folder.path("three.toml/logs/"), "three.toml/logs"),
    ] {
        let seen = paceline(&["run", scenario, "--qlog", to]);
        assert!(seen.code != 0 && seen.err.contains(wanted), "{}", seen.err);
    }
    let one = SCENARIO.split("[[flow]]\nname = \"noq\"").next().expect("a scenario");
    let one = folder.write("one.toml", one.as_bytes());
    for option in ["--qlog", "--pcap"] {
        let seen = paceline(&["run", &one, option, "-"]);
        let wanted = format!("{option} -: this names a file here, not standard output; write ./-");
        assert!(seen.code == 2 && seen.err.contains(&wanted), "{}", seen.err);
    }
}

#[test]
fn a_connection_that_ends_fails_the_run_and_stands_in_its_log() {
    let folder = Folder::new("quic-ends");
    // A link that is down for longer than the 30 s that quinn waits.
    let text = "duration = \"40s\"\n[[link]]\nname = \"link\"\nschedule = [{ at = \"0s\", rate = \"12Mbps\" }, { at = \"2s\", rate = \"0Mbps\" }]\n\
         [[flow]]\nname = \"big\"\nscheme = \"quinn:own-cubic\"\npath = [\"link\"]\nrtt = \"20ms\"\n";
    let scenario = folder.write("down.toml", text.as_bytes());
    let file = folder.path("down.sqlog");
    let seen = paceline(&["run", &scenario, "--qlog", &file]);
    assert!(seen.code != 0 && seen.err.contains("quinn's client ended: timed out"), "{}", seen.err);
    let (_, events) = log(&file);
    let last = events.last().expect("events");
    assert_eq!(last["name"], "connectivity:connection_closed");
    assert!(last["data"]["reason"].as_str().expect("text").contains("timed out"));
}
