//! The observers of a run, and their errors.

use std::io;
use std::time::SystemTime;

use paceline_cc::{Span, Time};

use super::observe::{LiveEvent, Observer, View};
use super::summary::Summary;

/// The time between two ticks.
const TICK: Span = Span::from_millis(100);

/// An observer. After an error, it is only called at the end.
struct Watcher {
    observer: Box<dyn Observer>,
    failed: bool,
}

/// All observers of a run.
#[derive(Default)]
pub(super) struct Watchers {
    watchers: Vec<Watcher>,
    errors: Vec<String>,
    next_tick: Option<Time>,
    want_bytes: bool,
}

impl Watchers {
    pub(super) fn add(&mut self, observer: Box<dyn Observer>) {
        if observer.wants_ticks() {
            self.next_tick = Some(Time::ZERO + TICK);
        }
        self.want_bytes |= observer.wants_events() && observer.wants_bytes();
        self.watchers.push(Watcher { observer, failed: false });
    }

    pub(super) fn want_events(&self) -> bool {
        self.watchers.iter().any(|watcher| watcher.observer.wants_events())
    }

    pub(super) fn want_bytes(&self) -> bool {
        self.want_bytes
    }

    /// Returns when the next tick is due.
    pub(super) fn wake(&self) -> Time {
        self.next_tick.unwrap_or(Time::NEVER)
    }

    /// Calls each observer that has not failed, and notes errors.
    fn each(&mut self, mut ask: impl FnMut(&mut dyn Observer) -> io::Result<()>) {
        for watcher in self.watchers.iter_mut().filter(|watcher| !watcher.failed) {
            if let Err(error) = ask(&mut *watcher.observer) {
                watcher.failed = true;
                let name = watcher.observer.name();
                let error = format!("{name}: {error}; it is incomplete, the run went on");
                self.errors.push(error);
            }
        }
    }

    pub(super) fn start(&mut self, started: SystemTime, view: &View<'_>) {
        self.each(|observer| observer.on_start(started, view));
    }

    pub(super) fn event(&mut self, event: &LiveEvent<'_>) {
        self.each(|observer| match observer.wants_events() {
            true => observer.on_event(event),
            false => Ok(()),
        });
    }

    /// Ticks if a tick is due.
    pub(super) fn tick(&mut self, now: Time, view: &View<'_>) {
        // A tick missed is not made up for.
        self.next_tick = self.next_tick.map(|_| now + TICK);
        self.each(|observer| match observer.wants_ticks() {
            true => observer.on_tick(now, view),
            false => Ok(()),
        });
    }

    /// Ends all observers, also those that have failed. Returns the summary with all errors.
    pub(super) fn finish(mut self, mut summary: Summary) -> Summary {
        summary.errors.append(&mut self.errors);
        for watcher in &mut self.watchers {
            if let Err(error) = watcher.observer.finish(&summary)
                && !watcher.failed
            {
                summary.errors.push(format!("{}: {error}", watcher.observer.name()));
            }
        }
        summary
    }
}
