//! A progress bar over units of cost, for work of unequal tasks.

use indicatif::{ProgressBar, ProgressStyle};
use paceline_tasks::Progress;

use crate::{args, host};

/// A progress bar over units of cost.
pub(crate) struct CostBar(ProgressBar);

/// Steps of the bar per unit of cost, since costs are not whole numbers.
const FINE: f64 = 1000.0;

impl CostBar {
    /// Creates a bar, which is hidden if `quiet`, or if standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> CostBar {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(1) };
        if let Ok(style) =
            ProgressStyle::with_template("{bar:32} {percent} %, {eta} left  {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(args::wall(0.2));
        CostBar(bar)
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for CostBar {
    fn begin(&self, total: f64, done: f64) {
        self.0.set_length((total * FINE) as u64);
        self.0.set_position((done * FINE) as u64);
        self.0.reset_eta();
    }

    fn go_on(&self) -> bool {
        host::go_on()
    }

    fn done(&self, task: &str, cost: f64) {
        self.0.inc((cost * FINE) as u64);
        self.0.set_message(task.to_string());
    }
}
