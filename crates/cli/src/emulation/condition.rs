//! `--fail-if`: conditions on the figures of an emulation, such as `down.p95>100ms`.

use std::fmt;
use std::str::FromStr;

use paceline_cc::{ParamValue as _, Rate, Span};
use paceline_emulator::Direction;
use paceline_emulator::output::{DirectionReport, EmulationReport, LinkRow, MeasuredPackets, word};

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
    /// Share of packets that any element dropped.
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
    /// Returns an error text if the condition holds for a link, or cannot be decided; `None` if it
    /// does not hold.
    pub(super) fn failure(&self, report: &EmulationReport) -> Option<String> {
        if let Some(problem) = too_short(report) {
            return Some(format!("--fail-if {self}: {problem}"));
        }
        let ways = [(Direction::Up, &report.up), (Direction::Down, &report.down)];
        let mut values = Vec::new();
        let mut undecided = None;
        for (direction, way) in ways {
            if self.direction.is_some_and(|one| one != direction) {
                continue;
            }
            let name = word(direction);
            if self.figure == Figure::Loss {
                match loss(way) {
                    Some(loss) => values.push((name.to_string(), loss)),
                    None => note_undecided(&mut undecided, way, "no packet came", name),
                }
                continue;
            }
            let has_more = !way.more_links.is_empty();
            for link in way.link.iter().chain(&way.more_links) {
                let name = match has_more {
                    true => format!("{name}, link {}", link.trace),
                    false => name.to_string(),
                };
                match self.value(link) {
                    Some(value) => values.push((name, value)),
                    None => {
                        let what = match self.figure {
                            Figure::Used => "the link offered nothing",
                            _ => "no packet was delivered",
                        };
                        note_undecided(&mut undecided, way, what, &name);
                    }
                }
            }
        }
        let holds =
            |value: f64| if self.is_above { value > self.bound } else { value < self.bound };
        if let Some((name, value)) = values.iter().find(|(_, value)| holds(*value)) {
            let value = match self.figure {
                Figure::Throughput => format!("{value:.3} Mbit/s"),
                Figure::Used | Figure::Loss => format!("{:.2} %", 100.0 * value),
                _ => format!("{value:.1} ms"),
            };
            return Some(format!("--fail-if {self}: {value} {name}"));
        }
        match undecided {
            // Without up. or down., an idle direction beside one with packets does not count.
            Some((_, is_idle)) if is_idle && !values.is_empty() => None,
            Some((text, _)) => Some(format!("--fail-if {self}: cannot be decided: {text}")),
            None if values.is_empty() => {
                Some(format!("--fail-if {self}: there is no link with such a figure"))
            }
            None => None,
        }
    }

    /// Returns a link's figure; `None` for delays if the link has delivered no packet, and for its use if it has
    /// offered nothing.
    fn value(&self, link: &LinkRow) -> Option<f64> {
        let delays = (link.packets > 0).then_some(link.queue_delay_ms);
        match self.figure {
            Figure::Mean => delays.map(|delays| delays.mean),
            Figure::P50 => delays.map(|delays| delays.p50),
            Figure::P95 => delays.map(|delays| delays.p95),
            Figure::P99 => delays.map(|delays| delays.p99),
            Figure::Max => delays.map(|delays| delays.max),
            Figure::Throughput => Some(link.throughput_mbps),
            Figure::Used => Some(link.utilization).filter(|used| used.is_finite()),
            Figure::Loss => None,
        }
    }
}

/// Returns the share of a direction's packets that were dropped after the warm-up; `None` if none
/// came.
fn loss(way: &DirectionReport) -> Option<f64> {
    let MeasuredPackets { arrived, dropped } = way.measured;
    (arrived > 0).then(|| dropped as f64 / arrived as f64)
}

/// Notes why a figure of a link has no value: `what`, and `true` if no packet came in its direction. A link whose
/// direction had packets replaces an idle one.
fn note_undecided(
    undecided: &mut Option<(String, bool)>,
    way: &DirectionReport,
    what: &str,
    name: &str,
) {
    let is_idle = way.measured.arrived == 0;
    let what = if is_idle { "no packet came" } else { what };
    if undecided.as_ref().is_none_or(|(_, was_idle)| *was_idle && !is_idle) {
        *undecided = Some((format!("{what} {name}"), is_idle));
    }
}

/// Returns an error text if the run ended before its warm-up, so that no figure counts anything.
pub(super) fn too_short(report: &EmulationReport) -> Option<String> {
    let (ran, warmup) = (report.duration_s, report.warmup_s);
    (warmup > 0.0 && ran <= warmup).then(|| {
        format!("the run ended after {ran:.1} s, before the end of its warm-up of {warmup} s")
    })
}

#[cfg(test)]
pub(super) mod tests {
    use paceline_emulator::output::account::Lateness;
    use paceline_report::TimeSeries;

    use super::*;

    pub(crate) fn link(trace: &str, packets: u64, p95: f64) -> LinkRow {
        let mut row = LinkRow {
            trace: trace.into(),
            queue: String::new(),
            duration_s: 10.0,
            capacity_mbps: 10.0,
            throughput_mbps: 5.0,
            utilization: 0.5,
            queue_delay_ms: Default::default(),
            drops: 0,
            marks: 0,
            packets,
            first_data_s: None,
            first_syn_s: None,
            flows: Vec::new(),
            other_flows: None,
            series: TimeSeries::default(),
        };
        row.queue_delay_ms.p95 = p95;
        row
    }

    /// Returns a direction to which 10 packets came for each link; none without links.
    pub(crate) fn way(links: Vec<LinkRow>) -> DirectionReport {
        let arrived = 10 * links.len() as u64;
        let mut links = links.into_iter();
        DirectionReport {
            link: links.next(),
            more_links: links.collect(),
            received_packets: 0,
            received_bytes: 0,
            received_fragments: 0,
            sent_packets: 0,
            sent_bytes: 0,
            failed_packets: 0,
            lateness_ms: Lateness::default(),
            late_packets: 0,
            measured: MeasuredPackets { arrived, dropped: 0 },
        }
    }

    fn report(up: DirectionReport, down: DirectionReport) -> EmulationReport {
        EmulationReport {
            schema_version: 1,
            complete: true,
            duration_s: 10.0,
            warmup_s: 0.0,
            waited_s: None,
            late: false,
            lateness_ms: Lateness::default(),
            cpu_s: 0.0,
            up,
            down,
            simulated_flows: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn failure(condition: &str, report: &EmulationReport) -> String {
        let condition: Condition = condition.parse().expect(condition);
        condition.failure(report).unwrap_or_default()
    }

    #[test]
    fn a_delay_of_no_packets_cannot_be_decided() {
        let silent = report(way(vec![link("a", 5, 20.0)]), way(vec![link("b", 0, 0.0)]));
        for condition in ["down.p95>100ms", "p95>100ms", "down.p95<1ms"] {
            let said = failure(condition, &silent);
            assert!(said.ends_with("cannot be decided: no packet was delivered down"), "{said}");
        }
        assert_eq!(failure("up.p95>100ms", &silent), "");
        assert_eq!(failure("down.throughput>100Mbps", &silent), "");
        // A direction without packets counts if it is the one that was asked for.
        let mut idle = silent;
        idle.down.measured.arrived = 0;
        assert_eq!(failure("p95>100ms", &idle), "");
        for condition in ["down.p95>100ms", "down.loss>1%"] {
            let said = failure(condition, &idle);
            assert!(said.ends_with("cannot be decided: no packet came down"), "{said}");
        }
    }

    #[test]
    fn the_use_of_a_link_that_offered_nothing_cannot_be_decided() {
        let mut outage = link("a", 0, f64::NAN);
        (outage.capacity_mbps, outage.utilization) = (0.0, f64::NAN);
        let both = report(way(vec![outage]), way(vec![link("b", 5, 1.0)]));
        let said = failure("up.used<90%", &both);
        assert!(said.ends_with("cannot be decided: the link offered nothing up"), "{said}");
        assert_eq!(failure("down.used<10%", &both), "");
    }

    #[test]
    fn each_link_of_a_way_is_judged() {
        let links = vec![link("first", 5, 20.0), link("second", 5, 200.0)];
        let both = report(way(links), way(vec![]));
        assert_eq!(
            failure("up.p95>100ms", &both),
            "--fail-if up.p95>100ms: 200.0 ms up, link second"
        );
        assert_eq!(failure("up.p95>300ms", &both), "");
        assert!(failure("down.p95>1ms", &both).ends_with("no link with such a figure"));
    }

    #[test]
    fn loss_is_that_of_the_measured_packets() {
        let mut lossy = report(way(vec![link("a", 5, 1.0)]), way(vec![link("b", 5, 1.0)]));
        // All packets of the run: two thirds arrived before the warm-up, without a loss.
        lossy.up.received_packets = 30;
        lossy.up.measured.dropped = 2;
        assert_eq!(failure("loss>10%", &lossy), "--fail-if loss>10%: 20.00 % up");
        assert_eq!(failure("loss>20%", &lossy), "");
    }

    #[test]
    fn a_run_within_its_warm_up_fails_each_condition() {
        let mut short = report(way(vec![link("a", 5, 1.0)]), way(vec![link("b", 5, 1.0)]));
        (short.duration_s, short.warmup_s) = (3.0, 5.0);
        for condition in ["p95>100ms", "used>90%", "loss>1%"] {
            let said = failure(condition, &short);
            assert!(said.contains("ended after 3.0 s"), "{said}");
        }
    }

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
