//! Tables of the simulated and the real runs.

use owo_colors::OwoColorize;
use paceline_requests::gap::GapRow;
use paceline_requests::numbers::{figure, percent};
use paceline_sim::metrics::Distribution;

use crate::table::Grid;

/// Returns a table for each trace. Each scheme has a line of the simulated run that starts when the
/// real one does, a line of the emulator, the range of 90 % of the simulated runs, and the
/// deviation of the first line from the second.
pub(super) fn tables(rows: &[GapRow]) -> String {
    let mut text = String::new();
    let mut traces: Vec<&str> = rows.iter().map(|row| row.trace.as_str()).collect();
    traces.dedup();
    for trace in traces {
        let of_trace: Vec<&GapRow> = rows.iter().filter(|row| row.trace == trace).collect();
        let Some(first) = of_trace.first() else { continue };
        let capacity = figure(first.emulated.link.capacity_mbps);
        let seconds = figure(first.simulated.duration_s);
        let flows = match first.emulated.flows {
            1 => "1 flow".to_string(),
            flows => format!("{flows} flows"),
        };
        let heading = format!("{trace}: {capacity} Mbit/s for {seconds} s, {flows}");
        text += &format!("{}\n", heading.bold());
        let mut grid = Grid::after(
            2,
            &[
                "scheme",
                "",
                "Mbit/s",
                "used %",
                "delay ms mean",
                "p50",
                "p95",
                "p99",
                "loss %",
                "resent",
            ],
        );
        of_trace.iter().for_each(|row| lines(row, &mut grid));
        text += &grid.text();
        for row in of_trace.iter().filter(|row| row.emulated.late) {
            text += &format!(
                "{} was released late in one direction (both: 99 % within {} ms): its figures are not the \
                 link's\n",
                row.scheme,
                row.emulated.lateness_ms["p99"].as_f64().map_or("?".into(), figure)
            );
        }
        for (row, inside) in of_trace.iter().filter_map(|row| Some((row, row.inside.as_ref()?))) {
            let runs = row.simulated_runs.runs;
            text += &match inside.outside() {
                outside if outside.is_empty() => {
                    format!(
                        "{}: the real run lies inside the range of the {runs} simulated runs\n",
                        row.scheme
                    )
                }
                outside => format!(
                    "{}: the real run lies outside the range of the {runs} simulated runs by its {outside}\n",
                    row.scheme
                ),
            };
        }
        text.push('\n');
    }
    text
}

fn lines(row: &GapRow, grid: &mut Grid) {
    let (ours, real) = (&row.simulated, &row.emulated.link);
    let loss = |drops: u64, packets: u64| drops as f64 / (drops + packets).max(1) as f64;
    let simulated = [
        ours.queue_delay_ms.mean,
        ours.queue_delay_ms.p50,
        ours.queue_delay_ms.p95,
        ours.queue_delay_ms.p99,
    ];
    let delay = &real.queue_delay_ms;
    let emulated = [delay.mean, delay.p50, delay.p95, delay.p99];
    let losses = (loss(ours.drops, ours.packets), loss(real.drops, real.packets));
    let mut side =
        |name: &str, who: &str, rates: (f64, f64), delays: [f64; 4], loss, resent: u64| {
            let mut cells = vec![name.to_string(), who.into(), figure(rates.0), percent(rates.1)];
            cells.extend(delays.map(figure));
            cells.extend([figure(100.0 * loss), resent.to_string()]);
            grid.row(cells);
        };
    let all = &row.simulated_runs;
    let rates = (ours.throughput_mbps, ours.utilization);
    // Paceline's senders count what they send again.
    let resent = ours.retransmits.unwrap_or_default();
    side(&row.scheme, "simulated", rates, simulated, losses.0, resent);
    let rates = (real.throughput_mbps, real.utilization);
    side("", "emulated", rates, emulated, losses.1, row.emulated.retransmits);
    if all.runs > 1 {
        let ends = |of: &Distribution| format!("{}-{}", figure(of.p5), figure(of.p95));
        let delay = &all.queue_delay_ms;
        let mut cells = vec![String::new(), format!("{} runs", all.runs)];
        cells.push(ends(&all.throughput_mbps));
        cells.push(format!("{}-{}", percent(all.utilization.p5), percent(all.utilization.p95)));
        cells.extend([&delay.mean, &delay.p50, &delay.p95, &delay.p99].map(ends));
        cells.extend([String::new(), ends(&all.retransmits.unwrap_or_default())]);
        grid.row(cells);
    }
    let share = |ours: f64, real: f64| match real {
        0.0 => "-".to_string(),
        _ => format!("{:+.0} %", 100.0 * (ours / real - 1.0)),
    };
    let points =
        |ours: f64, real: f64, digits: usize| format!("{:+.*}", digits, 100.0 * (ours - real));
    let mut cells = vec![
        String::new(),
        "difference".into(),
        share(ours.throughput_mbps, real.throughput_mbps),
        points(ours.utilization, real.utilization, 1),
    ];
    cells.extend(simulated.iter().zip(emulated).map(|(&ours, real)| share(ours, real)));
    cells.push(points(losses.0, losses.1, 2));
    cells.push(format!("{:+}", resent as i64 - row.emulated.retransmits as i64));
    grid.row(cells);
}
