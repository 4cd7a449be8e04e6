//! The page of `paceline run`: the links and flows of one scenario.

use crate::chart::{Chart, Panel};
use crate::compare::{PageInfo, facts};
use crate::figure::Figure;
use crate::inner::{INNER_CAPTION, InnerValues, inner_chart};
use crate::layout::Layout;
use crate::number::usable;
use crate::page::Page;
use crate::palette::{Palette, is_built_in};
use crate::run::{Quantiles, RunView, TableFigure};
use crate::scatter::{Dot, Marker, Scatter};
use crate::series::{Fold, Series, Shade};
use crate::summary::table_of;
use crate::table::{Cell, Table};
use crate::timeline::{TOGETHER, time_series_figure};

/// Explanations of the figures.
pub(crate) const LINK_CAPTION: &str = "The shaded area is the link's capacity, the line what it delivered; below, the longest \
     queueing delay in each bin.";
const FLOWS_CAPTION: &str = "Each flow's goodput over the time from sending to arrival, propagation included. The \
     delay axis is inverted, so up and right is better.";
const GOODPUT_CAPTION: &str = "Goodput of each flow.";

/// A flow of a scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowView {
    /// Name, unique among the flows.
    pub name: String,
    /// Scheme of the flow.
    pub scheme: String,
    /// Bytes that arrived for the first time, in Mbit/s.
    pub goodput_mbps: f64,
    /// Time from sending to arrival per packet, in ms.
    pub one_way_delay_ms: Quantiles,
    /// The round-trip time per acknowledgement, in ms.
    pub rtt_ms: Quantiles,
    /// Number of packets retransmitted, if the flow's transport counts them.
    pub retransmits: Option<u64>,
    /// Ranges of these figures, if they are medians of several runs.
    pub ranges: Option<FlowRanges>,
    /// Further figures, which only some flows have, such as those of a video.
    pub figures: Vec<TableFigure>,
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// Bytes that arrived for the first time in each bin, in Mbit/s.
    pub goodput_series_mbps: Vec<f64>,
    /// Inner values of its controller in each bin; of several runs, of run 1.
    pub state: InnerValues,
}

/// Ranges of 90 % of the runs around the medians of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowRanges {
    /// Goodput in Mbit/s.
    pub goodput_mbps: [f64; 2],
    /// Mean of the one-way delay in ms.
    pub one_way_mean_ms: [f64; 2],
    /// Its 95th percentile.
    pub one_way_p95_ms: [f64; 2],
    /// Mean of the round-trip time in ms.
    pub rtt_mean_ms: [f64; 2],
    /// Its 95th percentile.
    pub rtt_p95_ms: [f64; 2],
    /// Packets retransmitted.
    pub retransmits: [f64; 2],
}

/// Returns the page of one scenario: the flows' trade-off, tables of links and flows, then each
/// link and the flows over time. In a link's view, `trace` is the link's name and `scheme` the
/// schemes of its flows.
pub fn scenario_page(info: &PageInfo, links: &[RunView], flows: &[FlowView]) -> String {
    let keys = keys(flows);
    let palette = Palette::new(keys.iter().map(String::as_str));
    let of_links = Palette::new(links.iter().map(|link| link.scheme.as_str()));
    let mut page = Page::new(&info.title);
    page.paragraph(&info.explanation);

    if !flows.is_empty() {
        page.heading("Overview");
        page.figure(&trade_off(flows, &keys, &palette).figure(), FLOWS_CAPTION);
    }
    page.heading("Links");
    page.table(&table_of(links, &of_links, ["link", "flows' schemes"]));
    page.paragraph("Queueing delays are per packet, in milliseconds.");
    if !flows.is_empty() {
        page.heading("Flows");
        page.table(&flow_table(flows, &keys, &palette));
    }
    for link in links {
        page.heading(&format!("Over time: {}", link.trace));
        let figure = time_series_figure(std::slice::from_ref(link), &of_links);
        page.figure(&figure, LINK_CAPTION);
    }
    if have_series(flows) {
        page.heading("Flows over time");
        page.figure(&over_time(flows, &keys, &palette).figure(), GOODPUT_CAPTION);
    }
    let own: Vec<(&FlowView, &String)> =
        flows.iter().zip(&keys).filter(|(flow, _)| !is_built_in(&flow.scheme)).collect();
    let charts = own.into_iter().take(TOGETHER).filter_map(|(flow, key)| {
        inner_chart(&label(flow), flow.bin_s, &flow.state, palette.paint(key))
    });
    let charts: Vec<Chart> = charts.collect();
    if !charts.is_empty() {
        page.heading("Inner values");
        charts.iter().for_each(|chart| page.figure(&chart.figure(), INNER_CAPTION));
    }
    facts(&mut page, info);
    page.to_html()
}

/// Returns the names that select the flows' styles: their schemes if all differ. Flows of one scheme
/// need different styles, so that the styles then belong to flows.
fn keys(flows: &[FlowView]) -> Vec<String> {
    let schemes: Vec<&str> = flows.iter().map(|flow| flow.scheme.as_str()).collect();
    let one_each = schemes.iter().all(|one| schemes.iter().filter(|it| *it == one).count() == 1);
    let key = |flow: &FlowView| if one_each { flow.scheme.clone() } else { flow.name.clone() };
    flows.iter().map(key).collect()
}

fn have_series(flows: &[FlowView]) -> bool {
    flows.iter().any(|flow| flow.goodput_series_mbps.iter().any(|&rate| usable(rate)))
}

/// Returns the figures of flows: `tradeoff`; `flows` over time if they have series; and `state NAME` of each flow
/// whose controller has inner values.
pub(crate) fn flow_charts(flows: &[FlowView], layout: &Layout) -> Vec<(String, Figure)> {
    let keys = keys(flows);
    let palette = layout.palette(keys.iter().map(String::as_str));
    let mut figures = Vec::new();
    if !flows.is_empty() {
        let plot = trade_off(flows, &keys, &palette);
        let figure = plot.figure_in(layout).with_caption(FLOWS_CAPTION);
        figures.push(("tradeoff".to_string(), figure));
    }
    if have_series(flows) {
        let chart = over_time(flows, &keys, &palette);
        let figure = chart.figure_in(layout).with_caption(GOODPUT_CAPTION);
        figures.push(("flows".to_string(), figure));
    }
    figures.extend(flows.iter().zip(&keys).filter_map(|(flow, key)| {
        let chart = inner_chart(&label(flow), flow.bin_s, &flow.state, palette.paint(key))?;
        let figure = chart.figure_in(layout).with_caption(INNER_CAPTION);
        Some((format!("state {}", flow.name), figure))
    }));
    figures
}

/// Returns the label beside a flow in a figure.
fn label(flow: &FlowView) -> String {
    if flow.name == flow.scheme {
        flow.name.clone()
    } else {
        format!("{} ({})", flow.name, flow.scheme)
    }
}

fn trade_off(flows: &[FlowView], keys: &[String], palette: &Palette) -> Scatter {
    let dot = |(flow, key): (&FlowView, &String)| {
        let paint = palette.paint(key);
        Dot {
            x: flow.one_way_delay_ms.p95,
            y: flow.goodput_mbps,
            label: label(flow),
            tooltip: format!("{}: {:.2} Mbit/s", label(flow), flow.goodput_mbps),
            paint,
            marker: Marker { shape: paint.shape, filled: true, radius: 6.5 },
            counts: false,
            tie: None,
        }
    };
    Scatter {
        label: "Goodput over one-way delay of each flow".into(),
        x_title: "95th-percentile one-way delay (ms)".into(),
        y_title: "Goodput (Mbit/s)".into(),
        dots: flows.iter().zip(keys).map(dot).collect(),
        ..Scatter::default()
    }
}

/// The figures of a flow: those that all flows have, then those that its view adds.
fn figures(flow: &FlowView) -> Vec<TableFigure> {
    let FlowView { goodput_mbps, one_way_delay_ms: one_way, rtt_ms: rtt, .. } = flow;
    let (goodput, resent) =
        ("goodput: bytes that arrived for the first time", "packets sent again");
    let (sent, acked) = ("time from sending to arrival", "round-trip time per acknowledgement");
    let retransmits = flow.retransmits.map_or(f64::NAN, |count| count as f64);
    let figure = |heading, hint, value, decimals, range: fn(FlowRanges) -> [f64; 2]| {
        TableFigure::new(heading, hint, value, decimals).with_range(flow.ranges.map(range))
    };
    let of_all = [
        figure("Mbit/s", goodput, *goodput_mbps, 2, |ranges| ranges.goodput_mbps),
        figure("one-way mean ms", sent, one_way.mean, 1, |ranges| ranges.one_way_mean_ms),
        figure("one-way p95 ms", sent, one_way.p95, 1, |ranges| ranges.one_way_p95_ms),
        figure("RTT mean ms", acked, rtt.mean, 1, |ranges| ranges.rtt_mean_ms),
        figure("RTT p95 ms", acked, rtt.p95, 1, |ranges| ranges.rtt_p95_ms),
        figure("resent", resent, retransmits, 0, |ranges| ranges.retransmits),
    ];
    of_all.into_iter().chain(flow.figures.iter().cloned()).collect()
}

fn flow_table(flows: &[FlowView], keys: &[String], palette: &Palette) -> Table {
    let all: Vec<Vec<TableFigure>> = flows.iter().map(figures).collect();
    let mut heads: Vec<&TableFigure> = Vec::new();
    for figure in all.iter().flatten() {
        if !heads.iter().any(|head| head.heading == figure.heading) {
            heads.push(figure);
        }
    }
    let row = |((flow, figures), key): ((&FlowView, &Vec<TableFigure>), &String)| {
        let numbers = heads.iter().map(|head| {
            let found = figures.iter().find(|one| one.heading == head.heading);
            found.map_or_else(|| Cell::number(f64::NAN, head.decimals), TableFigure::cell)
        });
        let names =
            [Cell::text(&flow.name).with_look(palette.paint(key)), Cell::text(&flow.scheme)];
        names.into_iter().chain(numbers).collect()
    };
    let names = ["flow", "scheme"].map(|name| (name.to_owned(), String::new()));
    let further = heads.iter().map(|head| (head.heading.clone(), head.explanation.clone()));
    Table {
        columns: names.into_iter().chain(further).collect(),
        rows: flows.iter().zip(&all).zip(keys).map(row).collect(),
    }
}

fn over_time(flows: &[FlowView], keys: &[String], palette: &Palette) -> Chart {
    let series = |(flow, key): (&FlowView, &String)| Series {
        name: label(flow),
        quantity: "goodput".into(),
        unit: "Mbit/s".into(),
        bin_s: flow.bin_s,
        values: flow.goodput_series_mbps.clone(),
        paint: palette.paint(key),
        shade: Shade::Line,
        fold: Fold::Mean,
        label: vec![label(flow)],
    };
    let all: Vec<Series> = flows.iter().zip(keys).map(series).collect();
    let panel = |series: &[Series]| Panel {
        title: "Goodput (Mbit/s)".into(),
        height: 150.0,
        log: false,
        series: series.to_vec(),
    };
    let panels = all.chunks(TOGETHER).map(panel).collect();
    Chart { label: "Goodput of each flow over time".into(), panels }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, broken_run, run};

    fn flow(name: &str, scheme: &str) -> FlowView {
        FlowView {
            name: name.into(),
            scheme: scheme.into(),
            goodput_mbps: 3.0,
            one_way_delay_ms: Quantiles { mean: 60.0, p95: 80.0, ..Quantiles::default() },
            bin_s: 0.1,
            goodput_series_mbps: vec![1.0, 2.0, f64::NAN, 4.0],
            ..FlowView::default()
        }
    }

    #[test]
    fn a_page_has_links_and_flows() {
        let info = PageInfo { title: "fair".into(), seed: Some(7), ..PageInfo::default() };
        let flows = [flow("abc", "abc"), flow("abc 2", "abc"), flow("other", "cubic")];
        let html = scenario_page(&info, &[run("narrow", "abc, cubic", 40.0)], &flows);
        assert_sound(&html);
        for text in ["Over time: narrow", "other (cubic)", "Goodput (Mbit/s)", ">abc 2<"] {
            assert!(html.contains(text), "{text}");
        }
        assert!(!html.contains("frozen"), "no flow has a video");
        let mut call = flow("call", "gcc");
        call.figures = vec![TableFigure::new("frozen %", "no frame", 12.5, 1)];
        let html = scenario_page(&info, &[], &[flow("bulk", "abc"), call]);
        assert_sound(&html);
        assert!(html.contains("frozen %") && html.contains("12.5"));
        // Medians of several runs have the ranges around them.
        let ranges = FlowRanges { goodput_mbps: [2.5, 3.5], ..FlowRanges::default() };
        let mut several = FlowView { ranges: Some(ranges), ..flow("bulk", "abc") };
        let frozen = TableFigure::new("frozen %", "no frame", 12.5, 1);
        several.figures = vec![frozen.with_range(Some([10.0, 15.0]))];
        let html = scenario_page(&info, &[], &[several]);
        assert!(html.contains("3.00 (2.50-3.50)") && html.contains("12.5 (10.0-15.0)"), "{html}");
        assert!(html.contains(">60.0<"), "equal runs have no range");
        let state = vec![("gradient".to_owned(), vec![1.0, -1.0])];
        let own = FlowView { state: state.clone(), ..flow("own", "mine") };
        let html = scenario_page(&info, &[], &[FlowView { state, ..flow("abc", "abc") }, own]);
        assert_sound(&html);
        // Pages show those of own controllers only.
        assert_eq!(
            html.matches("Inner values of").count() - html.matches("Inner values of the").count(),
            1
        );
        let broken = FlowView { goodput_mbps: f64::NAN, ..flow("<f>", "<s>") };
        assert_sound(&scenario_page(&info, &[broken_run()], &[broken]));
        assert_sound(&scenario_page(&info, &[], &[]));
    }
}
