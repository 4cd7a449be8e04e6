//! The page of `paceline send` and `paceline recv`: connections over a real path of unknown
//! capacity.

use crate::chart::{Chart, Panel};
use crate::compare::{PageInfo, facts};
use crate::figure::Figure;
use crate::number::{short, usable};
use crate::page::Page;
use crate::palette::Palette;
use crate::run::Quantiles;
use crate::series::{Fold, Series, Shade};
use crate::style::Paint;
use crate::table::{Cell, Table};

/// Most connections that are shown over time.
const SHOWN: usize = 24;

/// A line in a panel of a transfer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// Its name: "sent", "acknowledged".
    pub name: String,
    /// A value for each bin; NaN for none.
    pub values: Vec<f64>,
    /// Way to merge bins.
    pub fold: Fold,
}

/// Lines of one quantity over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// Title of the axis, with the unit.
    pub title: String,
    /// The unit of the values.
    pub unit: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransferView {
    /// Address of the other end, or another name.
    pub name: String,
    /// The scheme of the sender.
    pub scheme: String,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Data that arrived, with repetitions, in Mbit/s; `None` if all packets arrived at one time.
    pub throughput_mbps: Option<f64>,
    /// Data that arrived for the first time, in Mbit/s; `None` likewise.
    pub goodput_mbps: Option<f64>,
    /// One-way delays minus the shortest one, in ms.
    pub queue_delay_ms: Quantiles,
    /// Round-trip times in ms; `None` at a receiver, which does not measure them.
    pub rtt_ms: Option<Quantiles>,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets that count as lost, and packets retransmitted; `None` at a receiver.
    pub lost: Option<(u64, u64)>,
    /// Packets that arrived with the mark CE.
    pub marks: u64,
    /// Reason if it has ended badly.
    pub problem: Option<String>,
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// The panels over time.
    pub panels: Vec<Lines>,
}

/// Returns the page of one or more connections: a table of all, then each over time. It is one file
/// without external resources.
pub fn transfer_page(info: &PageInfo, transfers: &[TransferView]) -> String {
    let palette = Palette::new(transfers.iter().map(|view| view.scheme.as_str()));
    let mut page = Page::new(&info.title);
    page.paragraph(&info.explanation);
    page.heading("Summary");
    page.table(&table(transfers, &palette));
    page.paragraph(
        "Delays and round-trip times are per packet, in milliseconds. The one-way delay is that above \
         the shortest one, since the clocks of two hosts differ.",
    );
    for view in transfers {
        if let Some(problem) = &view.problem {
            page.paragraph(&format!("{}: {problem}", view.name));
        }
    }
    for view in transfers.iter().take(SHOWN) {
        page.heading(&format!("Over time: {}", view.name));
        page.figure(
            &over_time(view, &palette),
            "Rates are means and delays the longest values of each bin.",
        );
    }
    if transfers.len() > SHOWN {
        let more = transfers.len() - SHOWN;
        page.paragraph(&format!("{more} more connections are not drawn."));
    }
    facts(&mut page, info);
    page.to_html()
}

/// Returns a connection over time, as an SVG file.
pub fn transfer_svg(view: &TransferView) -> String {
    over_time(view, &Palette::new([view.scheme.as_str()])).to_svg()
}

fn table(transfers: &[TransferView], palette: &Palette) -> Table {
    type Column = (&'static str, &'static str, fn(&TransferView) -> Option<f64>, usize);
    const COLUMNS: [Column; 12] = [
        ("s", "duration in seconds", |v| Some(v.duration_s), 1),
        ("Mbit/s", "what arrived, repetitions included", |v| v.throughput_mbps, 2),
        ("goodput", "what arrived for the first time, in Mbit/s", |v| v.goodput_mbps, 2),
        ("RTT p50", "round-trip time in ms: median", |v| v.rtt_ms.map(|q| q.p50), 1),
        ("RTT p95", "round-trip time in ms: 95th percentile", |v| v.rtt_ms.map(|q| q.p95), 1),
        ("delay p50", "one-way delay in ms: median", |v| Some(v.queue_delay_ms.p50), 1),
        ("delay p95", "one-way delay in ms: 95th percentile", |v| Some(v.queue_delay_ms.p95), 1),
        ("delay max", "one-way delay in ms: largest", |v| Some(v.queue_delay_ms.max), 1),
        ("packets", "packets that arrived", |v| Some(v.packets as f64), 0),
        ("lost", "packets taken for lost", |v| v.lost.map(|(lost, _)| lost as f64), 0),
        ("resent", "packets sent again", |v| v.lost.map(|(_, resent)| resent as f64), 0),
        ("CE", "packets that arrived with CE", |v| Some(v.marks as f64), 0),
    ];
    let used = |column: &&Column| transfers.iter().any(|view| (column.2)(view).is_some_and(usable));
    let columns: Vec<&Column> = COLUMNS.iter().filter(used).collect();
    let heads = [("connection", ""), ("scheme", "")].into_iter();
    let heads = heads.chain(columns.iter().map(|(name, hint, ..)| (*name, *hint)));
    let row = |view: &TransferView| {
        let cells = columns.iter().map(|(_, _, of, decimals)| Cell::maybe(of(view), *decimals));
        [Cell::text(&view.name).with_look(palette.paint(&view.scheme)), Cell::text(&view.scheme)]
            .into_iter()
            .chain(cells)
            .collect()
    };
    Table {
        columns: heads.map(|(name, hint)| (name.to_owned(), hint.to_owned())).collect(),
        rows: transfers.iter().map(row).collect(),
    }
}

fn over_time(view: &TransferView, palette: &Palette) -> Figure {
    let paint = palette.paint(&view.scheme);
    let panel = |lines: &Lines| {
        let series = lines.lines.iter().enumerate().map(|(at, line)| {
            let values = || line.values.iter().copied().filter(|&value| usable(value));
            let known = match line.fold {
                Fold::Mean => values().sum::<f64>() / values().count().max(1) as f64,
                Fold::Max => values().fold(0.0, f64::max),
            };
            let word = if line.fold == Fold::Max { "largest" } else { "mean" };
            Series {
                name: line.name.clone(),
                quantity: line.name.clone(),
                unit: lines.unit.clone(),
                bin_s: view.bin_s,
                values: line.values.clone(),
                // The first line is the scheme's; the lines for comparison are grey.
                paint: if at == 0 { paint } else { Paint::MUTED },
                shade: Shade::Line,
                fold: line.fold,
                label: vec![line.name.clone(), format!("{word} {} {}", short(known), lines.unit)],
            }
        });
        // Grey lines are drawn first.
        let series = series.rev().collect();
        Panel { title: lines.title.clone(), height: 130.0, log: false, series }
    };
    let panels = view.panels.iter().map(panel).collect();
    Chart { label: format!("{} under {} over time", view.name, view.scheme), panels }.figure()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    fn view(name: &str) -> TransferView {
        let line = |name: &str, fold| Line {
            name: name.into(),
            values: (0..100).map(f64::from).chain([f64::NAN]).collect(),
            fold,
        };
        let lines = |title: &str, unit: &str, lines| Lines {
            title: title.into(),
            unit: unit.into(),
            lines,
        };
        TransferView {
            name: name.into(),
            scheme: "abc".into(),
            duration_s: 10.0,
            goodput_mbps: Some(3.0),
            queue_delay_ms: Quantiles { p95: 80.0, ..Quantiles::default() },
            packets: 7,
            bin_s: 0.1,
            panels: vec![
                lines(
                    "Rate (Mbit/s)",
                    "Mbit/s",
                    vec![line("acknowledged", Fold::Mean), line("sent", Fold::Mean)],
                ),
                lines("Round trip (ms)", "ms", vec![line("round trip", Fold::Max)]),
            ],
            ..TransferView::default()
        }
    }

    #[test]
    fn a_page_has_a_table_and_each_connection_over_time() {
        let info = PageInfo { title: "sent".into(), ..PageInfo::default() };
        let problem = Some("the <other> end has died".into());
        let views = [view("192.0.2.1:5311"), TransferView { problem, ..view("b") }];
        let html = transfer_page(&info, &views);
        assert_sound(&html);
        for text in ["Over time: 192.0.2.1:5311", "Rate (Mbit/s)", "delay p95", "&lt;other&gt;"] {
            assert!(html.contains(text), "{text}");
        }
        // Columns without any value are left out.
        assert!(!html.contains("RTT p95") && !html.contains("resent"));
        assert_sound(&transfer_svg(&views[0]));
        let many: Vec<_> = (0..30).map(|n| view(&format!("c{n}"))).collect();
        assert!(transfer_page(&info, &many).contains("6 more connections"));
    }

    #[test]
    fn a_connection_without_rate_has_a_dash() {
        let views = [view("a"), TransferView { goodput_mbps: None, ..view("b") }];
        let html = transfer_page(&PageInfo::default(), &views);
        assert!(html.contains("3.00") && html.contains(">–<"), "{html}");
    }

    #[test]
    fn bad_data_is_left_out() {
        let info = PageInfo::default();
        let broken =
            TransferView { goodput_mbps: Some(f64::NAN), duration_s: f64::INFINITY, ..view("<f>") };
        assert_sound(&transfer_page(&info, &[broken, TransferView::default()]));
        assert_sound(&transfer_page(&info, &[]));
    }
}
