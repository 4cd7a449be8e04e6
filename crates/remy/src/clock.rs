//! Processor time.

use std::time::Instant;

/// Measures the processor time of the thread that creates it, or wall-clock time where the system
/// does not report processor time.
#[derive(Clone, Debug)]
pub struct CpuClock {
    cpu: Option<u64>,
    wall: Instant,
}

impl CpuClock {
    /// Starts measuring.
    pub fn start() -> CpuClock {
        CpuClock { cpu: cpu_nanos(), wall: Instant::now() }
    }

    /// Returns the seconds since the start.
    pub fn seconds(&self) -> f64 {
        match (self.cpu, cpu_nanos()) {
            (Some(before), Some(now)) if now > before => (now - before) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Returns the nanoseconds that this thread has run, from Linux's scheduler statistics.
fn cpu_nanos() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
