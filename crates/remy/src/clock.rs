//! Processor time.

use std::time::Duration;

/// Measures the processor time of the thread that creates it, or wall-clock time on systems other than Linux.
#[derive(Clone, Debug)]
pub struct CpuClock {
    start: Duration,
}

impl CpuClock {
    /// Starts measuring.
    pub fn start() -> CpuClock {
        CpuClock { start: now() }
    }

    /// Returns the seconds since the start.
    pub fn seconds(&self) -> f64 {
        now().saturating_sub(self.start).as_secs_f64()
    }
}

/// Returns the time that this thread has run. The kernel computes it at each call; its scheduler's statistics (`schedstat`)
/// are brought up to date at clock ticks only.
#[cfg(target_os = "linux")]
fn now() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Returns the time since the first call.
#[cfg(not(target_os = "linux"))]
fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn short_trials_add_up_to_the_time_of_the_thread() {
        let whole = CpuClock::start();
        let mut sum = 0.0;
        let mut n = 0u64;
        for _ in 0..2_000 {
            let one = CpuClock::start();
            for i in 0..5_000u64 {
                n = std::hint::black_box(n.wrapping_add(i));
            }
            sum += one.seconds();
        }
        let all = whole.seconds();
        // Between the trials nothing is done but reading the clock.
        assert!(sum <= all && sum > 0.5 * all, "{sum} of {all}");
        std::thread::sleep(Duration::from_millis(30));
        assert!(whole.seconds() - all < 0.03, "sleep is no processor time");
    }
}
