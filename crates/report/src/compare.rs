//! The page of `paceline compare`: schemes over traces.

use crate::inner::{INNER_CAPTION, inner_chart};
use crate::page::Page;
use crate::palette::{Palette, is_built_in};
use crate::run::{RunView, distinct};
use crate::summary::{bars_figure, summary_table};
use crate::sweep::sweep_figure;
use crate::table::{Cell, Table};
use crate::timeline::time_series_figure;
use crate::tradeoff::scatter_figure;

/// Most links, or settings of a sweep, with plots of their own.
const MOST_SECTIONS: usize = 24;
/// Most schemes in a figure over time.
const TOGETHER: usize = 8;

/// Explanation of the bars.
pub(crate) const BARS_CAPTION: &str =
    "Utilisation and 95th-percentile queueing delay on each trace, and the means over the traces.";

/// Information about a page: title, explanation, and how it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageInfo {
    /// The title.
    pub title: String,
    /// Description of the experiment, printed under the title; empty for none.
    pub explanation: String,
    /// Command line that makes this page.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Seed of the random numbers, if there is one.
    pub seed: Option<u64>,
    /// Further facts for the footer: names and values.
    pub facts: Vec<(String, String)>,
}

/// Returns the page that compares schemes: trade-off, bars, summary table, then every trace over
/// time. It is one file without external resources.
pub fn compare_page(info: &PageInfo, runs: &[RunView]) -> String {
    let palette = Palette::new(runs.iter().map(|run| run.scheme.as_str()));
    let traces = distinct(runs, |run| &run.trace);
    let (distinct_count, several) = (traces.len(), traces.len() > 1);
    let mut page = Page::new(&info.title);
    page.paragraph(&info.explanation);

    page.heading("Overview");
    let regions = region_caption(runs);
    let sweep = sweep_figure(runs, &palette);
    let is_sweep = sweep.is_some();
    if let Some(sweep) = sweep {
        page.figure(&sweep, &sweep_caption(runs));
    }
    page.figure(&scatter_figure(runs, &palette), &(scatter_caption(several, is_sweep) + regions));
    if several && !is_sweep {
        page.figure(&bars_figure(runs, &palette), BARS_CAPTION);
    }
    page.heading("Summary");
    page.table(&summary_table(runs, &palette));
    page.paragraph(
        "Queueing delays are per packet, in milliseconds. Click on the head of a column to sort by it.",
    );
    if runs.iter().any(|run| run.runs.is_some()) {
        page.paragraph(
            "Figures are medians of the runs, with the range of 90 % of the runs in parentheses.",
        );
    }
    for note in notes(runs) {
        page.paragraph(&note);
    }

    if traces.len() > MOST_SECTIONS {
        page.paragraph(&format!(
            "The plots over time of the {} settings are not on this page: paceline plot makes them from compare.json, \
             beside this file.",
            traces.len()
        ));
    }
    for trace in traces.into_iter().filter(|_| distinct_count <= MOST_SECTIONS) {
        let own: Vec<RunView> = runs.iter().filter(|run| run.trace == trace).cloned().collect();
        page.heading(if trace.is_empty() { "Over time" } else { trace });
        if several {
            page.figure(
                &scatter_figure(&own, &palette),
                &(scatter_caption(false, false) + regions),
            );
        }
        // As many schemes as fit on a printed page.
        let parts = own.len().div_ceil(TOGETHER).max(1);
        for (at, some) in own.chunks(own.len().div_ceil(parts).max(1)).enumerate() {
            let part =
                if parts > 1 { format!(" Part {} of {parts}.", at + 1) } else { String::new() };
            page.figure(&time_series_figure(some, &palette), &(time_caption(some) + &part));
        }
        for run in own.iter().filter(|run| !is_built_in(&run.scheme)).take(TOGETHER) {
            let paint = palette.paint(&run.scheme);
            if let Some(chart) = inner_chart(&run.scheme, run.series.bin_s, &run.state, paint) {
                page.figure(&chart.figure(), &format!("{}: {INNER_CAPTION}", run.scheme));
            }
        }
    }
    footer(&mut page, info, runs);
    page.to_html()
}

/// Returns the notes of all runs, each once: scheme and note.
fn notes(runs: &[RunView]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for run in runs {
        let Some(note) = &run.note else { continue };
        let text = format!("{}: {note}.", run.scheme);
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
    notes
}

pub(crate) fn scatter_caption(several: bool, is_sweep: bool) -> String {
    let what = match (several, is_sweep) {
        (true, true) => {
            "Utilisation over delay. A filled marker is a scheme's mean over the settings, a hollow \
             one is a single setting."
        }
        (true, false) => {
            "Utilisation over delay. A filled marker is a scheme's mean over the traces, a hollow \
             one is a single trace."
        }
        (false, _) => "Throughput over delay.",
    };
    format!(
        "{what} The delay axis is inverted, so up and right is better; the dashed line is the Pareto front."
    )
}

pub(crate) fn sweep_caption(runs: &[RunView]) -> String {
    let ranges = match runs.iter().any(|run| run.runs.is_some()) {
        true => " Points are medians of the runs; vertical lines hold 90 % of them.",
        false => "",
    };
    format!(
        "Utilisation (more is better) and 95th-percentile queueing delay (less is better) in each setting. Values on the \
         horizontal axis have equal distances.{ranges}"
    )
}

/// Returns the explanation of regions; empty if there are none.
pub(crate) fn region_caption(views: &[RunView]) -> &'static str {
    match views.iter().any(|view| view.runs.is_some()) {
        true => {
            " Large markers are medians of the runs, small points single runs; a region holds the \
                 90 % nearest to the median."
        }
        false => "",
    }
}

pub(crate) fn time_caption(runs: &[RunView]) -> String {
    let capacity = runs.first().map(|run| crate::number::short(run.capacity_mbps));
    format!(
        "The shaded area is the link's capacity (mean {} Mbit/s), the line the throughput; below, \
         the queueing delay.{}",
        capacity.unwrap_or_default(),
        match runs.iter().any(|run| run.runs.is_some()) {
            true => " Lines are medians of the runs, bands hold 90 % of them.",
            false => "",
        }
    )
}

/// Adds to the footer how the page was made.
pub(crate) fn facts(page: &mut Page, info: &PageInfo) {
    let seed = info.seed.map(|seed| seed.to_string()).unwrap_or_default();
    let given = [("command", &info.command), ("version", &info.version), ("seed", &seed)];
    let more = info.facts.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in given.into_iter().chain(more).filter(|(_, value)| !value.is_empty()) {
        page.footer(name, value);
    }
}

fn footer(page: &mut Page, info: &PageInfo, runs: &[RunView]) {
    if runs.iter().any(|run| !run.digest.is_empty()) {
        page.heading("Digests");
        page.paragraph("The same inputs give the same digests, on every machine.");
        page.table(&digests(runs));
    }
    facts(page, info);
}

/// Returns a table with the digest of each run.
fn digests(views: &[RunView]) -> Table {
    let several = views.iter().any(|view| view.runs.is_some());
    let heads: &[&str] = match several {
        true => &["trace", "scheme", "run", "start ms", "seed", "digest"],
        false => &["trace", "scheme", "digest"],
    };
    let mut rows = Vec::new();
    for view in views {
        let names = [Cell::text(&view.trace), Cell::text(&view.scheme)];
        let Some(runs) = &view.runs else {
            rows.push(names.into_iter().chain([Cell::code(&view.digest)]).collect());
            continue;
        };
        // The bound on all schemes has no digest.
        for run in runs.points.iter().filter(|run| !run.digest.is_empty()) {
            let numbers = [
                Cell::number(run.run.into(), 0),
                Cell::number(run.start_ms, 0),
                Cell::number(run.seed as f64, 0),
                Cell::code(&run.digest),
            ];
            rows.push(names.iter().cloned().chain(numbers).collect());
        }
    }
    let columns = heads.iter().map(|name| (name.to_string(), String::new())).collect();
    Table { columns, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, broken_run, run};

    fn info() -> PageInfo {
        PageInfo {
            title: "abc & cubic".into(),
            command: "paceline compare --schemes abc,cubic".into(),
            version: "0.1.0".into(),
            seed: Some(7),
            ..PageInfo::default()
        }
    }

    #[test]
    fn a_page_has_every_trace_and_how_it_came_about() {
        let runs = [run("lte", "abc", 40.0), run("lte", "cubic", 800.0), run("5g", "abc", 60.0)];
        let html = compare_page(&info(), &runs);
        assert_sound(&html);
        for text in [">lte<", ">5g<", "Figure 6. ", "paceline compare", "00ff", ">7<"] {
            assert!(html.contains(text), "{text}");
        }
        assert_eq!(html, compare_page(&info(), &runs));
    }

    #[test]
    fn bad_and_empty_input_still_give_a_page() {
        assert!(compare_page(&info(), &[]).contains("no data"));
        assert_sound(&compare_page(&info(), &[]));
        let html = compare_page(&info(), &[broken_run(), run("lte", "abc", 40.0)]);
        assert_sound(&html);
        assert!(!html.contains("<script>alert"));
    }

    #[test]
    fn long_runs_stay_small() {
        let mut long = run("lte", "abc", 40.0);
        let series = &mut long.series;
        for values in
            [&mut series.capacity_mbps, &mut series.throughput_mbps, &mut series.queue_delay_ms]
        {
            *values = (0..100_000).map(|i| 5.0 + (i % 977) as f64 / 100.0).collect();
        }
        assert!(compare_page(&info(), &[long]).len() < 120_000);
    }
}
