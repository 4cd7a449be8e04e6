//! The meter's figures of one element.

use paceline_cc::{Capacity as _, Span, Time};
use paceline_path::{EventKind, LinkEvent};

use super::super::watched::{WatchedElement, word};
use crate::{Direction, LiveEvent};

/// The packets that passed an element since the last look.
#[derive(Clone, Debug)]
pub struct Gauge {
    watched: WatchedElement,
    with_delay: bool,
    bytes: u64,
    drops: u64,
    queue: u64,
    packets: u64,
    delay: Span,
    longest: Span,
}

/// Columns of the bar that shows how much of the capacity is used.
const BAR: usize = 10;

impl Gauge {
    /// Creates a gauge that has counted nothing yet.
    pub fn new(watched: WatchedElement, with_delay: bool) -> Gauge {
        let (bytes, drops, queue, packets) = (0, 0, 0, 0);
        let (delay, longest) = (Span::ZERO, Span::ZERO);
        Gauge { watched, with_delay, bytes, drops, queue, packets, delay, longest }
    }

    /// Returns true if the event is of this element.
    #[inline]
    pub fn watches(&self, event: &LiveEvent<'_>) -> bool {
        self.watched.is_of(event)
    }

    /// Returns the direction of the element's packets.
    pub(super) fn direction(&self) -> Direction {
        self.watched.direction
    }

    /// Returns true if the gauge shows queue and delay, too.
    pub(super) fn has_delay(&self) -> bool {
        self.with_delay
    }

    /// Returns the bytes that a packet counts for.
    pub(super) fn bytes(&self, event: &LinkEvent) -> u64 {
        self.watched.bytes(event)
    }

    /// Counts an event.
    #[inline]
    pub fn event(&mut self, event: &LinkEvent) {
        self.queue = event.queue_bytes;
        match event.kind {
            EventKind::Departure { sojourn } => {
                self.bytes += self.watched.bytes(event);
                self.packets += 1;
                self.delay += sojourn;
                self.longest = self.longest.max(sojourn);
            }
            EventKind::Drop { .. } => self.drops += 1,
            EventKind::Arrival => {}
        }
    }

    fn mbps(bytes: u64, time: Span) -> f64 {
        if time.is_zero() { 0.0 } else { bytes as f64 * 8e-6 / time.as_secs_f64() }
    }

    /// Returns the rates in Mbit/s from `from` to `now`: used, and offered if that is known.
    fn rates(&self, from: Time, now: Time) -> (f64, Option<f64>) {
        let time = now.since(from);
        let offered = self.watched.service.as_ref().map(|service| service.offered(from, now));
        (Gauge::mbps(self.bytes, time), offered.map(|bytes| Gauge::mbps(bytes, time)))
    }

    fn reset(&mut self) {
        (self.bytes, self.drops, self.packets) = (0, 0, 0);
        (self.delay, self.longest) = (Span::ZERO, Span::ZERO);
    }

    fn queue_and_delay(&self) -> Vec<String> {
        if !self.with_delay {
            return Vec::new();
        }
        let mut parts = vec![format!("queue {}", size(self.queue))];
        parts.push(match self.packets {
            0 => "delay -".into(),
            packets => {
                let (mean, longest) = (self.delay / packets, self.longest);
                let [mean, longest] = [mean, longest].map(|span| short(span.as_millis_f64()));
                format!("delay {mean} ms, max {longest} ms")
            }
        });
        if self.drops > 0 {
            parts.push(format!("{} dropped", self.drops));
        }
        parts
    }

    /// Returns the figures from `from` to `now` in words, and begins anew.
    pub fn phrase(&mut self, from: Time, now: Time) -> String {
        let (used, offered) = self.rates(from, now);
        let of = offered.map_or(String::new(), |offered| format!(" of {}", short(offered)));
        let mut parts =
            vec![format!("{} {}{of} Mbit/s", word(self.watched.direction), short(used))];
        parts.extend(self.queue_and_delay());
        self.reset();
        parts.join(", ")
    }

    /// Returns the figures from `from` to `now` as a line of at most `columns` columns, and begins anew. Figures that
    /// do not fit are left out, the last one first.
    pub fn line(&mut self, from: Time, now: Time, columns: usize, colour: bool) -> String {
        let (used, offered) = self.rates(from, now);
        let mut cells = vec![format!("{:<4}", word(self.watched.direction))];
        cells.push(match offered {
            Some(offered) => format!("{:>5} of {:>5} Mbit/s", short(used), short(offered)),
            None => format!("{:>5} Mbit/s", short(used)),
        });
        let bar = offered.map(|offered| bar(if offered > 0.0 { used / offered } else { 0.0 }));
        let widths = [14, 28, 0];
        let rest = self.queue_and_delay();
        cells.extend(rest.into_iter().zip(widths).map(|(text, width)| format!("{text:<width$}")));
        if let Some(bar) = bar {
            cells.insert(2, bar);
        }
        self.reset();
        let mut line = String::new();
        let mut left = columns;
        for (at, cell) in cells.iter().enumerate() {
            let gap = if at == 0 { "" } else { "  " };
            let needed = gap.len() + cell.trim_end().chars().count();
            if needed > left {
                break;
            }
            let text = if needed + cell.chars().count() - cell.trim_end().chars().count() > left {
                cell.trim_end()
            } else {
                cell
            };
            left -= gap.len() + text.chars().count();
            line.push_str(gap);
            match colour && at == 0 {
                true => line.push_str(&format!("\x1b[1m{text}\x1b[0m")),
                false => line.push_str(text),
            }
        }
        line
    }
}

/// Formats a share as a bar of blocks.
fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR) as f64).round() as usize;
    let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let (full, part) = (eighths / 8, parts[eighths % 8]);
    let bar = "█".repeat(full) + part;
    format!("▕{bar:<BAR$}▏")
}

/// Formats a number with at most three significant figures.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 || size == 0.0 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats bytes with a unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", short(bytes as f64 / 1e3)),
        _ => format!("{} MB", short(bytes as f64 / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::{Packet, Rate};
    use paceline_path::{DropReason, Service};

    fn gauge() -> Gauge {
        let watched = WatchedElement {
            direction: Direction::Up,
            stage: 0,
            name: "12Mbps".into(),
            queue: "droptail".into(),
            service: Some(Service::constant(Rate::from_mbps(12.0))),
        };
        let mut gauge = Gauge::new(watched, true);
        let mut tell = |kind, queue_bytes| {
            let packet = Packet::opaque(1500);
            gauge.event(&LinkEvent::new(Time::ZERO, kind, &packet, queue_bytes));
        };
        for ms in (1..=400).map(|ms| if ms == 400 { 600 } else { ms }) {
            tell(EventKind::Departure { sojourn: Span::from_millis(ms) }, 45_000);
        }
        tell(EventKind::Drop { reason: DropReason::Full }, 45_000);
        gauge
    }

    #[test]
    fn a_gauge_in_words() {
        let mut gauge = gauge();
        let now = Time::from_millis(500);
        let wanted = "up 9.60 of 12.0 Mbit/s, queue 45.0 kB, delay 201 ms, max 600 ms, 1 dropped";
        assert_eq!(gauge.phrase(Time::ZERO, now), wanted);
        let idle = gauge.phrase(now, now + Span::from_secs(1));
        assert_eq!(idle, "up 0 of 12.0 Mbit/s, queue 45.0 kB, delay -");
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let full = gauge().line(Time::ZERO, Time::from_millis(500), 200, false);
        let wanted = "up     9.60 of  12.0 Mbit/s  ▕████████  ▏  queue 45.0 kB   delay 201 ms, \
                      max 600 ms      1 dropped";
        assert_eq!(full, wanted);
        for columns in 0..120 {
            let line = gauge().line(Time::ZERO, Time::from_millis(500), columns, false);
            assert!(line.chars().count() <= columns, "{columns}: {line}");
            assert!(full.starts_with(line.trim_end()));
        }
        let coloured = gauge().line(Time::ZERO, Time::from_millis(500), 200, true);
        assert_eq!(coloured.replace("\x1b[1m", "").replace("\x1b[0m", ""), full);
    }
}
