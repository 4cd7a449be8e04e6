//! Converts rows of `compare`'s table, and links of scenarios, for the charts of the report.

use paceline_cc::{ParamValue as _, Span};
use paceline_report::{
    Band, FlowRanges, FlowView, InnerValues, Quantiles, RunPoint, RunSetting, RunView, RunsView,
    TimeSeries,
};
use paceline_sim::metrics::{Distribution, range_of_runs};
use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;
use paceline_sim::{FlowOutcome, LinkOutcome, LinkSeries, Names, Outcome};

use crate::columns::rows::FlowRuns;
use crate::columns::{Figure as _, over, page_figures, page_figures_if_measured};
use crate::compare::{CompareRow, OMNISCIENT};
use crate::summary::{groups, summary_row};

/// Returns a scheme as in labels: without parameters that have their default values.
pub fn label(scheme: &str, names: &Names) -> String {
    let spec = names.check_scheme(scheme).map(|spec| names.without_defaults(&spec).to_string());
    spec.unwrap_or_else(|_| scheme.to_string())
}

/// Converts the rows of a comparison: one view for each scheme on each trace, of its only run or of
/// the medians of its runs.
pub fn compare_views(rows: &[CompareRow], names: &Names) -> Vec<RunView> {
    let view = |runs: &Vec<&CompareRow>| match runs[..] {
        [run] => single(run, names),
        _ => medians(runs, names),
    };
    groups(rows).iter().map(view).collect()
}

/// Converts a run.
fn single(row: &CompareRow, names: &Names) -> RunView {
    RunView {
        trace: row.link(),
        setting: setting(row),
        scheme: label(&row.scheme, names),
        capacity_mbps: row.capacity_mbps,
        throughput_mbps: row.throughput_mbps,
        utilization: row.utilization,
        queue_delay_ms: row.queue_delay_ms,
        figures: page_figures(row),
        series: series(row.series.as_ref()),
        state: inner_values(&row.state),
        digest: row.digest.clone(),
        note: row.note.clone(),
        bound: row.scheme == OMNISCIENT,
        ..RunView::default()
    }
}

/// Converts inner values of a controller.
fn inner_values(state: &[(&'static str, Vec<f64>)]) -> InnerValues {
    state.iter().map(|(name, values)| (name.to_string(), values.clone())).collect()
}

/// Returns the setting of a row of a sweep.
fn setting(row: &CompareRow) -> Option<RunSetting> {
    let (rtt, buffer) = (row.rtt.clone()?, row.buffer.clone()?);
    let rtt_ms = Span::read(&rtt).map_or(f64::NAN, Span::as_millis_f64);
    Some(RunSetting { trace: row.trace.clone(), rtt_ms, rtt, buffer })
}

/// Returns the range of 90 % of the runs.
fn ends(of: &Distribution) -> [f64; 2] {
    [of.p5, of.p95]
}

/// Converts several runs of one scheme on one trace to their medians, with ranges.
fn medians(rows: &[&CompareRow], names: &Names) -> RunView {
    let summary = summary_row(rows);
    let point = |row: &&CompareRow| RunPoint {
        run: row.run,
        start_ms: row.start_ms,
        seed: row.seed,
        throughput_mbps: row.throughput_mbps,
        utilization: row.utilization,
        p95_ms: row.queue_delay_ms.p95,
        digest: row.digest.clone(),
    };
    let (series, throughput_band, queue_delay_band) = series_of_runs(rows);
    RunView {
        capacity_mbps: summary.capacity_mbps.median,
        throughput_mbps: summary.throughput_mbps.median,
        utilization: summary.utilization.median,
        queue_delay_ms: median_delays(rows, |row| row.queue_delay_ms),
        figures: page_figures(&summary),
        series,
        runs: Some(RunsView {
            points: rows.iter().map(point).collect(),
            throughput_mbps: ends(&summary.throughput_mbps),
            utilization: ends(&summary.utilization),
            p95_ms: ends(&summary.queue_delay_ms.p95),
            throughput_band,
            queue_delay_band,
        }),
        ..single(rows[0], names)
    }
}

/// Largest spread of starts, as a share of a run, that is shown in the time of the recording.
const SMALL_SPREAD: f64 = 0.1;

/// Returns medians of the runs over time, and bands of 90 % of the runs around throughput and
/// delay.
///
/// If the starts are close together, time is that of the recording: a run that starts 300 ms later
/// begins at 300 ms, so that all runs have the same capacity in each bin. Otherwise time counts
/// from each run's start, and the capacity is a median, too.
fn series_of_runs(rows: &[&CompareRow]) -> (TimeSeries, Band, Band) {
    let all: Option<Vec<(&LinkSeries, f64)>> =
        rows.iter().map(|row| Some((row.series.as_ref()?, row.start_ms / 1e3))).collect();
    let Some(all) = all.filter(|all| !all.is_empty()) else { return Default::default() };
    let first = all[0].0;
    let bins = first.capacity_mbps.len();
    let latest = all.iter().map(|(_, start)| *start).fold(0.0, f64::max);
    let is_close = latest <= SMALL_SPREAD * first.bin_s * bins as f64;
    let shifts: Vec<usize> = all
        .iter()
        .map(|(_, start)| if is_close { (start / first.bin_s).round() as usize } else { 0 })
        .collect();
    let of_runs = |of: fn(&LinkSeries) -> &Vec<f64>| {
        let mut columns = [const { Vec::new() }; 3];
        let mut values = Vec::with_capacity(all.len());
        for bin in 0..bins {
            let run = |((series, _), shift): (&(&LinkSeries, f64), &usize)| {
                of(series).get(bin.checked_sub(*shift)?).copied()
            };
            values.clear();
            values
                .extend(all.iter().zip(&shifts).filter_map(run).filter(|value| value.is_finite()));
            let range = range_of_runs(&mut values).unwrap_or([f64::NAN; 3]);
            columns.iter_mut().zip(range).for_each(|(column, value)| column.push(value));
        }
        columns
    };
    let [low, throughput_mbps, high] = of_runs(|series| &series.throughput_mbps);
    let throughput_band = [low, high];
    let [low, queue_delay_ms, high] = of_runs(|series| &series.queue_delay_ms);
    let capacity_mbps = match is_close {
        // The first run begins where the recording does.
        true => first.capacity_mbps.clone(),
        false => of_runs(|series| &series.capacity_mbps)[1].clone(),
    };
    let series = TimeSeries {
        bin_s: first.bin_s,
        capacity_mbps,
        throughput_mbps,
        queue_delay_ms,
        window_packets: None,
    };
    (series, throughput_band, [low, high])
}

/// Returns the links, each with the schemes of the flows whose data passes it, and the flows.
pub fn views(scenario: &Scenario, outcome: &Outcome) -> (Vec<RunView>, Vec<FlowView>) {
    let names = paceline_remy::names();
    let link = |link: &LinkOutcome| {
        let mut schemes: Vec<String> = Vec::new();
        let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
        for flow in scenario.flows.iter().chain(arrivals) {
            let scheme = label(&flow.scheme.to_string(), &names);
            if flow.path.contains(&link.name) && !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
        if schemes.is_empty() {
            schemes.push("acknowledgements".into());
        }
        link_view(link, &schemes.join(", "))
    };
    let flow = |flow: &FlowOutcome| {
        let series = flow.series.clone().unwrap_or_default();
        FlowView {
            name: flow.name.clone(),
            scheme: label(&flow.scheme, &names),
            goodput_mbps: flow.goodput_mbps,
            one_way_delay_ms: flow.one_way_delay_ms,
            rtt_ms: flow.rtt_ms,
            retransmits: flow.sender.counted_retransmits(),
            ranges: None,
            figures: page_figures_if_measured(flow),
            bin_s: series.bin_s,
            state: inner_values(&series.state),
            goodput_series_mbps: series.goodput_mbps,
        }
    };
    (outcome.links.iter().map(link).collect(), outcome.flows.iter().map(flow).collect())
}

/// Returns the links and flows of several runs of a scenario, of which there is at least one:
/// medians, and the runs around them.
pub fn views_of_runs(
    scenario: &Scenario,
    runs: &[(Run, Outcome)],
) -> (Vec<RunView>, Vec<FlowView>) {
    let (links, flows) = views(scenario, &runs[0].1);
    let link = |(at, view): (usize, RunView)| {
        let rows: Vec<CompareRow> =
            runs.iter().map(|(run, outcome)| link_row(*run, &outcome.links[at])).collect();
        let RunView { trace, scheme, .. } = view;
        let medians = medians(&rows.iter().collect::<Vec<_>>(), &Names::default());
        RunView { trace, scheme, figures: Vec::new(), ..medians }
    };
    let flow = |(at, view): (usize, FlowView)| {
        let all: Vec<&FlowOutcome> = runs.iter().map(|(_, outcome)| &outcome.flows[at]).collect();
        let series = |bin: usize| {
            let values = all.iter().filter_map(|flow| flow.series.as_ref()?.goodput_mbps.get(bin));
            range_of_runs(&mut values.copied().collect::<Vec<f64>>())
                .map_or(f64::NAN, |[_, median, _]| median)
        };
        let goodput = over(&all, |flow| flow.goodput_mbps);
        let retransmits = over(&all, |flow| flow.sender.retransmits as f64);
        let range = |of: fn(&FlowOutcome) -> f64| ends(&over(&all, |flow| of(flow)));
        FlowView {
            goodput_mbps: goodput.median,
            one_way_delay_ms: median_delays(&all, |flow| flow.one_way_delay_ms),
            rtt_ms: median_delays(&all, |flow| flow.rtt_ms),
            retransmits: view.retransmits.map(|_| retransmits.median.round() as u64),
            ranges: Some(FlowRanges {
                goodput_mbps: ends(&goodput),
                one_way_mean_ms: range(|flow| flow.one_way_delay_ms.mean),
                one_way_p95_ms: range(|flow| flow.one_way_delay_ms.p95),
                rtt_mean_ms: range(|flow| flow.rtt_ms.mean),
                rtt_p95_ms: range(|flow| flow.rtt_ms.p95),
                retransmits: ends(&retransmits),
            }),
            figures: page_figures_if_measured(&FlowRuns::of(all[0], &all)),
            goodput_series_mbps: (0..view.goodput_series_mbps.len()).map(series).collect(),
            ..view
        }
    };
    (
        links.into_iter().enumerate().map(link).collect(),
        flows.into_iter().enumerate().map(flow).collect(),
    )
}

/// Converts a link in one run of a scenario to a row of a comparison.
fn link_row(run: Run, link: &LinkOutcome) -> CompareRow {
    CompareRow {
        trace: link.name.clone(),
        run: run.number,
        start_ms: run.start.as_millis_f64(),
        seed: run.seed,
        flows: 1,
        capacity_mbps: link.capacity_mbps,
        throughput_mbps: link.throughput_mbps,
        utilization: link.utilization,
        queue_delay_ms: link.queue_delay_ms,
        series: link.series.clone(),
        ..CompareRow::default()
    }
}

/// Returns the medians over runs of a delay's quantiles.
fn median_delays<T>(runs: &[&T], of: impl Fn(&T) -> Quantiles) -> Quantiles {
    let all: Vec<Quantiles> = runs.iter().map(|run| of(run)).collect();
    let delay = Quantiles::over_runs(&all);
    Quantiles {
        mean: delay.mean.median,
        p50: delay.p50.median,
        p95: delay.p95.median,
        p99: delay.p99.median,
        max: over(&all, |delay| delay.max).median,
    }
}

/// Converts a link of a scenario, with the schemes whose data passes it.
fn link_view(link: &LinkOutcome, schemes: &str) -> RunView {
    RunView {
        trace: link.name.clone(),
        scheme: schemes.to_string(),
        capacity_mbps: link.capacity_mbps,
        throughput_mbps: link.throughput_mbps,
        utilization: link.utilization,
        queue_delay_ms: link.queue_delay_ms,
        series: series(link.series.as_ref()),
        ..RunView::default()
    }
}

fn series(series: Option<&LinkSeries>) -> TimeSeries {
    let series = series.cloned().unwrap_or_default();
    TimeSeries {
        bin_s: series.bin_s,
        capacity_mbps: series.capacity_mbps,
        throughput_mbps: series.throughput_mbps,
        queue_delay_ms: series.queue_delay_ms,
        window_packets: None,
    }
}
