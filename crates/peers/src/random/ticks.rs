//! The kernel's tick count, on which the expiry of its timers depends.

use std::fs;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use paceline_cc::Span;
use paceline_os::RealTimeError;

/// Length of a tick with HZ=250, in nanoseconds.
const TICK_NANOS: u64 = 4_000_000;
/// Ticks after which the pattern of expiries repeats: the coarsest level of the timer wheel that
/// trials reach.
const CYCLE: u64 = 4096;
/// Number of readings of the count.
const LOOKS: usize = 50;

/// Relation between this machine's clock and the kernel's tick count.
#[derive(Copy, Clone, Debug)]
pub(super) struct TickClock {
    /// A time, and the tick count at this time in nanoseconds, modulo [`CYCLE`].
    at: Instant,
    count: u64,
}

impl TickClock {
    /// Reads the count from `/proc/timer_list`, and the time of its last increase from the coarse
    /// clock, which moves with it.
    ///
    /// # Errors
    /// The file cannot be read (only root may), or has no count.
    pub(super) fn read() -> Result<TickClock, RealTimeError> {
        let path = "/proc/timer_list";
        let time = |clock| {
            clock_gettime(clock)
                .map(Duration::from)
                .map_err(|error| RealTimeError::Message(format!("the kernel's clocks: {error}")))
        };
        // A delay makes a tick appear later than it was, so the earliest reading is the best.
        let mut best: Option<(u64, Instant, u64)> = None;
        let mut first: Option<(Instant, u64)> = None;
        for _ in 0..LOOKS {
            let before = time(ClockId::CLOCK_MONOTONIC_COARSE)?;
            let text = fs::read_to_string(path).map_err(RealTimeError::system(path))?;
            let (now, after) = (Instant::now(), time(ClockId::CLOCK_MONOTONIC_COARSE)?);
            let exact = time(ClockId::CLOCK_MONOTONIC)?;
            std::thread::sleep(Duration::from_millis(1));
            let count = text.lines().find_map(|line| line.trim().strip_prefix("jiffies: "));
            let Some(count) = count.and_then(|count| count.parse::<u64>().ok()) else {
                return Err(RealTimeError::Message(format!("{path}: no line `jiffies: COUNT`")));
            };
            if before != after {
                continue;
            }
            let (begun, from) = *first.get_or_insert((now, count));
            check_length(now - begun, count.saturating_sub(from))?;
            // Time since the last tick, and the phase of ticks within the clock.
            let since = (exact - after).as_nanos() as u64;
            let phase = after.as_nanos() as u64 % TICK_NANOS;
            if best.is_none_or(|best| phase < best.0) {
                best = Some((phase, now, count % CYCLE * TICK_NANOS + since));
            }
        }
        let Some((_, at, count)) = best else {
            return Err(RealTimeError::Message(format!("{path}: no two looks within a tick")));
        };
        Ok(TickClock { at, count })
    }

    /// Returns the tick count at `time`, modulo [`CYCLE`], as a time.
    pub(super) fn uptime(&self, time: Instant) -> Span {
        let nanos = (time - self.at).as_nanos() as u64 + self.count;
        Span::from_nanos(nanos % (CYCLE * TICK_NANOS))
    }
}

/// Checks that the kernel's ticks have 4 ms, as those of Paceline's sender; at the tenth tick or
/// later.
///
/// # Errors
/// The kernel has another HZ.
fn check_length(elapsed: Duration, ticks: u64) -> Result<(), RealTimeError> {
    let nanos = elapsed.as_nanos() as u64;
    if ticks < 10 || nanos.abs_diff(ticks * TICK_NANOS) <= 2 * TICK_NANOS {
        return Ok(());
    }
    let length = elapsed.as_secs_f64() * 1e3 / ticks as f64;
    Err(RealTimeError::Message(format!(
        "this kernel's ticks have {length:.1} ms; recordings are only made with HZ=250, whose ticks have 4 ms"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_ticks_than_of_4_ms_are_refused() {
        let check = |millis, ticks| check_length(Duration::from_millis(millis), ticks);
        assert!(check(52, 13).is_ok() && check(55, 13).is_ok() && check(5, 5).is_ok());
        assert!(check(52, 52).is_err_and(|error| error.to_string().contains("1.0 ms")));
        assert!(check(100, 10).is_err());
    }
}
