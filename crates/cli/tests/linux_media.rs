//! Video and audio over the TCP connections of Linux hosts. Skipped without a built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;

use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");

/// Runs a scenario of 10 s over a link of `rate` with an RTT of 40 ms, whose flow has these keys.
fn run(name: &str, rate: &str, keys: &str) -> Value {
    let folder = Folder::new(name);
    let text = format!(
        "duration = \"10s\"\n[[link]]\nname = \"there\"\nrate = \"{rate}\"\nbuffer = 60\n\
         [[link]]\nname = \"back\"\nrate = \"{rate}\"\nbuffer = 60\n\
         [[flow]]\nname = \"call\"\nhost = \"linux\"\npath = [\"there\"]\nback = [\"back\"]\nrtt = \"40ms\"\n{keys}"
    );
    let scenario = folder.write("media.toml", text.as_bytes());
    let output = Command::new(PROGRAM).args(["run", &scenario, "--json"]).output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns true, and prints that the test is skipped, without a guest.
fn is_skipped() -> bool {
    let found = paceline_guest::find(None);
    if let Err(error) = &found {
        skip(Need::Linux, &this_test(), &error.to_string());
    }
    found.is_err()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_video_follows_what_tcp_delivers() {
    if is_skipped() {
        return;
    }
    let video = "video = { min = \"100kbps\", max = \"4Mbps\", noise = 0.0 }\n";
    // Room for the video's highest rate: frames of a few packets, over a path of 20 ms.
    let wide = run("media-wide", "20Mbps", video);
    let flow = &wide["flows"][0];
    assert!((3.3..4.2).contains(&number(&flow["frames"]["video_mbps"])), "{flow}");
    assert!((20.0..60.0).contains(&number(&flow["frames"]["frame_delay_ms"]["p50"])), "{flow}");
    assert!(
        number(&flow["frames"]["frozen"]) < 0.02 && number(&flow["frames"]["made"]) > 290.0,
        "{flow}"
    );
    assert_eq!(run("media-wide", "20Mbps", video)["digest"], wide["digest"]);
    // A quarter of it: the encoder adapts, and what waits is bounded.
    let narrow = run("media-narrow", "1Mbps", video);
    let flow = &narrow["flows"][0];
    assert!((0.5..1.0).contains(&number(&flow["frames"]["video_mbps"])), "{flow}");
    assert!(number(&flow["frames"]["frame_delay_ms"]["p50"]) < 1500.0, "{flow}");
    // TCP loses no data: each frame is shown but those that the encoder leaves out.
    assert_eq!(flow["frames"]["dropped_frames"], flow["frames"]["skipped"], "{flow}");
}

#[test]
fn audio_is_written_packet_by_packet() {
    if is_skipped() {
        return;
    }
    let outcome = run("media-audio", "1Mbps", "audio = {}\n");
    let flow = &outcome["flows"][0];
    let delay = number(&flow["audio"]["audio_delay_ms"]["p50"]);
    // 20 ms of path, and the time of 130 bytes at 1 Mbit/s.
    assert!((20.0..23.0).contains(&delay), "{flow}");
    assert_eq!(
        (number(&flow["audio"]["audio_lost"]), number(&flow["audio"]["made"])),
        (0.0, 500.0),
        "{flow}"
    );
}

#[test]
fn a_call_has_hosts_in_both_directions() {
    if is_skipped() {
        return;
    }
    let outcome = run("media-call", "4Mbps", "call = {}\n");
    let flows = outcome["flows"].as_array().expect("flows");
    let names: Vec<&str> = flows.iter().filter_map(|flow| flow["name"].as_str()).collect();
    assert_eq!(names, ["call", "call-audio", "call-back", "call-back-audio"]);
    for flow in [&flows[0], &flows[2]] {
        assert!(flow["scheme"].as_str().is_some_and(|name| name.starts_with("linux:")), "{flow}");
        assert!(number(&flow["frames"]["video_mbps"]) > 1.0, "{flow}");
    }
}
