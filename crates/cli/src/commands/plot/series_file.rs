//! `series.csv`: the links of a comparison over time, which `compare -o DIR` writes.

use paceline_requests::compare::CompareRow;
use paceline_sim::LinkSeries;

use crate::csv;

/// The file's name in the folder of results.
pub(crate) const FILE: &str = "series.csv";

const COLUMNS: [&str; 7] =
    ["trace", "scheme", "run", "time_s", "capacity_mbps", "throughput_mbps", "queue_delay_ms"];

/// Returns the series of rows as a table with a line for each bin, at the time of its start; `None`
/// if no row has series.
pub(crate) fn text(rows: &[CompareRow]) -> Option<String> {
    rows.iter().any(|row| row.series.is_some()).then(|| {
        let mut text = csv::line(&COLUMNS);
        for row in rows {
            let Some(series) = &row.series else { continue };
            for bin in 0..series.capacity_mbps.len() {
                let number = |values: &[f64]| {
                    let value = values.get(bin).filter(|value| value.is_finite());
                    value.map_or_else(String::new, f64::to_string)
                };
                text += &csv::line(&[
                    row.trace.clone(),
                    row.scheme.clone(),
                    row.run.to_string(),
                    time(bin, series.bin_s).to_string(),
                    number(&series.capacity_mbps),
                    number(&series.throughput_mbps),
                    number(&series.queue_delay_ms),
                ]);
            }
        }
        text
    })
}

/// Returns the start of a bin in seconds, to the microsecond.
fn time(bin: usize, bin_s: f64) -> f64 {
    (bin as f64 * bin_s * 1e6).round() / 1e6
}

/// Gives the rows the series of such a file.
///
/// # Errors
/// The file is no such table; names the row.
pub(super) fn add(text: &str, rows: &mut [CompareRow]) -> Result<(), String> {
    let lines = csv::parse(text)?;
    let Some((head, lines)) = lines.split_first() else { return Err("is empty".into()) };
    if head != &COLUMNS {
        return Err(format!("its first line is not {}", COLUMNS.join(",")));
    }
    // The row to which the last line belonged: lines of a row are neighbours.
    let mut last: Option<usize> = None;
    for (number, cells) in (2..).zip(lines) {
        let [trace, scheme, run, time, capacity, throughput, delay] = &cells[..] else {
            return Err(format!("row {number}: expected {} cells", COLUMNS.len()));
        };
        let read = |text: &String| match text.is_empty() {
            true => Ok(f64::NAN),
            false => text.parse().map_err(|_| format!("row {number}: `{text}` is no number")),
        };
        let time = read(time)?;
        let is_of = |row: &CompareRow| {
            row.trace == *trace && row.scheme == *scheme && row.run.to_string() == *run
        };
        let at = match last.filter(|_| time > 0.0) {
            Some(at) => Some(at),
            // A scheme that was named twice has two rows; the second one has no series yet.
            None => rows.iter().position(|row| is_of(row) && row.series.is_none()),
        };
        let Some(row) = at.and_then(|at| rows.get_mut(at)).filter(|row| is_of(row)) else {
            return Err(format!(
                "row {number}: the result has no run {run} of {scheme} on {trace}"
            ));
        };
        last = at;
        let series = row.series.get_or_insert_with(LinkSeries::default);
        if series.capacity_mbps.len() == 1 {
            series.bin_s = time;
        }
        series.capacity_mbps.push(read(capacity)?);
        series.throughput_mbps.push(read(throughput)?);
        series.queue_delay_ms.push(read(delay)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheme: &str, first: f64) -> CompareRow {
        let mut series = LinkSeries::default();
        series.bin_s = 0.1;
        series.capacity_mbps = vec![first, 2.0, 3.0];
        series.throughput_mbps = vec![0.5, 1.0 / 3.0, 1.5];
        series.queue_delay_ms = vec![f64::NAN, 7.25, 1e-3];
        CompareRow { scheme: scheme.into(), run: 1, series: Some(series), ..CompareRow::default() }
    }

    #[test]
    fn series_come_back_as_they_were() {
        let rows = [row("a, \"b\"", 1.0), row("c", 4.0), row("c", 5.0)];
        let text = text(&rows).expect("series");
        let mut read: Vec<CompareRow> =
            rows.iter().map(|row| CompareRow { series: None, ..row.clone() }).collect();
        add(&text, &mut read).expect("the same rows");
        for (read, row) in read.iter().zip(&rows) {
            let [read, row] = [read, row].map(|row| row.series.clone().expect("series"));
            assert_eq!((read.bin_s, &read.capacity_mbps), (row.bin_s, &row.capacity_mbps));
            assert_eq!(read.throughput_mbps, row.throughput_mbps);
            assert!(read.queue_delay_ms[0].is_nan());
            assert_eq!(read.queue_delay_ms[1..], row.queue_delay_ms[1..]);
        }
        assert!(add("", &mut []).is_err() && add("a,b\n", &mut []).is_err());
        let error = add(&text, &mut []).expect_err("no rows");
        assert!(error.starts_with("row 2: the result has no run 1"), "{error}");
        let line = format!("{}x,y,1,a,b,c,d\n", csv::line(&COLUMNS));
        assert!(add(&line, &mut []).expect_err("no numbers").contains("`a` is no number"));
    }
}
