//! Writes a specimen of the report with made-up data: `cargo run --example specimen -- DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

use paceline_report::{
    PageInfo, Quantiles, RunView, TableFigure, TimeSeries, bars_svg, compare_page, scatter_svg,
    time_series_svg,
};

const BIN: f64 = 0.1;

/// A small random generator with a fixed sequence, so that the specimen never changes.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64 - 0.5
    }
}

/// Returns a capacity that varies slowly, with fades.
fn capacity(seed: u64, mean: f64, seconds: usize) -> Vec<f64> {
    let mut noise = Noise(seed);
    let mut level = 0.0;
    let mut fade = 1.0;
    (0..seconds * 10)
        .map(|_| {
            level = 0.97 * level + 0.35 * noise.next();
            let target = if noise.next() > 0.493 { 0.05 } else { 1.0 };
            fade += (target - fade) * if target < fade { 0.7 } else { 0.06 };
            (mean * libm::exp(level) * fade * (1.0 + 0.3 * noise.next())).max(0.0)
        })
        .collect()
}

/// Returns the run of a sender that reacts after `lag` bins, uses the share `gain` of the link and
/// builds at most `most` ms of queue.
fn run(trace: &str, capacity: &[f64], scheme: &str, lag: usize, gain: f64, most: f64) -> RunView {
    let mut noise = Noise(scheme.len() as u64 * 77 + capacity.len() as u64);
    let (mut queue, mut throughput, mut delay) = (0.0_f64, Vec::new(), Vec::new());
    let mut window = Vec::new();
    for i in 0..capacity.len() {
        let seen = &capacity[i.saturating_sub(lag)..=i];
        let seen = seen.iter().sum::<f64>() / seen.len() as f64;
        let rate = seen * gain * (1.0 + 0.1 * noise.next());
        queue = (queue + (rate - capacity[i]) * BIN).clamp(0.0, most * 0.005);
        let sent = (rate + queue / BIN).min(capacity[i]) * 0.985;
        throughput.push(sent);
        let wait = (1000.0 * queue / capacity[i].max(1.5)).min(most) * (1.0 + 0.2 * noise.next());
        delay.push(wait + 3.0 + 4.0 * noise.next().abs());
        window.push(8.3 * rate * (0.1 + wait / 1000.0));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut sorted = delay.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |q: f64| sorted[((sorted.len() - 1) as f64 * q) as usize];
    let queue_delay_ms =
        Quantiles { mean: mean(&delay), p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1.0) };
    RunView {
        trace: trace.into(),
        setting: None,
        state: Vec::new(),
        scheme: scheme.into(),
        capacity_mbps: mean(capacity),
        throughput_mbps: mean(&throughput),
        utilization: mean(&throughput) / mean(capacity),
        queue_delay_ms,
        figures: vec![
            TableFigure::new("loss %", "packets lost", 0.2 * lag as f64, 2),
            TableFigure::new("resent", "packets sent again", 37.0 * lag as f64, 0),
        ],
        series: TimeSeries {
            bin_s: BIN,
            capacity_mbps: capacity.to_vec(),
            throughput_mbps: throughput,
            queue_delay_ms: delay,
            window_packets: None,
        },
        digest: format!("{:016x}", noise.0),
        note: None,
        bound: false,
        runs: None,
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        return ExitCode::from(2);
    };
    let all = [
        ("abc", 1, 0.97, 130.0),
        ("cubic", 30, 1.3, 1500.0),
        ("cubic+codel", 14, 0.72, 160.0),
        ("bbr", 8, 1.04, 420.0),
        ("copa", 9, 0.78, 150.0),
        ("sprout", 12, 0.62, 110.0),
        ("verus", 16, 0.85, 700.0),
        ("pcc", 25, 1.05, 1300.0),
        ("xcp", 5, 0.94, 240.0),
    ];
    let count = arguments.next().and_then(|n| n.to_str()?.parse().ok()).unwrap_or(3_usize);
    let traces = [
        ("Verizon LTE downlink", capacity(11, 9.0, 60)),
        ("T-Mobile LTE uplink", capacity(5, 4.0, 60)),
    ];
    let mut runs = Vec::new();
    for (trace, capacity) in &traces {
        for &(scheme, lag, gain, most) in all.iter().take(count) {
            runs.push(run(trace, capacity, scheme, lag, gain, most));
        }
    }
    let info = PageInfo {
        title: "ABC, Cubic and Cubic+CoDel over two LTE traces".into(),
        explanation: "One backlogged flow per run; round-trip time 100 ms, buffer of 250 packets. \
                      The data of this specimen are made up."
            .into(),
        command: "paceline compare --schemes abc,cubic,cubic+codel --traces lte-down,lte-up".into(),
        version: "0.1.0".into(),
        seed: Some(1),
        facts: vec![("duration".into(), "60 s".into())],
    };
    let first: Vec<RunView> =
        runs.iter().filter(|run| run.trace == runs[0].trace).cloned().collect();
    let files = [
        ("page.html", compare_page(&info, &runs)),
        ("scatter.svg", scatter_svg(&runs)),
        ("bars.svg", bars_svg(&runs)),
        ("time.svg", time_series_svg(&first)),
    ];
    for (name, text) in files {
        if std::fs::write(folder.join(name), text).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
