//! Reads logs of mm-link, Mahimahi's and Paceline's: throughput, delays, and their plots.
//!
//! What Mahimahi's `mm-throughput-graph` and `mm-delay-graph` compute: rates per bin of capacity,
//! arrivals and departures; each packet's delay; and the signal delay, which is, for each
//! millisecond, how long the fastest packet that came then or later took from then on.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};

use paceline_report::{Chart, Figure, Fold, Layout, Paint, Panel, Series, Shade};

/// The most bins of a plot.
const MOST_PLOTTED_BINS: u64 = 1_000_000;
/// The bins of a plot of delays.
const DELAY_BINS: u64 = 6000;

/// Why a log cannot be read: the line, counted from 1 (0 for the whole), and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError {
    line: u64,
    reason: String,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line}: {}", self.reason),
        }
    }
}

impl std::error::Error for LogError {}

/// Bytes offered, arrived and departed in one bin of time.
#[derive(Copy, Clone, Debug, Default)]
struct Bin {
    offered: u64,
    arrived: u64,
    departed: u64,
}

/// The figures of a log. Times are whole milliseconds, as in the log.
#[derive(Clone, Debug, Default)]
pub struct LogGraph {
    bin_ms: u64,
    bins: BTreeMap<u64, Bin>,
    first: Option<u64>,
    last: u64,
    total: Bin,
    /// Departed packets, and those dropped.
    packets: u64,
    drops: u64,
    /// How often each delay occurred.
    delays: BTreeMap<u64, u64>,
    /// By the time of arrival: the largest and the smallest delay of the packets that came then.
    by_arrival: BTreeMap<u64, (u64, u64)>,
}

/// A line of a log.
enum Line {
    Nothing,
    Base(u64),
    Offer(u64, u64),
    Arrival(u64, u64),
    Departure(u64, u64, u64),
    Drop(u64, u64),
}

fn line(text: &str) -> Result<Line, String> {
    if let Some(comment) = text.strip_prefix('#') {
        let base = comment.trim().strip_prefix("base timestamp:").map(|base| base.trim().parse());
        return match base {
            Some(base) => base.map(Line::Base).map_err(|_| "no base timestamp".to_string()),
            None => Ok(Line::Nothing),
        };
    }
    let mut words = text.split_whitespace();
    let Some(time) = words.next() else { return Ok(Line::Nothing) };
    let number = |word: Option<&str>, what: &str| {
        let word = word.ok_or_else(|| format!("the {what} is missing"))?;
        word.parse::<u64>().map_err(|_| format!("the {what} is no whole number: `{word}`"))
    };
    let time = number(Some(time), "time")?;
    let kind = words.next().unwrap_or_default();
    let bytes = |word| number(word, "number of bytes");
    Ok(match kind {
        "#" => Line::Offer(time, bytes(words.next())?),
        "+" => Line::Arrival(time, bytes(words.next())?),
        "-" => {
            let bytes = bytes(words.next())?;
            Line::Departure(time, bytes, number(words.next(), "delay")?)
        }
        "d" => Line::Drop(time, number(words.next(), "number of packets")?),
        other => return Err(format!("expected #, +, - or d after the time, found `{other}`")),
    })
}

impl LogGraph {
    /// Reads a log into bins of `bin_ms` milliseconds, at least 1.
    ///
    /// # Errors
    /// It is no such log; the error has the line.
    pub fn read(log: impl BufRead, bin_ms: u64) -> Result<LogGraph, LogError> {
        let mut graph = LogGraph { bin_ms: bin_ms.max(1), ..LogGraph::default() };
        let (mut base, mut number) = (0, 0);
        for text in log.lines() {
            number += 1;
            let fail = |reason: String| LogError { line: number, reason };
            let text = text.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => fail("it is not text; is it compressed?".into()),
                _ => LogError { line: 0, reason: format!("cannot be read: {error}") },
            })?;
            match line(&text).map_err(fail)? {
                Line::Nothing => {}
                Line::Base(time) => base = time,
                said => graph.add(said, base).map_err(fail)?,
            }
        }
        if graph.first.is_none() {
            let reason = "no line of it tells of an opportunity or a packet; is it a log of \
                          mm-link or of paceline link --log?";
            return Err(LogError { line: 0, reason: reason.into() });
        }
        Ok(graph)
    }

    fn add(&mut self, said: Line, base: u64) -> Result<(), String> {
        let (Line::Offer(time, _)
        | Line::Arrival(time, _)
        | Line::Departure(time, ..)
        | Line::Drop(time, _)) = said
        else {
            return Ok(());
        };
        let Some(time) = time.checked_sub(base) else {
            return Err(format!("{time} ms lies before the base timestamp {base}"));
        };
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = self.last.max(time);
        let bin = self.bins.entry(time / self.bin_ms).or_default();
        match said {
            Line::Offer(_, bytes) => {
                bin.offered += bytes;
                self.total.offered += bytes;
            }
            Line::Arrival(_, bytes) => {
                bin.arrived += bytes;
                self.total.arrived += bytes;
            }
            Line::Departure(_, bytes, delay) => {
                bin.departed += bytes;
                self.total.departed += bytes;
                self.packets += 1;
                let Some(arrival) = time.checked_sub(delay) else {
                    return Err(format!("a delay of {delay} ms at {time} ms"));
                };
                *self.delays.entry(delay).or_default() += 1;
                let (most, least) = self.by_arrival.entry(arrival).or_insert((delay, delay));
                (*most, *least) = ((*most).max(delay), (*least).min(delay));
            }
            Line::Drop(_, packets) => self.drops += packets,
            Line::Nothing | Line::Base(_) => {}
        }
        Ok(())
    }

    /// Returns the time from the first line to the last, in seconds.
    pub fn duration_s(&self) -> f64 {
        (self.last - self.first.unwrap_or(self.last)) as f64 / 1000.0
    }

    fn mbps(&self, bytes: u64) -> Option<f64> {
        let seconds = self.duration_s();
        (seconds > 0.0).then(|| bytes as f64 * 8e-6 / seconds)
    }

    /// Returns the rate that the link offered, in Mbit/s; `None` for this and other rates if all lines have one time.
    pub fn capacity_mbps(&self) -> Option<f64> {
        self.mbps(self.total.offered)
    }

    /// Returns the rate of arrivals, in Mbit/s.
    pub fn arrival_mbps(&self) -> Option<f64> {
        self.mbps(self.total.arrived)
    }

    /// Returns the rate of departures, in Mbit/s.
    pub fn throughput_mbps(&self) -> Option<f64> {
        self.mbps(self.total.departed)
    }

    /// Returns departed bytes over offered bytes; `None` if the log has no opportunities.
    pub fn utilization(&self) -> Option<f64> {
        let Bin { offered, departed, .. } = self.total;
        (offered > 0).then(|| departed as f64 / offered as f64)
    }

    /// Returns the number of packets that left the link.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of packets that its queue dropped.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Returns a quantile of the packets' delays, in milliseconds; `None` without packets.
    pub fn delay_ms(&self, share: f64) -> Option<u64> {
        let counts = self.delays.iter().map(|(&delay, &count)| (delay, count));
        quantile(counts, self.packets, share)
    }

    /// Returns a quantile of the signal delay over all milliseconds from the first packet's arrival to the
    /// last one's; `None` without packets.
    pub fn signal_delay_ms(&self, share: f64) -> Option<u64> {
        // How many more milliseconds have each delay than have the one below.
        let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
        let mut total = 0;
        let mut later: Option<(u64, u64)> = None;
        for (&time, &(_, least)) in self.by_arrival.iter().rev() {
            let mut own = least;
            if let Some((next, delay)) = later {
                // Before the next packet came, a message waits for it.
                let gap = next - time;
                own = own.min(delay + gap);
                *changes.entry(delay + 1).or_default() += 1;
                *changes.entry(delay + gap).or_default() -= 1;
                total += gap - 1;
            }
            *changes.entry(own).or_default() += 1;
            *changes.entry(own + 1).or_default() -= 1;
            total += 1;
            later = Some((time, own));
        }
        let changes: Vec<(u64, i64)> = changes.into_iter().collect();
        let rank = rank(total, share)?;
        let (mut level, mut seen) = (0i64, 0u64);
        for (at, &(delay, change)) in changes.iter().enumerate() {
            level += change;
            let until = changes.get(at + 1).map_or(delay + 1, |next| next.0);
            let here = level.unsigned_abs() * (until - delay);
            if seen + here > rank {
                return Some(delay + (rank - seen) / level.unsigned_abs().max(1));
            }
            seen += here;
        }
        None
    }

    /// Returns the plot of rates over time as an SVG file.
    ///
    /// # Errors
    /// The log is too long for its bins.
    pub fn throughput_svg(&self, name: &str) -> Result<String, String> {
        Ok(self.chart(name, vec![self.rates()?]))
    }

    /// Returns the plot of delays over time as an SVG file.
    pub fn delay_svg(&self, name: &str) -> String {
        self.chart(name, vec![self.delay_panel()])
    }

    /// Returns both plots, one above the other, as an SVG file.
    ///
    /// # Errors
    /// The log is too long for its bins.
    pub fn svg(&self, name: &str) -> Result<String, String> {
        Ok(self.chart(name, vec![self.rates()?, self.delay_panel()]))
    }

    /// Returns the figure of both for a file. `name` is the log's.
    ///
    /// # Errors
    /// The log is too long for its bins.
    pub fn figure(&self, name: &str, layout: &Layout) -> Result<Figure, String> {
        let panels = vec![self.rates()?, self.delay_panel()];
        Ok(Chart { label: format!("The link of {name} over time"), panels }.figure_in(layout))
    }

    fn chart(&self, name: &str, panels: Vec<Panel>) -> String {
        Chart { label: format!("The link of {name} over time"), panels }.to_svg()
    }

    fn rates(&self) -> Result<Panel, String> {
        let count = self.last / self.bin_ms + 1;
        if count > MOST_PLOTTED_BINS {
            let last = self.last / 1000;
            return Err(format!("{last} s have {count} bins; choose longer ones with --bin"));
        }
        let bin_s = self.bin_ms as f64 / 1000.0;
        let first = self.first.unwrap_or(0) / self.bin_ms;
        // The log may begin and end within a bin. Where it has less than half of a bin, the rate would rest on a few
        // milliseconds: such a bin has the rate of it and its neighbour.
        let rate = |at: u64, of: fn(&Bin) -> u64| {
            let is_short = |at| 2 * self.logged_ms(at) < self.bin_ms;
            let (mut from, mut to) = (at, at);
            if at == first && at + 1 < count && is_short(at) {
                to += 1;
            } else if at + 1 == count && at > first && is_short(at) {
                from -= 1;
            }
            let bytes = self.bins.range(from..=to).map(|(_, bin)| of(bin)).sum::<u64>();
            let ms = (from..=to).map(|at| self.logged_ms(at)).sum::<u64>();
            if ms > 0 { bytes as f64 * 8e-3 / ms as f64 } else { 0.0 }
        };
        let series = |what: &str, paint, shade, mbps: Option<f64>, of: fn(&Bin) -> u64| Series {
            name: what.into(),
            quantity: what.into(),
            unit: "Mbit/s".into(),
            bin_s,
            values: (0..count).map(|at| rate(at, of)).collect(),
            paint,
            shade,
            fold: Fold::Mean,
            label: std::iter::once(what.into())
                .chain(mbps.map(|mbps| format!("mean {mbps:.2} Mbit/s")))
                .collect(),
        };
        let area =
            series("capacity", Paint::AREA, Shade::Area, self.capacity_mbps(), |b| b.offered);
        let ingress =
            series("ingress", Paint::BAD, Shade::Line, self.arrival_mbps(), |b| b.arrived);
        let egress =
            series("egress", Paint::GOOD, Shade::Line, self.throughput_mbps(), |b| b.departed);
        Ok(Panel {
            title: "Throughput (Mbit/s)".into(),
            height: 260.0,
            log: false,
            series: vec![area, ingress, egress],
        })
    }

    /// Returns how many milliseconds of a bin lie between the log's first line and its last, both included.
    fn logged_ms(&self, at: u64) -> u64 {
        let from = (at * self.bin_ms).max(self.first.unwrap_or(0));
        ((at + 1) * self.bin_ms).min(self.last + 1).saturating_sub(from)
    }

    /// Returns the largest delay of the packets that came in each bin, and of the signal.
    fn delay_panel(&self) -> Panel {
        let bin = (self.last + 1).div_ceil(DELAY_BINS).max(1);
        let count = (self.last / bin + 1) as usize;
        let mut packets = vec![f64::NAN; count];
        let mut signal = vec![f64::NAN; count];
        let raise = |values: &mut [f64], time: u64, delay: u64| {
            if let Some(place) = values.get_mut((time / bin) as usize) {
                *place = place.max(delay as f64);
            }
        };
        let mut later: Option<(u64, u64)> = None;
        for (&time, &(most, least)) in self.by_arrival.iter().rev() {
            raise(&mut packets, time, most);
            let mut own = least;
            if let Some((next, delay)) = later {
                own = own.min(delay + next - time);
                // The signal's delay is largest at the beginning of a gap, or of a bin within it.
                let first = (time + 1).div_ceil(bin);
                for start in (first..=(next - 1) / bin).map(|at| (at * bin).max(time + 1)) {
                    raise(&mut signal, start, delay + next - start);
                }
                if next > time + 1 {
                    raise(&mut signal, time + 1, delay + next - time - 1);
                }
            }
            raise(&mut signal, time, own);
            later = Some((time, own));
        }
        let told = |value: Option<u64>| match value {
            Some(ms) => format!("p95 {ms} ms"),
            None => "no packets".into(),
        };
        let series = |what: &str, paint, values, p95| Series {
            name: what.into(),
            quantity: "delay".into(),
            unit: "ms".into(),
            bin_s: bin as f64 / 1000.0,
            values,
            paint,
            shade: Shade::Line,
            fold: Fold::Max,
            label: vec![what.into(), told(p95)],
        };
        Panel {
            title: "Delay (ms)".into(),
            height: 260.0,
            log: false,
            series: vec![
                series("signal", Paint::EDGE, signal, self.signal_delay_ms(0.95)),
                series("packets", Paint::GOOD, packets, self.delay_ms(0.95)),
            ],
        }
    }
}

/// Returns the index of a quantile among `total` values in order, as Mahimahi's scripts choose it.
fn rank(total: u64, share: f64) -> Option<u64> {
    (total > 0).then(|| ((share * total as f64) as u64).min(total - 1))
}

fn quantile(counts: impl Iterator<Item = (u64, u64)>, total: u64, share: f64) -> Option<u64> {
    let rank = rank(total, share)?;
    let mut seen = 0;
    for (value, count) in counts {
        seen += count;
        if seen > rank {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
#[path = "log_graph_tests.rs"]
mod tests;
