//! `paceline run --pcap`: the packets of Linux hosts as a pcapng file. Tests of whole files are
//! skipped without a built guest; a check by tshark is skipped without it.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "common/pcapng.rs"]
mod pcapng;

use std::path::Path;
use std::process::Command;

use paceline_testing::{Folder, Need, skip, this_test};
use pcapng::{Packet, read};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");
const SCENARIO: &str = "duration = \"2s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\nbuffer = 40\n\
     [[flow]]\nname = \"big\"\nhost = \"linux\"\ncc = \"cubic\"\npath = [\"link\"]\nrtt = \"20ms\"\n\
     [[flow]]\nname = \"own\"\nscheme = \"cubic\"\npath = [\"link\"]\nrtt = \"20ms\"\n";

/// Runs the program; returns its exit status, output and error output.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(PROGRAM).args(arguments).env("NO_COLOR", "1").output();
    let output = output.expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn packets_have_the_times_of_the_simulation() {
    if let Err(error) = paceline_guest::find(None) {
        return skip(Need::Linux, &this_test(), &error.to_string());
    }
    let folder = Folder::new("linux-pcap");
    let scenario = folder.write("two.toml", SCENARIO.as_bytes());
    let file = folder.path("two.pcapng");
    let (code, out, err) = run(&["run", &scenario, "--json", "--pcap", &file]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("simulated flows, which have no bytes: own"), "{err}");
    let captured: Value = serde_json::from_str(&out).expect("JSON");
    let (_, out, _) = run(&["run", &scenario, "--json"]);
    let plain: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(captured["digest"], plain["digest"], "a capture changes nothing");

    let (names, packets) = read(&file);
    assert_eq!(names, ["big.sender", "big.receiver"]);
    assert!(packets.is_sorted_by_key(|packet| packet.nanos));
    let all = |interface: usize, flags: u32| {
        packets.iter().filter(move |it| it.interface == interface && it.flags == flags)
    };
    // A TCP segment with data is longer than one without: 14 + 52 bytes, and SACK blocks.
    let sent = all(0, 2).filter(|packet| packet.length > 200).count();
    let arrived = all(1, 1).filter(|packet| packet.length > 200).count();
    assert_eq!(sent as u64, captured["flows"][0]["sent"].as_u64().expect("a number"));
    let lost = sent - arrived;
    assert!(lost < sent / 4 && arrived > 500, "{sent} sent, {arrived} arrived");
    // Acknowledgements take 10 ms over a path without a queue, and a host's time.
    let first = all(1, 2).next().expect("the receiver's SYN");
    let same = |packet: &&Packet| packet.bytes == first.bytes;
    let arrival = all(0, 1).find(same).expect("it arrives").nanos;
    assert!((10_000_000..15_000_000).contains(&(arrival - first.nanos)), "{arrival}");

    let short = folder.path("short.pcapng");
    let (code, _, err) = run(&["run", &scenario, "-q", "--pcap", &short, "--snaplen", "66"]);
    assert_eq!(code, Some(0), "{err}");
    let (_, cut) = read(&short);
    assert_eq!(cut.len(), packets.len());
    for (cut, whole) in cut.iter().zip(&packets) {
        assert_eq!(cut.bytes, whole.bytes[..whole.bytes.len().min(66)]);
        assert_eq!((cut.length, cut.nanos), (whole.length, whole.nanos));
    }

    let mut tshark = Command::new("tshark");
    tshark.args(["-r", &file, "-o", "tcp.check_checksum:TRUE", "-T", "fields"]);
    let fields = ["frame.time_epoch", "frame.interface_name", "tcp.checksum.status", "ip.src"];
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = tshark.output() else {
        return skip(Need::Programs, &this_test(), "tshark reads the file");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(lines.lines().count(), packets.len());
    for (line, packet) in lines.lines().zip(&packets) {
        let words: Vec<&str> = line.split('\t').collect();
        let time = format!("{}.{:09}", packet.nanos / 1_000_000_000, packet.nanos % 1_000_000_000);
        assert_eq!(words[..2], [time.as_str(), names[packet.interface].as_str()], "{line}");
        let address =
            if (packet.interface == 0) == (packet.flags == 2) { "10.0.0.1" } else { "10.0.0.2" };
        assert_eq!(words[3], address, "{line}");
    }
}

#[test]
fn a_capture_without_bytes_is_refused() {
    let folder = Folder::new("linux-pcap-refused");
    let own = SCENARIO.replace("host = \"linux\"\ncc =", "scheme =");
    let scenario = folder.write("own.toml", own.as_bytes());
    let (code, _, err) = run(&["run", &scenario, "--pcap", &folder.path("own.pcapng")]);
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("no bytes") && err.contains("linux:cubic") && err.contains("paceline link"),
        "{err}"
    );
    assert!(!Path::new(&folder.path("own.pcapng")).exists());

    if let Err(error) = paceline_guest::find(None) {
        return skip(Need::Linux, &this_test(), &error.to_string());
    }
    let scenario = folder.write("two.toml", SCENARIO.as_bytes());
    let file = folder.path("two.pcapng");
    let (code, _, err) = run(&["run", &scenario, "--runs", "2", "--pcap", &file]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("2 runs") && err.contains("--runs 1"), "{err}");
    let (code, _, err) = run(&["run", &scenario, "--pcap", &folder.path("none/two.pcapng")]);
    assert_ne!(code, Some(0), "{err}");
    assert!(err.contains("none/two.pcapng"), "{err}");
    let (code, _, err) = run(&["run", &scenario, "-q", "--pcap", "/dev/full"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("/dev/full"), "{err}");
}
