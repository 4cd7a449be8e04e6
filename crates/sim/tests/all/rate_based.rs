//! Schemes that set a rate: PCC Vivace (NSDI 2018) and Google congestion control with its video.

use paceline_cc::{Rate, Span};
use paceline_path::{BufferSize, Loss};
use paceline_sim::metrics::jain;
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, Record, Scenario, Video, Workload, check_scheme, parse,
};
use paceline_sim::{FlowSeries, Outcome, run};

/// One link with a buffer of `buffer` packets, RTT 100 ms.
fn scenario(capacity: Capacity, buffer: u64, seconds: u64, warmup: u64) -> Scenario {
    let mut scenario = Scenario::new("rate based");
    scenario.duration = Span::from_secs(seconds);
    scenario.warmup = Span::from_secs(warmup);
    let mut link = LinkSpec::new("link", capacity);
    link.buffer = BufferSize::Packets(buffer);
    scenario.links.push(link);
    scenario
}

fn mbps(rate: f64) -> Capacity {
    Capacity::Constant(Rate::from_mbps(rate))
}

fn flow(scheme: &str) -> FlowSpec {
    FlowSpec::bulk(check_scheme(scheme).expect(scheme), &["link"])
}

fn video(scheme: &str) -> FlowSpec {
    flow(scheme).with(|flow| flow.workload = Workload::Video(Video::default()))
}

fn alone(scheme: &str) -> Outcome {
    let mut scenario = scenario(mbps(12.0), 250, 60, 10);
    scenario.flows.push(flow(scheme));
    run(&scenario).expect("runs")
}

const RULES: [&str; 3] = ["kernel", "nsdi2018", "paper"];

#[test]
fn vivace_uses_a_link() {
    for rule in RULES {
        for utility in ["latency", "loss"] {
            let outcome = alone(&format!("vivace[rule={rule},utility={utility}]"));
            let used = outcome.links[0].utilization;
            assert!(used > 0.9, "{rule}, {utility}: {used}");
        }
    }
}

/// Paper §3.2: with the latency utility no standing queue forms; with the loss utility only losses
/// limit the rate.
#[test]
fn vivace_latency_keeps_the_queue_shorter() {
    for rule in RULES {
        let delay = |utility: &str| {
            let outcome = alone(&format!("vivace[rule={rule},utility={utility}]"));
            outcome.links[0].queue_delay_ms.mean
        };
        let (latency, loss) = (delay("latency"), delay("loss"));
        assert!(latency < 0.25 * loss, "{rule}: {latency} ms against {loss} ms");
    }
}

/// Paper §5.2: flows with the same utility converge to equal shares. The speed depends on the rule,
/// so that each rule is judged over the last 100 s of its own duration.
///
/// All rules once had 200 s, in which `rule=paper` passed by the luck of one seed: of the seeds 1
/// to 20, 20 have an index above 0.9 with `kernel` and `nsdi2018`, and 7 with `paper` (minimum
/// 0.70, median 0.83, the first flow ahead in each). After 600 s all 20 are at 1.000 with `paper`
/// too: its steps are a share of the rate and grow only while the direction stays the same, so it
/// converges, but slowly.
#[test]
fn two_vivace_flows_converge() {
    for (rule, seconds) in [("kernel", 200), ("nsdi2018", 200), ("paper", 600)] {
        for seed in 1..=3 {
            let mut scenario = scenario(mbps(24.0), 250, seconds, seconds - 100);
            scenario.seed = seed;
            for start in [0, 20] {
                let mut flow = flow(&format!("vivace[rule={rule},utility=loss]"));
                flow.start = Span::from_secs(start);
                scenario.flows.push(flow);
            }
            let outcome = run(&scenario).expect("runs");
            let shares: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput_mbps).collect();
            assert!(jain(&shares) > 0.9, "{rule}, seed {seed}: {shares:?}");
        }
    }
}

/// Paper §5.1.1: random losses cause almost no harm.
#[test]
fn one_per_cent_of_loss_hurts_cubic_and_not_vivace() {
    let used = |scheme: &str| {
        let mut scenario = scenario(mbps(24.0), 250, 60, 10);
        let mut flow = flow(scheme);
        flow.data.impairments.loss = Loss::Bernoulli(0.01);
        scenario.flows.push(flow);
        run(&scenario).expect("runs").links[0].utilization
    };
    let cubic = used("cubic");
    for rule in RULES {
        let vivace = used(&format!("vivace[rule={rule},utility=loss]"));
        assert!(vivace > 0.85 && vivace > 3.0 * cubic, "{rule}: {vivace} against {cubic}");
    }
}

/// Returns the mean of a flow's goodput between two seconds.
fn mean(series: &FlowSeries, from: u64, to: u64) -> f64 {
    let at = |second: u64| (second as f64 / series.bin_s) as usize;
    let bins = &series.goodput_mbps[at(from)..at(to)];
    bins.iter().sum::<f64>() / bins.len() as f64
}

const VARIANTS: [&str; 2] = ["mmsys2016", "libwebrtc"];

#[test]
fn video_over_gcc_has_a_sane_share_and_little_delay() {
    for variant in VARIANTS {
        let mut scenario = scenario(mbps(2.0), 250, 90, 30);
        scenario.flows.push(video(&format!("gcc[variant={variant}]")));
        let outcome = run(&scenario).expect("runs");
        let (link, flow) = (&outcome.links[0], &outcome.flows[0]);
        let frames = flow.frames.expect("a video");
        assert!((0.7..1.0).contains(&link.utilization), "{variant}: {}", link.utilization);
        assert!(link.queue_delay_ms.p95 < 150.0, "{variant}: {:?}", link.queue_delay_ms);
        // Half of 100 ms, the frame's own 30 ms, some queueing delay at the link, and some in the sender:
        // pacing at 1.1 times the target and an encoder that overshoots falls keep frames back. The bound
        // was 120 ms with pacing at 2.5 times the target.
        assert!(frames.delay_ms.p50 < 160.0, "{variant}: {frames:?}");
        assert_eq!(flow.sender.retransmits, 0);
        assert!(frames.delivered as f64 > 0.95 * 60.0 * 30.0, "{variant}: {frames:?}");
    }
}

#[test]
fn gcc_backs_off_within_a_second_and_recovers() {
    for variant in VARIANTS {
        let steps = [(0, 3.0), (40, 1.0), (60, 3.0)];
        let steps: Vec<_> =
            steps.map(|(at, rate)| (Span::from_secs(at), Rate::from_mbps(rate))).to_vec();
        let mut scenario = scenario(Capacity::Schedule { steps, period: None }, 1000, 100, 0);
        scenario.record = Record::Series(Span::from_millis(100));
        scenario.flows.push(video(&format!("gcc[variant={variant},initial_rate=1Mbps]")));
        let outcome = run(&scenario).expect("runs");
        let series = outcome.flows[0].series.as_ref().expect("recorded");
        let targets = series.state.iter().find(|(name, _)| *name == "target");
        let target = |tenths: usize| targets.map_or(f64::NAN, |(_, values)| values[tenths]);
        assert!(target(395) > 2.0, "{variant}: {} before", target(395));
        assert!(target(411) < 1.0, "{variant}: {} after a second", target(411));
        assert!(mean(series, 50, 60) > 0.7, "{variant}: {}", mean(series, 50, 60));
        assert!(mean(series, 90, 100) > 1.8, "{variant}: {}", mean(series, 90, 100));
    }
}

/// Next to Cubic in a deep buffer the media flow survives with much less than half, and recovers
/// when Cubic has gone. The upper bound is ours; it was 1.5 Mbit/s until Cubic's HyStart handled
/// every acknowledgement as Linux' does, which makes Cubic leave slow start earlier.
/// The lower bound was 0.1 and 0.04 until GCC's least rate was libwebrtc's, 30 kbit/s.
#[test]
fn gcc_yields_to_cubic_in_a_deep_buffer_and_comes_back() {
    for (variant, least) in [("mmsys2016", 0.02), ("libwebrtc", 0.02)] {
        let mut scenario = scenario(mbps(6.0), 250, 140, 0);
        scenario.record = Record::Series(Span::from_secs(1));
        let mut call = video(&format!("gcc[variant={variant},initial_rate=1Mbps]"));
        if let (Workload::Video(video), "mmsys2016") = (&mut call.workload, variant) {
            // The encoder of that time took all of the rate. One that leaves room stays below 1 Mbit/s afterwards in
            // five of eight seeds.
            video.overshoot_window = Span::ZERO;
        }
        scenario.flows.push(call);
        let mut other = flow("cubic");
        (other.start, other.stop) = (Span::from_secs(20), Some(Span::from_secs(80)));
        scenario.flows.push(other);
        let outcome = run(&scenario).expect("runs");
        let series = outcome.flows[0].series.as_ref().expect("recorded");
        let (before, beside) = (mean(series, 15, 20), mean(series, 40, 80));
        assert!(before > 2.0, "{variant}: {before}");
        assert!((least..2.0).contains(&beside), "{variant}: {beside} of 6 Mbit/s");
        let after = mean(series, 130, 140);
        assert!(after > 2.0, "{variant}: {after} after {beside}");
    }
}

#[test]
fn a_bulk_flow_over_gcc_keeps_to_its_target() {
    let mut scenario = scenario(mbps(6.0), 250, 90, 60);
    scenario.flows.push(flow("gcc[initial_rate=2Mbps]"));
    let outcome = run(&scenario).expect("runs");
    let link = &outcome.links[0];
    assert!((0.75..1.0).contains(&link.utilization), "{}", link.utilization);
    assert!(link.queue_delay_ms.p95 < 150.0, "{:?}", link.queue_delay_ms);
}

/// Schemes without their own target: the encoder uses the rate that they would allow.
#[test]
fn video_adapts_to_schemes_without_a_target() {
    for scheme in ["cubic", "bbr", "abc", "vivace"] {
        let mut scenario = scenario(mbps(6.0), 250, 40, 20);
        scenario.flows.push(video(scheme));
        let outcome = run(&scenario).expect("runs");
        let flow = &outcome.flows[0];
        let frames = flow.frames.expect("a video");
        // The link has room for the encoder's maximum rate.
        assert!((2.2..2.8).contains(&flow.goodput_mbps), "{scheme}: {}", flow.goodput_mbps);
        assert!(frames.delay_ms.p95 < 200.0, "{scheme}: {frames:?}");
    }
}

/// A frame counts as delivered only if all of its packets arrive. GCC sends lost packets again if the receiver asks for
/// them. If it asks for none, those frames are lost, and the picture stands still until a key frame comes, for which
/// the receiver asks.
#[test]
fn lost_packets_cost_frames_unless_they_are_sent_again() {
    let frames = |scheme: &str, requests: u32, key_gap: Span| {
        let mut scenario = scenario(mbps(6.0), 250, 40, 0);
        let mut flow = video(scheme);
        flow.data.impairments.loss = Loss::Bernoulli(0.01);
        if let Workload::Video(video) = &mut flow.workload {
            (video.requests, video.key_gap) = (requests, key_gap);
        }
        scenario.flows.push(flow);
        run(&scenario).expect("runs").flows[0].frames.expect("a video")
    };
    // Between two and nine packets per frame.
    for (scheme, later) in [("gcc[initial_rate=2Mbps]", 50.0), ("nada", 50.0), ("scream", 20.0)] {
        let lossy = frames(scheme, 0, Span::ZERO);
        let lost = lossy.made - lossy.delivered;
        assert!((0.01..0.1).contains(&(lost as f64 / lossy.made as f64)), "{scheme}: {lossy:?}");
        // Repaired by request, and as by TCP. All arrive except those that are still under way at the end.
        let asked = frames(scheme, 10, Span::ZERO);
        assert!(asked.made - asked.delivered <= 10, "{scheme}: {asked:?}");
        assert!(asked.delay_ms.p99 > lossy.delay_ms.p99 + later, "{scheme}: {asked:?} {lossy:?}");
        assert!(asked.frozen < 0.25 && lossy.frozen > 0.9, "{scheme}: {asked:?} {lossy:?}");
        let keys = frames(scheme, 0, Span::from_millis(300));
        assert!(asked.frozen < keys.frozen && keys.frozen < 0.7, "{scheme}: {asked:?} {keys:?}");
        // No key frame, so none is given up.
        assert_eq!((asked.dropped, lossy.dropped), (asked.skipped, lossy.skipped));
        assert!(keys.dropped > keys.made - keys.delivered && keys.freezes > 10, "{keys:?}");
    }
}

/// A fall of the rate fills the queue beyond the congestion window. If the last packets before the encoder leaves
/// out frames are lost, no report comes that tells of a window with room again.
#[test]
fn a_call_goes_on_after_all_packets_in_flight_are_lost() {
    let text = r#"
        duration = "60s"
        warmup = "40s"

        [[link]]
        name = "down"
        schedule = [{ at = "0s", rate = "3Mbps" }, { at = "20s", rate = "600kbps" }, { at = "30s", rate = "3Mbps" }]
        buffer = "300ms"

        [[flow]]
        name = "call"
        scheme = "gcc[initial_rate=1Mbps]"
        rtt = "60ms"
        data = { loss = 0.01, jitter = "5ms" }
        video = { max = "2Mbps" }
    "#;
    let scenario = parse("call", text, None).expect("a scenario");
    for seed in 1..=40 {
        let outcome = run(&scenario.clone().with(|scenario| scenario.seed = seed)).expect("runs");
        let rate = outcome.flows[0].goodput_mbps;
        // It was 0.3 for 20 seeds while lost packets were not sent again: three of 40 calls were below 0.5.
        assert!(rate > 0.5, "seed {seed}: {rate} Mbit/s from 10 s after the link's return on");
    }
}

/// Video and audio in both directions: data and acknowledgements of the way back change sides.
#[test]
fn a_call_is_four_flows() {
    let text = r#"
        duration = "20s"

        [[link]]
        name = "down"
        rate = "3Mbps"

        [[link]]
        name = "up"
        rate = "1Mbps"

        [[flow]]
        name = "call"
        scheme = "gcc"
        path = ["down"]
        back = ["up"]
        data = { loss = 0.02 }
        call = { video = { max = "800kbps" }, audio = { rate = "24kbps" } }
    "#;
    let scenario = parse("call", text, None).expect("a scenario");
    let outcome = run(&scenario).expect("runs");
    let names: Vec<&str> = outcome.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["call", "call-audio", "call-back", "call-back-audio"]);
    for flow in &outcome.flows {
        let is_back = flow.name.starts_with("call-back");
        let is_audio = flow.name.ends_with("-audio");
        assert_eq!((flow.audio.is_some(), flow.frames.is_some()), (is_audio, !is_audio));
        if let Some(audio) = flow.audio {
            // 110 bytes 50 times a second, and half of 100 ms there.
            assert!((0.04..0.05).contains(&flow.goodput_mbps), "{flow:?}");
            // The flow begins some milliseconds after zero.
            assert!((990..=1001).contains(&audio.made), "{audio:?}");
            assert!((50.0..400.0).contains(&audio.delay_ms.p95), "{audio:?}");
            // The loss is on the way down alone.
            assert_eq!(audio.lost > 0.005, !is_back, "{audio:?}");
        }
    }
    let no_way_back = text.replace("back = [\"up\"]", "");
    let error = parse("call", &no_way_back, None).expect_err("no way back");
    assert!(error.to_string().contains("a call needs the links of both directions"), "{error}");
}

/// Any audio without a scheme leaves when it is made: the scheme of a call's audio sent at 600 kbit/s.
#[test]
fn audio_without_a_scheme_waits_for_nothing() {
    let path = "[[link]]\nname = \"down\"\nrate = \"50Mbps\"\n[[link]]\nname = \"up\"\nrate = \"50Mbps\"\n";
    let flow = "[[flow]]\npath = [\"down\"]\nback = [\"up\"]\nrtt = \"40ms\"\n";
    for audio in [
        "{}",
        "{ rate = \"1kbps\", packets_per_s = 1 }",
        "{ rate = \"1kbps\", packets_per_s = 1000 }",
        "{ rate = \"510kbps\", packets_per_s = 60 }",
        "{ rate = \"510kbps\", packets_per_s = 500 }",
        "{ rate = \"510kbps\", packets_per_s = 1000 }",
    ] {
        let alone = format!("audio = {audio}\n");
        let call = format!("scheme = \"gcc\"\ncall = {{ audio = {audio} }}\n");
        for workload in [alone, call] {
            let text = format!("duration = \"20s\"\n{path}{flow}{workload}");
            let outcome = run(&parse("audio", &text, None).expect("a scenario")).expect("runs");
            let all = outcome.flows.iter().filter_map(|flow| Some((&flow.name, flow.audio?)));
            let mut count = 0;
            for (name, audio) in all {
                assert!(name.contains("audio"), "{name}");
                assert!(audio.delay_ms.p95 <= 22.0, "{workload}{name}: {audio:?}");
                assert_eq!(audio.lost, 0.0, "{workload}{name}: {audio:?}");
                count += 1;
            }
            assert_eq!(count, if workload.starts_with("audio") { 1 } else { 2 });
        }
    }
}
