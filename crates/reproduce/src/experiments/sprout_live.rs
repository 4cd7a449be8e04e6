//! Sprout's running systems: the tunnel beside a download, losses, and the Saturator (thesis
//! §2.3.1, §2.4.6, §2.4.7). Programs run in real time over an emulated link.

use serde_json::Value;

use super::Experiment;
use crate::findings::Findings;
use crate::live::{Files, Live};
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const TUNNEL: Experiment = Experiment {
    name: "tunnel-live",
    title: "A call and a download through SproutTunnel, in real time",
    about: "Programs run through the emulator, in networks of their own, one measurement after the other: \
            Verizon's LTE in both directions, 20 ms each way, queues without a limit.",
    plan: plan_tunnel,
    find: find_tunnel,
};

pub(super) const LOSS: Experiment = Experiment {
    name: "loss-live",
    title: "Sprout over UDP under loss, in real time",
    about: "The same links, with Bernoulli loss each way.",
    plan: plan_loss,
    find: find_loss,
};

pub(super) const SATURATOR: Experiment = Experiment {
    name: "saturator-live",
    title: "The Saturator, in real time",
    about: "The same links, with a cable beside them for feedback.",
    plan: plan_saturator,
    find: find_saturator,
};

const TUNNEL_SCRIPT: &str = include_str!("../../live/tunnel.sh");
const LOSS_SCRIPT: &str = include_str!("../../live/loss.sh");
const SATURATOR_SCRIPT: &str = include_str!("../../live/saturator.sh");

/// Ways of the download and the call to the other end.
const CASES: [&str; 2] = ["direct", "tunnel"];
/// Loss probabilities in per cent, in each direction.
const LOSSES: [u32; 3] = [0, 5, 10];
/// The Saturator's rules: its own default, and the thesis'.
const RULES: [(&str, &str); 2] = [("default", ""), ("thesis", "--thesis")];
/// Pings per second.
const PINGS: u64 = 20;

fn beside(case: &str) -> String {
    match case {
        "tunnel" => "call and download through the tunnel".into(),
        _ => "call and download directly".into(),
    }
}

fn lossy(way: &str, percent: u32) -> String {
    format!("Sprout over UDP, {percent} % of loss each way, {way}link")
}

fn saturated(rule: &str) -> String {
    format!("Saturator, rule: {rule}")
}

/// Returns the length of a measurement in seconds: `long`, or 6 in a quick reproduction.
fn seconds(setting: &Setting, long: u64) -> u64 {
    if setting.quick { 6 } else { long }
}

fn plan_tunnel(setting: &Setting) -> Result<Vec<Task>, String> {
    let Some(live) = &setting.live else { return Ok(Vec::new()) };
    let (down, up) = setting.verizon_names();
    let seconds = seconds(setting, 120);
    let task = |case: &str| {
        let script = Script { setting, live, text: TUNNEL_SCRIPT, seconds, data: &down, back: &up };
        script.task(beside(case), ("CASE", case.into()), move |files| call(files, seconds))
    };
    Ok(CASES.map(task).into())
}

fn plan_loss(setting: &Setting) -> Result<Vec<Task>, String> {
    let Some(live) = &setting.live else { return Ok(Vec::new()) };
    let (down, up) = setting.verizon_names();
    let seconds = seconds(setting, 60);
    let mut tasks = Vec::new();
    for (way, data, back) in [("down", &down, &up), ("up", &up, &down)] {
        for percent in LOSSES {
            let script = Script { setting, live, text: LOSS_SCRIPT, seconds, data, back };
            let loss = ("LOSS", (f64::from(percent) / 100.0).to_string());
            tasks.push(script.task(lossy(way, percent), loss, sent));
        }
    }
    Ok(tasks)
}

fn plan_saturator(setting: &Setting) -> Result<Vec<Task>, String> {
    let Some(live) = &setting.live else { return Ok(Vec::new()) };
    let (down, up) = setting.verizon_names();
    let seconds = seconds(setting, 60);
    let task = |(rule, option): (&str, &str)| {
        let script =
            Script { setting, live, text: SATURATOR_SCRIPT, seconds, data: &up, back: &down };
        script.task(saturated(rule), ("RULE", option.into()), band)
    };
    Ok(RULES.map(task).into())
}

/// A script and its arguments.
struct Script<'a> {
    setting: &'a Setting,
    live: &'a Live,
    text: &'static str,
    seconds: u64,
    data: &'a str,
    back: &'a str,
}

impl Script<'_> {
    fn task(
        self,
        name: String,
        (variable, value): (&'static str, String),
        read: impl Fn(&Files) -> Result<Record, String> + Copy + Send + Sync + 'static,
    ) -> Task {
        let Script { setting, live, text, seconds, data, back } = self;
        // Short runs only show that the programs work, also on a busy machine.
        let strict = if setting.quick { "" } else { "--strict" };
        let key = format!("{text};{variable}={value};{data};{back};{seconds}");
        let (live, data, back) = (live.clone(), data.to_string(), back.to_string());
        Task::live(name, key, seconds as f64, move || {
            let variables =
                [("DATA", &*data), ("BACK", &*back), ("STRICT", strict), (variable, &*value)];
            live.run(text, seconds, &variables, read)
        })
    }
}

/// Returns a number in a JSON document by its path.
fn number(document: &Value, path: &str) -> Result<f64, String> {
    let value = document.pointer(path).and_then(Value::as_f64);
    value.ok_or_else(|| format!("{path} is missing in {document:.200}"))
}

/// Returns the q-th quantile of `sought` values, of which `values` are present in ascending order;
/// infinite if the quantile is one of the missing values.
fn quantile(values: &[f64], sought: u64, q: f64) -> f64 {
    let rank = (q * sought as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied().unwrap_or(f64::INFINITY)
}

/// Returns the round-trip times in `ping`'s output, in milliseconds, the shortest first.
fn round_trips(text: &str) -> Vec<f64> {
    let after = text.lines().filter_map(|line| line.split_once("time="));
    let words = after.filter_map(|(_, rest)| rest.split_whitespace().next());
    let mut times: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn call(files: &Files, seconds: u64) -> Result<Record, String> {
    let mut record = Record::default();
    let bytes = files.number("bytes.after")? - files.number("bytes.before")?;
    record.set("download", bytes * 8.0 / 1e6 / seconds as f64);
    let call = files.json("call.json")?;
    record.set("call.rate", number(&call, "/runs/0/throughput_mbps")?);
    record.set("call.delay", number(&call, "/runs/0/end_to_end_delay_ms/p95")?);
    let times = round_trips(&files.text("ping")?);
    let sent = seconds * PINGS;
    record.set("ping.lost", 1.0 - times.len() as f64 / sent as f64);
    // Lost packets count as infinitely late. Then the number is missing, which no check accepts.
    record.set("ping.p50", quantile(&times, sent, 0.5));
    record.set("ping.p95", quantile(&times, sent, 0.95));
    Ok(record)
}

fn sent(files: &Files) -> Result<Record, String> {
    let run = files.json("run.json")?;
    let mut record = Record::default();
    record.set("goodput", number(&run, "/runs/0/throughput_mbps")?);
    record.set("delay", number(&run, "/runs/0/end_to_end_delay_ms/p95")?);
    Ok(record)
}

fn band(files: &Files) -> Result<Record, String> {
    let result = files.json("result.json")?;
    let mut record = Record::default();
    for (at, way) in ["up", "down"].into_iter().enumerate() {
        record.set(way, number(&result, &format!("/rows/{at}/rtt_in_band"))?);
    }
    Ok(record)
}

/// Returns findings with the names of the traces; empty ones if programs cannot run.
fn findings(setting: &Setting, find: impl FnOnce(&mut Findings)) -> Result<Findings, String> {
    let mut findings = Findings::default();
    if setting.live.is_some() {
        findings.traces = vec![setting.verizon_down()?.name, setting.verizon_up()?.name];
        find(&mut findings);
    }
    Ok(findings)
}

fn find_tunnel(setting: &Setting, results: &Results) -> Result<Findings, String> {
    findings(setting, |findings| {
        let [direct, tunnel] = CASES.map(|case| results.get(&beside(case)));
        for name in ["download", "call.rate", "call.delay", "ping.p50", "ping.p95", "ping.lost"] {
            let (before, after) = (direct.number(name), tunnel.number(name));
            findings.measure(format!("{name}.direct"), before);
            findings.measure(format!("{name}.tunnel"), after);
            findings.measure(format!("{name}.change"), after / before - 1.0);
        }
    })
}

fn find_loss(setting: &Setting, results: &Results) -> Result<Findings, String> {
    findings(setting, |findings| {
        for way in ["down", "up"] {
            let none = results.get(&lossy(way, 0)).number("goodput");
            for percent in LOSSES {
                let run = results.get(&lossy(way, percent));
                let name = format!("{way}.{percent}");
                findings.measure(format!("{name}.goodput"), run.number("goodput"));
                findings.measure(format!("{name}.delay"), run.number("delay"));
                findings.measure(format!("{name}.kept"), run.number("goodput") / none);
            }
        }
    })
}

fn find_saturator(setting: &Setting, results: &Results) -> Result<Findings, String> {
    findings(setting, |findings| {
        for (rule, _) in RULES {
            for way in ["up", "down"] {
                let share = results.get(&saturated(rule)).number(way);
                findings.measure(format!("{rule}.{way}"), share);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_packets_count_as_infinitely_late() {
        let text = "160 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=41.5 ms\nno answer yet\n\
                    160 bytes from 10.0.0.1: icmp_seq=3 ttl=64 time=40 ms\n";
        let times = round_trips(text);
        assert_eq!(times, [40.0, 41.5]);
        assert_eq!((quantile(&times, 4, 0.25), quantile(&times, 4, 0.5)), (40.0, 41.5));
        assert_eq!((quantile(&times, 4, 0.0), quantile(&times, 4, 0.51)), (40.0, f64::INFINITY));
    }

    #[test]
    fn nothing_is_planned_where_programs_cannot_run() {
        let setting = Setting { quick: true, ..Setting::default() };
        for experiment in [&TUNNEL, &LOSS, &SATURATOR] {
            assert_eq!((experiment.plan)(&setting).expect("no tasks").len(), 0);
            let none = (experiment.find)(&setting, &Results::default()).expect("nothing");
            assert!(none.measures.is_empty() && none.traces.is_empty());
        }
    }
}
