//! The progress of work of unequal tasks, in units of cost: a bar on a terminal, lines elsewhere.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use paceline_tasks::Progress;

use crate::{args, host, output};

/// Steps of the bar per unit of cost, since costs are not whole numbers.
const FINE: f64 = 1000.0;
/// Time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// A progress bar over units of cost, or a line every 30 s if standard error is no terminal.
pub(crate) struct CostBar {
    bar: ProgressBar,
    /// Time of the last line, or of the beginning; `None` without lines.
    last_line: Mutex<Option<Instant>>,
}

impl CostBar {
    /// Creates a bar, or begins with lines. Shows nothing if `quiet`.
    pub(crate) fn new(quiet: bool) -> CostBar {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(1) };
        if let Ok(style) =
            ProgressStyle::with_template("{bar:32} {percent} %, {eta} left  {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(args::wall(0.2));
        let has_lines = !quiet && !io::stderr().is_terminal();
        CostBar { bar, last_line: Mutex::new(has_lines.then(Instant::now)) }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Writes the next line if it is due.
    fn write_line(&self, task: &str) {
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() >= LINE_INTERVAL) {
            *last = Some(Instant::now());
            let length = self.bar.length().unwrap_or(0).max(1);
            output::note(&format!("{} % done: {task}", 100 * self.bar.position() / length));
        }
    }
}

impl Progress for CostBar {
    fn begin(&self, total: f64, done: f64) {
        self.bar.set_length((total * FINE) as u64);
        self.bar.set_position((done * FINE) as u64);
        self.bar.reset_eta();
    }

    fn go_on(&self) -> bool {
        host::go_on()
    }

    fn done(&self, task: &str, cost: f64) {
        self.bar.inc((cost * FINE) as u64);
        self.bar.set_message(task.to_string());
        self.write_line(task);
    }
}
