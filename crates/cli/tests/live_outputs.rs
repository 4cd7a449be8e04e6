//! Output of emulations: logs, captures, summaries, meters, and `paceline gap`. Each test makes its
//! own network. Without the right to make networks, tests are skipped and say so on standard error.

mod common;

use std::process::{Command, Output, Stdio};

use paceline_testing::{Folder, Need, skip};
use serde_json::Value;

/// Runs a script in its own network: `$P` is the program, `$D` a folder for files. Returns `None`
/// if the test is skipped.
fn alone(test: &str, folder: &Folder, script: &str) -> Option<Output> {
    let mut unshare = None;
    for options in [&["--net", "--mount"][..], &["--map-root-user", "--net", "--mount"]] {
        let mut tried = Command::new("unshare");
        tried.args(options).args(["sh", "-c", "exec 3<>/dev/net/tun"]).stdin(Stdio::null());
        if tried.output().is_ok_and(|output| output.status.success()) {
            unshare = Some(options);
            break;
        }
    }
    let Some(options) = unshare else {
        skip(Need::Net, test, "no network namespace or no /dev/net/tun");
        return None;
    };
    let output = Command::new("timeout")
        .args(["--signal=KILL", "300", "unshare"])
        .args(options)
        .args(["sh", "-c", script])
        .env("P", env!("CARGO_BIN_EXE_paceline"))
        .env("D", folder.path(""))
        .env("TMPDIR", folder.path(""))
        .env_remove("MAHIMAHI_SHELL_PREFIX")
        .stdin(Stdio::null())
        .output();
    Some(output.expect("sh runs"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the packets of each interface of a pcapng file, and how many packets have a comment.
fn packets(file: &[u8]) -> (Vec<u64>, u64) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut counts, mut comments, mut at) = (Vec::new(), 0, 0);
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        match kind {
            1 => counts.push(0),
            6 => {
                counts[word(at + 8) as usize] += 1;
                let captured = word(at + 20) as usize;
                let options = at + 28 + captured.next_multiple_of(4);
                comments += u64::from(word(options) & 0xffff == 1);
            }
            _ => {}
        }
        at += length;
    }
    (counts, comments)
}

#[test]
fn all_outputs_tell_of_the_same_packets() {
    let folder = Folder::new("outputs");
    let script = "cd $D && exec $P link --up 24Mbps --down 24Mbps --buffer 20 --meter \
        --json sum --log log --pcap cap --releases rel --report page \
        --outside '$P traffic receive --bytes bytes' \
        -- $P traffic send reno --duration 2500ms --counts counts";
    let Some(output) = alone("all_outputs_tell_of_the_same_packets", &folder, script) else {
        return;
    };
    let err = text(&output.stderr);
    assert!(output.status.success(), "{err}");
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap_or_else(|_| panic!("{name}"));
    let sum: Value = serde_json::from_slice(&read("sum")).expect("JSON");
    let (capture, comments) = packets(&read("cap"));
    for (side, log, ins) in [("up", "log.up", 0), ("down", "log.down", 3)] {
        let log = text(&read(log));
        let lines = |kind: &str| -> (u64, u64) {
            let words = log.lines().filter(|line| !line.starts_with('#'));
            let words = words.map(|line| line.split(' ').collect::<Vec<_>>());
            let sizes = words.filter(|words| words[1] == kind);
            let sizes = sizes.map(|words| words[if kind == "d" { 3 } else { 2 }].parse::<u64>());
            sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size.expect("a size")))
        };
        let told = &sum[side];
        let (arrivals, departures, drops) = (lines("+").0, lines("-").0, lines("d").0);
        assert!(departures > 100, "{side}: {departures}");
        assert_eq!(told["packets"], departures);
        assert_eq!(told["drops"], drops);
        assert_eq!(told["sent_packets"], departures);
        assert_eq!(capture[ins..ins + 3], [arrivals, departures, drops]);
        let seconds = told["duration_s"].as_f64().expect("a number");
        let (_, offered) = lines("#");
        let wanted = told["capacity_mbps"].as_f64().expect("a number") * seconds / 8e-6;
        // The log has no line for the last, unfinished millisecond.
        assert!((wanted - offered as f64).abs() < 3200.0, "{side}: {offered} of {wanted}");
        let releases = text(&read("rel"));
        let released = releases.lines().filter(|line| line.starts_with(side)).count();
        assert_eq!(released as u64, departures);
    }
    let drops = sum["up"]["drops"].as_u64();
    assert!(drops > Some(0), "reno fills 20 packets");
    assert_eq!(Some(comments), drops, "every drop is explained, and nothing else");
    assert!(text(&read("page/emulation.html")).contains("24Mbps"));
    assert!(text(&read("page/up.svg")).starts_with("<svg"));
    let meter = err.lines().find(|line| line.contains("up ")).expect("a line per second");
    assert!(meter.contains(" of 24.0 Mbit/s, queue ") && meter.contains("; down "), "{meter}");
    assert!(!err.contains('\x1b'), "no escapes but on a terminal: {err}");
}

#[test]
fn the_last_lines_tell_the_figures_of_the_summary() {
    let folder = Folder::new("last-lines");
    // Packets are on their way behind the link at the end, and those of the warm-up do not count.
    let script = "cd $D && exec $P link --up 12Mbps --down 12Mbps --delay 300ms --warmup 1s --json sum \
        --outside '$P traffic receive --bytes bytes' \
        -- $P traffic send reno --duration 3s --counts counts";
    let Some(output) = alone("the_last_lines_tell_the_figures_of_the_summary", &folder, script)
    else {
        return;
    };
    let err = text(&output.stderr);
    assert!(output.status.success(), "{err}");
    let sum = std::fs::read(folder.path("sum")).expect("a summary");
    let sum: Value = serde_json::from_slice(&sum).expect("JSON");
    for way in ["up", "down"] {
        let (packets, mbps) = (&sum[way]["packets"], sum[way]["throughput_mbps"].as_f64());
        let told =
            format!("{way} {packets} packets at {:.3} Mbit/s, 0 lost", mbps.expect("a number"));
        assert!(err.contains(&told), "{told}: {err}");
    }
    assert!(sum["up"]["packets"] != sum["up"]["sent_packets"], "{sum}");
    assert!(err.contains(" s, links counted from 1 s on"), "{err}");
}

#[test]
fn a_full_disk_ends_the_log_but_not_the_run() {
    let folder = Folder::new("full");
    folder.write("trace", b"1\n");
    let script = "cd $D && exec $P mm-link trace trace \
        --uplink-log=/dev/full --downlink-log=log -- sh -c 'sleep 0.3; exit 5'";
    let Some(output) = alone("a_full_disk_ends_the_log_but_not_the_run", &folder, script) else {
        return;
    };
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{err}");
    let about: Vec<&str> = err.lines().filter(|line| line.contains("/dev/full")).collect();
    assert_eq!(about.len(), 1, "{err}");
    assert!(about[0].contains("No space left"), "{err}");
    let log = std::fs::read_to_string(folder.path("log")).expect("the other log");
    assert!(log.starts_with("# mahimahi mm-link (Downlink) [trace] > log\n# command line: "));
    // There is one opportunity per millisecond, although nothing was sent.
    assert!(log.lines().filter(|line| line.ends_with(" # 1504")).count() > 250, "{log}");
}

#[test]
fn a_full_disk_is_told_of_whatever_was_to_be_written() {
    let folder = Folder::new("all-full");
    let script = "for option in --json --pcap --releases; do\n\
        $P link --up 12Mbps --down 12Mbps $option /dev/full -- sh -c \
        'ping -n -c 3 -i 0.02 $PACELINE_BASE > /dev/null; exit 5'; echo $?; done";
    let test = "a_full_disk_is_told_of_whatever_was_to_be_written";
    let Some(output) = alone(test, &folder, script) else { return };
    let err = text(&output.stderr);
    assert_eq!(text(&output.stdout), "5\n5\n5\n", "{err}");
    assert_eq!(err.matches("/dev/full").count(), 3, "{err}");
    assert_eq!(err.matches("No space left").count(), 3, "{err}");
}

#[test]
fn fragments_and_warm_up_are_counted() {
    let folder = Folder::new("fragments");
    let script = "cd $D && $P link --up 24Mbps --down 24Mbps --buffer 10 --json sum --warmup 4s \
        -q -- sh -c 'ping -n -c 2 -i 0.01 -s 4000 $PACELINE_BASE > /dev/null; sleep 4.2; \
        ping -n -c 3 -i 0.01 -s 1000 $PACELINE_BASE > /dev/null'";
    let Some(output) = alone("fragments_and_warm_up_are_counted", &folder, script) else { return };
    let err = text(&output.stderr);
    assert!(output.status.success(), "{err}");
    let sum = std::fs::read(folder.path("sum")).expect("a summary");
    let sum: Value = serde_json::from_slice(&sum).expect("JSON");
    let up = &sum["up"];
    // A datagram of 4008 bytes becomes three pieces.
    assert_eq!((&up["received_fragments"], &up["received_packets"]), (&6.into(), &9.into()));
    assert_eq!((&up["packets"], &sum["warmup_s"]), (&3.into(), &4.0.into()), "{sum}");
    let (whole, counted) = (sum["duration_s"].as_f64(), up["duration_s"].as_f64());
    assert!((whole.expect("a number") - counted.expect("a number") - 4.0).abs() < 1e-6, "{sum}");
    assert!((up["capacity_mbps"].as_f64().expect("a number") - 24.0).abs() < 0.1, "{sum}");
}

#[test]
fn gap_has_both_sides() {
    let folder = Folder::new("gap");
    // If it may, the emulator runs ahead of the machine's other programs.
    let script = "chrt -f 1 true 2>/dev/null && ahead=--realtime; \
                  $P gap $ahead --trace 12Mbps --schemes reno --duration 5s --buffer 60 --rtt 40ms --json -q; \
                  s=$?; ls $TMPDIR >&2; exit $s";
    let Some(output) = alone("gap_has_both_sides", &folder, script) else { return };
    let err = text(&output.stderr);
    if err.contains("but no `reno`") {
        return skip(Need::Kernel, "gap_has_both_sides", &err);
    }
    assert!(output.status.success(), "{err}");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = all["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["trace"], &rows[0]["scheme"]), (&"12Mbps".into(), &"newreno".into()));
    // Only checks that it runs; docs/gap.md has how near real runs are to simulated ones. A sender
    // that has to wait for a processor does not fill the link.
    for (side, least) in [("simulated", 0.85), ("emulated", 0.1)] {
        let side = &rows[0][side];
        let number = |name: &str| side[name].as_f64().unwrap_or(f64::NAN);
        assert!((number("capacity_mbps") - 12.0).abs() < 0.01, "{side}");
        assert!((least..=1.0).contains(&number("utilization")), "{side}");
        assert!((least * 11.0..12.0).contains(&number("goodput_mbps")), "{side}");
        // 60 packets wait at most 60 ms.
        assert!(side["queue_delay_ms"]["p95"].as_f64() < Some(62.0), "{side}");
        assert!(number("retransmits") > 0.0 && number("drops") > 0.0, "{side}");
    }
    assert!(!err.contains("paceline-gap"), "its files are gone: {err}");
}

#[test]
fn gap_refuses_what_the_kernel_has_not() {
    let refused = |arguments: &[&str]| {
        let seen = common::paceline(arguments);
        assert_ne!(seen.code, 0);
        assert_eq!(seen.out, "");
        seen.err
    };
    assert!(refused(&["gap", "--schemes", "cubic[beta=0.5]"]).contains("takes no parameters"));
    let err = refused(&["gap", "--trace", "12Mbps", "--schemes", "prague", "--duration", "1s"]);
    assert!(err.contains("prague") && err.contains("modprobe"), "{err}");
    let err = refused(&["gap", "--trace", "12Mbps", "--schemes", "c2tcp", "--duration", "1s"]);
    assert!(err.contains("--kernel c2tcp"), "{err}");
}

#[test]
fn a_run_begins_with_its_trigger() {
    let folder = Folder::new("trigger");
    // The large packets come after 1.5 s, later than the trace of before has ended its burst.
    let script = "cd $D && $P link --up 24Mbps --down 24Mbps --log run --json sum --start-on data --warmup 1s -q \
        -- sh -c 'ping -n -c 2 -i 0.01 $PACELINE_BASE > /dev/null; sleep 1.5; \
        ping -n -c 5 -i 0.3 -s 1000 $PACELINE_BASE > /dev/null'; echo $?\n\
        $P link --up 24Mbps --down 24Mbps --start-on data/tcp --fail-if 'loss>50%' -q -- ping -n -c 1 $PACELINE_BASE \
        > /dev/null; echo $?\n\
        $P link --up 24Mbps --down 24Mbps --start-on file:sum -- true; echo $?";
    let Some(output) = alone("a_run_begins_with_its_trigger", &folder, script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "0\n1\n2\n", "{err}");
    assert!(err.contains("the event of --start-on has not come"), "{err}");
    assert!(err.contains("file:sum: the file exists already"), "{err}");
    let sum = std::fs::read(folder.path("sum")).expect("a summary");
    let sum: Value = serde_json::from_slice(&sum).expect("JSON");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{sum}"));
    assert!(number(&sum["waited_s"]) > 1.5, "{sum}");
    // The first packet of data is at the start, and the warm-up leaves it out.
    assert!(number(&sum["up"]["first_data_s"]) < 0.01, "{sum}");
    assert_eq!(sum["up"]["received_packets"], 5, "{sum}");
    assert!(number(&sum["up"]["packets"]) < 4.0, "{sum}");
    let log = std::fs::read_to_string(folder.path("run.up")).expect("a log");
    assert_eq!(log.lines().filter(|line| line.contains(" + ")).count(), 5, "{log}");
}
