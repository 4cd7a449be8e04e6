//! `paceline send --duration` and `paceline recv --measure`: flows, directions, limits, keys, and both
//! ends' output.

use std::process::Child;

use crate::common;
use crate::receiver::{self, Receiver, program, wait};
use serde_json::Value;

/// Starts a receiver for measurements at a loopback address, without keys.
fn measuring(arguments: &[&str]) -> Receiver {
    let all = [&["recv", "--measure", "--listen", "127.0.0.1:0"], arguments].concat();
    Receiver::listening(program(&all).spawn().expect("the program starts"), "")
}

fn row(seen: &common::Seen) -> Value {
    assert_eq!(seen.code, 0, "{}", seen.err);
    let rows: Value = serde_json::from_str(&seen.out).expect("JSON");
    rows["runs"][0].clone()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field}: {row}"))
}

/// The client must accept packets that the server sends right behind its answer: those that it
/// dropped once arrived only after a retransmission timeout.
#[test]
fn a_receiver_that_sends_begins_at_once() {
    let receiver = measuring(&[]);
    let arguments =
        ["send", "--duration", "300ms", &receiver.at, "-R", "--json", "--limit", "4Mbps"];
    for _ in 0..5 {
        let row = row(&common::paceline(&arguments));
        assert_eq!((number(&row, "timeouts"), &row["each"][0]["lost"]), (0.0, &0.into()), "{row}");
        assert!(number(&row, "packets") >= 10.0, "{row}");
    }
}

/// Returns the output of a receiver, once it has ended.
fn printed(child: &mut Child) -> String {
    let mut text = String::new();
    let mut out = child.stdout.take().expect("a pipe");
    std::io::Read::read_to_string(&mut out, &mut text).expect("text");
    text
}

#[test]
fn several_flows_in_both_directions_are_told_at_both_ends() {
    for reverse in [false, true] {
        let mut receiver = measuring(&["--once", "--json"]);
        let mut arguments = vec!["send", "--duration", "1s", &receiver.at, "-P", "3", "--json"];
        // A low rate, so that a busy machine keeps up.
        arguments.extend(["--limit", "4Mbps", "--scheme", "cubic"]);
        if reverse {
            arguments.push("--reverse");
        }
        let row = row(&common::paceline(&arguments));
        assert_eq!((&row["flows"], &row["reverse"]), (&3.into(), &reverse.into()), "{row}");
        let each = row["each"].as_array().expect("flows");
        assert_eq!(each.len(), 3, "{row}");
        let sum = |field: &str| each.iter().map(|flow| number(flow, field)).sum::<f64>();
        assert_eq!(sum("packets"), number(&row, "packets"), "{row}");
        assert_eq!(sum("sent"), number(&row, "sent"), "{row}");
        for flow in each {
            assert!(number(flow, "packets") > 0.0 && number(&flow["rtt_ms"], "p95") > 0.0, "{row}");
        }
        assert!((0.33..=1.0).contains(&number(&row, "jain")), "{row}");
        // With --once the receiver ends after all flows of the measurement.
        assert_eq!(wait(&mut receiver.child, 100), Some(0));
        let document: Value =
            serde_json::from_str(&printed(&mut receiver.child)).expect("JSON and no key");
        let connections = document["connections"].as_array().expect("connections");
        assert_eq!(connections.len(), 3, "{document}");
        let arrived: f64 = connections.iter().map(|one| number(one, "packets")).sum();
        // The sender's figures are those at its end; some of its packets arrive later. In reverse, the document has
        // them.
        let (sent, arrived) = match reverse {
            true => (arrived, number(&row, "packets")),
            false => (number(&row, "packets"), arrived),
        };
        assert!(arrived >= sent, "{arrived} of {sent}: {row}");
        for one in connections {
            assert_eq!((&one["reverse"], &one["scheme"]), (&reverse.into(), &"cubic".into()));
            assert!(one["problem"].is_null() && number(&one["sender"], "sent") > 0.0, "{one}");
        }
    }
}

#[test]
fn a_limit_holds_with_and_without_pacing_in_both_directions() {
    let receiver = measuring(&[]);
    for (scheme, reverse) in [("cubic", false), ("bbr", false), ("cubic", true)] {
        let mut arguments =
            vec!["send", "--duration", "2s", &receiver.at, "--json", "--limit", "3Mbps"];
        arguments.extend(["--scheme", scheme]);
        if reverse {
            arguments.push("-R");
        }
        let row = row(&common::paceline(&arguments));
        // The rate is over at least two seconds; a window of ten packets may leave before the
        // sender knows the limit.
        let rate = number(&row, "throughput_mbps");
        assert!(rate > 0.0 && rate <= 3.0 * 1.03 + 0.12, "{scheme} {reverse}: {row}");
    }
}

#[test]
fn a_receiver_of_measurements_takes_no_file_and_one_of_files_sends_nothing() {
    let folder = paceline_testing::Folder::new("bulk-refused");
    let (path, _) = receiver::file(&folder, "in", 1000);
    let (keys, client) = (folder.path("server.key"), folder.path("client.key"));
    let made = common::paceline(&["key", "new", "-o", &keys]);
    assert_eq!(made.code, 0, "{}", made.err);
    folder.write("client.key", made.out.as_bytes());
    std::fs::set_permissions(&client, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("a mode");
    let measures = measuring(&["--key-file", &keys]);
    let seen = common::paceline(&["send", &path, &measures.at, "--key-file", &client]);
    assert_eq!(seen.code, 1);
    assert!(seen.err.contains("takes no files") && seen.err.contains("--measure"), "{}", seen.err);
    let keeps = Receiver::start(&[]);
    let seen =
        common::paceline(&["send", "--duration", "1s", "-R", &keeps.at, "--key", &keeps.key]);
    assert_eq!(seen.code, 1);
    assert!(seen.err.contains("recv --measure"), "{}", seen.err);
}

#[test]
fn keys_that_everybody_knows_are_for_loopback_addresses_alone() {
    // A receiver that other machines can reach makes its own keys.
    let all = ["recv", "--measure", "--listen", "0.0.0.0:0", "--once"];
    let mut open = Receiver::of(&mut program(&all));
    let port = open.at.rsplit(':').next().expect("a port").to_string();
    let to = format!("127.0.0.1:{port}");
    let arguments = ["send", "--duration", "300ms", &to, "--timeout", "1s"];
    let seen = common::paceline(&arguments);
    assert_eq!(seen.code, 1, "{}", seen.out);
    let seen = common::paceline(&[&arguments[..4], &["--key", &open.key]].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(open.finish(60).0, Some(0));
    // A client uses no published key for another machine, nor for files.
    let seen = common::paceline(&["send", "--duration", "1s", "192.0.2.1:5311"]);
    assert!(seen.code == 2 && seen.err.contains("no key"), "{}", seen.err);
    let seen = common::paceline(&["send", "/dev/null", "127.0.0.1:5311"]);
    assert!(seen.code == 2 && seen.err.contains("no key"), "{}", seen.err);
}

#[test]
fn intervals_and_a_table_are_shown() {
    let mut receiver = measuring(&["--once"]);
    let arguments =
        ["send", "--duration", "2s", &receiver.at, "-P", "2", "-i", "200ms", "--limit", "1Mbps"];
    let seen = common::paceline(&arguments);
    assert_eq!(seen.code, 0, "{}", seen.err);
    for name in ["[  1]", "[  2]", "[SUM]"] {
        assert!(seen.err.lines().any(|line| line.starts_with(name)), "{}", seen.err);
    }
    let last = seen.out.lines().find(|line| line.trim_start().starts_with("sum")).expect("a sum");
    assert!(last.split_whitespace().count() >= 10, "{last}");
    assert!(seen.out.contains("Jain"), "{}", seen.out);
    let (code, err) = receiver.finish(60);
    assert_eq!(code, Some(0), "{err}");
    let told = err.lines().filter(|line| line.contains("packets arrived of")).count();
    assert_eq!(told, 2, "the receiver tells of each connection: {err}");
}
