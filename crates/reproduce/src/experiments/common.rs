//! Shared by several experiments: scenarios of the papers' emulations, and views of records.

use paceline_cc::{Rate, SchemeSpec, Span};
use paceline_path::{BufferSize, Jitter, JitterShape};
use paceline_report::{Dot, Marker, Palette, Quantiles, RunView, TimeSeries};
use paceline_requests::compare::Comparison;
use paceline_sim::metrics;
use paceline_sim::scenario::{
    Capacity, McsSpec, Record as Recording, Scenario, WifiSpec, check_scheme,
};
use paceline_wifi::Mcs;

use crate::findings::Findings;
use crate::setting::Cellular;
use paceline_tasks::Record;

/// Cubic over CoDel as the ABC paper ran it: in Mahimahi, with its authors' parameters.
pub(super) const CODEL: &str = "cubic+codel-mahimahi[target=50ms,interval=100ms]";
/// Cubic over Mahimahi's PIE; the ABC paper does not state its parameters.
pub(super) const PIE: &str = "cubic+pie-mahimahi";
/// BBR as in both papers: without the allowance for aggregated acknowledgements, which came with
/// Linux 5.1 in May 2019, later than the C2TCP paper's kernel (4.13) and ABC's figures.
pub(super) const BBR: &str = "bbr[variant=linux4]";
/// Copa's program, which the ABC paper ran, without the gap after a full window, which was
/// discovered later.
pub(super) const COPA: &str = "copa[send=paper]";
/// ABC, and the schemes without routers with which its paper compares it: short names for measures,
/// and the schemes.
pub(super) const SCHEMES: [(&str, &str); 10] = [
    ("abc", "abc"),
    ("cubic", "cubic"),
    ("codel", CODEL),
    ("pie", PIE),
    ("bbr", BBR),
    ("copa", COPA),
    ("vivace", "vivace"),
    ("vegas", "vegas"),
    ("sprout", "sprout"),
    ("verus", "verus"),
];
/// Cubic over CoDel with the parameters of the C2TCP paper's authors' scripts.
pub(super) const CODEL_30: &str = "cubic+codel-mahimahi[target=30ms,interval=100ms]";
/// C2TCP's kernel, which its paper ran, with the second in which Cubic ignores RTTs.
pub(super) const C2TCP: &str = "c2tcp[variant=ifip2018]";

/// Random delay of packets on links of constant rate, without reordering. A simulation without any noise
/// locks the flows' bursts into patterns in which the marks always hit the same flows (Floyd and
/// Jacobson, "Traffic Phase Effects in Packet-Switched Gateways", 1991).
pub(super) const JITTER: Jitter = Jitter {
    shape: JitterShape::Exponential,
    mean: Span::from_millis(1),
    sd: Span::from_millis(1),
};

/// Parses a scheme as users write it.
pub(super) fn scheme(text: &str) -> Result<SchemeSpec, String> {
    check_scheme(text).map_err(|error| format!("{text}: {error}"))
}

/// Returns the emulation of the ABC paper: RTT 100 ms, 250 packets, acknowledgements over 12
/// Mbit/s.
pub(super) fn abc_emulation(
    text: &str,
    cellular: &Cellular,
    length: Span,
) -> Result<Comparison, String> {
    let capacity = Capacity::trace(cellular.trace.clone());
    Ok(Comparison {
        reverse: Some(Capacity::Constant(Rate::from_mbps(12.0))),
        duration: length,
        ..Comparison::new(&cellular.name, capacity, scheme(text)?)
    })
}

/// Returns the emulation of the C2TCP paper: RTT 40 ms, an unlimited queue, and acknowledgements
/// over the other direction's link, with its own queue (its authors' scripts).
pub(super) fn c2tcp_emulation(
    text: &str,
    cellular: &Cellular,
    acks: &Cellular,
    length: Span,
) -> Result<Comparison, String> {
    let capacity = Capacity::trace(cellular.trace.clone());
    Ok(Comparison {
        reverse: Some(Capacity::trace(acks.trace.clone())),
        rtt: Span::from_millis(40),
        buffer: BufferSize::Unlimited,
        duration: length,
        ..Comparison::new(&cellular.name, capacity, scheme(text)?)
    })
}

/// Returns the name of the task that runs `scheme` on a trace.
pub(super) fn on(scheme: &str, trace: &str) -> String {
    format!("{scheme} on {trace}")
}

/// Makes a scenario record time series in bins of `bin_ms` milliseconds.
pub(super) fn with_series(mut scenario: Scenario, bin_ms: u64) -> Scenario {
    scenario.record = Recording::Series(Span::from_millis(bin_ms));
    scenario
}

/// Returns the mean; NaN if there are no values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    metrics::mean(values).unwrap_or(f64::NAN)
}

/// Returns the least value; NaN if there are none, or if one was not measured.
pub(super) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    picked(values, f64::min)
}

/// Returns the largest value; NaN if there are none, or if one was not measured.
pub(super) fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    picked(values, f64::max)
}

/// Returns how many of the others have at least the gain (throughput) and at most the cost (delay) of `own`; NaN if
/// a figure was not measured. Points are gain and cost.
pub(super) fn better(own: (f64, f64), others: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let others: Vec<(f64, f64)> = others.into_iter().collect();
    let is_measured = |(gain, cost): &(f64, f64)| gain.is_finite() && cost.is_finite();
    if !others.iter().chain([&own]).all(is_measured) {
        return f64::NAN;
    }
    others.iter().filter(|(gain, cost)| *gain >= own.0 && *cost <= own.1).count() as f64
}

fn picked(values: impl IntoIterator<Item = f64>, pick: fn(f64, f64) -> f64) -> f64 {
    let pick = |one: f64, other: f64| {
        if one.is_nan() || other.is_nan() { f64::NAN } else { pick(one, other) }
    };
    values.into_iter().reduce(pick).unwrap_or(f64::NAN)
}

/// Adds the lowest, the median and the highest value as measures; returns them.
pub(super) fn range(findings: &mut Findings, name: &str, values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    let (low, high) = (at(0), at(sorted.len().saturating_sub(1)));
    let middle = metrics::median(values.iter().copied()).unwrap_or(f64::NAN);
    for (part, value) in [("lowest", low), ("median", middle), ("highest", high)] {
        findings.measure(format!("{name}.{part}"), value);
    }
    [low, middle, high]
}

/// Returns the point of a scheme in a chart of throughput over delay.
pub(super) fn dot(short: &str, palette: &Palette, (delay, throughput): (f64, f64)) -> Dot {
    Dot {
        x: delay,
        y: throughput,
        label: short.into(),
        tooltip: format!("{short}: {throughput:.2} Mbit/s, {delay:.0} ms"),
        paint: palette.paint(short),
        marker: Marker { shape: palette.paint(short).shape, filled: true, radius: 6.5 },
        counts: true,
        tie: None,
    }
}

/// Converts a record of a link for the charts.
pub(crate) fn view(scheme: &str, trace: &str, link: &str, record: &Record) -> RunView {
    let number = |name: &str| record.number(&format!("link.{link}.{name}"));
    let series = |name: &str| record.series(&format!("link.{link}.{name}"));
    RunView {
        trace: trace.to_string(),
        scheme: scheme.to_string(),
        capacity_mbps: number("capacity"),
        throughput_mbps: number("throughput"),
        utilization: number("utilization"),
        queue_delay_ms: Quantiles {
            mean: number("delay.mean"),
            p50: number("delay.p50"),
            p95: number("delay.p95"),
            p99: number("delay.p99"),
            max: number("delay.max"),
        },
        series: TimeSeries {
            bin_s: record.number("bin"),
            capacity_mbps: series("capacity"),
            throughput_mbps: series("throughput"),
            queue_delay_ms: series("delay"),
            window_packets: None,
        },
        ..RunView::default()
    }
}

/// Returns a link in a crowded place, as in all Wi-Fi experiments.
pub(super) fn crowded(mcs: McsSpec) -> WifiSpec {
    let mut spec = WifiSpec::new(mcs);
    spec.frame_error = 0.02;
    spec.channel.max_frames = 20;
    spec.channel.contenders = 5;
    spec.channel.contender_gap = Span::from_millis(20);
    spec
}

/// Returns a modulation by its index.
pub(super) fn mcs(index: u8) -> Result<Mcs, String> {
    Mcs::new(index).ok_or_else(|| format!("there is no MCS {index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_middle_of_two_in_the_middle() {
        let mut findings = Findings::default();
        assert_eq!(range(&mut findings, "x", &[3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
        assert_eq!(range(&mut findings, "x", &[4.0, 1.0, 2.0, 3.0]), [1.0, 2.5, 4.0]);
        assert!(findings.get("x.highest") == 4.0);
        assert!(range(&mut findings, "x", &[]).iter().all(|value| value.is_nan()));
    }
}
