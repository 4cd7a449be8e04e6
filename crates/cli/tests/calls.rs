//! Calls behind an emulated link: `send` with a synthetic video under `gcc`, `nada` and `scream`, and a real call between two Chromiums
//! (`examples/webrtc`).

#[path = "common/alone.rs"]
mod alone;

use alone::{PROGRAM, alone_within, has, text};
use paceline_testing::{Folder, Need};
use serde_json::Value;

/// Far more seconds than the calls take, on a busy machine.
const LONGEST: u32 = 600;

/// Sends a video of up to 4 Mbit/s for 10 s under `scheme` over UDP, through an emulated link of 800 kbit/s. Its rate must
/// follow the link.
fn video_over_udp(test: &str, scheme: &str) {
    let folder = Folder::new(&format!("call-udp-{scheme}"));
    let script = format!(
        "cd {}\n\
         umask 077; $P key new -o server.key > client.key\n\
         export P; $P link --up 800kbps --down 100Mbps --delay 20ms -q \
         --outside \"$P recv --measure --listen 0.0.0.0:5311 --key-file server.key --once -q\" \
         --wait-for 5311/udp -- sh -c '$P send $PACELINE_BASE:5311 --key-file client.key --scheme {scheme} \
         --duration 10s --workload \"video = {{ max = \\\"4Mbps\\\" }}\" --json -q'; status=$?; cd /; (exit $status)",
        folder.path("")
    );
    let Some(output) = alone_within(test, &[], &script, LONGEST) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let rows: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let row = &rows["runs"][0];
    let figure = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
    // An encoder at its highest rate of 4 Mbit/s would lose four of five packets. On a busy machine the rate is
    // lower, but a rate that follows the link is never above it by much.
    assert!(figure("goodput_mbps") < 0.85 && figure("goodput_mbps") > 0.03, "{row}");
    assert!(figure("lost") < 0.4 * figure("sent"), "{row}");
    assert!(row["frames"]["made"].as_u64().is_some_and(|made| made > 20), "{row}");
}

#[test]
fn a_video_over_udp_follows_the_link_under_gcc() {
    video_over_udp("a_video_over_udp_follows_the_link_under_gcc", "gcc");
}

#[test]
fn a_video_over_udp_follows_the_link_under_nada() {
    video_over_udp("a_video_over_udp_follows_the_link_under_nada", "nada");
}

#[test]
fn a_video_over_udp_follows_the_link_under_scream() {
    video_over_udp("a_video_over_udp_follows_the_link_under_scream", "scream");
}

#[test]
fn two_chromiums_hold_a_call() {
    let test = "two_chromiums_hold_a_call";
    let browsers = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    if !browsers.into_iter().any(has) {
        return paceline_testing::skip(Need::Browser, test, "there is no Chromium");
    }
    let folder = Folder::new("call-webrtc");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/webrtc/compare.py");
    let script = format!(
        "export PYTHONDONTWRITEBYTECODE=1 PACELINE={PROGRAM}\n\
         ip link set lo up; python3 {example} --up 1Mbps --seconds 8 -o {}; status=$?\n\
         ip link set lo down; (exit $status)",
        folder.path("out")
    );
    let Some(output) = alone_within(test, &["python3", "ip"], &script, LONGEST) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let read =
        |name: &str| std::fs::read_to_string(folder.path(&format!("out/{name}"))).expect(name);
    let calls: Value = serde_json::from_str(&read("call.json")).expect("JSON");
    let calls = calls["calls"].as_array().expect("two calls");
    assert_eq!(calls.len(), 2);
    for call in calls {
        let rate = call["rate_mbps"].as_f64().expect("a rate");
        assert!(rate > 0.01 && rate < 1.1, "{}: {rate} Mbit/s over 1 Mbit/s", call["name"]);
        assert!(call["target_mbps"].as_array().is_some_and(|points| points.len() > 10), "{call}");
        assert!(call["frames_per_s"].as_f64().is_some_and(|frames| frames > 0.0), "{call}");
    }
    let page = read("call.html");
    for part in ["Chromium", "simulated gcc", "Target rate", "frames per second", "</svg>"] {
        assert!(page.contains(part), "the page lacks {part}");
    }
}

#[test]
fn a_scenario_with_links_in_one_direction_is_logged_there() {
    let folder = Folder::new("call-log");
    folder.write(
        "call.toml",
        b"duration = \"9s\"\n[[link]]\nname = \"up\"\nrate = \"2Mbps\"\n[[flow]]\nscheme = \"gcc\"\nrtt = \"20ms\"\n",
    );
    let script = format!(
        "cd {}; $P link --scenario call.toml --log log -q -- true; status=$?\n\
         $P link --scenario call.toml --receive --log other -q -- true; cd /; (exit $status)",
        folder.path("")
    );
    let test = "a_scenario_with_links_in_one_direction_is_logged_there";
    let Some(output) = alone_within(test, &[], &script, LONGEST) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let exists = |name: &str| std::path::Path::new(&folder.path(name)).exists();
    let written = ["log.up", "log.down", "other.up", "other.down"].map(exists);
    assert_eq!(written, [true, false, false, true], "{}", text(&output.stderr));
}
