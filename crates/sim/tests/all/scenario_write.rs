//! Written scenarios read back unchanged, and run unchanged.

use std::path::{Path, PathBuf};

use paceline_cc::{AckPolicy, Rate, Span};
use paceline_flow::{Amount, On, Workload};
use paceline_path::{BufferSize, GilbertElliott, Loss};
use paceline_sim::run;
use paceline_sim::scenario::{
    Arrivals, Capacity, FlowSpec, LinkSpec, McsSpec, Record, Scenario, ScenarioError, StationSpec,
    WifiSpec, check_scheme, keys, load, parse, to_toml,
};
use paceline_wifi::Mcs;

use crate::random::random;

fn write(scenario: &Scenario) -> Result<String, ScenarioError> {
    to_toml(scenario, "a test", &mut |trace| trace.name().to_string())
}

/// Writes and reads back a scenario, and checks that the result is equal in every detail and in its
/// results.
fn returns(scenario: &Scenario, folder: Option<&Path>, seconds: Span) {
    let name = &scenario.name;
    let text = write(scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
    let back = parse(name, &text, folder).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(format!("{back:?}"), format!("{scenario:?}"), "{text}");
    assert_eq!(write(&back).expect("written again"), text);
    let digest = |mut scenario: Scenario| {
        scenario.duration = scenario.duration.min(seconds);
        scenario.warmup = Span::ZERO;
        run(&scenario).expect("runs").digest
    };
    assert_eq!(digest(back), digest(scenario.clone()), "{text}");
}

/// Changes the scenario to the nearest one that files can express. Returns the number of changed
/// amounts.
fn nearest(scenario: &mut Scenario) -> u32 {
    let mut changed = 0;
    scenario.record = Record::Series(Span::from_millis(100 + scenario.seed % 3 * 7));
    let whole = |seconds: f64| Span::from_secs_f64(seconds).as_secs_f64();
    for flow in &mut scenario.flows {
        match &mut flow.workload {
            Workload::OnOff { on, off, .. } => {
                let (On::Time(amount) | On::Bytes(amount)) = on;
                if let Amount::Pareto { shape, scale } = amount {
                    // That of a mean.
                    *scale = 3.0 * *scale * (*shape - 1.0) / *shape;
                }
                if let Amount::Exponential(mean) = amount {
                    *mean = whole(*mean);
                }
                let (Amount::Fixed(mean) | Amount::Exponential(mean)) = *off else { continue };
                *off = Amount::Exponential(whole(mean));
                changed += 1;
            }
            // Files allow at most a million messages per second.
            Workload::Limited { message, .. } => *message = (*message).max(3),
            _ => {}
        }
    }
    changed
}

#[test]
fn random_scenarios_come_back() {
    let (mut changed, mut refused) = (0, 0);
    for seed in 0..SEEDS {
        let mut scenario = random(seed);
        scenario.record = Record::Series(Span::from_millis(100));
        refused += u32::from(write(&scenario).is_err());
        changed += nearest(&mut scenario);
        // Most flows should start within the time of the run below.
        for flow in &mut scenario.flows {
            flow.start = Span::from_nanos(flow.start.as_nanos() / 4);
        }
        returns(&scenario, None, Span::from_millis(1000));
    }
    assert!(refused > 0 && changed >= refused, "{refused} refused, {changed} changed");
}

const SEEDS: u64 = 100;

#[test]
fn example_scenarios_come_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(&folder).expect("a folder").flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let scenario = load(&file).expect("an example");
        returns(&scenario, Some(&folder), Span::from_secs(2));
    }
}

/// Every key with a value that is not the default, one table per line.
const EVERY_KEY: &str = r#"
name = "all"
duration = "3s"
warmup = "1s"
seed = 7
runs = 3
spread = "trace"
host_jitter = "20us"
mss = 1200
bin = "200ms"
[[link]]
name = "steady"
rate = "12345678bps"
queue = "codel[target=7ms]"
buffer = "64kB"
router = "none"
after = { delay = "1234567ns", delay_trace = "tests/data/moves.delay", jitter = "2ms", jitter_sd = "1ms", jitter_shape = "normal", overtake = true, loss = 0.01, burst = 5, reorder = 0.02, reorder_by = "3ms", duplicate = 0.001, slot = "5ms" }
[[link]]
name = "traced"
trace = "lte-driving"
opportunity = 1000
overhead = 14
once = true
router = "abc[eta=0.9]"
[[link]]
name = "steps"
schedule = [{ at = "0s", rate = "6Mbps" }, { at = "1s", rate = "0bps" }, { at = "1500ms", rate = "8Mbps" }]
period = "2s"
[[link]]
name = "air"
[link.wifi]
mcs = [{ at = "0s", mcs = 3 }, { at = "1s", mcs = 5 }]
period = "2s"
max_frames = 16
max_airtime = "4ms"
rts = false
frame_error = 0.03
retries = 4
contenders = 2
contender_airtime = "2ms"
contender_gap = "5ms"
queues = "per-station"
stations = [{ flows = ["one"], mcs = 7, max_frames = 8 }]
[[link]]
name = "walk"
wifi = { mcs = { min = 2, max = 6, every = "500ms" } }
[[flow]]
name = "one"
scheme = "abc+codel"
count = 2
path = ["steady", "air", "walk"]
back = ["steps"]
rtt = "33ms"
data = { delay = "1ms" }
acks = { loss = 0.1 }
start = "10ms"
stop = "2900ms"
stagger = "5ms"
stagger_stop = "6ms"
ack_every = 4
receive_window = 100000
handshake = false
recovery = "newreno"
timestamps = false
slow_start_after_idle = false
ecn = "classic"
bytes = 100000
[[flow]]
scheme = "cubic"
path = ["traced"]
limited = { rate = "1Mbps", message = 500 }
[[flow]]
scheme = "cubic"
path = ["steps"]
on_off = { on = "50ms", off = "70ms", pareto = 1.7, starts_off = false, fresh = false }
[[flow]]
scheme = "cubic"
path = ["steps"]
on_off = { on_bytes = 30000.5, off = "70ms" }
[[flow]]
scheme = "cubic"
path = ["steps"]
on_off = { on_icsi = 16000, off = "200ms" }
[[flow]]
scheme = "gcc"
path = ["steps"]
video = { fps = 25, min = "50kbps", max = "1Mbps", lag = "100ms", fall_lag = "300ms", noise = 0.1, key_every = 50, key_size = 3, requests = 3, key_gap = "1s", small_below = "90kbps", queue = "150ms", overshoot_window = "2s" }
[[flow]]
scheme = "gcc"
path = ["steps"]
audio = { rate = "24kbps", packets_per_s = 25 }
[[flow]]
scheme = "cubic"
path = ["steps"]
arrivals = { per_second = 2.5, bytes = 10000, sizes = "pareto", shape = 1.3 }

[[flow]]
scheme = "xcpb"
path = ["steps"]
station = "phone"
direction = "up"

[[flow]]
scheme = "cubic+codel"
path = []
station = "laptop"

[[medium]]
name = "home"
preamble = "short"
scale = 2
basic_rates = ["2Mbps", "4Mbps"]
rts_above = 500
immediate_access = false
after_collision = "difs"
after_own_collision = "eifs"
transmissions = 5
rate = "22Mbps"
buffer = "30kB"
access_point = { queue = "fq_codel", buffer = 70, router = "none" }

[[medium.station]]
name = "phone"
rates = [{ at = "0s", rate = "22Mbps" }, { at = "1s", rate = "4Mbps" }]
frame_error = 0.1
bit_error = 0.00001
queue = "droptail"
router = "xcpb"

[[medium]]
name = "office"
layer = "802.11g"
protection = true

[[medium.station]]
name = "laptop"
rate = "54Mbps"

[[medium]]
name = "new"
layer = "802.11n"
width = "40MHz"
guard = "short"
band = "2.4GHz"
max_frames = 32
max_airtime = "4ms"
contenders = 3
contender_airtime = "2ms"
contender_gap = "20ms"

[[medium.station]]
name = "desk"
mcs = [{ at = "0s", mcs = 1 }, { at = "2s", mcs = 7 }]
period = "4s"
max_frames = 20

[[medium.station]]
name = "couch"
rate = "minstrel"
snr = [{ at = "0s", snr = 25 }, { at = "5s", snr = 10.5 }]

[[medium.station]]
name = "shelf"
mcs = 15
snr = 30
"#;

/// Fails if the writer does not know a key of scenario files.
#[test]
fn every_key_comes_back() {
    let scenario = parse("all", EVERY_KEY, None).expect("a scenario");
    returns(&scenario, None, Span::from_secs(3));
    let written = write(&scenario).expect("written");
    // Descriptions are for readers and are not in scenarios. Hosts are written as schemes, a call as its flows.
    const NOT_WRITTEN: [&str; 9] =
        ["description", "host", "host_name", "cc", "qdisc", "mtu", "sysctls", "call", "programs"];
    // Programs run at hosts, which this crate does not have.
    let tables = keys();
    let own = tables.iter().filter(|table| table.section != "flow.programs");
    for key in own.flat_map(|table| &table.keys) {
        let name = key.name;
        let there =
            [format!("{name} = "), format!("{name}]")].iter().any(|form| written.contains(form));
        assert!(there || NOT_WRITTEN.contains(&name), "{name} is not written:\n{written}");
    }
}

fn plain() -> Scenario {
    let mut scenario = Scenario::new("plain");
    scenario.record = Record::Series(Span::from_millis(100));
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    scenario.flows.push(FlowSpec::bulk(check_scheme("abc").expect("abc"), &["link"]));
    scenario
}

#[test]
fn defaults_are_left_out() {
    let text = to_toml(&plain(), "Two\nlines", &mut |_| String::new()).expect("written");
    let expected = "# Two\n# lines\nname = \"plain\"\nduration = \"60s\"\n\n\
                    [[link]]\nname = \"link\"\nrate = \"12Mbps\"\n\n\
                    [[flow]]\nscheme = \"abc\"\n";
    assert_eq!(text, expected);
}

#[test]
fn odd_names_come_back() {
    let odd = "a \"b\"\n'c' # é \\ [[x]]\u{1}";
    let mut scenario = plain();
    scenario.name = odd.into();
    scenario.links[0].name = odd.into();
    scenario.flows[0].name = odd.into();
    scenario.flows[0].path = vec![odd.into()];
    scenario.links.push(LinkSpec::new("back", Capacity::Constant(Rate::from_mbps(1.0))));
    scenario.flows[0].back = vec!["back".into()];
    scenario.seed = paceline_sim::runs::MAX_SEED;
    returns(&scenario, None, Span::from_millis(100));
    let text = to_toml(&scenario, odd, &mut |_| String::new()).expect("written");
    assert!(parse("x", &text, None).is_ok(), "{text}");
}

/// Checks that the plain scenario with this change is refused with an error that contains these
/// words.
fn refused(change: impl FnOnce(&mut Scenario), words: &[&str]) {
    let mut scenario = plain();
    change(&mut scenario);
    let error = write(&scenario).expect_err("refused").to_string();
    for word in words {
        assert!(error.contains(word), "lacks `{word}`: {error}");
    }
}

#[test]
fn what_files_cannot_say_is_named() {
    fn on_off(on: On, off: Amount) -> impl FnOnce(&mut Scenario) {
        move |scenario| {
            scenario.flows[0].workload = Workload::OnOff { on, off, starts_off: true, fresh: true };
        }
    }
    let second = Amount::Exponential(1.0);
    refused(on_off(On::Time(Amount::Fixed(1.0)), second), &["flow `abc`", "all of one length"]);
    refused(on_off(On::Bytes(Amount::Fixed(1.0)), second), &["flow `abc`", "all of one length"]);
    refused(on_off(On::Time(second), Amount::Fixed(1.0)), &["flow `abc`", "off-periods"]);
    refused(on_off(On::Time(Amount::Exponential(1.0 / 3.0)), second), &["on is", "nanoseconds"]);
    refused(on_off(On::Time(second), Amount::Exponential(0.1 / 3.0)), &["off is", "nanoseconds"]);
    refused(|scenario| scenario.record = Record::Metrics, &["no time series", "Record::Series"]);
    refused(|scenario| scenario.record = Record::Counters, &["no time series"]);
    refused(
        |scenario| scenario.flows[0].ack = Some(AckPolicy { every: 2, ..AckPolicy::EACH }),
        &["flow `abc`", "delayed by 0s", "40ms"],
    );
    let model = GilbertElliott::new(0.02, 0.1, 0.01, 0.4).expect("valid");
    refused(
        |scenario| scenario.links[0].after.impairments.loss = Loss::GilbertElliott(model),
        &["link `link`", "Gilbert-Elliott"],
    );
    let arrivals = |workload, bytes| {
        let flow = plain().flows[0].clone().with(|flow| flow.workload = workload);
        Arrivals { flow, per_second: 1.0, bytes }
    };
    let pareto = Amount::Pareto { shape: 0.9, scale: 1000.0 };
    let (one, other) = (arrivals(Workload::Bulk, pareto), arrivals(Workload::Bytes(9), second));
    refused(|scenario| scenario.arrivals.push(one), &["no mean size", "shape above 1"]);
    refused(|scenario| scenario.arrivals.push(other), &["workload", "nothing reads"]);
    refused(
        |scenario| scenario.flows[0].rtt = Span::from_nanos((1 << 53) + 1),
        &["flow `abc`: rtt is", "exactly"],
    );
}

#[test]
fn what_the_parser_refuses_is_not_written() {
    refused(|scenario| scenario.mss = 10, &["mss is outside 64..65535"]);
    refused(|scenario| scenario.flows.clear(), &["has no flow"]);
    refused(
        |scenario| scenario.flows[0].path = vec!["other".into()],
        &["there is no link `other`"],
    );
    refused(|scenario| scenario.flows[0].count = 0, &["count is outside"]);
    refused(|scenario| scenario.links[0].buffer = BufferSize::Packets(0), &["at least one packet"]);
    refused(|scenario| scenario.links[0].buffer = BufferSize::Bdp(f64::NAN), &["buffer is NaN"]);
    refused(|scenario| scenario.links[0].capacity = Capacity::Constant(Rate::ZERO), &["rate zero"]);
    let trace = paceline_trace::load("lte-driving").expect("built in");
    refused(
        |scenario| {
            scenario.links[0].capacity =
                Capacity::Trace { trace, opportunity: 0, overhead: 4, repeat: true };
        },
        &["link `link`", "opportunity is 0 bytes"],
    );
    refused(
        |scenario| {
            let mut wifi = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
            let flows = vec!["nobody".to_string()];
            wifi.stations.push(StationSpec { flows, ..StationSpec::default() });
            scenario.links[0].capacity = Capacity::Wifi(Box::new(wifi));
        },
        &["no flow `nobody`"],
    );
}
