//! The page of an emulation: the simulator's plots and tables, a section per direction.

use std::io;
use std::path::Path;

use paceline_report::{
    Cell, Page, Palette, RunView, Table, TableFigure, table_of, time_series_figure, time_series_svg,
};

use super::account::{EmulationReport, LinkRow};
use super::flow_rows::FlowFigures;

/// How a run was made, for its page.
#[derive(Clone, Debug, Default)]
pub struct PageFacts {
    /// The title.
    pub title: String,
    /// The command line.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// The seed, if there is one.
    pub seed: Option<u64>,
}

/// Writes `emulation.html`, `emulation.json`, and a plot of each direction with a link, into a
/// folder.
pub(super) fn write(folder: &Path, facts: &PageFacts, account: &EmulationReport) -> io::Result<()> {
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    };
    for (way, _, runs) in views(account) {
        file(&format!("{way}.svg"), &time_series_svg(&runs))?;
    }
    let json = serde_json::to_string_pretty(account).map_err(io::Error::other)?;
    file("emulation.json", &(json + "\n"))?;
    file("emulation.html", &page(facts, account))
}

fn page(facts: &PageFacts, account: &EmulationReport) -> String {
    let mut page = Page::new(&facts.title);
    let seconds = account.duration_s;
    page.paragraph(&format!(
        "Measured in real time for {seconds:.1} s. Queueing delay is the time from a packet's \
         arrival at the queue until it has left the link."
    ));
    let lateness = account.lateness_ms;
    let exact = format!(
        "Half of {} packets were released within {:.3} ms of their time, 99 % within {:.3} ms, \
         all within {:.3} ms.",
        lateness.packets, lateness.p50, lateness.p99, lateness.max
    );
    page.paragraph(&match (account.late, lateness.bound) {
        (true, Some(bound)) => format!(
            "These results are not those of the link, since packets were released late: {} of {} \
             that went up, and {} of {} that went down, more than {bound:.3} ms after their time. {exact}",
            account.up.late_packets,
            account.up.lateness_ms.packets,
            account.down.late_packets,
            account.down.lateness_ms.packets
        ),
        _ => exact,
    });
    let views = views(account);
    let all: Vec<RunView> = views.iter().flat_map(|(.., runs)| runs.clone()).collect();
    let palette = Palette::new(all.iter().map(|run| run.scheme.as_str()));
    page.heading("Summary");
    page.table(&table_of(&all, &palette, ["link", "queue"]));
    page.paragraph("Queueing delays are per packet, in milliseconds.");
    let flows = flow_table(account);
    if !flows.rows.is_empty() {
        page.heading("Flows");
        page.table(&flows);
        page.paragraph(
            "By protocol, addresses and ports inside the emulator. Quantiles are exact to 3 %.",
        );
    }
    for (_, title, runs) in &views {
        page.heading(title);
        page.figure(
            &time_series_figure(runs, &palette),
            "The shaded area is the link's capacity, the line what it delivered; below, the \
             longest queueing delay in each bin.",
        );
    }
    if !account.errors.is_empty() {
        page.heading("What went wrong");
        account.errors.iter().for_each(|error| page.paragraph(error));
    }
    let seed = facts.seed.map(|seed| seed.to_string()).unwrap_or_default();
    let footer = [("command", &facts.command), ("version", &facts.version), ("seed", &seed)];
    footer.iter().filter(|(_, value)| !value.is_empty()).for_each(|(name, value)| {
        page.footer(name, value);
    });
    page.to_html()
}

/// Returns the directions that have links: a name for files, a title, and a run for each link.
fn views(account: &EmulationReport) -> Vec<(&'static str, &'static str, Vec<RunView>)> {
    let ways = [
        ("up", "Up: from inside to outside", &account.up),
        ("down", "Down: from outside to inside", &account.down),
    ];
    let mut found = Vec::new();
    for (name, title, way) in ways {
        let rows = way.link.iter().chain(&way.more_links);
        let runs: Vec<RunView> = rows.map(|row| view(name, row)).collect();
        if !runs.is_empty() {
            found.push((name, title, runs));
        }
    }
    found
}

/// Returns a table of the flows at each link.
fn flow_table(account: &EmulationReport) -> Table {
    let columns = [
        ("link", ""),
        ("protocol", ""),
        ("from", ""),
        ("to", ""),
        ("Mbit/s", "the rate that the link delivered"),
        ("mean ms", "the mean queueing delay"),
        ("p95 ms", "95 % of the packets waited at most this long"),
        ("loss %", "packets lost"),
    ];
    let mut rows = Vec::new();
    for (way, direction) in [("up", &account.up), ("down", &account.down)] {
        for link in direction.link.iter().chain(&direction.more_links) {
            let name = format!("{way}: {}", link.trace);
            for flow in &link.flows {
                let names = [&name, &flow.protocol, &flow.from, &flow.to];
                rows.push(flow_cells(names.map(String::as_str), &flow.figures));
            }
            if let Some(others) = &link.other_flows {
                rows.push(flow_cells([&name, "", "all others", ""], others));
            }
        }
    }
    let columns = columns.map(|(name, hint)| (name.into(), hint.into()));
    Table { columns: columns.into(), rows }
}

fn flow_cells(names: [&str; 4], figures: &FlowFigures) -> Vec<Cell> {
    let numbers = [
        Cell::number(figures.throughput_mbps, 3),
        Cell::number(figures.queue_delay_ms.mean, 1),
        Cell::number(figures.queue_delay_ms.p95, 1),
        Cell::number(100.0 * figures.loss(), 2),
    ];
    names.into_iter().map(Cell::text).chain(numbers).collect()
}

fn view(way: &str, row: &LinkRow) -> RunView {
    let loss = 100.0 * row.drops as f64 / (row.packets + row.drops) as f64;
    RunView {
        trace: format!("{way}: {}", row.trace),
        scheme: row.queue.clone(),
        capacity_mbps: row.capacity_mbps,
        throughput_mbps: row.throughput_mbps,
        utilization: row.utilization,
        queue_delay_ms: row.queue_delay_ms,
        figures: vec![TableFigure::new("loss %", "packets lost", loss, 2)],
        series: row.series.clone(),
        ..RunView::default()
    }
}
