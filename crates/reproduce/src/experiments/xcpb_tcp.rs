//! XCP-b beside NewReno over a shared medium: flows that come and go, faster media, short flows,
//! fairness and RTTs (§4.3 of the XCP-b paper).

use paceline_cc::Span;
use paceline_lab::wireless::{
    COUNTED, NetworkScheme, WirelessLoad, come_and_go, exchange, flow, network,
};
use paceline_sim::scenario::{Direction, FlowSpec, LossRecovery, RttSamples, Scenario};

use super::Experiment;
use super::common::{mean, range};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "xcpb-tcp",
    title: "XCP-b and NewReno on a shared medium",
    about: "Flows that come and go at nine stations of 802.11b behind wires of 100 Mbit/s, with \
            propagation delays of 40 to 360 ms; media that are 5 and 20 times as fast; twelve \
            downloads that stay.",
    plan,
    find,
};

/// Kappa for about ten active stations (§3.1).
const KAPPA: u32 = 6;
const SEEDS: u64 = 3;
/// Number of runs with twelve NewReno downloads, which show how far three seeds deviate from many.
const MANY: u64 = 30;
const SCALES: [u32; 3] = [1, 5, 20];
/// The one of [`SCALES`] that only shows a cause.
const SHOWN_SCALE: u32 = 5;
const SCHEMES: [&str; 2] = ["newreno", "xcpb"];
/// NewReno with selective acknowledgements, which the paper's does not have.
const WITH_SACK: &str = "with-sack";
const WAYS: [&str; 2] = ["both", "down"];
fn which(name: &str, scale: u32) -> NetworkScheme {
    match name {
        "xcpb" => NetworkScheme::xcpb(KAPPA, scale),
        WITH_SACK => NetworkScheme::newreno(50 * u64::from(scale)),
        _ => NetworkScheme {
            recovery: LossRecovery::NewReno(RttSamples::One),
            ..NetworkScheme::newreno(50 * u64::from(scale))
        },
    }
}

/// Returns a scenario with flows that begin at random times within 300 s.
fn dynamic(name: &str, scale: u32, load: WirelessLoad, seed: u64) -> Result<Scenario, String> {
    let mut scenario = come_and_go(&which(name, scale), scale, load, seed)?;
    scenario.name = name.into();
    scenario.warmup = Span::from_secs(50);
    scenario.duration = Span::from_secs(if scale == 1 { 300 } else { 150 });
    Ok(scenario)
}

fn twelve(name: &str, apart: bool, seed: u64) -> Result<Scenario, String> {
    let which = which(name, 1);
    let mut scenario = network(name, &which, 12, 1)?;
    scenario.seed = seed;
    for station in 0..12 {
        let rtt_ms = if apart { 40 + 30 * u64::from(station) } else { 82 };
        let name = format!("down-{station}");
        scenario.flows.push(flow(&which, name, station, Direction::Down, rtt_ms)?);
    }
    scenario.warmup = Span::from_secs(50);
    scenario.duration = Span::from_secs(150);
    Ok(scenario)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    let mut capacity = network("capacity", &NetworkScheme::capacity(), 3, 1)?;
    for station in 0..3 {
        let name = format!("down-{station}");
        capacity.flows.push(flow(&NetworkScheme::capacity(), name, station, Direction::Down, 82)?);
    }
    (capacity.warmup, capacity.duration) = (Span::from_secs(20), Span::from_secs(50));
    tasks.push(Task::scenario("capacity", capacity));
    let mix = WirelessLoad { uploads: false, rtt_ms: 0, short: None };
    for number in 0..SEEDS {
        let seed = setting.seed + number;
        for name in SCHEMES {
            for way in WAYS {
                let load = WirelessLoad { uploads: way == "both", ..mix };
                for scale in scales(setting) {
                    if scale == 1 || number == 0 {
                        let scenario = dynamic(name, scale, load, seed)?;
                        let task = format!("{name} {way} {scale} {number}");
                        let task = Task::scenario(task, scenario);
                        tasks.push(if scale == SHOWN_SCALE { task.once() } else { task });
                    }
                }
                let near = WirelessLoad { rtt_ms: 80, ..load };
                let scenario = dynamic(name, 1, near, seed)?;
                tasks.push(Task::scenario(format!("rtt {name} {way} {number}"), scenario));
            }
            let mut bytes = dynamic(name, 1, WirelessLoad { uploads: true, ..mix }, seed)?;
            bytes.warmup = Span::ZERO;
            if name == "xcpb" {
                let mut exchanged = bytes.clone();
                exchanged.flows.iter_mut().for_each(exchange);
                tasks.push(Task::scenario(format!("exchanged {name} {number}"), exchanged));
            }
            tasks.push(Task::scenario(format!("bytes {name} {number}"), bytes));
            for apart in [false, true] {
                let scenario = twelve(name, apart, seed)?;
                tasks.push(Task::scenario(format!("twelve {name} {apart} {number}"), scenario));
            }
        }
        if number == 0 && setting.causes {
            for (way, scale) in WAYS.iter().flat_map(|way| [(way, 1), (way, 20)]) {
                let load = WirelessLoad { uploads: *way == "both", ..mix };
                let scenario = dynamic(WITH_SACK, scale, load, seed)?;
                tasks.push(Task::scenario(format!("{WITH_SACK} {way} {scale}"), scenario).once());
            }
        }
        for short in shares(setting) {
            let load = WirelessLoad { short: Some(short), rtt_ms: 80, ..mix };
            let scenario = dynamic("xcpb", 1, load, seed)?;
            let task = Task::scenario(format!("mice {short} {number}"), scenario);
            tasks.push(if short == SHOWN_SHARE { task.once() } else { task });
        }
    }
    for number in SEEDS..many(setting) {
        for apart in [false, true] {
            let scenario = twelve("newreno", apart, setting.seed + number)?;
            let task = Task::scenario(format!("twelve newreno {apart} {number}"), scenario);
            tasks.push(task.once());
        }
    }
    Ok(tasks)
}

fn many(setting: &Setting) -> u64 {
    if setting.quick || !setting.causes { SEEDS } else { MANY }
}

/// Shares of short flows.
const SHARES: [f64; 3] = [0.0, 0.5, 1.0];
/// The one of [`SHARES`] that no check reads.
const SHOWN_SHARE: f64 = 0.5;

fn scales(setting: &Setting) -> impl Iterator<Item = u32> {
    SCALES.into_iter().filter(|scale| setting.causes || *scale != SHOWN_SCALE)
}

fn shares(setting: &Setting) -> impl Iterator<Item = f64> {
    SHARES.into_iter().filter(|share| setting.causes || *share != SHOWN_SHARE)
}

fn throughput(record: &Record) -> f64 {
    COUNTED * record.number("all.goodput")
}

/// Returns the megabytes of the flows whose names begin with `way`, in a run of 300 s.
fn megabytes(record: &Record, way: &str) -> f64 {
    let prefix = format!("flow.{way}-");
    let of_way = |name: &str| name.starts_with(&prefix) && name.ends_with(".goodput");
    let flows = record.numbers.iter().filter(|(name, _)| of_way(name));
    COUNTED * 300.0 / 8.0 * flows.map(|(_, mbps)| mbps).sum::<f64>()
}

/// Returns the seconds of uploads divided by those of downloads within the run: the ratio of
/// offered load.
fn offered_ratio(seed: u64) -> Result<f64, String> {
    let load = WirelessLoad { uploads: true, rtt_ms: 0, short: None };
    let scenario = dynamic("newreno", 1, load, seed)?;
    let seconds = |way: &str| {
        let flows = scenario.flows.iter().filter(|flow| flow.name.starts_with(way));
        let end = |flow: &FlowSpec| flow.stop.unwrap_or(scenario.duration).min(scenario.duration);
        flows.map(|flow| (end(flow) - flow.start).as_secs_f64()).sum::<f64>()
    };
    Ok(seconds("up") / seconds("down"))
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let capacity = throughput(results.get("capacity"));
    findings.measure("capacity", capacity);
    let over_seeds = |task: &str, part: &dyn Fn(&Record) -> f64| {
        mean((0..SEEDS).map(|seed| part(results.get(&format!("{task} {seed}")))))
    };
    for name in SCHEMES {
        for way in WAYS {
            for scale in scales(setting) {
                let task = format!("{name} {way} {scale}");
                let carried = match scale {
                    1 => over_seeds(&task, &throughput),
                    _ => throughput(results.get(&format!("{task} 0"))),
                };
                let measure = format!("{name}.{way}.{scale}.per_scale");
                findings.measure(measure, carried / f64::from(scale));
            }
            let jain = |record: &Record| record.number("all.jain_1s");
            let measure = format!("{name}.{way}.jain");
            findings.measure(measure, over_seeds(&format!("{name} {way} 1"), &jain));
            let of = |scale: u32| findings.get(&format!("{name}.{way}.{scale}.per_scale"));
            let hold = of(20) / of(1);
            findings.measure(format!("{name}.{way}.hold"), hold);
            for part in ["p50", "mean"] {
                let rtt = |record: &Record| record.number(&format!("all.rtt.{part}"));
                let measure = format!("rtt.{name}.{way}.{part}");
                findings.measure(measure, over_seeds(&format!("rtt {name} {way}"), &rtt));
            }
        }
        let bytes = |way: &'static str| {
            over_seeds(&format!("bytes {name}"), &move |record| megabytes(record, way))
        };
        let (up, down) = (bytes("up"), bytes("down"));
        findings.measure(format!("{name}.up"), up);
        findings.measure(format!("{name}.down"), down);
        findings.measure(format!("{name}.ratio"), up / down);
        for (apart, word) in [(false, "equal"), (true, "apart")] {
            let jain = |record: &Record| record.number("all.jain_1s");
            let task = format!("twelve {name} {apart}");
            findings.measure(format!("twelve.{name}.{word}.jain"), over_seeds(&task, &jain));
        }
    }
    // Of each draw, and of the draw with uploads and downloads exchanged.
    let ratios = ["bytes", "exchanged"].into_iter().flat_map(|runs| {
        (0..SEEDS).map(move |number| {
            let record = results.get(&format!("{runs} xcpb {number}"));
            (megabytes(record, "up") / megabytes(record, "down")).ln()
        })
    });
    findings.measure("xcpb.ratio.exchanged", mean(ratios).exp());
    if setting.causes {
        twelve_often(many(setting), results, &mut findings);
    }
    for way in WAYS.iter().filter(|_| setting.causes) {
        for scale in [1, 20] {
            let carried = throughput(results.get(&format!("{WITH_SACK} {way} {scale}")));
            findings.measure(
                format!("{WITH_SACK}.{way}.{scale}.per_scale"),
                carried / f64::from(scale),
            );
        }
    }
    let offered: Vec<f64> =
        (0..SEEDS).map(|number| offered_ratio(setting.seed + number)).collect::<Result<_, _>>()?;
    findings.measure("offered.ratio", mean(offered));
    let ratio = findings.get("newreno.both.1.per_scale") / findings.get("xcpb.both.1.per_scale");
    findings.measure("newreno/xcpb.both.1", ratio);
    for short in shares(setting) {
        let carried = over_seeds(&format!("mice {short}"), &throughput);
        findings.measure(format!("mice.xcpb.{short}.utilization"), carried / capacity);
    }
    let mice = |share: &str| findings.get(&format!("mice.xcpb.{share}.utilization"));
    let hold = mice("1") / mice("0");
    findings.measure("mice.xcpb.hold", hold);
    Ok(findings)
}

/// Evaluates twelve NewReno downloads over many seeds: Jain's indices over windows of a second and
/// over the whole time, and the fall of the former from equal to different RTTs, over all seeds and
/// over three at a time.
fn twelve_often(seeds: u64, results: &Results, findings: &mut Findings) {
    let each = |apart: bool, part: &str| -> Vec<f64> {
        let of = |number| results.get(&format!("twelve newreno {apart} {number}")).number(part);
        (0..seeds).map(of).collect()
    };
    let fall = |equal: &[f64], apart: &[f64]| {
        let of = |values: &[f64]| mean(values.iter().copied());
        1.0 - of(apart) / of(equal)
    };
    let (equal, apart) = (each(false, "all.jain_1s"), each(true, "all.jain_1s"));
    findings.measure("often.fall", fall(&equal, &apart));
    let three = SEEDS as usize;
    let falls: Vec<f64> =
        equal.chunks(three).zip(apart.chunks(three)).map(|(a, b)| fall(a, b)).collect();
    range(findings, "often.fall.threes", &falls);
    for (word, of_seconds, is_apart) in [("equal", &equal, false), ("apart", &apart, true)] {
        findings.measure(format!("often.{word}.jain"), mean(of_seconds.iter().copied()));
        findings.measure(format!("often.{word}.long"), mean(each(is_apart, "all.jain")));
    }
}
