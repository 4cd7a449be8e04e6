//! A live meter: rate, queue and delay of each direction.
//!
//! On a terminal it reserves the bottom lines by a scroll region, as package managers do,
//! and redraws them twice a second; elsewhere it writes a line per second. Where several flows pass an element, the
//! terminal shows the busiest ones below it. Colours respect `NO_COLOR`.

mod busiest;
mod gauge;
mod screen;

pub use gauge::Gauge;

use std::io::{self, IsTerminal as _};

use paceline_cc::{Span, Time};
use paceline_os::terminal;

use self::busiest::Busiest;
use self::screen::Screen;
use super::watched::WatchedElement;
use crate::{Direction, LiveEvent, Observer, Summary, View};

/// How often the terminal is redrawn, and how often a line is written elsewhere.
const REDRAW: Span = Span::from_millis(500);
const LINE: Span = Span::from_secs(1);
/// Least rows of a terminal that shows single flows, too.
const LEAST_ROWS_FOR_FLOWS: u16 = 16;

/// An [`Observer`] that shows rates, queues and delays on standard error.
#[derive(Debug)]
pub struct Meter {
    gauges: Vec<Gauge>,
    /// The flows of each gauge's element.
    flows: Vec<Busiest>,
    screen: Screen,
    in_place: bool,
    colour: bool,
    shown: Time,
}

impl Meter {
    /// Creates a meter of these elements: their rates, and with `true` their queues and delays.
    pub fn new(elements: Vec<(WatchedElement, bool)>) -> Meter {
        let error = io::stderr();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let in_place = error.is_terminal() && !dumb && terminal::size(&error).is_some();
        Meter {
            flows: vec![Busiest::default(); elements.len()],
            gauges: elements.into_iter().map(|(it, delay)| Gauge::new(it, delay)).collect(),
            screen: Screen::default(),
            in_place,
            colour: in_place && !no_colour,
            shown: Time::ZERO,
        }
    }
}

impl Observer for Meter {
    fn name(&self) -> String {
        "meter".into()
    }

    #[inline]
    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        if let Some(at) = self.gauges.iter().position(|gauge| gauge.watches(event)) {
            self.gauges[at].event(&event.event);
            if self.in_place {
                self.flows[at].event(&event.event, self.gauges[at].bytes(&event.event));
            }
        }
        Ok(())
    }

    fn wants_ticks(&self) -> bool {
        true
    }

    fn on_tick(&mut self, now: Time, view: &View<'_>) -> io::Result<()> {
        let passed = now.since(self.shown);
        if passed < if self.in_place { REDRAW } else { LINE } {
            return Ok(());
        }
        let (from, gauges) = (self.shown, &mut self.gauges);
        self.shown = now;
        if !self.in_place {
            let parts: Vec<String> =
                gauges.iter_mut().map(|gauge| gauge.phrase(from, now)).collect();
            let seconds = now.as_nanos() / 1_000_000_000;
            return self.screen.write(format!("{seconds:>5} s  {}\n", parts.join("; ")));
        }
        let Some((columns, rows)) = terminal::size(io::stderr()) else { return Ok(()) };
        let mut lines: Vec<String> = Vec::new();
        for (gauge, flows) in gauges.iter_mut().zip(&mut self.flows) {
            lines.push(gauge.line(from, now, columns.into(), self.colour));
            let names = match gauge.direction() {
                Direction::Up => view.up_flows,
                Direction::Down => view.down_flows,
            };
            let of_flows = flows.lines(names, from, now);
            let cut = |line: &String| line.chars().take(columns.into()).collect::<String>();
            let has_room = gauge.has_delay() && rows >= LEAST_ROWS_FOR_FLOWS;
            lines.extend(of_flows.iter().filter(|_| has_room).map(cut));
        }
        self.screen.draw(&lines, rows)
    }

    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        self.screen.leave()
    }
}
