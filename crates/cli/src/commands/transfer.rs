//! The pages of `paceline send` and `paceline recv`.

use std::ffi::OsString;
use std::path::Path;

use paceline_report::{Fold, Line, Lines, PageInfo, TransferView};
use paceline_transfer::udp::{
    ConnectionResult, ReceivedSeries, SentSeries, Summary, TransferResult,
};
use serde::Serialize;

use crate::host;
use crate::names::{file_names, quoted};
use crate::output::{self, Error};

/// Most connections of which a page keeps the series.
pub(super) const MOST: usize = 1000;
/// Most connections that get their own plot.
const PLOTS: usize = 24;

fn line(name: &str, fold: Fold, values: &[f64]) -> Line {
    Line { name: name.into(), values: values.to_vec(), fold }
}

fn lines(title: &str, unit: &str, lines: Vec<Line>) -> Lines {
    Lines { title: title.into(), unit: unit.into(), lines }
}

/// Returns the view of a sender for its page.
pub(super) fn sent(scheme: &str, finished: &TransferResult, series: &SentSeries) -> TransferView {
    let TransferResult { summary, sent, .. } = finished;
    let seconds = finished.duration.as_secs_f64().max(1e-9);
    let SentSeries { acked_mbps, sent_mbps, rtt_ms, .. } = series;
    let lost: Vec<f64> = series.lost_packets.iter().map(|&lost| lost as f64).collect();
    let mut panels = vec![
        lines(
            "Rate (Mbit/s)",
            "Mbit/s",
            vec![line("acknowledged", Fold::Mean, acked_mbps), line("sent", Fold::Mean, sent_mbps)],
        ),
        lines("Round trip (ms)", "ms", vec![line("round trip", Fold::Max, rtt_ms)]),
        lines(
            "Packets",
            "packets",
            vec![
                line("in flight", Fold::Max, &series.in_flight_packets),
                line("window", Fold::Mean, &series.window_packets),
            ],
        ),
    ];
    if sent.lost > 0 {
        panels.push(lines("Lost (packets)", "packets", vec![line("lost", Fold::Max, &lost)]));
    }
    TransferView {
        name: finished.address.to_string(),
        scheme: scheme.into(),
        duration_s: seconds,
        throughput_mbps: Some(summary.bytes as f64 * 8e-6 / seconds),
        goodput_mbps: Some(summary.goodput as f64 * 8e-6 / seconds),
        queue_delay_ms: summary.queue_delay_ms,
        rtt_ms: Some(finished.rtt_ms),
        packets: summary.packets,
        lost: Some((sent.lost, sent.retransmits)),
        marks: summary.ce_packets,
        problem: None,
        bin_s: series.bin_s,
        panels,
    }
}

/// Returns the rate of `bytes` from the first arrival to the last, in Mbit/s; `None` if both have
/// one time, as those of a single packet.
pub(super) fn arrival_rate(bytes: u64, summary: &Summary) -> Option<f64> {
    (summary.duration_s > 0.0).then(|| bytes as f64 * 8e-6 / summary.duration_s)
}

/// Returns the view of a receiver's connection for its page.
pub(super) fn received(name: String, problem: &str, received: &ConnectionResult) -> TransferView {
    let ConnectionResult { scheme, summary, series, .. } = received;
    let ReceivedSeries { throughput_mbps, queue_delay_ms, .. } = series;
    TransferView {
        name,
        scheme: scheme.clone(),
        duration_s: summary.duration_s,
        throughput_mbps: arrival_rate(summary.bytes, summary),
        goodput_mbps: arrival_rate(summary.goodput, summary),
        queue_delay_ms: summary.queue_delay_ms,
        rtt_ms: None,
        packets: summary.packets,
        lost: None,
        marks: summary.ce_packets,
        problem: (!problem.is_empty()).then(|| problem.to_string()),
        bin_s: series.bin_s,
        panels: vec![
            lines("Rate (Mbit/s)", "Mbit/s", vec![line("arrived", Fold::Mean, throughput_mbps)]),
            lines("One-way delay (ms)", "ms", vec![line("delay", Fold::Max, queue_delay_ms)]),
        ],
    }
}

/// Returns this program's arguments, with the key replaced by `KEY`: with it anyone could send.
fn arguments() -> impl Iterator<Item = OsString> {
    without_key(host::arguments().into_iter().skip(1))
}

fn without_key(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut is_key = false;
    arguments.map(move |argument| {
        let text = argument.to_string_lossy();
        let hidden = std::mem::replace(&mut is_key, text == "--key");
        match text.starts_with("--key=") {
            _ if hidden => "KEY".into(),
            true => "--key=KEY".into(),
            false => argument,
        }
    })
}

/// Writes `NAME.html`, `NAME.json` and a plot for each connection into a folder. Returns a line
/// that names the written files.
pub(super) fn write(
    folder: &Path,
    name: &str,
    (title, explanation): (String, String),
    seed: Option<u64>,
    views: &[TransferView],
    document: &impl Serialize,
) -> Result<String, Error> {
    let info = PageInfo {
        title,
        explanation,
        command: quoted(arguments()),
        version: env!("CARGO_PKG_VERSION").into(),
        seed,
        facts: Vec::new(),
    };
    let page = paceline_report::transfer_page(&info, views);
    let mut written = vec![
        output::write(folder, &format!("{name}.html"), &page)?,
        output::write(folder, &format!("{name}.json"), &output::to_json(document)?)?,
    ];
    let names: Vec<&str> = views.iter().take(PLOTS).map(|view| view.name.as_str()).collect();
    for (view, file) in views.iter().zip(file_names(&names)) {
        let svg = paceline_report::transfer_svg(view);
        written.push(output::write(folder, &format!("{name}-{file}.svg"), &svg)?);
    }
    let list: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    Ok(format!("wrote {}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_at_one_time_have_no_rate() {
        let rates = |duration_s| {
            let summary =
                Summary { bytes: 133_000, goodput: 1000, duration_s, ..Summary::default() };
            let received = ConnectionResult { summary, ..ConnectionResult::default() };
            let view = super::received("a".into(), "", &received);
            (view.throughput_mbps, view.goodput_mbps)
        };
        assert_eq!(rates(0.0), (None, None));
        assert_eq!(rates(2.0), (Some(133_000.0 * 8e-6 / 2.0), Some(0.004)));
    }

    #[test]
    fn keys_stay_out_of_pages() {
        let words = ["send", "--key", "pl1-secret", "--key=pl1-secret", "--scheme", "abc"];
        let seen: Vec<OsString> = without_key(words.into_iter().map(OsString::from)).collect();
        assert_eq!(seen, ["send", "--key", "KEY", "--key=KEY", "--scheme", "abc"]);
    }
}
