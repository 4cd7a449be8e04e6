//! One LTE link over time, and ABC's variants on it (Figs 1, 2, 14, 15, §7.6 of the ABC paper).

use paceline_cc::{Span, Time};
use paceline_report::{Palette, RunView, scatter_figure, time_series_figure};
use paceline_sim::scenario::Capacity;
use paceline_trace::Trace;

use super::Experiment;
use super::common::{BBR, CODEL, abc_emulation, mean, on, view, with_series};
use crate::findings::Findings;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lte-series",
    title: "One LTE link over time",
    about: "One backlogged flow over Verizon's LTE downlink (and its uplink where said): \
            round-trip propagation delay 100 ms, a buffer of 250 packets.",
    plan,
    find,
};

/// Schemes in the time series on the downlink.
const SHOWN: [&str; 5] = ["abc", "cubic", CODEL, "verus", BBR];
/// ABC whose router compares the arrival rate with the target rate instead. Here both rates follow
/// eq. 1 literally (`credit=target`), and also the rule of credit in the routers of the paper's
/// authors.
const ENQUEUE: &str = "abc[credit=target,rate=enqueue]";
const ENQUEUE_DEFAULT: &str = "abc[rate=enqueue]";
const ETAS: [&str; 6] = ["0.9", "0.92", "0.94", "0.96", "0.98", "1"];
/// ABC that knows the capacity of the next round trip, and ABC that does not, with the same rule of
/// credit.
const KNOWN: &str = "abc[credit=target,lookahead=100ms]";
const UNKNOWN: &str = "abc[credit=target]";

/// Schemes on the uplink, with acknowledgements over 12 Mbit/s and over the downlink's recording.
const UPLINK: [&str; 2] = ["abc", KNOWN];

/// Returns the name of the task with acknowledgements over the other direction's recording.
fn recorded(scheme: &str, cellular: &Cellular) -> String {
    format!("{}, acknowledgements over the other direction", on(scheme, &cellular.name))
}

fn eta(eta: &str) -> String {
    format!("abc[eta={eta}]")
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let (down, up) = (setting.verizon_down()?, setting.verizon_up()?);
    let length = setting.length(140, 30);
    let mut tasks = Vec::new();
    let mut add = |scheme: &str, cellular: &Cellular| -> Result<(), String> {
        let scenario = abc_emulation(scheme, cellular, length)?.scenario();
        tasks.push(Task::scenario(on(scheme, &cellular.name), with_series(scenario, 200)));
        Ok(())
    };
    for scheme in SHOWN.into_iter().chain([ENQUEUE, ENQUEUE_DEFAULT, UNKNOWN]) {
        add(scheme, &down)?;
    }
    for scheme in UPLINK {
        add(scheme, &up)?;
    }
    for value in ETAS {
        add(&eta(value), &down)?;
    }
    for scheme in UPLINK {
        let mut comparison = abc_emulation(scheme, &up, length)?;
        comparison.reverse = Some(Capacity::trace(down.trace.clone()));
        tasks.push(Task::scenario(recorded(scheme, &up), comparison.scenario()));
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let (down, up) = (setting.verizon_down()?, setting.verizon_up()?);
    let mut findings =
        Findings { traces: vec![down.name.clone(), up.name.clone()], ..Findings::default() };
    let of = |scheme: &str, cellular: &Cellular| {
        view(scheme, &cellular.name, "link", results.get(&on(scheme, &cellular.name)))
    };
    let palette = Palette::new(SHOWN);
    let shown: Vec<RunView> = SHOWN.iter().map(|scheme| of(scheme, &down)).collect();
    for (short, view) in ["abc", "cubic", "codel", "verus", "bbr"].iter().zip(&shown) {
        findings.measure(format!("{short}.utilization"), view.utilization);
        findings.measure(format!("{short}.p95"), view.queue_delay_ms.p95);
        findings.measure(format!("{short}.max"), view.queue_delay_ms.max);
        findings.measure(format!("{short}.swing"), swing(&view.series.throughput_mbps));
        let (rise, fall) = after_changes(view);
        findings.measure(format!("{short}.after_rise"), rise);
        findings.measure(format!("{short}.after_fall"), fall);
    }
    for other in ["cubic", "codel", "verus", "bbr"] {
        for part in ["p95", "after_rise", "after_fall", "swing", "utilization"] {
            let ratio =
                findings.get(&format!("{other}.{part}")) / findings.get(&format!("abc.{part}"));
            findings.measure(format!("{other}/abc.{part}"), ratio);
        }
    }
    findings.figure(
        "series",
        time_series_figure(&shown, &palette),
        "Throughput in the capacity's shade, and queueing delay, over time (Figs 1 and 14).",
    );

    let (dequeue, enqueue) = (of(UNKNOWN, &down), of(ENQUEUE, &down));
    findings.measure("enqueue/dequeue.p95", ratio(&enqueue, &dequeue));
    let by_default = ratio(&of(ENQUEUE_DEFAULT, &down), &of("abc", &down));
    findings.measure("enqueue/dequeue.default.p95", by_default);
    let both = [dequeue, enqueue];
    let own = Palette::new([UNKNOWN, ENQUEUE]);
    findings.figure(
        "feedback",
        time_series_figure(&both, &own),
        "Feedback from the dequeue rate and from the enqueue rate (Fig. 2).",
    );

    let swept: Vec<RunView> = ETAS.iter().map(|value| of(&eta(value), &down)).collect();
    for (value, view) in ETAS.iter().zip(&swept) {
        findings.measure(format!("eta.{value}.utilization"), view.utilization);
        findings.measure(format!("eta.{value}.p95"), view.queue_delay_ms.p95);
    }
    findings.figure(
        "eta",
        scatter_figure(&swept, &Palette::new(swept.iter().map(|view| view.scheme.as_str()))),
        "ABC by its target utilisation eta (Fig. 15).",
    );

    let acknowledged = |scheme: &str, cellular: &Cellular| {
        view(scheme, &cellular.name, "link", results.get(&recorded(scheme, cellular)))
    };
    type Runs<'a> = &'a dyn Fn(&str, &Cellular) -> RunView;
    let ways: [(&str, Runs<'_>); 2] = [("up", &acknowledged), ("up.free", &of)];
    for (way, of) in ways {
        let known = of(KNOWN, &up);
        findings.measure(format!("known.{way}.p95"), known.queue_delay_ms.p95);
        findings.measure(format!("known.{way}.utilization"), known.utilization);
        findings.measure(format!("abc.{way}.p95"), of("abc", &up).queue_delay_ms.p95);
    }
    let (doubles, halves) = changes(&down.trace);
    findings.measure("doubles", doubles);
    findings.measure("halves", halves);
    let seconds = (down.trace.period().as_nanos() / 1_000_000_000) as f64;
    findings.measure("doubles.share", doubles / seconds);
    findings.measure("halves.share", halves / seconds);
    Ok(findings)
}

fn ratio(one: &RunView, other: &RunView) -> f64 {
    one.queue_delay_ms.p95 / other.queue_delay_ms.p95
}

/// Returns the mean change of a series between neighbouring bins, relative to its mean.
fn swing(values: &[f64]) -> f64 {
    let steps = values.iter().zip(values.iter().skip(1)).map(|(a, b)| (b - a).abs());
    mean(steps) / mean(values.iter().copied())
}

/// Returns the utilisation in seconds after the capacity has risen by half, and the largest
/// queueing delay (mean over such seconds) in seconds after it has fallen to less than two thirds.
fn after_changes(view: &RunView) -> (f64, f64) {
    let bins = (1.0 / view.series.bin_s).round().max(1.0) as usize;
    let sum = |values: &[f64]| values.iter().filter(|v| v.is_finite()).sum::<f64>();
    let capacity: Vec<&[f64]> = view.series.capacity_mbps.chunks_exact(bins).collect();
    let throughput: Vec<&[f64]> = view.series.throughput_mbps.chunks_exact(bins).collect();
    let delay: Vec<&[f64]> = view.series.queue_delay_ms.chunks_exact(bins).collect();
    let (mut rise, mut fall) = (Vec::new(), Vec::new());
    let seconds = capacity.len().min(throughput.len()).min(delay.len());
    for at in 1..seconds {
        let (before, now) = (sum(capacity[at - 1]), sum(capacity[at]));
        if now > 1.5 * before && before > 0.0 {
            rise.push(sum(throughput[at]) / now);
        } else if now < before / 1.5 {
            fall.push(delay[at].iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max));
        }
    }
    (mean(rise), mean(fall))
}

/// Counts the seconds with at least twice, and with at most half, the capacity of the previous
/// second.
fn changes(trace: &Trace) -> (f64, f64) {
    let count = |second: u64| {
        let from = Time::ZERO + Span::from_secs(second);
        trace.count_in(from, from + Span::from_secs(1)) as f64
    };
    let seconds = trace.period().as_nanos() / 1_000_000_000;
    let pairs = (1..seconds).map(|second| (count(second - 1), count(second)));
    let (mut doubles, mut halves) = (0.0, 0.0);
    for (before, now) in pairs {
        doubles += f64::from(u8::from(before > 0.0 && now >= 2.0 * before));
        halves += f64::from(u8::from(now <= before / 2.0 && before > 0.0));
    }
    (doubles, halves)
}
