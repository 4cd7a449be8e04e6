//! Reads `series.csv`: the links of a comparison over time, which `compare -o DIR` writes.

use paceline_requests::compare::CompareRow;
use paceline_sim::LinkSeries;

use crate::csv;
use crate::series::{compare_columns, is_sweep};

/// The file's name in the folder of results.
pub(crate) const FILE: &str = "series.csv";

/// Gives the rows the series of such a file.
///
/// # Errors
/// The file is no such table; names the row.
pub(super) fn add(text: &str, rows: &mut [CompareRow]) -> Result<(), String> {
    let lines = csv::parse(text)?;
    let Some((head, lines)) = lines.split_first() else { return Err("is empty".into()) };
    let is_sweep = is_sweep(rows);
    let columns = compare_columns(is_sweep);
    if head != &columns {
        return Err(format!("its first line is not {}", columns.join(",")));
    }
    // The row to which the last line belonged: lines of a row are neighbours.
    let mut last: Option<usize> = None;
    for (number, cells) in (2..).zip(lines) {
        let (trace, rtt, buffer, rest) = match &cells[..] {
            [trace, rtt, buffer, rest @ ..] if is_sweep => (trace, Some(rtt), Some(buffer), rest),
            [trace, rest @ ..] => (trace, None, None, rest),
            [] => return Err(format!("row {number}: is empty")),
        };
        let [scheme, run, time, capacity, throughput, delay] = rest else {
            return Err(format!("row {number}: expected {} cells", columns.len()));
        };
        let read = |text: &String| match text.is_empty() {
            true => Ok(f64::NAN),
            false => text.parse().map_err(|_| format!("row {number}: `{text}` is no number")),
        };
        let time = read(time)?;
        let is_of = |row: &CompareRow| {
            let is_on_link =
                (&row.trace, row.rtt.as_ref(), row.buffer.as_ref()) == (trace, rtt, buffer);
            is_on_link && row.scheme == *scheme && row.run.to_string() == *run
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
    use crate::series;
    use crate::sheet::Sheet;

    fn row(scheme: &str, first: f64) -> CompareRow {
        let mut series = LinkSeries::default();
        series.bin_s = 0.1;
        series.capacity_mbps = vec![first, 2.0, 3.0];
        series.throughput_mbps = vec![0.5, 1.0 / 3.0, 1.5];
        series.queue_delay_ms = vec![f64::NAN, 7.25, 1e-3];
        CompareRow { scheme: scheme.into(), run: 1, series: Some(series), ..CompareRow::default() }
    }

    fn text(rows: &[CompareRow]) -> String {
        Sheet::of_table(series::of_compare(rows).expect("series")).to_csv()
    }

    #[test]
    fn series_of_a_sweep_come_back_with_their_settings() {
        let at = |rtt: &str, first| CompareRow {
            rtt: Some(rtt.into()),
            buffer: Some("2bdp".into()),
            ..row("c", first)
        };
        let rows = [at("20ms", 1.0), at("50ms", 4.0)];
        let mut read = rows.clone().map(|row| CompareRow { series: None, ..row });
        add(&text(&rows), &mut read).expect("the same rows");
        let first = |row: &CompareRow| row.series.as_ref().expect("series").capacity_mbps[0];
        assert_eq!(read.each_ref().map(first), [1.0, 4.0]);
        assert!(add(&text(&rows), &mut [row("c", 1.0)]).is_err(), "no sweep has no such columns");
    }

    #[test]
    fn series_come_back_as_they_were() {
        let rows = [row("a, \"b\"", 1.0), row("c", 4.0), row("c", 5.0)];
        let text = text(&rows);
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
        let line = format!("{}x,y,1,a,b,c,d\n", csv::line(&compare_columns(false)));
        assert!(add(&line, &mut []).expect_err("no numbers").contains("`a` is no number"));
    }
}
