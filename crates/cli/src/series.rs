//! Values over time as a table: of a comparison (`compare -o DIR`, `compare --series FILE`), and of a scenario
//! (`run --series FILE`).

use paceline_requests::compare::CompareRow;
use paceline_sim::runs::Run;
use paceline_sim::{LinkSeries, Outcome};
use paceline_sweep::{Column, Table, Values};

/// Names of the columns of a comparison before the values.
const NAMES: [&str; 3] = ["trace", "scheme", "run"];
/// Names of the columns of a sweep before the values.
const SWEEP_NAMES: [&str; 5] = ["trace", "rtt", "buffer", "scheme", "run"];
/// Time and values of a link.
const VALUES: [&str; 4] = ["time_s", "capacity_mbps", "throughput_mbps", "queue_delay_ms"];

/// Returns the columns of a comparison's table.
pub(crate) fn compare_columns(is_sweep: bool) -> Vec<&'static str> {
    let names: &[&str] = if is_sweep { &SWEEP_NAMES } else { &NAMES };
    [names, &VALUES].concat()
}

/// Returns true if the rows name their RTTs and buffers.
pub(crate) fn is_sweep(rows: &[CompareRow]) -> bool {
    rows.iter().any(|row| row.rtt.is_some())
}

/// Returns the start of a bin in seconds, to the microsecond.
fn time(bin: usize, bin_s: f64) -> f64 {
    (bin as f64 * bin_s * 1e6).round() / 1e6
}

/// Returns the value of a bin; `None` if it was not measured.
fn measured(values: &[f64], bin: usize) -> Option<f64> {
    values.get(bin).copied().filter(|value| value.is_finite())
}

fn texts(name: &str, values: Vec<Option<String>>) -> Column {
    Column { name: name.into(), values: Values::Text(values) }
}

fn numbers(name: &str, values: Vec<Option<f64>>) -> Column {
    Column { name: name.into(), values: Values::Number(values) }
}

fn whole(name: &str, values: Vec<Option<i64>>) -> Column {
    Column { name: name.into(), values: Values::Whole(values) }
}

/// Columns of values over time, to which the series of links are added.
#[derive(Default)]
struct LinkColumns {
    time_s: Vec<Option<f64>>,
    capacity_mbps: Vec<Option<f64>>,
    throughput_mbps: Vec<Option<f64>>,
    queue_delay_ms: Vec<Option<f64>>,
}

impl LinkColumns {
    fn add(&mut self, series: &LinkSeries) {
        for bin in 0..series.capacity_mbps.len() {
            self.time_s.push(Some(time(bin, series.bin_s)));
            self.capacity_mbps.push(measured(&series.capacity_mbps, bin));
            self.throughput_mbps.push(measured(&series.throughput_mbps, bin));
            self.queue_delay_ms.push(measured(&series.queue_delay_ms, bin));
        }
    }

    /// Adds rows without values of a link at these times.
    fn add_times(&mut self, bins: usize, bin_s: f64) {
        for bin in 0..bins {
            self.time_s.push(Some(time(bin, bin_s)));
            self.capacity_mbps.push(None);
            self.throughput_mbps.push(None);
            self.queue_delay_ms.push(None);
        }
    }

    fn columns(self) -> [Column; 4] {
        let [time_s, capacity_mbps, throughput_mbps, queue_delay_ms] = VALUES;
        [
            numbers(time_s, self.time_s),
            numbers(capacity_mbps, self.capacity_mbps),
            numbers(throughput_mbps, self.throughput_mbps),
            numbers(queue_delay_ms, self.queue_delay_ms),
        ]
    }
}

/// Returns the links of a comparison over time: a row for each bin, at the time of its start; `None` if no row of
/// the comparison has series.
pub(crate) fn of_compare(rows: &[CompareRow]) -> Option<Table> {
    let with_series = rows.iter().filter_map(|row| Some((row, row.series.as_ref()?)));
    let mut links = LinkColumns::default();
    let mut row_of_bin: Vec<&CompareRow> = Vec::new();
    for (row, series) in with_series {
        links.add(series);
        row_of_bin.resize(links.time_s.len(), row);
    }
    if row_of_bin.is_empty() {
        return None;
    }
    let named = |name: &str| {
        let text = |of: fn(&CompareRow) -> Option<String>| {
            texts(name, row_of_bin.iter().map(|row| of(row)).collect())
        };
        match name {
            "trace" => text(|row| Some(row.trace.clone())),
            "rtt" => text(|row| row.rtt.clone()),
            "buffer" => text(|row| row.buffer.clone()),
            "scheme" => text(|row| Some(row.scheme.clone())),
            _ => whole(name, row_of_bin.iter().map(|row| Some(i64::from(row.run))).collect()),
        }
    };
    let names: &[&str] = if is_sweep(rows) { &SWEEP_NAMES } else { &NAMES };
    let columns = names.iter().map(|name| named(name)).chain(links.columns()).collect();
    Some(Table { columns })
}

/// Returns the links and flows of a scenario's runs over time: a row for each bin of each link and flow. Inner values
/// of controllers are columns `state.NAME`.
pub(crate) fn of_runs(runs: &[(Run, Outcome)]) -> Table {
    let mut links = LinkColumns::default();
    let mut goodput_mbps: Vec<Option<f64>> = Vec::new();
    let mut states: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
    let (mut kinds, mut names, mut schemes, mut numbers_of_runs) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (run, outcome) in runs {
        let mut add_names = |count: usize, kind: &str, name: &str, scheme: Option<&str>| {
            kinds.resize(count, Some(kind.to_string()));
            names.resize(count, Some(name.to_string()));
            schemes.resize(count, scheme.map(str::to_string));
            numbers_of_runs.resize(count, Some(i64::from(run.number)));
        };
        for link in &outcome.links {
            let Some(series) = &link.series else { continue };
            links.add(series);
            add_names(links.time_s.len(), "link", &link.name, None);
        }
        for flow in &outcome.flows {
            let Some(series) = &flow.series else { continue };
            let (first, bins) = (links.time_s.len(), series.goodput_mbps.len());
            links.add_times(bins, series.bin_s);
            add_names(links.time_s.len(), "flow", &flow.name, Some(&flow.scheme));
            goodput_mbps.resize(first, None);
            goodput_mbps.extend((0..bins).map(|bin| measured(&series.goodput_mbps, bin)));
            for (state, values) in &series.state {
                let at = states.iter().position(|(known, _)| known == state).unwrap_or_else(|| {
                    states.push((state, Vec::new()));
                    states.len() - 1
                });
                let column = &mut states[at].1;
                column.resize(first, None);
                column.extend((0..bins).map(|bin| measured(values, bin)));
            }
        }
    }
    let rows = links.time_s.len();
    goodput_mbps.resize(rows, None);
    let [time_s, of_links @ ..] = links.columns();
    let mut columns = vec![
        texts("kind", kinds),
        texts("name", names),
        texts("scheme", schemes),
        whole("run", numbers_of_runs),
        time_s,
    ];
    columns.extend(of_links);
    columns.push(numbers("goodput_mbps", goodput_mbps));
    columns.extend(states.into_iter().map(|(name, mut values)| {
        values.resize(rows, None);
        numbers(&format!("state.{name}"), values)
    }));
    Table { columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_and_links_share_a_table() {
        let mut outcome = Outcome::default();
        let mut link = paceline_sim::LinkOutcome::default();
        link.name = "l".into();
        let mut series = LinkSeries::default();
        series.bin_s = 0.1;
        series.capacity_mbps = vec![1.0, 2.0];
        series.throughput_mbps = vec![0.5, 1.5];
        series.queue_delay_ms = vec![f64::NAN, 7.0];
        link.series = Some(series);
        outcome.links.push(link);
        let mut flow = paceline_sim::FlowOutcome::default();
        (flow.name, flow.scheme) = ("f".into(), "abc".into());
        let mut series = paceline_sim::FlowSeries::default();
        series.bin_s = 0.1;
        series.goodput_mbps = vec![0.25, 0.75];
        series.state = vec![("target", vec![3.0, f64::NAN])];
        flow.series = Some(series);
        outcome.flows.push(flow);
        let run = Run::of(&paceline_sim::scenario::Scenario::new("s"), 1);
        let table = of_runs(&[(run, outcome)]);
        let column = |name: &str| {
            let found = table.columns.iter().find(|column| column.name == name);
            found.unwrap_or_else(|| panic!("no column {name}")).values.clone()
        };
        let number = |values: [Option<f64>; 4]| Values::Number(values.to_vec());
        assert_eq!(column("time_s"), number([Some(0.0), Some(0.1), Some(0.0), Some(0.1)]));
        assert_eq!(column("queue_delay_ms"), number([None, Some(7.0), None, None]));
        assert_eq!(column("goodput_mbps"), number([None, None, Some(0.25), Some(0.75)]));
        assert_eq!(column("state.target"), number([None, None, Some(3.0), None]));
        let kinds = ["link", "link", "flow", "flow"].map(|kind| Some(kind.to_string()));
        assert_eq!(column("kind"), Values::Text(kinds.to_vec()));
        assert_eq!(column("run"), Values::Whole(vec![Some(1); 4]));
    }
}
