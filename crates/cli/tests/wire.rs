//! `paceline send` and `paceline recv` on the loopback interface, and through the emulator.

#[path = "common/alone.rs"]
mod alone;
mod common;
#[path = "common/receiver.rs"]
mod receiver;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use alone::{alone, text};
use paceline_testing::Folder;
use receiver::{Receiver, bytes, file, program, wait};
use serde_json::Value;

#[test]
fn a_file_arrives_whole_and_the_run_is_told_in_the_fields_of_compare() {
    let folder = Folder::new("wire-file");
    let (path, content) = file(&folder, "in", 3_000_000);
    for (scheme, more) in [("cubic", None), ("abc", None), ("bbr", Some("--plaintext"))] {
        let out = folder.path(&format!("out-{scheme}"));
        let arguments: Vec<&str> = ["-o", &out, "--once"].into_iter().chain(more).collect();
        let mut receiver = Receiver::start(&arguments);
        let mut arguments =
            vec!["send", &path, &receiver.at, "--key", &receiver.key, "--scheme", scheme, "--json"];
        arguments.extend(more);
        let seen = common::paceline(&arguments);
        assert_eq!(seen.code, 0, "{scheme}: {}", seen.err);
        assert_eq!(receiver.finish(60).0, Some(0), "{scheme}");
        assert!(std::fs::read(&out).expect("the file") == content, "{scheme}");
        let runs: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
        let row = &runs["runs"][0];
        assert_eq!(row["scheme"], scheme);
        assert_eq!(row["encrypted"], more.is_none());
        for field in ["throughput_mbps", "goodput_mbps", "duration_s", "packets"] {
            assert!(row[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {row}");
        }
        assert!(row["rtt_ms"]["p95"].as_f64().is_some_and(|rtt| rtt > 0.0), "{row}");
        assert!(row["capacity_mbps"].is_null(), "{row}");
    }
}

#[test]
fn many_senders_at_once_a_pipe_and_bulk() {
    let folder = Folder::new("wire-many");
    let into = folder.path("into/");
    let receiver = Receiver::start(&["-o", &into]);
    let files: Vec<_> = (1..6).map(|n| file(&folder, &format!("f{n}"), n * 100_000)).collect();
    let mut senders: Vec<Child> = Vec::new();
    for (path, _) in &files {
        let arguments = ["send", path, &receiver.at, "--key", &receiver.key];
        senders.push(program(&arguments).spawn().expect("the program starts"));
    }
    let mut pipe = program(&["send", "-", &receiver.at, "--key", &receiver.key])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let bulk =
        ["send", &receiver.at, "--key", &receiver.key, "--duration", "1s", "--scheme", "sprout"];
    senders.push(program(&bulk).spawn().expect("the program starts"));
    let mut input = pipe.stdin.take().expect("a pipe");
    for piece in 0..5u8 {
        input.write_all(&[piece; 10_000]).expect("room");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(input);
    senders.push(pipe);
    for mut sender in senders {
        assert_eq!(wait(&mut sender, 100), Some(0));
    }
    for (path, content) in &files {
        let name = path.rsplit('/').next().expect("a name");
        assert!(std::fs::read(format!("{into}{name}")).expect("the file") == *content, "{name}");
    }
    let piped = std::fs::read(format!("{into}input")).expect("the file");
    assert!(piped == (0..5u8).flat_map(|piece| [piece; 10_000]).collect::<Vec<u8>>());
    let names = std::fs::read_dir(&into).expect("the folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    assert_eq!(names.filter(|name| name != ".paceline").count(), 6, "nothing half stays");
    // Only the journals of complete files stay there.
    let staged = std::fs::read_dir(format!("{into}.paceline")).expect("the folder");
    let staged: Vec<_> = staged.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(staged, ["finished"]);
}

#[test]
fn workloads_are_those_of_scenarios() {
    let mut receiver = Receiver::start(&["--once"]);
    let send = |workload: &str| {
        let all = ["send", &receiver.at, "--key", &receiver.key, "--duration", "2s", "--json"];
        common::paceline(&[&all[..], &["--workload", workload]].concat())
    };
    for (workload, wanted) in [
        ("video = { speed = 3 }", "speed"),
        ("scheme = \"bbr\"", "duplicate"),
        ("start = \"1s\"", "expected one key"),
        ("on_off = 3", "expected"),
    ] {
        let seen = send(workload);
        assert!(seen.code == 2 && seen.err.contains(wanted), "{workload}: {}", seen.err);
    }
    let seen = send("video = { fps = 20, max = \"1Mbps\" }");
    assert_eq!(seen.code, 0, "{}", seen.err);
    let rows: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    // Frames of two seconds at 20 a second, and those of a busy machine's delay.
    let made = rows["runs"][0]["frames"]["made"].as_u64().expect("frames");
    let most = 20.0 * rows["runs"][0]["duration_s"].as_f64().expect("a time").max(2.0) + 1.0;
    assert!(made >= 20 && made as f64 <= most, "{rows}");
    let rate = rows["runs"][0]["goodput_mbps"].as_f64().expect("a rate");
    assert!(rate > 0.01 && rate < 1.5, "{rows}");
    assert_eq!(receiver.finish(60).0, Some(0));
}

/// Returns the records of a log. The first is the file's head and the others are events.
fn records(log: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("the log");
    let mut records = text.split('\u{1e}');
    assert_eq!(records.next(), Some(""), "each record begins with RS");
    let records: Vec<Value> = records
        .map(|record| {
            assert!(record.ends_with('\n'), "and ends with LF");
            serde_json::from_str(record).expect("JSON")
        })
        .collect();
    assert_eq!(records[0]["qlog_format"], "JSON-SEQ");
    assert_eq!(records[0]["qlog_version"], "0.3");
    // qvis needs events in the order of their times.
    let times: Vec<f64> = records[1..].iter().filter_map(|event| event["time"].as_f64()).collect();
    assert!(times.len() == records.len() - 1 && times.is_sorted(), "{times:?}");
    records
}

/// Returns the packet numbers of events of this name whose first frame has this type.
fn numbers(records: &[Value], name: &str, frame: &str) -> Vec<u64> {
    let events = records.iter().filter(|event| event["name"] == name);
    let events = events.filter(|event| {
        frame.is_empty() || event["data"]["frames"][0]["frame_type"].as_str() == Some(frame)
    });
    let number = |event: &Value| event["data"]["header"]["packet_number"].as_u64();
    events.map(|event| number(event).expect("a packet number")).collect()
}

#[test]
fn logs_for_qvis_have_a_record_for_each_packet_and_acknowledgement_at_both_ends() {
    let folder = Folder::new("wire-qlog");
    let (path, _) = file(&folder, "in", 300_000);
    let (log, other) = (folder.path("send.sqlog"), folder.path("recv.sqlog"));
    let pages = folder.path("pages");
    let mut receiver = Receiver::start(&["--once", "--qlog", &other, "--report", &pages]);
    let all = ["send", &path, &receiver.at, "--key", &receiver.key, "--json", "--qlog", &log];
    let seen = common::paceline(&[&all[..], &["-o", &pages, "-q"]].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert_eq!(receiver.finish(60).0, Some(0));
    let rows: Value = serde_json::from_str(&seen.out).expect("JSON");
    let row = &rows["runs"][0];
    let (log, other) = (records(&log), records(&other));
    let (sent, received) = ("transport:packet_sent", "transport:packet_received");
    let data = numbers(&log, sent, "stream");
    assert_eq!(data.len() as u64, row["sent"].as_u64().expect("packets"));
    // The other end's log has the same packet numbers, and acknowledgements have the numbers with
    // which they were sent.
    let arrived = numbers(&other, received, "stream");
    assert_eq!(arrived.len() as u64, row["packets"].as_u64().expect("packets"));
    assert!(arrived.iter().all(|number| data.contains(number)), "{arrived:?}");
    let (acks, heard) = (numbers(&other, sent, "ack"), numbers(&log, received, "ack"));
    assert!(!heard.is_empty() && heard.iter().all(|number| acks.contains(number)), "{heard:?}");
    assert_eq!(numbers(&log, "recovery:packet_lost", "").len() as u64, row["lost"]);
    assert!(log.iter().any(|event| event["name"] == "recovery:metrics_updated"));
    assert_eq!(log[0]["trace"]["vantage_point"]["type"], "client");
    assert_eq!(other[0]["trace"]["vantage_point"]["type"], "server");
    for records in [&log, &other] {
        let last = records.last().expect("records");
        assert_eq!(last["name"], "connectivity:connection_closed", "{last}");
        assert_eq!(last["data"]["trigger"], "clean", "{last}");
    }
    // The pages have the command line, but not the key, with which anyone could send.
    for name in ["send", "recv"] {
        let page = std::fs::read_to_string(format!("{pages}/{name}.html")).expect("a page");
        assert!(page.contains("Over time: 127.0.0.1:") && page.contains("Rate (Mbit/s)"), "{name}");
        assert!(!page.contains("pl1-"), "{name}");
        let json = std::fs::read(format!("{pages}/{name}.json")).expect("JSON");
        let json: Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(json["schema_version"], 2);
    }
}

#[test]
fn figures_are_shown_even_if_the_log_cannot_be_written() {
    let receiver = Receiver::start(&[]);
    let arguments = ["send", &receiver.at, "--key", &receiver.key, "--duration", "300ms", "--json"];
    let seen = common::paceline(&[&arguments[..], &["--qlog", "/dev/full"]].concat());
    assert_eq!(seen.code, 1, "{}", seen.err);
    assert!(seen.err.contains("/dev/full"), "{}", seen.err);
    let rows: Value = serde_json::from_str(&seen.out).expect("JSON");
    assert!(rows["runs"][0]["packets"].as_u64().is_some_and(|packets| packets > 0), "{rows}");
}

#[test]
fn lost_packets_are_named_in_logs_and_each_connection_has_a_log() {
    let test = "lost_packets_are_named_in_logs_and_each_connection_has_a_log";
    let folder = Folder::new("wire-qlog-lost");
    let script = format!(
        "ip link set lo up; cd {}\n\
         $P recv --listen 0.0.0.0:5311 --qlog recv.sqlog > key 2> said & R=$!\n\
         until test -s key; do sleep 0.1; done\n\
         export K=$(sed 's/key //' key)\n\
         for n in 1 2; do\n\
         $P link -q --up 6Mbps --down 6Mbps --buffer 8 -- bash -c \
             \"$P send \\$PACELINE_BASE:5311 --key $K --duration 2s --json --qlog send-$n.sqlog > $n.json\" || exit 9\n\
         done; kill $R; wait $R; ip link set lo down",
        folder.path("")
    );
    let Some(output) = alone(test, &["ip"], &script) else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    for n in [1, 2] {
        let row = std::fs::read(folder.path(&format!("{n}.json"))).expect("a run");
        let row: Value = serde_json::from_slice(&row).expect("JSON");
        let log = records(&folder.path(&format!("send-{n}.sqlog")));
        let other = records(&folder.path(["", "recv.sqlog", "recv-2.sqlog"][n]));
        let lost = numbers(&log, "recovery:packet_lost", "");
        assert!(lost.len() > 3 && Some(lost.len() as u64) == row["runs"][0]["lost"].as_u64());
        let arrived = numbers(&other, "transport:packet_received", "stream");
        assert!(arrived.len() > 100);
        // Each packet that the log names as lost was sent, and each one that was dropped before the
        // last of them is named. (On a busy machine the log also names some that are only late.)
        let sent = numbers(&log, "transport:packet_sent", "stream");
        assert!(lost.iter().all(|number| sent.contains(number)), "{lost:?}");
        let last = lost.iter().max().expect("lost packets");
        let dropped = sent.iter().filter(|number| *number < last && !arrived.contains(number));
        let dropped: Vec<&u64> = dropped.collect();
        assert!(dropped.len() > 3, "{dropped:?}");
        assert!(dropped.iter().all(|number| lost.contains(number)), "{dropped:?} of {lost:?}");
        let known = ["reordering_threshold", "time_threshold", "pto_expired"];
        let events = log.iter().filter(|event| event["name"] == "recovery:packet_lost");
        for event in events {
            let trigger = event["data"]["trigger"].as_str().expect("a trigger");
            assert!(known.contains(&trigger), "{event}");
        }
    }
}

#[test]
fn a_wrong_key_gets_no_answer() {
    let folder = Folder::new("wire-key");
    let (path, _) = file(&folder, "in", 1000);
    let receiver = Receiver::start(&["--once"]);
    let other = Receiver::start(&["--once"]);
    let seen =
        common::paceline(&["send", &path, &receiver.at, "--key", &other.key, "--timeout", "1s"]);
    assert_eq!(seen.code, 1);
    assert!(seen.err.contains("nobody answers at") && seen.err.contains("key"), "{}", seen.err);
    let seen = common::paceline(&["send", &path, &receiver.at, "--key", "hello"]);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("a key begins with"), "{}", seen.err);
    let seen =
        common::paceline(&["send", &path, &receiver.at, "--key", &receiver.key, "--plaintext"]);
    assert!(seen.code == 1 && seen.err.contains("both ends need --plaintext"), "{}", seen.err);
}

#[test]
fn a_sender_that_is_killed_is_missed_and_leaves_no_file() {
    let folder = Folder::new("wire-killed");
    let into = folder.path("into/");
    let mut receiver = Receiver::start(&["-o", &into, "--once", "--timeout", "1s"]);
    let arguments = ["send", "-", &receiver.at, "--key", &receiver.key, "--timeout", "1s"];
    let mut sender = program(&arguments).stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut input = sender.stdin.take().expect("a pipe");
    input.write_all(&bytes(300_000, 1)).expect("room");
    receiver.connected();
    std::thread::sleep(Duration::from_millis(300));
    sender.kill().expect("killed");
    sender.wait().expect("a status");
    let (code, err) = receiver.finish(60);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("has died, or the path is down"), "{err}");
    assert_eq!(std::fs::read_dir(&into).map_or(0, Iterator::count), 0);
}

#[test]
fn a_receiver_that_is_killed_is_missed() {
    let mut receiver = Receiver::start(&["--timeout", "1s"]);
    let sender = program(&[
        "send",
        &receiver.at,
        "--key",
        &receiver.key,
        "--duration",
        "30s",
        "--timeout",
        "1s",
    ]);
    let mut sender = { sender }.spawn().expect("the program starts");
    receiver.connected();
    std::thread::sleep(Duration::from_millis(300));
    receiver.child.kill().expect("killed");
    receiver.child.wait().expect("a status");
    assert_eq!(wait(&mut sender, 60), Some(1));
    let mut err = String::new();
    sender.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
    assert!(err.contains("has died, or the path is down"), "{err}");
}

#[test]
fn gap_holds_the_simulator_against_udp() {
    let folder = Folder::new("gap-udp");
    let script = "chrt -f 1 true 2>/dev/null && ahead=--realtime; \
                  $P gap --udp $ahead --trace 12Mbps --schemes cubic,abc,xcp,rcp --duration 5s --rtt 40ms \
                  --buffer 60 --json -q; s=$?; ls $TMPDIR >&2; exit $s";
    let script = format!("export TMPDIR={}\n{script}", folder.path(""));
    let Some(output) = alone("gap_holds_the_simulator_against_udp", &[], &script) else {
        return;
    };
    let err = text(&output.stderr);
    assert!(output.status.success(), "{err}");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    let schemes = ["cubic", "abc", "xcp", "rcp"];
    for (row, scheme) in all["rows"].as_array().expect("rows").iter().zip(schemes) {
        assert_eq!(row["scheme"], scheme);
        let number = |side: &str, name: &str| row[side][name].as_f64().unwrap_or(f64::NAN);
        let queued = |name: &str| row["emulated"]["queue_delay_ms"][name].as_f64();
        // Sender and receiver are ordinary processes: on a busy machine they run late, and one more
        // loss costs much of five seconds. This only checks that it runs; docs/gap.md has how near
        // the results are.
        assert!(number("emulated", "utilization") > 0.1, "{row}");
        assert!((number("emulated", "capacity_mbps") - 12.0).abs() < 0.01, "{row}");
        assert!(queued("p95") < Some(62.0), "{row}");
        if scheme != "cubic" {
            // Without the fields that their routers write, these schemes would fill the buffer, 60
            // ms long.
            assert!(queued("p50") < Some(45.0), "{row}");
        }
        assert!(number("emulated", "goodput_mbps") > 1.0, "{row}");
        assert!(number("simulated", "utilization") > 0.8, "{row}");
        assert!(number("emulated", "handshake_s") > 0.08, "two round trips of 40 ms: {row}");
    }
    // ABC's router marks packets to slow the sender down; without marks the queue would be full.
    assert!(all["rows"][1]["emulated"]["marks"].as_u64() > Some(0), "{err}");
    assert!(!err.contains("paceline-gap"), "its files are gone: {err}");
}

/// Returns the files in this folder that a process has open, as /proc names them.
fn open_files(process: u32, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let names = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(folder)).collect()
}

#[test]
fn what_a_killed_receiver_leaves_of_a_file_goes_when_it_starts_again() {
    for to_folder in [true, false] {
        let folder = Folder::new("wire-killed-receiver");
        let out = folder.path(if to_folder { "into/" } else { "out" });
        let mut receiver = Receiver::start(&["-o", &out, "--timeout", "1s"]);
        let arguments = ["send", "-", &receiver.at, "--key", &receiver.key, "--timeout", "1s"];
        let mut sender = program(&arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut input = sender.stdin.take().expect("a pipe");
        input.write_all(&bytes(2_000_000, 1)).expect("room");
        // The file is open, and part of it is written.
        let process = receiver.child.id();
        let open = (0..6000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let open = open_files(process, &folder.path(""));
            open.iter().any(|name| name.contains("/partial.")).then_some(open)
        });
        assert!(open.is_some(), "{:?}", open_files(process, &folder.path("")));
        std::thread::sleep(Duration::from_millis(200));
        receiver.child.kill().expect("killed");
        receiver.child.wait().expect("its end");
        // No file has the name yet, and standard input cannot be sent again.
        let place = folder.path(if to_folder { "into/" } else { "" });
        let names = || -> Vec<_> {
            let entries = std::fs::read_dir(&place).expect("the folder");
            entries.map(|entry| entry.expect("an entry").file_name()).collect()
        };
        assert_eq!(names(), [".paceline"]);
        let again = Receiver::start(&["-o", &out]);
        assert!(names().is_empty(), "{:?}", names());
        drop(again);
        // The sender reports that the other end is gone.
        drop(input);
        assert_eq!(wait(&mut sender, 100), Some(1));
    }
}

/// The network has no interface but `lo`.
#[test]
fn a_sender_without_a_route_is_told_so_at_once() {
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    let script = format!(
        r#"ip link set lo up; head -c 1000 /dev/zero > $TMPDIR/in
        "$P" send $TMPDIR/in 192.0.2.1:5311 --key {key} --timeout 600s; echo "send $?"
        "$P" tunnel client 192.0.2.1:5312 --key {key} --address 10.77.0.2/24 --timeout 2s --once; echo "tunnel $?"
        rm -f $TMPDIR/*; ip link set lo down"#
    );
    let test = "a_sender_without_a_route_is_told_so_at_once";
    let Some(output) = alone(test, &["ip"], &script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "send 1\ntunnel 1\n", "{err}");
    let why = "this machine cannot send there: Network is unreachable";
    assert_eq!(err.matches(why).count(), 2, "{err}");
    assert!(err.contains(&format!("192.0.2.1:5311: {why}")), "{err}");
}

#[test]
fn a_receiver_whose_output_nobody_reads_ends_when_it_is_asked_to() {
    let folder = Folder::new("wire-unread");
    let (path, content) = file(&folder, "in", 1_000_000);
    let mut receiver =
        program(&["recv", "--listen", "127.0.0.1:0", "-o", "-"]).spawn().expect("it starts");
    // Both lines are on standard error, since the file goes to standard output.
    let mut said = BufReader::new(receiver.stderr.take().expect("a pipe")).lines();
    let mut word = |before: &str| {
        let line = said.next().expect("a line").expect("text");
        line.strip_prefix(before).unwrap_or_else(|| panic!("{line}")).to_string()
    };
    let (at, key) = (word("listening at "), word("key "));
    // With --retry 0 the sender does not wait for a restarted receiver.
    let arguments = ["send", &path, &at, "--key", &key, "--retry", "0"];
    let mut sender = program(&arguments).spawn().expect("it starts");
    // The first bytes have arrived. The pipe of standard output fills up, and the receiver waits
    // for room.
    let mut out = receiver.stdout.take().expect("a pipe");
    let mut came = vec![0; 1];
    out.read_exact(&mut came).expect("a byte");
    std::thread::sleep(Duration::from_millis(1500));
    let pid = receiver.id().to_string();
    let asked = std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
    assert!(asked.success());
    assert_eq!(wait(&mut receiver, 100), Some(0));
    assert_eq!(wait(&mut sender, 100), Some(1));
    // The output is the beginning of the file.
    out.read_to_end(&mut came).expect("bytes");
    assert!(came.len() < content.len() && content.starts_with(&came));
}
