//! Shows the progress of a transfer on standard error while it runs: a bar on a terminal, lines
//! elsewhere.

use std::io::IsTerminal as _;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use paceline_os::Interrupts;
use paceline_transfer::udp::{Progress, Snapshot};

use crate::{bar, output};

/// How to show the progress of a transfer.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    /// A bar if standard error is a terminal, else lines
    #[default]
    Auto,
    /// A bar
    Bar,
    /// A line every 5 seconds
    Lines,
    /// Nothing
    None,
}

/// Time between two redraws of a bar.
const REDRAW: Duration = Duration::from_millis(200);
/// Time between two lines.
const LINES: Duration = Duration::from_secs(5);
/// Time over which the rate is averaged.
const RATE_WINDOW: f64 = 3.0;

/// What a display shows while it waits for a connection: the sender of a single transfer says that
/// it waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum WhileWaiting {
    /// Says that it waits.
    Says,
    /// Shows nothing.
    Silent,
}

/// Shows progress on its own thread until it is dropped.
pub(crate) struct ProgressDisplay {
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressDisplay {
    /// Starts showing `progress`. Shows nothing with [`ProgressMode::None`], or if the thread
    /// cannot be started.
    pub(crate) fn start(
        mode: ProgressMode,
        progress: &Arc<Progress>,
        waiting: WhileWaiting,
    ) -> ProgressDisplay {
        let is_bar = match mode {
            ProgressMode::None => return ProgressDisplay { end: None, thread: None },
            ProgressMode::Bar => true,
            ProgressMode::Lines => false,
            ProgressMode::Auto => std::io::stderr().is_terminal(),
        };
        // Threads inherit blocked signals, and only the loop's thread is to receive the signals
        // that end this process.
        let _interrupts = Interrupts::watch();
        let (end, ends) = mpsc::channel();
        let progress = Arc::clone(progress);
        let show = move || match is_bar {
            true => show_bars(&progress, &ends, waiting),
            false => show_lines(&progress, &ends, waiting),
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(show).ok();
        ProgressDisplay { end: Some(end), thread }
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for a time. Returns true if the transfer ends within it.
fn is_over(ends: &mpsc::Receiver<()>, wait: Duration) -> bool {
    ends.recv_timeout(wait) != Err(mpsc::RecvTimeoutError::Timeout)
}

fn show_lines(progress: &Progress, ends: &mpsc::Receiver<()>, waiting: WhileWaiting) {
    let mut rate = ArrivalRate::new();
    while !is_over(ends, LINES) {
        let seen = progress.snapshot();
        if !seen.connected && waiting == WhileWaiting::Silent {
            rate = ArrivalRate::new();
            continue;
        }
        rate.update(&seen);
        output::note(&words(&seen, rate.bytes_per_second));
    }
}

/// Shows a bar for each connection, one after the other.
fn show_bars(progress: &Progress, ends: &mpsc::Receiver<()>, waiting: WhileWaiting) {
    loop {
        while waiting == WhileWaiting::Silent && !progress.snapshot().connected {
            if is_over(ends, REDRAW) {
                return;
            }
        }
        if show_bar(progress, ends, waiting) {
            return;
        }
    }
}

/// Shows a bar until the display or the connection ends. Returns true if the display has ended.
fn show_bar(progress: &Progress, ends: &mpsc::Receiver<()>, waiting: WhileWaiting) -> bool {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = |template: &str| {
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
    };
    let mut rate = ArrivalRate::new();
    let mut has_length = None;
    let mut ended = true;
    bar::set(Some(bar.clone()));
    while !is_over(ends, REDRAW) {
        let seen = progress.snapshot();
        if !seen.connected && waiting == WhileWaiting::Silent {
            ended = false;
            break;
        }
        rate.update(&seen);
        if has_length != Some(seen.total > 0) {
            has_length = Some(seen.total > 0);
            bar.set_style(style(if seen.total > 0 {
                "{bar:20} {wide_msg}"
            } else {
                "{spinner} {wide_msg}"
            }));
        }
        bar.set_length(seen.total);
        bar.set_position(seen.arrived);
        bar.set_message(words(&seen, rate.bytes_per_second));
        bar.tick();
    }
    bar::set(None);
    bar.finish_and_clear();
    ended
}

/// Rate at which data arrives, averaged over [`RATE_WINDOW`].
struct ArrivalRate {
    last: Option<(Instant, u64)>,
    bytes_per_second: Option<f64>,
}

impl ArrivalRate {
    fn new() -> ArrivalRate {
        ArrivalRate { last: None, bytes_per_second: None }
    }

    fn update(&mut self, seen: &Snapshot) {
        let now = Instant::now();
        if !seen.connected {
            return;
        }
        if let Some((before, arrived)) = self.last {
            let seconds = now.duration_since(before).as_secs_f64().max(1e-9);
            let rate = seen.arrived.saturating_sub(arrived) as f64 / seconds;
            let weight = 1.0 - (-seconds / RATE_WINDOW).exp();
            let old = self.bytes_per_second.unwrap_or(rate);
            self.bytes_per_second = Some(old + weight * (rate - old));
        }
        self.last = Some((now, seen.arrived));
    }
}

/// Returns bytes with a unit that leaves at most four digits.
fn size(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes.max(0.0);
    let mut at = 0;
    while value >= 1000.0 && at + 1 < units.len() {
        (value, at) = (value / 1000.0, at + 1);
    }
    let digits = if at == 0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[at])
}

fn time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02} min"),
        (hours, minutes, _) => format!("{hours}:{minutes:02} h"),
    }
}

/// Returns the arrived bytes, their rate, and the remaining time in words.
fn words(seen: &Snapshot, rate: Option<f64>) -> String {
    if !seen.connected {
        return "connecting".into();
    }
    let mut text = size(seen.arrived as f64);
    if seen.total > 0 {
        // Rounded down, so that it is 100 only when all data has arrived.
        let percent = seen.arrived as u128 * 100 / u128::from(seen.total);
        text += &format!(" of {} ({percent} %)", size(seen.total as f64));
    }
    if seen.transfers > 1 {
        text += &format!(", {} transfers", seen.transfers);
    }
    if seen.files > 1 {
        text += &format!(", {} of {} files", seen.files_done, seen.files);
    }
    let Some(rate) = rate else { return text };
    text += &format!(", {}/s", size(rate));
    let rest = seen.total.saturating_sub(seen.arrived) as f64;
    match rate {
        rate if rate >= 1.0 && rest > 0.0 => text + &format!(", {} left", time(rest / rate)),
        _ if rest > 0.0 => text + ", stalled",
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_what_has_arrived_the_rate_and_the_time_left() {
        let mut seen = Snapshot::default();
        assert_eq!(words(&seen, None), "connecting");
        seen.connected = true;
        (seen.total, seen.arrived, seen.files) = (45_000_000, 12_340_000, 1);
        assert_eq!(words(&seen, None), "12.3 MB of 45.0 MB (27 %)");
        assert_eq!(
            words(&seen, Some(250_000.0)),
            "12.3 MB of 45.0 MB (27 %), 250.0 kB/s, 2:11 min left"
        );
        assert!(words(&seen, Some(0.2)).ends_with(", 0 B/s, stalled"));
        (seen.files, seen.files_done) = (10, 3);
        assert!(words(&seen, None).ends_with(", 3 of 10 files"));
        // Standard input has no length.
        (seen.total, seen.files) = (0, 1);
        assert_eq!(words(&seen, Some(999.0)), "12.3 MB, 999 B/s");
        (seen.total, seen.arrived) = (u64::MAX, u64::MAX - 1);
        assert!(words(&seen, None).contains("(99 %)"));
        assert_eq!(time(3599.6), "1:00 h");
    }
}
