//! `--fail-if`: conditions on the figures of an emulation, such as `down.p95>100ms`.

use std::fmt;
use std::str::FromStr;

use paceline_cc::{ParamValue as _, Rate, Span};
use paceline_emulator::output::EmulationReport;
use paceline_emulator::{Direction, Summary};

use super::ending::lost;

/// A figure that a condition compares with its bound.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Figure {
    /// Queueing delay at the link, in milliseconds.
    Mean,
    P50,
    P95,
    P99,
    Max,
    /// Rate that the link delivered, in Mbit/s.
    Throughput,
    /// Share of the link's capacity that was used.
    Used,
    /// Share of packets that were dropped.
    Loss,
}

/// Names of figures, as conditions write them.
const FIGURES: [(&str, Figure); 8] = [
    ("mean", Figure::Mean),
    ("p50", Figure::P50),
    ("p95", Figure::P95),
    ("p99", Figure::P99),
    ("max", Figure::Max),
    ("throughput", Figure::Throughput),
    ("used", Figure::Used),
    ("loss", Figure::Loss),
];

/// A condition that fails an emulation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// `None` for each direction that has a link.
    direction: Option<Direction>,
    figure: Figure,
    is_above: bool,
    /// Bound, in the figure's unit.
    bound: f64,
    written: String,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Reads `p95>100ms`, `up.loss>1%`, `down.throughput<5Mbps`.
impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let at =
            text.find(['<', '>']).ok_or("expected a condition such as p95>100ms or up.loss>1%")?;
        let (left, right) = (text[..at].trim(), text[at + 1..].trim());
        let (direction, name) = match left.split_once('.') {
            Some(("up", name)) => (Some(Direction::Up), name),
            Some(("down", name)) => (Some(Direction::Down), name),
            Some((other, _)) => return Err(format!("`{other}` is no direction: write up or down")),
            None => (None, left),
        };
        let figure = FIGURES.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure);
        let figure = figure.ok_or_else(|| {
            let known = FIGURES.map(|(known, _)| known).join(", ");
            format!("`{name}` is no figure of a link: write one of {known}")
        })?;
        let bound = match figure {
            Figure::Mean | Figure::P50 | Figure::P95 | Figure::P99 | Figure::Max => {
                Span::read(right)?.as_millis_f64()
            }
            Figure::Throughput => Rate::read(right)?.as_mbps(),
            Figure::Used | Figure::Loss => f64::read(right)?,
        };
        let is_above = text[at..].starts_with('>');
        Ok(Condition { direction, figure, is_above, bound, written: text.trim().into() })
    }
}

impl Condition {
    /// Returns an error text if the condition holds, or cannot be decided; `None` if it does not
    /// hold.
    pub(super) fn failure(&self, summary: &Summary, report: &EmulationReport) -> Option<String> {
        let directions = [Direction::Up, Direction::Down];
        let asked = directions.into_iter().filter(|it| self.direction.is_none_or(|one| one == *it));
        let values: Vec<(Direction, f64)> = asked
            .filter_map(|direction| Some((direction, self.value(direction, summary, report)?)))
            .collect();
        if values.is_empty() {
            return Some(format!("--fail-if {self}: there is no link with such a figure"));
        }
        let holds =
            |value: f64| if self.is_above { value > self.bound } else { value < self.bound };
        let (direction, value) = values.into_iter().find(|(_, value)| holds(*value))?;
        let way = if direction == Direction::Up { "up" } else { "down" };
        let value = match self.figure {
            Figure::Throughput => format!("{value:.3} Mbit/s"),
            Figure::Used | Figure::Loss => format!("{:.2} %", 100.0 * value),
            _ => format!("{value:.1} ms"),
        };
        Some(format!("--fail-if {self}: {value} {way}"))
    }

    fn value(
        &self,
        direction: Direction,
        summary: &Summary,
        report: &EmulationReport,
    ) -> Option<f64> {
        let (way, packets) = match direction {
            Direction::Up => (&report.up, &summary.up),
            Direction::Down => (&report.down, &summary.down),
        };
        let link = way.link.as_ref();
        match self.figure {
            Figure::Mean => link.map(|link| link.queue_delay_ms.mean),
            Figure::P50 => link.map(|link| link.queue_delay_ms.p50),
            Figure::P95 => link.map(|link| link.queue_delay_ms.p95),
            Figure::P99 => link.map(|link| link.queue_delay_ms.p99),
            Figure::Max => link.map(|link| link.queue_delay_ms.max),
            Figure::Throughput => link.map(|link| link.throughput_mbps),
            Figure::Used => link.map(|link| link.utilization),
            Figure::Loss => match packets.received_packets {
                0 => Some(0.0),
                received => Some(lost(packets) as f64 / received as f64),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let read = |text: &str| text.parse::<Condition>().expect(text);
        let p95 = read("p95>100ms");
        assert_eq!((p95.direction, p95.figure, p95.bound), (None, Figure::P95, 100.0));
        assert!(p95.is_above);
        let loss = read(" up.loss > 1% ");
        assert_eq!(
            (loss.direction, loss.figure, loss.bound),
            (Some(Direction::Up), Figure::Loss, 0.01)
        );
        let rate = read("down.throughput<500kbps");
        assert_eq!((rate.figure, rate.bound, rate.is_above), (Figure::Throughput, 0.5, false));
        for (text, said) in [
            ("p95", "p95>100ms"),
            ("p95>100", "unit"),
            ("p90>1ms", "one of mean, p50"),
            ("left.p95>1ms", "up or down"),
            ("throughput<5", "unit"),
            ("loss>much", "number"),
        ] {
            let error = text.parse::<Condition>().expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
